/*
 * Converts between moments and local time.
 *
 * Local time runs with UTC. At a change of the clock it leaps forward over a gap, or falls back and
 * repeats itself.
 *
 *     local |            C..../           /
 *           |                |      A.. ./.
 *           |             G..|      /|  /
 *           |               /|     / | /
 *           |              /  gap /  |/ twice
 *           +-----------------^---^--------> moments
 *
 * A zone converts a moment to local time. For the zone of TZ, the C library does this. It has no
 * safe way back: mktime does not promise what it returns for a local time in a gap, or for a local
 * time that comes twice. So the functions below search for the moment of a local time, in every
 * kind of zone. The offset of a little more than a day before is nearly always the offset that
 * holds at the local time, too. If it is not, the functions look for the changes of the clock
 * around the local time: first hour by hour, then by halving the hour.
 */
#include "zone.h"

#include <time.h>

#include "../base/assert.h"
#include "gregorian.h"

static void require_room_for_sums(int64_t seconds)
{
    ELAPSE__ASSERT(seconds > INT64_MIN / 2);
    ELAPSE__ASSERT(seconds < INT64_MAX / 2);
    (void)seconds;
}

/* Returns the offset as the C library tells it. */
static int64_t offset_of_process_s(int64_t moment_s)
{
    time_t moment = (time_t)moment_s;
    struct tm local;

    if (moment != moment_s || localtime_r(&moment, &local) == NULL)
        return 0;
    struct elapse__date date = {
        .year = (int64_t)local.tm_year + 1900,
        .month = (unsigned)local.tm_mon + 1,
        .day = (unsigned)local.tm_mday,
    };
    int64_t local_s = elapse__days_of_date(date) * ELAPSE__DAY_S +
                      (int64_t)local.tm_hour * ELAPSE__HOUR_S +
                      (int64_t)local.tm_min * ELAPSE__MINUTE_S + local.tm_sec;
    return local_s - moment_s;
}

int64_t elapse__zone_offset_s(const struct elapse_time_zone *zone, int64_t moment_s)
{
    require_room_for_sums(moment_s);
    switch (zone->kind) {
    case ELAPSE__ZONE_KIND_LOCAL:
        return offset_of_process_s(moment_s);
    case ELAPSE__ZONE_KIND_RULE:
        return elapse__zone_rule_offset_s(&zone->file.rule, moment_s);
    case ELAPSE__ZONE_KIND_FILE:
        return elapse__zone_file_offset_s(&zone->file, moment_s);
    case ELAPSE__ZONE_KIND_UTC:
        break;
    }
    return 0;
}

int64_t elapse_time_zone_offset_s(const struct elapse_time_zone *zone, int64_t unix_s)
{
    const int64_t most_s = INT64_MAX / 4;

    unix_s = unix_s > most_s ? most_s : unix_s < -most_s ? -most_s : unix_s;
    return elapse__zone_offset_s(zone, unix_s);
}

int64_t elapse__zone_next_change_s(const struct elapse_time_zone *zone, int64_t from_s,
                                   int64_t to_s)
{
    ELAPSE__ASSERT(from_s < to_s);
    int64_t offset_s = elapse__zone_offset_s(zone, from_s);
    int64_t before_s = from_s;
    int64_t after_s;

    do {
        if (before_s >= to_s)
            return to_s;
        after_s = before_s + ELAPSE__HOUR_S < to_s ? before_s + ELAPSE__HOUR_S : to_s;
        if (elapse__zone_offset_s(zone, after_s) != offset_s)
            break;
        before_s = after_s;
    } while (true);
    while (after_s - before_s > 1) {
        int64_t middle_s = before_s + (after_s - before_s) / 2;
        if (elapse__zone_offset_s(zone, middle_s) == offset_s)
            before_s = middle_s;
        else
            after_s = middle_s;
    }
    ELAPSE__ASSERT(after_s > from_s);
    ELAPSE__ASSERT(after_s <= to_s);
    return after_s;
}

int64_t elapse__zone_moment_s(const struct elapse_time_zone *zone, int64_t local_s)
{
    require_room_for_sums(local_s);
    if (zone->kind == ELAPSE__ZONE_KIND_UTC)
        return local_s;

    int64_t from_s = local_s - ELAPSE__ZONE_REACH_S;
    int64_t to_s = local_s + ELAPSE__ZONE_REACH_S;
    int64_t offset_s = elapse__zone_offset_s(zone, from_s);
    if (elapse__zone_offset_s(zone, local_s - offset_s) == offset_s)
        return local_s - offset_s;
    while (from_s < to_s) {
        int64_t change_s = elapse__zone_next_change_s(zone, from_s, to_s);
        int64_t moment_s = local_s - elapse__zone_offset_s(zone, from_s);
        if (moment_s < change_s)
            return moment_s > from_s ? moment_s : from_s;
        from_s = change_s;
    }
    return to_s;
}

int64_t elapse__zone_highest_local_s(const struct elapse_time_zone *zone, int64_t moment_s)
{
    require_room_for_sums(moment_s);
    if (zone->kind == ELAPSE__ZONE_KIND_UTC)
        return moment_s;

    int64_t begin_s = moment_s - ELAPSE__ZONE_REACH_S;
    int64_t offset_s = elapse__zone_offset_s(zone, moment_s);
    int64_t highest_s = moment_s + offset_s;
    if (elapse__zone_offset_s(zone, begin_s) <= offset_s)
        return highest_s;
    for (int64_t from_s = begin_s; from_s < moment_s;) {
        int64_t change_s = elapse__zone_next_change_s(zone, from_s, moment_s);
        int64_t before_s = change_s - 1 + elapse__zone_offset_s(zone, from_s);
        if (before_s > highest_s)
            highest_s = before_s;
        from_s = change_s;
    }
    ELAPSE__ASSERT(highest_s >= moment_s + offset_s);
    return highest_s;
}
