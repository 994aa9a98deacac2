/*
 * Which shard has something due, and when the next one will.
 */
#ifndef ELAPSE__DUE_SEARCH_H
#define ELAPSE__DUE_SEARCH_H

#include "scheduler.h"

/* Returns the earliest ticks at which a shard may have something due. */
struct elapse__ticks elapse__earliest_wakes(const struct elapse_scheduler *scheduler);

/* Returns whether this shard, or any shard, may have something due. */
bool elapse__may_be_due(const struct elapse__shard *shard, struct elapse__ticks now);
bool elapse__is_anything_due(const struct elapse_scheduler *scheduler, struct elapse__ticks now);

/* Returns the shard whose next task has the least deadline of all that are due by one of the
 * clocks; NULL if none is due. `*until`: the time of that shard may go to this deadline and no
 * further, or the shard would go on with its next task while another shard has an earlier one. */
struct elapse__shard *elapse__first_due(const struct elapse_scheduler *scheduler,
                                        struct elapse__ticks now, struct elapse__ticks *until);

#endif
