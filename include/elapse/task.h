/*
 * Elapse: the tasks of a scheduler. This header tells what a task is, and how a task is scheduled,
 * rescheduled, cancelled and looked up. <elapse/scheduler.h> makes the scheduler and includes this
 * header.
 *
 *     struct elapse_handle handle;
 *     struct elapse_task task = {.action = expire, .context = order};
 *
 *     if (elapse_task_schedule_after(scheduler, &task, 1800 * ELAPSE_SECOND_NS,
 *                                    &handle) != ELAPSE_OK)
 *         ...;
 *     ...
 *     if (elapse_task_cancel(scheduler, handle) == ELAPSE_CANCEL_REMOVED)
 *         ...;                               // it has not run and never will
 *
 * Life of a task:
 *
 *              schedule             begin              finish
 *      (none) ----------> pending ---------> running ----------> gone
 *                          |  ^                 |
 *                          |  +---- again ------+
 *                          +--- end ---> gone, or handed back
 *
 *           begin   The deadline has come, and a worker begins the task; in pull mode a take
 * returns it. finish  The action of the task returns; in pull mode the taker calls
 * elapse_task_done. again   The task recurs, or was rescheduled while it ran. end     A cancel, a
 * new task with the same key, or closing removes the task; closing by HAND_BACK hands the task
 * back.
 *
 * A task is "pending" until its action begins. A task that is due and waits for a worker is
 * pending, and a cancel removes it. A pending task that is rescheduled stays pending, and its
 * deadline moves. Two runs of one task never overlap. In pull mode a task whose lease has expired
 * stays running, and the next take returns it once more. The context of a task that is gone is
 * destroyed. The context of a task that was handed back is not destroyed, and belongs to the caller
 * again.
 *
 * The following holds for every function below, unless its comment says otherwise:
 * - Times are in nanoseconds, and their names end in _ns. Absolute times are by the monotonic clock
 *   of the scheduler; <elapse/scheduler.h> tells more.
 * - Threads: any thread may call the function at any time between new and free, also from inside an
 *   action or a destructor.
 * - Pointers must not be NULL unless NULL has a stated meaning.
 * - Errors: the function returns the errors that its comment lists. The comments leave out the
 *   prefix ELAPSE_ERROR_. A function whose comment lists no error cannot fail.
 * - Since: version 0.1.
 */
#ifndef ELAPSE_TASK_H
#define ELAPSE_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/attributes.h>
#include <elapse/cron.h>
#include <elapse/error.h>
#include <elapse/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Units of time. */
#define ELAPSE_MICROSECOND_NS UINT64_C(1000)
#define ELAPSE_MILLISECOND_NS UINT64_C(1000000)
#define ELAPSE_SECOND_NS      UINT64_C(1000000000)
#define ELAPSE_MINUTE_NS      (60 * ELAPSE_SECOND_NS)
#define ELAPSE_HOUR_NS        (60 * ELAPSE_MINUTE_NS)
#define ELAPSE_DAY_NS         (24 * ELAPSE_HOUR_NS)

/* Part of elapse_scheduler: <elapse/scheduler.h> tells how one is made. */
struct elapse_scheduler;

/*
 * A handle names one scheduled task of one scheduler. A handle never names another task, also after
 * its task is gone. A handle may be copied. To compare two handles, compare their three numbers. A
 * handle of zeros names no task.
 */
struct elapse_handle {
    uint32_t index;      /* the task's place in the shard; later tasks use the place again */
    uint32_t generation; /* which of the tasks that have had that place */
    uint32_t shard;      /* the shard of the task */
};

