/*
 * Tests a connection to a name that has two addresses: the empty host, which is 0.0.0.0 and ::.
 * Also tests a connection whose time is over.
 */

/* Both cmocka and the program have a function of this name. */
#define print_error cmocka_print_error
#undef print_error

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../src/os/sockets.h"
#include "../../support/test.h"
#include "client/connection.h"
#include "client/session.h"

enum { PORTS_TRIED = 100, WAITING_MAX = 16 };

#define SECOND_NS UINT64_C(1000000000)

/* Listens at a port of the loopback; 0: any. Returns -1 if it cannot. */
static int listen_at(int family, uint16_t port, int backlog)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 in6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const int on = 1;
    int listener = socket(family, SOCK_STREAM, 0);

    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (listener < 0)
        return -1;
    if (family == AF_INET6)
        (void)setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    const struct sockaddr *address =
        family == AF_INET ? (struct sockaddr *)(void *)&in : (struct sockaddr *)(void *)&in6;
    socklen_t size = family == AF_INET ? sizeof in : sizeof in6;
    if (bind(listener, address, size) == 0 && listen(listener, backlog) == 0)
        return listener;
    (void)close(listener);
    return -1;
}

static uint16_t port_of(int listener)
{
    struct sockaddr_in6 address;
    socklen_t size = sizeof address;

    assert_int_equal(getsockname(listener, (struct sockaddr *)(void *)&address, &size), 0);
    return ntohs(address.sin6_port); /* at the same place as sin_port */
}

/* The first address does not answer: the queue of its listener is full. The second one does. */
struct fixture {
    int silent;
    int there;
    int waiting[WAITING_MAX];
    size_t waiting_count;
    struct client_settings settings;
    struct connection *connection;
};

