/*
 * Idle connections in a libuv loop: one uv_timer_t for all of them, set by the wheel.
 *
 *     libuv_server [CONNECTIONS]        300 by default, 400 at most
 *
 * libuv keeps its own timers in a heap. Each timer that is postponed leaves the heap and enters it
 * again. In the wheel, postponing is one store, and libuv has a single timer to handle.
 *
 * This program uses the wheel and not the scheduler, because everything happens on the loop's
 * thread and nothing needs a lock. libevent_server.c shows the scheduler, for programs in which
 * other threads have deadlines, too.
 *
 * What to look at:
 * - set_alarm() runs in each turn just before the loop sleeps (uv_prepare_t), and limits the sleep.
 *   It sets the alarm once a turn, however often timers were postponed in between.
 * - close_idle() runs just after the sleep (uv_check_t), when all input has been read. It advances
 *   to uv_now(), the time at which the loop woke up. Input that came before that time has
 *   postponed its time-out by now, even if the loop or a callback was held up.
 * - A time-out begins at uv_hrtime(), because uv_now() is out of date by then: a time-out counted
 *   from uv_now() would fire early. To advance to uv_now() is safe: it can only be late.
 *
 * The sockets come in pairs, and the other ends are the clients. They send a few messages, by
 * libuv's own timers, and check that they are not closed early. If one is, the exit status is 1.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <elapse/wheel.h>
#include <sys/socket.h>
#include <uv.h>

#define TICK_NS UINT64_C(1000000) /* a tick is a millisecond, as in uv_now() */
#define IDLE_NS (150 * TICK_NS)

struct connection {
    struct elapse_timer idle; /* first: a cast finds the connection */
    uint64_t last_input_ns;
    uv_pipe_t stream; /* its data points back here */
};

struct client {
    uv_pipe_t stream;
    uv_timer_t next_message;
    unsigned messages_left;
    uint64_t sent_ns; /* when the last message was sent, or the client was connected */
};

static struct elapse_wheel wheel;
static uv_timer_t alarm_timer;
static size_t turns, inputs, timed_out, clients_closed;

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "libuv_server: fault: %s\n", what);
    exit(EXIT_FAILURE);
}

/* libuv asks for a buffer before it reads. The bytes themselves do not matter here. */
static void give_buffer(uv_handle_t *handle, size_t suggested_bytes, uv_buf_t *buffer)
{
    static char bytes[4096];

    (void)handle;
    (void)suggested_bytes;
    *buffer = uv_buf_init(bytes, sizeof bytes);
}

/* ---- the server ---- */

/* Postpones the time-out, or starts it for a new connection. Rounds the deadline up to a tick,
 * because the present is rounded down: so nothing fires early. */
static void postpone(struct connection *connection)
{
    connection->last_input_ns = uv_hrtime();
    elapse_wheel_start(&wheel, &connection->idle,
                       (connection->last_input_ns + IDLE_NS + TICK_NS - 1) / TICK_NS);
}

static void free_connection(uv_handle_t *handle)
{
    free(handle->data);
}

static void finish(struct connection *connection)
{
    elapse_wheel_stop(&wheel, &connection->idle); /* does nothing after a pop */
    uv_close((uv_handle_t *)&connection->stream, free_connection);
}

static void handle_input(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    (void)buffer;
    if (length > 0) {
        inputs++;
        postpone(stream->data);
    } else if (length < 0) {
        finish(stream->data); /* the client has gone */
    }
}

static void close_idle(uv_check_t *check)
{
    struct elapse_timer *timer;

    turns++;
    elapse_wheel_advance(&wheel, uv_now(check->loop));
    while ((timer = elapse_wheel_pop(&wheel)) != NULL) {
        struct connection *connection = (struct connection *)timer;

        require(uv_hrtime() - connection->last_input_ns >= IDLE_NS, "a time-out came early");
        timed_out++;
        finish(connection);
    }
}

/* The alarm has nothing to do but to end the loop's sleep. */
static void wake_up(uv_timer_t *timer)
{
    (void)timer;
}

static void set_alarm(uv_prepare_t *prepare)
{
    uint64_t next = elapse_wheel_next(&wheel);

    if (next == ELAPSE_NEVER) {
        uv_timer_stop(&alarm_timer);
        return;
    }
    uv_update_time(prepare->loop); /* the alarm counts from the loop's time */
    uint64_t now = uv_now(prepare->loop);
    uv_timer_start(&alarm_timer, wake_up, next > now ? next - now : 0, 0);
}

