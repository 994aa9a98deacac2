#include "commands.h"

#include <string.h>

#include "client.h"
#include "redis_scripts.h"

#define TEN       "xxxxxxxxxx"
#define HUNDRED   TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define KEY_BYTES 12

#define HALF_AN_HOUR_MS INT64_C(1800000)
#define TWO_HOURS_MS    INT64_C(7200000)
#define HEARTBEAT_MS    INT64_C(60000)

static int64_t now_ms, from_ms, for_ms = 1;

void commands_spread(int64_t at_ms, int64_t spread_ms)
{
    from_ms = at_ms;
    for_ms = spread_ms;
}

void commands_look_at_clock(void)
{
    now_ms = wall_ms();
}

/* ---- parts of commands ---- */

size_t write_number(char *to, uint64_t number)
{
    char reversed[24];
    size_t digits = 0;

    do
        reversed[digits++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    for (size_t i = 0; i < digits; i++)
        to[i] = reversed[digits - 1 - i];
    return digits;
}

static size_t write_text(char *to, const char *text, size_t bytes)
{
    memcpy(to, text, bytes);
    return bytes;
}

#define WRITE_TEXT(to, text) write_text(to, text, sizeof(text) - 1)

size_t write_string(char *to, const char *text, size_t bytes)
{
    size_t at = WRITE_TEXT(to, "$");
    at += write_number(to + at, bytes);
    at += WRITE_TEXT(to + at, "\r\n");
    at += write_text(to + at, text, bytes);
    return at + WRITE_TEXT(to + at, "\r\n");
}

/* A key is a letter and eleven digits. */
static size_t write_key(char *to, uint64_t number)
{
    to[0] = 'k';
    for (unsigned i = KEY_BYTES - 1; i > 0; i--, number /= 10)
        to[i] = (char)('0' + number % 10);
    return KEY_BYTES;
}

static size_t write_key_string(char *to, uint64_t number)
{
    size_t at = WRITE_TEXT(to, "$12\r\n");
    at += write_key(to + at, number);
    return at + WRITE_TEXT(to + at, "\r\n");
}

static size_t write_number_string(char *to, uint64_t number)
{
    char digits[24];
    return write_string(to, digits, write_number(digits, number));
}

/* A body that begins with the 13 digits of a time. */
static size_t write_due_body(char *to, int64_t due_ms)
{
    (void)WRITE_TEXT(to, HUNDRED);
    return write_number(to, (uint64_t)due_ms) == 13 ? BODY_BYTES : 0;
}

/* ---- beanstalkd ---- */

static size_t put_line(char *to, uint64_t number)
{
    (void)number;
    return WRITE_TEXT(to, "put 1 1800 60 100\r\n" HUNDRED "\r\n");
}

static size_t put_line_now(char *to, uint64_t number)
{
    (void)number;
    return WRITE_TEXT(to, "put 1 0 60 100\r\n" HUNDRED "\r\n");
}

static size_t put_line_soon(char *to, uint64_t number)
{
    (void)number;
    return WRITE_TEXT(to, "put 1 60 60 100\r\n" HUNDRED "\r\n");
}

static size_t delete_line(char *to, uint64_t number)
{
    size_t at = WRITE_TEXT(to, "delete ");
    at += write_number(to + at, number);
    return at + WRITE_TEXT(to + at, "\r\n");
}

/* ---- RESP ---- */

#define PUT_WITH(strings) "*" #strings "\r\n$3\r\nPUT\r\n$1\r\nt\r\n$100\r\n"

static size_t put(char *to, uint64_t number)
{
    (void)number;
    return WRITE_TEXT(to, PUT_WITH(5) HUNDRED "\r\n$2\r\nIN\r\n$3\r\n30m\r\n");
}

static size_t put_now(char *to, uint64_t number)
{
    (void)number;
    return WRITE_TEXT(to, PUT_WITH(3) HUNDRED "\r\n");
}

static size_t put_at(char *to, uint64_t number)
{
    int64_t due_ms = from_ms + (int64_t)(mix(number) % (uint64_t)for_ms);
    return write_put_due(to, "resp", number, due_ms);
}

static size_t put_with_key(char *to, uint64_t number)
{
    size_t at = WRITE_TEXT(to, PUT_WITH(7) HUNDRED "\r\n$2\r\nIN\r\n$3\r\n30m\r\n$3\r\nKEY\r\n");
    return at + write_key_string(to + at, number);
}

static size_t delete_by_id(char *to, uint64_t number)
{
    size_t at = WRITE_TEXT(to, "*2\r\n$8\r\nCANCELID\r\n");
    return at + write_number_string(to + at, number);
}

static size_t cancel(char *to, uint64_t number)
{
    size_t at = WRITE_TEXT(to, "*3\r\n$6\r\nCANCEL\r\n$1\r\nt\r\n");
    return at + write_key_string(to + at, number);
}

static size_t reschedule(char *to, uint64_t number)
{
    size_t at = WRITE_TEXT(to, "*5\r\n$10\r\nRESCHEDULE\r\n$1\r\nt\r\n");
    at += write_key_string(to + at, number);
    return at + WRITE_TEXT(to + at, "$2\r\nIN\r\n$2\r\n2h\r\n");
}

static size_t heartbeat(char *to, uint64_t number)
{
    size_t at = WRITE_TEXT(to, "*5\r\n$10\r\nRESCHEDULE\r\n$1\r\nt\r\n");
    at += write_key_string(to + at, number);
    return at + WRITE_TEXT(to + at, "$2\r\nIN\r\n$3\r\n60s\r\n");
}

/* ---- Redis ---- */

static size_t script_put(char *to, uint64_t number, int64_t due_ms)
{
    size_t at = redis_script_write(to, REDIS_PUT, 3);
    at += write_key_string(to + at, number);
    at += write_number_string(to + at, (uint64_t)due_ms);
    return at + WRITE_TEXT(to + at, "$100\r\n" HUNDRED "\r\n");
}

static size_t redis_put(char *to, uint64_t number)
{
    return script_put(to, number, now_ms + HALF_AN_HOUR_MS);
}

static size_t redis_put_now(char *to, uint64_t number)
{
    return script_put(to, number, now_ms);
}

static size_t redis_cancel(char *to, uint64_t number)
{
    size_t at = redis_script_write(to, REDIS_CANCEL, 1);
    return at + write_key_string(to + at, number);
}

/* One command changes the time; the body stays. */
static size_t redis_move(char *to, uint64_t number, int64_t due_ms)
{
    size_t at = WRITE_TEXT(to, "*6\r\n$4\r\nZADD\r\n$3\r\ndue\r\n$2\r\nXX\r\n$2\r\nCH\r\n");
    at += write_number_string(to + at, (uint64_t)due_ms);
    return at + write_key_string(to + at, number);
}

static size_t redis_reschedule(char *to, uint64_t number)
{
    return redis_move(to, number, now_ms + TWO_HOURS_MS);
}

/* The same job may be moved twice in a millisecond: then nothing changes, which is no fault. */
static size_t redis_heartbeat(char *to, uint64_t number)
{
    return redis_move(to, number, now_ms + HEARTBEAT_MS);
}

/* ---- all ---- */

size_t write_put_due(char *to, const char *speech, uint64_t number, int64_t due_ms)
{
    size_t at = 0;

    if (strcmp(speech, "beanstalkd") == 0) {
        /* Delays are whole seconds. */
        at = WRITE_TEXT(to, "put 1 ");
        at += write_number(to + at, (uint64_t)(due_ms - wall_ms() + 500) / 1000);
        at += WRITE_TEXT(to + at, " 60 100\r\n");
        at += write_due_body(to + at, due_ms);
        return at + WRITE_TEXT(to + at, "\r\n");
    }
    if (strcmp(speech, "resp") != 0) {
        at = script_put(to, number, due_ms);
        (void)write_due_body(to + at - BODY_BYTES - 2, due_ms);
        return at;
    }
    at = WRITE_TEXT(to, PUT_WITH(5));
    at += write_due_body(to + at, due_ms);
    at += WRITE_TEXT(to + at, "\r\n$2\r\nAT\r\n");
    return at + write_number_string(to + at, (uint64_t)due_ms);
}

static const struct kind kinds[] = {
    {"beanstalkd", "put", 1, "INSERTED ", put_line},
    {"beanstalkd", "put-now", 1, "INSERTED ", put_line_now},
    {"beanstalkd", "put-soon", 1, "INSERTED ", put_line_soon},
    {"beanstalkd", "delete", 1, "DELETED", delete_line},
    {"resp", "put", 3, "+scheduled", put},
    {"resp", "put-now", 3, "+scheduled", put_now},
    {"resp", "put-at", 3, "+scheduled", put_at},
    {"resp", "put-key", 3, "+scheduled", put_with_key},
    {"resp", "delete", 2, "+removed", delete_by_id},
    {"resp", "cancel", 2, "+removed", cancel},
    {"resp", "reschedule", 1, "+rescheduled", reschedule},
    {"resp", "heartbeat", 1, "+rescheduled", heartbeat},
    {"redis", "put", 1, ":1", redis_put},
    {"redis", "put-key", 1, ":1", redis_put},
    {"redis", "put-now", 1, ":1", redis_put_now},
    {"redis", "delete", 1, ":1", redis_cancel},
    {"redis", "cancel", 1, ":1", redis_cancel},
    {"redis", "reschedule", 1, ":1", redis_reschedule},
    {"redis", "heartbeat", 1, ":", redis_heartbeat},
};

const struct kind *kind_find(const char *speech, const char *verb)
{
    /* Leases change only how jobs are handed out. */
    if (strcmp(speech, "redis-lease") == 0)
        speech = "redis";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].speech, speech) == 0 && strcmp(kinds[i].verb, verb) == 0)
            return &kinds[i];
    return NULL;
}
