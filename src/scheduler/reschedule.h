/*
 * Reschedules a task while the lock of its shard is held.
 */
#ifndef ELAPSE__RESCHEDULE_H
#define ELAPSE__RESCHEDULE_H

#include "scheduler.h"
#include "shard_change.h"

/* Moves the task to `move->deadline_ns`, and wakes the clock thread if necessary. Sets
 * `move->tick`. Requires the lock of the shard; releases it. */
enum elapse_error elapse__reschedule_locked(struct elapse_scheduler *scheduler,
                                            struct elapse__shard *shard,
                                            struct elapse_handle handle, struct elapse__move *move);

#endif
