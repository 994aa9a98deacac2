/*
 * What a scheduler consists of, and who does what:
 *
 *      threads of the user           clock thread               workers
 *      schedule.c, cancel.c          delivery.c                 workers.c
 *            |                        |   ^     |                 |   ^
 *            | lock, change           |   |     | put             |   | take
 *            v                        |   |     +---> work queue -+---+
 *      shards (shard.c) <--- lock, take due, begin, finish -------+
 *            |                            |
 *            +----- wake_at (earlier) ----+ sleeper
 *
 * Manual time: step (time.c) stands in for the clock thread and the workers; at the end, close.c
 * does.
 *
 * Locks: of a shard, of the sleeper, of the work queue, of stepping, of pulling. No thread holds
 * two at once, save who sets the alarms in pull mode: that of pulling and then the sleeper's; and
 * none calls the user's code or the system (but for arming the sleeper's timer, under the sleeper's
 * own lock) while it holds one.
 */
#ifndef ELAPSE__SCHEDULER_H
#define ELAPSE__SCHEDULER_H

#include <pthread.h>
#include <stdatomic.h>

#include <elapse/scheduler.h>

#include "../base/allocator.h"
#include "key_hash.h"
#include "shard.h"
#include "sleeper.h"
#include "ticks.h"
#include "work_queue.h"

enum elapse__life {
    ELAPSE__LIFE_NEW,
    ELAPSE__LIFE_STARTING,
    ELAPSE__LIFE_STARTED,
    ELAPSE__LIFE_CLOSING,
    ELAPSE__LIFE_CLOSED,
};

struct elapse_scheduler {
    /* Never change after new. */
    struct elapse_scheduler_options options; /* with nothing left to default */
    struct elapse__hash_secret hash_secret;
    struct elapse__shard *shards; /* options.shards of them */
    pthread_t *workers;           /* room for options.workers */

    _Atomic int life;                      /* enum elapse__life; each change is one exchange */
    _Atomic uint64_t manual_now_ns;        /* the clock where time is manual */
    _Atomic uint64_t manual_wall_clock_ns; /* the wall clock, likewise */
    _Atomic bool clock_ending;             /* the clock thread, or whoever steps, is to leave */
    _Atomic uint64_t pending;              /* of all shards; counted only where there is a limit */
    _Atomic uint64_t refused_threads;
    _Atomic uint64_t held_back;    /* times that the queue was found full */
    _Atomic unsigned worker_count; /* workers made; only whoever puts into the queue makes more */
    pthread_t clock_thread;        /* while STARTED */
    unsigned turn;                 /* the shard that delivery begins with; its thread's own */
    pthread_mutex_t step_lock;
    pthread_cond_t step_over; /* `stepping` became false */
    bool stepping;            /* guarded by step_lock: a thread is inside step */
    pthread_mutex_t pull_lock;
    pthread_cond_t pull_turn; /* nobody sleeps for those who wait in take, or it is closing */
    bool pull_sleeper;        /* guarded by pull_lock: one of those who wait sleeps */
    _Atomic int descriptor;   /* of epoll, for the sleeper's alarms; -1: none */
    struct elapse__sleeper sleeper;
    struct elapse__work_queue queue;
};

/* The shard of the calling thread, which it keeps. */
struct elapse__shard *elapse__shard_of_thread(struct elapse_scheduler *scheduler);

/* The shard of a key. */
static inline struct elapse__shard *elapse__shard_of_key(struct elapse_scheduler *scheduler,
                                                         uint64_t hash)
{
    /* The index takes the low bits. */
    return &scheduler->shards[(hash >> 32) % scheduler->options.shards];
}

/* The shard that a handle names; NULL if there is none such. */
static inline struct elapse__shard *elapse__shard_of_handle(struct elapse_scheduler *scheduler,
                                                            struct elapse_handle handle)
{
    return handle.shard < scheduler->options.shards ? &scheduler->shards[handle.shard] : NULL;
}

/* The change from one stage of life to another is one atomic step; false if it was not
 * in the first. */
static inline bool elapse__live_on(struct elapse_scheduler *scheduler, enum elapse__life from,
                                   enum elapse__life to)
{
    int expected = (int)from;
    return atomic_compare_exchange_strong(&scheduler->life, &expected, (int)to);
}

/* The clock that the scheduler goes by where time is not manual. */
clockid_t elapse__system_clock(const struct elapse_scheduler *scheduler);

static inline struct elapse__ticks elapse__now(const struct elapse_scheduler *scheduler)
{
    const uint64_t tick_ns = scheduler->options.tick_ns;
    return (struct elapse__ticks){
        .monotonic = elapse__tick_of_now(elapse_scheduler_now_ns(scheduler), tick_ns),
        .wall_clock = elapse__tick_of_now(elapse_scheduler_wall_clock_ns(scheduler), tick_ns),
    };
}

/* Sees to it that a deadline that may be the earliest is not slept through. To be called
 * after the lock of the shard in which it was started. */
static inline void elapse__announce(struct elapse_scheduler *scheduler, struct elapse__ticks ticks)
{
    elapse__sleeper_wake_at(&scheduler->sleeper, ticks);
}

#endif