/* What an action learns about its run. The struct is valid only during the call. */
struct elapse_run {
    struct elapse_scheduler *scheduler; /* the scheduler of the task */
    struct elapse_handle handle;        /* the handle of the task that runs */
    /* The deadline of the task, rounded up to a tick. The deadline may have passed already when the
     * task was scheduled. It may also have passed when the action returned during which the task
     * was rescheduled. In both cases this is some time between the deadline and that moment. */
    uint64_t intended_ns;
    /* When the action began. This is never before intended_ns, unless closing by RUN_ALL runs the
     * action. */
    uint64_t actual_ns;
    bool wall_clock; /* both times are by the wall clock, since 1970 */
    uint64_t number; /* the number of this run, from 1; more than 1 if the task recurs */
    /* How many occurrences were left out just before this run. Occurrences of a cron expression are
     * counted up to 10,000. */
    uint64_t missed;
    /* In pull mode: how often the task was taken for this run, which is more than 1 if leases have
     * expired. In other modes: 1. */
    uint64_t attempt;
};

/*
 * The action of a task is a function that does the work. An action may call every function below,
 * except where the comment of that function says otherwise. An action may block, and then keeps its
 * worker from other tasks. An action must return: its behaviour is undefined if it ends by longjmp,
 * an exception or pthread_exit.
 */
typedef void elapse_action_function(void *context, const struct elapse_run *run);

/*
 * Returns whether a long action should end early. There are three reasons: the task was cancelled;
 * the task was to run again, and was replaced by another task with its key; or the scheduler is
 * closing by DROP or HAND_BACK. Once the answer is true, it stays true. Call this function from the
 * action, with the run that the action has got. In pull mode the thread that has taken the task may
 * call this function until elapse_task_done. Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API bool elapse_run_cancelled(const struct elapse_run *run);

/* A destructor: it gets the context of a task when the task has ended. The rules of an action hold
 * for a destructor too. */
typedef void elapse_destroy_function(void *context);

/* Why a task has ended. */
enum elapse_end {
    ELAPSE_END_RAN = 0,       /* the action has run, and was not to run again */
    ELAPSE_END_CANCELLED = 1, /* the task was cancelled, before or during its action */
    /* Another task with the same key has taken the place of this task. A running task ends so only
     * if it was to run again. */
    ELAPSE_END_REPLACED = 2,
    ELAPSE_END_KEPT_OUT = 3, /* ELAPSE_KEY_KEEP: a task with the key was pending already */
    ELAPSE_END_CLOSED = 4,   /* the task was pending when the scheduler was closed */
};

/* A destructor that also gets the reason why the task has ended. The rules of an action hold for
 * this destructor too. */
typedef void elapse_ended_function(void *context, enum elapse_end reason);

/* What happens when a task is scheduled with a key, and another task with that key is pending. */
enum elapse_key_policy {
    /* The pending task is removed, and the new task takes its place (an upsert). If a running task
     * with the key was to run again, it does not run again. */
    ELAPSE_KEY_REPLACE = 0,
    /* The pending task stays, and the call stores its handle. The new task ends at once: its
     * context is destroyed. */
    ELAPSE_KEY_KEEP = 1,
    /* The call fails with ELAPSE_ERROR_KEY_PENDING and stores the handle of the pending task. */
    ELAPSE_KEY_FAIL = 2,
};

/* How a task goes on after a run. */
enum elapse_recurrence {
    /* The task does not run again, and is gone. */
    ELAPSE_RECUR_NEVER = 0,
    /* The task runs every period_ns. Occurrence n is due n * period_ns after the first deadline,
     * however long the action takes and however late it began. The first deadline may lie in the
     * past. Then the occurrences between the first deadline and now count as missed. */
    ELAPSE_RECUR_PERIOD = 1,
    /* The task runs again period_ns after its action has returned. */
    ELAPSE_RECUR_AFTER_EACH = 2,
    /* The task runs at the moments that a cron expression names. Only elapse_task_schedule_cron
     * takes a task with this recurrence. */
    ELAPSE_RECUR_CRON = 3,
};

/* What happens to occurrences of a period or of a cron expression that have passed when the action
 * returns. Occurrences pass because the action took long or began late, because the process was
 * stopped, or because the wall clock was set forward. */
