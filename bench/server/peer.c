#include "peer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DUE_DIGITS = 13 };

_Noreturn void peer_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the line above does it */
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

void *peer_allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
        peer_fail("there is no memory for %zu pieces of %zu bytes", count, size);
    return memory;
}

void peer_check_count(const char *what, uint64_t count, uint64_t wanted)
{
    if (count != wanted)
        peer_fail("%s: %llu, and not %llu", what, (unsigned long long)count,
                  (unsigned long long)wanted);
}

static void write_digits(char *to, unsigned digits, uint64_t number)
{
    for (unsigned i = digits; i > 0; i--, number /= 10)
        to[i - 1] = (char)('0' + number % 10);
}

void peer_write_key(char *to, uint64_t number)
{
    to[0] = 'k';
    write_digits(to + 1, PEER_KEY_BYTES - 1, number);
}

void peer_write_body(char *to, int64_t due_ms)
{
    memset(to, 'x', PEER_BODY_BYTES);
    write_digits(to, DUE_DIGITS, (uint64_t)due_ms);
}

int64_t peer_due_ms(const char *body)
{
    int64_t due_ms = 0;
    for (unsigned i = 0; i < DUE_DIGITS; i++)
        due_ms = due_ms * 10 + (body[i] - '0');
    return due_ms;
}
