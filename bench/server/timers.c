/*
 * Timers through the server: puts jobs that become due soon, at a steady rate, takes and
 * acknowledges each, and says how late they came.
 *
 *     elapse-bench-server-timers PORT timers [--speech S] [--rate R] [--seconds N]
 *                                [--connections C] [--ahead-ms A] [--poll-ms P]
 *
 * --rate jobs a second are put, spread evenly over the milliseconds, up to --ahead-ms before they
 * are due. Rate 0 is as fast as it goes, with at most 20000 puts unanswered. Besides the connection
 * that puts, --connections take jobs and acknowledge them: with the speech resp they wait with
 * RESERVE COUNT 1000; with beanstalkd each reserves one job, and the next when it deletes that one;
 * with redis they ask every --poll-ms for up to 1000 jobs that are due, and at once after 1000.
 *
 * The lateness of a job: from its time, which its body begins with, until the end of the reply that
 * has it was read, by the wall clock of one machine. beanstalkd's delays are whole seconds, so
 * --ahead-ms should be, too. It stops at the first reply that is an error. Status 1 also if fewer
 * were handed out than put; how many came early is a figure.
 */
#include "timers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "client.h"
#include "commands.h"
#include "redis_scripts.h"

enum { WORKERS_MAX = 256, WINDOW = 20000 /* puts that are not answered */ };

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

struct counts counts;
struct arguments arguments;

static struct connection connections[1 + WORKERS_MAX];
static unsigned connection_count;
static const struct speech *speech;

/* ---- bytes ---- */

char *bytes_reserve(struct bytes *bytes, size_t size)
{
    if (bytes->room - bytes->size < size) {
        bytes->room = (bytes->size + size) * 2;
        bytes->at = realloc(bytes->at, bytes->room);
        if (bytes->at == NULL)
            stop("realloc");
    }
    return bytes->at + bytes->size;
}

void bytes_take(struct bytes *bytes, size_t size)
{
    bytes->size -= size;
    memmove(bytes->at, bytes->at + size, bytes->size);
}

void bytes_add(struct bytes *bytes, const char *text, size_t size)
{
    memcpy(bytes_reserve(bytes, size), text, size);
    bytes->size += size;
}

/* ---- sockets ---- */

static int nonblocking(int connected)
{
    if (fcntl(connected, F_SETFL, O_NONBLOCK) != 0)
        stop("fcntl");
    return connected;
}

