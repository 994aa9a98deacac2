/*
 * Looks up tasks by key and by handle.
 */
#include "by_key.h"
#include "scheduler.h"
#include "shard_run.h"

bool elapse_task_find(struct elapse_scheduler *scheduler, const void *key, size_t key_bytes,
                      struct elapse_handle *handle)
{
    struct elapse__shard *shard = elapse__task_lock_by_key(scheduler, key, key_bytes, handle);
    if (shard != NULL)
        elapse__shard_unlock(shard);
    return shard != NULL;
}

/* Returns the state and the deadline of a task, which may have ended. Requires the lock. */
static struct elapse_found look_up(struct elapse__shard *shard, struct elapse_handle handle)
{
    const struct elapse__task *task = elapse__shard_find(shard, handle);
    if (task == NULL)
        return (struct elapse_found){.state = ELAPSE_TASK_GONE, .deadline_ns = ELAPSE_NEVER};
    return (struct elapse_found){
        .state = elapse__is_running(task) ? ELAPSE_TASK_RUNNING : ELAPSE_TASK_PENDING,
        .handle = handle,
        .deadline_ns = elapse__shard_deadline_ns(shard, task),
        .wall_clock = elapse__by_wall_clock(task),
        .cancelled = task->cancelled,
    };
}

/* Looks a task up, stores the answers in `*found`, and releases the lock of its shard. `shard` is
 * NULL if there is no such task; then no lock is held. */
static enum elapse_task_state conclude(struct elapse__shard *shard, struct elapse_handle handle,
                                       struct elapse_found *found)
{
    struct elapse_found known = {.state = ELAPSE_TASK_GONE, .deadline_ns = ELAPSE_NEVER};
    if (shard != NULL) {
        known = look_up(shard, handle);
        elapse__shard_unlock(shard);
    }
    if (found != NULL)
        *found = known;
    return known.state;
}

enum elapse_task_state elapse_task_look_up(struct elapse_scheduler *scheduler,
                                           struct elapse_handle handle, struct elapse_found *found)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    if (shard != NULL)
        elapse__shard_lock(shard);
    return conclude(shard, handle, found);
}

enum elapse_task_state elapse_task_look_up_key(struct elapse_scheduler *scheduler, const void *key,
                                               size_t key_bytes, struct elapse_found *found)
{
    struct elapse_handle handle = {0};
    struct elapse__shard *shard = elapse__task_lock_by_key(scheduler, key, key_bytes, &handle);
    return conclude(shard, handle, found);
}
