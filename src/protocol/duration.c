/*
 * Reads and writes durations.
 */
#include "duration.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../base/assert.h"

struct unit {
    char name[3];
    uint64_t nanoseconds;
};

/* The units of a duration. The largest unit comes first. */
static const struct unit units[] = {
    {"w", UINT64_C(604800000000000)}, {"d", UINT64_C(86400000000000)},
    {"h", UINT64_C(3600000000000)},   {"m", UINT64_C(60000000000)},
    {"s", UINT64_C(1000000000)},      {"ms", UINT64_C(1000000)},
    {"us", UINT64_C(1000)},           {"ns", UINT64_C(1)},
};

enum { UNIT_COUNT = sizeof units / sizeof units[0] };

static const char too_long[] = "the duration is longer than 64 bits of nanoseconds can hold";

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Sets *total to *total * factor + addend. Returns false if the sum does not fit into 64 bits. */
static bool multiply_add(uint64_t *total, uint64_t factor, uint64_t addend)
{
    uint64_t product;

    return !__builtin_mul_overflow(*total, factor, &product) &&
           !__builtin_add_overflow(product, addend, total);
}

/* Returns the place of the unit in `units`, or UNIT_COUNT if no unit has this name. */
static size_t find_unit(const char *name, size_t length)
{
    size_t number = 0;
    char second = '\0';

    /* A zero byte in the text must not pass for the end of a name. */
    if (length == 0 || length > 2 || name[length - 1] == '\0')
        return UNIT_COUNT;
    if (length == 2)
        second = name[1];
    while (number < UNIT_COUNT &&
           (units[number].name[0] != name[0] || units[number].name[1] != second))
        number++;
    return number;
}

/* Adds a fraction of a unit to a duration. The digits are those after the decimal point. Returns
 * NULL, or a phrase that names the error. */
static const char *add_fraction(const char *digits, size_t length, uint64_t unit_ns,
                                uint64_t *total_ns)
{
    uint64_t numerator = 0;
    uint64_t denominator = 1;

    while (length > 0 && digits[length - 1] == '0')
        length--;
    /* A week is 2^16 * 5^11 * 189 ns. So no unit divided by a power of ten above 10^16 is a whole
     * number of nanoseconds. */
    if (length > 16)
        return "the fraction is finer than a nanosecond";
    for (size_t i = 0; i < length; i++) {
        ELAPSE__ASSERT(is_digit(digits[i]));
        numerator = numerator * 10 + (uint64_t)(digits[i] - '0');
        denominator *= 10;
    }

    /* unit_ns * numerator may exceed 64 bits, so the factors 2 and 5 that they share with the
     * denominator are cancelled first. */
    static const uint64_t primes[] = {2, 5};
    for (size_t i = 0; i < sizeof primes / sizeof primes[0]; i++) {
        while (denominator % primes[i] == 0 && unit_ns % primes[i] == 0) {
            denominator /= primes[i];
            unit_ns /= primes[i];
        }
        while (denominator % primes[i] == 0 && numerator % primes[i] == 0) {
            denominator /= primes[i];
            numerator /= primes[i];
        }
    }
    if (denominator != 1)
        return "the fraction is finer than a nanosecond";
    if (!multiply_add(&numerator, unit_ns, *total_ns))
        return too_long;
    *total_ns = numerator;
    return NULL;
}

/* The part of a text that is not read yet. No zero byte ends it. */
struct piece {
    const char *at;
    const char *end;
};

static bool at_digit(const struct piece *piece)
{
    return piece->at < piece->end && is_digit(*piece->at);
}

/* Reads a whole number. Returns NULL, or a phrase that names the error. */
static const char *read_whole(struct piece *piece, uint64_t *whole)
{
    *whole = 0;
    if (!at_digit(piece))
        return "a number is missing";
    for (; at_digit(piece); piece->at++) {
        if (!multiply_add(whole, 10, (uint64_t)(*piece->at - '0')))
            return too_long;
    }
    return NULL;
}

/* Reads the next unit and stores its place in `units`. Returns NULL, or a phrase that names the
 * error. */