enum elapse_missed {
    /* The passed occurrences are left out. The next occurrence is the first one that has not
     * passed. */
    ELAPSE_MISSED_SKIP = 0,
    /* Each passed occurrence runs, one right after the other, however many there are. There can be
     * very many if the wall clock of a machine begins in 1970, or if a period is shorter than its
     * action. */
    ELAPSE_MISSED_BURST = 1,
    /* This is for PERIOD only. The passed occurrences are left out, and periods are counted anew:
     * the next occurrence is period_ns after the return of the action. (An occurrence that is due
     * at the very moment of the return is left out, and is not counted as missed.) */
    ELAPSE_MISSED_DELAY = 2,
};

/* The longest period: some 292 years. */
#define ELAPSE_PERIOD_NS_MAX INT64_MAX

/* The longest key, in bytes. */
#define ELAPSE_KEY_BYTES_MAX 65535

/*
 * The description of a task. Set the members that you do not need to zero. A designated initialiser
 * does that. The struct is read only during the call.
 */
struct elapse_task {
    /* The function that is called when the deadline has come. It must not be NULL, except in pull
     * mode. */
    elapse_action_function *action;
    /* A pointer that is passed to `action`, and to `destroy` or `ended`. The scheduler never reads
     * what it points to. */
    void *context;
    /* NULL, or a destructor that is called once when the task has ended, however it ended. The
     * destructor is not called in two cases: if scheduling failed, and if closing handed the task
     * back. In these cases the context belongs to the caller. The destructor is called without any
     * lock on the thread that ended the task. That is the thread on which the action ran, or the
     * thread that cancelled or replaced the task, or the thread that closed the scheduler. */
    elapse_destroy_function *destroy;
    /* NULL, or a destructor that also gets the reason why the task has ended. Only one of `destroy`
     * and `ended` may be set. */
    elapse_ended_function *ended;
    /* The key: any bytes, which are copied. NULL and 0: the task has no key. At most one task with
     * a key is pending, and at most one runs. The next task with the key does not begin while an
     * action of the key runs, and not before the destructor of an ended task has returned. So a
     * resource that belongs to the key has one user at a time. A running task that was rescheduled
     * is the pending task of its key. */
    const void *key;
    size_t key_bytes;
    /* How much later than its deadline the task may become due, if that saves a wake-up
     * (coalescing). The tick that is chosen is then the deadline of the task in all respects. Slack
     * applies only to the first deadline. */
    uint64_t slack_ns;
    /* PERIOD and AFTER_EACH: the period, 1 to ELAPSE_PERIOD_NS_MAX. The period is kept to the
     * nanosecond, however long a tick is, so nothing drifts. */
    uint64_t period_ns;
    /* CRON: the expression that names the moments, and the time zone of these moments. The
     * expression is copied. */
    const struct elapse_cron *cron;
    enum elapse_zone zone;
    /* How the task goes on after a run. The runs of a task that recurs never overlap. Such a task
     * keeps its handle until it is cancelled, and counts as pending while it runs. When such a task
     * is rescheduled, its periods begin anew at the new deadline. */
    enum elapse_recurrence recurrence;
    enum elapse_missed if_missed;          /* what happens to occurrences that have passed */
    enum elapse_key_policy if_key_pending; /* what happens if its key is pending already */
};

/* ---- schedule ---- */

