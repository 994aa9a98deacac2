/*
 * What a scheduler consists of, and which thread does what:
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
 * The files lie on two floors. Those below do not know this struct: shard*.c, task_table.c,
 * key_index.c, recurrence.c, sleeper.c, work_queue.c and so on. Those above do, and no two of
 * them need each other:
 *
 *      life.c, close.c                       new, start, free; close
 *        |        |         |       |
 *      pull.c   clock_thread.c    step.c     who runs what is due
 *        |        |     |           |
 *        |        |   workers.c     |
 *        +--------+-----+-----------+
 *                 |
 *               run.c                        an action from its beginning to its end
 *                 |
 *      due_search.c, callback.c, now.c
 *
 * Where time is manual, step stands in for the clock thread and the workers; at the end, close
 * does.
 *
 * Locks: of a shard, of the sleeper, of the work queue, of stepping, of pulling. No thread holds
 * two at once, with one exception: the thread that sets the alarms in pull mode holds the lock of
 * pulling and then that of the sleeper. No thread calls the user's code or the system while it
 * holds a lock, with one exception: the sleeper sets its alarms under its own lock.
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
 *      NEW <----> STARTING ---> STARTED ---> CLOSING ---> CLOSED
 *       |                                       ^
 *       +---------------------------------------+
 */
enum elapse__life {
    ELAPSE__LIFE_NEW,
    ELAPSE__LIFE_STARTING,
    ELAPSE__LIFE_STARTED,
    ELAPSE__LIFE_CLOSING,
    ELAPSE__LIFE_CLOSED,
};

struct elapse_scheduler {
    /* These never change after new. */
    struct elapse_scheduler_options options; /* no value is left to default */
    struct elapse__hash_secret hash_secret;
    struct elapse__shard *shards;      /* options.shards of them */
    struct elapse__os_thread *workers; /* room for options.workers */

    _Atomic int life;                      /* enum elapse__life; each change is one exchange */
    _Atomic uint64_t manual_now_ns;        /* the monotonic clock where time is manual */
    _Atomic uint64_t manual_wall_clock_ns; /* the wall clock where time is manual */
    _Atomic bool clock_ending; /* the clock thread, or a thread that steps, must leave */
    _Atomic uint64_t pending;  /* of all shards; counted only where there is a limit */
    _Atomic uint64_t refused_threads;
    _Atomic uint64_t held_back;    /* times that the queue was found full */
    _Atomic unsigned worker_count; /* workers made; only the thread that puts into the queue, or
                                      start or close in its place, changes it */
    struct elapse__os_thread clock_thread; /* while STARTED */
    unsigned next_shard;                   /* delivery begins with it; used by one thread */
    struct elapse__lock step_lock;
    struct elapse__condition step_over; /* `stepping` became false */
    bool stepping;                      /* guarded by step_lock: a thread is inside step */
    struct elapse__lock pull_lock;
    struct elapse__condition pull_turn; /* no thread sleeps for those that wait in take, or the
                                           scheduler is closing */
    bool pull_sleeper;                  /* guarded by pull_lock: one of those that wait sleeps */
    _Atomic int descriptor;             /* readable when an alarm is; or NO_DESCRIPTOR */
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

/* Goes from one stage of life to another, in one atomic step. Returns false if the scheduler was
 * not in the first. */
static inline bool elapse__change_life(struct elapse_scheduler *scheduler, enum elapse__life from,
                                       enum elapse__life to)
{
    int expected = (int)from;
    return atomic_compare_exchange_strong(&scheduler->life, &expected, (int)to);
}

static inline struct elapse__ticks elapse__now(const struct elapse_scheduler *scheduler)
{
    const uint64_t tick_ns = scheduler->options.tick_ns;
    return (struct elapse__ticks){
        .monotonic = elapse__tick_of_now(elapse_scheduler_now_ns(scheduler), tick_ns),
        .wall_clock = elapse__tick_of_now(elapse_scheduler_wall_clock_ns(scheduler), tick_ns),
    };
}

/* Wakes the clock thread if `ticks` precede its alarm. Requires that the lock of the shard in which
 * the timer was started has been released. */
static inline void elapse__scheduler_wake_at(struct elapse_scheduler *scheduler,
                                             struct elapse__ticks ticks)
{
    elapse__sleeper_wake_at(&scheduler->sleeper, ticks);
}

#endif
