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
 * The clock thread sleeps on the sleeper (sleeper.h) until the earliest deadline. A delivery takes
 * due tasks from the shards, and puts their handles into the work queue.
 *
 * Each file is on one of two floors. A file is on the upper floor if it uses struct
 * elapse_scheduler. A file on the lower floor uses only parts of a scheduler. Examples of the lower
 * floor are shard.c, task_table.c, key_index.c, recurrence.c, sleeper.c and work_queue.c. On the
 * upper floor, an arrow goes from a file to a file whose functions it calls. All arrows point down:
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
 * If time is manual, there is no clock thread and no worker: the thread that calls step does their
 * work. When a scheduler closes, the clock thread ends before the workers. From then on the thread
 * that closes the scheduler does the work of the clock thread.
 *
 * Each shard has a lock. The sleeper and the work queue have a lock each. `step_lock` guards
 * `stepping` and `keys_released`, and `pull_lock` guards `pull_turn_taken`. No thread holds two
 * locks at once, with one exception: in pull mode a thread that holds `pull_lock` may take the lock
 * of the sleeper. Builds with assertions test this rule: see lock.h.
 *
 * No thread calls the user's code while it holds a lock. The allocator is the user's code, too. A
 * thread that holds a lock makes only these calls of the system: it reads a clock, it sets and
 * resets alarms, and it makes the calls that locks and conditions need.
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
 *       +------ close without a start -------+
 *       |                                    v
 *      NEW ---> STARTING ---> STARTED ---> close --+--> RUNS_DELAYED --+--> CLOSING ---> CLOSED
 *       ^          |                               |                   |
 *       +----------+                               +-------------------+
 *      the start failed
 *
 * RUNS_DELAYED: the shards are closed, and delayed tasks still run at their deadlines. Close goes
 * from NEW to RUNS_DELAYED only if time is manual.
 *
 * The stage goes back in one case: the thread that starts the scheduler sets NEW again if it could
 * not make all threads.
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

    _Atomic int life;                      /* enum elapse__life */
    _Atomic uint64_t manual_now_ns;        /* the monotonic time, if time is manual */
    _Atomic uint64_t manual_wall_clock_ns; /* the wall-clock time, if time is manual */
    _Atomic bool clock_ending; /* the clock thread, or a thread that steps, must leave */
    /* How the scheduler is closed. Only the thread inside close uses this. If that close times out,
     * `close_paused` passes it to the next thread that calls close. */
    enum elapse_close closing_how;
    bool runs_all; /* each shard has a copy, its `runs_all`; only the closing thread uses this */
    bool has_clock_thread;     /* the thread was made and has not been joined */
    _Atomic bool close_paused; /* a close timed out, and no thread is inside close now */
    _Atomic bool hurries;      /* close waits for the running actions, and runs no other action */
    /* Tasks that are pending in all shards; counted only if there is a limit. */
    _Atomic uint64_t pending;
    _Atomic uint64_t refused_threads; /* workers that the system refused to start */
    _Atomic uint64_t held_back;       /* how often the work queue was full */
    unsigned next_worker; /* the search for a free number of a worker begins here; used by the
                             thread that puts handles into the queue, and by start and close */
    struct elapse__os_thread clock_thread; /* has a value while `has_clock_thread` is true */
    _Atomic bool wall_clock_first; /* if tasks are due by both clocks, a task by the wall clock is
                                      run or taken next */
    unsigned next_shard; /* the next delivery begins with this shard; used by the thread that puts
                            handles into the queue */
    struct elapse__lock step_lock;
    struct elapse__condition step_over; /* `stepping` became false, or `keys_released` has grown */
    /* A thread is inside step, or the clock thread runs tasks. Guarded by step_lock. */
    bool stepping;
    /* How often a destructor has released its key since closing began. Guarded by step_lock. */
    uint64_t keys_released;
    struct elapse__lock pull_lock;
    struct elapse__condition pull_turn; /* `pull_turn_taken` became false, or close has begun */
    bool pull_turn_taken; /* one of the threads that wait in take has the turn: it sleeps until the
                             earliest deadline, and the others wait for it; guarded by pull_lock */
    /* In pull mode, an event loop of the user waits for this descriptor. The descriptor becomes
     * readable when an alarm of the sleeper goes off, and stays readable until the alarm is reset.
     * ELAPSE__OS_NO_DESCRIPTOR: there is no descriptor. */
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

/* Goes on from the stage `from` to the later stage `to`, in one atomic step. Returns false and
 * changes nothing if the scheduler is not at the stage `from`. Two changes do not need this
 * function, because only one thread can make them: the end of a start, which may go back to NEW,
 * and the end of close. */
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

/* Makes sure that the clock thread is awake when these ticks begin. If an alarm of the sleeper is
 * set to a later tick, sets the alarm to the earlier tick. Requires that the caller holds no lock.
 * So a caller that has put a task into a shard releases the lock of that shard first. */
static inline void elapse__scheduler_wake_at(struct elapse_scheduler *scheduler,
                                             struct elapse__ticks ticks)
{
    ELAPSE__ASSERT_NO_LOCK_HELD();
    elapse__sleeper_wake_at(&scheduler->sleeper, ticks);
}

#endif
