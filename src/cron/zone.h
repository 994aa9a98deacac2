/*
 * Time zones: converts between moments and local time.
 *
 * A moment is counted in seconds since 1970-01-01T00:00:00Z. Local time is what a clock on a wall
 * in the zone shows. It is counted in seconds from the time at which such a clock shows
 * 1970-01-01T00:00:00, as if the clock had never been changed. In UTC a moment and its local time
 * are the same number.
 *
 * The functions require that each time is at least ELAPSE__ZONE_REACH_S away from the ends of half
 * the range of int64_t, so that sums cannot overflow.
 */
#ifndef ELAPSE__ZONE_H
#define ELAPSE__ZONE_H

#include <stdint.h>

#include <elapse/cron.h>

#include "time_zone.h"

/*
 * A change of the clock has an effect only on moments that are nearer to it than this time. No
 * local time differs from UTC by so much: the difference is 25 hours at most. No change of the
 * clock is so great: it is a day at most, where the date line was moved. No zone has had two
 * changes within twice this time: the closest two are four days apart, in Freetown in September
 * 1939.
 */
enum { ELAPSE__ZONE_REACH_S = 26 * 3600 };

/* Returns the seconds by which local time is ahead of UTC at this moment. Returns 0 if the C
 * library cannot tell, which happens only far beyond the year 9999. */
int64_t elapse__zone_offset_s(const struct elapse_time_zone *zone, int64_t moment_s);

/*
 * Returns the first moment after `from_s` at which the offset differs from the offset at `from_s`;
 * `to_s` if there is no such moment before `to_s`. Requires from_s < to_s. Does not see two changes
 * within an hour that cancel each other.
 */
int64_t elapse__zone_next_change_s(const struct elapse_time_zone *zone, int64_t from_s,
                                   int64_t to_s);

/*
 * Returns the first moment at which local time is `local_s` or later. If a local time comes twice,
 * this is the first of the two moments. If a local time falls into a gap, this is the end of the
 * gap. The result never decreases as `local_s` grows.
 */
int64_t elapse__zone_moment_s(const struct elapse_time_zone *zone, int64_t local_s);

/* Returns the highest local time that was reached up to this moment. While an hour comes for the
 * second time, the result is higher than the present local time. */
int64_t elapse__zone_highest_local_s(const struct elapse_time_zone *zone, int64_t moment_s);

#endif
