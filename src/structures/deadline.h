/*
 * How every structure reads the times that its caller gives. `clock` is the time that the caller
 * gave last.
 */
#ifndef ELAPSE__DEADLINE_H
#define ELAPSE__DEADLINE_H

#include <elapse/timer.h>

#include "../base/assert.h"

/* Returns the time to which the clock is set when the caller gives `now`. ELAPSE_NEVER counts as
 * ELAPSE_TIME_MAX. */
static inline uint64_t elapse__clock_at(uint64_t now)
{
    return now < ELAPSE_NEVER ? now : ELAPSE_TIME_MAX;
}

/* Returns the deadline that a structure stores. A deadline that has passed counts as `clock`. */
static inline uint64_t elapse__stored_deadline(uint64_t clock, uint64_t deadline)
{
    ELAPSE__ASSERT(clock <= ELAPSE_TIME_MAX);
#if ELAPSE__TIME_BITS < 64
    if (deadline > ELAPSE_NEVER)
        return ELAPSE_NEVER;
#endif
    return deadline > clock ? deadline : clock;
}

/* Returns how many ticks are left until the deadline of `timer`; ELAPSE_NEVER if the timer is idle
 * or never due. */
static inline uint64_t elapse__remaining(uint64_t clock, const struct elapse_timer *timer)
{
    ELAPSE__ASSERT(clock <= ELAPSE_TIME_MAX);
    if (timer->place == 0 || timer->deadline == ELAPSE_NEVER)
        return ELAPSE_NEVER;
    return timer->deadline > clock ? timer->deadline - clock : 0;
}

#endif
