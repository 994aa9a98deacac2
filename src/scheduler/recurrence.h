/*
 * The recurrence of a task has the fields of a task that runs more than once, or at a wall-clock
 * time. The functions find the next occurrence of such a task.
 */
#ifndef ELAPSE__RECURRENCE_H
#define ELAPSE__RECURRENCE_H

#include <elapse/cron.h>
#include <elapse/scheduler.h>

/* A change of the recurrence: another period, or another cron expression. */
struct elapse__recurrence_change {
    bool by_cron;
    uint64_t period_ns;      /* the new period, unless `by_cron` */
    struct elapse_cron cron; /* if `by_cron` */
    enum elapse_zone zone;   /* if `by_cron` */
    uint64_t since_ns; /* when the user asked for the change, by the clock of the occurrences */
    uint64_t first_ns; /* the first occurrence after since_ns */
};

struct elapse__recurrence {
    enum elapse_recurrence kind;
    enum elapse_missed if_missed;
    bool wall_clock; /* occurrence_ns is a wall-clock time, and the timer is in the wheel for that
                        clock */
    bool unplaced;   /* the task is in the chain of wall_clock_wheel.h, and in no wheel */
    uint64_t period_ns;     /* if `kind` is PERIOD or AFTER_EACH */
    uint64_t occurrence_ns; /* the occurrence that is pending or running */
    uint64_t planned_ns;    /* if `kind` is CRON: the occurrence after occurrence_ns; 0 if it is not
                               known */
    bool moved;             /* the task was rescheduled to moved_ns while it ran */
    uint64_t moved_ns;      /* if `moved`: the new deadline */
    uint64_t number;        /* how many runs have begun */
    uint64_t missed;        /* occurrences that were left out before this one */
    enum elapse_zone zone;
    struct elapse_cron cron;
    bool changed; /* while RUNNING or FINISHING: `change` must be applied when the task finishes */
    struct elapse__recurrence_change change;
};

/* Returns whether the recurrence can take a change of this kind. */
bool elapse__recurrence_may_change(const struct elapse__recurrence *recurrence, bool by_cron);

/* Applies a change. The next occurrence is then the first one after `since_ns`. */
void elapse__recurrence_apply(struct elapse__recurrence *recurrence,
                              const struct elapse__recurrence_change *change);

/* A next occurrence, and how many occurrences were left out before it. */
struct elapse__occurrence {
    uint64_t ns;
    uint64_t missed;
};

/*
 * Finds the next occurrence. `now_ns` is the time when the action has returned, by the clock of
 * occurrence_ns. An occurrence at exactly `now_ns` has not passed. Returns false if there is no
 * further occurrence.
 */
bool elapse__recurrence_next(const struct elapse__recurrence *recurrence, uint64_t now_ns,
                             struct elapse__occurrence *next);

#endif
