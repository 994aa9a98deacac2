/*
 * Changes the period or the cron expression of a task. The task keeps its handle.
 */
#include "../cron/next.h"
#include "scheduler.h"
#include "shard_change.h"

static enum elapse_error change(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                                const struct elapse__recurrence_change *change)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    struct elapse__ticks started;
    if (shard == NULL)
        return ELAPSE_ERROR_GONE;
    elapse__shard_lock(shard);
    enum elapse_error error = elapse__shard_change_recurrence(shard, handle, change, &started);
    elapse__shard_unlock(shard);
    elapse__scheduler_wake_at(scheduler, started);
    return error;
}

enum elapse_error elapse_task_change_period(struct elapse_scheduler *scheduler,
                                            struct elapse_handle handle, uint64_t period_ns)
{
    if (period_ns < 1 || period_ns > ELAPSE_PERIOD_NS_MAX)
        return ELAPSE_ERROR_ARGUMENT;
    uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    const struct elapse__recurrence_change wanted = {
        .period_ns = period_ns,
        .since_ns = now_ns,
        .first_ns = elapse_deadline_after(now_ns, period_ns),
    };
    return change(scheduler, handle, &wanted);
}

enum elapse_error elapse_task_change_cron(struct elapse_scheduler *scheduler,
                                          struct elapse_handle handle,
                                          const struct elapse_cron *cron, enum elapse_zone zone)
{
    struct elapse__recurrence_change wanted = {
        .by_cron = true,
        .cron = *cron,
        .zone = zone,
        .since_ns = elapse_scheduler_wall_clock_ns(scheduler),
    };
    if ((zone != ELAPSE_ZONE_UTC && zone != ELAPSE_ZONE_LOCAL) ||
        !elapse__cron_next_ns(cron, zone, wanted.since_ns, &wanted.first_ns))
        return ELAPSE_ERROR_ARGUMENT;
    return change(scheduler, handle, &wanted);
}
