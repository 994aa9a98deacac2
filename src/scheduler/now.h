/*
 * Reads the time by the two clocks. If time is manual, step and elapse_scheduler_set_wall_clock set
 * it.
 */
#ifndef ELAPSE__NOW_H
#define ELAPSE__NOW_H

#include "scheduler.h"

/* Returns which clock of the system is the scheduler's monotonic clock. The result means nothing if
 * time is manual. */
enum elapse__os_clock elapse__system_clock(const struct elapse_scheduler *scheduler);

/* Returns `now`. If the shard has a wheel for the wall clock, reads the wall clock again for the
 * result. The reason: after this thread has read the clock, another thread may have held the lock
 * and read the clock, too. Then the older reading would look like a clock that was set back.
 * Requires the lock of the shard. */
struct elapse__ticks elapse__now_in_shard(const struct elapse_scheduler *scheduler,
                                          const struct elapse__shard *shard,
                                          struct elapse__ticks now);

/* Returns `now`, with an earlier wall-clock time if the wall clock was set back since; then fewer
 * tasks are due. A loop that goes on while tasks are due at `now` must call this function in each
 * round. Otherwise the loop would wait for a task that is not due any more. */
struct elapse__ticks elapse__now_if_set_back(const struct elapse_scheduler *scheduler,
                                             struct elapse__ticks now);

/* Returns the time by the wall clock or by the monotonic clock. */
uint64_t elapse__time_for(const struct elapse_scheduler *scheduler, bool wall_clock);

/* Returns the beginning of the present tick. A task with this deadline is due at once. */
static inline uint64_t elapse__tick_now_ns(const struct elapse_scheduler *scheduler)
{
    uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    return now_ns - now_ns % scheduler->options.tick_ns;
}

/* A deadline or a delay that is less than 292 years ahead, or is ELAPSE_NEVER, can be meant. A
 * negative number that was converted to 64 bits without a sign cannot be meant. These three
 * functions return whether a deadline or a delay can be meant. */
bool elapse__deadline_is_near(const struct elapse_scheduler *scheduler, uint64_t deadline_ns,
                              bool wall_clock);

static inline bool elapse__deadline_is_meant(const struct elapse_scheduler *scheduler,
                                             uint64_t deadline_ns, bool wall_clock)
{
    return deadline_ns <= INT64_MAX || deadline_ns == ELAPSE_NEVER ||
           elapse__deadline_is_near(scheduler, deadline_ns, wall_clock);
}

static inline bool elapse__delay_is_meant(uint64_t delay_ns)
{
    return delay_ns <= INT64_MAX || delay_ns == ELAPSE_NEVER;
}

#endif
