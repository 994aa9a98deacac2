/*
 * Elapse: the scheduler. Any thread schedules tasks; their actions run on worker threads when
 * their time has come.
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
 *     elapse_scheduler_free(scheduler);      // closes it first
 *
 * This header holds the life of a scheduler, its time and its statistics. <elapse/task.h> holds
 * the tasks, <elapse/list.h> goes through all of them, and <elapse/pull.h> holds the mode in which
 * threads take due tasks; this header includes all three.
 *
 * Promises, beyond those of the structures (docs/promises.md numbers them):
 * - Never early: no action begins before its deadline, unless closing by RUN_ALL asks for it.
 * - Every task ends in exactly one of these ways: its action ran for the last time, it was removed
 *   (by cancel, by a replacement with its key, by closing), or closing handed it back.
 * - Cancel tells the truth: see enum elapse_cancel.
 * - No code of the user, be it an action, a destructor or a hook, is called while a lock of the
 *   scheduler is held.
 * - No polling: while nothing is due, no thread of the scheduler wakes up, except a worker that has
 *   been idle for options.worker_idle_ns, once.
 * - No due task waits behind later ones for ever: tasks by the wall clock and by the monotonic
 *   clock take turns.
 * - Order: tasks that one thread schedules, or that lie in one key's shard, begin by deadline tick
 *   and then in the order of scheduling, if there is one worker or none. There is no order across
 *   workers, nor across shards.
 *
 * The scheduler is not durable: pending tasks are lost when the process ends.
 *
 * The following holds for every function below, in task.h and in pull.h, unless its comment says
 * otherwise:
 * - Times are in nanoseconds, and their names end in _ns. Absolute times are by the monotonic clock
 *   of the scheduler (elapse_scheduler_now_ns; by default CLOCK_MONOTONIC). Inside, time goes in
 *   ticks (1 ms by default): a deadline is rounded up to the next tick. Sums saturate; ELAPSE_NEVER
 *   is a deadline that never comes.
 * - Threads: any thread may call it at any time between new and free, also from inside an action or
 *   a destructor.
 * - Pointers must not be NULL unless NULL has a stated meaning.
 * - Errors: it returns those that its comment lists, without ELAPSE_ERROR_ in front. A function
 *   that lists none cannot fail.
 * - Since: version 0.1.
 *
 * Memory: a task takes 64 bytes, and more if it has a key, a destructor, a recurrence or a
 * wall-clock time. Tasks lie in blocks of 64 KiB, which are kept for later tasks until
 * elapse_scheduler_trim. Each shard takes some 130 KiB besides.
 * Threads: one thread waits for time to pass. Start makes the first worker; further workers are
 * made when they are needed, up to the number in the options. They stay until the scheduler is
 * closed, or leave when they have been idle for options.worker_idle_ns.
 *
 * fork: the child has none of the threads. It may only exec.
 */
#ifndef ELAPSE_SCHEDULER_H
#define ELAPSE_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/allocator.h>
#include <elapse/attributes.h>
#include <elapse/error.h>
#include <elapse/list.h>
#include <elapse/pull.h>
#include <elapse/task.h>
#include <elapse/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A scheduler. Its contents are private to the library. */
struct elapse_scheduler;

/* ---- life ---- */

/* Where the monotonic time comes from. */
enum elapse_clock {
    ELAPSE_CLOCK_MONOTONIC = 0, /* CLOCK_MONOTONIC: stands still while the machine is suspended */
    ELAPSE_CLOCK_BOOTTIME = 1,  /* CLOCK_BOOTTIME: goes on while the machine is suspended */
    /* elapse_scheduler_step sets the time. There are no threads: step runs everything that is due
     * on the calling thread. For tests and simulations. */
    ELAPSE_CLOCK_MANUAL = 2,
};

/* Gets each run of an action, on the thread that runs it: for tracing. The rules of an action hold
 * for it too. `task_context` may be destroyed once the task has ended. */
