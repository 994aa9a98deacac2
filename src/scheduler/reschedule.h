/*
 * Rescheduling a task that was found already.
 */
#ifndef ELAPSE__RESCHEDULE_H
#define ELAPSE__RESCHEDULE_H

#include "scheduler.h"

/* Moves the task to another deadline and wakes the clock thread if necessary. Requires the lock of
 * the shard, which it releases. */
enum elapse_error elapse__reschedule_locked(struct elapse_scheduler *scheduler,
                                            struct elapse__shard *shard,
                                            struct elapse_handle handle, uint64_t deadline_ns);

#endif
