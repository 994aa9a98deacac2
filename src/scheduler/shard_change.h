/*
 * A task is rescheduled or cancelled. The functions are called with the shard's lock held.
 */
#ifndef ELAPSE__SHARD_CHANGE_H
#define ELAPSE__SHARD_CHANGE_H

#include "shard_steps.h"

/* Moves a task to another deadline, which comes due at `tick`. `*started`: its timer was started,
 * so the caller has to wake the clock thread after the lock. */
enum elapse_error elapse__shard_reschedule(struct elapse__shard *shard, struct elapse_handle handle,
                                           uint64_t deadline_ns, uint64_t tick, bool *started);

/* Cancels. `ended` is filled if the answer is REMOVED. */
enum elapse_cancel elapse__shard_cancel(struct elapse__shard *shard, struct elapse_handle handle,
                                        struct elapse__ended_task *ended);

#endif
