/*
 * Reschedules and cancels a task. The functions require the lock of the shard. task.h explains the
 * states of a task, which are written in capitals.
 */
#ifndef ELAPSE__SHARD_CHANGE_H
#define ELAPSE__SHARD_CHANGE_H

#include "shard_steps.h"

enum elapse__direction {
    ELAPSE__MOVE_ANYWHERE,
    ELAPSE__MOVE_EARLIER, /* move the task only if that makes it due earlier */
    ELAPSE__MOVE_LATER,
};

/* The deadline to which a task is moved, and the result. */
struct elapse__move {
    uint64_t deadline_ns;
    uint64_t tick; /* the tick at which a task with this deadline becomes due */
    enum elapse__direction direction;
    uint64_t now_ns;        /* the present by the monotonic clock; MOVE_ANYWHERE does not need it */
    bool to_now;            /* a task with a wall-clock time is moved, too; false: it is refused */
    uint64_t wall_clock_ns; /* if `to_now`: where such a task is moved to */
    bool moved;             /* out: the task was moved */
    bool started;           /* out: the timer of the task was started */
    bool by_wall_clock;     /* out: the timer was started in the wheel of the wall clock */
};

/* Moves a task to another deadline. If `move->started` is true afterwards, the caller must wake the
 * clock thread after it has released the lock. */
enum elapse_error elapse__shard_reschedule(struct elapse__shard *shard, struct elapse_handle handle,
                                           struct elapse__move *move);

/* Changes the period or the cron expression of a task. If the action of the task is running, the
 * change is only noted, and elapse__shard_apply_change applies it later. If the timer of the task
 * was started, stores its tick in `*started`; then the caller must wake the clock thread after it
 * has released the lock. */
enum elapse_error elapse__shard_change_recurrence(struct elapse__shard *shard,
                                                  struct elapse_handle handle,
                                                  const struct elapse__recurrence_change *change,
                                                  struct elapse__ticks *started);

/* Applies the change that was noted while the action ran. Requires that the action has returned.
 * Returns false if no change was noted. If the function returns true, the next occurrence must be
 * computed again. */
bool elapse__shard_apply_change(struct elapse__shard *shard, struct elapse__task *task);

/* Cancels a task. If the answer is REMOVED, `ended` receives what the caller must release once it
 * has released the lock. */
enum elapse_cancel elapse__shard_cancel(struct elapse__shard *shard, struct elapse_handle handle,
                                        struct elapse__ended_task *ended);

#endif
