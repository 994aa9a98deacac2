#include "commands.h"

#include <string.h>

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

#define TEN       "xxxxxxxxxx"
#define HUNDRED   TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define KEY_BYTES 12

static size_t write_text(char *to, const char *text, size_t bytes)
{
    memcpy(to, text, bytes);
    return bytes;
}

#define WRITE_TEXT(to, text) write_text(to, text, sizeof(text) - 1)

/* A key is a letter and eleven digits. */
static size_t write_key(char *to, uint64_t number)
{
    to[0] = 'k';
    for (unsigned i = KEY_BYTES - 1; i > 0; i--, number /= 10)
        to[i] = (char)('0' + number % 10);
    return KEY_BYTES;
}

/* A number as a string of RESP. */
static size_t write_string(char *to, uint64_t number)
{
    char digits[24];
    size_t bytes = write_number(digits, number);
    size_t at = WRITE_TEXT(to, "$");
    at += write_number(to + at, bytes);
    at += WRITE_TEXT(to + at, "\r\n");
    at += write_text(to + at, digits, bytes);
    return at + WRITE_TEXT(to + at, "\r\n");
}

/* Far in the future: the jobs wait, as timers do. */
static size_t put_line(char *to, uint64_t number)
{
    (void)number;
    return WRITE_TEXT(to, "put 1 3600 60 100\r\n" HUNDRED "\r\n");
}

static size_t put_line_now(char *to, uint64_t number)
{
    (void)number;
    return WRITE_TEXT(to, "put 1 0 60 100\r\n" HUNDRED "\r\n");
}

static size_t delete_line(char *to, uint64_t number)
{
    size_t at = WRITE_TEXT(to, "delete ");
    at += write_number(to + at, number);
    return at + WRITE_TEXT(to + at, "\r\n");
}

static size_t put(char *to, uint64_t number)
{
    (void)number;
    return WRITE_TEXT(to, "*5\r\n$3\r\nPUT\r\n$1\r\nt\r\n$100\r\n" HUNDRED
                          "\r\n$2\r\nIN\r\n$2\r\n1h\r\n");
}

static size_t put_now(char *to, uint64_t number)
{
    (void)number;
    return WRITE_TEXT(to, "*3\r\n$3\r\nPUT\r\n$1\r\nt\r\n$100\r\n" HUNDRED "\r\n");
}

static size_t put_with_key(char *to, uint64_t number)
{
    size_t at = WRITE_TEXT(to, "*7\r\n$3\r\nPUT\r\n$1\r\nt\r\n$100\r\n" HUNDRED
                               "\r\n$2\r\nIN\r\n$2\r\n1h\r\n$3\r\nKEY\r\n$12\r\n");
    at += write_key(to + at, number);
    return at + WRITE_TEXT(to + at, "\r\n");
}

static size_t delete_by_id(char *to, uint64_t number)
{
    size_t at = WRITE_TEXT(to, "*2\r\n$8\r\nCANCELID\r\n");
    return at + write_string(to + at, number);
}

static size_t cancel(char *to, uint64_t number)
{
    size_t at = WRITE_TEXT(to, "*3\r\n$6\r\nCANCEL\r\n$1\r\nt\r\n$12\r\n");
    at += write_key(to + at, number);
    return at + WRITE_TEXT(to + at, "\r\n");
}

static size_t reschedule(char *to, uint64_t number)
{
    size_t at = WRITE_TEXT(to, "*5\r\n$10\r\nRESCHEDULE\r\n$1\r\nt\r\n$12\r\n");
    at += write_key(to + at, number);
    return at + WRITE_TEXT(to + at, "\r\n$2\r\nIN\r\n$2\r\n2h\r\n");
}

/* What people do with Redis: a sorted set by due time. The member is the body, made unique. */
static size_t add_member(char *to, uint64_t number)
{
    size_t at = WRITE_TEXT(to, "*4\r\n$4\r\nZADD\r\n$1\r\nt\r\n$13\r\n1999999999999\r\n$112\r\n");
    at += write_key(to + at, number);
    return at + WRITE_TEXT(to + at, HUNDRED "\r\n");
}

static size_t remove_member(char *to, uint64_t number)
{
    size_t at = WRITE_TEXT(to, "*3\r\n$4\r\nZREM\r\n$1\r\nt\r\n$112\r\n");
    at += write_key(to + at, number);
    return at + WRITE_TEXT(to + at, HUNDRED "\r\n");
}

static const struct kind kinds[] = {
    {"beanstalkd", "put", 1, "OJDNBUE", put_line},
    {"beanstalkd", "put-now", 1, "OJDNBUE", put_line_now},
    {"beanstalkd", "delete", 1, "NOBUI", delete_line},
    {"resp", "put", 3, "-", put},
    {"resp", "put-now", 3, "-", put_now},
    {"resp", "put-key", 3, "-", put_with_key},
    {"resp", "delete", 2, "-", delete_by_id},
    {"resp", "cancel", 2, "-", cancel},
    {"resp", "reschedule", 1, "-g", reschedule},
    {"redis", "put", 1, "-", add_member},
    {"redis", "put-now", 1, "-", add_member},
    {"redis", "delete", 1, "-", remove_member},
};

const struct kind *kind_find(const char *server, const char *verb)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].server, server) == 0 && strcmp(kinds[i].verb, verb) == 0)
            return &kinds[i];
    return NULL;
}
