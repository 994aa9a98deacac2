/*
 * Steps that several changes of a task's state share.
 */
#include "shard_steps.h"

#include "../base/assert.h"
#include "due_list.h"

/* ---- counts ---- */

bool elapse__shard_count_pending(struct elapse__shard *shard)
{
    if (shard->pending_max != 0) {
        /* The count never exceeds the limit, not even for a moment: in that moment another thread
         * would be refused although there is room. */
        uint64_t pending = atomic_load(shard->pending_of_all);
        do {
            if (pending >= shard->pending_max)
                return false;
        } while (!atomic_compare_exchange_weak(shard->pending_of_all, &pending, pending + 1));
    }
    shard->pending++;
    ELAPSE__ASSERT(shard->pending_max == 0 || shard->pending <= shard->pending_max);
    return true;
}

void elapse__shard_uncount_pending(struct elapse__shard *shard)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT_THAT(shard->pending, >, 0);
    ELAPSE__ASSERT(shard->pending_max == 0 || atomic_load(shard->pending_of_all) > 0);
    if (shard->pending_max != 0)
        atomic_fetch_sub(shard->pending_of_all, 1);
    shard->pending--;
}

/* ---- into the wheel and out of it ---- */

/* One of this many starts of a timer looks whether a slot of the wheel has enough timers to be
 * cascaded ahead. A slot that gets enough timers between two looks is cascaded when the clock
 * thread wakes up. */
enum { STARTS_PER_LOOK = 128 };

void elapse__shard_note_cascade(struct elapse__shard *shard)
{
    const struct elapse_wheel *wheel = &shard->wheel;
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    uint64_t tick = ELAPSE_NEVER;
    if (shard->cascades_ahead && elapse_wheel_next(wheel) > elapse_wheel_now(wheel))
        tick = elapse_wheel_next_cascade(wheel);
    if (tick != atomic_load_explicit(&shard->cascade_tick, memory_order_relaxed))
        atomic_store(&shard->cascade_tick, tick);
}

void elapse__shard_start_timer(struct elapse__shard *shard, struct elapse__task *task,
                               uint64_t tick)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    bool is_in_wheel = task->state == ELAPSE__TASK_PENDING;
    if (elapse__is_in_due_list(task))
        elapse__due_list_remove(shard, task);
    task->state = ELAPSE__TASK_PENDING;
    if (elapse__by_wall_clock(task)) {
        elapse__wall_clock_wheel_start(&shard->wall_clock, task, tick);
        return;
    }
    if (is_in_wheel)
        elapse_wheel_start(&shard->wheel, &task->when.timer, tick);
    else
        elapse_wheel_start_idle(&shard->wheel, &task->when.timer, tick);
    if (tick < atomic_load_explicit(&shard->wake_tick, memory_order_relaxed))
        atomic_store(&shard->wake_tick, tick);
    if (task->index % STARTS_PER_LOOK == 0)
        elapse__shard_note_cascade(shard);
}

/* UNLINKING -> FREE. Does nothing if `task` is NULL. */
static void unlink_task(struct elapse__shard *shard, struct elapse__task *task)
{
    if (task == NULL)
        return;
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_UNLINKING);
    ELAPSE__ASSERT(elapse_timer_pending(&task->when.timer));
    (void)elapse_wheel_stop(&shard->wheel, &task->when.timer);
    elapse__task_table_give(&shard->tasks, task);
}

/*
 * PENDING -> UNLINKING. To cancel a random task costs three cache misses: the task, and its two
 * neighbours in the wheel, which are written to. There is no need to wait for the neighbours. They
 * are prefetched here. The timer is unlinked when the eighth task after this one becomes UNLINKING
 * (docs/decisions/0006-scheduler.md).
 */
