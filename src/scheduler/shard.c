#include "shard.h"

#include "../base/assert.h"
#include "lateness.h"

/* Timers moved in the wheel within one holding of the lock: some 50 microseconds. */
enum { MOVES_AT_ONCE = 1024 };

bool elapse__shard_init(struct elapse__shard *shard, uint32_t number, uint64_t now_tick,
                        uint64_t tick_ns)
{
    *shard = (struct elapse__shard){.number = number, .tick_ns = tick_ns};
    elapse__task_table_init(&shard->tasks);
    elapse__key_index_init(&shard->keys);
    atomic_init(&shard->wake_tick, ELAPSE_NEVER);
    atomic_init(&shard->wall_clock.wake_tick, ELAPSE_NEVER);
    if (elapse_wheel_init(&shard->wheel, now_tick) != ELAPSE_OK)
        return false;

    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) != 0)
        return false;
    bool made = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(&shard->ended, &monotonic) == 0;
    (void)pthread_condattr_destroy(&monotonic);
    if (!made)
        return false;
    if (pthread_mutex_init(&shard->lock, NULL) == 0)
        return true;
    (void)pthread_cond_destroy(&shard->ended);
    return false;
}

void elapse__shard_free(struct elapse__shard *shard, const struct elapse_allocator *memory)
{
    elapse__task_table_free(&shard->tasks, memory);
    elapse__key_index_free(&shard->keys, memory);
    elapse__release(memory, shard->wall_clock.wheel, sizeof *shard->wall_clock.wheel);
    (void)pthread_cond_destroy(&shard->ended);
    (void)pthread_mutex_destroy(&shard->lock);
}

/* ---- small steps ---- */

/* Counts a task as pending; false if that would be more than the limit. */
static bool count_pending(struct elapse__shard *shard)
{
    if (shard->pending_max != 0 &&
        atomic_fetch_add(shard->pending_of_all, 1) >= shard->pending_max) {
        atomic_fetch_sub(shard->pending_of_all, 1);
        return false;
    }
    shard->pending++;
    return true;
}

static void uncount_pending(struct elapse__shard *shard)
{
    ELAPSE__ASSERT(shard->pending > 0);
    if (shard->pending_max != 0)
        atomic_fetch_sub(shard->pending_of_all, 1);
    shard->pending--;
}

/* Puts the task's timer into its wheel. Whoever lowers wake_tick has to see that the
 * clock thread wakes up in time; see sleeper.h for the order of these accesses. */
static void start_timer(struct elapse__shard *shard, struct elapse__task *task, uint64_t tick)
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

struct elapse__task *elapse__shard_find(struct elapse__shard *shard, struct elapse_handle handle)
{
    return elapse__task_table_find(&shard->tasks, handle.index, handle.generation);
}

/* A key that names no task any more leaves the index. */
static void drop_idle_key(struct elapse__shard *shard, struct elapse__key *key,
                          struct elapse__remains *remains)
{
    if (key->pending != NULL || key->running != NULL)
        return;
    elapse__key_index_remove(&shard->keys, key);
    remains->key = key;
}

/* LEAVING -> FREE. */
static void take_out(struct elapse__shard *shard, struct elapse__task *task)
{
    if (task == NULL)
        return;
    ELAPSE__ASSERT(task->state == ELAPSE__TASK_LEAVING);
    (void)elapse_wheel_stop(&shard->wheel, &task->when.timer);
    elapse__task_table_give(&shard->tasks, task);
}

/*
 * PENDING -> LEAVING. A cancel of a random task is three cache misses: the task, and
 * its two neighbours in the wheel, which are written to. For the neighbours nobody has
 * to wait: they are asked for here, and the timer is taken out when the eighth next
 * task leaves (docs/decisions/0006-scheduler.md).
 */