/*
 * Schedules `task` for `delay_ns` from now, or for `deadline_ns` of the monotonic clock. A task
 * whose deadline has passed is due at once. A task whose deadline lies within the current tick is
 * due at the next tick, because deadlines are rounded up. If `handle` is not NULL, the handle is
 * stored in `*handle` before the action can begin. If the call fails, `*handle` is unchanged (but
 * see ELAPSE_KEY_FAIL). After ELAPSE_OK the scheduler owns the context until the task has ended.
 * After an error the caller keeps the context.
 * Errors: ARGUMENT (no action; both destroy and ended; a key that is too long, or has bytes
 * without a pointer or a pointer without bytes; a period of 0 or too long, or one that the
 * recurrence does not use; an if_missed other than SKIP without a recurrence; RECUR_CRON; an
 * unknown policy, zone or recurrence; a delay of more than 292 years (2^63 ns) or a deadline that
 * is further ahead, other than ELAPSE_NEVER: such a number was negative before it lost its sign;
 * not started, if options.refuse_before_start is true), MEMORY, LIMIT, KEY_PENDING, CLOSED.
 * Cost: O(1); reading the clock (`_after` alone), a lock, a start in the wheel. A key, a
 * destructor and a recurrence each take an allocation.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_after(struct elapse_scheduler *scheduler, const struct elapse_task *task,
                           uint64_t delay_ns, struct elapse_handle *handle);
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_at(struct elapse_scheduler *scheduler, const struct elapse_task *task,
                        uint64_t deadline_ns, struct elapse_handle *handle);

/*
 * Schedules `task` to run at once. The deadline is the beginning of the present tick, which has
 * passed. So the task does not wait for the next tick, as it does with a delay of 0.
 * Errors: as elapse_task_schedule_at.
 * Cost: as elapse_task_schedule_after.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_now(struct elapse_scheduler *scheduler, const struct elapse_task *task,
                         struct elapse_handle *handle);

/*
 * Schedules a task that calls `action` with `context` once, `delay_ns` from now. This is a short
 * form of elapse_task_schedule_after for a task without key, destructor and recurrence.
 *
 *     if (elapse_after(scheduler, 5 * ELAPSE_SECOND_NS, blink, &lamp, NULL) != ELAPSE_OK)
 *         ...;
 *
 * Errors: as elapse_task_schedule_after.
 * Cost: as elapse_task_schedule_after.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_after(struct elapse_scheduler *scheduler, uint64_t delay_ns, elapse_action_function *action,
             void *context, struct elapse_handle *handle);

/*
 * Schedules `task` for a wall-clock time: `unix_ns` nanoseconds after 1970-01-01T00:00:00Z. If the
 * wall clock is set forward, tasks whose time has passed are due at once. If the wall clock is set
 * back, tasks wait longer, except tasks that are due already and wait for a worker. A task with a
 * wall-clock time takes no slack and no period. Such a task cannot be rescheduled, but
 * elapse_task_run_now makes it run at once.
 * Errors: as elapse_task_schedule_at; ARGUMENT also for slack or a period.
 * Cost: as elapse_task_schedule_at, and an allocation. The first such task of a shard allocates
 * another 122 KiB.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_at_wall_clock(struct elapse_scheduler *scheduler,
                                   const struct elapse_task *task, uint64_t unix_ns,
                                   struct elapse_handle *handle);

/*
 * Schedules `task` for the moments from now on that task->cron names, by the wall clock in the time
 * zone task->zone. Requires a recurrence of ELAPSE_RECUR_CRON with an if_missed of SKIP or BURST. A
 * recurrence of ELAPSE_RECUR_NEVER is also allowed, and then the task runs at the first moment
 * alone. If the wall clock is set back, the task does not run a second time for one occurrence: it
 * waits until the wall clock has passed the last occurrence again. The task cannot be rescheduled.
 * elapse_task_change_cron changes its expression, and elapse_task_run_now makes it run at once.
 * Errors: as elapse_task_schedule_at; ARGUMENT also when there is no such moment.
 * Cost: as elapse_task_schedule_at_wall_clock, and an elapse_cron_next.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_cron(struct elapse_scheduler *scheduler, const struct elapse_task *task,
                          struct elapse_handle *handle);

/* One task of a batch. */
struct elapse_batch_task {
    struct elapse_task task;     /* what to schedule */
    uint64_t deadline_ns;        /* the deadline, by the monotonic clock */
    struct elapse_handle handle; /* out: the handle of this task */
    enum elapse_error error;     /* out: the result for this task */
};

