/*
 * Elapse: the scheduler. Any thread schedules tasks; their actions run when their
 * time has come, on worker threads.
 *
 * Use:
 *
 *     static void expire(void *context, const struct elapse_run *run)
 *     {
 *         order_expire(context);
 *     }
 *
 *     struct elapse_scheduler *scheduler;
 *     struct elapse_handle handle;
 *     struct elapse_task task = {.action = expire, .context = order};
 *
 *     if (elapse_scheduler_new(NULL, &scheduler) != ELAPSE_OK ||
 *         elapse_scheduler_start(scheduler) != ELAPSE_OK)
 *         ...;
 *     if (elapse_task_schedule_after(scheduler, &task, 1800 * ELAPSE_SECOND_NS,
 *                                    &handle) != ELAPSE_OK)
 *         ...;
 *     ...
 *     if (elapse_task_cancel(scheduler, handle) == ELAPSE_CANCEL_REMOVED)
 *         ...;                               // it has not run and never will
 *     ...
 *     elapse_scheduler_free(scheduler);      // closes it first
 *
 * Life of a task:
 *
 *                     schedule          due, and a worker takes it         action returns
 *              (none) --------> pending --------------------------> running --------> gone
 *                                 | ^                                  |
 *        cancel: removed -> gone  | |  rescheduled while it ran, or     |
 *        reschedule: stays <------+ +--- recurs ------------------------+
 *
 * "Pending" lasts until the action begins: a task that is due and waits for a
 * worker is pending, and a cancel removes it. One task never runs twice at once.
 *
 * Promises, beyond those of the structures (docs/promises.md has them numbered):
 * - Never early: no action begins before its deadline.
 * - Every task that was scheduled ends in exactly one of: its action ran for the last time, it was
 *   removed (by cancel, by a replacement with its key, by closing), or closing
 *   handed it back.
 * - Cancel tells the truth, see enum elapse_cancel.
 * - No code of the user, be it an action, a destructor or a hook, is ever called
 *   with a lock of the scheduler held.
 * - No polling: with nothing due no thread of the scheduler wakes up.
 * - Order: among tasks scheduled by one thread (or with one key's shard), with one
 *   worker or none, by deadline tick and then in the order of scheduling. There is
 *   no order across workers, nor across shards.
 *
 * It is not durable: what is pending is lost when the process ends.
 *
 * What holds for every function below, unless it says otherwise:
 * - Times: in nanoseconds, and their names end in _ns. Absolute times are those of the
 *   scheduler's clock (elapse_scheduler_now_ns; by default CLOCK_MONOTONIC).
 *   Inside, time goes in ticks (1 ms by default): a deadline is rounded up to the
 *   next tick. Sums saturate; ELAPSE_NEVER is a deadline that never comes.
 * - Threads: any thread may call it at any time between new and free, also from inside
 *   an action or a destructor.
 * - Pointers must not be NULL unless NULL is given a meaning.
 * - Errors: those that it names, here without ELAPSE_ERROR_ in front; where it names none
 *   it cannot fail.
 * - Since: version 0.1.
 *
 * Memory: a task takes 64 bytes, and more if it has a key, a destructor, a recurrence or a
 * wall-clock time, in blocks of 64 KiB
 * that are kept for later tasks until elapse_scheduler_trim; each shard takes some
 * 64 KiB besides. Threads: one that waits for time to pass, and workers: one made by
 * start, the others when first needed, up to the number asked for.
 *
 * fork: the child has none of the threads and may only exec.
 */
#ifndef ELAPSE_SCHEDULER_H
#define ELAPSE_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/allocator.h>
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

/* A scheduler. Its contents are the library's own. */
struct elapse_scheduler;

/*
 * Names one scheduled task of one scheduler, also after that task is gone: a handle
 * is never taken for another task's. Copy it freely; compare its three numbers.
 * A handle of zeros names no task.
 */
