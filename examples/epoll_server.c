/*
 * A server with epoll that uses the wheel for its time-outs: one thread, and no timerfd.
 *
 *     epoll_server --listen PORT [--idle-seconds N]     serves this machine until it is killed
 *     epoll_server [CONNECTIONS]                        tests itself, by default with a thousand
 *
 * It sends back what it receives, and closes a connection that has sent nothing for a while (10
 * seconds by default). Start it, talk to it with `nc 127.0.0.1 PORT`, then wait.
 *
 * What to look at:
 * - serve(): the wheel says how long epoll_wait may sleep; without connections, for ever.
 * - postpone(): a deadline is rounded up to the next tick, because the present is rounded down
 *   when it is passed to the wheel. So nothing fires early. The clock is read after the input, so
 *   that the full time counts from there.
 * - close_idle(): input may have come while the loop was held up. So a connection is checked for
 *   input once more before it is closed.
 * - finish(): a connection that ends stops its timer, whether that is pending or not.
 *
 * The self-test measures on the side of the clients that no connection was closed early.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <elapse/wheel.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define TICK_NS   UINT64_C(1000000) /* a tick is a millisecond */
#define SECOND_NS UINT64_C(1000000000)

enum { IDLE_SECONDS = 10, EVENTS = 256, SPARE_DESCRIPTORS = 32 };

struct connection {
    struct elapse_timer idle; /* first: a cast finds the connection */
    int socket;
    size_t number;
    uint64_t last_input_ns;
};

struct server {
    struct elapse_wheel wheel;
    int epoll;
    int listener;
    uint64_t idle_ns;
    bool talks; /* prints what happens */
    size_t open_max;
    size_t open;
    size_t accepted;
    size_t inputs;
    size_t timed_out;
    size_t wake_ups;
    size_t spurious_wake_ups; /* they found neither input nor a time-out */
    size_t unexplained;
};

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "epoll_server: fault: %s\n", what);
    exit(EXIT_FAILURE);
}

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* ---- connections ---- */

/* Postpones the time-out to the full time from now, or starts it for a new connection. */
static void postpone(struct server *server, struct connection *connection)
{
    connection->last_input_ns = clock_ns();
    uint64_t deadline_ns = connection->last_input_ns + server->idle_ns;
    elapse_wheel_start(&server->wheel, &connection->idle, (deadline_ns + TICK_NS - 1) / TICK_NS);
}

static void finish(struct server *server, struct connection *connection)
{
    elapse_wheel_stop(&server->wheel, &connection->idle); /* does nothing after a pop */
    close(connection->socket);                            /* epoll forgets it by itself */
    free(connection);
    server->open--;
}

/* Reads the input and sends it back. Returns false if there is none. When it returns true, the
 * connection may have been freed. */
static bool handle_input(struct server *server, struct connection *connection)
{
    char bytes[4096];
    ssize_t length = recv(connection->socket, bytes, sizeof bytes, MSG_DONTWAIT);

    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (length > 0) {
        postpone(server, connection);
        server->inputs++;
        if (server->talks)
            printf("connection %zu: %zd bytes\n", connection->number, length);
    }
    /* A client that sends but does not read the answers is disconnected. */
    if (length <= 0 ||
        send(connection->socket, bytes, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL) != length) {
        if (server->talks)
            printf("connection %zu: gone\n", connection->number);
        finish(server, connection);
    }
    return true;
}

static void accept_all(struct server *server)
{
    int accepted;

    while ((accepted = accept(server->listener, NULL, NULL)) >= 0) {
        struct connection *connection =
            server->open < server->open_max ? calloc(1, sizeof *connection) : NULL;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};

        if (connection == NULL || epoll_ctl(server->epoll, EPOLL_CTL_ADD, accepted, &event) != 0) {
            close(accepted);
            free(connection);
            continue;
        }
        connection->socket = accepted; /* calloc has made the timer idle */
        connection->number = ++server->accepted;
        server->open++;
        postpone(server, connection);
        if (server->talks)
            printf("connection %zu: open\n", connection->number);
    }
}

