/*
 * The parts of a scheduler, and which thread does what:
 *
 *      threads of the user           clock thread               workers
 *      schedule.c, cancel.c          clock_thread.c             workers.c
 *            |                        |   ^     |                 |   ^
 *            | lock, change           |   |     | put             |   | take
 *            v                        |   |     +---> work queue -+---+
 *      shards (shard.h) <--- lock, take due, begin, finish -------+
 *            |                            |
 *            +----- wake_at (earlier) ----+ sleeper
 *
 * The files lie on two floors. Files on the lower floor do not use struct elapse_scheduler:
 * shard*.c, task_table.c, key_index.c, recurrence.c, sleeper.c, work_queue.c and so on. Files on
 * the upper floor use it. The arrows between the files of the upper floor point down only:
 *
 *      life.c, close.c                       new, start, free; close
 *        |        |         |       |
 *      pull.c   clock_thread.c -> step.c     run due tasks
 *        |        |     |           |
 *        |        |   workers.c     |
 *        +--------+-----+-----------+
 *                 |
 *               run.c                        an action from its beginning to its end
 *                 |
 *      due_search.c, callback.c, now.c
 *
 * If time is manual, the thread that calls step does the work of the clock thread and the workers.
 * After the clock thread has ended, the thread that closes the scheduler does this work.
 *
 * There is one lock for each shard, and one each for the sleeper, the work queue, stepping and
 * pulling. No thread holds two locks at once, with one exception: in pull mode a thread that holds
 * the lock of pulling may take the lock of the sleeper. Builds with assertions test this rule: see
 * lock.h.
 *
 * No thread calls the user's code while it holds a lock. The allocator is the user's code, too.
 * Only these calls of the system are made with a lock held: reading a clock, setting and resetting
 * alarms, and the calls that locks and conditions themselves make.
 */
#ifndef ELAPSE__SCHEDULER_H
#define ELAPSE__SCHEDULER_H

#include <stdatomic.h>

#include <elapse/scheduler.h>

#include "../base/allocator.h"
#include "../os/os.h"
#include "key_hash.h"
#include "shard.h"
#include "sleeper.h"
#include "ticks.h"
#include "work_queue.h"

/*
 *      NEW <----> STARTING ---> STARTED ---+--> RUNS_DELAYED ---> CLOSING ---> CLOSED
 *       |                                  |                         ^
 *       +----------------------------------+-------------------------+
 *
 * RUNS_DELAYED: the shards are closed, and delayed tasks still run at their deadlines.
 */
enum elapse__life {
    ELAPSE__LIFE_NEW,
    ELAPSE__LIFE_STARTING,
    ELAPSE__LIFE_STARTED,
    ELAPSE__LIFE_RUNS_DELAYED,
    ELAPSE__LIFE_CLOSING,
    ELAPSE__LIFE_CLOSED,
};

/* The thread of one worker. Its index in `workers` is the number of the worker. */
struct elapse__worker_thread {
    struct elapse_scheduler *scheduler;
    struct elapse__os_thread os;
    _Atomic bool is_used; /* the thread was made and has not been joined */
};

struct elapse_scheduler {
    /* Members that never change after new. */
    struct elapse_scheduler_options options; /* defaults are replaced by values */
    struct elapse__hash_secret hash_secret;
    struct elapse__shard *shards;          /* an array of options.shards shards */
    struct elapse__worker_thread *workers; /* an array of options.workers threads */

    _Atomic int life;                      /* enum elapse__life; each change is one exchange */
    _Atomic uint64_t manual_now_ns;        /* the monotonic time, if time is manual */
    _Atomic uint64_t manual_wall_clock_ns; /* the wall-clock time, if time is manual */
    _Atomic bool clock_ending; /* the clock thread, or a thread that steps, must leave */
    /* How to close; set when close begins, and guarded by close_paused. */
    enum elapse_close closing_how;
    bool runs_all; /* the shards have this as their `runs_all`; only the closing thread uses it */
    bool has_clock_thread;     /* the thread was made and has not been joined */
    _Atomic bool close_paused; /* no thread is inside close: a close timed out */
    _Atomic bool hurries;      /* close waits for the running actions, and runs no other action */
    /* Tasks that are pending in all shards; counted only if there is a limit. */
    _Atomic uint64_t pending;
    _Atomic uint64_t refused_threads; /* workers that the system refused to start */
    _Atomic uint64_t held_back;       /* how often the work queue was full */
    unsigned next_worker; /* the search for a free number of a worker begins here; used by the
                             thread that puts handles into the queue, and by start and close */
    struct elapse__os_thread clock_thread; /* means something while `life` is STARTED */
    _Atomic bool wall_clock_first; /* if tasks are due by both clocks, a task by the wall clock is
                                      run or taken next */
    unsigned next_shard; /* delivery goes on with this shard; only one thread uses this number */
    struct elapse__lock step_lock;
    struct elapse__condition step_over; /* `stepping` became false */
    /* A thread is inside step, or the clock thread runs tasks. Guarded by step_lock. */
    bool stepping;
    struct elapse__lock pull_lock;
    struct elapse__condition pull_turn; /* `pull_turn_taken` became false, or close has begun */
    bool pull_turn_taken; /* one of the threads that wait in take has the turn: it sleeps until the
                             earliest deadline, and the others wait for it; guarded by pull_lock */
    /* A descriptor that is readable while an alarm is readable; or NO_DESCRIPTOR. */
    _Atomic int descriptor;
    struct elapse__sleeper sleeper;
    struct elapse__work_queue queue;
};

/* Returns the shard of the calling thread. A thread keeps its shard. */
struct elapse__shard *elapse__shard_of_thread(struct elapse_scheduler *scheduler);

/* Returns the shard of a key. */
static inline struct elapse__shard *elapse__shard_of_key(struct elapse_scheduler *scheduler,
                                                         uint64_t hash)
{
    /* The key index of the shard uses the low bits. */
    return &scheduler->shards[(hash >> 32) % scheduler->options.shards];
}

/* Returns the shard that a handle names; NULL if there is no such shard. */
static inline struct elapse__shard *elapse__shard_of_handle(struct elapse_scheduler *scheduler,
                                                            struct elapse_handle handle)
{
    return handle.shard < scheduler->options.shards ? &scheduler->shards[handle.shard] : NULL;
}

/* Changes the stage of life in one atomic step. Returns false if the scheduler was not at the stage
 * `from`. */
static inline bool elapse__change_life(struct elapse_scheduler *scheduler, enum elapse__life from,
                                       enum elapse__life to)
{
    ELAPSE__ASSERT_THAT(from, <, to);
    int expected = (int)from;
    return atomic_compare_exchange_strong(&scheduler->life, &expected, (int)to);
}

/* Returns the present tick by both clocks. */
static inline struct elapse__ticks elapse__now(const struct elapse_scheduler *scheduler)
{
    const uint64_t tick_ns = scheduler->options.tick_ns;
    return (struct elapse__ticks){
        .monotonic = elapse__tick_of_now(elapse_scheduler_now_ns(scheduler), tick_ns),
        .wall_clock = elapse__tick_of_now(elapse_scheduler_wall_clock_ns(scheduler), tick_ns),
    };
}

/* Wakes the clock thread if its alarms are later than `ticks`. Requires that no lock is held: the
 * caller has released the lock of the shard in which it started the timer. */
static inline void elapse__scheduler_wake_at(struct elapse_scheduler *scheduler,
                                             struct elapse__ticks ticks)
{
    ELAPSE__ASSERT_NO_LOCK_HELD();
    elapse__sleeper_wake_at(&scheduler->sleeper, ticks);
}

#endif