static void leave(struct elapse__shard *shard, struct elapse__task *task)
{
    ELAPSE__ASSERT(task->state == ELAPSE__TASK_PENDING);
    struct elapse__task **seat = &shard->leaving[shard->oldest_leaving];
    struct elapse__task *oldest = *seat;
    task->state = ELAPSE__TASK_LEAVING;
    elapse_wheel_prefetch_stop(&task->when.timer);
    *seat = task;
    shard->oldest_leaving = (shard->oldest_leaving + 1) % ELAPSE__LEAVING_MAX;
    take_out(shard, oldest);
}

void elapse__shard_take_out_leaving(struct elapse__shard *shard)
{
    for (unsigned i = 0; i < ELAPSE__LEAVING_MAX; i++) {
        take_out(shard, shard->leaving[i]);
        shard->leaving[i] = NULL;
    }
}

/* The timer of a task that is LEAVING has become due, and is out of the wheel. */
static void let_out(struct elapse__shard *shard, struct elapse__task *task)
{
    for (unsigned i = 0; i < ELAPSE__LEAVING_MAX; i++) {
        if (shard->leaving[i] == task)
            shard->leaving[i] = NULL;
    }
    elapse__task_table_give(&shard->tasks, task);
}

/* PENDING -> FREE for a task with a wall-clock time; or LEAVING, if it is in the chain of a wheel
 * that is being set. */
static void leave_wall_clock_wheel(struct elapse__shard *shard, struct elapse__task *task,
                                   bool unplaced)
{
    if (unplaced) {
        task->state = ELAPSE__TASK_LEAVING;
        return;
    }
    (void)elapse_wheel_stop(shard->wall_clock.wheel, &task->when.timer);
    elapse__task_table_give(&shard->tasks, task);
}

/* Ends a task that is under no key. */
static void end(struct elapse__shard *shard, struct elapse__task *task,
                struct elapse__remains *remains)
{
    if (task->extra != NULL) {
        remains->destroy = task->extra->destroy;
        remains->extra = task->extra;
        remains->recurrence = task->extra->recurrence;
    }
    remains->context = task->context;
    elapse__task_revoke(task);
    if (task->state == ELAPSE__TASK_PENDING && elapse__by_wall_clock(task))
        leave_wall_clock_wheel(shard, task, task->extra->recurrence->unplaced);
    else if (task->state == ELAPSE__TASK_PENDING)
        leave(shard, task);
    else
        elapse__task_table_give(&shard->tasks, task);
}

/* ---- schedule ---- */

void elapse__shard_remove(struct elapse__shard *shard, struct elapse__task *task,
                          struct elapse__remains *remains)
{
    struct elapse__key *key = elapse__key_of(task);
    uncount_pending(shard);
    if (key != NULL) {
        key->pending = NULL;
        drop_idle_key(shard, key, remains);
    }
    end(shard, task, remains);
}

/* A task that runs is not to run again, even if it was rescheduled. */
static void withdraw_again(struct elapse__shard *shard, struct elapse__task *task)
{
    struct elapse__key *key = elapse__key_of(task);
    if (!task->again)
        return;
    task->again = false;
    uncount_pending(shard);
    if (key != NULL)
        key->pending = NULL;
}

/*
 * Makes way for a new task under a key that has a pending one. The key stays in the
 * index, with nothing pending; the new task takes the old one's place in the count, so
 * that it cannot be refused now.
 */
static void replace(struct elapse__shard *shard, struct elapse__key *key,
                    struct elapse__remains *remains)
{
    struct elapse__task *old = key->pending;
    key->pending = NULL;
    shard->replaced++;
    if (elapse__is_running(old)) {
        old->again = false;
        return;
    }
    end(shard, old, remains);
}

/* What becomes of a task whose key has a pending one already. */
static enum elapse__admitted admit_beside(struct elapse__shard *shard, struct elapse__key *key,
                                          struct elapse__admission *admission,
                                          enum elapse_error *error)
{
    switch (admission->task->if_key_pending) {
    case ELAPSE_KEY_KEEP:
        admission->handle = elapse__handle_of(shard, key->pending);
        return ELAPSE__ADMIT_KEPT;
    case ELAPSE_KEY_FAIL:
        admission->handle = elapse__handle_of(shard, key->pending);
        *error = ELAPSE_ERROR_KEY_PENDING;
        return ELAPSE__ADMIT_REFUSED;
    case ELAPSE_KEY_REPLACE:
        break;
    }
    replace(shard, key, &admission->replaced);
    return ELAPSE__ADMITTED;
}

