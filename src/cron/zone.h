/*
 * Time zones: converts between moments and local time.
 *
 * A moment is counted in seconds since 1970-01-01T00:00:00Z. Local time is what a wall
 * clock in the zone shows, also in seconds: those that a wall clock without a zone would
 * count from 1970-01-01T00:00:00. In UTC the two numbers are the same.
 *
 * Every argument below must lie at least ELAPSE__ZONE_REACH_S within half the range of
 * int64_t, so that sums cannot overflow.
 */
#ifndef ELAPSE__ZONE_H
#define ELAPSE__ZONE_H

#include <stdint.h>

#include <elapse/cron.h>

#include "time_zone.h"

/*
 * A change of the clock matters to the moments that are nearer to it than this. No local time
 * differs from UTC by so much (25 hours at most), and no change of the clock is so great (a day at
 * most, where the date line was moved). No zone has had two changes within twice this time: the
 * closest are Freetown's in September 1939, four days apart.
 */
enum { ELAPSE__ZONE_REACH_S = 26 * 3600 };

/* Returns the seconds by which local time is ahead of UTC at this moment. Returns 0 if the
 * C library cannot tell, which happens far beyond the year 9999 only. */
int64_t elapse__zone_offset_s(const struct elapse_time_zone *zone, int64_t moment_s);

/*
 * Returns the first moment after `from_s` whose offset differs from the one at `from_s`, or
 * `to_s` if there is none before that. Requires from_s < to_s. Two changes within an hour
 * that cancel each other are overlooked.
 */
int64_t elapse__zone_next_change_s(const struct elapse_time_zone *zone, int64_t from_s,
                                   int64_t to_s);

/*
 * Returns the first moment at which local time is `local_s` or later. Where a local time
 * comes twice, this is the first of the two moments; where it falls into a gap, the end of
 * the gap. The result never decreases as `local_s` grows.
 */
int64_t elapse__zone_moment_s(const struct elapse_time_zone *zone, int64_t local_s);

/* Returns the highest local time that has been reached up to this moment. It is higher than
 * local time at the moment itself while an hour comes for the second time. */
int64_t elapse__zone_highest_local_s(const struct elapse_time_zone *zone, int64_t moment_s);

#endif
