#include "shard_change.h"

#include "../base/assert.h"
#include "shard_run.h"

/* Returns the tick at which the action of a running task will begin again; ELAPSE_NEVER if it will
 * not begin again. For a task that recurs, this is the next occurrence if the action returns
 * now. */
static uint64_t next_run_tick(const struct elapse__shard *shard, const struct elapse__task *task,
                              uint64_t now_ns)
{
    struct elapse__occurrence next;
    ELAPSE__ASSERT(elapse__is_running(task));
    ELAPSE__ASSERT(!elapse__by_wall_clock(task));
    if (!task->runs_again)
        return ELAPSE_NEVER;
    if (!elapse__shard_recurs(task))
        return task->when.next_run_tick;
    struct elapse__recurrence recurrence = *elapse__recurrence_of(task);
    if (recurrence.changed)
        elapse__recurrence_apply(&recurrence, &recurrence.change);
    bool recurs = elapse__recurrence_next(&recurrence, now_ns, &next);
    return recurs ? elapse__tick_of_deadline(next.ns, shard->tick_ns) : ELAPSE_NEVER;
}

/* Returns whether the move goes in the wanted direction. A task that is due already cannot become
 * due earlier; a move would only put it behind other due tasks. */
static bool is_wanted(const struct elapse__shard *shard, const struct elapse__task *task,
                      const struct elapse__move *move)
{
    if (move->direction == ELAPSE__MOVE_ANYWHERE)
        return true;
    bool is_due = task->state == ELAPSE__TASK_WAITING || task->state == ELAPSE__TASK_QUEUED;
    if (move->direction == ELAPSE__MOVE_EARLIER && is_due)
        return false;
    uint64_t tick =
        elapse__is_running(task)
            ? next_run_tick(shard, task, move->now_ns)
            : elapse__tick_of_deadline(elapse__shard_deadline_ns(shard, task), shard->tick_ns);
    return move->direction == ELAPSE__MOVE_EARLIER ? move->tick < tick : move->tick > tick;
}

static enum elapse_error reschedule_running(struct elapse__shard *shard, struct elapse__task *task,
                                            struct elapse__move *move)
{
    struct elapse__key *key = elapse__key_of(task);
    struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    ELAPSE__ASSERT(elapse__is_running(task));
    ELAPSE__ASSERT(key == NULL || key->running == task);
    /* True if another task was scheduled with the key of this task meanwhile. */
    bool superseded = key != NULL && key->pending != NULL && key->pending != task;
    if (task->cancelled || superseded)
        return ELAPSE_ERROR_GONE;
    if (!is_wanted(shard, task, move))
        return ELAPSE_OK;
    if (!task->runs_again) {
        if (!elapse__shard_count_pending(shard))
            return ELAPSE_ERROR_LIMIT;
        task->runs_again = true;
        if (key != NULL)
            key->pending = task;
    }
    ELAPSE__ASSERT(!elapse_timer_pending(&task->when.timer));
    task->when.next_run_tick = move->tick;
    if (recurrence != NULL) {
        recurrence->moved = true;
        recurrence->moved_ns = move->deadline_ns;
    }
    move->moved = true;
    return ELAPSE_OK;
}

/* Lets a task with a wall-clock time run at once. After this run, the task goes on as it was
 * planned. */
static enum elapse_error run_now_by_wall_clock(struct elapse__shard *shard,
                                               struct elapse__task *task, struct elapse__move *move)
{
    struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    if (!move->to_now)
        return ELAPSE_ERROR_WALL_CLOCK;
    move->by_wall_clock = true;
    move->direction = ELAPSE__MOVE_ANYWHERE;
    move->deadline_ns = move->wall_clock_ns;
    move->tick = elapse__tick_of_deadline(move->deadline_ns, shard->tick_ns);
    if (elapse__is_running(task))
        return reschedule_running(shard, task, move);
    if (task->state != ELAPSE__TASK_PENDING || recurrence->occurrence_ns <= move->deadline_ns)
        return ELAPSE_OK; /* the task is due already */
    recurrence->planned_ns = recurrence->occurrence_ns;
    elapse__shard_note_moved(task, move->deadline_ns);
    elapse__wall_clock_wheel_move(&shard->wall_clock, task, move->tick);
    move->moved = true;
    move->started = true;
    return ELAPSE_OK;
}

