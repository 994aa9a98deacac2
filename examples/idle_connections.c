/*
 * Idle connections: the wheel inside an event loop, with no thread but this one.
 *
 * A server closes a connection on which nothing has come for a minute. Each thing that comes
 * puts its connection's time-out off, many times for each one that ever passes: this is what
 * elapse_wheel_start on a pending timer is made for, which then is one store.
 *
 *     idle_connections [CONNECTIONS]        100,000 unless it is said
 *
 * The loop is that of any server with epoll: ask the wheel how long there is nothing to do, wait
 * for input that long at most, deal with the input, tell the wheel the time, close what has timed
 * out. Only the network is made up, and with it the time, so that minutes take no time at all
 * and everything can be checked: a connection is closed one minute after the last thing that came,
 * not sooner and not later. What is wrong is a fault, and the exit status is 1.
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

/* ---- a network that is made up ---- */

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

/* What epoll_wait does: waits for input, but no later than `until_ms`; true if some has come. */
static bool wait_for_input(struct network *network, uint64_t until_ms)
{
    bool comes = network->inputs_left > 0 && network->next_input_ms <= until_ms;
    uint64_t wakes_ms = comes ? network->next_input_ms : until_ms;

    if (wakes_ms > network->now_ms)
        network->now_ms = wakes_ms;
    return comes;
}

/* Something has come on the connection with this number. The next comes at once, as three times in
 * four, or a millisecond later. */
static size_t read_input(struct network *network, size_t connections)
{
    network->inputs_left--;
    network->next_input_ms = network->now_ms + random_below(network, 4) / 3;
    return random_below(network, (uint32_t)connections);
}

/* ---- the server ---- */

/* Something has come, or it was just opened: a minute from now, however long it had been. */
static void put_off(struct server *server, struct connection *connection, uint64_t now_ms)
{
    connection->last_input_ms = now_ms;
    elapse_wheel_start(&server->wheel, &connection->idle, now_ms + IDLE_MS);
}

static void close_idle(struct server *server, uint64_t now_ms)
{
    struct elapse_timer *timer;

    elapse_wheel_advance(&server->wheel, now_ms);
    while ((timer = elapse_wheel_pop(&server->wheel)) != NULL) {
        /* From here on the wheel knows nothing of the timer: its memory could be freed. */
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
        put_off(server, connection, now_ms);
}

static void serve(struct server *server, struct network *network)
{
    while (elapse_wheel_count(&server->wheel) > 0) {
        /* For epoll_wait this less the present is the time-out; ELAPSE_NEVER would be -1. It may be
         * early when timers were put off: then a wake-up finds nothing due. */
        bool input = wait_for_input(network, elapse_wheel_next(&server->wheel));

        server->wake_ups++;
        /* The input first: were the server held up, input and time-out would be there together,
         * and what has come puts the time-out off. */
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
        put_off(&server, &server.connections[i], network.now_ms);
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