typedef void elapse_trace_function(void *trace_context, const struct elapse_run *run,
                                   elapse_action_function *action, void *task_context);

/* Options of a scheduler. elapse_scheduler_options_init sets the defaults. */
struct elapse_scheduler_options {
    size_t struct_bytes;     /* set by elapse_scheduler_options_init; leave it */
    enum elapse_clock clock; /* default ELAPSE_CLOCK_MONOTONIC */
    /* Length of a tick, 1 to 3,600,000,000,000 (an hour). Default 1,000,000. */
    uint64_t tick_ns;
    /* Most worker threads, 0 to 4096. Default 10. With 0 the actions run on the thread that waits
     * for time to pass: a slow one then delays all others. */
    unsigned workers;
    /* How long a worker waits for a task before its thread ends, so that a burst of tasks does not
     * leave its threads behind. A worker is made again when it is needed, as at first. 0: workers
     * stay until the scheduler is closed. Default 0. */
    uint64_t worker_idle_ns;
    /* Fewest workers that stay once they were made, however long they wait, 1 to 4096; more than
     * `workers` keeps all of them. One always stays: a due task then has a worker even when the
     * system refuses new threads. Means nothing unless worker_idle_ns is set. Default 1. */
    unsigned workers_min;
    /* Pull mode: the scheduler has no threads and runs nothing. elapse_task_take hands due tasks
     * out to as many threads as ask. Actions may be NULL then; the numbers of workers and queued
     * tasks mean nothing. Default false. */
    bool pull;
    /* Pull mode: how long a thread holds a task that it has taken. Then the task is due again, and
     * any thread can take it: a thread that has died does not keep a task and its key for ever.
     * 0: without end. Refused with ARGUMENT in other modes. Default 0. */
    uint64_t lease_ns;
    /* Tasks that may wait for a worker outside the timing structures, 1 to 1,048,576. Default
     * 1024. Further due tasks wait where they are, still cancellable (back-pressure). */
    unsigned queue_tasks;
    /* Parts with a lock each, 1 to 256. 0 takes one for each processor, at most 16, or one where
     * time is manual. Threads are spread over them. */
    unsigned shards;
    /* Most pending tasks; 0: no limit but memory. A shard holds at most 67,108,864 tasks, pending
     * and running. */
    uint64_t pending_max;
    /* Refuse tasks with ARGUMENT until the scheduler is started: to find a start that was
     * forgotten. Default false: they wait for it. */
    bool refuse_before_start;
    /* Stack of each thread; 0 takes the system's default. A size that no thread can be made with is
     * refused with ARGUMENT. */
    size_t stack_bytes;
    /* NULL, or called first on each thread that the scheduler makes, with the name of that thread:
     * to set priorities or processors, or for tracing. */
    void (*thread_started)(const char *name, void *context);
    void *thread_started_context; /* passed on to it */
    /* Each NULL, or called right before an action begins and right after it has returned, without
     * any lock; before its destructor. Calls for one run come on one thread. They take time from
     * that thread, so they should be short. Not called in pull mode: the thread that takes a task
     * knows when it begins. */
    elapse_trace_function *action_begins;
    elapse_trace_function *action_ends;
    void *trace_context; /* passed on to both */
    /* If both functions are NULL, the C library's allocator is used. */
    struct elapse_allocator allocator;
};

/* elapse_scheduler_options_init calls this, with the size of the caller's struct. */
ELAPSE_API void elapse_scheduler_options_init_sized(struct elapse_scheduler_options *options,
                                                    size_t options_bytes);

/* Sets all options to their defaults. Always begin with it. Cost: O(1). Cannot fail. */
static inline void elapse_scheduler_options_init(struct elapse_scheduler_options *options)
{
    elapse_scheduler_options_init_sized(options, sizeof *options);
}

