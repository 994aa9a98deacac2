/*
 * Elapse: pull mode, a delay queue. Threads take due tasks from a scheduler that was made with
 * options.pull, and say when they are done. <elapse/scheduler.h> makes the scheduler and includes
 * this header.
 *
 *     while (elapse_task_take(scheduler, ELAPSE_NEVER, &taken) == ELAPSE_OK) {
 *         taken.action(taken.context, &taken.run);
 *         (void)elapse_task_done(scheduler, taken.run.handle);
 *     }
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
#ifndef ELAPSE_PULL_H
#define ELAPSE_PULL_H

#include <stddef.h>
#include <stdint.h>

#include <elapse/attributes.h>
#include <elapse/error.h>
#include <elapse/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A task that was taken. */
struct elapse_taken {
    elapse_action_function *action; /* as scheduled; only the taker calls it, if it wants to */
    void *context;                  /* as scheduled */
    struct elapse_run run;          /* as an action would get it */
    /* Until when the taker holds the task, if the scheduler has leases: options.lease_ns from the
     * end of the take, rounded up to a tick. Otherwise ELAPSE_NEVER. */
    uint64_t lease_until_ns;
    uint64_t lease_number; /* tells this taking from the others of the task; leave it */
};

/*
 * Takes the next task that is due. Waits until there is one, for at most `timeout_ns` (0: it does
 * not wait; ELAPSE_NEVER: without end). A taken task is running until elapse_task_done. Any number
 * of threads may take; each task goes to one of them. On manual time it never waits.
 *
 * Order: tasks of one shard are handed out by deadline tick, and at one tick in the order of
 * scheduling. A task whose lease has expired counts as due at the tick at which the lease ended,
 * and comes before the others of that tick. If tasks are due by the monotonic clock and by the wall
 * clock, the clocks take turns; leases go by the monotonic clock. So tasks that outlive every lease
 * keep no other task waiting for ever.
 *
 * Errors: NOTHING_DUE (time-out), CLOSED (also for those that wait when closing begins), ARGUMENT
 * (not in pull mode, or not started where time is not manual).
 * Cost: a lock or two; with leases another one for each shard that it takes from. One of the
 * threads that wait sleeps until the next deadline; the others wait for it.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_task_take(struct elapse_scheduler *scheduler,
                                                                uint64_t timeout_ns,
                                                                struct elapse_taken *taken);

/*
 * Takes up to `capacity` tasks that are due, and waits as elapse_task_take for the first of them.
 * Stores in `*count` how many it took, 0 after an error.
 *
 * A task is in a batch once. Its lease does not begin before the batch is complete, and until then
 * no other thread can take the task. Then all leases of the batch run at the same time, also the
 * leases of the tasks that the thread comes to last: take no more tasks than the thread can do in
 * one lease, or extend the leases. A take may have to call the destructor of a cancelled task (see
 * elapse_task_extend_lease). It does so only while it has taken nothing. If it has taken a task, it
 * returns before that, although more tasks may be due.
 * Errors: as elapse_task_take; ARGUMENT also for a capacity of 0.
 * Cost: as elapse_task_take, and O(1) for each task.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_take_batch(struct elapse_scheduler *scheduler, uint64_t timeout_ns,
                       struct elapse_taken *taken, size_t capacity, size_t *count);

/*
 * Ends a task that was taken, as the return of an action does in the other modes: the task recurs,
 * or goes to the deadline that it was rescheduled to, or has ended. In the last case its context is
 * destroyed on this thread. Any thread may call it, once for each time the task was taken.
 * Errors: GONE (it was not taken, or is done already), ARGUMENT (not in pull mode; or the scheduler
 * has leases: a handle cannot tell which of two takers is done, so call elapse_task_done_taken).
 * Cost: O(1), a lock or two.
 */
ELAPSE_API enum elapse_error elapse_task_done(struct elapse_scheduler *scheduler,
                                              struct elapse_handle handle);

/*
 * Ends a task as elapse_task_done does, but names it by what the take has stored. With
 * options.lease_ns, only the thread that holds the task can end it: once the lease has expired, the
 * answer is GONE, whether another thread has taken the task or not.
 * Errors: GONE (the lease has expired; or it is done already), ARGUMENT (not in pull mode).
 * Cost: as elapse_task_done, and reading the clock.
 */
ELAPSE_API enum elapse_error elapse_task_done_taken(struct elapse_scheduler *scheduler,
                                                    const struct elapse_taken *taken);

/*
 * Begins the lease of a taken task anew: it lasts options.lease_ns from now. Stores the new end in
 * taken->lease_until_ns.
 *
 * A lease is rounded up to a tick. When it expires, the task stays running for all other calls: a
 * cancel answers RUNNING, since the late thread may still be at work, and the next task with the
 * same key waits. But the task is due again, and a take returns it in its turn (see
 * elapse_task_take) as another attempt of the same run. If the task was cancelled meanwhile, the
 * take ends it instead, on the thread that takes. A close does not wait for expired leases, and
 * treats their tasks as pending: at the deadline of the run that is not done, or at the deadline
 * that the task was rescheduled to meanwhile; and with the period or the expression that it was
 * given meanwhile. Errors: GONE (as elapse_task_done_taken), ARGUMENT (the scheduler has no
 * leases). Cost: O(1); reading the clock, a lock.
 */
ELAPSE_API enum elapse_error elapse_task_extend_lease(struct elapse_scheduler *scheduler,
                                                      struct elapse_taken *taken);

/*
 * Returns a descriptor for poll, epoll and event loops. It becomes readable when a task may be due;
 * sometimes spuriously, for example after a cancel. Then take with a time-out of 0 until
 * NOTHING_DUE: only that makes it unreadable again, and only while no thread waits in take. So use
 * either the descriptor or waiting takes, not both. Closing the scheduler makes it readable for
 * good, so that an event loop wakes up and take returns CLOSED; freeing the scheduler closes it. Do
 * not read, write or close it. Returns -1 if the scheduler is not in pull mode, is not started, or
 * has manual time.
 * Cost: O(1).
 */
ELAPSE_API int elapse_scheduler_descriptor(const struct elapse_scheduler *scheduler);

#ifdef __cplusplus
}
#endif

#endif