static void unlink_later(struct elapse__shard *shard, struct elapse__task *task)
{
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_PENDING);
    ELAPSE__ASSERT_THAT(shard->oldest_unlinking, <, ELAPSE__UNLINKING_MAX);
    struct elapse__task **place = &shard->unlinking[shard->oldest_unlinking];
    struct elapse__task *oldest = *place;
    task->state = ELAPSE__TASK_UNLINKING;
    elapse_wheel_prefetch_stop(&task->when.timer);
    *place = task;
    shard->oldest_unlinking = (shard->oldest_unlinking + 1) % ELAPSE__UNLINKING_MAX;
    unlink_task(shard, oldest);
}

void elapse__shard_unlink_all(struct elapse__shard *shard)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    for (unsigned i = 0; i < ELAPSE__UNLINKING_MAX; i++) {
        unlink_task(shard, shard->unlinking[i]);
        shard->unlinking[i] = NULL;
    }
}

void elapse__shard_free_popped(struct elapse__shard *shard, struct elapse__task *task)
{
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_UNLINKING);
    ELAPSE__ASSERT(!elapse_timer_pending(&task->when.timer));
    for (unsigned i = 0; i < ELAPSE__UNLINKING_MAX; i++) {
        if (shard->unlinking[i] == task)
            shard->unlinking[i] = NULL;
    }
    elapse__task_table_give(&shard->tasks, task);
}

/* PENDING -> FREE for a task with a wall-clock time. A task that is in the chain of
 * wall_clock_wheel.h becomes UNLINKING and stays there. */
static void unlink_by_wall_clock(struct elapse__shard *shard, struct elapse__task *task,
                                 bool unplaced)
{
    if (unplaced) {
        task->state = ELAPSE__TASK_UNLINKING;
        return;
    }
    ELAPSE__ASSERT(elapse_timer_pending(&task->when.timer));
    (void)elapse_wheel_stop(shard->wall_clock.wheel, &task->when.timer);
    elapse__task_table_give(&shard->tasks, task);
}

/* ---- the end of a task ---- */

void elapse__shard_drop_idle_key(struct elapse__shard *shard, struct elapse__key *key,
                                 struct elapse__ended_task *ended)
{
    if (key->pending != NULL || elapse__key_is_in_use(key))
        return;
    ELAPSE__ASSERT(ended->key == NULL);
    elapse__key_index_remove(&shard->keys, key);
    ended->key = key;
}

/* Puts an ended task into the list of ended tasks that are being destroyed. */
static void note_destroying(struct elapse__shard *shard, const struct elapse__task *task,
                            struct elapse__ended_task *ended)
{
    ELAPSE__ASSERT(ended->shard == NULL);
    ELAPSE__ASSERT(task->extra != NULL);
    ended->shard = shard;
    ended->handle = elapse__handle_of(shard, task);
    ended->waited = task->waited;
    ended->next = shard->first_ended;
    ended->previous = NULL;
    if (ended->next != NULL)
        ended->next->previous = ended;
    shard->first_ended = ended;
    ended->held_key = task->extra->key;
    if (ended->held_key != NULL) {
        ended->held_key->destroying++;
        shard->destroying++;
    }
}

/* Describes in `*ended` what a task with extra fields leaves behind. */
static void note_ended(struct elapse__shard *shard, const struct elapse__task *task,
                       enum elapse_end reason, struct elapse__ended_task *ended)
{
    ELAPSE__ASSERT(ended->extra == NULL);
    *ended = (struct elapse__ended_task){
        .extra = task->extra,
        .destructor = task->extra->destructor,
        .context = task->context,
        .reason = reason,
        .recurrence = task->extra->recurrence,
        .lease = task->extra->lease,
    };
    if (elapse__has_destructor(&ended->destructor))
        note_destroying(shard, task, ended);
}

struct elapse__ended_task *elapse__shard_find_ended(const struct elapse__shard *shard,
                                                    struct elapse_handle handle)
{
    struct elapse__ended_task *ended = shard->first_ended;
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    while (ended != NULL &&
           (ended->handle.index != handle.index || ended->handle.generation != handle.generation))
        ended = ended->next;
    return ended;
}

