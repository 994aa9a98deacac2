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
 * The files lie on two floors. Files on the lower floor do not know this struct: shard*.c,
 * task_table.c, key_index.c, recurrence.c, sleeper.c, work_queue.c and so on. Files on the upper
 * floor do; the arrows between them point down only:
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
 * After the clock thread has ended, the thread that closes does.
 *
 * Locks: one for each shard, and one each for the sleeper, the work queue, stepping and pulling. No
 * thread holds two at once, with one exception: in pull mode a thread that holds the lock of
 * pulling may take the lock of the sleeper. Builds with assertions test this: see lock.h.
 *
 * No thread calls the user's code while it holds a lock; that includes the allocator. Only these
 * calls of the system are made with a lock held: reading a clock, setting and resetting alarms, and
 * the calls that locks and conditions themselves make.
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

/* The thread of a worker, by its number. */
struct elapse__worker_thread {
    struct elapse_scheduler *scheduler;
    struct elapse__os_thread os;
    _Atomic bool is_used; /* it was made and has not been joined */
};

struct elapse_scheduler {
    /* Members that never change after new. */
    struct elapse_scheduler_options options; /* defaults are replaced by values */
    struct elapse__hash_secret hash_secret;
    struct elapse__shard *shards;          /* options.shards of them */
    struct elapse__worker_thread *workers; /* options.workers of them */

    _Atomic int life;                      /* enum elapse__life; each change is one exchange */
    _Atomic uint64_t manual_now_ns;        /* the monotonic clock where time is manual */
    _Atomic uint64_t manual_wall_clock_ns; /* the wall clock where time is manual */
    _Atomic bool clock_ending;        /* the clock thread, or a thread that steps, must leave */
    enum elapse_close closing_how;    /* since close began; guarded by close_paused */
    bool runs_all;                    /* `runs_all` of the shards; used by the closing thread */
    bool has_clock_thread;            /* it was made and has not been joined */
    _Atomic bool close_paused;        /* no thread is inside close: a close timed out */
    _Atomic bool hurries;             /* close waits for the running actions, and runs no others */
    _Atomic uint64_t pending;         /* of all shards; counted only if there is a limit */
    _Atomic uint64_t refused_threads; /* workers that the system refused to start */
    _Atomic uint64_t held_back;       /* how often the work queue was full */
    unsigned next_worker; /* where the search for a free number begins; used by the thread that puts
                             handles into the queue, and by start and close */
    struct elapse__os_thread clock_thread; /* while STARTED */
    _Atomic bool wall_clock_first; /* the next task that is run in order, or taken, is one by the
                                      wall clock */
    unsigned next_shard;           /* delivery goes on with this shard; one thread uses it */
    struct elapse__lock step_lock;
    struct elapse__condition step_over; /* `stepping` became false */
    bool stepping; /* guarded by step_lock: a thread is inside step, or it is the clock thread and
                      runs tasks */
    struct elapse__lock pull_lock;
    struct elapse__condition pull_turn; /* `pull_turn_taken` became false, or close has begun */
    bool pull_turn_taken;               /* guarded by pull_lock: a thread in take sleeps for all */
    _Atomic int descriptor;             /* readable while an alarm is; or NO_DESCRIPTOR */
    struct elapse__sleeper sleeper;
    struct elapse__work_queue queue;
};

/* Returns the shard of the calling thread, which the thread keeps. */
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

/* Wakes the clock thread if `ticks` precede its alarms. Requires that no lock is held: the lock of
 * the shard in which the timer was started must have been released. */
static inline void elapse__scheduler_wake_at(struct elapse_scheduler *scheduler,
                                             struct elapse__ticks ticks)
{
    ELAPSE__ASSERT_NO_LOCK_HELD();
    elapse__sleeper_wake_at(&scheduler->sleeper, ticks);
}

#endif
