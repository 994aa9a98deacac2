#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "commands.h"
#include "redis_scripts.h"
#include "timers.h"

enum { NOT_WHOLE = -1, NIL = -2, BATCH = 1000 };

static void add_text(struct bytes *bytes, const char *text)
{
    bytes_add(bytes, text, strlen(text));
}

static void add_string(struct bytes *bytes, const char *text, size_t size)
{
    bytes->size += write_string(bytes_reserve(bytes, size + 32), text, size);
}

static void add_number(struct bytes *bytes, uint64_t number)
{
    char digits[24];
    add_string(bytes, digits, write_number(digits, number));
}

/* ---- parts of replies ---- */

/* A line that begins with `kind`: the number in it; NOT_WHOLE: it has not come. */
static int64_t read_line(struct reader *reader, char kind)
{
    const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));

    if (end == NULL)
        return NOT_WHOLE;
    if (*reader->at != kind)
        fail("an unexpected reply", reader->at);
    int64_t number = kind == '+' ? 0 : strtoll(reader->at + 1, NULL, 10);
    reader->at = end + 1;
    return number < 0 ? NIL : number;
}

/* A bulk string, or none; false: it has not come. */
static bool read_bulk(struct reader *reader, const char **text, size_t *size)
{
    int64_t length = read_line(reader, '$');

    if (length == NIL)
        return true;
    if (length == NOT_WHOLE || reader->end - reader->at < length + 2)
        return false;
    *text = reader->at;
    *size = (size_t)length;
    reader->at += length + 2;
    return true;
}

/* ---- RESP ---- */

static void ask_resp(struct connection *worker)
{
    add_text(&worker->out, "*6\r\n$7\r\nRESERVE\r\n$1\r\nt\r\n$5\r\nCOUNT\r\n$4\r\n1000\r\n"
                           "$4\r\nWAIT\r\n$2\r\n1s\r\n");
}

/* The reply of a PUT: [id, scheduled]. */
static bool read_put_resp(struct reader *reader)
{
    if (read_line(reader, '*') == NOT_WHOLE || reader->at == reader->end ||
        read_line(reader, ':') == NOT_WHOLE || reader->at == reader->end ||
        read_line(reader, '+') == NOT_WHOLE)
        return false;
    counts.put_answered++;
    return true;
}

/* Reads one job: [id, lease, tube, key, body, due, attempt, missed]. Its id and lease go behind
 * those that are to be acknowledged. */
static bool read_job(struct reader *reader, struct bytes *done, const char **body)
{
    const char *lease = "", *ignored;
    size_t lease_size = 0, size;

    if (read_line(reader, '*') == NOT_WHOLE)
        return false;
    int64_t id = read_line(reader, ':');
    if (id == NOT_WHOLE || !read_bulk(reader, &lease, &lease_size) ||
        !read_bulk(reader, &ignored, &size) || !read_bulk(reader, &ignored, &size) ||
        !read_bulk(reader, body, &size) || read_line(reader, ':') == NOT_WHOLE ||
        read_line(reader, ':') == NOT_WHOLE || read_line(reader, ':') == NOT_WHOLE)
        return false;
    add_number(done, (uint64_t)id);
    add_string(done, lease, lease_size);
    return true;
}

/* Reads the whole reply of a RESERVE. Returns false if it has not come. */
static bool read_jobs(struct connection *worker, struct reader *reader, int64_t read_ns)
{
    static const char *bodies[BATCH];
    static struct bytes done;
    char head[64];
    int64_t count = read_line(reader, '*');

    if (count == NOT_WHOLE)
        return false;
    if (count > BATCH)
        fail("RESERVE", "more jobs than asked for");
    done.size = 0;
    for (int64_t i = 0; i < count; i++)
        if (!read_job(reader, &done, &bodies[i]))
            return false;
    for (int64_t i = 0; i < count; i++)
        note_job(bodies[i], read_ns);
    if (count > 0) {
        (void)snprintf(head, sizeof head, "*%lld\r\n$3\r\nACK\r\n", (long long)count * 2 + 1);
        add_text(&worker->out, head);
        bytes_add(&worker->out, done.at, done.size);
    }
    ask_resp(worker);
    return true;
}

/* The reply of an ACK is an array of words, that of a RESERVE an array of arrays, or nothing. */
static bool read_work_resp(struct connection *worker, struct reader *reader, int64_t read_ns)
{
    struct reader ahead = *reader;
    int64_t count = read_line(&ahead, '*');

    if (count == NOT_WHOLE || (count > 0 && ahead.at == ahead.end))
        return false;
    if (count <= 0 || *ahead.at == '*')
        return read_jobs(worker, reader, read_ns);
    for (int64_t i = 0; i < count; i++)
        if (read_line(&ahead, '+') == NOT_WHOLE)
            return false;
    counts.acknowledged += (uint64_t)count;
    reader->at = ahead.at;
    return true;
}

