/*
 * How every structure reads the times that a caller gives.
 */
#ifndef ELAPSE__DEADLINE_H
#define ELAPSE__DEADLINE_H

#include <elapse/timer.h>

/* A time to set the clock to: ELAPSE_NEVER is not one. */
static inline uint64_t elapse__clock_at(uint64_t now)
{
    return now < ELAPSE_NEVER ? now : ELAPSE_TIME_MAX;
}

/* The deadline that is stored: one that has passed counts as now. */
static inline uint64_t elapse__stored_deadline(uint64_t clock, uint64_t deadline)
{
#if ELAPSE__TIME_BITS < 64
    if (deadline > ELAPSE_NEVER)
        return ELAPSE_NEVER;
#endif
    return deadline > clock ? deadline : clock;
}

static inline uint64_t elapse__remaining(uint64_t clock, const struct elapse_timer *timer)
{
    if (timer->place == 0 || timer->deadline == ELAPSE_NEVER)
        return ELAPSE_NEVER;
    return timer->deadline > clock ? timer->deadline - clock : 0;
}

#endif