struct elapse_handle {
    uint32_t index;      /* of its place, which later tasks take too */
    uint32_t generation; /* which of the tasks in that place */
    uint32_t shard;      /* where that place is */
};

/* What an action is told about its run. Valid during the call only. */
struct elapse_run {
    struct elapse_scheduler *scheduler; /* whose task it is */
    struct elapse_handle handle;        /* of the task that runs */
    /* Its deadline, rounded up to a tick. For one that had passed already when the task
     * was scheduled, or when the action during which it was rescheduled returned: some time
     * between it and then. */
    uint64_t intended_ns;
    uint64_t actual_ns; /* when it began, never before intended_ns */
    bool wall_clock;    /* both times are those of the wall clock, since 1970 */
    uint64_t number;    /* of this run, from 1; more than 1 if it recurs */
    /* Occurrences that were left out just before this one. Those of a cron expression are
     * counted up to 10,000. */
    uint64_t missed;
};

/*
 * What a task does. It may call every function below except where that says
 * otherwise; it may block, and then keeps its worker from other tasks. It must
 * return: leaving it by longjmp, an exception or pthread_exit is undefined.
 */
typedef void elapse_action_function(void *context, const struct elapse_run *run);

/* What a task's context is passed to when the task has ended. The rules of an
 * action hold for it too. */
typedef void elapse_destroy_function(void *context);

/* What to do when a task is scheduled with the key of one that is pending. */
enum elapse_key_policy {
    /* The pending task is removed, and the new one takes its place. */
    ELAPSE_KEY_REPLACE = 0,
    /* The pending task stays and its handle is given out; the new one is taken as
     * ended at once: its context is destroyed. */
    ELAPSE_KEY_KEEP = 1,
    /* The new one is refused with ELAPSE_ERROR_KEY_PENDING; the handle given out
     * is that of the pending one. */
    ELAPSE_KEY_FAIL = 2,
};

/* How a task goes on after a run. */
enum elapse_recurrence {
    /* It does not: it is gone. */
    ELAPSE_RECUR_NEVER = 0,
    /* Every period_ns, counted from its first deadline: occurrence n is due n * period_ns after
     * it, however long the action takes and however late it began. A first deadline in the past
     * sets the phase: what lies between it and now has been missed. */
    ELAPSE_RECUR_PERIOD = 1,
    /* period_ns after its action has returned. */
    ELAPSE_RECUR_AFTER_EACH = 2,
    /* At the moments that a cron expression names. For elapse_task_schedule_cron alone. */
    ELAPSE_RECUR_CRON = 3,
};

/* What becomes of occurrences (of a period, of a cron expression) that have passed when
 * the action returns: because it took long, began late, the process stood still, or the
 * wall clock was set forward. */
enum elapse_missed {
    /* They are left out: the next is the first that has not passed. */
    ELAPSE_MISSED_SKIP = 0,
    /* Each is made up for, one right after the other, however many they are: think of a
     * machine whose wall clock begins in 1970, and of periods shorter than the action. */
    ELAPSE_MISSED_BURST = 1,
    /* PERIOD only: they are left out, and periods are counted from now on: the next is
     * period_ns after the return. (One that is due at that very moment is left out and not
     * counted.) */
    ELAPSE_MISSED_DELAY = 2,
};

/* The longest period: some 292 years. */
#define ELAPSE_PERIOD_NS_MAX INT64_MAX

/* The longest key there may be, in bytes. */
#define ELAPSE_KEY_BYTES_MAX 65535

/*
 * What to schedule. Set what is not needed to zero: a designated initialiser does.
 * The struct is read during the call only.
 */
