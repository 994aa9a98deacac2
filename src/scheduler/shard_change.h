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

/* Cancels a task. If the answer is REMOVED, `ended` receives what the caller must release after the
 * lock. */
enum elapse_cancel elapse__shard_cancel(struct elapse__shard *shard, struct elapse_handle handle,
                                        struct elapse__ended_task *ended);

#endif
