/*
 * Rescheduling and cancelling a task. The functions require the lock of the shard.
 */
#ifndef ELAPSE__SHARD_CHANGE_H
#define ELAPSE__SHARD_CHANGE_H

#include "shard_steps.h"

/* Moves a task to another deadline, which becomes due at `tick`. Sets `*started` if its timer was
 * started: then the caller must wake the clock thread after it has released the lock. */
enum elapse_error elapse__shard_reschedule(struct elapse__shard *shard, struct elapse_handle handle,
                                           uint64_t deadline_ns, uint64_t tick, bool *started);

/* Changes the period or the cron expression of a task. If its action is running, the change is
 * noted; elapse__shard_apply_change applies it. `*started`: gets the tick of its timer if that was
 * started: then the caller must wake the clock thread after it has released the lock. */
enum elapse_error elapse__shard_change_recurrence(struct elapse__shard *shard,
                                                  struct elapse_handle handle,
                                                  const struct elapse__recurrence_change *change,
                                                  struct elapse__ticks *started);

/* Applies the change that was noted while the action ran. Requires that the action has returned.
 * Returns false if there was none. After true the next occurrence must be computed again. */
bool elapse__shard_apply_change(struct elapse__shard *shard, struct elapse__task *task);

/* Cancels a task. If the answer is REMOVED, `ended` receives what the caller must release after the
 * lock. */
enum elapse_cancel elapse__shard_cancel(struct elapse__shard *shard, struct elapse_handle handle,
                                        struct elapse__ended_task *ended);

#endif
