/*
 * The queue between the clock thread and the workers: handles of tasks that are due, as
 * many as it has places. Only one thread puts them in. A handle whose task was cancelled
 * or moved meanwhile stays in it, and whoever takes it out finds that out.
 *
 * Waking a worker costs more than most actions take. So one is woken at a time: it
 * takes a task and, if there are more, wakes the next before it runs its own. Few and
 * short tasks are done by few workers, many or long ones soon have all of them.
 */
#ifndef ELAPSE__WORK_QUEUE_H
#define ELAPSE__WORK_QUEUE_H

#include <elapse/scheduler.h>

#include "../base/allocator.h"
#include "../os/os.h"

struct elapse__work_queue {
    struct elapse__lock lock;
    struct elapse__condition filled; /* there is something to take, or it is ending */
    struct elapse__condition quiet;  /* it is empty and no worker is busy */

    /* Guarded by `lock`, all that follows. */
    struct elapse_handle *ring; /* the array never changes */
    unsigned capacity;          /* never changes */
    unsigned first;             /* the next to be taken */
    unsigned count;
    unsigned idle;    /* workers that have no task, also those that are being made */
    unsigned asleep;  /* idle workers that wait for `filled` */
    bool waking;      /* one of these has been woken and has not yet come round */
    unsigned busy;    /* workers between taking one and taking the next */
    bool clock_waits; /* the clock thread wants a kick once half of the queue is free */
    bool ending;      /* workers are to leave */
};

/* MEMORY or SYSTEM if it cannot be; nothing is left then. */
enum elapse_error elapse__work_queue_init(struct elapse__work_queue *queue, unsigned capacity,
                                          const struct elapse_allocator *memory);
void elapse__work_queue_free(struct elapse__work_queue *queue,
                             const struct elapse_allocator *memory);

/* For the thread that puts in: free places, which only it can make fewer. If there are
 * none, a kick is due to it once half of the queue is free. */
unsigned elapse__work_queue_room(struct elapse__work_queue *queue);

/* Puts in handles, not more than there is room for. Returns for how many of those
 * queued there is no idle worker. */
unsigned elapse__work_queue_put(struct elapse__work_queue *queue,
                                const struct elapse_handle *handles, unsigned count);

/* Counts a worker that is about to be made, or that could not be made after all. */
void elapse__work_queue_count_worker(struct elapse__work_queue *queue, bool made);

/* For workers: says that the one taken before is done, if `*busy`, and waits for the next.
 * Returns false when the worker is to leave. `*kick`: the clock thread is to be kicked. */
bool elapse__work_queue_take(struct elapse__work_queue *queue, bool *busy,
                             struct elapse_handle *handle, bool *kick);

/* Waits until the queue is empty and no worker is busy. */
void elapse__work_queue_wait_quiet(struct elapse__work_queue *queue);

/* Makes the workers leave, or lets new ones stay again. What is queued ended so. */
void elapse__work_queue_end(struct elapse__work_queue *queue, bool ending);

#endif