/*
 * Schedules `count` tasks in their order, each as elapse_task_schedule_at does. Takes each lock
 * once for up to 64 tasks. If a task fails, the tasks after it are still scheduled. Returns
 * ELAPSE_OK if no task failed. Otherwise returns the error of the first task that failed.
 * Errors: as elapse_task_schedule_at.
 * Cost: O(count), a lock for each shard among up to 64 tasks.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_batch(struct elapse_scheduler *scheduler, struct elapse_batch_task *tasks,
                           size_t count);

/* ---- reschedule ---- */

/*
 * Moves a task to another deadline, which may be earlier or later: `delay_ns` from now, or
 * `deadline_ns`. The old deadline is forgotten. Handle, key and context stay. Slack is not applied.
 * A task that is due but has not begun is pending, and is moved. A running task runs once more,
 * when the new deadline has come and its action has returned.
 * Errors: WALL_CLOCK (the task has a wall-clock time or a cron expression), ARGUMENT
 * (elapse_task_schedule_at refuses such a delay or deadline), GONE (also if the task is running and
 * was cancelled, or if another task with its key is pending meanwhile), LIMIT (running tasks only),
 * CLOSED.
 * Cost: O(1); reading the clock (`_after` alone), a lock. Postponing is one store.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_reschedule_after(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                             uint64_t delay_ns);
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_reschedule_at(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                          uint64_t deadline_ns);

/*
 * Move a task only if the new deadline has an earlier tick than the old one, or only if it has a
 * later tick. Otherwise nothing is changed. So several threads can each give a deadline of their
 * own, and the earliest or the latest deadline holds. The comparison and the move are one step. If
 * `moved` is not NULL, stores in `*moved` whether the task was moved, which is false after an
 * error.
 *
 * A task that is due already is never moved earlier. A running task that does not run again has no
 * deadline, which counts as ELAPSE_NEVER: it can be moved earlier, but not later. The deadline of a
 * running task that recurs is the occurrence that would follow if its action returned now.
 * Errors: as elapse_task_reschedule_at.
 * Cost: O(1); reading the clock, a lock.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_reschedule_earlier_after(struct elapse_scheduler *scheduler,
                                     struct elapse_handle handle, uint64_t delay_ns, bool *moved);
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_reschedule_earlier_at(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                                  uint64_t deadline_ns, bool *moved);
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_reschedule_later_after(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                                   uint64_t delay_ns, bool *moved);
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_reschedule_later_at(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                                uint64_t deadline_ns, bool *moved);

/* ---- change the recurrence ---- */

/*
 * Gives another period to a task that recurs by PERIOD or AFTER_EACH. Handle, key and context stay.
 * The next occurrence is `period_ns` from now, and PERIOD counts occurrences from there. A task
 * that is due but has not begun is pending, and its occurrence moves too. A running task changes
 * when its action has returned. With PERIOD, occurrences that have passed by then are missed. With
 * AFTER_EACH, the new period begins at that moment. If a running task was rescheduled, its new
 * deadline is forgotten.
 * Errors: ARGUMENT (the task has no period, or the new period is 0 or too long), GONE (also if the
 * task is running and was cancelled or replaced), CLOSED.
 * Cost: O(1); reading the clock, a lock.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_change_period(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                          uint64_t period_ns);

/*
 * Gives another expression and another time zone to a task that recurs by CRON. The expression is
 * copied. Handle, key and context stay. The next occurrence is the first moment after now that the
 * new expression names, by the wall clock. A task that is due but has not begun is pending, and its
 * occurrence moves too. A running task changes when its action has returned.
 * Errors: ARGUMENT (the task does not recur by CRON, the zone is unknown, or there is no such
 * moment), GONE (also if the task is running and was cancelled or replaced), CLOSED.
 * Cost: an elapse_cron_next, and as elapse_task_change_period.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_change_cron(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                        const struct elapse_cron *cron, enum elapse_zone zone);

/*
 * Makes a task run at once. If the task is not due already, moves it to the beginning of the
 * present tick. So the task does not wait for the next tick, as it does with a delay of 0. A
 * running task runs once more when its action has returned. Periods begin anew, as after every
 * reschedule. A task with a wall-clock time runs at once, and not at that time. A task that recurs
 * by CRON runs once more than planned: its next occurrence stays.
 * Errors: GONE, LIMIT and CLOSED, as elapse_task_reschedule_at.
 * Cost: O(1); reading both clocks, a lock.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_run_now(struct elapse_scheduler *scheduler, struct elapse_handle handle);

/* ---- cancel ---- */

