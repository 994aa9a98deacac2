/*
 * The time by the two clocks. If time is manual, step and elapse_scheduler_set_wall_clock set it.
 */
#ifndef ELAPSE__NOW_H
#define ELAPSE__NOW_H

#include "scheduler.h"

/* Returns the system's clock that the scheduler takes as its monotonic clock. Means nothing if time
 * is manual. */
enum elapse__os_clock elapse__system_clock(const struct elapse_scheduler *scheduler);

/* Returns the time by the wall clock or by the monotonic clock. */
uint64_t elapse__time_for(const struct elapse_scheduler *scheduler, bool wall_clock);

#endif