struct elapse_task {
    /* Called once when the deadline has come. Must not be NULL. */
    elapse_action_function *action;
    /* Passed to action and destroy. The scheduler never looks at it. */
    void *context;
    /* NULL, or called once when the task has ended, however it ended, but for two
     * cases: when scheduling failed, and when closing handed the task back, the
     * context remains the caller's. It is called outside all locks on the thread that
     * ended the task: the one the action ran on, the one that cancelled or replaced
     * it, or the one that closed the scheduler. */
    elapse_destroy_function *destroy;
    /* Any bytes, which are copied: among the tasks of a scheduler at most one with
     * these is pending, and at most one running. NULL and 0: no key. A task whose
     * key's action is running is due only when that has ended. A running task that has
     * been rescheduled is the pending one of its key. */
    const void *key;
    size_t key_bytes;
    /* How much later than its deadline the task may come due if that saves a
     * wake-up. The tick chosen is then its deadline in all respects. It applies to the
     * first deadline only. */
    uint64_t slack_ns;
    /* PERIOD and AFTER_EACH: 1 to ELAPSE_PERIOD_NS_MAX. Kept to the nanosecond, whatever
     * the tick: nothing drifts. */
    uint64_t period_ns;
    /* CRON: the moments, and below whose time of day they mean. The expression is copied. */
    const struct elapse_cron *cron;
    enum elapse_zone zone;
    /* How it goes on after a run. The runs of a task that recurs never overlap. It keeps
     * its handle until it is cancelled, and counts as pending while it runs. Moving it
     * (reschedule) begins its periods anew from the new deadline. */
    enum elapse_recurrence recurrence;
    enum elapse_missed if_missed;          /* what becomes of occurrences that have passed */
    enum elapse_key_policy if_key_pending; /* what to do when its key is pending already */
};

/* ---- life ---- */

/* Where time comes from. */
enum elapse_clock {
    ELAPSE_CLOCK_MONOTONIC = 0, /* CLOCK_MONOTONIC: stands still while suspended */
    ELAPSE_CLOCK_BOOTTIME = 1,  /* CLOCK_BOOTTIME: goes on while suspended */
    /* Time is what elapse_scheduler_step is told. There are no threads: step runs
     * all that is due on the calling thread. For tests and simulations. */
    ELAPSE_CLOCK_MANUAL = 2,
};

/* How a scheduler is to be. elapse_scheduler_options_init sets the defaults. */
struct elapse_scheduler_options {
    size_t struct_bytes;     /* set by elapse_scheduler_options_init; leave it */
    enum elapse_clock clock; /* default ELAPSE_CLOCK_MONOTONIC */
    /* Length of a tick, 1 to 3,600,000,000,000 (an hour). Default 1,000,000. */
    uint64_t tick_ns;
    /* Most worker threads, 0 to 4096. Default 10. With 0 the actions run on the
     * thread that waits for time to pass: a slow one then delays all others. */
    unsigned workers;
    /* There are no threads and nothing is run: due tasks are handed out by elapse_task_take, to as
     * many threads as ask. Actions may be NULL then; the numbers of workers and queued tasks
     * mean nothing. Default false. */
    bool pull;
    /* Tasks that may wait for a worker outside the timing structures, 1 to
     * 1,048,576. Default 1024. Further due tasks wait where they are. */
    unsigned queue_tasks;
    /* Parts with a lock each, 1 to 256; 0 takes one for each processor, at most 16,
     * or one where time is manual. Threads are spread over them. */
    unsigned shards;
    /* Most pending tasks; 0: no limit but memory. A shard holds at most
     * 67,108,864 tasks, pending and running. */
    uint64_t pending_max;
    /* Stack of each thread; 0 takes the system's default. */
    size_t stack_bytes;
    /* NULL, or called first on each thread that the scheduler makes, with the name
     * of that thread; for priorities, processors, tracing. */
    void (*thread_started)(const char *name, void *context);
    void *thread_started_context; /* passed on to it */
    /* With both functions NULL, the C library's. */
    struct elapse_allocator allocator;
};

