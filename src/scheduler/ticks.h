/*
 * Nanoseconds outside, ticks inside. Tick t begins t * tick_ns after the origin of
 * the clock. Deadlines are rounded up and the present down, so that nothing is early.
 */
#ifndef ELAPSE__TICKS_H
#define ELAPSE__TICKS_H

#include <elapse/timer.h>

/* A tick by each of the two clocks: the scheduler's own, and the wall clock. */
struct elapse__ticks {
    uint64_t monotonic;
    uint64_t wall_clock;
};

/* The tick at which a deadline comes due. */
static inline uint64_t elapse__tick_of_deadline(uint64_t deadline_ns, uint64_t tick_ns)
{
    if (deadline_ns == ELAPSE_NEVER)
        return ELAPSE_NEVER;
    uint64_t tick = deadline_ns / tick_ns;
    return tick * tick_ns < deadline_ns ? tick + 1 : tick;
}

/* The tick that has begun last at this time. It is never ELAPSE_NEVER, for which nothing
 * is due. */
static inline uint64_t elapse__tick_of_now(uint64_t now_ns, uint64_t tick_ns)
{
    uint64_t tick = now_ns / tick_ns;
    return tick < ELAPSE_NEVER ? tick : ELAPSE_TIME_MAX;
}

/* When a tick begins; ELAPSE_NEVER for one beyond the end of time. */
static inline uint64_t elapse__tick_begins_ns(uint64_t tick, uint64_t tick_ns)
{
    uint64_t begins_ns;
    return __builtin_mul_overflow(tick, tick_ns, &begins_ns) ? ELAPSE_NEVER : begins_ns;
}

#endif