static const char *read_unit(struct piece *piece, size_t *unit)
{
    const char *name = piece->at;

    while (piece->at < piece->end && !is_digit(*piece->at) && *piece->at != '.')
        piece->at++;
    if (piece->at == name)
        return "a unit is missing (one of w d h m s ms us ns)";
    *unit = find_unit(name, (size_t)(piece->at - name));
    return *unit == UNIT_COUNT ? "the unit is not one of w d h m s ms us ns" : NULL;
}

/* Reads one part, and adds it to the duration. The unit of the part must be in `units` at the place
 * `*first_allowed` or after it. Returns NULL, or a phrase that names the error. */
static const char *add_part(struct piece *piece, size_t *first_allowed, uint64_t *total_ns)
{
    uint64_t whole = 0;
    size_t unit = 0;
    const char *fraction = NULL;
    size_t fraction_length = 0;
    const char *error = read_whole(piece, &whole);

    if (error != NULL)
        return error;
    if (piece->at < piece->end && *piece->at == '.') {
        fraction = ++piece->at;
        while (at_digit(piece))
            piece->at++;
        fraction_length = (size_t)(piece->at - fraction);
        if (fraction_length == 0)
            return "digits are missing after the point";
    }
    error = read_unit(piece, &unit);
    if (error != NULL)
        return error;
    if (unit < *first_allowed)
        return "units must go from large to small, each at most once";
    ELAPSE__ASSERT_THAT(unit, <, (size_t)UNIT_COUNT);
    *first_allowed = unit + 1;
    if (!multiply_add(&whole, units[unit].nanoseconds, *total_ns))
        return too_long;
    *total_ns = whole;
    return fraction == NULL
               ? NULL
               : add_fraction(fraction, fraction_length, units[unit].nanoseconds, total_ns);
}

/* Reads a duration that is a whole number of seconds, minutes, hours, days or weeks and nothing
 * else, such as "90s", as nearly all are. Returns false if it is anything else. It takes a quarter
 * of the instructions of add_part. */
static bool read_simple(const char *text, size_t size, uint64_t *duration_ns)
{
    enum { DIGITS_MAX = 19 }; /* so many digits fit into 64 bits, whichever they are */
    uint64_t number = 0;
    size_t i = 0;

    for (; i < DIGITS_MAX && i + 1 < size && is_digit(text[i]); i++)
        number = number * 10 + (uint64_t)(text[i] - '0');
    if (i == 0 || i + 1 != size)
        return false;
    size_t unit = find_unit(text + i, 1);
    if (unit == UNIT_COUNT || !multiply_add(&number, units[unit].nanoseconds, 0))
        return false;
    *duration_ns = number;
    return true;
}

const char *elapse__duration_parse(const char *text, size_t size, uint64_t *duration_ns)
{
    struct piece piece = {.at = text, .end = text + size};
    uint64_t total_ns = 0;
    size_t first_allowed = 0;

    if (read_simple(text, size, duration_ns))
        return NULL;
    if (size == 0)
        return "the duration is empty";
    if (*text == '-')
        return "a duration cannot be negative";
    while (piece.at < piece.end) {
        const char *error = add_part(&piece, &first_allowed, &total_ns);
        if (error != NULL)
            return error;
    }
    ELAPSE__ASSERT(piece.at == piece.end);
    *duration_ns = total_ns;
    return NULL;
}

struct elapse__duration_text elapse__duration_format(uint64_t duration_ns)
{
    struct elapse__duration_text out = {"0s"};
    size_t length = 0;

    /* The parser reads weeks, but a duration is never written in weeks: two weeks are 14d. */
    for (size_t i = 1; i < UNIT_COUNT; i++) {
        uint64_t amount = duration_ns / units[i].nanoseconds;
        duration_ns %= units[i].nanoseconds;
        if (amount > 0)
            length += (size_t)snprintf(out.text + length, sizeof out.text - length, "%llu%s",
                                       (unsigned long long)amount, units[i].name);
    }
    ELAPSE__ASSERT(duration_ns == 0);
    ELAPSE__ASSERT(length < sizeof out.text);
    return out;
}
