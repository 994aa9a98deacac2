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
 * This header declares the life of a scheduler, its time and its statistics. <elapse/task.h>
 * declares tasks. <elapse/list.h> declares lists of all tasks. <elapse/pull.h> declares the mode in
 * which threads take due tasks. This header includes all three.
 *
 * The scheduler keeps the promises of the structures, and these promises (docs/promises.md numbers
 * them):
 * - Never early: no action begins before its deadline, unless closing by RUN_ALL asks for it.
 * - Every task ends in exactly one of three ways. Its action ran for the last time; or the task was
 *   removed, by a cancel, by a new task with its key, or by closing; or closing handed it back.
 * - The answer of a cancel is true, and stays true: see enum elapse_cancel.
 * - The scheduler holds no lock while it calls code of the user, such as an action, a destructor or
 *   a hook.
 * - No polling: while nothing is due, no thread of the scheduler wakes up. The exception is a
 *   worker that has been idle for options.worker_idle_ns, which wakes up once.
 * - No due task waits behind later ones for ever: tasks by the wall clock and by the monotonic
 *   clock take turns.
 * - Order: this promise holds for tasks that one thread schedules, and for tasks in the shard of
 *   one key, if there is one worker or none. Such tasks begin in the order of the ticks of their
 *   deadlines. Tasks of one tick begin in the order of scheduling. There is no order between the
 *   tasks of several workers, nor between those of several shards.
 *
 * The scheduler is not durable: pending tasks are lost when the process ends.
 *
 * The following holds for every function below, in task.h and in pull.h, unless its comment says
 * otherwise:
 * - Times are in nanoseconds, and their names end in _ns. Absolute times are by the monotonic clock
 *   of the scheduler (elapse_scheduler_now_ns), which is CLOCK_MONOTONIC by default. Inside the
 *   scheduler, time goes in ticks (1 ms by default): a deadline is rounded up to the next tick. A
 *   deadline of ELAPSE_NEVER never comes. A sum of times that would be greater is ELAPSE_NEVER.
 * - Threads: any thread may call the function at any time between new and free, also from inside an
 *   action or a destructor.
 * - Pointers must not be NULL unless NULL has a stated meaning.
 * - Errors: the function returns the errors that its comment lists. The comments leave out the
 *   prefix ELAPSE_ERROR_. A function whose comment lists no error cannot fail.
 * - Since: version 0.1.
 *
 * Memory: a task takes 64 bytes. It takes more if it has a key, a destructor, a recurrence or a
 * wall-clock time. Tasks lie in blocks of 64 KiB. The blocks are kept for later tasks until
 * elapse_scheduler_trim. Each shard takes some 130 KiB besides.
 *
 * Threads of the scheduler: the clock thread waits for time to pass. Start makes the first worker.
 * Further workers are made when they are needed, up to the number in the options. A worker stays
 * until the scheduler is closed, or ends when it has been idle for options.worker_idle_ns.
 *
 * fork: the child process has none of the threads. The child may only call exec.
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
    ELAPSE_CLOCK_MONOTONIC = 0, /* CLOCK_MONOTONIC, which stops while the machine is suspended */
    ELAPSE_CLOCK_BOOTTIME = 1,  /* CLOCK_BOOTTIME, which goes on while the machine is suspended */
    /* The time is manual: elapse_scheduler_step sets it. The scheduler has no threads: step runs
     * everything that is due on the calling thread. Manual time is for tests and simulations. */
    ELAPSE_CLOCK_MANUAL = 2,
};

/* A function for tracing. It gets each run of an action, and is called on the thread that runs the
 * action. The rules of an action hold for this function too. `task_context` may be destroyed once
 * the task has ended. */
typedef void elapse_trace_function(void *trace_context, const struct elapse_run *run,
                                   elapse_action_function *action, void *task_context);