/* What elapse_scheduler_options_init calls, with the caller's size. */
ELAPSE_API void elapse_scheduler_options_init_sized(struct elapse_scheduler_options *options,
                                                    size_t options_bytes);

/* Sets all options to their defaults. Always begin with it. Cost: O(1). Cannot fail. */
static inline void elapse_scheduler_options_init(struct elapse_scheduler_options *options)
{
    elapse_scheduler_options_init_sized(options, sizeof *options);
}

/*
 * Makes a scheduler that has no threads yet and leaves it in `*scheduler`. Tasks
 * may be scheduled from here on; they run once it is started. `options` NULL: all
 * defaults.
 * Errors: ABI (options were initialised by another version), ARGUMENT, MEMORY,
 * SYSTEM; `*scheduler` is NULL then.
 * Cost: O(shards), a few allocations.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_scheduler_new(const struct elapse_scheduler_options *options,
                     struct elapse_scheduler **scheduler);

/*
 * Makes the thread that waits for time, and a first worker if there are to be any;
 * tasks begin to run. Starting a started scheduler does nothing; nor does starting
 * one whose clock is manual.
 * Errors: SYSTEM (or no memory for a thread; nothing is left running; it may be tried again),
 * CLOSED, BUSY while another thread is inside start.
 * Cost: making one thread or two.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_scheduler_start(struct elapse_scheduler *scheduler);

/* What becomes of pending tasks when the scheduler is closed. */
enum elapse_close {
    /* They are removed; their contexts are destroyed. */
    ELAPSE_CLOSE_DROP = 0,
    /* Those that are due when close is called run first; then as DROP. */
    ELAPSE_CLOSE_RUN_DUE = 1,
    /* Each is handed back. */
    ELAPSE_CLOSE_HAND_BACK = 2,
};

/* A task that closing hands back. Valid during the call only, key and cron included. */
struct elapse_handed_back {
    struct elapse_task task; /* as it was scheduled, without key policy and slack */
    uint64_t deadline_ns;    /* when it would have been due next */
    bool wall_clock;         /* that is a wall-clock time */
};

/* What closing calls with each of these, on the closing thread, in no particular order. The
 * task's context is the caller's again. */
typedef void elapse_hand_back_function(const struct elapse_handed_back *handed_back,
                                       void *hand_back_context);

/*
 * Closes the scheduler: from here on scheduling and rescheduling are refused. Waits
 * for the actions that are running (and with RUN_DUE for those that are due), ends
 * all threads, and then does with the pending tasks what `how` says. Cancelling
 * stays possible, and says "gone" afterwards. A scheduler that was never started can
 * be closed too; with RUN_DUE the due tasks then run on the calling thread, as they do where
 * time is manual.
 * In pull mode it wakes all who wait in take, and waits until all taken tasks are done: a thread
 * that has one must not close. The destructor of the last may still be under way then, inside
 * elapse_task_done on another thread. RUN_DUE is refused there with ARGUMENT.
 * Errors: IN_ACTION; CLOSED when it is closed already; BUSY while another
 * thread is starting or closing it; ARGUMENT when `how` is HAND_BACK and `hand_back` NULL, or
 * `how` is unknown.
 * Cost: O(tasks), besides what is waited for.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_scheduler_close(struct elapse_scheduler *scheduler, enum elapse_close how,
                       elapse_hand_back_function *hand_back, void *hand_back_context);

/*
 * Gives back all memory; closes (DROP) first if that was not done. NULL is ignored.
 * No other thread may be inside a call on the scheduler, nor begin one. From an action
 * of the scheduler it must not be called: it answers IN_ACTION and does nothing. It does nothing
 * and answers BUSY while another thread starts or closes the scheduler.
 * Errors: IN_ACTION, BUSY.
 * Cost: O(tasks), as close; O(shards) if it is closed.
 */
ELAPSE_API enum elapse_error elapse_scheduler_free(struct elapse_scheduler *scheduler);

