/*
 * Elapse: the tasks of a scheduler. What a task is, and how it is scheduled, rescheduled,
 * cancelled and looked up. <elapse/scheduler.h> makes the scheduler and includes this header.
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
 *      begin   its deadline has come, and a worker begins it; in pull mode a take returns it
 *      finish  its action returns; in pull mode elapse_task_done
 *      again   it recurs, or was rescheduled while it ran
 *      end     a cancel or a new task with its key removes it, or closing does; closing by
 *              HAND_BACK hands it back
 *
 * Rescheduling a pending task moves its deadline; it stays pending. In pull mode a task whose lease
 * has expired stays running, and the next take returns it once more. The context of a task that is
 * gone is destroyed; that of a task that was handed back is not, and is the caller's again.
 *
 * A task is "pending" until its action begins. A task that is due and waits for a worker is
 * pending, and a cancel removes it. A task never overlaps itself.
 *
 * The following holds for every function below, unless its comment says otherwise:
 * - Times are in nanoseconds, and their names end in _ns. Absolute times are by the monotonic clock
 *   of the scheduler; <elapse/scheduler.h> tells more.
 * - Threads: any thread may call it at any time between new and free, also from inside an action or
 *   a destructor.
 * - Pointers must not be NULL unless NULL has a stated meaning.
 * - Errors: it returns those that its comment lists, without ELAPSE_ERROR_ in front. A function
 *   that lists none cannot fail.
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
 * Names one scheduled task of one scheduler, also after that task is gone: a handle never names
 * another task. Copy it freely. To compare two handles, compare their three numbers. A handle of
 * zeros names no task.
 */
struct elapse_handle {
    uint32_t index;      /* the task's place in the shard; later tasks use the place again */
    uint32_t generation; /* which of the tasks in that place */
    uint32_t shard;      /* the shard of the task */
};

/* What an action learns about its run. Valid during the call only. */
struct elapse_run {
    struct elapse_scheduler *scheduler; /* the task belongs to it */
    struct elapse_handle handle;        /* of the task that runs */
    /* Its deadline, rounded up to a tick. If the deadline had passed already when the task was
     * scheduled, or when the action during which it was rescheduled returned, this is some time
     * between the deadline and that moment. */
    uint64_t intended_ns;
    /* When the action began: never before intended_ns, unless closing by RUN_ALL runs it. */
    uint64_t actual_ns;
    bool wall_clock; /* both times are by the wall clock, since 1970 */
    uint64_t number; /* of this run, from 1; more than 1 if the task recurs */
    /* Occurrences that were left out just before this one. Those of a cron expression are counted
     * up to 10,000. */
    uint64_t missed;
    /* 1, or in pull mode how often the task was taken for this run: more than 1 if leases have
     * expired. */
    uint64_t attempt;
};

/*
 * What a task does. An action may call every function below, except where that function says
 * otherwise. It may block, and then keeps its worker from other tasks. It must return: leaving it
 * by longjmp, an exception or pthread_exit is undefined.
 */
typedef void elapse_action_function(void *context, const struct elapse_run *run);

/*
 * Returns whether a long action should end early: its task was cancelled; it was to run again and
 * was replaced by another with its key; or the scheduler is closing by DROP or HAND_BACK. Once
 * true, it stays true. Call it from the action with the run that it received; in pull mode, for a
 * task that was taken, also until elapse_task_done. Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API bool elapse_run_cancelled(const struct elapse_run *run);

/* Gets a task's context when the task has ended. The rules of an action hold for it too. */
typedef void elapse_destroy_function(void *context);

/* Why a task has ended. */
enum elapse_end {
    ELAPSE_END_RAN = 0,       /* its action has run, and was not to run again */
    ELAPSE_END_CANCELLED = 1, /* it was cancelled, before its action began or while it ran */
    /* Another task with its key has taken its place. If its action was running, this is so only if
     * it was to run again. */
    ELAPSE_END_REPLACED = 2,
    ELAPSE_END_KEPT_OUT = 3, /* ELAPSE_KEY_KEEP: a task with its key was pending already */
    ELAPSE_END_CLOSED = 4,   /* it was pending when the scheduler was closed */
};

/* Gets a task's context when the task has ended, and why it did. The rules of an action hold for it
 * too. */
typedef void elapse_ended_function(void *context, enum elapse_end reason);