/* Gives the task that is admitted its key, of which it is the pending one. */
static void take_key(struct elapse__shard *shard, struct elapse__admission *admission,
                     struct elapse__key *key, struct elapse__task *task)
{
    if (key == NULL) {
        key = admission->key;
        admission->key = NULL;
        elapse__key_index_insert(&shard->keys, key);
    }
    key->pending = task;
    task->extra->key = key;
}

/* A task gets another deadline: what was noted of the one before is void, and periods are
 * counted from the new one. */
static void note_moved(struct elapse__task *task, uint64_t deadline_ns)
{
    struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    if (task->extra != NULL)
        task->extra->noted_tick = 0;
    if (recurrence != NULL) {
        recurrence->occurrence_ns = deadline_ns;
        recurrence->missed = 0;
    }
}

static bool may_admit(const struct elapse__shard *shard, enum elapse_error *error)
{
    if (shard->closed)
        *error = ELAPSE_ERROR_CLOSED;
    return !shard->closed;
}

/* A task out of the table, which has room; its timer is still to be started. It has been
 * counted as pending. */
static struct elapse__task *place(struct elapse__shard *shard, const struct elapse_task *described,
                                  struct elapse__task_extra *extra)
{
    struct elapse__task *task = elapse__task_table_take(&shard->tasks);
    task->action = described->action;
    task->context = described->context;
    task->extra = extra;
    task->again = false;
    task->cancelled = false;
    task->waited = false;
    elapse_timer_init(&task->when.timer);
    shard->scheduled++;
    return task;
}

static uint64_t chosen_tick(const struct elapse__shard *shard, uint64_t tick, uint64_t latest_tick)
{
    if (latest_tick <= tick)
        return tick;
    return elapse_deadline_in_window(elapse_wheel_now(&shard->wheel), tick, latest_tick);
}

enum elapse__admitted elapse__shard_admit(struct elapse__shard *shard,
                                          struct elapse__admission *admission,
                                          enum elapse_error *error)
{
    const struct elapse_task *described = admission->task;
    struct elapse__key *key = NULL;
    if (!may_admit(shard, error))
        return ELAPSE__ADMIT_REFUSED;
    if (!elapse__task_table_has_room(&shard->tasks))
        return ELAPSE__ADMIT_NO_ROOM;
    if (admission->wall_clock && shard->wall_clock.wheel == NULL)
        return ELAPSE__ADMIT_NO_WALL_CLOCK_WHEEL;
    if (admission->key != NULL)
        key = elapse__key_index_find(&shard->keys, described->key, described->key_bytes,
                                     admission->key_hash);
    if (key != NULL && key->pending != NULL) {
        enum elapse__admitted beside = admit_beside(shard, key, admission, error);
        if (beside != ELAPSE__ADMITTED)
            return beside;
    } else if (!count_pending(shard)) {
        *error = ELAPSE_ERROR_LIMIT;
        return ELAPSE__ADMIT_REFUSED;
    }

    struct elapse__task *task = place(shard, described, admission->extra);
    admission->extra = NULL;
    if (admission->key != NULL)
        take_key(shard, admission, key, task);
    if (admission->latest_tick > admission->tick) {
        admission->tick = chosen_tick(shard, admission->tick, admission->latest_tick);
        note_moved(task, elapse__tick_begins_ns(admission->tick, shard->tick_ns));
    }
    start_timer(shard, task, admission->tick);
    admission->handle = elapse__handle_of(shard, task);
    return ELAPSE__ADMITTED;
}