void elapse__shard_note_destroyed(struct elapse__shard *shard, struct elapse__ended_task *ended)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT(ended->shard == shard);
    ELAPSE__ASSERT((ended->previous == NULL) == (shard->first_ended == ended));
    if (ended->previous == NULL)
        shard->first_ended = ended->next;
    else
        ended->previous->next = ended->next;
    if (ended->next != NULL)
        ended->next->previous = ended->previous;
    if (ended->waited)
        elapse__condition_broadcast(&shard->ended);
}

void elapse__shard_end(struct elapse__shard *shard, struct elapse__task *task,
                       enum elapse_end reason, struct elapse__ended_task *ended)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT_THAT(task->state, >, ELAPSE__TASK_UNLINKING);
    ELAPSE__ASSERT_THAT(task->runs_again, ==, 0);
    if (elapse__is_in_due_list(task))
        elapse__due_list_remove(shard, task);
    if (task->extra != NULL)
        note_ended(shard, task, reason, ended);
    if (task->waited || shard->closed)
        elapse__condition_broadcast(&shard->ended);
    elapse__task_revoke(task);
    if (task->state == ELAPSE__TASK_PENDING && elapse__by_wall_clock(task))
        unlink_by_wall_clock(shard, task, task->extra->recurrence->unplaced);
    else if (task->state == ELAPSE__TASK_PENDING)
        unlink_later(shard, task);
    else
        elapse__task_table_give(&shard->tasks, task);
}

void elapse__shard_remove(struct elapse__shard *shard, struct elapse__task *task,
                          enum elapse_end reason, struct elapse__ended_task *ended)
{
    struct elapse__key *key = elapse__key_of(task);
    ELAPSE__ASSERT(!elapse__is_running(task));
    ELAPSE__ASSERT(key == NULL || key->pending == task);
    elapse__shard_uncount_pending(shard);
    if (key != NULL)
        key->pending = NULL;
    elapse__shard_end(shard, task, reason, ended);
    if (key != NULL)
        elapse__shard_drop_idle_key(shard, key, ended);
}

/* WAITING -> PENDING. The task keeps its deadline, which has passed. */
void elapse__shard_start_waiting(struct elapse__shard *shard, struct elapse__key *key,
                                 struct elapse__ticks *started)
{
    struct elapse__task *task = key->pending;
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    if (task == NULL || task->state != ELAPSE__TASK_WAITING || elapse__key_is_in_use(key))
        return;
    uint64_t tick = elapse_timer_deadline(&task->when.timer);
    elapse__shard_start_timer(shard, task, tick);
    if (elapse__by_wall_clock(task))
        started->wall_clock = tick;
    else
        started->monotonic = tick;
}

struct elapse__ticks elapse__shard_release_key(struct elapse__shard *shard, struct elapse__key *key,
                                               struct elapse__ended_task *released)
{
    struct elapse__ticks started = {ELAPSE_NEVER, ELAPSE_NEVER};
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT_THAT(key->destroying, >, 0);
    ELAPSE__ASSERT_THAT(shard->destroying, >, 0);
    key->destroying--;
    shard->destroying--;
    elapse__shard_start_waiting(shard, key, &started);
    elapse__shard_drop_idle_key(shard, key, released);
    return started;
}

void elapse__shard_cancel_next_run(struct elapse__shard *shard, struct elapse__task *task)
{
    struct elapse__key *key = elapse__key_of(task);
    ELAPSE__ASSERT(elapse__is_running(task));
    if (!task->runs_again)
        return;
    ELAPSE__ASSERT(key == NULL || key->pending == task);
    task->runs_again = false;
    elapse__shard_uncount_pending(shard);
    if (key != NULL)
        key->pending = NULL;
}

/* ---- deadlines ---- */

void elapse__shard_note_moved(struct elapse__task *task, uint64_t deadline_ns)
{
    struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    if (task->extra != NULL)
        task->extra->noted = false;
    if (recurrence != NULL) {
        recurrence->occurrence_ns = deadline_ns;
        recurrence->missed = 0;
    }
}