/* What to do when a task is scheduled with a key under which another task is pending. */
enum elapse_key_policy {
    /* The pending task is removed, and the new one takes its place (an upsert). A running task that
     * was to run again does not. */
    ELAPSE_KEY_REPLACE = 0,
    /* The pending task stays, and the call stores its handle. The new task ends at once: its
     * context is destroyed. */
    ELAPSE_KEY_KEEP = 1,
    /* The call fails with ELAPSE_ERROR_KEY_PENDING and stores the handle of the pending task. */
    ELAPSE_KEY_FAIL = 2,
};

/* How a task goes on after a run. */
enum elapse_recurrence {
    /* The task is gone. */
    ELAPSE_RECUR_NEVER = 0,
    /* It runs every period_ns, counted from its first deadline: occurrence n is due n * period_ns
     * after it, however long the action takes and however late it began. A first deadline in the
     * past sets the phase: the occurrences between it and now count as missed. */
    ELAPSE_RECUR_PERIOD = 1,
    /* It runs again period_ns after its action has returned. */
    ELAPSE_RECUR_AFTER_EACH = 2,
    /* It runs at the moments that a cron expression names. Only elapse_task_schedule_cron takes
     * it. */
    ELAPSE_RECUR_CRON = 3,
};

/* What happens to occurrences, of a period or of a cron expression, that have passed when the
 * action returns: because it took long or began late, because the process was stopped, or because
 * the wall clock was set forward. */
enum elapse_missed {
    /* They are left out. The next occurrence is the first that has not passed. */
    ELAPSE_MISSED_SKIP = 0,
    /* Each of them runs, one right after the other, however many there are. There can be very many
     * if the wall clock of a machine begins in 1970, or if a period is shorter than its action. */
    ELAPSE_MISSED_BURST = 1,
    /* PERIOD only: they are left out, and periods are counted anew: the next occurrence is
     * period_ns after the return. (An occurrence that is due at that very moment is left out and
     * not counted.) */
    ELAPSE_MISSED_DELAY = 2,
};

/* The longest period: some 292 years. */
#define ELAPSE_PERIOD_NS_MAX INT64_MAX

/* The longest key, in bytes. */
#define ELAPSE_KEY_BYTES_MAX 65535

/*
 * The description of a task. Set the members that you do not need to zero; a designated
 * initialiser does that. The struct is read during the call only.
 */
struct elapse_task {
    /* Called when the deadline has come. Requires a function, except in pull mode. */
    elapse_action_function *action;
    /* Passed to action, and to destroy or ended. The scheduler never reads it. */
    void *context;
    /* NULL, or called once when the task has ended, however it ended. In two cases it is not
     * called, and the context remains the caller's: when scheduling failed, and when closing
     * handed the task back. It is called without any lock on the thread that ended the task: the
     * thread that the action ran on, that cancelled or replaced the task, or that closed the
     * scheduler. */
    elapse_destroy_function *destroy;
    /* The same, but it also gets the reason. At most one of the two may be set. */
    elapse_ended_function *ended;
    /* Any bytes; they are copied. Under one key at most one task of a scheduler is pending, and at
     * most one runs. NULL and 0: no key. While an action runs, and until the destructor of an
     * ended task has returned, the next task with the key does not begin: a resource that belongs
     * to the key has one user at a time. A running task that has been rescheduled is the pending
     * one of its key. */
    const void *key;
    size_t key_bytes;
    /* How much later than its deadline the task may come due if that saves a wake-up (coalescing).
     * The tick that is chosen is then its deadline in all respects. It applies to the first
     * deadline only. */
    uint64_t slack_ns;
    /* PERIOD and AFTER_EACH: 1 to ELAPSE_PERIOD_NS_MAX. It is kept to the nanosecond whatever the
     * tick, so nothing drifts. */
    uint64_t period_ns;
    /* CRON: the moments, and the time zone in which they are meant. The expression is copied. */
    const struct elapse_cron *cron;
    enum elapse_zone zone;
    /* How the task goes on after a run. The runs of a task that recurs never overlap. The task
     * keeps its handle until it is cancelled, and counts as pending while it runs. Rescheduling it
     * begins its periods anew from the new deadline. */
    enum elapse_recurrence recurrence;
    enum elapse_missed if_missed;          /* what happens to occurrences that have passed */
    enum elapse_key_policy if_key_pending; /* what to do when its key is pending already */
};

/* ---- schedule ---- */