enum elapse__admitted elapse__shard_admit_plain(struct elapse__shard *shard,
                                                struct elapse__plain_admission *admission,
                                                enum elapse_error *error)
{
    if (!may_admit(shard, error))
        return ELAPSE__ADMIT_REFUSED;
    if (!elapse__task_table_has_room(&shard->tasks))
        return ELAPSE__ADMIT_NO_ROOM;
    if (!count_pending(shard)) {
        *error = ELAPSE_ERROR_LIMIT;
        return ELAPSE__ADMIT_REFUSED;
    }
    struct elapse__task *task = place(shard, admission->task, NULL);
    admission->tick = chosen_tick(shard, admission->tick, admission->latest_tick);
    start_timer(shard, task, admission->tick);
    admission->handle = elapse__handle_of(shard, task);
    return ELAPSE__ADMITTED;
}

/* ---- reschedule, cancel ---- */

static enum elapse_error run_again(struct elapse__shard *shard, struct elapse__task *task,
                                   uint64_t deadline_ns, uint64_t tick)
{
    struct elapse__key *key = elapse__key_of(task);
    struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    bool superseded = key != NULL && key->pending != NULL && key->pending != task;
    if (task->cancelled || superseded)
        return ELAPSE_ERROR_GONE;
    if (!task->again) {
        if (!count_pending(shard))
            return ELAPSE_ERROR_LIMIT;
        task->again = true;
        if (key != NULL)
            key->pending = task;
    }
    task->when.again_tick = tick;
    if (recurrence != NULL) {
        recurrence->moved = true;
        recurrence->moved_ns = deadline_ns;
    }
    return ELAPSE_OK;
}

enum elapse_error elapse__shard_reschedule(struct elapse__shard *shard, struct elapse_handle handle,
                                           uint64_t deadline_ns, uint64_t tick, bool *started)
{
    *started = false;
    struct elapse__task *task = elapse__shard_find(shard, handle);
    if (shard->closed)
        return ELAPSE_ERROR_CLOSED;
    if (task == NULL)
        return ELAPSE_ERROR_GONE;
    if (elapse__by_wall_clock(task))
        return ELAPSE_ERROR_ARGUMENT;
    if (elapse__is_running(task)) {
        enum elapse_error error = run_again(shard, task, deadline_ns, tick);
        if (error != ELAPSE_OK)
            return error;
    } else {
        note_moved(task, deadline_ns);
        start_timer(shard, task, tick);
        *started = true;
    }
    shard->rescheduled++;
    return ELAPSE_OK;
}

enum elapse_cancel elapse__shard_cancel(struct elapse__shard *shard, struct elapse_handle handle,
                                        struct elapse__remains *remains)
{
    struct elapse__task *task = elapse__shard_find(shard, handle);
    if (task == NULL)
        return ELAPSE_CANCEL_GONE;
    if (elapse__is_running(task)) {
        withdraw_again(shard, task);
        task->cancelled = true;
        return ELAPSE_CANCEL_RUNNING;
    }
    shard->removed++;
    elapse__shard_remove(shard, task, remains);
    return ELAPSE_CANCEL_REMOVED;
}

/* ---- due, begin, finish ---- */

/* The wheel takes a deadline that has passed for now. For a task with a key, which may
 * become due more than once, it is noted what was meant. */
static void note_deadline(struct elapse__task *task)
{
    if (task->extra->noted_tick == 0)
        task->extra->noted_tick = elapse_timer_deadline(&task->when.timer);
}

/* When its action has returned the task goes on to its next occurrence, and not to
 * a deadline that it was moved to meanwhile. */
static bool recurs(const struct elapse__task *task)
{
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    return recurrence != NULL && recurrence->kind != ELAPSE_RECUR_NEVER && !recurrence->moved;
}

