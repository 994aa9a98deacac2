/*
 * The tasks of a shard that are due and have not begun: one list for each clock, in the order in
 * which the tasks became due. A wheel gives its timers out in the order of their deadlines, so the
 * first task of a list is the oldest. The functions require the lock of the shard. task.h explains
 * the states of a task, which are written in capitals.
 */
#ifndef ELAPSE__DUE_LIST_H
#define ELAPSE__DUE_LIST_H

#include "shard.h"

/* Adds a task that has become QUEUED or WAITING. */
void elapse__due_list_add(struct elapse__shard *shard, struct elapse__task *task);

/* Takes the task out of its list. Requires that it is QUEUED or WAITING. */
void elapse__due_list_remove(struct elapse__shard *shard, struct elapse__task *task);

/* Returns whether the task is in a list. */
static inline bool elapse__is_in_due_list(const struct elapse__task *task)
{
    return task->state == ELAPSE__TASK_QUEUED || task->state == ELAPSE__TASK_WAITING;
}

/* Returns whether any task is in a list of the shard. */
static inline bool elapse__due_list_any(const struct elapse__shard *shard)
{
    return shard->due_by_monotonic.first != ELAPSE__NO_TASK ||
           shard->due_by_wall_clock.first != ELAPSE__NO_TASK;
}

/* Looks at the tasks of the shard that are due and have not begun, in the lists and still in the
 * wheels. Returns how late the oldest of them is; 0 if no task is due. `now_ns` and `wall_clock_ns`
 * are the present by the two clocks. */
uint64_t elapse__oldest_overdue_ns(const struct elapse__shard *shard, uint64_t now_ns,
                                   uint64_t wall_clock_ns);

#endif
