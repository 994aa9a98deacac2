/*
 * Waits until a task has ended and its context is destroyed.
 */
#include "../base/assert.h"
#include "callback.h"
#include "scheduler.h"
#include "shard_steps.h"

/* Returns whether the task has ended and its context is destroyed. If not, makes sure that the end
 * of the task wakes the threads that wait. Requires the lock. */
static bool is_over(struct elapse__shard *shard, struct elapse_handle handle)
{
    struct elapse__task *task = elapse__shard_find(shard, handle);
    if (task != NULL) {
        task->waited = true;
        return false;
    }
    struct elapse__ended_task *ended = elapse__shard_find_ended(shard, handle);
    if (ended != NULL)
        ended->waited = true;
    return ended == NULL;
}

enum elapse_error elapse_task_wait(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                                   uint64_t timeout_ns)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    if (shard == NULL)
        return ELAPSE_OK;
    if (elapse__in_action_of(scheduler, handle))
        return ELAPSE_ERROR_IN_ACTION;
    ELAPSE__ASSERT_NO_LOCK_HELD();
    uint64_t until_ns = ELAPSE_NEVER;
    if (timeout_ns != ELAPSE_NEVER)
        until_ns = elapse_deadline_after(elapse__os->clock_ns(ELAPSE__OS_MONOTONIC), timeout_ns);
    elapse__shard_lock(shard);
    bool in_time = true;
    bool over = is_over(shard, handle);
    while (!over && in_time) {
        in_time = elapse__shard_wait_for_an_end(shard, until_ns);
        over = is_over(shard, handle);
    }
    elapse__shard_unlock(shard);
    return over ? ELAPSE_OK : ELAPSE_ERROR_TIMEOUT;
}