/* The wall clock, in nanoseconds since 1970-01-01T00:00:00Z. Cost: reading it. Cannot fail. */
ELAPSE_API uint64_t elapse_scheduler_wall_clock_ns(const struct elapse_scheduler *scheduler);

/*
 * Manual time: sets the wall clock, which otherwise goes along with elapse_scheduler_step, forward
 * or back. A new one stands at 0, the beginning of 1970. What becomes due by it runs at the next
 * step, also one to the same time.
 * Errors: ARGUMENT when the clock is not manual.
 * Cost: O(1).
 */
ELAPSE_API enum elapse_error elapse_scheduler_set_wall_clock(struct elapse_scheduler *scheduler,
                                                             uint64_t unix_ns);

/* The time of the scheduler's clock. Cost: reading the clock. Cannot fail. */
ELAPSE_API uint64_t elapse_scheduler_now_ns(const struct elapse_scheduler *scheduler);

/*
 * Manual time: sets the time to `now_ns` (an earlier one is ignored) and runs all
 * that is due on the calling thread, until nothing is: by deadline, first what goes by the
 * scheduler's own clock, then what has a wall-clock time. A task that is scheduled meanwhile and
 * due runs too. Returns how many ran, in `*ran` unless that is NULL. A new manual clock stands at
 * 0.
 *
 * The time jumps: what runs sees `now_ns`, however long ago it was due, and a period that is passed
 * over was missed. To go through time deadline by deadline:
 *
 *     while ((next_ns = elapse_scheduler_next_ns(scheduler)) <= end_ns)
 *         (void)elapse_scheduler_step(scheduler, next_ns, NULL);
 *
 * Errors: ARGUMENT when the clock is not manual; IN_ACTION; BUSY while another
 * thread steps; CLOSED.
 * Cost: O(shards), and for each task that runs O(shards) besides its action.
 */
ELAPSE_API enum elapse_error elapse_scheduler_step(struct elapse_scheduler *scheduler,
                                                   uint64_t now_ns, size_t *ran);

/*
 * The earliest time at which there may be something to do; ELAPSE_NEVER when
 * there will be nothing. Never later than the first deadline; earlier only if a
 * task was cancelled or rescheduled. With manual time: what to step to.
 * Cost: O(shards). Cannot fail.
 */
ELAPSE_API uint64_t elapse_scheduler_next_ns(struct elapse_scheduler *scheduler);

/*
 * Gives blocks that hold no task back to the allocator; returns how many bytes. Other
 * calls go on meanwhile. Cannot fail.
 * Cost: O(tasks there is memory for), a lock for each block.
 */
ELAPSE_API size_t elapse_scheduler_trim(struct elapse_scheduler *scheduler);

/* ---- tasks ---- */

