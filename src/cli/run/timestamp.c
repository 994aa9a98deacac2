/*
 * Reading and writing moments.
 */
#include "timestamp.h"

#include <stdbool.h>
#include <time.h>

static const char not_a_time[] = "the time is not of the form 2026-11-20T10:00:00Z";

struct reader {
    const char *at;
    const char *end;
};

static bool read_character(struct reader *reader, char character)
{
    if (reader->at == reader->end || *reader->at != character)
        return false;
    reader->at++;
    return true;
}

/* Reads exactly so many digits. */
static bool read_digits(struct reader *reader, int count, int *number)
{
    int value = 0;

    for (; count > 0; count--) {
        if (reader->at == reader->end || *reader->at < '0' || *reader->at > '9')
            return false;
        value = value * 10 + (*reader->at++ - '0');
    }
    *number = value;
    return true;
}

static bool read_date_and_time(struct reader *reader, struct tm *time)
{
    return read_digits(reader, 4, &time->tm_year) && read_character(reader, '-') &&
           read_digits(reader, 2, &time->tm_mon) && read_character(reader, '-') &&
           read_digits(reader, 2, &time->tm_mday) && read_character(reader, 'T') &&
           read_digits(reader, 2, &time->tm_hour) && read_character(reader, ':') &&
           read_digits(reader, 2, &time->tm_min) && read_character(reader, ':') &&
           read_digits(reader, 2, &time->tm_sec);
}

static int month_length(int year, int month)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return lengths[month - 1] + (month == 2 && is_leap);
}

static bool there_is(const struct tm *time)
{
    return time->tm_mon >= 1 && time->tm_mon <= 12 && time->tm_mday >= 1 &&
           time->tm_mday <= month_length(time->tm_year, time->tm_mon) && time->tm_hour <= 23 &&
           time->tm_min <= 59 && time->tm_sec <= 59;
}

/* The fraction, if there is one, in nanoseconds. */
static const char *read_fraction(struct reader *reader, uint64_t *fraction_ns)
{
    uint64_t digit_ns = 100000000;
    int digit;

    *fraction_ns = 0;
    if (!read_character(reader, '.'))
        return NULL;
    if (!read_digits(reader, 1, &digit))
        return "digits are missing after the point";
    do {
        if (digit_ns == 0 && digit != 0)
            return "the fraction is finer than a nanosecond";
        *fraction_ns += (uint64_t)digit * digit_ns;
        digit_ns /= 10;
    } while (read_digits(reader, 1, &digit));
    return NULL;
}

/* The zone, as seconds east of Greenwich. */
static const char *read_zone(struct reader *reader, int *east_s)
{
    int hours = 0;
    int minutes = 0;
    bool is_west = false;

    if (reader->at == reader->end)
        return "the time lacks a zone (Z or +hh:mm)";
    if (!read_character(reader, 'Z')) {
        is_west = read_character(reader, '-');
        if (!is_west && !read_character(reader, '+'))
            return not_a_time;
        if (!read_digits(reader, 2, &hours) || !read_character(reader, ':') ||
            !read_digits(reader, 2, &minutes) || hours > 23 || minutes > 59)
            return "the zone is neither Z nor +hh:mm or -hh:mm";
    }
    if (reader->at != reader->end)
        return not_a_time;
    *east_s = (hours * 60 + minutes) * (is_west ? -60 : 60);
    return NULL;
}

const char *timestamp_parse(const char *text, size_t length, uint64_t *unix_ns)
{
    struct reader reader = {text, text + length};
    struct tm time = {0};
    uint64_t fraction_ns;
    uint64_t result_ns;
    int east_s;

    if (!read_date_and_time(&reader, &time))
        return not_a_time;
    if (!there_is(&time))
        return "there is no such date or time of day";
    const char *fault = read_fraction(&reader, &fraction_ns);
    if (fault == NULL)
        fault = read_zone(&reader, &east_s);
    if (fault != NULL)
        return fault;

    time.tm_year -= 1900;
    time.tm_mon -= 1;
    int64_t unix_s = (int64_t)timegm(&time) - east_s;
    if (unix_s < 0) {
        *unix_ns = 0;
        return NULL;
    }
    if (__builtin_mul_overflow((uint64_t)unix_s, UINT64_C(1000000000), &result_ns) ||
        __builtin_add_overflow(result_ns, fraction_ns, &result_ns) || result_ns == UINT64_MAX)
        return "the time is later than 64 bits of nanoseconds can hold (in the year 2554)";
    *unix_ns = result_ns;
    return NULL;
}

static char *write_digits(char *out, unsigned number, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        out[i] = (char)('0' + number % 10);
        number /= 10;
    }
    return out + count;
}

void timestamp_write(char *out, uint64_t unix_ns)
{
    time_t unix_s = (time_t)(unix_ns / 1000000000);
    struct tm time;

    gmtime_r(&unix_s, &time); /* cannot fail: 64 bits of nanoseconds end in 2554 */
    out = write_digits(out, (unsigned)time.tm_year + 1900, 4);
    *out++ = '-';
    out = write_digits(out, (unsigned)time.tm_mon + 1, 2);
    *out++ = '-';
    out = write_digits(out, (unsigned)time.tm_mday, 2);
    *out++ = 'T';
    out = write_digits(out, (unsigned)time.tm_hour, 2);
    *out++ = ':';
    out = write_digits(out, (unsigned)time.tm_min, 2);
    *out++ = ':';
    out = write_digits(out, (unsigned)time.tm_sec, 2);
    *out++ = '.';
    out = write_digits(out, (unsigned)(unix_ns % 1000000000 / 1000), 6);
    *out = 'Z';
}
