/*
 * A shard is a part of a scheduler: a lock, and what the lock guards. The lock guards two wheels,
 * the tasks in them, the keys of the tasks, and counts.
 *
 * These files change tasks. Each function in them requires the lock. No function in them allocates
 * memory or calls the user's code.
 *
 *      shard_schedule.h   a new task
 *      shard_change.h     a task is rescheduled or cancelled
 *      shard_run.h        a task becomes due, begins and finishes
 *      shard_deadline.h   when a task is due, and whether it recurs
 *      shard_steps.h      the steps that these share
 *      due_list.h         the tasks that are due and have not begun
 *      shard_check.c      what must hold of a shard whenever its lock is released
 */
#ifndef ELAPSE__SHARD_H
#define ELAPSE__SHARD_H

#include <stdatomic.h>

#include <elapse/scheduler.h>
#include <elapse/wheel.h>

#include "../os/os.h"
#include "key_index.h"
#include "recurrence.h"
#include "task_table.h"
#include "ticks.h"
#include "wall_clock_wheel.h"

/* How many tasks may be UNLINKING at a time. The number is large enough that the neighbours of a
 * task have arrived in the cache when the task is unlinked. */
enum { ELAPSE__UNLINKING_MAX = 8 };

struct elapse__ended_task;

/* A list of due tasks, linked by their indices. due_list.h has the functions. */
struct elapse__due_list {
    uint32_t first; /* ELAPSE__NO_TASK: it is empty */
    uint32_t last;
};

struct elapse__shard {
    _Alignas(ELAPSE__LINE_BYTES) struct elapse__lock lock;
    /* No timer of the wheel is due before this tick. It is written with the lock held; the clock
     * thread reads it without the lock. See sleeper.h. */
    _Atomic uint64_t wake_tick;
    /* From this tick on the clock thread can cascade timers of the wheel ahead, before they are
     * due. NEVER if there is nothing to cascade, a task is due, or there is no clock thread. It is
     * written and read as wake_tick is. */
    _Atomic uint64_t cascade_tick;

    /* The lock guards everything from here on. */
    bool wall_clock_first; /* the next search for a due task begins with the wall clock's wheel */
    bool cascades_ahead;   /* the clock thread cascades ahead in the wheel */
    bool closed;           /* no task is scheduled any more */
    bool runs_all;         /* closing runs all pending tasks at once, whatever their deadlines */
    uint64_t pending;      /* tasks PENDING, WAITING or QUEUED, and RUNNING with runs_again */
    uint64_t running;      /* tasks RUNNING or FINISHING */
    struct elapse__condition ended; /* a task that a thread waits for has ended, or its context was
                                       destroyed; once the shard is closed: any task has ended */
    struct elapse__task_table tasks;
    struct elapse__task *unlinking[ELAPSE__UNLINKING_MAX]; /* a ring; NULL: an empty place */
    unsigned oldest_unlinking;                             /* the place that is emptied next */
    uint32_t queue_number; /* the number of the task that became QUEUED last */
    struct elapse_wheel wheel;
    struct elapse__wall_clock_wheel wall_clock;
    struct elapse__key_index keys;
    struct elapse__ended_task *first_ended; /* a list of ended tasks that are being destroyed */
    /* The leases of RUNNING tasks, in the order of until_tick; see lease.h. */
    struct elapse__lease *first_lease;
    struct elapse__lease *last_lease;
    uint64_t leases;     /* how many leases are in the list */
    uint64_t destroying; /* how many destructors that run use a key */
    struct elapse__due_list due_by_monotonic;
    struct elapse__due_list due_by_wall_clock;
    uint64_t scheduled, rescheduled, begun, completed, removed, replaced, handed_back, dropped;
    uint64_t lateness_max_ns;
    uint64_t lateness[ELAPSE_LATENESS_BUCKETS];
#ifdef ELAPSE__ASSERTIONS
    uint64_t releases; /* how often the lock was released since all tasks were examined last */
    uint64_t walks;    /* how often all tasks were examined */
#endif

    /* Members that never change. */
    uint64_t tick_ns;
    uint32_t number;
    uint64_t pending_max; /* the limit of pending tasks of all shards together; 0: no limit */
    /* The pending tasks of all shards; counted only if there is a limit. */
    _Atomic uint64_t *pending_of_all;
};

/* Returns whether the deadline of the task is a wall-clock time. */
static inline bool elapse__by_wall_clock(const struct elapse__task *task)
{
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    return recurrence != NULL && recurrence->wall_clock;
}

/* Makes a shard without tasks. Returns false if the system has no lock to give; then there is
 * nothing to free. */
bool elapse__shard_init(struct elapse__shard *shard, uint32_t number, uint64_t now_tick,
                        uint64_t tick_ns);
void elapse__shard_free(struct elapse__shard *shard, const struct elapse_allocator *memory);

static inline void elapse__shard_lock(struct elapse__shard *shard)
{
    elapse__lock(&shard->lock);
}

#ifdef ELAPSE__ASSERTIONS
/* Examines the whole shard, and fails an assertion at the first invariant that is broken.
 * shard_check.c lists the invariants. Requires the lock. */
void elapse__shard_check(const struct elapse__shard *shard);

/* Examines a part of the shard at each call, and the whole shard at some calls: the end of the head
 * of shard_check.c says at which. Requires the lock. */
void elapse__shard_check_at_release(struct elapse__shard *shard);
#else
static inline void elapse__shard_check_at_release(struct elapse__shard *shard)
{
    (void)shard;
}
#endif

static inline void elapse__shard_unlock(struct elapse__shard *shard)
{
    elapse__shard_check_at_release(shard);
    elapse__unlock(&shard->lock);
}

/* Returns the handle of a task. */
static inline struct elapse_handle elapse__handle_of(const struct elapse__shard *shard,
                                                     const struct elapse__task *task)
{
    ELAPSE__ASSERT_THAT(task->state, >, ELAPSE__TASK_UNLINKING);
    return (struct elapse_handle){task->index, task->generation, shard->number};
}

/* Returns the task that the handle names; NULL if that task has ended. Requires the lock. */
struct elapse__task *elapse__shard_find(struct elapse__shard *shard, struct elapse_handle handle);

/* Waits until a task with `waited` has ended or, once the shard is closed, until any task has
 * ended. Waits no longer than until `until_ns` by the monotonic clock; ELAPSE_NEVER: without end.
 * May return early. Returns false when that time has come. Releases the lock while it waits. */
bool elapse__shard_wait_for_an_end(struct elapse__shard *shard, uint64_t until_ns);

/* Waits until no task is left, but no longer than until `until_ns` by the monotonic clock;
 * ELAPSE_NEVER: without end. Returns whether no task is left. Requires that the shard is closed,
 * and that the caller does not hold the lock. */
bool elapse__shard_wait_until_empty(struct elapse__shard *shard, uint64_t until_ns);

/* Returns the tick at which the clock thread must be awake, after a task was started for `tick`:
 * the tick from which timers can be cascaded ahead if that is earlier, otherwise `tick`. Requires
 * no lock. */
static inline uint64_t elapse__shard_wake_for(const struct elapse__shard *shard, uint64_t tick)
{
    uint64_t cascade_tick = atomic_load_explicit(&shard->cascade_tick, memory_order_relaxed);
    return cascade_tick < tick ? cascade_tick : tick;
}

/* Prefetches the cache line of the task. Requires no lock. */
static inline void elapse__shard_prefetch(const struct elapse__shard *shard,
                                          struct elapse_handle handle)
{
    elapse__task_table_prefetch(&shard->tasks, handle.index);
}

#endif
