/*
 * Returns when a task is due, and whether it recurs. The functions require the lock of the shard.
 */
#ifndef ELAPSE__SHARD_DEADLINE_H
#define ELAPSE__SHARD_DEADLINE_H

#include "shard.h"

/* Returns when a task is due, or was due: the beginning of its tick, by the clock of the task.
 * Requires that the task is not FREE. */
uint64_t elapse__shard_deadline_ns(const struct elapse__shard *shard,
                                   const struct elapse__task *task);

/* Returns whether the task goes on to its next occurrence when its action has returned. Returns
 * false if the task was moved to a deadline meanwhile. */
bool elapse__shard_recurs(const struct elapse__task *task);

#endif
