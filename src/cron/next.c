/*
 * Finds the next moment that a cron expression names.
 *
 * An expression names local times. From a given local time, `next_local` looks for the next local
 * time that is named. It looks first for the day, month by month, and then for the time of day,
 * field by field.
 *
 * A named local time C means the first moment at which local time is C or later (zone.h). This
 * moment never decreases as C grows. So the next moment after `after_s` belongs to the first C that
 * is above the highest local time up to `after_s`. Where the clock is set forward, it leaves out a
 * gap; all C in one gap belong to one moment.
 *
 * If the field for hours is open, the local time itself counts, and not the highest local time. So
 * while an hour is repeated, its times are named once more.
 */
#include "next.h"

#include "../base/assert.h"
#include "gregorian.h"
#include "month_days.h"
#include "zone.h"

enum { YEAR_MAX = 9999, NO_BIT = 64, NANOSECONDS_PER_SECOND = 1000000000 };

/* The first and the last local time: 0001-01-01T00:00:00 and 9999-12-31T23:59:59. */
static const int64_t first_s = INT64_C(-62135596800);
static const int64_t last_s = INT64_C(253402300799);

/* Returns the lowest bit of the word that is `bit` or higher; NO_BIT if there is none.
 * Requires bit < 64. */
static unsigned bit_from(uint64_t word, unsigned bit)
{
    ELAPSE__ASSERT(bit < 64);
    uint64_t left = word >> bit << bit;
    return left == 0 ? NO_BIT : (unsigned)__builtin_ctzll(left);
}

/* Returns the first named second of a day that is `second` or later; ELAPSE__DAY_S if there is
 * none. */