/*
 * Schedules `task` for `delay_ns` from now, or for `deadline_ns` on the scheduler's
 * clock. A deadline that has passed is due at once; one within the current tick, as any,
 * at the next. The handle is stored in
 * `*handle` before the action can begin, unless it is NULL; what was there stays when
 * the call fails (but see ELAPSE_KEY_FAIL). ELAPSE_OK means that the context is in the scheduler's
 * care; after an error it is the caller's.
 * Errors: ARGUMENT (no action; a key that is too long, or has bytes without a pointer or
 * a pointer without bytes; a period of 0 or too long; RECUR_CRON; an unknown policy, zone or
 * recurrence), MEMORY, LIMIT, KEY_PENDING,
 * CLOSED.
 * Cost: O(1); reading the clock (`_after` alone), a lock, a start in the wheel. With
 * key, destructor or recurrence, an allocation for each.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_after(struct elapse_scheduler *scheduler, const struct elapse_task *task,
                           uint64_t delay_ns, struct elapse_handle *handle);
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_at(struct elapse_scheduler *scheduler, const struct elapse_task *task,
                        uint64_t deadline_ns, struct elapse_handle *handle);

/*
 * Schedules `task` for a wall-clock time: `unix_ns` nanoseconds after 1970-01-01T00:00:00Z by
 * the wall clock. When the wall clock is set forward, what it passes is due at once;
 * when it is set back, tasks wait longer, but for those
 * that are due already and wait for a worker. Tasks with a wall-clock time take no slack and no
 * period, and cannot be rescheduled: ARGUMENT.
 * Errors: as elapse_task_schedule_at.
 * Cost: as there, and an allocation; the first in a shard takes another 64 KiB.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_at_wall_clock(struct elapse_scheduler *scheduler,
                                   const struct elapse_task *task, uint64_t unix_ns,
                                   struct elapse_handle *handle);

/*
 * Schedules `task` for the moments that task->cron names by the wall clock, from now on, in the
 * time of day of task->zone. task->recurrence must be ELAPSE_RECUR_CRON, or NEVER for the first
 * moment alone, and if_missed SKIP or BURST. A wall clock that is set back never makes it run a
 * second time for one occurrence: it waits until the last one has been passed again. Cannot be
 * rescheduled. Errors: as elapse_task_schedule_at; ARGUMENT also when there is no such moment.
 * Cost: as elapse_task_schedule_at_wall_clock, and an elapse_cron_next.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_cron(struct elapse_scheduler *scheduler, const struct elapse_task *task,
                          struct elapse_handle *handle);

/* One task of a batch. */
struct elapse_batch_task {
    struct elapse_task task;     /* what to schedule */
    uint64_t deadline_ns;        /* on the scheduler's clock */
    struct elapse_handle handle; /* out */
    enum elapse_error error;     /* out: this task's own result */
};

/*
 * Schedules `count` tasks, each as elapse_task_schedule_at would, in their order,
 * but takes each lock once for up to 64 of them. A task that fails does not stop those
 * after it. Returns ELAPSE_OK if none failed, otherwise the error of the first that did.
 * Errors: as elapse_task_schedule_at.
 * Cost: O(count), a lock for each shard among up to 64 tasks.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_schedule_batch(struct elapse_scheduler *scheduler, struct elapse_batch_task *tasks,
                           size_t count);

/*
 * Moves a task to another deadline, earlier or later, `delay_ns` from now or at
 * `deadline_ns`; the old deadline is forgotten. Its handle, key and context stay; slack is
 * not applied. A task that is due but has not begun is pending and is moved. One that is
 * running runs once more, when the new deadline has come and its action has
 * ended.
 * Errors: ARGUMENT (it has a wall-clock time), GONE (also when it is running and was cancelled, or
 * another task with its key is pending meanwhile), LIMIT (running tasks only), CLOSED. Cost: O(1);
 * reading the clock (`_after` alone), a lock; putting off is one store.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_reschedule_after(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                             uint64_t delay_ns);
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_reschedule_at(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                          uint64_t deadline_ns);

/* What cancelling found. Each answer is the whole truth at the moment the call took
 * effect, and stays true. */
enum elapse_cancel {
    /* It was pending and is removed: its action has not begun and never will (that of a task
     * that recurs: not again).
     * Exactly one cancel of a task is answered so. */
    ELAPSE_CANCEL_REMOVED = 0,
    /* Its action has begun and has not ended (for cancel_wait: not within the
     * time-out). It will not run again: a reschedule made before is withdrawn, one
     * made later is refused. */
    ELAPSE_CANCEL_RUNNING = 1,
    /* It ended or was removed before (for cancel_wait also: it was running and has
     * ended), or there never was such a task. Its action neither runs nor will. */
    ELAPSE_CANCEL_GONE = 2,
    /* cancel_wait alone: the caller is inside this task's own action, which will not
     * run again; waiting for it would never end. Not in pull mode, where whoever has taken the
     * task is a thread like any other, and waits. */
    ELAPSE_CANCEL_SELF = 3,
};

