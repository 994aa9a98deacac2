/*
 * A task becomes due, begins and finishes. The functions are called with the shard's lock held.
 */
#ifndef ELAPSE__SHARD_RUN_H
#define ELAPSE__SHARD_RUN_H

#include "shard_steps.h"

/* An action that has begun. */
struct elapse__begun {
    struct elapse__task *task;
    elapse_action_function *action;
    void *context;
    const struct elapse__recurrence *recurrence; /* or NULL; it is read without the lock, because
                                                    nothing of it that counts changes meanwhile */
    bool wall_clock;                             /* the times are by the wall clock */
    uint64_t number;
    uint64_t missed;
    struct elapse_handle handle;
    uint64_t intended_ns;
    uint64_t actual_ns;
};

/* What elapse__shard_take_due found. */
enum elapse__due {
    ELAPSE__DUE_TASK, /* a task, taken out of the wheel, in `*taken` */
    ELAPSE__DUE_NONE, /* none; wake_tick is up to date */
    ELAPSE__DUE_MORE, /* it has moved timers for long enough: release the lock and call again */
};

/* Takes the next task that is due out of its wheel: it is QUEUED from now on. The time is `now`;
 * what is taken is due at `until`, which is no later. An until.wall_clock of ELAPSE_NEVER leaves
 * that wheel alone. */
enum elapse__due elapse__shard_take_due(struct elapse__shard *shard, struct elapse__ticks now,
                                        struct elapse__ticks until, struct elapse__task **taken);

/* Brings both wake_ticks up to date. */
void elapse__shard_note_next(struct elapse__shard *shard, struct elapse__ticks now);

/* Returns when a task is due, or was: the beginning of that tick, by the clock of the task.
 * Requires that the task is not FREE. */
uint64_t elapse__shard_deadline_ns(const struct elapse__shard *shard,
                                   const struct elapse__task *task);

/* QUEUED -> RUNNING. */
struct elapse__begun elapse__shard_begin(struct elapse__shard *shard, struct elapse__task *task,
                                         uint64_t actual_ns);

/* The action has returned: RUNNING -> FREE or, when it was rescheduled or recurs, PENDING.
 * `next_occurrence`: NULL if it does not recur. Returns the ticks of the timers that were started
 * by this, its own or that of the next task with its key: the caller wakes the clock thread for
 * them after the lock. ELAPSE_NEVER: none was started. */
struct elapse__ticks elapse__shard_finish(struct elapse__shard *shard, struct elapse__task *task,
                                          const struct elapse__occurrence *next_occurrence,
                                          struct elapse__ended_task *ended);

#endif
