/*
 * Reschedules a task by its handle.
 */
#include "reschedule.h"

#include "../base/assert.h"
#include "now.h"
#include "ticks.h"

enum elapse_error elapse__reschedule_locked(struct elapse_scheduler *scheduler,
                                            struct elapse__shard *shard,
                                            struct elapse_handle handle, struct elapse__move *move)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    move->tick = elapse__tick_of_deadline(move->deadline_ns, scheduler->options.tick_ns);
    enum elapse_error error = elapse__shard_reschedule(shard, handle, move);
    elapse__shard_unlock(shard);
    if (move->started && move->by_wall_clock)
        elapse__scheduler_wake_at(scheduler, (struct elapse__ticks){ELAPSE_NEVER, move->tick});
    else if (move->started)
        elapse__scheduler_wake_at(
            scheduler,
            (struct elapse__ticks){elapse__shard_wake_for(shard, move->tick), ELAPSE_NEVER});
    return error;
}

/* ---- anywhere ---- */

enum elapse_error elapse_task_reschedule_at(struct elapse_scheduler *scheduler,
                                            struct elapse_handle handle, uint64_t deadline_ns)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    struct elapse__move move = {.deadline_ns = deadline_ns};
    if (!elapse__deadline_is_meant(scheduler, deadline_ns, false))
        return ELAPSE_ERROR_ARGUMENT;
    if (shard == NULL)
        return ELAPSE_ERROR_GONE;
    elapse__shard_prefetch(shard, handle);
    elapse__shard_lock(shard);
    return elapse__reschedule_locked(scheduler, shard, handle, &move);
}

enum elapse_error elapse_task_reschedule_after(struct elapse_scheduler *scheduler,
                                               struct elapse_handle handle, uint64_t delay_ns)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    if (!elapse__delay_is_meant(delay_ns))
        return ELAPSE_ERROR_ARGUMENT;
    if (shard == NULL)
        return ELAPSE_ERROR_GONE;
    /* The task arrives in the cache while the clock is read. */
    elapse__shard_prefetch(shard, handle);
    uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    struct elapse__move move = {.deadline_ns = elapse_deadline_after(now_ns, delay_ns)};
    elapse__shard_lock(shard);
    return elapse__reschedule_locked(scheduler, shard, handle, &move);
}

/* ---- only earlier, only later ---- */

static enum elapse_error reschedule_if(struct elapse_scheduler *scheduler,
                                       struct elapse_handle handle, struct elapse__move move,
                                       bool *moved)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    bool meant = elapse__deadline_is_meant(scheduler, move.deadline_ns, false);
    enum elapse_error error = meant ? ELAPSE_ERROR_GONE : ELAPSE_ERROR_ARGUMENT;
    ELAPSE__ASSERT_THAT(move.direction, !=, ELAPSE__MOVE_ANYWHERE);
    if (shard != NULL && meant) {
        elapse__shard_lock(shard);
        error = elapse__reschedule_locked(scheduler, shard, handle, &move);
    }
    if (moved != NULL)
        *moved = move.moved;
    return error;
}

static enum elapse_error reschedule_if_at(struct elapse_scheduler *scheduler,
                                          struct elapse_handle handle, uint64_t deadline_ns,
                                          enum elapse__direction direction, bool *moved)
{
    struct elapse__move move = {
        .deadline_ns = deadline_ns,
        .direction = direction,
        .now_ns = elapse_scheduler_now_ns(scheduler),
    };
    return reschedule_if(scheduler, handle, move, moved);
}

static enum elapse_error reschedule_if_after(struct elapse_scheduler *scheduler,
                                             struct elapse_handle handle, uint64_t delay_ns,
                                             enum elapse__direction direction, bool *moved)
{
    if (moved != NULL)
        *moved = false;
    if (!elapse__delay_is_meant(delay_ns))
        return ELAPSE_ERROR_ARGUMENT;
    uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    struct elapse__move move = {
        .deadline_ns = elapse_deadline_after(now_ns, delay_ns),
        .direction = direction,
        .now_ns = now_ns,
    };
    return reschedule_if(scheduler, handle, move, moved);
}

enum elapse_error elapse_task_reschedule_earlier_at(struct elapse_scheduler *scheduler,
                                                    struct elapse_handle handle,
                                                    uint64_t deadline_ns, bool *moved)
{
    return reschedule_if_at(scheduler, handle, deadline_ns, ELAPSE__MOVE_EARLIER, moved);
}

enum elapse_error elapse_task_reschedule_earlier_after(struct elapse_scheduler *scheduler,
                                                       struct elapse_handle handle,
                                                       uint64_t delay_ns, bool *moved)
{
    return reschedule_if_after(scheduler, handle, delay_ns, ELAPSE__MOVE_EARLIER, moved);
}

enum elapse_error elapse_task_reschedule_later_at(struct elapse_scheduler *scheduler,
                                                  struct elapse_handle handle, uint64_t deadline_ns,
                                                  bool *moved)
{
    return reschedule_if_at(scheduler, handle, deadline_ns, ELAPSE__MOVE_LATER, moved);
}

enum elapse_error elapse_task_reschedule_later_after(struct elapse_scheduler *scheduler,
                                                     struct elapse_handle handle, uint64_t delay_ns,
                                                     bool *moved)
{
    return reschedule_if_after(scheduler, handle, delay_ns, ELAPSE__MOVE_LATER, moved);
}

/* ---- now ---- */

enum elapse_error elapse_task_run_now(struct elapse_scheduler *scheduler,
                                      struct elapse_handle handle)
{
    const uint64_t tick_ns = scheduler->options.tick_ns;
    uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    uint64_t wall_clock_ns = elapse_scheduler_wall_clock_ns(scheduler);
    struct elapse__move move = {
        .deadline_ns = now_ns - now_ns % tick_ns,
        .direction = ELAPSE__MOVE_EARLIER,
        .now_ns = now_ns,
        .to_now = true,
        .wall_clock_ns = wall_clock_ns - wall_clock_ns % tick_ns,
    };
    return reschedule_if(scheduler, handle, move, NULL);
}