/*
 * Cancels a task. Does not wait. After REMOVED its destructor has been called, on this
 * thread.
 * Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API enum elapse_cancel elapse_task_cancel(struct elapse_scheduler *scheduler,
                                                 struct elapse_handle handle);

/*
 * Cancels a task, and if its action is running waits until it has returned, but no longer
 * than `timeout_ns` (ELAPSE_NEVER: as long as it takes). After REMOVED and GONE nothing
 * that the action uses is in use by it; a destructor may still be under way on another
 * thread. The time-out goes by CLOCK_MONOTONIC whatever the scheduler's clock.
 *
 * Two tasks that wait for each other wait for ever, and so does one that waits while
 * it holds a mutex that the action needs; docs/guide/cancelling.md shows both.
 * Cost: O(1), a lock, besides what is waited for. Cannot fail.
 */
ELAPSE_API enum elapse_cancel elapse_task_cancel_wait(struct elapse_scheduler *scheduler,
                                                      struct elapse_handle handle,
                                                      uint64_t timeout_ns);

/*
 * Cancels `count` tasks, each as elapse_task_cancel would, but takes each lock once for up to
 * 64 of them. The answers go to `answers`, unless that is NULL. Returns how
 * many were removed.
 * Cost: O(count), a lock for each shard among up to 64 tasks. Cannot fail.
 */
ELAPSE_API size_t elapse_task_cancel_batch(struct elapse_scheduler *scheduler,
                                           const struct elapse_handle *handles, size_t count,
                                           enum elapse_cancel *answers);

/*
 * The pending task with this key, or if none is pending the running one: true, and its
 * handle in `*handle`. False if there is none.
 * Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API bool elapse_task_find(struct elapse_scheduler *scheduler, const void *key,
                                 size_t key_bytes, struct elapse_handle *handle);

/* Where a task is in its life. */
enum elapse_task_state {
    ELAPSE_TASK_GONE = 0,    /* it has ended, or was cancelled, or never was */
    ELAPSE_TASK_PENDING = 1, /* its action has not begun */
    ELAPSE_TASK_RUNNING = 2, /* it has; it may be rescheduled besides */
};

/*
 * The state of a task, which may have changed by the time the caller looks at it.
 * Unless `deadline_ns` is NULL, it is given the deadline, rounded up to a tick, for which the
 * task is pending or was begun; ELAPSE_NEVER for a task that is gone.
 * Cost: O(1), a lock. Cannot fail.
 */
ELAPSE_API enum elapse_task_state elapse_task_look_up(struct elapse_scheduler *scheduler,
                                                      struct elapse_handle handle,
                                                      uint64_t *deadline_ns);

/* ---- pull mode ---- */

/* A task that was taken. */
struct elapse_taken {
    elapse_action_function *action; /* as scheduled; nobody calls it but the taker, if it likes */
    void *context;                  /* as scheduled */
    struct elapse_run run;          /* as an action would be told */
};

/*
 * Pull mode: takes the next task that is due; waits until there is one, but no longer than
 * `timeout_ns` (0: not at all; ELAPSE_NEVER: as long as it takes). A taken task is running until
 * elapse_task_done. Any number of threads may take; each task goes to one of them. Tasks of one
 * shard are handed out by deadline tick, and at one tick in the order of scheduling. On manual time
 * it never waits. Errors: NOTHING_DUE (time-out), CLOSED (also for those who wait when closing
 * begins), ARGUMENT (not in pull mode, or not started where time is not manual). Cost: a lock or
 * two; one thread of those that wait sleeps until the next deadline, the others for it.
 *
 *     while (elapse_task_take(scheduler, ELAPSE_NEVER, &taken) == ELAPSE_OK) {
 *         taken.action(taken.context, &taken.run);
 *         (void)elapse_task_done(scheduler, taken.run.handle);
 *     }
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_task_take(struct elapse_scheduler *scheduler,
                                                                uint64_t timeout_ns,
                                                                struct elapse_taken *taken);

/*
 * Takes up to `capacity` tasks that are due, waiting as elapse_task_take for the first of them.
 * `*count` gets how many, 0 after an error.
 * Errors: as elapse_task_take; ARGUMENT also for a capacity of 0.
 * Cost: as elapse_task_take, and O(1) for each task.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_take_batch(struct elapse_scheduler *scheduler, uint64_t timeout_ns,
                       struct elapse_taken *taken, size_t capacity, size_t *count);

/*
 * Ends a task that was taken: what happens otherwise when an action returns. It recurs, it goes to
 * the deadline that it was rescheduled to, or it has ended and its context is destroyed, on this
 * thread. Any thread may call it, once for each taking. Errors: GONE (it was not taken, or is done
 * already), ARGUMENT (not in pull mode). Cost: O(1), a lock or two.
 */