uint64_t elapse__shard_deadline_ns(const struct elapse__shard *shard,
                                   const struct elapse__task *task)
{
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    uint64_t tick = elapse_timer_deadline(&task->when.timer);
    if (task->again && !recurs(task))
        tick = task->when.again_tick;
    else if (recurrence != NULL)
        tick = elapse__tick_of_deadline(recurrence->occurrence_ns, shard->tick_ns);
    else if (task->extra != NULL && task->extra->noted_tick != 0)
        tick = task->extra->noted_tick;
    return elapse__tick_begins_ns(tick, shard->tick_ns);
}

void elapse__shard_note_next(struct elapse__shard *shard, struct elapse__ticks now)
{
    const struct elapse__wall_clock_wheel *wall_clock = &shard->wall_clock;
    atomic_store(&shard->wake_tick, elapse_wheel_next(&shard->wheel));
    /* A wheel that the wall clock was set back from does not know when its tasks are due. */
    if (wall_clock->wheel != NULL && wall_clock->stage == ELAPSE__WALL_CLOCK_STEADY &&
        now.wall_clock >= elapse_wheel_now(wall_clock->wheel))
        atomic_store(&shard->wall_clock.wake_tick, elapse_wheel_next(wall_clock->wheel));
}

/* Takes the next due task out of one of the wheels: QUEUED, or WAITING and the next one. */
static enum elapse__due take_out_of(struct elapse__shard *shard, struct elapse_wheel *wheel,
                                    struct elapse__task **taken)
{
    for (;;) {
        if (!elapse_wheel_cascade(wheel, MOVES_AT_ONCE))
            return ELAPSE__DUE_MORE;
        struct elapse_timer *timer = elapse_wheel_pop(wheel);
        if (timer == NULL)
            return ELAPSE__DUE_NONE;
        struct elapse__task *task = elapse__task_of(timer);
        if (task->state == ELAPSE__TASK_LEAVING) {
            let_out(shard, task);
            continue;
        }
        struct elapse__key *key = elapse__key_of(task);
        if (key == NULL || key->running == NULL) {
            task->state = ELAPSE__TASK_QUEUED;
            *taken = task;
            return ELAPSE__DUE_TASK;
        }
        task->state = ELAPSE__TASK_WAITING;
        note_deadline(task);
    }
}

enum elapse__due elapse__shard_take_due(struct elapse__shard *shard, struct elapse__ticks now,
                                        struct elapse__ticks until, struct elapse__task **taken)
{
    struct elapse__wall_clock_wheel *wall_clock = &shard->wall_clock;
    elapse_wheel_advance(&shard->wheel, until.monotonic);
    enum elapse__due due = take_out_of(shard, &shard->wheel, taken);
    if (due == ELAPSE__DUE_NONE && wall_clock->wheel != NULL && until.wall_clock != ELAPSE_NEVER) {
        if (!elapse__wall_clock_wheel_follow(wall_clock, now.wall_clock, shard->tick_ns,
                                             MOVES_AT_ONCE, &shard->tasks))
            return ELAPSE__DUE_MORE;
        elapse_wheel_advance(wall_clock->wheel, until.wall_clock);
        due = take_out_of(shard, wall_clock->wheel, taken);
    }
    if (due == ELAPSE__DUE_NONE)
        elapse__shard_note_next(shard, now);
    return due;
}

/* A task that recurs stays pending while it runs: it is to run again, unless it is
 * cancelled or moved meanwhile. */
static void expect_recurrence(struct elapse__task *task)
{
    struct elapse__key *key = elapse__key_of(task);
    task->again = true;
    if (key != NULL)
        key->pending = task;
}

static void count_lateness(struct elapse__shard *shard, uint64_t lateness_ns)
{
    shard->lateness[elapse__lateness_bucket(lateness_ns)]++;
    if (lateness_ns > shard->lateness_max_ns)
        shard->lateness_max_ns = lateness_ns;
}

