/*
 * The time: by the scheduler's two clocks or, where time is manual, as step and
 * elapse_scheduler_set_wall_clock say.
 */
#ifndef ELAPSE__NOW_H
#define ELAPSE__NOW_H

#include "scheduler.h"

/* Returns the monotonic clock that the scheduler uses where time is not manual. */
enum elapse__os_clock elapse__system_clock(const struct elapse_scheduler *scheduler);

/* Returns the time by the wall clock or by the monotonic clock. */
uint64_t elapse__time_for(const struct elapse_scheduler *scheduler, bool wall_clock);

#endif