/* Options of a scheduler. elapse_scheduler_options_init sets the defaults. */
struct elapse_scheduler_options {
    size_t struct_bytes;     /* set by elapse_scheduler_options_init; do not change it */
    enum elapse_clock clock; /* default ELAPSE_CLOCK_MONOTONIC */
    /* The length of a tick, 1 to 3,600,000,000,000 (an hour). Default 1,000,000. */
    uint64_t tick_ns;
    /* The greatest number of workers, 0 to 4096. Default 10. With 0 workers the actions run on the
     * clock thread. Then a slow action delays all others. */
    unsigned workers;
    /* How long a worker waits for a task before its thread ends. So the threads that a burst of
     * tasks needs do not stay for ever. A worker is made again when it is needed. 0: workers stay
     * until the scheduler is closed. Default 0. */
    uint64_t worker_idle_ns;
    /* The number of workers that stay once they were made, however long they wait, 1 to 4096. If it
     * is greater than `workers`, all workers stay. One worker always stays, so a due task has a
     * worker even if the system refuses new threads. This option has no meaning if worker_idle_ns
     * is 0. Default 1. */
    unsigned workers_min;
    /* True: pull mode. The scheduler has no threads and runs nothing. Threads of the caller get due
     * tasks by elapse_task_take. The action of a task may be NULL. The options about workers and
     * queued tasks have no meaning. Default false. */
    bool pull;
    /* Pull mode: the lease, which is how long a thread holds a task that it has taken. After the
     * lease the task is due again, and any thread can take it. So a thread that has died does not
     * keep a task and its key for ever. 0: a thread holds a task without end. In other modes a
     * lease is refused with ARGUMENT. Default 0. */
    uint64_t lease_ns;
    /* How many due tasks may wait for a worker in the work queue, 1 to 1,048,576. Further due tasks
     * stay in the wheels, where they can still be cancelled (back-pressure). Default 1024. */
    unsigned queue_tasks;
    /* The number of shards, 1 to 256. A shard is a part of the scheduler with a lock of its own,
     * and threads are spread over the shards. 0: one shard for each processor, but at most 16; with
     * manual time one shard. */
    unsigned shards;
    /* The greatest number of pending tasks. 0: only memory limits the number. A shard holds at most
     * 67,108,864 tasks, pending and running. */
    uint64_t pending_max;
    /* True: tasks are refused with ARGUMENT until the scheduler is started. This finds a start that
     * was forgotten. False: tasks wait until the scheduler is started. Default false. */
    bool refuse_before_start;
    /* The size of the stack of each thread. 0: the default size of the system. A size with which no
     * thread can be made is refused with ARGUMENT. */
    size_t stack_bytes;
    /* NULL, or a function that each thread of the scheduler calls first, with the name of the
     * thread. The function can set priorities or processors, or can trace. */
    void (*thread_started)(const char *name, void *context);
    void *thread_started_context; /* passed to thread_started */
    /* Each of these two is NULL or a function. The first is called right before an action begins.
     * The second is called right after an action has returned, and before the destructor of the
     * task. Both are called without any lock, on the thread that runs the action. They take time
     * from that thread, so they should be short. They are not called in pull mode, because the
     * thread that takes a task knows when the action begins. */
    elapse_trace_function *action_begins;
    elapse_trace_function *action_ends;
    void *trace_context; /* passed to action_begins and action_ends */
    /* The allocator. If both its functions are NULL, the scheduler uses the allocator of the C
     * library. */
    struct elapse_allocator allocator;
};

/* elapse_scheduler_options_init calls this, with the size of the caller's struct. */
ELAPSE_API void elapse_scheduler_options_init_sized(struct elapse_scheduler_options *options,
                                                    size_t options_bytes);

/* Sets all options to their defaults. Always call this function first. Cost: O(1). Cannot fail. */
static inline void elapse_scheduler_options_init(struct elapse_scheduler_options *options)
{
    elapse_scheduler_options_init_sized(options, sizeof *options);
}

