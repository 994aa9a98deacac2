#include "shard_deadline.h"

#include "../base/assert.h"

uint64_t elapse__shard_deadline_ns(const struct elapse__shard *shard,
                                   const struct elapse__task *task)
{
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    uint64_t tick = elapse_timer_deadline(&task->when.timer);
    ELAPSE__ASSERT_THAT(task->state, >, ELAPSE__TASK_UNLINKING);
    if (task->runs_again && !elapse__shard_recurs(task))
        tick = task->when.next_run_tick;
    else if (recurrence != NULL)
        tick = elapse__tick_of_deadline(recurrence->occurrence_ns, shard->tick_ns);
    else if (task->extra != NULL && task->extra->noted)
        tick = task->extra->noted_tick;
    return elapse__tick_begins_ns(tick, shard->tick_ns);
}

bool elapse__shard_recurs(const struct elapse__task *task)
{
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    return recurrence != NULL && recurrence->kind != ELAPSE_RECUR_NEVER && !recurrence->moved;
}
