#include "shard_run.h"

#include "../base/assert.h"
#include "due_list.h"
#include "lateness.h"
#include "shard_steps.h"

/* How many timers may be moved in the wheel before the lock is released. To move so many takes some
 * 50 microseconds. */
enum { MOVES_AT_ONCE = 1024 };

/* Notes the deadline of a task that becomes WAITING. When the key becomes free, the task is started
 * again with this deadline, which has passed then. The wheel would not keep it: it stores its
 * present time in place of a deadline that has passed. */
static void note_deadline(struct elapse__task *task)
{
    ELAPSE__ASSERT(task->extra != NULL);
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_WAITING);
    if (!task->extra->noted)
        task->extra->noted_tick = elapse_timer_deadline(&task->when.timer);
    task->extra->noted = true;
}

void elapse__shard_note_next(struct elapse__shard *shard, struct elapse__ticks now)
{
    const struct elapse__wall_clock_wheel *wall_clock = &shard->wall_clock;
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    uint64_t next = elapse_wheel_next(&shard->wheel);
    if (shard->first_lease != NULL && shard->first_lease->until_tick < next)
        next = shard->first_lease->until_tick;
    atomic_store(&shard->wake_tick, next);
    elapse__shard_note_cascade(shard);
    /* If the wall clock was set back, the wheel is ahead of the wall clock, and does not know when
     * its tasks are due. */
    if (wall_clock->wheel != NULL && wall_clock->stage == ELAPSE__WALL_CLOCK_STEADY &&
        now.wall_clock >= elapse_wheel_now(wall_clock->wheel))
        atomic_store(&shard->wall_clock.wake_tick, elapse_wheel_next(wall_clock->wheel));
}

/* Takes the next due task out of one of the wheels, if its deadline is before the tick `before`,
 * and makes it QUEUED. A task whose key is in use becomes WAITING, and the search goes on. */
static enum elapse__due take_out_of(struct elapse__shard *shard, struct elapse_wheel *wheel,
                                    uint64_t before, struct elapse__task **taken)
{
    for (;;) {
        if (!elapse_wheel_cascade(wheel, MOVES_AT_ONCE))
            return ELAPSE__DUE_MORE;
        if (before != ELAPSE_NEVER && elapse_wheel_next(wheel) >= before)
            return ELAPSE__DUE_NONE;
        struct elapse_timer *timer = elapse_wheel_pop(wheel);
        if (timer == NULL)
            return ELAPSE__DUE_NONE;
        struct elapse__task *task = elapse__task_of(timer);
        if (task->state == ELAPSE__TASK_UNLINKING) {
            elapse__shard_free_popped(shard, task);
            continue;
        }
        struct elapse__key *key = elapse__key_of(task);
        ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_PENDING);
        ELAPSE__ASSERT(key == NULL || key->pending == task);
        if (key == NULL || !elapse__key_is_in_use(key)) {
            task->state = ELAPSE__TASK_QUEUED;
            *taken = task;
            return ELAPSE__DUE_TASK;
        }
        task->state = ELAPSE__TASK_WAITING;
        note_deadline(task);
        elapse__due_list_add(shard, task);
    }
}

/* Returns how far the time of the wheel goes on now. A close that runs all tasks goes on to the end
 * of time. It goes from deadline to deadline, because a running task that will run again must not
 * find that its new deadline has passed long ago. */
static uint64_t next_stop(const struct elapse__shard *shard, const struct elapse_wheel *wheel,
                          uint64_t until)
{
    if (!shard->runs_all)
        return until;
    uint64_t next = elapse_wheel_next(wheel);
    if (next == ELAPSE_NEVER)
        return elapse_wheel_now(wheel);
    return next < until ? next : until;
}

/* Takes the next task that is due by the monotonic clock. A task whose lease has expired is due
 * since the tick at which the lease ended, and comes before the tasks of the wheel that are due at
 * that tick. Neither kind of task can keep the other waiting for ever: a timer that is started now
 * gets the present tick or a later one, and a lease that begins now ends at a later tick. */
