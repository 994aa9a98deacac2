/*
 * Finding the shard that has a due task, or the time when one will have one.
 */
#ifndef ELAPSE__DUE_SEARCH_H
#define ELAPSE__DUE_SEARCH_H

#include "scheduler.h"

/* Returns the earliest ticks at which a task of any shard may become due. */
struct elapse__ticks elapse__earliest_wakes(const struct elapse_scheduler *scheduler);

/* Returns whether a task of this shard may be due. */
bool elapse__may_be_due(const struct elapse__shard *shard, struct elapse__ticks now);

/* Returns whether a task of any shard may be due. */
bool elapse__is_anything_due(const struct elapse_scheduler *scheduler, struct elapse__ticks now);

/* Returns the shard that has the task with the earliest deadline of all that are due by the
 * monotonic clock, or else by the wall clock; NULL if no task is due. `*until` is that deadline:
 * only tasks that are due then may be taken, because another shard may have the next one. */
struct elapse__shard *elapse__first_due(const struct elapse_scheduler *scheduler,
                                        struct elapse__ticks now, struct elapse__ticks *until);

#endif
