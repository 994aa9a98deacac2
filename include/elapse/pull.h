/*
 * Elapse: pull mode, a delay queue. The scheduler is made with options.pull. Threads of the caller
 * take due tasks from the scheduler, and report when the tasks are done. <elapse/scheduler.h> makes
 * the scheduler and includes this header.
 *
 *     while (elapse_task_take(scheduler, ELAPSE_NEVER, &taken) == ELAPSE_OK) {
 *         taken.action(taken.context, &taken.run);
 *         (void)elapse_task_done(scheduler, taken.run.handle);
 *     }
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
    elapse_action_function *action; /* the action of the task; only the taker calls it */
    void *context;                  /* the context of the task */
    struct elapse_run run;          /* the run that an action would get */
    /* The end of the lease, if the scheduler has leases: options.lease_ns after the end of the
     * take, rounded up to a tick. If the scheduler has no leases: ELAPSE_NEVER. */
    uint64_t lease_until_ns;
    uint64_t lease_number; /* differs each time that the task is taken; leave it as it is */
};

/*
 * Takes the next task that is due. Waits until a task is due, but at most `timeout_ns`. With a
 * `timeout_ns` of 0 the call does not wait; with ELAPSE_NEVER the wait has no end. With manual time
 * the call never waits. A taken task is running until elapse_task_done. Any number of threads may
 * take tasks. Each task goes to one thread.
 *
 * Order: the tasks of one shard are taken by the ticks of their deadlines. Tasks of one tick are
 * taken in the order of scheduling. A task whose lease has expired counts as due at the tick at
 * which the lease ended, and comes before the other tasks of that tick. If tasks are due by the
 * monotonic clock and by the wall clock, the clocks take turns. Leases go by the monotonic clock.
 * So no task waits for ever behind tasks whose leases expire again and again.
 *
 * Errors: NOTHING_DUE (the wait has ended), CLOSED (also for calls that wait when closing begins),
 * ARGUMENT (the scheduler is not in pull mode; or it is not started, and time is not manual).
 * Cost: one lock or two. With leases the call takes another lock for each shard from which it takes
 * a task. One of the threads that wait sleeps until the next deadline, and the other threads wait
 * for that thread.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_task_take(struct elapse_scheduler *scheduler,
                                                                uint64_t timeout_ns,
                                                                struct elapse_taken *taken);

/*
 * Takes up to `capacity` tasks that are due. Waits for the first task as elapse_task_take does.
 * Stores in `*count` how many tasks were taken, which is 0 after an error.
 *
 * A task is in a batch at most once. The leases of all tasks of a batch begin when the batch is
 * complete. Until then no other thread can take the tasks. All leases run at the same time, also
 * those of the tasks that the thread does last. So take no more tasks than the thread can do in one
 * lease, or extend the leases. A take may have to call the destructor of a cancelled task (see
 * elapse_task_extend_lease). A take does so only while it has taken no task. Otherwise it returns
 * before that, although more tasks may be due. While the destructor runs, other threads take tasks
 * as soon as they are due.
 * Errors: as elapse_task_take; ARGUMENT also for a capacity of 0.
 * Cost: that of elapse_task_take, and O(1) for each task.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_task_take_batch(struct elapse_scheduler *scheduler, uint64_t timeout_ns,
                       struct elapse_taken *taken, size_t capacity, size_t *count);

/*
 * Reports that a taken task is done. The call has the effect that the return of an action has in
 * the other modes. The task recurs, or waits for the deadline to which it was rescheduled, or has
 * ended. If the task has ended, its context is destroyed on this thread. Any thread may make this
 * call, once for each time that the task was taken.
 * Errors: GONE (the task was not taken, or is done already), ARGUMENT (the scheduler is not in pull
 * mode; or it has leases). With leases, call elapse_task_done_taken, because a handle cannot tell
 * which of two takers is done.
 * Cost: O(1), a lock or two.
 */
ELAPSE_API enum elapse_error elapse_task_done(struct elapse_scheduler *scheduler,
                                              struct elapse_handle handle);

/*
 * Reports that a taken task is done, as elapse_task_done does. `taken` is what the take has stored.
 * With options.lease_ns, only the thread that holds the task can report it as done. After the lease
 * has expired the answer is GONE, whether another thread has taken the task or not.
 * Errors: GONE (the lease has expired, or the task is done already), ARGUMENT (the scheduler is not
 * in pull mode).
 * Cost: that of elapse_task_done, and reading the clock.
 */
ELAPSE_API enum elapse_error elapse_task_done_taken(struct elapse_scheduler *scheduler,
                                                    const struct elapse_taken *taken);

/*
 * Begins the lease of a taken task anew. The lease lasts options.lease_ns from now. Stores the new
 * end of the lease in taken->lease_until_ns.
 *
 * The end of a lease is rounded up to a tick. When a lease expires, the task is due again, and a
 * take returns the task as another attempt of the same run (see elapse_task_take). If the task was
 * cancelled meanwhile, the take ends the task instead, on the thread that takes. For all other
 * calls the task stays running after its lease has expired. A cancel answers RUNNING, because the
 * late thread may still be at work. The next task with the same key waits.
 *
 * A close does not wait for a task whose lease has expired, and treats the task as pending. Its
 * deadline is that of the run that is not done, or the deadline to which the task was rescheduled
 * meanwhile. If the task was given another period or expression meanwhile, that one counts.
 * Errors: GONE (the lease has expired, or the task is done already), ARGUMENT (the scheduler has no
 * leases).
 * Cost: O(1); reading the clock, a lock.
 */
ELAPSE_API enum elapse_error elapse_task_extend_lease(struct elapse_scheduler *scheduler,
                                                      struct elapse_taken *taken);

/*
 * Returns a descriptor for poll, epoll and event loops. Returns -1 if the scheduler is not in pull
 * mode, is not started, or has manual time.
 *
 * The descriptor becomes readable when a task may be due. It sometimes becomes readable although no
 * task is due, for example after a cancel. When the descriptor is readable, take tasks with a
 * time-out of 0 until the answer is NOTHING_DUE. Only that answer makes the descriptor unreadable
 * again, and only while no thread waits in a take. So use either the descriptor or takes that wait,
 * not both. Closing the scheduler makes the descriptor readable for good, so an event loop wakes
 * up, and a take returns CLOSED. Freeing the scheduler closes the descriptor. Do not read, write or
 * close the descriptor.
 * Cost: O(1).
 */
ELAPSE_API int elapse_scheduler_descriptor(const struct elapse_scheduler *scheduler);

#ifdef __cplusplus
}
#endif

#endif
