#include "lease.h"

#include "../base/assert.h"

void elapse__lease_begin(struct elapse__shard *shard, struct elapse__lease *lease,
                         uint64_t until_tick)
{
    struct elapse__lease *last = shard->last_lease;
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT_THAT(lease->task->state, ==, ELAPSE__TASK_RUNNING);
    ELAPSE__ASSERT_THAT(lease->until_tick, ==, 0);
    ELAPSE__ASSERT_THAT(until_tick, >, 0);
    /* This thread may have read the clock before it waited for the lock. Another thread may have
     * begun a later lease meanwhile. */
    if (last != NULL && last->until_tick > until_tick)
        until_tick = last->until_tick;
    lease->until_tick = until_tick;
    lease->previous = last;
    lease->next = NULL;
    if (last == NULL)
        shard->first_lease = lease;
    else
        last->next = lease;
    shard->last_lease = lease;
    shard->leases++;
    if (until_tick < atomic_load_explicit(&shard->wake_tick, memory_order_relaxed))
        atomic_store(&shard->wake_tick, until_tick);
    if (shard->closed)
        elapse__condition_broadcast(&shard->ended); /* close computes again how long it waits */
}

void elapse__lease_end(struct elapse__shard *shard, struct elapse__lease *lease)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT_THAT(shard->leases, >, 0);
    ELAPSE__ASSERT_THAT(lease->until_tick, >, 0);
    ELAPSE__ASSERT((lease->previous == NULL) == (shard->first_lease == lease));
    ELAPSE__ASSERT((lease->next == NULL) == (shard->last_lease == lease));
    if (lease->previous == NULL)
        shard->first_lease = lease->next;
    else
        lease->previous->next = lease->next;
    if (lease->next == NULL)
        shard->last_lease = lease->previous;
    else
        lease->next->previous = lease->previous;
    lease->until_tick = 0;
    shard->leases--;
}

bool elapse__lease_is_held(const struct elapse__task *task, uint64_t number, uint64_t now_tick)
{
    const struct elapse__lease *lease = elapse__lease_of(task);
    ELAPSE__ASSERT(lease != NULL);
    return task->state == ELAPSE__TASK_RUNNING && lease->number == number &&
           now_tick < lease->until_tick;
}

struct elapse__begun elapse__lease_begin_attempt(struct elapse__shard *shard,
                                                 struct elapse__task *task, uint64_t actual_ns)
{
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    struct elapse__lease *lease = elapse__lease_of(task);
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_RUNNING);
    ELAPSE__ASSERT_THAT(task->cancelled, ==, 0);
    elapse__lease_end(shard, lease);
    lease->attempt++;
    if (actual_ns < lease->intended_ns)
        actual_ns = lease->intended_ns; /* the wall clock was set back since the task became due */
    return (struct elapse__begun){
        .task = task,
        .action = task->action,
        .context = task->context,
        .recurrence = recurrence,
        .wall_clock = elapse__by_wall_clock(task),
        .number = recurrence == NULL ? 1 : recurrence->number,
        .missed = recurrence == NULL ? 0 : recurrence->missed,
        .attempt = lease->attempt,
        .handle = elapse__handle_of(shard, task),
        .intended_ns = lease->intended_ns,
        .actual_ns = actual_ns,
    };
}

void elapse__lease_remove_expired(struct elapse__shard *shard, struct elapse__task *task,
                                  enum elapse_end reason, struct elapse__ended_task *ended)
{
    ELAPSE__ASSERT(shard->closed);
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_RUNNING);
    elapse__lease_end(shard, elapse__lease_of(task));
    elapse__shard_cancel_next_run(shard, task);
    /* To finish the task may start another task with its key. Closing then finds that other task
     * pending. */
    (void)elapse__shard_finish(shard, task, NULL, ended);
    ended->reason = reason;
}

bool elapse__lease_any_held(const struct elapse__shard *shard, uint64_t now_tick)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    if (shard->running > shard->leases)
        return true;
    return shard->last_lease != NULL && now_tick < shard->last_lease->until_tick;
}