enum elapse_error elapse__shard_reschedule(struct elapse__shard *shard, struct elapse_handle handle,
                                           struct elapse__move *move)
{
    enum elapse_error error = ELAPSE_OK;
    move->moved = false;
    move->started = false;
    move->by_wall_clock = false;
    struct elapse__task *task = elapse__shard_find(shard, handle);
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    if (shard->closed)
        return ELAPSE_ERROR_CLOSED;
    if (task == NULL)
        return ELAPSE_ERROR_GONE;
    if (elapse__by_wall_clock(task)) {
        error = run_now_by_wall_clock(shard, task, move);
    } else if (elapse__is_running(task)) {
        error = reschedule_running(shard, task, move);
    } else if (is_wanted(shard, task, move)) {
        elapse__shard_note_moved(task, move->deadline_ns);
        elapse__shard_start_timer(shard, task, move->tick);
        ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_PENDING);
        move->moved = true;
        move->started = true;
    }
    shard->rescheduled += move->moved;
    return error;
}

/* Notes a change of a task whose action runs. The thread that runs the action reads the recurrence
 * without the lock. So the change is noted beside the recurrence, and the recurrence stays as it
 * is. */
static enum elapse_error change_running(struct elapse__task *task,
                                        const struct elapse__recurrence_change *change)
{
    struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    ELAPSE__ASSERT(elapse__is_running(task));
    if (task->cancelled)
        return ELAPSE_ERROR_GONE;
    ELAPSE__ASSERT(task->runs_again);
    recurrence->changed = true;
    recurrence->change = *change;
    recurrence->moved = false;
    return ELAPSE_OK;
}

enum elapse_error elapse__shard_change_recurrence(struct elapse__shard *shard,
                                                  struct elapse_handle handle,
                                                  const struct elapse__recurrence_change *change,
                                                  struct elapse__ticks *started)
{
    struct elapse__task *task = elapse__shard_find(shard, handle);
    *started = (struct elapse__ticks){ELAPSE_NEVER, ELAPSE_NEVER};
    if (shard->closed)
        return ELAPSE_ERROR_CLOSED;
    if (task == NULL)
        return ELAPSE_ERROR_GONE;
    struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    if (!elapse__recurrence_may_change(recurrence, change->by_cron))
        return ELAPSE_ERROR_ARGUMENT;
    if (elapse__is_running(task)) {
        enum elapse_error error = change_running(task, change);
        shard->rescheduled += error == ELAPSE_OK;
        return error;
    }
    uint64_t tick = elapse__tick_of_deadline(change->first_ns, shard->tick_ns);
    elapse__recurrence_apply(recurrence, change);
    elapse__shard_note_moved(task, change->first_ns);
    if (!recurrence->wall_clock) {
        elapse__shard_start_timer(shard, task, tick);
        started->monotonic = tick;
    } else {
        task->state = ELAPSE__TASK_PENDING;
        elapse__wall_clock_wheel_move(&shard->wall_clock, task, tick);
        started->wall_clock = tick;
    }
    shard->rescheduled++;
    return ELAPSE_OK;
}

bool elapse__shard_apply_change(struct elapse__shard *shard, struct elapse__task *task)
{
    struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT(elapse__is_running(task));
    (void)shard;
    if (recurrence == NULL || !recurrence->changed)
        return false;
    elapse__recurrence_apply(recurrence, &recurrence->change);
    return true;
}

enum elapse_cancel elapse__shard_cancel(struct elapse__shard *shard, struct elapse_handle handle,
                                        struct elapse__ended_task *ended)
{
    struct elapse__task *task = elapse__shard_find(shard, handle);
    if (task == NULL)
        return ELAPSE_CANCEL_GONE;
    if (elapse__is_running(task)) {
        elapse__shard_cancel_next_run(shard, task);
        task->cancelled = true;
        ELAPSE__ASSERT_THAT(task->runs_again, ==, 0);
        return ELAPSE_CANCEL_RUNNING;
    }
    ELAPSE__ASSERT_THAT(task->cancelled, ==, 0);
    shard->removed++;
    elapse__shard_remove(shard, task, ELAPSE_END_CANCELLED, ended);
    return ELAPSE_CANCEL_REMOVED;
}
