/*
 * The public interface counts nanoseconds, and the wheels count ticks. Tick t begins t * tick_ns
 * after the origin of the clock. Deadlines are rounded up and the present is rounded down, so that
 * no task runs early.
 */
#ifndef ELAPSE__TICKS_H
#define ELAPSE__TICKS_H

#include <elapse/timer.h>

#include "../base/assert.h"

/* A tick by each of the two clocks. */
struct elapse__ticks {
    uint64_t monotonic;
    uint64_t wall_clock;
};

/* Returns the tick at which a deadline becomes due. */
static inline uint64_t elapse__tick_of_deadline(uint64_t deadline_ns, uint64_t tick_ns)
{
    if (deadline_ns == ELAPSE_NEVER)
        return ELAPSE_NEVER;
    ELAPSE__ASSERT_THAT(tick_ns, >, 0);
    uint64_t tick = deadline_ns / tick_ns;
    return tick * tick_ns < deadline_ns ? tick + 1 : tick;
}

/* Returns the last tick that has begun at this time. Never returns ELAPSE_NEVER, because a deadline
 * of ELAPSE_NEVER is never due. */
static inline uint64_t elapse__tick_of_now(uint64_t now_ns, uint64_t tick_ns)
{
    ELAPSE__ASSERT_THAT(tick_ns, >, 0);
    uint64_t tick = now_ns / tick_ns;
    return tick < ELAPSE_NEVER ? tick : ELAPSE_TIME_MAX;
}

/* Returns when a tick begins; ELAPSE_NEVER if that is later than 64 bits can say. */
static inline uint64_t elapse__tick_begins_ns(uint64_t tick, uint64_t tick_ns)
{
    uint64_t begins_ns;
    return __builtin_mul_overflow(tick, tick_ns, &begins_ns) ? ELAPSE_NEVER : begins_ns;
}

#endif