static int64_t second_of_day_from(const struct elapse_cron *cron, int64_t second)
{
    ELAPSE__ASSERT(second >= 0);
    ELAPSE__ASSERT(second < ELAPSE__DAY_S);
    unsigned given_hour = (unsigned)(second / ELAPSE__HOUR_S);
    unsigned given_minute = (unsigned)(second / ELAPSE__MINUTE_S % 60);
    unsigned hour = bit_from(cron->hours, given_hour);
    unsigned minute = bit_from(cron->minutes, 0);
    unsigned s = bit_from(cron->seconds, 0);
    ELAPSE__ASSERT(minute <= 59);
    ELAPSE__ASSERT(s <= 59);

    if (hour == given_hour) {
        unsigned later_minute = bit_from(cron->minutes, given_minute);
        if (later_minute == given_minute) {
            unsigned later_s = bit_from(cron->seconds, (unsigned)(second % ELAPSE__MINUTE_S));
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
        return ELAPSE__DAY_S;
    ELAPSE__ASSERT(hour <= 23);
    return (int64_t)hour * ELAPSE__HOUR_S + (int64_t)minute * ELAPSE__MINUTE_S + s;
}

/* Finds the first named day that is `day` or later. Both are counted in days since 1970-01-01.
 * Returns false if there is none up to the end of the year 9999. */
static bool find_day(const struct elapse_cron *cron, int64_t day, int64_t *found)
{
    struct elapse__date date = elapse__date_of_days(day);
    int64_t first_of_month = day - date.day + 1;
    uint32_t from = UINT32_MAX << date.day;

    while (date.year <= YEAR_MAX) {
        unsigned length = elapse__month_length(date.year, date.month);
        if (cron->months & 1U << date.month) {
            unsigned weekday = elapse__weekday_of_days(first_of_month);
            uint32_t days = elapse__cron_month_days(cron, length, weekday) & from;
            if (days != 0) {
                *found = first_of_month + bit_from(days, 1) - 1;
                ELAPSE__ASSERT(*found >= day);
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

/* Finds the first local time after `after_s` that is named. Returns false if there is none. */
static bool next_local(const struct elapse_cron *cron, int64_t after_s, int64_t *next_s)
{
    int64_t from_s = after_s < first_s ? first_s : after_s + 1;
    int64_t today = elapse__divide_down(from_s, ELAPSE__DAY_S);
    int64_t second = from_s - today * ELAPSE__DAY_S;
    int64_t day;

    if (!find_day(cron, today, &day))
        return false;
    second = second_of_day_from(cron, day == today ? second : 0);
    if (second == ELAPSE__DAY_S) {
        /* Today is named, but no named time of today is left. */
        ELAPSE__ASSERT(day == today);
        if (!find_day(cron, today + 1, &day))
            return false;
        second = second_of_day_from(cron, 0);
    }
    *next_s = day * ELAPSE__DAY_S + second;
    ELAPSE__ASSERT(*next_s >= from_s);
    ELAPSE__ASSERT(*next_s <= last_s);
    return true;
}

/* Finds the first moment after `after_s` whose local time is named. The end of a gap that has a
 * named local time counts as such a moment, too. A local time that comes twice counts twice. */
static bool next_by_the_clock(const struct elapse_cron *cron, const struct elapse_time_zone *zone,
                              int64_t after_s, int64_t *next_s)
{
    int64_t end_s = after_s + ELAPSE__ZONE_REACH_S;
    int64_t from_s = after_s; /* the present offset from UTC holds from here on */
    int64_t offset_s = elapse__zone_offset_s(zone, after_s);
    int64_t local_s;

    if (!next_local(cron, after_s + offset_s, &local_s))
        return false;
    bool has_change = elapse__zone_offset_s(zone, end_s) != offset_s;
    while (from_s < end_s) {
        int64_t change_s = has_change ? elapse__zone_next_change_s(zone, from_s, end_s) : end_s;
        if (local_s - offset_s < change_s) {
            *next_s = local_s - offset_s;
            ELAPSE__ASSERT(*next_s > after_s);
            return true;
        }
        if (change_s == end_s)
            break;
        offset_s = elapse__zone_offset_s(zone, change_s);
        from_s = change_s;
        if (local_s <= change_s + offset_s &&
            local_s >= change_s + elapse__zone_offset_s(zone, change_s - 1)) {
            *next_s = change_s;
            return true;
        }
        if (!next_local(cron, change_s + offset_s - 1, &local_s))
            return false;
    }
    /* The moment is so late that no repetition of an hour can reach it. The loop runs once, as the
     * loop in next_by_first_time does. */
    while ((*next_s = elapse__zone_moment_s(zone, local_s)) <= after_s) {
        if (!next_local(cron, local_s, &local_s))
            return false;
    }
    return true;
}

/* Finds the first moment after `after_s` that has a named local time for the first time. */
static bool next_by_first_time(const struct elapse_cron *cron, const struct elapse_time_zone *zone,
                               int64_t after_s, int64_t *next_s)
{
    int64_t local_s = elapse__zone_highest_local_s(zone, after_s);

    /* The loop runs once in every zone that has existed. Only in a stranger zone could the highest
     * local time differ from the local time that was found. */
    do {
        if (!next_local(cron, local_s, &local_s))
            return false;
        *next_s = elapse__zone_moment_s(zone, local_s);
    } while (*next_s <= after_s);
    return true;
}

bool elapse_cron_next(const struct elapse_cron *cron, enum elapse_zone zone, int64_t after_s,
                      int64_t *next_s)
{
    const struct elapse_time_zone *time_zone = elapse__zone_of(cron, zone);
    int64_t moment_s;

    /* Local time differs from UTC by less than the reach. So beyond this moment there is nothing to
     * find, and sums could overflow. */
    if (after_s > last_s + ELAPSE__ZONE_REACH_S)
        return false;
    if (after_s < first_s - ELAPSE__ZONE_REACH_S)
        after_s = first_s - ELAPSE__ZONE_REACH_S;
    if (cron->every_s > 0) {
        moment_s = after_s + cron->every_s;
        if (moment_s > last_s)
            return false;
    } else if (time_zone->kind == ELAPSE__ZONE_KIND_UTC) {
        if (!next_local(cron, after_s, &moment_s)) /* in UTC, local time equals the moment */
            return false;
    } else if (!(cron->hours_open ? next_by_the_clock : next_by_first_time)(cron, time_zone,
                                                                            after_s, &moment_s)) {
        return false;
    }
    *next_s = moment_s;
    return true;
}

void elapse_cron_set_time_zone(struct elapse_cron *cron, const struct elapse_time_zone *zone)
{
    cron->time_zone = zone;
}

bool elapse__cron_next_ns(const struct elapse_cron *cron, enum elapse_zone zone, uint64_t after_ns,
                          uint64_t *next_ns)
{
    const uint64_t after_s = after_ns / NANOSECONDS_PER_SECOND;
    int64_t next_s;

    if (!elapse_cron_next(cron, zone, (int64_t)after_s, &next_s))
        return false;
    ELAPSE__ASSERT(next_s > (int64_t)after_s);
    return !__builtin_mul_overflow((uint64_t)next_s, (uint64_t)NANOSECONDS_PER_SECOND, next_ns);
}
