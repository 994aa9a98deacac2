/*
 * The time by the two clocks. If time is manual, step and elapse_scheduler_set_wall_clock set it.
 */
#ifndef ELAPSE__NOW_H
#define ELAPSE__NOW_H

#include "scheduler.h"

/* Returns the system's clock that the scheduler takes as its monotonic clock. Means nothing if time
 * is manual. */
enum elapse__os_clock elapse__system_clock(const struct elapse_scheduler *scheduler);

/* Returns `now` with the wall clock read again, if the shard has a wheel for it. A thread that read
 * the clock before it waited for the lock may be behind another that had the lock meanwhile, and
 * its reading would look like a clock that was set back. Requires the lock of the shard. */
struct elapse__ticks elapse__now_in_shard(const struct elapse_scheduler *scheduler,
                                          const struct elapse__shard *shard,
                                          struct elapse__ticks now);

/* Returns the time by the wall clock or by the monotonic clock. */
uint64_t elapse__time_for(const struct elapse_scheduler *scheduler, bool wall_clock);

#endif