/*
 * Makes a scheduler without threads and stores it in `*scheduler`. Tasks may be scheduled from here
 * on; they run once it is started. `options` NULL: all defaults.
 * Errors: ABI (options were initialised by another version), ARGUMENT, MEMORY, SYSTEM; `*scheduler`
 * is NULL then.
 * Cost: O(shards), a few allocations.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_scheduler_new(const struct elapse_scheduler_options *options,
                     struct elapse_scheduler **scheduler);

/*
 * Makes the thread that waits for time and, unless the options ask for 0 workers, the first worker.
 * Tasks begin to run. To start a started scheduler, or one on manual time, changes nothing.
 * Errors: SYSTEM (the system refused a thread or an alarm, or there is no memory for it; nothing is
 * left running, and start may be tried again), CLOSED, BUSY while another thread is inside start.
 * Cost: making one thread or two.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_scheduler_start(struct elapse_scheduler *scheduler);

/* What happens to pending tasks when the scheduler is closed. */
enum elapse_close {
    /* They are removed, and their contexts are destroyed. */
    ELAPSE_CLOSE_DROP = 0,
    /* Those that are due when close is called run first; the others are removed as by DROP. */
    ELAPSE_CLOSE_RUN_DUE = 1,
    /* Each is handed back. */
    ELAPSE_CLOSE_HAND_BACK = 2,
    /* All of them run at once, each once, in the order of their deadlines (as far as the promise on
     * order goes), also those that are not due yet: only here may an action begin before its
     * deadline. A task that recurs ends with that run, or with the run that it is in. Tasks whose
     * deadline never comes are removed as by DROP. */
    ELAPSE_CLOSE_RUN_ALL = 3,
    /* Each task that runs once runs at its deadline, by the clock of that deadline: close waits
     * until the last one has run. Tasks that recur are removed as by DROP, also by cron and also
     * those that are due; one that is running ends with that run. Tasks whose deadline never comes
     * are removed, too. State a limit by elapse_scheduler_close_within. */
    ELAPSE_CLOSE_RUN_DELAYED = 4,
};

/* A task that closing hands back. Valid during the call only, key and cron included. */
struct elapse_handed_back {
    /* As it was scheduled, or with the period, or the expression and the zone, to which it was
     * changed; without key policy and slack. */
    struct elapse_task task;
    uint64_t deadline_ns; /* when it would have been due next */
    bool wall_clock;      /* the deadline is a wall-clock time */
};

/* Gets each task that closing hands back, on the closing thread, in no particular order. The
 * task's context is the caller's again. */
typedef void elapse_hand_back_function(const struct elapse_handed_back *handed_back,
                                       void *hand_back_context);