static void open_connection(uv_loop_t *loop, int socket)
{
    struct connection *connection = calloc(1, sizeof *connection); /* its timer is idle */

    require(connection != NULL, "no memory");
    require(uv_pipe_init(loop, &connection->stream, 0) == 0 &&
                uv_pipe_open(&connection->stream, socket) == 0,
            "no stream");
    connection->stream.data = connection;
    uv_read_start((uv_stream_t *)&connection->stream, give_buffer, handle_input);
    postpone(connection);
}

/* ---- the clients ---- */

static void send_message(uv_timer_t *timer)
{
    struct client *client = timer->data;
    uv_buf_t message = uv_buf_init((char[]){'x'}, 1);
    uint64_t before_ns = uv_hrtime();

    /* It fails if the loop was held up for so long that the server has closed the connection. */
    if (uv_try_write((uv_stream_t *)&client->stream, &message, 1) == 1)
        client->sent_ns = before_ns;
    if (--client->messages_left == 0)
        uv_timer_stop(timer);
}

static void hear_server(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct client *client = stream->data;

    (void)buffer;
    if (length == 0)
        return;
    require(length == UV_EOF, "the server has sent something");
    require(uv_hrtime() - client->sent_ns >= IDLE_NS, "a connection was closed early");
    clients_closed++;
    uv_close((uv_handle_t *)&client->next_message, NULL);
    uv_close((uv_handle_t *)&client->stream, NULL);
}

static void open_client(uv_loop_t *loop, struct client *client, int socket, unsigned messages)
{
    client->sent_ns = uv_hrtime();
    client->messages_left = messages;
    require(uv_pipe_init(loop, &client->stream, 0) == 0 &&
                uv_pipe_open(&client->stream, socket) == 0,
            "no stream");
    uv_timer_init(loop, &client->next_message);
    client->stream.data = client->next_message.data = client;
    uv_read_start((uv_stream_t *)&client->stream, give_buffer, hear_server);
    if (messages > 0)
        uv_timer_start(&client->next_message, send_message, 10 * messages, 40);
}

int main(int argument_count, char **arguments)
{
    const char *said = argument_count > 1 ? arguments[1] : "300";
    char *end;
    unsigned long count = strtoul(said, &end, 10);
    uv_loop_t *loop = uv_default_loop();
    uv_prepare_t before_sleep;
    uv_check_t after_input;

    if (argument_count > 2 || *end != '\0' || count < 1 || count > 400) {
        fputs("usage: libuv_server [CONNECTIONS], 1 to 400\n", stderr);
        return 2;
    }
    struct client *clients = calloc(count, sizeof *clients);
    require(clients != NULL, "no memory");
    signal(SIGPIPE, SIG_IGN);
    require(elapse_wheel_init(&wheel, uv_hrtime() / TICK_NS) == ELAPSE_OK, "no wheel");
    uv_timer_init(loop, &alarm_timer);
    uv_prepare_init(loop, &before_sleep);
    uv_prepare_start(&before_sleep, set_alarm);
    uv_check_init(loop, &after_input);
    uv_check_start(&after_input, close_idle);
    /* Only the connections keep the loop running. */
    uv_unref((uv_handle_t *)&alarm_timer);
    uv_unref((uv_handle_t *)&before_sleep);
    uv_unref((uv_handle_t *)&after_input);

    for (size_t i = 0; i < count; i++) {
        int sockets[2];

        require(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "no sockets");
        open_client(loop, &clients[i], sockets[1], (unsigned)(i % 6));
        open_connection(loop, sockets[0]);
    }
    uv_run(loop, UV_RUN_DEFAULT);

    printf("%lu connections, %zu messages, %zu turns of the loop; all closed after %.2f s of "
           "silence and none sooner\n",
           count, inputs, turns, (double)IDLE_NS / 1e9);
    require(timed_out == count && clients_closed == count, "a connection was closed otherwise");
    require(elapse_wheel_count(&wheel) == 0, "a timer is left");
    uv_close((uv_handle_t *)&alarm_timer, NULL);
    uv_close((uv_handle_t *)&before_sleep, NULL);
    uv_close((uv_handle_t *)&after_input, NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    require(uv_loop_close(loop) == 0, "the loop has something left");
    free(clients);
    return EXIT_SUCCESS;
}
