/*
 * Timers through the server: puts jobs that become due soon, at a steady rate, takes and
 * acknowledges each, and says how late they came.
 *
 *     elapse-bench-server-timers PORT [RATE [SECONDS [WORKERS [AHEAD_MS]]]]
 *
 * RATE jobs a second (20000) are put with AT, spread evenly over the milliseconds, up to AHEAD_MS
 * (2000) before they are due. Rate 0 is as fast as it goes, with at most 20000 puts unanswered.
 * WORKERS connections (4) wait with RESERVE COUNT 1000, and acknowledge what they get.
 *
 * The lateness of a job: from its time until the end of the reply that has it was read, by the
 * wall clock of one machine. It stops at the first reply that is an error. Status 1 also if a job
 * came early, or if fewer were handed out than put.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "client.h"

enum {
    WORKERS_MAX = 64,
    WINDOW = 20000, /* puts that are not answered */
    PUT_BYTES_MAX = 512,
    BODY_BYTES = 100,
    BUCKET_NS = 10000, /* of the histogram of lateness */
    BUCKETS = 1 << 20, /* 10 s */
    NOT_WHOLE = -1,
};

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

/* Bytes that grow at their end and are taken from their begin. */
struct bytes {
    char *at;
    size_t size, room;
};

struct connection {
    int socket;
    bool is_putter;
    struct bytes in, out;
};

static struct connection connections[1 + WORKERS_MAX];
static unsigned connection_count;
static uint64_t put, put_answered, handed_out, acknowledged, early;
static uint32_t histogram[BUCKETS];
static int64_t latest_ns;

static int64_t wall_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t monotonic_ns(void)
{
    return (int64_t)now_ns();
}

static void refuse(const char *what, const char *text)
{
    fprintf(stderr, "%s: %.80s\n", what, text);
    exit(2);
}

/* ---- bytes ---- */

static char *reserve(struct bytes *bytes, size_t size)
{
    if (bytes->room - bytes->size < size) {
        bytes->room = (bytes->size + size) * 2;
        bytes->at = realloc(bytes->at, bytes->room);
        if (bytes->at == NULL)
            stop("realloc");
    }
    return bytes->at + bytes->size;
}

static void take(struct bytes *bytes, size_t size)
{
    bytes->size -= size;
    memmove(bytes->at, bytes->at + size, bytes->size);
}

static void add_text(struct bytes *bytes, const char *text)
{
    size_t size = strlen(text);
    memcpy(reserve(bytes, size), text, size);
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
        take(&connection->out, (size_t)sent);
}

static void receive_some(struct connection *connection)
{
    const size_t most = 1 << 18;
    ssize_t got = recv(connection->socket, reserve(&connection->in, most), most, 0);

    if (got == 0 || (got < 0 && errno != EAGAIN))
        stop("recv");
    if (got > 0)
        connection->in.size += (size_t)got;
}

/* ---- replies ---- */

struct reader {
    const char *at, *end;
};

/* A line that begins with `kind`: the number in it; NOT_WHOLE: it has not come. */
static int64_t read_line(struct reader *reader, char kind)
{
    const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));

    if (end == NULL)
        return NOT_WHOLE;
    if (*reader->at != kind)
        refuse("an unexpected reply", reader->at);
    int64_t number = kind == '+' ? 0 : strtoll(reader->at + 1, NULL, 10);
    reader->at = end + 1;
    return number;
}

/* A bulk string; false: it has not come. */
static bool read_bulk(struct reader *reader, const char **text, size_t *size)
{
    int64_t length = read_line(reader, '$');

    if (length == NOT_WHOLE || reader->end - reader->at < length + 2)
        return false;
    *text = reader->at;
    *size = (size_t)length;
    reader->at += length + 2;
    return true;
}

