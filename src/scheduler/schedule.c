/*
 * Schedules one task.
 */
#include "../cron/next.h"
#include "admission.h"
#include "now.h"
#include "ticks.h"

static enum elapse_error schedule_plain(struct elapse_scheduler *scheduler,
                                        const struct elapse_task *task, uint64_t deadline_ns,
                                        struct elapse_handle *handle)
{
    const uint64_t tick_ns = scheduler->options.tick_ns;
    struct elapse__shard *shard = elapse__shard_of_thread(scheduler);
    enum elapse_error error = ELAPSE_OK;
    struct elapse__plain_admission admission = {
        .task = task,
        .tick = elapse__tick_of_deadline(deadline_ns, tick_ns),
        .latest_tick = elapse__latest_tick(task, deadline_ns, tick_ns),
    };
    elapse__shard_lock(shard);
    while (elapse__shard_admit_plain(shard, &admission, &error) == ELAPSE__ADMIT_NO_ROOM) {
        error = elapse__make_room(scheduler, shard);
        if (error != ELAPSE_OK)
            break;
    }
    if (handle != NULL && error == ELAPSE_OK)
        *handle = admission.handle;
    elapse__shard_unlock(shard);
    if (error == ELAPSE_OK)
        elapse__scheduler_wake_at(
            scheduler,
            (struct elapse__ticks){elapse__shard_wake_for(shard, admission.tick), ELAPSE_NEVER});
    return error;
}

static enum elapse_error schedule(struct elapse_scheduler *scheduler,
                                  const struct elapse_task *task, struct elapse__deadline deadline,
                                  struct elapse_handle *handle)
{
    struct elapse__admission admission;
    struct elapse__shard *shard;
    if (elapse__task_is_plain(scheduler, task, deadline.wall_clock) &&
        elapse__task_is_valid(scheduler, task, deadline.wall_clock))
        return schedule_plain(scheduler, task, deadline.ns, handle);
    enum elapse_error error =
        elapse__admission_prepare(scheduler, task, deadline, &admission, &shard);
    if (error != ELAPSE_OK)
        return error;
    elapse__shard_lock(shard);
    enum elapse__admitted admitted = elapse__admission_admit(scheduler, shard, &admission, &error);
    /* The handle is written before the lock is released, and so before the action can begin. */
    if (handle != NULL && (error == ELAPSE_OK || error == ELAPSE_ERROR_KEY_PENDING))
        *handle = admission.handle;
    elapse__shard_unlock(shard);
    elapse__admission_conclude(scheduler, &admission, admitted);
    return error;
}

enum elapse_error elapse_task_schedule_at(struct elapse_scheduler *scheduler,
                                          const struct elapse_task *task, uint64_t deadline_ns,
                                          struct elapse_handle *handle)
{
    if (!elapse__deadline_is_meant(scheduler, deadline_ns, false))
        return ELAPSE_ERROR_ARGUMENT;
    return schedule(scheduler, task, (struct elapse__deadline){deadline_ns, false}, handle);
}

enum elapse_error elapse_task_schedule_at_wall_clock(struct elapse_scheduler *scheduler,
                                                     const struct elapse_task *task,
                                                     uint64_t unix_ns, struct elapse_handle *handle)
{
    if (task->recurrence != ELAPSE_RECUR_NEVER ||
        !elapse__deadline_is_meant(scheduler, unix_ns, true))
        return ELAPSE_ERROR_ARGUMENT;
    return schedule(scheduler, task, (struct elapse__deadline){unix_ns, true}, handle);
}

enum elapse_error elapse_task_schedule_cron(struct elapse_scheduler *scheduler,
                                            const struct elapse_task *task,
                                            struct elapse_handle *handle)
{
    struct elapse__deadline first = {.wall_clock = true};
    if (task->cron == NULL || !elapse__task_is_valid(scheduler, task, true) ||
        !elapse__cron_next_ns(task->cron, task->zone, elapse_scheduler_wall_clock_ns(scheduler),
                              &first.ns))
        return ELAPSE_ERROR_ARGUMENT;
    return schedule(scheduler, task, first, handle);
}

enum elapse_error elapse_task_schedule_after(struct elapse_scheduler *scheduler,
                                             const struct elapse_task *task, uint64_t delay_ns,
                                             struct elapse_handle *handle)
{
    if (!elapse__delay_is_meant(delay_ns))
        return ELAPSE_ERROR_ARGUMENT;
    uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    return elapse_task_schedule_at(scheduler, task, elapse_deadline_after(now_ns, delay_ns),
                                   handle);
}

enum elapse_error elapse_task_schedule_now(struct elapse_scheduler *scheduler,
                                           const struct elapse_task *task,
                                           struct elapse_handle *handle)
{
    return elapse_task_schedule_at(scheduler, task, elapse__tick_now_ns(scheduler), handle);
}

enum elapse_error elapse_after(struct elapse_scheduler *scheduler, uint64_t delay_ns,
                               elapse_action_function *action, void *context,
                               struct elapse_handle *handle)
{
    const struct elapse_task task = {.action = action, .context = context};
    return elapse_task_schedule_after(scheduler, &task, delay_ns, handle);
}