/* ---- beanstalkd ---- */

static void ask_beanstalkd(struct connection *worker)
{
    add_text(&worker->out, "reserve\r\n");
}

static bool read_put_beanstalkd(struct reader *reader)
{
    if (read_line(reader, 'I') == NOT_WHOLE)
        return false;
    counts.put_answered++;
    return true;
}

/* DELETED, or RESERVED with an id and the bytes of the body that follows. */
static bool read_work_beanstalkd(struct connection *worker, struct reader *reader, int64_t read_ns)
{
    const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    char *after_id, text[64];

    if (end == NULL)
        return false;
    if (strncmp(reader->at, "DELETED", 7) == 0) {
        counts.acknowledged++;
        reader->at = end + 1;
        return true;
    }
    if (strncmp(reader->at, "RESERVED ", 9) != 0)
        fail("reserve", reader->at);
    unsigned long long id = strtoull(reader->at + 9, &after_id, 10);
    long long size = strtoll(after_id, NULL, 10);
    if (reader->end - (end + 1) < size + 2)
        return false;
    note_job(end + 1, read_ns);
    (void)snprintf(text, sizeof text, "delete %llu\r\nreserve\r\n", id);
    add_text(&worker->out, text);
    reader->at = end + 1 + size + 2;
    return true;
}

/* ---- Redis ---- */

static bool with_leases(void)
{
    return strcmp(arguments.speech, "redis-lease") == 0;
}

static void ask_redis(struct connection *worker)
{
    struct bytes *out = &worker->out;
    enum redis_script script = with_leases() ? REDIS_LEASE : REDIS_TAKE;

    out->size += redis_script_write(bytes_reserve(out, REDIS_CALL_BYTES_MAX), script,
                                    script == REDIS_LEASE ? 3 : 2);
    add_number(out, (uint64_t)wall_ms());
    add_number(out, BATCH);
    if (script == REDIS_LEASE)
        add_number(out, (uint64_t)wall_ms() + 60000);
}

static bool read_put_redis(struct reader *reader)
{
    int64_t count = read_line(reader, ':');

    if (count == NOT_WHOLE)
        return false;
    counts.put_answered += (uint64_t)count;
    return true;
}

/* Reads so many strings; stores where they are, and how long. */
static bool read_strings(struct reader *reader, int64_t count, const char **texts, size_t *sizes)
{
    if (count > BATCH)
        fail("the script", "more than asked for");
    for (int64_t i = 0; i < count; i++)
        if (!read_bulk(reader, &texts[i], &sizes[i]))
            return false;
    return true;
}

static void acknowledge_names(struct bytes *out, int64_t count, const char **names, size_t *sizes)
{
    out->size +=
        redis_script_write(bytes_reserve(out, REDIS_CALL_BYTES_MAX), REDIS_ACK, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        add_string(out, names[i], sizes[i]);
}

/* A number is the reply of an acknowledgement; an array has bodies, or names and bodies. */
static bool read_work_redis(struct connection *worker, struct reader *reader, int64_t read_ns)
{
    static const char *names[BATCH], *bodies[BATCH];
    static size_t sizes[BATCH], body_sizes[BATCH];

    if (*reader->at == ':') {
        int64_t done = read_line(reader, ':');
        counts.acknowledged += done > 0 ? (uint64_t)done : 0;
        return done != NOT_WHOLE;
    }
    int64_t count = read_line(reader, '*');
    if (count == NOT_WHOLE)
        return false;
    bool leased = with_leases() && count > 0;
    if (leased) {
        count = read_line(reader, '*');
        if (count == NOT_WHOLE || !read_strings(reader, count, names, sizes) ||
            reader->at == reader->end || read_line(reader, '*') == NOT_WHOLE)
            return false;
    }
    if (!read_strings(reader, count, bodies, body_sizes))
        return false;
    for (int64_t i = 0; i < count; i++)
        note_job(bodies[i], read_ns);
    if (leased)
        acknowledge_names(&worker->out, count, names, sizes);
    else
        counts.acknowledged += (uint64_t)count;
    if (count == BATCH)
        ask_redis(worker);
    else
        worker->ask_ns = now_ns() + arguments.poll_ms * 1000000;
    return true;
}

static const struct speech speeches[] = {
    {"resp", false, ask_resp, read_put_resp, read_work_resp},
    {"beanstalkd", false, ask_beanstalkd, read_put_beanstalkd, read_work_beanstalkd},
    {"redis", true, ask_redis, read_put_redis, read_work_redis},
    {"redis-lease", true, ask_redis, read_put_redis, read_work_redis},
};

const struct speech *speech_find(const char *name)
{
    for (size_t i = 0; i < sizeof speeches / sizeof *speeches; i++)
        if (strcmp(speeches[i].name, name) == 0)
            return &speeches[i];
    return NULL;
}