static void send_some(struct connection *connection)
{
    if (connection->out.size == 0)
        return;
    ssize_t sent = send(connection->socket, connection->out.at, connection->out.size, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
        stop("send");
    if (sent > 0)
        bytes_take(&connection->out, (size_t)sent);
}

static void receive_some(struct connection *connection)
{
    const size_t most = 1 << 18;
    /* Behind the bytes there is a zero, for messages. */
    ssize_t got = recv(connection->socket, bytes_reserve(&connection->in, most + 1), most, 0);

    if (got == 0 || (got < 0 && errno != EAGAIN))
        stop("recv");
    if (got > 0)
        connection->in.size += (size_t)got;
    connection->in.at[connection->in.size] = '\0';
}

/* ---- replies ---- */

void note_job(const char *body, int64_t read_ns)
{
    int64_t late_ns = read_ns - strtoll(body, NULL, 10) * NS_PER_MS;

    counts.early += late_ns < 0;
    histogram_add(&counts.late, late_ns < 0 ? 0 : (uint64_t)late_ns, 1);
    counts.handed_out++;
}

static void read_replies(struct connection *connection)
{
    receive_some(connection);
    int64_t read_ns = wall_ns();
    struct reader reader = {connection->in.at, connection->in.at + connection->in.size};
    const char *whole = reader.at;

    while (whole < reader.end) {
        reader.at = whole;
        if (!(connection->is_putter ? speech->read_put(&reader)
                                    : speech->read_work(connection, &reader, read_ns)))
            break;
        whole = reader.at;
    }
    bytes_take(&connection->in, (size_t)(whole - connection->in.at));
}

/* ---- puts ---- */

/* Puts what the time that has passed asks for. */
static void put_due(int64_t passed_ns)
{
    struct connection *putter = &connections[0];
    uint64_t rate = arguments.rate, wanted = counts.put_answered + WINDOW;

    if (rate > 0 && (uint64_t)(passed_ns / 1000) * rate / 1000000 < wanted)
        wanted = (uint64_t)(passed_ns / 1000) * rate / 1000000;
    int64_t due_ms = wall_ms() + arguments.ahead_ms;
    while (counts.put < wanted)
        putter->out.size += write_put_due(bytes_reserve(&putter->out, COMMAND_BYTES_MAX),
                                          speech->name, arguments.first + counts.put++, due_ms);
}

/* ---- the run ---- */

static void ask_again(void)
{
    uint64_t at_ns = now_ns();

    for (unsigned i = 1; i < connection_count; i++)
        if (connections[i].ask_ns > 0 && connections[i].ask_ns <= at_ns) {
            connections[i].ask_ns = 0;
            speech->ask(&connections[i]);
        }
}

static void exchange(int wait_ms)
{
    struct pollfd polled[1 + WORKERS_MAX];

    if (speech->polls)
        ask_again();
    for (unsigned i = 0; i < connection_count; i++) {
        send_some(&connections[i]);
        polled[i] = (struct pollfd){
            .fd = connections[i].socket,
            .events = (short)(POLLIN | (connections[i].out.size > 0 ? POLLOUT : 0))};
    }
    if (poll(polled, connection_count, wait_ms) < 0)
        stop("poll");
    for (unsigned i = 0; i < connection_count; i++)
        if ((polled[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
            read_replies(&connections[i]);
}

static void connect_all(void)
{
    uint16_t port = arguments_port(&arguments);

    if (strncmp(speech->name, "redis", 5) == 0)
        redis_scripts_load(port);
    connection_count = 1 + (unsigned)arguments.connections;
    connections[0].is_putter = true;
    for (unsigned i = 0; i < connection_count; i++)
        connections[i].socket = nonblocking(connect_to(port));
    for (unsigned i = 1; i < connection_count; i++)
        speech->ask(&connections[i]);
}

int main(int argc, char **argv)
{
    arguments = arguments_read(argc, argv);
    speech = speech_find(arguments.speech);
    if (speech == NULL || strcmp(arguments.verb, "timers") != 0)
        fail("no such speech or verb", arguments.verb);
    if (arguments.connections > WORKERS_MAX)
        fail("--connections", "256 at most");
    connect_all();

    int64_t began_ns = (int64_t)now_ns(), ended_ns;
    int64_t puts_ns = (int64_t)(arguments.seconds * 1e9);
    while ((ended_ns = (int64_t)now_ns()) - began_ns < puts_ns) {
        put_due(ended_ns - began_ns);
        exchange(1);
    }
    uint64_t puts = counts.put_answered, acks = counts.acknowledged;
    /* The last jobs come due; a machine may be slow. */
    int64_t patience_ns = ended_ns + arguments.ahead_ms * NS_PER_MS + 60 * NS_PER_S;
    while (counts.acknowledged < counts.put && (int64_t)now_ns() < patience_ns)
        exchange(1);

    double took = (double)(ended_ns - began_ns) / 1e9;
    figures_begin();
    figures_number("rate", (double)acks / took);
    figures_number("put_rate", (double)puts / took);
    figures_number("count", (double)counts.handed_out);
    figures_number("early", (double)counts.early);
    figures_number("missing", (double)counts.put - (double)counts.acknowledged);
    figures_times(&counts.late);
    figures_histogram(&counts.late);
    figures_end();
    return counts.acknowledged != counts.put || counts.handed_out != counts.put ? 1 : 0;
}
