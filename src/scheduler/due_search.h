/*
 * Finds the shard that has a due task, or the time at which a shard will have one.
 */
#ifndef ELAPSE__DUE_SEARCH_H
#define ELAPSE__DUE_SEARCH_H

#include "scheduler.h"

/* Returns, for each of the two clocks, the earliest tick at which a task of any shard may become
 * due. */
struct elapse__ticks elapse__earliest_wakes(const struct elapse_scheduler *scheduler);

/* Returns the earliest tick from which timers of a shard can be cascaded ahead, before they are
 * due. */
uint64_t elapse__earliest_cascade(const struct elapse_scheduler *scheduler);

/* Returns whether a task of this shard may be due. */
bool elapse__may_be_due(const struct elapse__shard *shard, struct elapse__ticks now);

/* Returns whether a task of any shard may be due. */
bool elapse__is_anything_due(const struct elapse_scheduler *scheduler, struct elapse__ticks now);

/* Chooses one of the two clocks by which tasks are due. If tasks are due by both clocks, the clocks
 * take turns. Returns the shard whose next task has the least deadline by that clock; NULL if no
 * task is due. Stores in `*until` up to which deadline, by that clock, the caller may run tasks of
 * the shard: for later deadlines, another shard may have an earlier task. */
struct elapse__shard *elapse__first_due(struct elapse_scheduler *scheduler,
                                        struct elapse__ticks now, struct elapse__ticks *until);

#endif