/*
 * Makes a scheduler without threads and stores it in `*scheduler`. Tasks may be scheduled from then
 * on, and run once the scheduler is started. If `options` is NULL, all options have their defaults.
 * Errors: ABI (options were initialised by another version), ARGUMENT, MEMORY, SYSTEM. After an
 * error `*scheduler` is NULL.
 * Cost: O(shards), a few allocations.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_scheduler_new(const struct elapse_scheduler_options *options,
                     struct elapse_scheduler **scheduler);

/*
 * Starts the scheduler. Makes the clock thread and, unless the options ask for 0 workers, the first
 * worker. Tasks begin to run. If the scheduler is started already, or its time is manual, the call
 * changes nothing.
 * Errors: SYSTEM (the system refused a thread or an alarm, or there is no memory for it), CLOSED,
 * BUSY (another thread is inside start). After an error nothing is left running, and start may be
 * tried again.
 * Cost: making one thread or two.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_scheduler_start(struct elapse_scheduler *scheduler);

/* What happens to pending tasks when the scheduler is closed. */
enum elapse_close {
    /* All pending tasks are removed, and their contexts are destroyed. */
    ELAPSE_CLOSE_DROP = 0,
    /* The tasks that are due when close is called run first. The other tasks are removed as by
     * DROP. */
    ELAPSE_CLOSE_RUN_DUE = 1,
    /* Each pending task is handed back. */
    ELAPSE_CLOSE_HAND_BACK = 2,
    /* All pending tasks run at once, also tasks that are not due yet. Each task runs once. The
     * tasks run in the order of their deadlines, as far as the promise on order goes. This is the
     * only case in which an action may begin before its deadline. A task that recurs ends with that
     * run, or with the run that is under way. A task whose deadline never comes is removed as by
     * DROP. */
    ELAPSE_CLOSE_RUN_ALL = 3,
    /* Each task that does not recur runs at its deadline, by the clock of that deadline. Close
     * waits until the last of these tasks has run. To limit that wait, call
     * elapse_scheduler_close_within. A task that recurs is removed as by DROP, also if it recurs by
     * cron, and also if it is due. A task that recurs and is running ends with that run. A task
     * whose deadline never comes is removed too. */
    ELAPSE_CLOSE_RUN_DELAYED = 4,
};

/* A task that closing hands back. The struct is valid only during the call, and so are its key and
 * its cron expression. */
struct elapse_handed_back {
    /* The task as it was scheduled, without key policy and slack. If its period was changed, or its
     * expression and zone, this has the new ones. */
    struct elapse_task task;
    uint64_t deadline_ns; /* when the task would have been due next */
    bool wall_clock;      /* the deadline is a wall-clock time */
};

/* A function that gets each task that closing hands back. It is called on the thread that closes,
 * and the tasks come in no particular order. The context of the task belongs to the caller again.
 */
typedef void elapse_hand_back_function(const struct elapse_handed_back *handed_back,
                                       void *hand_back_context);

