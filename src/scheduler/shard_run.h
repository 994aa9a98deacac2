/*
 * Takes due tasks, begins and finishes them. The functions require the lock of the shard.
 */
#ifndef ELAPSE__SHARD_RUN_H
#define ELAPSE__SHARD_RUN_H

#include "shard_steps.h"

/* An action that has begun. */
struct elapse__begun {
    struct elapse__task *task;
    elapse_action_function *action;
    void *context;
    const struct elapse__recurrence *recurrence; /* or NULL. The thread that runs the action may
                                                    read kind, period, cron, zone and occurrence
                                                    without the lock: they stay as they are */
    bool wall_clock;                             /* the times are by the wall clock */
    uint64_t number;
    uint64_t missed;
    uint64_t attempt;
    struct elapse_handle handle;
    uint64_t intended_ns;
    uint64_t actual_ns;
};

/* What elapse__shard_take_due found. */
enum elapse__due {
    ELAPSE__DUE_TASK,    /* `*taken` is a task that was taken out of the wheel */
    ELAPSE__DUE_EXPIRED, /* `*taken` is a task whose lease has expired; it is unchanged */
    ELAPSE__DUE_NONE,    /* no task is due; wake_tick is up to date */
    ELAPSE__DUE_MORE, /* not known yet, but many timers were moved: release the lock, call again */
};

/* Takes the next due task out of its wheel, and makes it QUEUED. The caller either begins the task
 * before it releases the lock, or adds the task to its list with elapse__shard_queue. If the next
 * task is one whose lease has expired, stores that task unchanged. `now` is the time. Only tasks
 * that are due at `until`, which is no later than `now`, are taken; ELAPSE_NEVER in `until` leaves
 * the wheel of that clock alone. If the shard has a wheel for the wall clock, `now` must have been
 * read with the lock held: an older reading would look like a clock that was set back. */
enum elapse__due elapse__shard_take_due(struct elapse__shard *shard, struct elapse__ticks now,
                                        struct elapse__ticks until, struct elapse__task **taken);

/* Adds a task that elapse__shard_take_due has taken to the list of the due tasks. Returns the
 * number that tells its newest place in the work queue. */
uint32_t elapse__shard_queue(struct elapse__shard *shard, struct elapse__task *task);

/* Sets both wake_ticks to the next ticks of the wheels, and cascade_tick. */
void elapse__shard_note_next(struct elapse__shard *shard, struct elapse__ticks now);

/* Cascades some timers of the wheel ahead, so that no task that is due later waits for them. Does
 * nothing if a task is due. The wheel by the wall clock is cascaded only when its tasks are due. */
void elapse__shard_cascade_ahead(struct elapse__shard *shard, struct elapse__ticks now);

/* Begins a task: QUEUED -> RUNNING. `actual_ns` is the time by the clock of the task. Requires that
 * the task is in no list of due tasks. */
struct elapse__begun elapse__shard_begin(struct elapse__shard *shard, struct elapse__task *task,
                                         uint64_t actual_ns);

/* Finishes a task whose action has returned: RUNNING -> FREE or, if it was rescheduled or recurs,
 * PENDING. `next_occurrence`: NULL if there is none. This may start two timers: that of the task,
 * and that of the next task with its key. Returns their ticks, ELAPSE_NEVER for none. The caller
 * must wake the clock thread for these ticks after it has released the lock. */
struct elapse__ticks elapse__shard_finish(struct elapse__shard *shard, struct elapse__task *task,
                                          const struct elapse__occurrence *next_occurrence,
                                          struct elapse__ended_task *ended);

#endif
