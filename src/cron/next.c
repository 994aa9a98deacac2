/*
 * The next moment that a cron expression names.
 *
 * All is reckoned in civil time: seconds since 1970-01-01T00:00:00 on the clock on the
 * wall, as if there were no zones. Month by month the days that are named, then the time
 * of day, field by field.
 *
 * Local time is a staircase: it goes on with the true one, save that it leaps forward
 * over a gap or falls back and repeats itself. Of a civil time C,
 *
 *     the moment meant is the first at which local time is C or later.
 *
 * That is the first of two equal ones, and the end of a gap where C lies in one; and it
 * never decreases as C grows. So what comes after a moment is the first named C above the
 * highest local time that there has been up to it (higher than local time at that moment
 * in the hour that comes twice), and several C in a gap are one moment.
 *
 *     local |            C..../           /
 *           |                |      A.. ./.
 *           |             G..|      /|  /
 *           |               /|     / | /
 *           |              /  gap /  |/ twice
 *           +-----------------^---^--------> true time
 *
 * The C library gives local time for a moment, not the reverse. How far it is ahead of
 * true time a good day before a civil time is nearly always how far it is ahead then; if
 * it is not, the changes around are sought, hour by hour and then by halving.
 */
#include <elapse/cron.h>

#include <time.h>

#include "../base/assert.h"
#include "civil.h"
#include "days.h"

enum { MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400 };

/* How far around a moment changes of the clock matter to it. More than local time can
 * differ from true time (25 hours), and than a change can amount to (a day, where the
 * date line was moved); and no zone has had two changes within twice that: the closest are
 * Freetown's in September 1939, four days apart. */
static const int64_t reach_s = 26 * (int64_t)HOUR_S;

/* 0001-01-01T00:00:00 and 9999-12-31T23:59:59. */
static const int64_t first_s = INT64_C(-62135596800);
static const int64_t last_s = INT64_C(253402300799);

enum { NO_BIT = 64 };

/* The least bit of the word from `bit` on, which is below 64; NO_BIT if there is none. */
static unsigned bit_from(uint64_t word, unsigned bit)
{
    uint64_t left = word >> bit << bit;
    return left == 0 ? NO_BIT : (unsigned)__builtin_ctzll(left);
}

/* The first second of a day that is named and not before `second`; DAY_S if none is. */
static int64_t second_of_day_from(const struct elapse_cron *cron, int64_t second)
{
    unsigned given_hour = (unsigned)(second / HOUR_S);
    unsigned given_minute = (unsigned)(second / MINUTE_S % 60);
    unsigned hour = bit_from(cron->hours, given_hour);
    unsigned minute = bit_from(cron->minutes, 0);
    unsigned s = bit_from(cron->seconds, 0);

    if (hour == given_hour) {
        unsigned later_minute = bit_from(cron->minutes, given_minute);
        if (later_minute == given_minute) {
            unsigned later_s = bit_from(cron->seconds, (unsigned)(second % MINUTE_S));
            if (later_s != NO_BIT)
                s = later_s;
            else
                later_minute = bit_from(cron->minutes, given_minute + 1);
        }
        if (later_minute != NO_BIT)
            minute = later_minute;
        else
            hour = bit_from(cron->hours, given_hour + 1);
    }
    if (hour == NO_BIT)
        return DAY_S;
    return (int64_t)hour * HOUR_S + (int64_t)minute * MINUTE_S + s;
}

/* The first day that is named, from `day` on and up to the last that there is; both are
 * days since 1970-01-01. False if there is none. */
static bool find_day(const struct elapse_cron *cron, int64_t day, int64_t *found)
{
    struct elapse__date date = elapse__date_of_days(day);
    int64_t first_of_month = day - date.day + 1;
    uint32_t from = UINT32_MAX << date.day;

    while (date.year <= 9999) {
        unsigned length = elapse__month_length(date.year, date.month);
        if (cron->months & 1U << date.month) {
            unsigned weekday = elapse__weekday_of_days(first_of_month);
            uint32_t days = elapse__cron_days(cron, length, weekday) & from;
            if (days != 0) {
                *found = first_of_month + bit_from(days, 1) - 1;
                return true;
            }
        }
        first_of_month += length;
        from = UINT32_MAX;
        date.month = date.month % 12 + 1;
        date.year += date.month == 1;
    }
    return false;
}

