/*
 * How a due task gets from its shard to a worker, or is run where it is.
 */
#ifndef ELAPSE__DELIVERY_H
#define ELAPSE__DELIVERY_H

#include "scheduler.h"

/* Puts what is due at `now` into the work queue, as much as fits, and makes
 * workers if they are too few. Returns false if the queue was full before all was in. */
bool elapse__deliver(struct elapse_scheduler *scheduler, struct elapse__ticks now);

/* Runs what is due at `now` on the calling thread, shard by shard, some of each in
 * turn, until `*ending`, unless that is NULL. Returns how many ran; 0: nothing is due. */
size_t elapse__run_due(struct elapse_scheduler *scheduler, struct elapse__ticks now,
                       const _Atomic bool *ending);

/* Runs what is due at `now` on the calling thread, by deadline across all shards, until
 * `*ending`, unless that is NULL. Returns how many ran. */
size_t elapse__run_due_in_order(struct elapse_scheduler *scheduler, struct elapse__ticks now,
                                const _Atomic bool *ending);

/* What an action that has begun is told. */
struct elapse_run elapse__run_of(struct elapse_scheduler *scheduler,
                                 const struct elapse__begun *begun);

/* The time by the wall clock or by the scheduler's own. */
uint64_t elapse__time_for(const struct elapse_scheduler *scheduler, bool wall_clock);

/* For a worker: runs the task, unless it was cancelled or moved meanwhile. */
void elapse__run_queued(struct elapse_scheduler *scheduler, struct elapse_handle handle);

/* The earliest ticks at which a shard may have something due. */
struct elapse__ticks elapse__earliest_wakes(const struct elapse_scheduler *scheduler);

/* Whether a shard may have something due. */
bool elapse__is_anything_due(const struct elapse_scheduler *scheduler, struct elapse__ticks now);

/* What the clock thread does; the argument is its scheduler. */
void *elapse__clock_main(void *argument);

#endif