/* Fills the queue, until a connection does not come to be. */
static void fill_queue(struct fixture *fixture)
{
    struct sockaddr_in6 address;
    socklen_t size = sizeof address;

    assert_int_equal(getsockname(fixture->silent, (struct sockaddr *)(void *)&address, &size), 0);
    for (;;) {
        assert_int_not_equal(fixture->waiting_count, WAITING_MAX);
        int made = socket(address.sin6_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
        assert_true(made >= 0);
        (void)connect(made, (struct sockaddr *)(void *)&address, size);
        fixture->waiting[fixture->waiting_count++] = made;
        struct elapse__os_watch watch = {.file = made, .for_room = true};
        (void)elapse__os_wait(&watch, 1, SECOND_NS / 5);
        if (!watch.ready)
            return;
    }
}

static bool open_listeners(struct fixture *fixture, int silent_family)
{
    int there_family = silent_family == AF_INET ? AF_INET6 : AF_INET;

    for (unsigned i = 0; i < PORTS_TRIED; i++) {
        fixture->silent = listen_at(silent_family, 0, 0);
        if (fixture->silent < 0)
            return false;
        fixture->there = listen_at(there_family, port_of(fixture->silent), 1);
        if (fixture->there >= 0)
            return true;
        (void)close(fixture->silent);
    }
    return false;
}

static void begin(struct fixture *fixture, uint64_t timeout_ns)
{
    struct elapse__os_address addresses[ELAPSE__OS_ADDRESSES_MAX];
    size_t count = 0;

    *fixture = (struct fixture){.settings = {.timeout_ns = timeout_ns}};
    if (elapse__os_resolve("", "1", addresses, &count) != NULL || count < 2)
        skip();
    const struct sockaddr *first = (const struct sockaddr *)(const void *)addresses[0].bytes;
    if (!open_listeners(fixture, first->sa_family))
        skip();
    (void)snprintf(fixture->settings.address.port, sizeof fixture->settings.address.port, "%u",
                   port_of(fixture->silent));
    fill_queue(fixture);
    fixture->connection = connection_new(&fixture->settings);
    connection_open(fixture->connection);
}

static void end(struct fixture *fixture)
{
    connection_free(fixture->connection);
    for (size_t i = 0; i < fixture->waiting_count; i++)
        (void)close(fixture->waiting[i]);
    (void)close(fixture->silent);
    (void)close(fixture->there);
}

TEST(test_an_address_that_does_not_answer_leaves_time_to_the_next)
{
    struct fixture fixture;
    struct request request = {.count = 0};

    begin(&fixture, 2 * SECOND_NS);
    request_add_text(&request, "PING");
    connection_add(fixture.connection, &request);
    uint64_t since_ns = elapse__os_monotonic_ns();
    while (connection_fault(fixture.connection) == CONNECTION_WORKS &&
           !connection_is_made(fixture.connection))
        session_wait(fixture.connection, &fixture.settings, NULL, since_ns);
    assert_true(connection_is_made(fixture.connection));
    assert_int_equal(connection_wake_ns(fixture.connection), UINT64_MAX);
    request_free(&request);
    end(&fixture);
}

TEST(test_all_addresses_together_have_the_time_limit)
{
    struct fixture fixture;
    struct request request = {.count = 0};

    begin(&fixture, SECOND_NS / 2);
    (void)close(fixture.there);
    fixture.there = -1;
    request_add_text(&request, "PING");
    connection_add(fixture.connection, &request);
    uint64_t since_ns = elapse__os_monotonic_ns();
    while (connection_fault(fixture.connection) == CONNECTION_WORKS)
        session_wait(fixture.connection, &fixture.settings, NULL, since_ns);
    assert_int_equal(connection_fault(fixture.connection), CONNECTION_REFUSED);
    /* The second address has refused at once, when the first had had its part. */
    assert_string_not_equal(connection_fault_text(fixture.connection),
                            "there was no reply in time");
    request_free(&request);
    end(&fixture);
}

/* ---- the time is over ---- */

/* Begins a connection to a listener, and adds PING. */
static void add_ping(struct fixture *fixture)
{
    struct request request = {.count = 0};

    *fixture = (struct fixture){.settings = {.timeout_ns = 60 * SECOND_NS}, .silent = -1};
    fixture->there = listen_at(AF_INET, 0, 1);
    assert_true(fixture->there >= 0);
    (void)snprintf(fixture->settings.address.host, sizeof fixture->settings.address.host,
                   "127.0.0.1");
    (void)snprintf(fixture->settings.address.port, sizeof fixture->settings.address.port, "%u",
                   port_of(fixture->there));
    fixture->connection = connection_new(&fixture->settings);
    connection_open(fixture->connection);
    request_add_text(&request, "PING");
    connection_add(fixture->connection, &request);
    request_free(&request);
}

/* Does the same, and sends it. Returns the server's side of the connection. */
static int send_ping(struct fixture *fixture)
{
    char bytes[64];
    size_t count = 0;

    add_ping(fixture);
    int accepted = accept(fixture->there, NULL, NULL);
    assert_true(accepted >= 0);
    assert_int_equal(fcntl(accepted, F_SETFL, O_NONBLOCK), 0);
    while (memchr(bytes, 'G', count) == NULL) {
        connection_turn(fixture->connection);
        ssize_t got = read(accepted, bytes + count, sizeof bytes - count);
        count += got > 0 ? (size_t)got : 0;
    }
    return accepted;
}

/* Waits with a time limit that passed before it began. */
static void wait_too_late(const struct fixture *fixture)
{
    uint64_t since_ns = elapse__os_monotonic_ns() - fixture->settings.timeout_ns - 1;

    session_wait(fixture->connection, &fixture->settings, NULL, since_ns);
}

TEST(test_a_reply_that_is_there_when_the_time_is_over)
{
    struct fixture fixture;
    static const char reply[] = "+PONG\r\n";

    int accepted = send_ping(&fixture);
    assert_int_equal(write(accepted, reply, sizeof reply - 1), sizeof reply - 1);
    wait_too_late(&fixture);
    assert_int_equal(connection_fault(fixture.connection), CONNECTION_WORKS);
    redisReply *taken = connection_take(fixture.connection);
    assert_non_null(taken);
    assert_string_equal(taken->str, "PONG");
    freeReplyObject(taken);
    assert_null(connection_take(fixture.connection));
    assert_int_equal(connection_awaited(fixture.connection), 0);
    (void)close(accepted);
    end(&fixture);
}

TEST(test_a_part_of_a_reply_when_the_time_is_over)
{
    struct fixture fixture;

    int accepted = send_ping(&fixture);
    assert_int_equal(write(accepted, "+PO", 3), 3);
    wait_too_late(&fixture);
    assert_int_equal(connection_fault(fixture.connection), CONNECTION_BROKEN);
    assert_string_equal(connection_fault_text(fixture.connection), "there was no reply in time");
    (void)close(accepted);
    end(&fixture);
}

TEST(test_an_end_when_the_time_is_over)
{
    struct fixture fixture;

    int accepted = send_ping(&fixture);
    (void)close(accepted);
    wait_too_late(&fixture);
    assert_int_equal(connection_fault(fixture.connection), CONNECTION_BROKEN);
    assert_string_equal(connection_fault_text(fixture.connection),
                        "the server has closed the connection");
    end(&fixture);
}

/* A connection that is not made yet is not made at the last moment: the request is not sent. */
TEST(test_nothing_is_sent_when_the_time_is_over)
{
    struct fixture fixture;

    add_ping(&fixture);
    wait_too_late(&fixture);
    assert_int_equal(connection_fault(fixture.connection), CONNECTION_REFUSED);
    end(&fixture);
}

TEST_MAIN("connection")
