/*
 * Steps that several changes of a task's state share.
 */
#include "shard_steps.h"

#include "../base/assert.h"

/* ---- counts ---- */

/* Counts a task as pending; false if that would be more than the limit. */
bool elapse__shard_count_pending(struct elapse__shard *shard)
{
    if (shard->pending_max != 0 &&
        atomic_fetch_add(shard->pending_of_all, 1) >= shard->pending_max) {
        atomic_fetch_sub(shard->pending_of_all, 1);
        return false;
    }
    shard->pending++;
    return true;
}

void elapse__shard_uncount_pending(struct elapse__shard *shard)
{
    ELAPSE__ASSERT(shard->pending > 0);
    if (shard->pending_max != 0)
        atomic_fetch_sub(shard->pending_of_all, 1);
    shard->pending--;
}

/* ---- into the wheel and out of it ---- */

/* Puts the task's timer into its wheel. Whoever lowers wake_tick has to see that the
 * clock thread wakes up in time; see sleeper.h for the order of these accesses. */
void elapse__shard_start_timer(struct elapse__shard *shard, struct elapse__task *task,
                               uint64_t tick)
{
    task->state = ELAPSE__TASK_PENDING;
    if (elapse__by_wall_clock(task)) {
        elapse__wall_clock_wheel_start(&shard->wall_clock, task, tick);
        return;
    }
    elapse_wheel_start(&shard->wheel, &task->when.timer, tick);
    if (tick < atomic_load_explicit(&shard->wake_tick, memory_order_relaxed))
        atomic_store(&shard->wake_tick, tick);
}

/* UNLINKING -> FREE. */
static void unlink_task(struct elapse__shard *shard, struct elapse__task *task)
{
    if (task == NULL)
        return;
    ELAPSE__ASSERT(task->state == ELAPSE__TASK_UNLINKING);
    (void)elapse_wheel_stop(&shard->wheel, &task->when.timer);
    elapse__task_table_give(&shard->tasks, task);
}

/*
 * PENDING -> UNLINKING. A cancel of a random task is three cache misses: the task, and
 * its two neighbours in the wheel, which are written to. For the neighbours nobody has
 * to wait: they are asked for here, and the timer is taken out when the eighth next
 * task leaves (docs/decisions/0006-scheduler.md).
 */
static void unlink_later(struct elapse__shard *shard, struct elapse__task *task)
{
    ELAPSE__ASSERT(task->state == ELAPSE__TASK_PENDING);
    struct elapse__task **seat = &shard->unlinking[shard->oldest_unlinking];
    struct elapse__task *oldest = *seat;
    task->state = ELAPSE__TASK_UNLINKING;
    elapse_wheel_prefetch_stop(&task->when.timer);
    *seat = task;
    shard->oldest_unlinking = (shard->oldest_unlinking + 1) % ELAPSE__UNLINKING_MAX;
    unlink_task(shard, oldest);
}

void elapse__shard_unlink_all(struct elapse__shard *shard)
{
    for (unsigned i = 0; i < ELAPSE__UNLINKING_MAX; i++) {
        unlink_task(shard, shard->unlinking[i]);
        shard->unlinking[i] = NULL;
    }
}

/* The timer of a task that is UNLINKING has become due, and is out of the wheel. */
void elapse__shard_free_popped(struct elapse__shard *shard, struct elapse__task *task)
{
    for (unsigned i = 0; i < ELAPSE__UNLINKING_MAX; i++) {
        if (shard->unlinking[i] == task)
            shard->unlinking[i] = NULL;
    }
    elapse__task_table_give(&shard->tasks, task);
}

/* PENDING -> FREE for a task with a wall-clock time; or UNLINKING, if it is in the chain of a wheel
 * that is being set. */
static void unlink_by_wall_clock(struct elapse__shard *shard, struct elapse__task *task,
                                 bool unplaced)
{
    if (unplaced) {
        task->state = ELAPSE__TASK_UNLINKING;
        return;
    }
    (void)elapse_wheel_stop(shard->wall_clock.wheel, &task->when.timer);
    elapse__task_table_give(&shard->tasks, task);
}

/* ---- the end of a task ---- */

/* A key that names no task any more leaves the index. */
void elapse__shard_drop_idle_key(struct elapse__shard *shard, struct elapse__key *key,
                                 struct elapse__ended_task *ended)
{
    if (key->pending != NULL || key->running != NULL)
        return;
    elapse__key_index_remove(&shard->keys, key);
    ended->key = key;
}

/* Ends a task that is under no key. */
void elapse__shard_end(struct elapse__shard *shard, struct elapse__task *task,
                       struct elapse__ended_task *ended)
{
    if (task->extra != NULL) {
        ended->destroy = task->extra->destroy;
        ended->extra = task->extra;
        ended->recurrence = task->extra->recurrence;
    }
    ended->context = task->context;
    elapse__task_revoke(task);
    if (task->state == ELAPSE__TASK_PENDING && elapse__by_wall_clock(task))
        unlink_by_wall_clock(shard, task, task->extra->recurrence->unplaced);
    else if (task->state == ELAPSE__TASK_PENDING)
        unlink_later(shard, task);
    else
        elapse__task_table_give(&shard->tasks, task);
}

void elapse__shard_remove(struct elapse__shard *shard, struct elapse__task *task,
                          struct elapse__ended_task *ended)
{
    struct elapse__key *key = elapse__key_of(task);
    elapse__shard_uncount_pending(shard);
    if (key != NULL) {
        key->pending = NULL;
        elapse__shard_drop_idle_key(shard, key, ended);
    }
    elapse__shard_end(shard, task, ended);
}

/* A task that runs is not to run again, even if it was rescheduled. */
void elapse__shard_cancel_next_run(struct elapse__shard *shard, struct elapse__task *task)
{
    struct elapse__key *key = elapse__key_of(task);
    if (!task->runs_again)
        return;
    task->runs_again = false;
    elapse__shard_uncount_pending(shard);
    if (key != NULL)
        key->pending = NULL;
}

/* ---- deadlines ---- */

/* A task gets another deadline: what was noted of the one before is void, and periods are
 * counted from the new one. */
void elapse__shard_note_moved(struct elapse__task *task, uint64_t deadline_ns)
{
    struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    if (task->extra != NULL)
        task->extra->noted_tick = 0;
    if (recurrence != NULL) {
        recurrence->occurrence_ns = deadline_ns;
        recurrence->missed = 0;
    }
}

/* When its action has returned the task goes on to its next occurrence, and not to
 * a deadline that it was moved to meanwhile. */
bool elapse__shard_recurs(const struct elapse__task *task)
{
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    return recurrence != NULL && recurrence->kind != ELAPSE_RECUR_NEVER && !recurrence->moved;
}