struct elapse__begun elapse__shard_begin(struct elapse__shard *shard, struct elapse__task *task,
                                         uint64_t actual_ns)
{
    uint64_t intended_ns = elapse__shard_deadline_ns(shard, task);
    struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    struct elapse__key *key = elapse__key_of(task);
    ELAPSE__ASSERT(task->state == ELAPSE__TASK_QUEUED);
    ELAPSE__ASSERT(key == NULL || (key->pending == task && key->running == NULL));
    /* Only the wall clock can have been set back since the task became due. */
    ELAPSE__ASSERT(actual_ns >= intended_ns || elapse__by_wall_clock(task));
    if (actual_ns < intended_ns)
        actual_ns = intended_ns;
    task->state = ELAPSE__TASK_RUNNING;
    if (key != NULL) {
        key->pending = NULL;
        key->running = task;
    }
    if (recurrence != NULL) {
        recurrence->number++;
        recurrence->moved = false;
    }
    if (recurs(task))
        expect_recurrence(task);
    else
        uncount_pending(shard);
    shard->running++;
    shard->begun++;
    count_lateness(shard, actual_ns - intended_ns);
    return (struct elapse__begun){
        .task = task,
        .action = task->action,
        .context = task->context,
        .recurrence = recurrence,
        .wall_clock = recurrence != NULL && recurrence->wall_clock,
        .number = recurrence == NULL ? 1 : recurrence->number,
        .missed = recurrence == NULL ? 0 : recurrence->missed,
        .handle = elapse__handle_of(shard, task),
        .intended_ns = intended_ns,
        .actual_ns = actual_ns,
    };
}

/* WAITING -> PENDING. It is due. */
static void start_waiting(struct elapse__shard *shard, struct elapse__task *task,
                          struct elapse__ticks *started)
{
    uint64_t tick = elapse_timer_deadline(&task->when.timer);
    start_timer(shard, task, tick);
    if (elapse__by_wall_clock(task))
        started->wall_clock = tick;
    else
        started->monotonic = tick;
}

/* RUNNING -> PENDING, at the tick that it was rescheduled to, or at its next occurrence. */
static void start_again(struct elapse__shard *shard, struct elapse__task *task,
                        const struct elapse__occurrence *next_occurrence,
                        struct elapse__ticks *started)
{
    struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    uint64_t tick = task->when.again_tick;
    task->again = false;
    elapse_timer_init(&task->when.timer);
    if (recurs(task)) {
        recurrence->occurrence_ns = next_occurrence->ns;
        recurrence->missed = next_occurrence->missed;
        tick = elapse__tick_of_deadline(next_occurrence->ns, shard->tick_ns);
    } else {
        note_moved(task, recurrence == NULL ? 0 : recurrence->moved_ns);
    }
    start_timer(shard, task, tick);
    if (elapse__by_wall_clock(task))
        started->wall_clock = tick;
    else
        started->monotonic = tick < started->monotonic ? tick : started->monotonic;
}

struct elapse__ticks elapse__shard_finish(struct elapse__shard *shard, struct elapse__task *task,
                                          const struct elapse__occurrence *next_occurrence,
                                          struct elapse__remains *remains)
{
    struct elapse__ticks started = {ELAPSE_NEVER, ELAPSE_NEVER};
    struct elapse__key *key = elapse__key_of(task);
    ELAPSE__ASSERT(task->state == ELAPSE__TASK_RUNNING && shard->running > 0);
    ELAPSE__ASSERT(key == NULL || key->running == task);
    shard->running--;
    if (task->again && recurs(task) && next_occurrence == NULL)
        withdraw_again(shard, task); /* there is no further occurrence */
    if (key != NULL) {
        key->running = NULL;
        struct elapse__task *next = key->pending;
        if (next != NULL && next->state == ELAPSE__TASK_WAITING)
            start_waiting(shard, next, &started);
    }
    if (task->again) {
        start_again(shard, task, next_occurrence, &started);
        if (shard->closed)
            (void)pthread_cond_broadcast(&shard->ended);
        return started;
    }
    if (task->waited || shard->closed)
        (void)pthread_cond_broadcast(&shard->ended);
    if (key != NULL)
        drop_idle_key(shard, key, remains);
    end(shard, task, remains);
    return started;
}
