/*
 * Deadlines in a poll() loop: connection, handshake and request have limits of their own.
 *
 *     poll_deadlines
 *
 * The program needs no threads and no scheduler, only a wheel and poll(). The server expects
 * three lines from each client: one within the time for connecting, one for the handshake, and
 * the request, whose limit differs between connections. A complete line stops its deadline and
 * starts the next. An incomplete line does not: a client that sends a byte now and then, to hold
 * its connection for ever, is cut off like a silent one. A client that hangs up is removed at
 * once. (Idle time-outs, which input postpones, are shown in epoll_server.c.)
 *
 * What to look at:
 * - struct deadline: the wheel has no callbacks. A program that wants one puts it beside the timer.
 * - run_due(): pops and calls. A callback may start and stop any timer.
 * - give_up(): input may have come while the program was held up, so it looks for input once
 *   more. The program is held up at the beginning on purpose, for longer than the first limit.
 *
 * The clients are simulated with the same wheel. There are sixty: a third behave well, a third
 * fall silent, a third trickle, and the last one hangs up. The program checks that each
 * connection ends as it must, and by the clock that no deadline came early. Everything happens
 * in the order of deadlines, so a slow machine changes nothing.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <elapse/wheel.h>
#include <poll.h>
#include <sys/socket.h>

#define TICK_NS UINT64_C(1000000) /* a tick is a millisecond */

enum { CONNECTIONS = 60 };

enum stage { CONNECTING, HANDSHAKE, REQUEST, DONE };

enum client { WELL_BEHAVED, SILENT, TRICKLING, HANGING_UP };

enum outcome { NONE_YET, SERVED, TIMED_OUT, CLIENT_GONE };

static const char *const stage_names[] = {"connecting", "the handshake", "the request"};
static const enum outcome expected[] = {[WELL_BEHAVED] = SERVED,
                                        [SILENT] = TIMED_OUT,
                                        [TRICKLING] = TIMED_OUT,
                                        [HANGING_UP] = CLIENT_GONE};
static const uint64_t limits_ms[] = {[CONNECTING] = 40, [HANDSHAKE] = 60};
static const uint64_t request_limits_ms[] = {80, 120, 160}; /* cheap, usual, costly */

struct connection;

struct deadline {
    struct elapse_timer timer; /* first: a cast finds the deadline */
    void (*passed)(struct connection *connection);
    struct connection *connection;
};

struct connection {
    struct deadline limit;
    struct deadline client_acts; /* the simulated client's next step */
    enum stage stage;
    enum client client;
    enum stage falters_at; /* the stage in which a bad client begins to misbehave */
    enum outcome outcome;
    uint64_t limit_ns; /* of this stage, for the check */
    uint64_t began_ns; /* this stage, for the check */
    int client_socket;
};

static struct elapse_wheel wheel;
static struct connection connections[CONNECTIONS];
static struct pollfd polls[CONNECTIONS]; /* the server's ends; -1 when closed */
static size_t timed_out_in[DONE + 1];
static size_t wake_ups;

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "poll_deadlines: fault: %s\n", what);
    exit(EXIT_FAILURE);
}

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Rounds the deadline up to a tick, because the present is rounded down: so nothing fires early. */
static void start_after_ms(struct deadline *deadline, uint64_t delay_ms)
{
    uint64_t deadline_ns = clock_ns() + delay_ms * TICK_NS;
    elapse_wheel_start(&wheel, &deadline->timer, (deadline_ns + TICK_NS - 1) / TICK_NS);
}

/* ---- the server ---- */

static size_t number_of(const struct connection *connection)
{
    return (size_t)(connection - connections);
}

static void finish(struct connection *connection, enum outcome outcome)
{
    struct pollfd *end = &polls[number_of(connection)];

    connection->outcome = outcome;
    elapse_wheel_stop(&wheel, &connection->limit.timer);
    elapse_wheel_stop(&wheel, &connection->client_acts.timer);
    close(end->fd);
    close(connection->client_socket);
    end->fd = -1; /* poll ignores it */
}

static void begin_stage(struct connection *connection, enum stage stage)
{
    uint64_t limit_ms =
        stage == REQUEST ? request_limits_ms[number_of(connection) % 3] : limits_ms[stage];

    connection->stage = stage;
    connection->limit_ns = limit_ms * TICK_NS;
    connection->began_ns = clock_ns();
    start_after_ms(&connection->limit, limit_ms); /* replaces the last stage's deadline */
}