/* Closes the connections that have timed out. Returns how many time-outs were due. */
static size_t close_idle(struct server *server)
{
    struct elapse_timer *timer;
    size_t passed = 0;

    elapse_wheel_advance(&server->wheel, clock_ns() / TICK_NS);
    for (; (timer = elapse_wheel_pop(&server->wheel)) != NULL; passed++) {
        struct connection *connection = (struct connection *)timer;

        if (handle_input(server, connection))
            continue;
        uint64_t silent_ns = clock_ns() - connection->last_input_ns;
        require(silent_ns >= server->idle_ns, "a time-out came early");
        if (server->talks)
            printf("connection %zu: silent for %.3f s, closed\n", connection->number,
                   (double)silent_ns / 1e9);
        server->timed_out++;
        finish(server, connection);
    }
    return passed;
}

/* ---- the loop ---- */

/* Returns the time from now until the tick begins, as a time-out for epoll_wait. */
static int milliseconds_until(uint64_t tick)
{
    uint64_t now_ns = clock_ns();

    if (tick == ELAPSE_NEVER)
        return -1;
    if (tick * TICK_NS <= now_ns)
        return 0;
    uint64_t left_ms = (tick * TICK_NS - now_ns + 999999) / 1000000;
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

/* Serves until `time_outs` connections have timed out; for ever if that is 0. */
static void serve(struct server *server, size_t time_outs)
{
    struct epoll_event events[EVENTS];

    while (time_outs == 0 || server->timed_out < time_outs) {
        uint64_t moves = elapse_wheel_moves(&server->wheel);

        require(elapse_wheel_count(&server->wheel) == server->open,
                "there is not one time-out for each connection");
        int count = epoll_wait(server->epoll, events, EVENTS,
                               milliseconds_until(elapse_wheel_next(&server->wheel)));
        if (count < 0 && errno == EINTR)
            continue;
        require(count >= 0, "epoll_wait has failed");
        server->wake_ups++;
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == NULL)
                accept_all(server);
            else
                (void)handle_input(server, events[i].data.ptr);
        }
        /* Only now: closing frees connections, and events of this batch could still point to them.
         */
        if (close_idle(server) == 0 && count == 0) {
            /* The only reason is a timer that was postponed, and has now been moved. */
            server->spurious_wake_ups++;
            server->unexplained += elapse_wheel_moves(&server->wheel) == moves;
        }
    }
}

/* Returns the port. */
static uint16_t open_server(struct server *server, uint16_t port, uint64_t idle_ns)
{
    struct sockaddr_in address = loopback(port);
    struct epoll_event event = {.events = EPOLLIN}; /* no pointer: the listener */
    socklen_t address_bytes = sizeof address;
    int on = 1;
    struct rlimit limit;

    require(getrlimit(RLIMIT_NOFILE, &limit) == 0, "no limit");
    limit.rlim_cur = limit.rlim_max;
    require(setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > SPARE_DESCRIPTORS,
            "too few descriptors");
    server->open_max = (size_t)limit.rlim_cur - SPARE_DESCRIPTORS;
    server->idle_ns = idle_ns;
    require(elapse_wheel_init(&server->wheel, clock_ns() / TICK_NS) == ELAPSE_OK, "no wheel");

    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    require(server->listener >= 0 && server->epoll >= 0 &&
                setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->listener, &event) == 0,
            "no socket");
    if (bind(server->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(server->listener, SOMAXCONN) != 0) {
        fprintf(stderr, "epoll_server: port %u: %s\n", port, strerror(errno));
        exit(EXIT_FAILURE);
    }
    getsockname(server->listener, (struct sockaddr *)&address, &address_bytes);
    return ntohs(address.sin_port);
}

/* ---- the clients of the self-test, on a thread of their own ---- */

struct client {
    unsigned messages_left;
    bool waits;           /* for the answer to its last message */
    uint64_t sent_ns;     /* when the last message was sent */
    uint64_t answered_ns; /* when the last message that was answered was sent */
};

struct crowd {
    size_t count;
    uint16_t port;
    uint64_t idle_ns;
    size_t answers;
    struct client *clients;
    struct pollfd *polls;
};

/* An answer proves that the server has read the message, so the time-out counts from its sending
 * or later. */
static void listen_to_server(struct crowd *crowd, size_t i)
{
    struct client *client = &crowd->clients[i];
    char byte;

    if (recv(crowd->polls[i].fd, &byte, 1, 0) == 1) {
        client->answered_ns = client->sent_ns;
        client->waits = false;
        crowd->answers++;
        return;
    }
    require(clock_ns() - client->answered_ns >= crowd->idle_ns, "a connection was closed early");
    close(crowd->polls[i].fd);
    crowd->polls[i].fd = -1; /* which poll passes over */
}

