/*
 * The queue between the clock thread and the workers: a ring of handles of tasks that are due. Only
 * one thread puts handles in. The handle of a task that was cancelled or rescheduled meanwhile
 * stays in the queue; the worker that takes it finds that the task is not QUEUED any more.
 *
 * Waking a worker costs more than most actions take. So one worker is woken at a time: it takes a
 * task and, if there are more, wakes the next worker before it runs its own task. Few workers run
 * few or short tasks; many or long tasks soon occupy all workers.
 *
 * The queue is full: the clock thread leaves due tasks in their shards (back-pressure) and sleeps
 * until the worker that frees half of the queue wakes it.
 */
#ifndef ELAPSE__WORK_QUEUE_H
#define ELAPSE__WORK_QUEUE_H

#include <elapse/scheduler.h>

#include "../base/allocator.h"
#include "../os/os.h"

/* A task in the queue. */
struct elapse__queued {
    struct elapse_handle handle;
    uint32_t number; /* what the task has as its queue_number while this place counts */
};

struct elapse__work_queue {
    struct elapse__lock lock;
    struct elapse__condition filled; /* there is a handle to take, or the queue is ending */
    struct elapse__condition quiet;  /* no worker is busy, and the queue is empty or ending */

    struct elapse__queued *ring; /* `capacity` places; never changes */
    unsigned capacity;           /* never changes */

    /* The lock guards everything from here on. */
    unsigned first;   /* the place of the handle that is taken next */
    unsigned count;   /* handles in the queue */
    unsigned idle;    /* workers that have no task, with those that are being made */
    unsigned asleep;  /* idle workers that wait for `filled` */
    bool waking;      /* one of these was woken and does not have the lock yet */
    unsigned busy;    /* workers that have a task */
    bool clock_waits; /* the clock thread must be kicked once half of the queue is free */
    bool ending;      /* workers must leave */
};

/* Makes an empty queue. Returns MEMORY, or SYSTEM if the system has no lock to give; nothing is
 * left to free then. */
enum elapse_error elapse__work_queue_init(struct elapse__work_queue *queue, unsigned capacity,
                                          const struct elapse_allocator *memory);
void elapse__work_queue_free(struct elapse__work_queue *queue,
                             const struct elapse_allocator *memory);

/* Returns the number of free places. Only the thread that puts handles in may call it, because only
 * that thread makes them fewer. If there are none, a worker will kick the clock thread once half of
 * the queue is free. */
unsigned elapse__work_queue_room(struct elapse__work_queue *queue);

/* Puts handles in. Requires at least one and no more than there are free places. Returns how many
 * more handles are queued than there are idle workers. */
unsigned elapse__work_queue_put(struct elapse__work_queue *queue,
                                const struct elapse__queued *queued, unsigned count);

/* Returns how many more handles are queued than there are idle workers. */
unsigned elapse__work_queue_without_worker(struct elapse__work_queue *queue);

/* Counts a worker that is about to be made; not `made`: one that could not be made, or has left. */
void elapse__work_queue_count_worker(struct elapse__work_queue *queue, bool made);

/* Waits for a handle and takes it, for a worker. `*busy`: the worker has finished the task that it
 * took before. Returns false when the worker must leave. `*kick`: the worker must kick the clock
 * thread. */
bool elapse__work_queue_take(struct elapse__work_queue *queue, bool *busy,
                             struct elapse__queued *queued, bool *kick);

/* Waits until no worker is busy, and the queue is empty or ending, but no longer than until
 * `until_ns` by the monotonic clock; ELAPSE_NEVER: without end. Returns false when that time has
 * come. */
bool elapse__work_queue_wait_quiet(struct elapse__work_queue *queue, uint64_t until_ns);

/* Makes the workers leave; not `ending`: lets new workers stay again. Handles that are queued stay
 * in the queue, and no worker takes them. */
void elapse__work_queue_end(struct elapse__work_queue *queue, bool ending);

#endif
