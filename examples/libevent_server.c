/*
 * Idle connections in a libevent loop, and a second thread that has deadlines, too: the scheduler
 * in pull mode, as one descriptor in the loop.
 *
 *     libevent_server [CONNECTIONS]        300 by default, 400 at most
 *
 * In pull mode the scheduler has no threads. Any thread may schedule, and the loop takes the due
 * tasks on its own thread. So an action may touch the loop's connections without a lock, even if
 * another thread has scheduled it. Here a second thread schedules the end of every fifth
 * connection. If only the loop's thread has deadlines, the wheel and a single timer of the loop
 * cost less: see libuv_server.c.
 *
 * What to look at:
 * - take_due(): when the descriptor is readable, take a task, call it, report it done, and repeat
 *   until no task is due.
 * - handle_input(): one reschedule postpones a time-out, even while that is running.
 * - time_out(): input may have come while the loop was held up, so it looks for input once more.
 * - The task of the time-out owns the connection: its destructor frees it, however it ends.
 * - The second thread refers to a connection by its place in a table, because a pointer to it
 *   could be stale.
 *
 * The sockets come in pairs, and the other ends are the clients. They send a few messages, by
 * libevent's own timers, and check that they are not closed early. If one is, the exit status is 1.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <elapse/scheduler.h>
#include <event2/event.h>
#include <pthread.h>
#include <sys/socket.h>

#define IDLE_NS (150 * ELAPSE_MILLISECOND_NS)

enum { CONNECTIONS_MAX = 400, ONE_IS_ENDED_OF = 5 };

struct connection {
    struct elapse_handle idle; /* the task that will close it */
    struct event *readable;
    int socket;
    size_t number;
};

struct client {
    struct event *readable;
    struct event *next_message;
    int socket;
    unsigned messages_left;
    bool may_be_ended;
    uint64_t sent_ns; /* when the last message was sent, or the client was connected */
};

static struct event_base *base;
static struct elapse_scheduler *scheduler;
static struct connection *connections[CONNECTIONS_MAX]; /* NULL: closed */
static struct client clients[CONNECTIONS_MAX];
static size_t count, inputs, timed_out, ended, clients_closed;

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "libevent_server: fault: %s\n", what);
    exit(EXIT_FAILURE);
}

/* ---- the server ---- */

/* Ends the connection. The cancel frees it, at once or when a running time-out is done: do not use
 * it afterwards. */
static void finish(struct connection *connection)
{
    connections[connection->number] = NULL;
    event_free(connection->readable);
    close(connection->socket);
    (void)elapse_task_cancel(scheduler, connection->idle);
}

/* Reads the input. Returns false if there is none. */
static bool handle_input(struct connection *connection)
{
    char bytes[4096];
    ssize_t length = recv(connection->socket, bytes, sizeof bytes, MSG_DONTWAIT);

    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (length > 0) {
        inputs++;
        require(elapse_task_reschedule_after(scheduler, connection->idle, IDLE_NS) == ELAPSE_OK,
                "a time-out could not be postponed");
    } else {
        finish(connection); /* the client has gone */
    }
    return true;
}

static void on_readable(evutil_socket_t socket, short events, void *context)
{
    (void)socket;
    (void)events;
    (void)handle_input(context);
}

static void time_out(void *context, const struct elapse_run *run)
{
    (void)run;
    if (handle_input(context))
        return;
    timed_out++;
    finish(context);
}

static void end_connection(void *context, const struct elapse_run *run)
{
    struct connection *connection = *(struct connection **)context;

    (void)run;
    if (connection == NULL)
        return; /* it has timed out already */
    ended++;
    finish(connection);
}

static void take_due(evutil_socket_t descriptor, short events, void *context)
{
    struct elapse_taken taken;
    enum elapse_error error;

    (void)descriptor;
    (void)events;
    (void)context;
    while ((error = elapse_task_take(scheduler, 0, &taken)) == ELAPSE_OK) {
        taken.action(taken.context, &taken.run);
        elapse_task_done(scheduler, taken.run.handle);
    }
    if (error == ELAPSE_ERROR_CLOSED)
        event_base_loopbreak(base); /* a closed scheduler's descriptor stays readable */
}

static void open_connection(size_t number, int socket)
{
    struct connection *connection = malloc(sizeof *connection);
    struct elapse_task task = {.action = time_out, .context = connection, .destroy = free};

    require(connection != NULL, "no memory");
    *connection = (struct connection){.socket = socket, .number = number};
    connection->readable = event_new(base, socket, EV_READ | EV_PERSIST, on_readable, connection);
    require(connection->readable != NULL && event_add(connection->readable, NULL) == 0, "no event");
    connections[number] = connection;
    require(elapse_task_schedule_after(scheduler, &task, IDLE_NS, &connection->idle) == ELAPSE_OK,
            "a time-out could not be scheduled");
}

