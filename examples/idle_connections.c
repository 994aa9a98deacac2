/*
 * Idle connections: the wheel inside an event loop, with a single thread.
 *
 * A server closes a connection that has sent nothing for a minute. Every input postpones the
 * time-out of its connection, and for each time-out that passes many are postponed.
 * elapse_wheel_start on a pending timer is made for this: it costs one store.
 *
 *     idle_connections [CONNECTIONS]        100,000 by default
 *
 * The loop is that of any server with epoll: ask the wheel when the next timer is due, wait for
 * input no longer than that, handle the input, pass the time to the wheel, close the connections
 * that have timed out. Only the network and the time are simulated, so minutes pass at once and
 * everything can be checked: each connection is closed exactly one minute after its last input.
 * A fault is printed, and the exit status is then 1.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <elapse/wheel.h>

/* A tick is a millisecond. */
enum { IDLE_MS = 60 * 1000, INPUTS_PER_CONNECTION = 50, CONNECTIONS_MAX = 1000000000 };

struct connection {
    struct elapse_timer idle; /* first: a cast finds the connection */
    uint64_t last_input_ms;   /* for the check at the end */
    bool open;
};

struct server {
    struct elapse_wheel wheel;
    struct connection *connections;
    size_t count;
    size_t closed;
    size_t wake_ups;
};

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "idle_connections: fault: %s\n", what);
    exit(EXIT_FAILURE);
}

/* ---- the simulated network ---- */

struct network {
    uint64_t now_ms;
    uint64_t next_input_ms;
    size_t inputs_left;
    uint32_t random;
};

static uint32_t random_below(struct network *network, uint32_t limit)
{
    network->random = network->random * 1664525U + 1013904223U;
    return (uint32_t)((uint64_t)network->random * limit >> 32);
}

/* Does what epoll_wait does: waits for input, but not after `until_ms`. Returns whether input has
 * come. */
static bool wait_for_input(struct network *network, uint64_t until_ms)
{
    bool comes = network->inputs_left > 0 && network->next_input_ms <= until_ms;
    uint64_t wakes_ms = comes ? network->next_input_ms : until_ms;

    if (wakes_ms > network->now_ms)
        network->now_ms = wakes_ms;
    return comes;
}

/* Returns the number of the connection that has sent something. The next input comes at once in
 * three cases out of four, and a millisecond later in the fourth. */
static size_t read_input(struct network *network, size_t connections)
{
    network->inputs_left--;
    network->next_input_ms = network->now_ms + random_below(network, 4) / 3;
    return random_below(network, (uint32_t)connections);
}

/* ---- the server ---- */

/* Postpones the time-out to a minute from now, or starts it. This clock shows whole milliseconds
 * exactly. With a real clock now_ms is rounded down: then add one tick, or the timer fires up to a
 * tick early (see epoll_server.c). */
static void postpone(struct server *server, struct connection *connection, uint64_t now_ms)
{
    connection->last_input_ms = now_ms;
    elapse_wheel_start(&server->wheel, &connection->idle, now_ms + IDLE_MS);
}

static void close_idle(struct server *server, uint64_t now_ms)
{
    struct elapse_timer *timer;

    elapse_wheel_advance(&server->wheel, now_ms);
    while ((timer = elapse_wheel_pop(&server->wheel)) != NULL) {
        /* The wheel has forgotten the timer now: its memory could be freed. */
        struct connection *connection = (struct connection *)timer;

        require(connection->open, "a connection was closed twice");
        require(now_ms == connection->last_input_ms + IDLE_MS,
                "a connection was closed too soon or too late");
        connection->open = false;
        server->closed++;
    }
}

static void handle_input(struct server *server, size_t number, uint64_t now_ms)
{
    struct connection *connection = &server->connections[number];

    if (connection->open)
        postpone(server, connection, now_ms);
}

static void serve(struct server *server, struct network *network)
{
    while (elapse_wheel_count(&server->wheel) > 0) {
        /* The time-out of epoll_wait would be this less the present, and -1 for ELAPSE_NEVER. It
         * may be too early when timers were postponed: that makes a spurious wake-up. */
        bool input = wait_for_input(network, elapse_wheel_next(&server->wheel));

        server->wake_ups++;
        /* Input goes first. If the server was held up, input and time-out can both be waiting, and
         * then the input must postpone the time-out. */
        if (input)
            handle_input(server, read_input(network, server->count), network->now_ms);
        close_idle(server, network->now_ms);
    }
}

int main(int argument_count, char **arguments)
{
    static struct server server;
    struct network network = {.random = 1};
    const char *said = argument_count > 1 ? arguments[1] : "100000";
    char *end;

    server.count = strtoul(said, &end, 10);
    if (argument_count > 2 || *end != '\0' || server.count < 1 || server.count > CONNECTIONS_MAX) {
        fprintf(stderr, "usage: idle_connections [CONNECTIONS], 1 to %d\n", CONNECTIONS_MAX);
        return 2;
    }
    server.connections = calloc(server.count, sizeof *server.connections);
    require(server.connections != NULL, "no memory");
    require(elapse_wheel_init(&server.wheel, network.now_ms) == ELAPSE_OK, "no wheel");

    /* calloc has made the timers idle. */
    for (size_t i = 0; i < server.count; i++) {
        server.connections[i].open = true;
        postpone(&server, &server.connections[i], network.now_ms);
    }
    network.inputs_left = server.count * INPUTS_PER_CONNECTION;
    size_t inputs = network.inputs_left;
    serve(&server, &network);

    printf("%zu connections, %zu inputs, %zu wake-ups; %zu closed for idleness in %.0f s\n",
           server.count, inputs - network.inputs_left, server.wake_ups, server.closed,
           (double)network.now_ms / 1000);
    require(server.closed == server.count, "a connection was never closed");
    free(server.connections);
    return EXIT_SUCCESS;
}
