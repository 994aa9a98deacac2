/*
 * Rescheduling a task by its handle.
 */
#include "reschedule.h"

#include "../base/assert.h"
#include "shard_change.h"
#include "ticks.h"

enum elapse_error elapse__reschedule_locked(struct elapse_scheduler *scheduler,
                                            struct elapse__shard *shard,
                                            struct elapse_handle handle, uint64_t deadline_ns)
{
    uint64_t tick = elapse__tick_of_deadline(deadline_ns, scheduler->options.tick_ns);
    bool started;
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    enum elapse_error error = elapse__shard_reschedule(shard, handle, deadline_ns, tick, &started);
    elapse__shard_unlock(shard);
    if (started)
        elapse__scheduler_wake_at(scheduler, (struct elapse__ticks){tick, ELAPSE_NEVER});
    return error;
}

static enum elapse_error reschedule(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                                    struct elapse_handle handle, uint64_t deadline_ns)
{
    elapse__shard_lock(shard);
    return elapse__reschedule_locked(scheduler, shard, handle, deadline_ns);
}

enum elapse_error elapse_task_reschedule_at(struct elapse_scheduler *scheduler,
                                            struct elapse_handle handle, uint64_t deadline_ns)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    if (shard == NULL)
        return ELAPSE_ERROR_GONE;
    elapse__shard_prefetch(shard, handle);
    return reschedule(scheduler, shard, handle, deadline_ns);
}

enum elapse_error elapse_task_reschedule_after(struct elapse_scheduler *scheduler,
                                               struct elapse_handle handle, uint64_t delay_ns)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    if (shard == NULL)
        return ELAPSE_ERROR_GONE;
    elapse__shard_prefetch(shard, handle); /* it arrives while the clock is read */
    uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    return reschedule(scheduler, shard, handle, elapse_deadline_after(now_ns, delay_ns));
}