static void *be_clients(void *argument)
{
    struct crowd *crowd = argument;
    struct sockaddr_in address = loopback(crowd->port);
    size_t open = crowd->count;

    for (size_t i = 0; i < crowd->count; i++) {
        crowd->clients[i] = (struct client){.messages_left = i % 8, .answered_ns = clock_ns()};
        crowd->polls[i] = (struct pollfd){.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN};
        require(connect(crowd->polls[i].fd, (struct sockaddr *)&address, sizeof address) == 0,
                "a client finds no server");
    }
    while (open > 0) {
        (void)poll(crowd->polls, crowd->count, (int)(crowd->idle_ns / 8 / 1000000));
        open = 0;
        for (size_t i = 0; i < crowd->count; i++) {
            struct client *client = &crowd->clients[i];

            if (crowd->polls[i].fd >= 0 && crowd->polls[i].revents != 0)
                listen_to_server(crowd, i);
            if (crowd->polls[i].fd < 0)
                continue;
            open++;
            uint64_t now_ns = clock_ns();
            if (client->waits || client->messages_left == 0 ||
                now_ns - client->sent_ns < crowd->idle_ns / 4)
                continue;
            client->sent_ns = now_ns;
            client->messages_left--;
            client->waits = send(crowd->polls[i].fd, "x", 1, MSG_NOSIGNAL) == 1;
        }
    }
    return NULL;
}

static void test_itself(struct server *server, size_t connections)
{
    struct crowd crowd = {.count = connections, .idle_ns = 400 * TICK_NS};
    pthread_t thread;

    crowd.port = open_server(server, 0, crowd.idle_ns);
    require(server->open_max >= 2 * connections, "too few descriptors for so many connections");
    crowd.clients = calloc(connections, sizeof *crowd.clients);
    crowd.polls = calloc(connections, sizeof *crowd.polls);
    require(crowd.clients != NULL && crowd.polls != NULL, "no memory");
    require(pthread_create(&thread, NULL, be_clients, &crowd) == 0, "no thread");
    serve(server, connections);
    require(pthread_join(thread, NULL) == 0, "a thread is lost");

    printf("%zu connections, %zu messages; all closed after %.1f s of silence and none sooner\n"
           "%zu wake-ups, %zu of them spurious, because a time-out had been postponed\n",
           server->accepted, server->inputs, (double)crowd.idle_ns / 1e9, server->wake_ups,
           server->spurious_wake_ups);
    require(server->unexplained == 0, "a wake-up had no reason");
    require(server->accepted == connections && server->open == 0, "a connection is left");
    require(elapse_wheel_count(&server->wheel) == 0, "a timer is left");
    require(crowd.answers > 0 && crowd.answers <= server->inputs, "messages were miscounted");
    close(server->epoll);
    close(server->listener);
    free(crowd.clients);
    free(crowd.polls);
}

/* ---- the command line ---- */

static unsigned long number(const char *name, const char *text, unsigned long least,
                            unsigned long most)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*text >= '0' && *text <= '9' && *end == '\0' && value >= least && value <= most)
        return value;
    fprintf(stderr, "epoll_server: %s: '%s' is not a number from %lu to %lu\n", name, text, least,
            most);
    exit(2);
}

int main(int count, char **arguments)
{
    static struct server server;
    bool listens = count > 1 && strcmp(arguments[1], "--listen") == 0;
    bool idle_said = listens && count == 5 && strcmp(arguments[3], "--idle-seconds") == 0;

    if (count < 2 || (count == 2 && *arguments[1] != '-')) {
        test_itself(&server, count < 2 ? 1000 : number("CONNECTIONS", arguments[1], 1, 10000));
        return EXIT_SUCCESS;
    }
    if (!idle_said && !(listens && count == 3)) {
        fputs("usage: epoll_server [CONNECTIONS] | --listen PORT [--idle-seconds N]\n", stderr);
        return 2;
    }
    uint16_t port = (uint16_t)number("--listen", arguments[2], 0, UINT16_MAX);
    unsigned long idle_seconds =
        idle_said ? number("--idle-seconds", arguments[4], 1, 1000000) : IDLE_SECONDS;

    server.talks = true;
    setvbuf(stdout, NULL, _IOLBF, 0);
    port = open_server(&server, port, idle_seconds * SECOND_NS);
    printf("listening on 127.0.0.1 port %u; connections that are silent for %lu s are closed\n",
           port, idle_seconds);
    serve(&server, 0);
}