/*
 * Closes the scheduler. From then on scheduling and rescheduling are refused. Waits for the actions
 * that are running. With RUN_DUE, RUN_ALL and RUN_DELAYED, also waits for the actions that are to
 * run. Then ends all threads, and treats the pending tasks as `how` says. Cancelling stays
 * possible; after the call it answers GONE.
 *
 * If an action that is to run waits for its key, and a destructor on another thread uses that key,
 * the call waits for the destructor. Such a destructor must not wait for the call.
 *
 * A scheduler that was never started can be closed too. Then RUN_DUE and RUN_ALL run the tasks on
 * the calling thread, as they do if time is manual. RUN_DELAYED requires a scheduler that is
 * started, or manual time. If time is manual, other threads step meanwhile.
 *
 * In pull mode the call wakes all threads that wait in a take, and waits until all taken tasks are
 * done. So a thread that has a taken task must not close the scheduler. When the call returns, the
 * destructor of the last task may still run, inside elapse_task_done or a take on another thread.
 * RUN_DUE and RUN_ALL are refused in pull mode with ARGUMENT. With RUN_DELAYED, threads go on
 * taking until all tasks are done, and are woken then.
 * Errors: IN_ACTION; CLOSED (the scheduler is closed already); BUSY (another thread is starting or
 * closing the scheduler); ARGUMENT (`how` is HAND_BACK and `hand_back` is NULL; or `how` is
 * RUN_DELAYED, and the scheduler was not started and time is not manual; or `how` is unknown).
 * Cost: O(tasks), and the waits.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_scheduler_close(struct elapse_scheduler *scheduler, enum elapse_close how,
                       elapse_hand_back_function *hand_back, void *hand_back_context);

/*
 * Closes the scheduler as elapse_scheduler_close does, but waits no longer than `timeout_ns` by
 * CLOCK_MONOTONIC. With a `timeout_ns` of ELAPSE_NEVER the wait has no limit. Actions that run on
 * the calling thread, destructors and `hand_back` are not interrupted.
 *
 * After TIMEOUT the scheduler is closing. Scheduling is refused. Running actions go on. Pending
 * tasks are still pending and can be cancelled. Nothing is freed. With RUN_DUE and RUN_ALL, workers
 * also begin the actions that were handed to them. With RUN_DELAYED, tasks go on running at their
 * deadlines. In a program whose only thread steps or takes, that thread calls this function with a
 * timeout of 0, and goes on stepping or taking until the answer is OK. In pull mode the answer is
 * TIMEOUT also if the time was too short for the threads that wait in a take to wake up.
 *
 * After TIMEOUT any thread may call this function, elapse_scheduler_close or elapse_scheduler_free.
 * That call goes on closing and waits again. It may name the same `how` as before, or DROP or
 * HAND_BACK, which begin no further actions.
 * Errors: as elapse_scheduler_close; TIMEOUT; ARGUMENT also if a close that timed out began
 * with another `how`, and `how` is now RUN_DUE, RUN_ALL or RUN_DELAYED.
 * Cost: that of elapse_scheduler_close.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_scheduler_close_within(struct elapse_scheduler *scheduler, enum elapse_close how,
                              elapse_hand_back_function *hand_back, void *hand_back_context,
                              uint64_t timeout_ns);

/* Where a scheduler is in its life. */
enum elapse_life {
    ELAPSE_LIFE_NEW = 0,     /* the scheduler is not started yet */
    ELAPSE_LIFE_STARTED = 1, /* due tasks run */
    ELAPSE_LIFE_CLOSING = 2, /* a close has begun and has not ended, or has timed out */
    ELAPSE_LIFE_CLOSED = 3,  /* no task is left */
};

/* Returns where the scheduler is in its life. The answer may be out of date when the caller reads
 * it. Cost: O(1). Cannot fail. */
ELAPSE_API enum elapse_life elapse_scheduler_life(const struct elapse_scheduler *scheduler);

/*
 * Releases all memory of the scheduler. If the scheduler is not closed, closes it first by DROP. If
 * `scheduler` is NULL, does nothing. Requires that no other thread is inside a call on the
 * scheduler, or begins one.
 * Errors: IN_ACTION (the call came from an action of the scheduler), BUSY (another thread starts or
 * closes the scheduler). After an error nothing was done.
 * Cost: O(tasks); O(shards) if the scheduler is closed.
 */
ELAPSE_API enum elapse_error elapse_scheduler_free(struct elapse_scheduler *scheduler);

/*
 * Gives memory back to the allocator: blocks without tasks, and parts of the key index without
 * keys. Returns how many bytes were given back. Other threads may call the scheduler meanwhile.
 * Cannot fail.
 * Cost: O(tasks and keys for which there is memory), a lock for each block.
 */
ELAPSE_API size_t elapse_scheduler_trim(struct elapse_scheduler *scheduler);

/* ---- time ---- */

/* Returns the time of the monotonic clock. Cost: reading the clock. Cannot fail. */
ELAPSE_API uint64_t elapse_scheduler_now_ns(const struct elapse_scheduler *scheduler);

