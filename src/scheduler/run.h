/*
 * Running due tasks on the calling thread.
 */
#ifndef ELAPSE__RUN_H
#define ELAPSE__RUN_H

#include "scheduler.h"
#include "shard_run.h"

/* Returns the description that an action which has begun gets. */
struct elapse_run elapse__run_of(struct elapse_scheduler *scheduler,
                                 const struct elapse__begun *begun);

/* For a worker: runs the task, unless it was cancelled or moved meanwhile. */
void elapse__run_queued(struct elapse_scheduler *scheduler, struct elapse_handle handle);

/* Runs what is due at `now`, shard by shard, some tasks of each in turn, until `*ending`, unless
 * that is NULL. Returns how many ran; 0: nothing is due. */
size_t elapse__run_due(struct elapse_scheduler *scheduler, struct elapse__ticks now,
                       const _Atomic bool *ending);

/* Runs what is due at `now` by deadline across all shards, until `*ending`, unless that is NULL.
 * Returns how many ran. */
size_t elapse__run_due_in_order(struct elapse_scheduler *scheduler, struct elapse__ticks now,
                                const _Atomic bool *ending);

#endif