static enum elapse__due take_by_monotonic(struct elapse__shard *shard, struct elapse__ticks until,
                                          struct elapse__task **taken)
{
    if (until.monotonic == ELAPSE_NEVER)
        return ELAPSE__DUE_NONE;
    elapse_wheel_advance(&shard->wheel, next_stop(shard, &shard->wheel, until.monotonic));
    const struct elapse__lease *lease = shard->first_lease;
    if (lease == NULL || elapse_wheel_now(&shard->wheel) < lease->until_tick)
        return take_out_of(shard, &shard->wheel, ELAPSE_NEVER, taken);
    ELAPSE__ASSERT_THAT(lease->task->state, ==, ELAPSE__TASK_RUNNING);
    enum elapse__due due = take_out_of(shard, &shard->wheel, lease->until_tick, taken);
    if (due != ELAPSE__DUE_NONE)
        return due;
    *taken = lease->task;
    return ELAPSE__DUE_EXPIRED;
}

static enum elapse__due take_by_wall_clock(struct elapse__shard *shard, struct elapse__ticks now,
                                           struct elapse__ticks until, struct elapse__task **taken)
{
    struct elapse__wall_clock_wheel *wall_clock = &shard->wall_clock;
    if (wall_clock->wheel == NULL || until.wall_clock == ELAPSE_NEVER)
        return ELAPSE__DUE_NONE;
    if (!elapse__wall_clock_wheel_follow(wall_clock, now.wall_clock, shard->tick_ns, MOVES_AT_ONCE,
                                         &shard->tasks))
        return ELAPSE__DUE_MORE;
    elapse_wheel_advance(wall_clock->wheel, next_stop(shard, wall_clock->wheel, until.wall_clock));
    return take_out_of(shard, wall_clock->wheel, ELAPSE_NEVER, taken);
}

/* The two wheels take turns. If one wheel always came first, its tasks could keep the tasks of the
 * other wheel waiting for ever. */
enum elapse__due elapse__shard_take_due(struct elapse__shard *shard, struct elapse__ticks now,
                                        struct elapse__ticks until, struct elapse__task **taken)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT(until.monotonic <= now.monotonic || until.monotonic == ELAPSE_NEVER);
    bool wall_clock = shard->wall_clock_first;
    enum elapse__due due = wall_clock ? take_by_wall_clock(shard, now, until, taken)
                                      : take_by_monotonic(shard, until, taken);
    if (due == ELAPSE__DUE_NONE) {
        wall_clock = !wall_clock;
        due = wall_clock ? take_by_wall_clock(shard, now, until, taken)
                         : take_by_monotonic(shard, until, taken);
    }
    shard->wall_clock_first = !wall_clock;
    if (due == ELAPSE__DUE_NONE)
        elapse__shard_note_next(shard, now);
    return due;
}

void elapse__shard_cascade_ahead(struct elapse__shard *shard, struct elapse__ticks now)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    elapse_wheel_advance(&shard->wheel, now.monotonic);
    (void)elapse_wheel_cascade_ahead(&shard->wheel, MOVES_AT_ONCE);
    elapse__shard_note_next(shard, now);
}

uint32_t elapse__shard_queue(struct elapse__shard *shard, struct elapse__task *task)
{
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_QUEUED);
    *elapse__work_queue_number_of(task) = ++shard->queue_number;
    elapse__due_list_add(shard, task);
    return *elapse__work_queue_number_of(task);
}

/* Notes that a task that recurs will run again. The task stays pending while it runs, unless it is
 * cancelled meanwhile. */
static void expect_recurrence(struct elapse__task *task)
{
    struct elapse__key *key = elapse__key_of(task);
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_RUNNING);
    ELAPSE__ASSERT(key == NULL || key->pending == NULL);
    task->runs_again = true;
    if (key != NULL)
        key->pending = task;
}