/* Returns the time of the wall clock, in nanoseconds since 1970-01-01T00:00:00Z. Cost: reading the
 * clock. Cannot fail. */
ELAPSE_API uint64_t elapse_scheduler_wall_clock_ns(const struct elapse_scheduler *scheduler);

/*
 * Returns the earliest time at which there may be something to do; ELAPSE_NEVER if no task is
 * pending. This time is never later than the first deadline. It is earlier only if a task was
 * cancelled or rescheduled. With manual time, step to this time.
 * Cost: O(shards). Cannot fail.
 */
ELAPSE_API uint64_t elapse_scheduler_next_ns(struct elapse_scheduler *scheduler);

/*
 * Sets manual time to `now_ns`, and runs due tasks on the calling thread until no task is due. A
 * time earlier than the present one is ignored. The tasks of each of the two clocks run in the
 * order of their deadlines. While tasks are due by both clocks, the clocks take turns. A task that
 * is scheduled meanwhile and is due runs too. If `ran` is not NULL, stores in `*ran` how many
 * actions ran. A new manual clock stands at 0.
 *
 * The time jumps. Actions see `now_ns`, however long ago they were due. Periods that lie between
 * the old and the new time were missed. To go through time deadline by deadline:
 *
 *     while ((next_ns = elapse_scheduler_next_ns(scheduler)) <= end_ns)
 *         (void)elapse_scheduler_step(scheduler, next_ns, NULL);
 *
 * Errors: ARGUMENT (time is not manual); IN_ACTION; BUSY (another thread steps); CLOSED (closing
 * has begun; if closing is by RUN_DELAYED, no task is left).
 * Cost: O(shards), and for each task that runs O(shards) and its action.
 */
ELAPSE_API enum elapse_error elapse_scheduler_step(struct elapse_scheduler *scheduler,
                                                   uint64_t now_ns, size_t *ran);

/*
 * Sets the manual wall clock, forward or back. elapse_scheduler_step also moves the wall clock
 * forward with the time. A new manual wall clock stands at 0, the beginning of 1970. Tasks that
 * become due by this call run at the next step, even if that step does not move the time.
 * Errors: ARGUMENT (time is not manual).
 * Cost: O(1).
 */
ELAPSE_API enum elapse_error elapse_scheduler_set_wall_clock(struct elapse_scheduler *scheduler,
                                                             uint64_t unix_ns);

/* ---- statistics ---- */

/* The number of buckets of a histogram. There are 8 buckets for each doubling of the lateness. */
#define ELAPSE_LATENESS_BUCKETS 496

/* What a scheduler counts. */
struct elapse_statistics {
    /* Since new. */
    uint64_t scheduled;       /* tasks accepted; a task that KEEP kept out does not count */
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
    /* The lateness of the oldest task that is due and has not begun, by the clock of its deadline;
     * 0 if there is no such task. This number may be too large for a moment, because a deadline
     * that was cancelled or postponed counts until the scheduler has looked for due tasks. After
     * the wall clock was set back, tasks with a wall-clock time do not count for a while: until
     * their order is made anew. */
    uint64_t oldest_overdue_ns;
    /* How much later than its deadline an action began: the greatest lateness, and the number of
     * actions in each bucket. */
    uint64_t lateness_max_ns;
    uint64_t lateness[ELAPSE_LATENESS_BUCKETS];
};

/*
 * Stores the counts of all shards together in `*statistics`. The shards are read one after the
 * other. So while other threads are busy, the counts of different shards are of slightly different
 * moments.
 * Cost: O(shards), each lock once; reading both clocks. Cannot fail.
 */
ELAPSE_API void elapse_scheduler_statistics(struct elapse_scheduler *scheduler,
                                            struct elapse_statistics *statistics);

/*
 * Returns the lateness that the share `quantile` (0 to 1) of all actions did not exceed. The answer
 * is at most an eighth too large, and is at most lateness_max_ns. Returns 0 if no action has begun.
 * Reads only the struct.
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