ELAPSE_API enum elapse_error elapse_task_done(struct elapse_scheduler *scheduler,
                                              struct elapse_handle handle);

/*
 * Pull mode: a descriptor for poll, epoll and event loops that becomes readable when a task may be
 * due; now and then for nothing, after a cancel for example. Then take with a time-out of 0 until
 * NOTHING_DUE: only that makes it unreadable again, and only while no thread waits in take. So use
 * either it or waiting takes, not both. Closing makes it readable for good, so that an event loop
 * wakes up and take tells it CLOSED; freeing the scheduler closes it. Do not read, write or close
 * it. -1: not in pull mode, not started, or manual time.
 * Cost: O(1).
 */
ELAPSE_API int elapse_scheduler_descriptor(const struct elapse_scheduler *scheduler);

/* ---- statistics ---- */

/* Buckets of a histogram: 8 for each doubling. */
#define ELAPSE_LATENESS_BUCKETS 496

/* What a scheduler counts. */
struct elapse_statistics {
    /* What happened since new. */
    uint64_t scheduled;       /* tasks accepted, those kept away by KEEP not included */
    uint64_t rescheduled;     /* deadlines moved */
    uint64_t begun;           /* actions begun */
    uint64_t removed;         /* by cancel */
    uint64_t replaced;        /* by another with the same key */
    uint64_t handed_back;     /* by closing */
    uint64_t dropped;         /* by closing */
    uint64_t held_back;       /* times that due tasks had to wait because the queue was full */
    uint64_t refused_threads; /* workers that the system would not make */
    /* What is. */
    uint64_t pending; /* tasks whose action has not begun, or is to begin again */
    uint64_t running; /* tasks whose action has not ended */
    uint64_t workers; /* worker threads; none once closed */
    /* How much later than intended actions began. */
    uint64_t lateness_max_ns;
    uint64_t lateness[ELAPSE_LATENESS_BUCKETS];
};

/*
 * Adds up the counts of all shards, one after the other: while other threads are
 * busy, counts of different shards are of slightly different moments.
 * Cost: O(shards), each lock once. Cannot fail.
 */
ELAPSE_API void elapse_scheduler_statistics(struct elapse_scheduler *scheduler,
                                            struct elapse_statistics *statistics);

/*
 * The lateness that the share `quantile` (0 to 1) of all actions begun did not exceed, to
 * within an eighth above; 0 if none has begun. Never more than
 * lateness_max_ns. Reads the struct alone.
 *
 *     elapse_scheduler_statistics(scheduler, &statistics);
 *     printf("99 of 100 began within %" PRIu64 " ns\n",
 *            elapse_statistics_lateness_ns(&statistics, 0.99));
 *
 * Cost: O(ELAPSE_LATENESS_BUCKETS). Cannot fail.
 */
ELAPSE_API uint64_t elapse_statistics_lateness_ns(const struct elapse_statistics *statistics,
                                                  double quantile);

#ifdef __cplusplus
}
#endif

#endif