/*
 * Schedules `task` for `delay_ns` from now, or for `deadline_ns` on the monotonic clock. A deadline
 * that has passed is due at once. A deadline within the current tick is due at the next tick, as
 * deadlines are rounded up. Unless `handle` is NULL, the handle is stored in `*handle` before the
 * action can begin; when the call fails, `*handle` is unchanged (but see ELAPSE_KEY_FAIL). After
 * ELAPSE_OK the scheduler owns the context until the task has ended; after an error the caller
 * keeps it.
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
 * Schedules `task` to run at once: for the beginning of the present tick, which has passed. So it
 * does not wait for the next tick, as a delay of 0 does.
 * Errors: as elapse_task_schedule_at.
 * Cost: as elapse_task_schedule_after.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_now(struct elapse_scheduler *scheduler, const struct elapse_task *task,
                         struct elapse_handle *handle);

/*
 * Calls `action` with `context` after `delay_ns`, once: a short form of elapse_task_schedule_after
 * for a task without key, destructor and recurrence.
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
 * Schedules `task` for a wall-clock time: `unix_ns` nanoseconds after 1970-01-01T00:00:00Z. When
 * the wall clock is set forward, the tasks that it passes are due at once. When it is set back,
 * tasks wait longer, except those that are due already and wait for a worker. A task with a
 * wall-clock time takes no slack and no period. It can run now (elapse_task_run_now), but cannot be
 * rescheduled.
 * Errors: as elapse_task_schedule_at; ARGUMENT also for slack or a period.
 * Cost: as elapse_task_schedule_at, and an allocation. The first such task of a shard allocates
 * another 122 KiB.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_at_wall_clock(struct elapse_scheduler *scheduler,
                                   const struct elapse_task *task, uint64_t unix_ns,
                                   struct elapse_handle *handle);

/*
 * Schedules `task` for the moments that task->cron names, from now on, by the wall clock in the
 * time zone task->zone. Requires a recurrence of ELAPSE_RECUR_CRON with an if_missed of SKIP or
 * BURST, or of NEVER for the first moment alone. When the wall clock is set back, the task never
 * runs a second time for one occurrence: it waits until the wall clock has passed the last one
 * again. The task can be changed (elapse_task_change_cron) and can run now (elapse_task_run_now),
 * but cannot be rescheduled.
 * Errors: as elapse_task_schedule_at; ARGUMENT also when there is no such moment.
 * Cost: as elapse_task_schedule_at_wall_clock, and an elapse_cron_next.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_cron(struct elapse_scheduler *scheduler, const struct elapse_task *task,
                          struct elapse_handle *handle);

/* One task of a batch. */
struct elapse_batch_task {
    struct elapse_task task;     /* what to schedule */
    uint64_t deadline_ns;        /* on the monotonic clock */
    struct elapse_handle handle; /* out */
    enum elapse_error error;     /* out: the result for this task */
};

/*
 * Schedules `count` tasks, each as elapse_task_schedule_at would, in their order, but takes each
 * lock once for up to 64 of them. A task that fails does not stop those after it. Returns ELAPSE_OK
 * if none failed, otherwise the error of the first that did.
 * Errors: as elapse_task_schedule_at.
 * Cost: O(count), a lock for each shard among up to 64 tasks.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_batch(struct elapse_scheduler *scheduler, struct elapse_batch_task *tasks,
                           size_t count);

/* ---- reschedule ---- */