/*
 * Closes the scheduler: from here on scheduling and rescheduling are refused. Waits for the actions
 * that are running (and with RUN_DUE, RUN_ALL and RUN_DELAYED for those that are to run), ends all
 * threads, and then treats the pending tasks as `how` says. Cancelling stays possible, and answers
 * GONE afterwards. A scheduler that was never started can be closed too; with RUN_DUE and RUN_ALL
 * the tasks then run on the calling thread, as they do where time is manual. RUN_DELAYED asks for a
 * scheduler that is started; where time is manual, other threads step meanwhile.
 * In pull mode it wakes all threads that wait in take, and waits until all taken tasks are done: a
 * thread that has one must not close. The destructor of the last may still run then, inside
 * elapse_task_done on another thread. RUN_DUE and RUN_ALL are refused there with ARGUMENT. With
 * RUN_DELAYED, threads go on taking until all tasks are done, and are woken then.
 * Errors: IN_ACTION; CLOSED when it is closed already; BUSY while another thread is starting or
 * closing it; ARGUMENT when `how` is HAND_BACK and `hand_back` NULL, when it is RUN_DELAYED and the
 * scheduler was not started (unless time is manual), or when `how` is unknown.
 * Cost: O(tasks), and the waits.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_scheduler_close(struct elapse_scheduler *scheduler, enum elapse_close how,
                       elapse_hand_back_function *hand_back, void *hand_back_context);

/*
 * Closes the scheduler as elapse_scheduler_close does, but waits no longer than `timeout_ns`
 * (ELAPSE_NEVER: without end), by CLOCK_MONOTONIC. Actions that run on the calling thread,
 * destructors and `hand_back` are not interrupted.
 *
 * After TIMEOUT the scheduler is closing: scheduling is refused, running actions go on (with
 * RUN_DUE and RUN_ALL workers also begin those that were handed to them), pending tasks are still
 * pending and can be cancelled, and nothing is freed. With RUN_DELAYED tasks go on running at their
 * deadlines; a program whose only thread steps or takes asks with a timeout of 0, and goes on with
 * that until the answer is OK. Any thread may call this function, elapse_scheduler_close or
 * elapse_scheduler_free after TIMEOUT: that call goes on closing and waits again. It may ask for
 * the same, or for DROP or HAND_BACK, which begin no further actions. Errors: as
 * elapse_scheduler_close; TIMEOUT; ARGUMENT also when a close that timed out is to go on with
 * another RUN_DUE, RUN_ALL or RUN_DELAYED than it began with. Cost: as elapse_scheduler_close.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_scheduler_close_within(struct elapse_scheduler *scheduler, enum elapse_close how,
                              elapse_hand_back_function *hand_back, void *hand_back_context,
                              uint64_t timeout_ns);

/* Where a scheduler is in its life. */
enum elapse_life {
    ELAPSE_LIFE_NEW = 0,     /* it was made, and is not started yet */
    ELAPSE_LIFE_STARTED = 1, /* due tasks run */
    ELAPSE_LIFE_CLOSING = 2, /* close has begun and has not ended, or has timed out */
    ELAPSE_LIFE_CLOSED = 3,  /* no task is left */
};

/* Returns where the scheduler is in its life, which may have changed when the caller reads the
 * answer. Cost: O(1). Cannot fail. */
ELAPSE_API enum elapse_life elapse_scheduler_life(const struct elapse_scheduler *scheduler);

/*
 * Releases all memory. Closes the scheduler first (DROP) if that was not done. NULL is ignored.
 * Requires that no other thread is inside a call on the scheduler, or begins one. Called from an
 * action of the scheduler, or while another thread starts or closes the scheduler, it does nothing
 * and returns an error.
 * Errors: IN_ACTION, BUSY.
 * Cost: O(tasks), as close; O(shards) if it is closed.
 */
ELAPSE_API enum elapse_error elapse_scheduler_free(struct elapse_scheduler *scheduler);

/*
 * Gives blocks that hold no task, and parts of the key index that hold no key, back to the
 * allocator. Returns how many bytes. Other threads may go on calling the scheduler meanwhile.
 * Cannot fail. Cost: O(tasks and keys that there is memory for), a lock for each block.
 */
ELAPSE_API size_t elapse_scheduler_trim(struct elapse_scheduler *scheduler);

/* ---- time ---- */

/* Returns the time by the monotonic clock. Cost: reading the clock. Cannot fail. */
ELAPSE_API uint64_t elapse_scheduler_now_ns(const struct elapse_scheduler *scheduler);

/* Returns the wall clock, in nanoseconds since 1970-01-01T00:00:00Z. Cost: reading the clock.
 * Cannot fail. */
ELAPSE_API uint64_t elapse_scheduler_wall_clock_ns(const struct elapse_scheduler *scheduler);

/*
 * Returns the earliest time at which there may be something to do; ELAPSE_NEVER if nothing is
 * pending. It is never later than the first deadline, and earlier only if a task was cancelled or
 * rescheduled. With manual time, it is the time to step to.
 * Cost: O(shards). Cannot fail.
 */