static void note_lateness(int64_t due_ms, int64_t read_ns)
{
    int64_t late_ns = read_ns - due_ms * NS_PER_MS;
    int64_t bucket = late_ns < 0 ? 0 : late_ns / BUCKET_NS;

    early += late_ns < 0;
    latest_ns = late_ns > latest_ns ? late_ns : latest_ns;
    histogram[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    handed_out++;
}

/* Reads one job: [id, lease, tube, key, body, due, attempt, missed]. Its id and lease go behind
 * those that are to be acknowledged. */
static bool read_job(struct reader *reader, struct bytes *done, int64_t *due_ms)
{
    const char *text, *ignored;
    char digits[32];
    size_t size, ignored_size;

    if (read_line(reader, '*') == NOT_WHOLE)
        return false;
    int64_t id = read_line(reader, ':');
    if (id == NOT_WHOLE || !read_bulk(reader, &text, &size) ||
        !read_bulk(reader, &ignored, &ignored_size))
        return false;
    /* Jobs have no key. */
    if (reader->end - reader->at < 5)
        return false;
    reader->at += 5;
    if (!read_bulk(reader, &ignored, &ignored_size))
        return false;
    *due_ms = read_line(reader, ':');
    if (*due_ms == NOT_WHOLE || read_line(reader, ':') == NOT_WHOLE ||
        read_line(reader, ':') == NOT_WHOLE)
        return false;
    int length = snprintf(digits, sizeof digits, "%lld", (long long)id);
    int written = snprintf(reserve(done, 128), 128, "$%d\r\n%s\r\n$%zu\r\n%.*s\r\n", length, digits,
                           size, (int)size, text);
    done->size += (size_t)written;
    return true;
}

/* Reads the whole reply of a RESERVE. Returns false if it has not come. */
static bool read_jobs(struct connection *connection, struct reader *reader, int64_t read_ns)
{
    static int64_t dues_ms[1000];
    static struct bytes done;
    char header[64];
    int64_t count = read_line(reader, '*');

    if (count == NOT_WHOLE)
        return false;
    done.size = 0;
    for (int64_t i = 0; i < count; i++)
        if (!read_job(reader, &done, &dues_ms[i]))
            return false;
    for (int64_t i = 0; i < count; i++)
        note_lateness(dues_ms[i], read_ns);
    /* A command has up to 1,024 arguments: two acknowledgements of up to 500 jobs each. */
    const char *from = done.at;
    for (int64_t left = count; left > 0;) {
        int64_t some = left < 500 ? left : 500;
        const char *to = from;
        for (int64_t i = 0; i < some * 4; i++)
            to = (const char *)memchr(to, '\n', (size_t)(done.at + done.size - to)) + 1;
        (void)snprintf(header, sizeof header, "*%lld\r\n$3\r\nACK\r\n", (long long)some * 2 + 1);
        add_text(&connection->out, header);
        memcpy(reserve(&connection->out, (size_t)(to - from)), from, (size_t)(to - from));
        connection->out.size += (size_t)(to - from);
        from = to;
        left -= some;
    }
    add_text(&connection->out, "*6\r\n$7\r\nRESERVE\r\n$1\r\nt\r\n$5\r\nCOUNT\r\n$4\r\n1000\r\n"
                               "$4\r\nWAIT\r\n$2\r\n1s\r\n");
    return true;
}

/* The reply of an ACK is an array of words, that of a RESERVE an array of arrays, or nothing. */
static bool read_reply(struct connection *connection, struct reader *reader, int64_t read_ns)
{
    struct reader ahead = *reader;

    if (reader->at == reader->end)
        return false;
    int64_t count = read_line(&ahead, '*');
    if (count == NOT_WHOLE || (count > 0 && ahead.at == ahead.end))
        return false;
    if (count == 0 || *ahead.at == '*')
        return read_jobs(connection, reader, read_ns);
    for (int64_t i = 0; i < count; i++)
        if (read_line(&ahead, '+') == NOT_WHOLE)
            return false;
    acknowledged += (uint64_t)count;
    reader->at = ahead.at;
    return true;
}

/* The reply of a PUT: [id, scheduled]. */
static bool read_put(struct reader *reader)
{
    struct reader ahead = *reader;

    if (ahead.at == ahead.end || read_line(&ahead, '*') == NOT_WHOLE || ahead.at == ahead.end ||
        read_line(&ahead, ':') == NOT_WHOLE || ahead.at == ahead.end ||
        read_line(&ahead, '+') == NOT_WHOLE)
        return false;
    put_answered++;
    reader->at = ahead.at;
    return true;
}

static void read_replies(struct connection *connection)
{
    receive_some(connection);
    int64_t read_ns = wall_ns();
    struct reader reader = {connection->in.at, connection->in.at + connection->in.size};
    const char *begin = reader.at;
    struct reader whole = reader;

    while (connection->is_putter ? read_put(&reader) : read_reply(connection, &reader, read_ns))
        whole = reader;
    take(&connection->in, (size_t)(whole.at - begin));
}

/* ---- puts ---- */

static void add_put(struct bytes *out, int64_t due_ms)
{
    static char body[BODY_BYTES + 1];
    char time[32];

    memset(body, 'x', BODY_BYTES);
    int length = snprintf(time, sizeof time, "%lld", (long long)due_ms);
    int written = snprintf(reserve(out, PUT_BYTES_MAX), PUT_BYTES_MAX,
                           "*5\r\n$3\r\nPUT\r\n$1\r\nt\r\n$%d\r\n%s\r\n$2\r\nAT\r\n$%d\r\n%s\r\n",
                           BODY_BYTES, body, length, time);
    out->size += (size_t)written;
    put++;
}

/* Puts what the time that has passed asks for. */
static void put_due(uint64_t rate, int64_t passed_ns, int64_t ahead_ms)
{
    struct connection *putter = &connections[0];
    uint64_t wanted = put_answered + WINDOW;

    if (rate > 0 && (uint64_t)(passed_ns / 1000) * rate / 1000000 < wanted)
        wanted = (uint64_t)(passed_ns / 1000) * rate / 1000000;
    int64_t due_ms = wall_ms() + ahead_ms;
    while (put < wanted)
        add_put(&putter->out, due_ms);
}

/* ---- the run ---- */

static void exchange(int wait_ms)
{
    struct pollfd polled[1 + WORKERS_MAX];

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

static double quantile_ms(uint64_t from_thousand)
{
    uint64_t wanted = handed_out * from_thousand / 1000;
    uint64_t seen = 0;
    size_t bucket = 0;

    for (; bucket < BUCKETS - 1 && (seen += histogram[bucket]) <= wanted; bucket++)
        ;
    return (double)(bucket + 1) * BUCKET_NS / 1e6;
}

int main(int argc, char **argv)
{
    uint16_t port = (uint16_t)(argc > 1 ? atoi(argv[1]) : 11300);
    uint64_t rate = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000;
    double seconds = argc > 3 ? atof(argv[3]) : 10;
    unsigned workers = argc > 4 ? (unsigned)atoi(argv[4]) : 4;
    int64_t ahead_ms = argc > 5 ? atoll(argv[5]) : 2000;

    if (workers == 0 || workers > WORKERS_MAX)
        refuse("workers", "1 to 64");
    connection_count = 1 + workers;
    connections[0].is_putter = true;
    for (unsigned i = 0; i < connection_count; i++)
        connections[i].socket = nonblocking(connect_to(port));
    for (unsigned i = 1; i < connection_count; i++)
        add_text(&connections[i].out, "*6\r\n$7\r\nRESERVE\r\n$1\r\nt\r\n$5\r\nCOUNT\r\n"
                                      "$4\r\n1000\r\n$4\r\nWAIT\r\n$2\r\n1s\r\n");

    int64_t began_ns = monotonic_ns();
    int64_t puts_ns = (int64_t)(seconds * 1e9);
    int64_t ended_ns = began_ns;
    while ((ended_ns = monotonic_ns()) - began_ns < puts_ns) {
        put_due(rate, ended_ns - began_ns, ahead_ms);
        exchange(1);
    }
    uint64_t puts = put_answered, acks = acknowledged;
    /* The last jobs come due; a machine may be slow. */
    int64_t patience_ns = ended_ns + ahead_ms * NS_PER_MS + 60 * NS_PER_S;
    while (acknowledged < put && monotonic_ns() < patience_ns)
        exchange(10);

    double took = (double)(ended_ns - began_ns) / 1e9;
    printf("%.0f puts/s, %.0f acks/s, %llu jobs; late p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms, "
           "max %.2f ms; %llu early, %lld missing\n",
           (double)puts / took, (double)acks / took, (unsigned long long)handed_out,
           quantile_ms(500), quantile_ms(990), quantile_ms(999), (double)latest_ns / 1e6,
           (unsigned long long)early, (long long)(put - acknowledged));
    return early > 0 || acknowledged != put || handed_out != put ? 1 : 0;
}