/*
 * Moves a task to another deadline, earlier or later, `delay_ns` from now or at `deadline_ns`. The
 * old deadline is forgotten. Handle, key and context stay; slack is not applied. A task that is due
 * but has not begun is pending, and is moved. A task that is running runs once more, when the new
 * deadline has come and its action has returned.
 * Errors: WALL_CLOCK (it has a wall-clock time or a cron expression), ARGUMENT (a delay or a
 * deadline that elapse_task_schedule_at refuses), GONE (also when it is running and was cancelled,
 * or when another task with its key is pending meanwhile), LIMIT (running tasks only), CLOSED.
 * Cost: O(1); reading the clock (`_after` alone), a lock. Postponing is one store.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_reschedule_after(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                             uint64_t delay_ns);
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_reschedule_at(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                          uint64_t deadline_ns);

/*
 * Move a task only if it becomes due earlier by it (at another tick), or only if later: so several
 * threads that know of different deadlines can each give theirs, and the earliest or the latest
 * holds. Otherwise they change nothing. The comparison and the move are one step. Unless `moved` is
 * NULL, stores there whether the task was moved; false after an error.
 *
 * A task that is due already is never moved earlier. A running task that does not run again has no
 * deadline, which counts as ELAPSE_NEVER: it is moved earlier and not later. Of a running task that
 * recurs, the deadline is the occurrence that would follow if its action returned now.
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
 * Gives a task that recurs by PERIOD or AFTER_EACH another period. Handle, key and context stay.
 * Its next occurrence is `period_ns` from now, and PERIOD counts occurrences from there. A task
 * that is due but has not begun is pending, and its occurrence moves too. A task that is running
 * changes when its action has returned: occurrences that have passed by then are missed (PERIOD),
 * or the new period begins at that moment (AFTER_EACH). A deadline that a running task was
 * rescheduled to is forgotten. Errors: ARGUMENT (it has no period; a period of 0 or too long), GONE
 * (also when it is running and was cancelled or replaced), CLOSED. Cost: O(1); reading the clock, a
 * lock.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_change_period(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                          uint64_t period_ns);

/*
 * Gives a task that recurs by CRON another expression, which is copied, and another time zone.
 * Handle, key and context stay. Its next occurrence is the first moment after now, by the wall
 * clock, that the new expression names. A task that is due but has not begun is pending, and its
 * occurrence moves too. A task that is running changes when its action has returned.
 * Errors: ARGUMENT (it does not recur by CRON; an unknown zone; no such moment), GONE (also when it
 * is running and was cancelled or replaced), CLOSED.
 * Cost: an elapse_cron_next, and as elapse_task_change_period.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_change_cron(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                        const struct elapse_cron *cron, enum elapse_zone zone);

/*
 * Makes a task run at once: moves it to the beginning of the present tick, unless it is due
 * already. It does not wait for the next tick, as a delay of 0 does. A running task runs once more
 * when its action has returned. Periods begin anew, as after every reschedule. A task with a
 * wall-clock time runs at once in place of that time. A cron task runs besides, and goes on as it
 * was planned: its next occurrence stays. Errors: GONE, LIMIT and CLOSED, as
 * elapse_task_reschedule_at. Cost: O(1); reading both clocks, a lock.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_run_now(struct elapse_scheduler *scheduler, struct elapse_handle handle);

/* ---- cancel ---- */

/* What a cancel found. Each answer is the whole truth at the moment when the call took effect, and
 * stays true. */
enum elapse_cancel {
    /* The task was pending and is removed: its action has not begun and never will. (The action of
     * a task that recurs will not begin again.) Exactly one cancel of a task gets this answer. */
    ELAPSE_CANCEL_REMOVED = 0,
    /* Its action has begun and has not returned (for cancel_wait: not within the time-out). It will
     * not run again: a reschedule made before is withdrawn, and one made later is refused. */
    ELAPSE_CANCEL_RUNNING = 1,
    /* It ended or was removed before (for cancel_wait also: it was running and has ended), or there
     * never was such a task. Its action neither runs nor will run. */
    ELAPSE_CANCEL_GONE = 2,
    /* cancel_wait alone: the calling thread is inside this task's action, so that waiting would
     * never end. The action will not run again. In pull mode there is no such answer: a thread that
     * has taken the task waits like any other. */
    ELAPSE_CANCEL_SELF = 3,
};

/*
 * Cancels a task. Does not wait. When it returns REMOVED, the destructor has been called on this
 * thread.
 * Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API enum elapse_cancel elapse_task_cancel(struct elapse_scheduler *scheduler,
                                                 struct elapse_handle handle);

/*
 * Cancels a task. If its action is running, waits until it has returned, for at most `timeout_ns`
 * (ELAPSE_NEVER: without end). After REMOVED and GONE the action uses nothing any more; a
 * destructor may still run on another thread, and elapse_task_wait waits for that. The time-out is
 * by CLOCK_MONOTONIC, whatever the scheduler's clock.
 *
 * Two tasks that wait for each other wait for ever, and so does a thread that waits while it holds
 * a mutex that the action needs; docs/guide/cancelling.md shows both.
 * Cost: O(1), a lock, and the wait. Cannot fail.
 */
ELAPSE_API enum elapse_cancel elapse_task_cancel_wait(struct elapse_scheduler *scheduler,
                                                      struct elapse_handle handle,
                                                      uint64_t timeout_ns);