/* ---- the other thread ---- */

static void *end_some(void *argument)
{
    (void)argument;
    for (size_t i = 0; i < count; i += ONE_IS_ENDED_OF) {
        struct elapse_task task = {.action = end_connection, .context = &connections[i]};

        require(elapse_task_schedule_after(scheduler, &task, i * ELAPSE_MILLISECOND_NS, NULL) ==
                    ELAPSE_OK,
                "an end could not be scheduled");
    }
    return NULL;
}

/* ---- the clients ---- */

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * ELAPSE_SECOND_NS + (uint64_t)now.tv_nsec;
}

static void send_message(evutil_socket_t unused, short events, void *context)
{
    struct client *client = context;
    uint64_t before_ns = clock_ns();

    (void)unused;
    (void)events;
    /* It fails if the server has closed the connection. */
    if (send(client->socket, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
        client->sent_ns = before_ns;
    if (--client->messages_left > 0)
        event_add(client->next_message, &(struct timeval){.tv_usec = 40000});
}

static void hear_server(evutil_socket_t socket, short events, void *context)
{
    struct client *client = context;

    (void)events;
    require(client->may_be_ended || clock_ns() - client->sent_ns >= IDLE_NS,
            "a connection was closed early");
    event_free(client->readable);
    event_free(client->next_message);
    close(socket);
    if (++clients_closed == count)
        event_base_loopbreak(base);
}

static void open_client(size_t number, int socket)
{
    struct client *client = &clients[number];

    *client = (struct client){.socket = socket,
                              .messages_left = (unsigned)(number % 6),
                              .may_be_ended = number % ONE_IS_ENDED_OF == 0,
                              .sent_ns = clock_ns()};
    client->readable = event_new(base, socket, EV_READ, hear_server, client);
    client->next_message = evtimer_new(base, send_message, client);
    require(client->readable != NULL && client->next_message != NULL, "no event");
    event_add(client->readable, NULL);
    if (client->messages_left > 0)
        event_add(client->next_message, &(struct timeval){.tv_usec = 40000});
}

int main(int argument_count, char **arguments)
{
    struct elapse_scheduler_options options;
    struct elapse_statistics statistics;
    pthread_t thread;

    const char *said = argument_count > 1 ? arguments[1] : "300";
    char *end;
    count = strtoul(said, &end, 10);
    if (argument_count > 2 || *end != '\0' || count < 1 || count > CONNECTIONS_MAX) {
        fputs("usage: libevent_server [CONNECTIONS], 1 to 400\n", stderr);
        return 2;
    }
    elapse_scheduler_options_init(&options);
    options.pull = true;
    require(elapse_scheduler_new(&options, &scheduler) == ELAPSE_OK &&
                elapse_scheduler_start(scheduler) == ELAPSE_OK,
            "no scheduler");
    base = event_base_new();
    require(base != NULL, "no loop");
    struct event *due = event_new(base, elapse_scheduler_descriptor(scheduler),
                                  EV_READ | EV_PERSIST, take_due, NULL);
    require(due != NULL && event_add(due, NULL) == 0, "no event");

    for (size_t i = 0; i < count; i++) {
        int sockets[2];

        require(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "no sockets");
        open_client(i, sockets[1]);
        open_connection(i, sockets[0]);
    }
    require(pthread_create(&thread, NULL, end_some, NULL) == 0, "no thread");
    event_base_dispatch(base);
    require(pthread_join(thread, NULL) == 0, "a thread is lost");

    elapse_scheduler_statistics(scheduler, &statistics);
    printf(
        "%zu connections, %zu messages, postponed %llu times; %zu closed after %.2f s of silence "
        "and none sooner, %zu ended from the other thread\n",
        count, inputs, (unsigned long long)statistics.rescheduled, timed_out, (double)IDLE_NS / 1e9,
        ended);
    require(timed_out + ended == count, "a connection was closed otherwise");
    require(timed_out >= count - (count + ONE_IS_ENDED_OF - 1) / ONE_IS_ENDED_OF,
            "a connection was ended by mistake");
    require(statistics.rescheduled == inputs, "the scheduler has counted otherwise");
    event_free(due);
    require(elapse_scheduler_free(scheduler) == ELAPSE_OK, "the scheduler is not free");
    event_base_free(base);
    return EXIT_SUCCESS;
}