/* Returns whether the stage has ended: by a complete line, or because the client has gone. */
static bool read_line(struct connection *connection)
{
    ssize_t length;
    char byte;

    while ((length = recv(polls[number_of(connection)].fd, &byte, 1, MSG_DONTWAIT)) == 1) {
        if (byte != '\n')
            continue;
        if (connection->stage == REQUEST) {
            connection->stage = DONE;
            finish(connection, SERVED);
        } else {
            begin_stage(connection, connection->stage + 1);
        }
        return true;
    }
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    /* If the descriptor stayed open, it would stay readable, and poll would never sleep again. */
    finish(connection, CLIENT_GONE);
    return true;
}

static void give_up(struct connection *connection)
{
    if (read_line(connection))
        return;
    require(clock_ns() - connection->began_ns >= connection->limit_ns, "a deadline came early");
    timed_out_in[connection->stage]++;
    finish(connection, TIMED_OUT);
}

/* ---- the clients: one step every seven milliseconds ---- */

static void act(struct connection *connection)
{
    bool falters =
        connection->client != WELL_BEHAVED && connection->stage == connection->falters_at;

    if (falters && connection->client == SILENT)
        return;
    if (falters && connection->client == HANGING_UP) {
        require(shutdown(connection->client_socket, SHUT_RDWR) == 0, "a client cannot hang up");
        return;
    }
    require(send(connection->client_socket, falters ? "." : ".\n", falters ? 1 : 2,
                 MSG_DONTWAIT | MSG_NOSIGNAL) > 0,
            "a client cannot send");
    start_after_ms(&connection->client_acts, 7);
}

/* ---- the loop ---- */

static void run_due(void)
{
    struct elapse_timer *timer;

    elapse_wheel_advance(&wheel, clock_ns() / TICK_NS);
    while ((timer = elapse_wheel_pop(&wheel)) != NULL) {
        struct deadline *deadline = (struct deadline *)timer;
        deadline->passed(deadline->connection);
    }
}

/* Returns the time until the wheel has something to do, as a time-out for poll. */
static int milliseconds_to_wait(void)
{
    uint64_t next = elapse_wheel_next(&wheel);
    uint64_t now = clock_ns() / TICK_NS;

    return next > now ? (int)(next - now) : 0;
}

static void serve(void)
{
    while (elapse_wheel_count(&wheel) > 0) {
        int count = poll(polls, CONNECTIONS, milliseconds_to_wait());

        wake_ups++;
        for (size_t i = 0; count > 0 && i < CONNECTIONS; i++) {
            if (polls[i].fd >= 0 && polls[i].revents != 0)
                (void)read_line(&connections[i]);
        }
        run_due();
    }
}

static void open_connection(size_t number)
{
    struct connection *connection = &connections[number];
    int sockets[2];

    require(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "no sockets");
    *connection = (struct connection){
        .limit = {.passed = give_up, .connection = connection},
        .client_acts = {.passed = act, .connection = connection},
        .client = number == CONNECTIONS - 1 ? HANGING_UP : (enum client)(number / 3 % 3),
        .falters_at = (enum stage)(number / 9 % 3),
        .client_socket = sockets[1]};
    polls[number] = (struct pollfd){.fd = sockets[0], .events = POLLIN};
    begin_stage(connection, CONNECTING);
    start_after_ms(&connection->client_acts, 7);
}

int main(int argument_count, char **arguments)
{
    size_t served = 0, gone = 0;

    (void)arguments;
    if (argument_count > 1) {
        fputs("usage: poll_deadlines\n", stderr);
        return 2;
    }
    require(elapse_wheel_init(&wheel, clock_ns() / TICK_NS) == ELAPSE_OK, "no wheel");
    for (size_t i = 0; i < CONNECTIONS; i++)
        open_connection(i);
    nanosleep(&(struct timespec){.tv_nsec = 50 * (long)TICK_NS}, NULL);
    serve();

    for (size_t i = 0; i < CONNECTIONS; i++) {
        const struct connection *connection = &connections[i];
        bool good = connection->client == WELL_BEHAVED;

        require(connection->outcome == expected[connection->client],
                "a connection has ended in the wrong way");
        require(connection->stage == (good ? DONE : connection->falters_at),
                "a connection has ended in the wrong stage");
        served += connection->outcome == SERVED;
        gone += connection->outcome == CLIENT_GONE;
    }
    printf("%d connections, %zu served, %zu hung up", CONNECTIONS, served, gone);
    for (enum stage stage = CONNECTING; stage < DONE; stage++)
        printf(", %zu cut off in %s", timed_out_in[stage], stage_names[stage]);
    printf("; %zu wake-ups\n", wake_ups);
    return EXIT_SUCCESS;
}