/* The answer of a cancel. Each answer is true at the moment when the call took effect, and stays
 * true. */
enum elapse_cancel {
    /* The task was pending and is removed. Its action has not begun and will never begin. (If the
     * task recurs, its action will not begin again.) Only one cancel of a task gets this answer. */
    ELAPSE_CANCEL_REMOVED = 0,
    /* The action has begun and has not returned (for cancel_wait: not within the time-out). The
     * task will not run again: an earlier reschedule is withdrawn, and a later reschedule is
     * refused. */
    ELAPSE_CANCEL_RUNNING = 1,
    /* The task ended or was removed before, or there never was such a task. For cancel_wait also:
     * the task was running and has ended. The action does not run and will not run. */
    ELAPSE_CANCEL_GONE = 2,
    /* This is an answer of cancel_wait alone. The calling thread is inside the action of this task,
     * so the wait would never end. The action will not run again. In pull mode there is no such
     * answer: a thread that has taken the task waits like any other. */
    ELAPSE_CANCEL_SELF = 3,
};

/*
 * Cancels a task. Does not wait. If the answer is REMOVED, the destructor has been called on this
 * thread.
 * Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API enum elapse_cancel elapse_task_cancel(struct elapse_scheduler *scheduler,
                                                 struct elapse_handle handle);

/*
 * Cancels a task. If its action is running, waits until the action has returned, but at most
 * `timeout_ns`. With ELAPSE_NEVER the wait has no end. After REMOVED and GONE the action uses
 * nothing any more. A destructor may still run on another thread, and elapse_task_wait waits for
 * that. The time-out is by CLOCK_MONOTONIC, whatever the clock of the scheduler is.
 *
 * Two tasks that wait for each other wait for ever, and so does a thread that waits while it holds
 * a mutex that the action needs; docs/guide/cancelling.md shows both.
 * Cost: O(1), a lock, and the wait. Cannot fail.
 */
ELAPSE_API enum elapse_cancel elapse_task_cancel_wait(struct elapse_scheduler *scheduler,
                                                      struct elapse_handle handle,
                                                      uint64_t timeout_ns);

/*
 * Cancels `count` tasks, each as elapse_task_cancel does. Takes each lock once for up to 64 tasks.
 * If `answers` is not NULL, stores the answers there. Returns how many tasks were removed.
 * Cost: O(count), a lock for each shard among up to 64 tasks. Cannot fail.
 */
ELAPSE_API size_t elapse_task_cancel_batch(struct elapse_scheduler *scheduler,
                                           const struct elapse_handle *handles, size_t count,
                                           enum elapse_cancel *answers);