static void count_lateness(struct elapse__shard *shard, uint64_t lateness_ns)
{
    ELAPSE__ASSERT_THAT(elapse__lateness_bucket(lateness_ns), <, ELAPSE_LATENESS_BUCKETS);
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
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_QUEUED);
    ELAPSE__ASSERT(key == NULL || key->pending == task);
    ELAPSE__ASSERT(key == NULL || !elapse__key_is_in_use(key));
    ELAPSE__ASSERT_THAT(task->runs_again, ==, 0);
    ELAPSE__ASSERT_THAT(task->cancelled, ==, 0);
    /* Since the task became due, the wall clock may have been set back. The monotonic clock is
     * never set back. */
    ELAPSE__ASSERT(actual_ns >= intended_ns || elapse__by_wall_clock(task) || shard->runs_all);
    if (actual_ns < intended_ns && !shard->runs_all)
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
    if (elapse__shard_recurs(task))
        expect_recurrence(task);
    else
        elapse__shard_uncount_pending(shard);
    if (elapse__lease_of(task) != NULL) {
        task->extra->lease->attempt = 1;
        task->extra->lease->intended_ns = intended_ns;
    }
    shard->running++;
    shard->begun++;
    count_lateness(shard, actual_ns > intended_ns ? actual_ns - intended_ns : 0);
    return (struct elapse__begun){
        .task = task,
        .action = task->action,
        .context = task->context,
        .recurrence = recurrence,
        .wall_clock = recurrence != NULL && recurrence->wall_clock,
        .number = recurrence == NULL ? 1 : recurrence->number,
        .missed = recurrence == NULL ? 0 : recurrence->missed,
        .attempt = 1,
        .handle = elapse__handle_of(shard, task),
        .intended_ns = intended_ns,
        .actual_ns = actual_ns,
    };
}

/* RUNNING -> PENDING, at the tick that it was rescheduled to, or at its next occurrence. */
static void start_next_run(struct elapse__shard *shard, struct elapse__task *task,
                           const struct elapse__occurrence *next_occurrence,
                           struct elapse__ticks *started)
{
    struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    uint64_t tick = task->when.next_run_tick;
    ELAPSE__ASSERT(task->runs_again);
    ELAPSE__ASSERT(!task->cancelled);
    task->runs_again = false;
    elapse_timer_init(&task->when.timer);
    if (elapse__shard_recurs(task)) {
        ELAPSE__ASSERT(next_occurrence != NULL);
        recurrence->occurrence_ns = next_occurrence->ns;
        recurrence->planned_ns = 0;
        recurrence->missed = next_occurrence->missed;
        tick = elapse__tick_of_deadline(next_occurrence->ns, shard->tick_ns);
    } else {
        elapse__shard_note_moved(task, recurrence == NULL ? 0 : recurrence->moved_ns);
        if (next_occurrence != NULL && recurrence != NULL && recurrence->kind == ELAPSE_RECUR_CRON)
            recurrence->planned_ns = next_occurrence->ns;
    }
    elapse__shard_start_timer(shard, task, tick);
    if (elapse__by_wall_clock(task))
        started->wall_clock = tick;
    else
        started->monotonic = tick < started->monotonic ? tick : started->monotonic;
}

/* Returns the reason with which a task ends after its action has returned. */
static enum elapse_end reason_after_run(const struct elapse__task *task)
{
    ELAPSE__ASSERT_THAT(task->runs_again, ==, 0);
    if (!task->cancelled)
        return ELAPSE_END_RAN;
    return task->extra != NULL && task->extra->replaced ? ELAPSE_END_REPLACED
                                                        : ELAPSE_END_CANCELLED;
}

struct elapse__ticks elapse__shard_finish(struct elapse__shard *shard, struct elapse__task *task,
                                          const struct elapse__occurrence *next_occurrence,
                                          struct elapse__ended_task *ended)
{
    struct elapse__ticks started = {ELAPSE_NEVER, ELAPSE_NEVER};
    struct elapse__key *key = elapse__key_of(task);
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_RUNNING);
    ELAPSE__ASSERT_THAT(shard->running, >, 0);
    ELAPSE__ASSERT(key == NULL || key->running == task);
    shard->running--;
    shard->completed++;
    if (task->runs_again && elapse__shard_recurs(task) &&
        (next_occurrence == NULL || shard->runs_all))
        elapse__shard_cancel_next_run(shard, task); /* there is no further occurrence */
    if (key != NULL)
        key->running = NULL;
    if (task->runs_again) {
        start_next_run(shard, task, next_occurrence, &started);
        if (shard->closed)
            elapse__condition_broadcast(&shard->ended);
        return started;
    }
    elapse__shard_end(shard, task, reason_after_run(task), ended);
    if (key != NULL) {
        elapse__shard_start_waiting(shard, key, &started);
        elapse__shard_drop_idle_key(shard, key, ended);
    }
    return started;
}