/* The first civil time after `after_s` that is named. */
static bool next_civil(const struct elapse_cron *cron, int64_t after_s, int64_t *next_s)
{
    int64_t from_s = after_s < first_s ? first_s : after_s + 1;
    int64_t today = elapse__divide_down(from_s, DAY_S);
    int64_t second = from_s - today * DAY_S;
    int64_t day;

    if (!find_day(cron, today, &day))
        return false;
    second = second_of_day_from(cron, day == today ? second : 0);
    if (second == DAY_S) {
        /* Today, but no more today. */
        if (!find_day(cron, today + 1, &day))
            return false;
        second = second_of_day_from(cron, 0);
    }
    *next_s = day * DAY_S + second;
    ELAPSE__ASSERT(*next_s >= from_s && *next_s <= last_s);
    return true;
}

/* How much local time is ahead of true time at this moment. */
static int64_t ahead_s(int64_t moment_s)
{
    time_t moment = (time_t)moment_s;
    struct tm local;
    /* It fails where it cannot say the year, which is far beyond the 9999th. */
    if (moment != moment_s || localtime_r(&moment, &local) == NULL)
        return 0;
    struct elapse__date date = {
        .year = (int64_t)local.tm_year + 1900,
        .month = (unsigned)local.tm_mon + 1,
        .day = (unsigned)local.tm_mday,
    };
    int64_t civil_s = elapse__days_of_date(date) * DAY_S + local.tm_hour * HOUR_S +
                      local.tm_min * MINUTE_S + local.tm_sec;
    return civil_s - moment_s;
}

/* The first moment after `from_s` at which local time is not as far ahead as it was at
 * `from_s`; `to_s` if there is none before. Changes that cancel out within an hour are
 * not seen. */
static int64_t next_change(int64_t from_s, int64_t to_s)
{
    int64_t ahead = ahead_s(from_s);
    int64_t before = from_s;
    int64_t behind;

    do {
        if (before >= to_s)
            return to_s;
        behind = before + HOUR_S < to_s ? before + HOUR_S : to_s;
        if (ahead_s(behind) != ahead)
            break;
        before = behind;
    } while (true);
    while (behind - before > 1) {
        int64_t middle = before + (behind - before) / 2;
        if (ahead_s(middle) == ahead)
            before = middle;
        else
            behind = middle;
    }
    return behind;
}

/* The highest local time that there has been up to this moment. */
static int64_t highest_local(int64_t moment_s)
{
    int64_t ahead = ahead_s(moment_s);
    int64_t highest_s = moment_s + ahead;

    if (ahead_s(moment_s - reach_s) <= ahead)
        return highest_s;
    for (int64_t from_s = moment_s - reach_s; from_s < moment_s;) {
        int64_t change_s = next_change(from_s, moment_s);
        int64_t before_s = change_s - 1 + ahead_s(from_s);
        if (before_s > highest_s)
            highest_s = before_s;
        from_s = change_s;
    }
    return highest_s;
}

/* The first moment at which local time is `civil_s` or later. */
static int64_t moment_of_local(int64_t civil_s)
{
    int64_t from_s = civil_s - reach_s;
    int64_t to_s = civil_s + reach_s;
    int64_t ahead = ahead_s(from_s);

    if (ahead_s(civil_s - ahead) == ahead)
        return civil_s - ahead;
    while (from_s < to_s) {
        int64_t change_s = next_change(from_s, to_s);
        int64_t moment_s = civil_s - ahead_s(from_s);
        if (moment_s < change_s)
            return moment_s > from_s ? moment_s : from_s;
        from_s = change_s;
    }
    return to_s;
}

static bool next_local(const struct elapse_cron *cron, int64_t after_s, int64_t *next_s)
{
    int64_t civil_s = highest_local(after_s);
    int64_t moment_s;

    /* Once, unless the zone is stranger than any that there has been: only then is the
     * highest local time not what was found. */
    do {
        if (!next_civil(cron, civil_s, &civil_s))
            return false;
        moment_s = moment_of_local(civil_s);
    } while (moment_s <= after_s);
    *next_s = moment_s;
    return true;
}

bool elapse_cron_next(const struct elapse_cron *cron, enum elapse_zone zone, int64_t after_s,
                      int64_t *next_s)
{
    /* Room for what local time can differ, and sums cannot overflow. */
    if (after_s > last_s + reach_s)
        return false;
    if (after_s < first_s - reach_s)
        after_s = first_s - reach_s;
    if (zone == ELAPSE_ZONE_LOCAL)
        return next_local(cron, after_s, next_s);
    return next_civil(cron, after_s, next_s);
}