/*
 * Cancels `count` tasks, each as elapse_task_cancel would, but takes each lock once for up to 64 of
 * them. Unless `answers` is NULL, the answers are stored there. Returns how many were removed.
 * Cost: O(count), a lock for each shard among up to 64 tasks. Cannot fail.
 */
ELAPSE_API size_t elapse_task_cancel_batch(struct elapse_scheduler *scheduler,
                                           const struct elapse_handle *handles, size_t count,
                                           enum elapse_cancel *answers);

/*
 * Waits until a task has ended and its destructor has returned, for at most `timeout_ns`
 * (ELAPSE_NEVER: without end; 0: it does not wait). Cancels nothing: a task that recurs is waited
 * for until it has ended altogether. After OK no code of the task runs or will run, so a module
 * that holds its action and its destructor may be unloaded: cancel the task, then wait for it. The
 * time-out is by CLOCK_MONOTONIC, whatever the scheduler's clock. On manual time, and in pull mode,
 * another thread must see the task through.
 * Errors: TIMEOUT; IN_ACTION when the calling thread is inside the action or the destructor of this
 * task. In pull mode a thread that has taken the task waits like any other.
 * Cost: O(1), a lock, and the wait.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_task_wait(struct elapse_scheduler *scheduler,
                                                                struct elapse_handle handle,
                                                                uint64_t timeout_ns);

/* ---- look up ---- */

/*
 * Finds the pending task with this key or, if none is pending, the running one. Returns true and
 * stores its handle in `*handle`, or returns false if there is none.
 * Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API bool elapse_task_find(struct elapse_scheduler *scheduler, const void *key,
                                 size_t key_bytes, struct elapse_handle *handle);

/* Where a task is in its life. */
enum elapse_task_state {
    ELAPSE_TASK_GONE = 0,    /* it has ended, or was cancelled, or never existed */
    ELAPSE_TASK_PENDING = 1, /* its action has not begun */
    ELAPSE_TASK_RUNNING = 2, /* its action has begun; it may be rescheduled besides */
};

/* What a look-up found. */
struct elapse_found {
    enum elapse_task_state state; /* as the look-up returns it */
    struct elapse_handle handle;  /* zeros for a task that is gone */
    /* The deadline, rounded up to a tick, for which the task is pending or was begun; ELAPSE_NEVER
     * for a task that is gone. */
    uint64_t deadline_ns;
    bool wall_clock; /* the deadline is a wall-clock time, since 1970 */
    /* It is running and will not run again, because it was cancelled or replaced: so a further
     * cancel, which answers RUNNING as well, changes nothing. */
    bool cancelled;
};

/*
 * Returns the state of a task, which may have changed when the caller reads the answer. Unless
 * `found` is NULL, stores the answers there.
 * Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API enum elapse_task_state elapse_task_look_up(struct elapse_scheduler *scheduler,
                                                      struct elapse_handle handle,
                                                      struct elapse_found *found);

/* ---- by key ---- */

/*
 * Cancels the pending task with the key or, if none is pending, the running one. Does not wait.
 * GONE: no task with the key was pending or running. If one task is pending while another runs, the
 * pending one is removed and the running one goes on.
 *
 * This and the functions below find the task and act on it in one step. elapse_task_find and a call
 * with the handle are two steps: another thread may replace the task in between, so that the second
 * step answers GONE although a task with the key is pending.
 * Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API enum elapse_cancel elapse_task_cancel_key(struct elapse_scheduler *scheduler,
                                                     const void *key, size_t key_bytes);

/*
 * Moves the pending task with the key or, if none is pending, the running one, to another deadline,
 * as elapse_task_reschedule_after and elapse_task_reschedule_at do.
 * Errors: as elapse_task_reschedule_at; GONE also when no task with the key is pending or running.
 * Cost: O(1); reading the clock (`_after` alone), a lock.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_reschedule_key_after(struct elapse_scheduler *scheduler, const void *key,
                                 size_t key_bytes, uint64_t delay_ns);
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_reschedule_key_at(struct elapse_scheduler *scheduler, const void *key, size_t key_bytes,
                              uint64_t deadline_ns);

/*
 * Looks up the pending task with the key or, if none is pending, the running one. Returns its state
 * and, unless `found` is NULL, stores the answers there.
 * Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API enum elapse_task_state elapse_task_look_up_key(struct elapse_scheduler *scheduler,
                                                          const void *key, size_t key_bytes,
                                                          struct elapse_found *found);

#ifdef __cplusplus
}
#endif

#endif
