/*
 * How a task goes on after a run, and what wall-clock time it has: what tasks have that run more
 * than once or by the wall clock.
 */
#ifndef ELAPSE__RECURRENCE_H
#define ELAPSE__RECURRENCE_H

#include <elapse/cron.h>
#include <elapse/scheduler.h>

struct elapse__recurrence {
    enum elapse_recurrence kind;
    enum elapse_missed if_missed;
    bool wall_clock;        /* occurrence_ns is a wall-clock time; its timer is in that wheel */
    bool unplaced;          /* it is in neither wheel: see wall_clock_wheel.h */
    uint64_t period_ns;     /* PERIOD, AFTER_EACH */
    uint64_t occurrence_ns; /* the one that is pending or running, to the nanosecond */
    bool moved;             /* it was rescheduled while it ran ... */
    uint64_t moved_ns;      /* ... to this deadline */
    uint64_t number;        /* runs begun */
    uint64_t missed;        /* occurrences left out before this one */
    enum elapse_zone zone;
    struct elapse_cron cron;
};

/* A next occurrence, and how many were left out before it. */
struct elapse__occurrence {
    uint64_t ns;
    uint64_t missed;
};

/*
 * Finds the next occurrence; `now_ns` is the time by the clock that occurrence_ns goes by, when the
 * action has returned. An occurrence that is due at this very moment has not passed. False if
 * there is no further one.
 */
bool elapse__recurrence_next(const struct elapse__recurrence *recurrence, uint64_t now_ns,
                             struct elapse__occurrence *next);

#endif