/*
 * Waits until a task has ended and its destructor has returned, but at most `timeout_ns`. With a
 * `timeout_ns` of 0 the call does not wait; with ELAPSE_NEVER the wait has no end. The time-out is
 * by CLOCK_MONOTONIC, whatever the clock of the scheduler is. Cancels nothing: the wait for a task
 * that recurs goes on until the task has ended altogether. With manual time, and in pull mode,
 * another thread must run the task. In pull mode a thread that has taken the task waits like any
 * other.
 *
 * After OK no code of the task runs or will run. So a module that holds the action and the
 * destructor can be unloaded: cancel the task, and then wait for it.
 * Errors: TIMEOUT; IN_ACTION (the calling thread is inside the action or the destructor of this
 * task).
 * Cost: O(1), a lock, and the wait.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_task_wait(struct elapse_scheduler *scheduler,
                                                                struct elapse_handle handle,
                                                                uint64_t timeout_ns);

/* ---- look up ---- */

/*
 * Finds the pending task with this key. If no task with the key is pending, finds the running task.
 * Returns true and stores the handle of the task in `*handle`. Returns false if there is no such
 * task.
 * Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API bool elapse_task_find(struct elapse_scheduler *scheduler, const void *key,
                                 size_t key_bytes, struct elapse_handle *handle);

/* Where a task is in its life. */
enum elapse_task_state {
    ELAPSE_TASK_GONE = 0,    /* the task has ended, or was cancelled, or never existed */
    ELAPSE_TASK_PENDING = 1, /* its action has not begun */
    ELAPSE_TASK_RUNNING = 2, /* its action has begun; the task may also be rescheduled */
};

/* The answers of a look-up. */
struct elapse_found {
    enum elapse_task_state state; /* the state that the look-up returns */
    struct elapse_handle handle;  /* the handle of the task; zeros if the task is gone */
    /* The deadline for which the task is pending or was begun, rounded up to a tick. ELAPSE_NEVER
     * if the task is gone. */
    uint64_t deadline_ns;
    bool wall_clock; /* the deadline is a wall-clock time, since 1970 */
    /* The task is running, and was cancelled or replaced, so it will not run again. A further
     * cancel answers RUNNING as well, and changes nothing. */
    bool cancelled;
};

/*
 * Returns the state of a task. The state may have changed when the caller reads the answer. If
 * `found` is not NULL, stores the answers in `*found`.
 * Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API enum elapse_task_state elapse_task_look_up(struct elapse_scheduler *scheduler,
                                                      struct elapse_handle handle,
                                                      struct elapse_found *found);

/* ---- by key ---- */

/*
 * Cancels the pending task with the key. If no task with the key is pending, cancels the running
 * task. Does not wait. The answer GONE means that no task with the key was pending or running. If
 * one task is pending while another runs, the pending task is removed, and the running task goes
 * on.
 *
 * This function and the functions below find the task and act on it in one step. elapse_task_find
 * and a call with the handle are two steps. Another thread may replace the task between these two
 * steps. Then the second step answers GONE, although a task with the key is pending.
 * Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API enum elapse_cancel elapse_task_cancel_key(struct elapse_scheduler *scheduler,
                                                     const void *key, size_t key_bytes);

/*
 * Moves the pending task with the key to another deadline, as elapse_task_reschedule_after and
 * elapse_task_reschedule_at do. If no task with the key is pending, moves the running task.
 * Errors: as elapse_task_reschedule_at; GONE also if no task with the key is pending or running.
 * Cost: O(1); reading the clock (`_after` alone), a lock.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_reschedule_key_after(struct elapse_scheduler *scheduler, const void *key,
                                 size_t key_bytes, uint64_t delay_ns);
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_reschedule_key_at(struct elapse_scheduler *scheduler, const void *key, size_t key_bytes,
                              uint64_t deadline_ns);

/*
 * Looks up the pending task with the key. If no task with the key is pending, looks up the running
 * task. Returns the state of the task. If `found` is not NULL, stores the answers in `*found`.
 * Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API enum elapse_task_state elapse_task_look_up_key(struct elapse_scheduler *scheduler,
                                                          const void *key, size_t key_bytes,
                                                          struct elapse_found *found);

#ifdef __cplusplus
}
#endif

#endif