ELAPSE_API uint64_t elapse_scheduler_next_ns(struct elapse_scheduler *scheduler);

/*
 * Manual time: sets the time to `now_ns` (an earlier time is ignored) and runs everything that is
 * due on the calling thread, until nothing is: by deadline on each of the two clocks; while tasks
 * are due by both, the clocks take turns. A task that is scheduled meanwhile and is due runs too.
 * Unless `ran` is NULL, stores there how many actions ran. A new manual clock stands at 0.
 *
 * The time jumps: actions see `now_ns`, however long ago they were due, and a period that lies
 * between was missed. To go through time deadline by deadline:
 *
 *     while ((next_ns = elapse_scheduler_next_ns(scheduler)) <= end_ns)
 *         (void)elapse_scheduler_step(scheduler, next_ns, NULL);
 *
 * Errors: ARGUMENT when the clock is not manual; IN_ACTION; BUSY while another thread steps;
 * CLOSED when closing has begun, unless by RUN_DELAYED: then when no task is left.
 * Cost: O(shards), and for each task that runs O(shards) besides its action.
 */
ELAPSE_API enum elapse_error elapse_scheduler_step(struct elapse_scheduler *scheduler,
                                                   uint64_t now_ns, size_t *ran);

/*
 * Manual time: sets the wall clock, forward or back. Besides, elapse_scheduler_step moves it on
 * with the time. A new one stands at 0, the beginning of 1970. Tasks that become due by it run at
 * the next step, even if that does not move the time.
 * Errors: ARGUMENT when the clock is not manual.
 * Cost: O(1).
 */
ELAPSE_API enum elapse_error elapse_scheduler_set_wall_clock(struct elapse_scheduler *scheduler,
                                                             uint64_t unix_ns);

/* ---- statistics ---- */

/* Buckets of a histogram: 8 for each doubling. */
#define ELAPSE_LATENESS_BUCKETS 496

/* What a scheduler counts. */
struct elapse_statistics {
    /* Since new. */
    uint64_t scheduled;       /* tasks accepted; those that KEEP kept out do not count */
    uint64_t rescheduled;     /* deadlines moved */
    uint64_t begun;           /* actions begun */
    uint64_t completed;       /* actions that have returned; in pull mode: tasks taken and done */
    uint64_t removed;         /* tasks removed by cancel */
    uint64_t replaced;        /* tasks replaced by another with the same key */
    uint64_t handed_back;     /* tasks handed back by closing */
    uint64_t dropped;         /* tasks removed by closing */
    uint64_t held_back;       /* times that due tasks had to wait because the queue was full */
    uint64_t refused_threads; /* workers that the system refused to make */
    /* Now. */
    uint64_t pending; /* tasks whose action has not begun, or is to begin again */
    uint64_t running; /* tasks whose action has not returned */
    uint64_t workers; /* worker threads; none once closed */
    /* How late the oldest task is that is due and has not begun, by the clock of its deadline; 0 if
     * none is. It may be too large for a moment: a deadline that was cancelled or postponed counts
     * until the scheduler has looked for due tasks. Tasks by the wall clock do not count while
     * their order is made anew, because that clock was set back. */
    uint64_t oldest_overdue_ns;
    /* How much later than intended actions began. */
    uint64_t lateness_max_ns;
    uint64_t lateness[ELAPSE_LATENESS_BUCKETS];
};

/*
 * Adds up the counts of all shards, one after the other. While other threads are busy, the counts
 * of different shards are of slightly different moments.
 * Cost: O(shards), each lock once; reading both clocks. Cannot fail.
 */
ELAPSE_API void elapse_scheduler_statistics(struct elapse_scheduler *scheduler,
                                            struct elapse_statistics *statistics);

/*
 * Returns the lateness that the share `quantile` (0 to 1) of all actions begun did not exceed, to
 * within an eighth above, and at most lateness_max_ns; 0 if none has begun. Reads the struct alone.
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
