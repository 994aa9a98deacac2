#include "phase.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "client.h"

enum { READ_BYTES = 1 << 20, OUTPUT_BYTES = 1 << 18, LINE_BYTES = 32, MARKS = 1 << 12 };

/* Steps up to this one were sent at this time. */
struct mark {
    uint64_t step, sent_ns;
};

struct connection {
    int socket;
    uint64_t sent, done;   /* steps of this connection */
    unsigned command;      /* of the step whose reply is being read */
    unsigned lines;        /* of that reply that have come */
    char part[LINE_BYTES]; /* of a line whose end has not come */
    size_t part_bytes;
    bool is_inside;    /* a line whose beginning came before */
    size_t begin, end; /* of the output not sent yet */
    char *output;
    uint64_t first_mark, end_mark;
    struct mark marks[MARKS];
};

static struct connection *connections;
static uint64_t connection_count;
static int poller;
static char buffer[READ_BYTES];

static const struct phase *phase;
static struct phase_result *result;
static uint64_t next_step, allowed_steps;
static unsigned commands_of_step;

void phases_connect(uint16_t port, uint64_t count)
{
    connections = calloc(count, sizeof *connections);
    connection_count = count;
    poller = epoll_create1(0);
    if (connections == NULL || poller < 0)
        stop("epoll");
    for (uint64_t i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET,
                                    .data.ptr = &connections[i]};
        connections[i].socket = connect_to(port);
        connections[i].output = malloc(OUTPUT_BYTES);
        if (connections[i].output == NULL)
            stop("malloc");
        (void)fcntl(connections[i].socket, F_SETFL, O_NONBLOCK);
        (void)epoll_ctl(poller, EPOLL_CTL_ADD, connections[i].socket, &event);
    }
}

/* ---- sending ---- */

static void write_step(struct connection *connection)
{
    for (unsigned i = 0; i < commands_of_step; i++)
        connection->end += phase->kinds[i]->write(connection->output + connection->end,
                                                  phase->number(next_step, i));
    next_step++;
    connection->sent++;
}

static void fill(struct connection *connection)
{
    connection->begin = connection->end = 0;
    if (connection->end_mark - connection->first_mark == MARKS)
        return;
    while (connection->sent - connection->done < phase->window && next_step < allowed_steps &&
           connection->end + (size_t)2 * COMMAND_BYTES_MAX <= OUTPUT_BYTES)
        write_step(connection);
    if (connection->end > 0)
        connection->marks[connection->end_mark++ % MARKS] =
            (struct mark){connection->sent, now_ns()};
}

static void send_more(struct connection *connection)
{
    for (;;) {
        if (connection->begin == connection->end)
            fill(connection);
        if (connection->begin == connection->end)
            return;
        ssize_t sent = send(connection->socket, connection->output + connection->begin,
                            connection->end - connection->begin, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            stop("send");
        if (sent < 0)
            return;
        connection->begin += (size_t)sent;
    }
}

/* ---- replies ---- */

/* A line is whole, or its first bytes are. */
static void take_line(struct connection *connection, const char *line, size_t bytes)
{
    const struct kind *kind = phase->kinds[connection->command];
    size_t wanted = strlen(kind->last);

    if (connection->sent == connection->done)
        fail("a reply that was not asked for", line);
    if (++connection->lines < kind->lines) {
        if (line[0] == '-')
            fail(kind->verb, line);
        return;
    }
    if (bytes < wanted || memcmp(line, kind->last, wanted) != 0)
        fail(kind->verb, line);
    connection->lines = 0;
    if (++connection->command < commands_of_step)
        return;
    connection->command = 0;
    connection->done++;
}

/* Keeps the beginning of a line for later. */
static void keep_part(struct connection *connection, const char *bytes, size_t size)
{
    size_t room = LINE_BYTES - 1 - connection->part_bytes;

    if (size > room)
        size = room;
    memcpy(connection->part + connection->part_bytes, bytes, size);
    connection->part_bytes += size;
    connection->part[connection->part_bytes] = '\0';
}

static void take_lines(struct connection *connection, const char *at, const char *end)
{
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL) {
            keep_part(connection, at, (size_t)(end - at));
            return;
        }
        if (connection->part_bytes > 0) {
            keep_part(connection, at, (size_t)(line_end + 1 - at));
            take_line(connection, connection->part, connection->part_bytes);
            connection->part_bytes = 0;
        } else {
            take_line(connection, at, (size_t)(line_end - at));
        }
        at = line_end + 1;
    }
}

/* The steps that are done since `before` took from their mark until now. */
static void note_times(struct connection *connection, uint64_t before)
{
    uint64_t read_ns = now_ns();

    while (before < connection->done) {
        const struct mark *mark = &connection->marks[connection->first_mark % MARKS];
        uint64_t until = mark->step < connection->done ? mark->step : connection->done;
        histogram_add(&result->times, read_ns - mark->sent_ns, until - before);
        before = until;
        if (before == mark->step)
            connection->first_mark++;
    }
}

static void serve(struct connection *connection)
{
    ssize_t got;

    /* Edge-triggered: until there is nothing more. */
    do {
        uint64_t before = connection->done;
        got = recv(connection->socket, buffer, sizeof buffer - 1, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            stop("recv");
        if (got < 0)
            break;
        buffer[got] = '\0';
        take_lines(connection, buffer, buffer + got);
        note_times(connection, before);
        result->steps += connection->done - before;
    } while ((size_t)got == sizeof buffer - 1);
    send_more(connection);
}

/* ---- the phase ---- */

static void allow_steps(uint64_t passed_ns)
{
    uint64_t most = phase->steps > 0 ? phase->steps : UINT64_MAX / 2;

    allowed_steps = most;
    if (phase->rate > 0 && passed_ns / 1000 * phase->rate / 1000000 < most)
        allowed_steps = passed_ns / 1000 * phase->rate / 1000000;
}

static void turn(int wait_ms)
{
    struct epoll_event events[256];
    int ready = epoll_wait(poller, events, 256, wait_ms);

    commands_look_at_clock();
    for (int i = 0; i < ready; i++)
        serve(events[i].data.ptr);
}

static uint64_t under_way(void)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < connection_count; i++)
        count += connections[i].sent - connections[i].done;
    return count;
}

/* Waits a while for steps that are under way, which do not count any more. */
static void finish(void)
{
    const uint64_t patience_ns = UINT64_C(5000000000);
    uint64_t steps = result->steps, until_ns = now_ns() + patience_ns;

    allowed_steps = 0;
    while (under_way() > 0 && now_ns() < until_ns)
        turn(100);
    result->steps = steps;
}

void phase_run(const struct phase *run, struct phase_result *to)
{
    phase = run;
    result = to;
    *result = (struct phase_result){0};
    next_step = 0;
    commands_of_step = phase->kinds[1] == NULL ? 1 : 2;
    commands_look_at_clock();
    uint64_t began_ns = now_ns(), until_ns = began_ns + (uint64_t)(phase->seconds * 1e9);
    for (uint64_t at_ns = began_ns; at_ns < until_ns; at_ns = now_ns()) {
        allow_steps(at_ns - began_ns);
        if (phase->rate > 0 || at_ns == began_ns)
            for (uint64_t i = 0; i < connection_count; i++)
                send_more(&connections[i]);
        if (phase->steps > 0 && result->steps == phase->steps)
            break;
        turn(phase->rate > 0 ? 1 : 1000);
    }
    result->seconds = (double)(now_ns() - began_ns) / 1e9;
    if (phase->steps > 0 && result->steps < phase->steps)
        fail(phase->kinds[0]->verb, "not all were answered in time");
    finish();
}
