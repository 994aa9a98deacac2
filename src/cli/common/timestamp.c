/*
 * Reads and writes points in time, by the Gregorian calendar.
 */
#include "timestamp.h"

#include <string.h>

#include "../../base/assert.h"
#include "../../cron/gregorian.h"

/* A date and a time of day, as they are written: the first month and the first day are 1. */
struct date_and_time {
    int year;
    int month;
    int day;
    int hour;
    int minute;
    int second;
};

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

/* Reads a number of exactly `count` digits. */
static bool read_digits(struct reader *reader, int count, int *number)
{
    int value = 0;

    ELAPSE__ASSERT(count > 0);
    for (; count > 0; count--) {
        if (reader->at == reader->end || *reader->at < '0' || *reader->at > '9')
            return false;
        value = value * 10 + (*reader->at++ - '0');
    }
    *number = value;
    return true;
}

static bool read_date_and_time(struct reader *reader, struct date_and_time *time)
{
    return read_digits(reader, 4, &time->year) && read_character(reader, '-') &&
           read_digits(reader, 2, &time->month) && read_character(reader, '-') &&
           read_digits(reader, 2, &time->day) && read_character(reader, 'T') &&
           read_digits(reader, 2, &time->hour) && read_character(reader, ':') &&
           read_digits(reader, 2, &time->minute) && read_character(reader, ':') &&
           read_digits(reader, 2, &time->second);
}

/* Returns whether there is such a date, and such a time of day. */
static bool exists(const struct date_and_time *time)
{
    return time->month >= 1 && time->month <= 12 && time->day >= 1 &&
           time->day <= (int)elapse__month_length(time->year, (unsigned)time->month) &&
           time->hour <= 23 && time->minute <= 59 && time->second <= 59;
}

/* Reads the fraction of a second, if there is one, as nanoseconds. */
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
    ELAPSE__ASSERT_THAT(*fraction_ns, <, 1000000000U);
    return NULL;
}

/* Reads the zone as seconds east of Greenwich. */
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
    ELAPSE__ASSERT(*east_s > -ELAPSE__DAY_S && *east_s < ELAPSE__DAY_S);
    return NULL;
}

/* Returns the time in seconds since 1970, as if it were in UTC. The result is negative before
 * 1970. */
static int64_t seconds_of(const struct date_and_time *time)
{
    int64_t days = elapse__days_of_date((struct elapse__date){
        .year = time->year, .month = (unsigned)time->month, .day = (unsigned)time->day});

    ELAPSE__ASSERT(exists(time));
    return days * ELAPSE__DAY_S + time->hour * ELAPSE__HOUR_S + time->minute * ELAPSE__MINUTE_S +
           time->second;
}

/* ---- reading and writing ---- */

const char *timestamp_parse(const char *text, size_t length, uint64_t *unix_ns)
{
    struct reader reader = {text, text + length};
    struct date_and_time time = {0};
    uint64_t fraction_ns;
    uint64_t result_ns;
    int east_s;

    if (!read_date_and_time(&reader, &time))
        return not_a_time;
    if (!exists(&time))
        return "there is no such date or time of day";
    const char *fault = read_fraction(&reader, &fraction_ns);
    if (fault == NULL)
        fault = read_zone(&reader, &east_s);
    if (fault != NULL)
        return fault;

    int64_t unix_s = seconds_of(&time) - east_s;
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

bool timestamp_parse_local(const char *text, size_t length, struct timestamp_local *local)
{
    struct reader reader = {text, text + length};
    struct date_and_time time = {.year = 1970, .month = 1, .day = 1};

    *local = (struct timestamp_local){.has_date = memchr(text, 'T', length) != NULL};
    if (local->has_date && !(read_digits(&reader, 4, &time.year) && read_character(&reader, '-') &&
                             read_digits(&reader, 2, &time.month) && read_character(&reader, '-') &&
                             read_digits(&reader, 2, &time.day) && read_character(&reader, 'T')))
        return false;
    if (!read_digits(&reader, 2, &time.hour) || !read_character(&reader, ':') ||
        !read_digits(&reader, 2, &time.minute))
        return false;
    if (read_character(&reader, ':') && (!read_digits(&reader, 2, &time.second) ||
                                         read_fraction(&reader, &local->fraction_ns) != NULL))
        return false;
    if (reader.at != reader.end || !exists(&time))
        return false;
    local->month = time.month;
    local->day = time.day;
    local->hour = time.hour;
    local->minute = time.minute;
    local->second = time.second;
    local->as_utc_s = seconds_of(&time);
    return true;
}

static char *write_digits(char *out, unsigned number, int count)
{
    ELAPSE__ASSERT(count > 0);
    for (int i = count - 1; i >= 0; i--) {
        out[i] = (char)('0' + number % 10);
        number /= 10;
    }
    return out + count;
}

void timestamp_write(char *out, uint64_t unix_ns)
{
    uint64_t unix_s = unix_ns / 1000000000;
    unsigned second = (unsigned)(unix_s % ELAPSE__DAY_S);
    struct elapse__date date = elapse__date_of_days((int64_t)(unix_s / ELAPSE__DAY_S));
    const char *end = out + TIMESTAMP_BYTES;

    ELAPSE__ASSERT(date.year >= 1970 && date.year <= 9999);
    out = write_digits(out, (unsigned)date.year, 4);
    *out++ = '-';
    out = write_digits(out, date.month, 2);
    *out++ = '-';
    out = write_digits(out, date.day, 2);
    *out++ = 'T';
    out = write_digits(out, second / 3600, 2);
    *out++ = ':';
    out = write_digits(out, second / 60 % 60, 2);
    *out++ = ':';
    out = write_digits(out, second % 60, 2);
    *out++ = '.';
    out = write_digits(out, (unsigned)(unix_ns % 1000000000 / 1000), 6);
    *out = 'Z';
    ELAPSE__ASSERT(out + 1 == end);
    (void)end; /* used only by assertions */
}

void timestamp_add_member(struct elapse__json *json, const char *name, uint64_t unix_ns)
{
    char text[TIMESTAMP_BYTES];

    timestamp_write(text, unix_ns);
    elapse__json_name(json, name);
    elapse__json_string(json, text, sizeof text);
}
