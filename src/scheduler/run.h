/*
 * Runs due tasks on the calling thread.
 */
#ifndef ELAPSE__RUN_H
#define ELAPSE__RUN_H

#include "scheduler.h"
#include "shard_run.h"

/* Returns the description of a run that the action receives. */
struct elapse_run elapse__run_of(struct elapse_scheduler *scheduler,
                                 const struct elapse__begun *begun);

/* Computes the next occurrence of a task whose action has returned, and takes the lock of its
 * shard. Returns false if there is no next occurrence. `recurrence` may be NULL. Requires that no
 * lock is held, and that no other thread can finish the task. */
bool elapse__next_occurrence_and_lock(struct elapse_scheduler *scheduler,
                                      struct elapse__shard *shard, struct elapse__task *task,
                                      const struct elapse__recurrence *recurrence,
                                      struct elapse__occurrence *next);

/* Finishes a task as elapse__shard_finish does. Wakes the clock thread for the timers that were
 * started. Destroys what the task leaves behind. Requires the lock of the shard; may release it and
 * take it again. */
void elapse__finish(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                    struct elapse__task *task, const struct elapse__occurrence *next_occurrence);

/* Runs the task of a handle from the work queue, unless the task was cancelled or rescheduled
 * meanwhile. */
void elapse__run_queued(struct elapse_scheduler *scheduler, struct elapse__queued queued);

/* Goes through the shards once. Runs some of the tasks of each shard that are due at `now`. Stops
 * early when `*ending` becomes true; `ending` may be NULL. Returns how many tasks ran. */
size_t elapse__run_due(struct elapse_scheduler *scheduler, struct elapse__ticks now,
                       const _Atomic bool *ending);

/* Runs all tasks that are due at `now`, in the order of their deadlines across all shards. Stops
 * early when `*ending` becomes true; `ending` may be NULL. Returns how many tasks ran. */
size_t elapse__run_due_in_order(struct elapse_scheduler *scheduler, struct elapse__ticks now,
                                const _Atomic bool *ending);

#endif
