/*
 * Takes due tasks, begins and finishes them. The functions require the lock of the shard. task.h
 * explains the states of a task, which are written in capitals.
 */
#ifndef ELAPSE__SHARD_RUN_H
#define ELAPSE__SHARD_RUN_H

#include "shard_steps.h"

/* An action that has begun. */
struct elapse__begun {
    struct elapse__task *task;
    elapse_action_function *action;
    void *context;
    /* Or NULL. The thread that runs the action may read kind, period, cron, zone and occurrence
     * without the lock, because these do not change meanwhile. */
    const struct elapse__recurrence *recurrence;
    bool wall_clock; /* the times are by the wall clock */
    uint64_t number;
    uint64_t missed;
    uint64_t attempt;
    struct elapse_handle handle;
    uint64_t intended_ns;
    uint64_t actual_ns;
};

/* What elapse__shard_take_due found. */
enum elapse__due {
    ELAPSE__DUE_TASK,    /* a task was taken out of a wheel: `*taken` */
    ELAPSE__DUE_EXPIRED, /* the lease of the task `*taken` has expired; the task is unchanged */
    ELAPSE__DUE_NONE,    /* no task is due; wake_tick is up to date */
    ELAPSE__DUE_MORE,    /* the answer is not known yet, after many timers were moved: release the
                            lock, and call again */
};

/* Takes the next due task out of its wheel, and makes it QUEUED. The caller either begins the task
 * before it releases the lock, or adds the task to its list with elapse__shard_queue. If the next
 * task is one whose lease has expired, stores that task in `*taken` unchanged. `now` is the present
 * time. Takes only tasks that are due at `until`, which is no later than `now`. ELAPSE_NEVER in
 * `until` means that no task of that clock is taken. If the shard has a wheel for the wall clock,
 * requires that `now` was read while the lock was held: an older reading would look like a clock
 * that was set back. */
enum elapse__due elapse__shard_take_due(struct elapse__shard *shard, struct elapse__ticks now,
                                        struct elapse__ticks until, struct elapse__task **taken);

/* Adds a task that elapse__shard_take_due has taken to the list of due tasks. Returns the number of
 * the newest place of the task in the work queue. */
uint32_t elapse__shard_queue(struct elapse__shard *shard, struct elapse__task *task);

/* Sets both wake_ticks to the next ticks of the wheels. Sets cascade_tick, too. */
void elapse__shard_note_next(struct elapse__shard *shard, struct elapse__ticks now);

/* Cascades some timers of the wheel for the monotonic clock ahead, before they are due. So a task
 * that is due later does not wait for the cascade. Does nothing if a task is due. The timers of the
 * wheel for the wall clock are never cascaded ahead. */
void elapse__shard_cascade_ahead(struct elapse__shard *shard, struct elapse__ticks now);

/* Begins a task: QUEUED -> RUNNING. `actual_ns` is the time by the clock of the task. Requires that
 * the task is in no list of due tasks. */
struct elapse__begun elapse__shard_begin(struct elapse__shard *shard, struct elapse__task *task,
                                         uint64_t actual_ns);

/* Finishes a task whose action has returned: RUNNING -> FREE or, if it was rescheduled or recurs,
 * PENDING. `next_occurrence` is NULL if there is none. The function may start two timers: the timer
 * of the task, and the timer of the next task with its key. Returns their ticks, ELAPSE_NEVER for
 * none. The caller must wake the clock thread for these ticks after it has released the lock. */
struct elapse__ticks elapse__shard_finish(struct elapse__shard *shard, struct elapse__task *task,
                                          const struct elapse__occurrence *next_occurrence,
                                          struct elapse__ended_task *ended);

#endif
