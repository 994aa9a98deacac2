/*
 * The queue between the clock thread and the workers: a ring of handles of tasks that are due. Only
 * one thread puts handles in. The handle of a task that was cancelled or rescheduled meanwhile
 * stays in the queue; the worker that takes it finds that the task is not QUEUED any more.
 *
 * To wake a worker takes longer than most actions. So one worker is woken at a time: it takes a
 * task and, if there are more, wakes the next worker before it runs its own task. So few workers
 * run a few or short tasks, and many or long tasks soon occupy all workers.
 *
 * When the queue is full, the clock thread leaves due tasks in their shards (back-pressure), and
 * sleeps. A worker wakes the clock thread when half of the queue is free.
 *
 * A worker that has waited for long enough leaves, if more workers are left than must stay. The
 * worker decides to leave with the lock held, while the queue is empty, and is not counted from the
 * same step on. So a handle that is put in later gets another worker, or a new worker is made. A
 * worker that must stay then waits without a time limit, so nobody wakes up again and again for
 * nothing.
 *
 * The thread of a worker that has left has to be joined. The next worker that leaves joins it,
 * before its own thread ends:
 *
 *      left -> 7    7 leaves: nobody has left before
 *      left -> 3    3 leaves and joins 7
 *      left -> 5    5 leaves and joins 3: so all but one are joined, and their stacks are free
 *
 * The last worker is joined by close, or when its number is needed for a new worker.
 */
#ifndef ELAPSE__WORK_QUEUE_H
#define ELAPSE__WORK_QUEUE_H

#include <limits.h>

#include <elapse/scheduler.h>

#include "../base/allocator.h"
#include "../os/os.h"

/* A task in the queue. */
struct elapse__queued {
    struct elapse_handle handle;
    uint32_t number; /* the task has the same queue_number if this is its newest place */
};

/* The number of no worker. */
#define ELAPSE__NO_WORKER UINT_MAX

/* A worker, as the queue sees it. */
struct elapse__worker {
    unsigned number;  /* no other worker has it at the same time */
    bool busy;        /* it has taken a handle, and has not come back */
    bool left;        /* it was idle for too long, and does not count any more */
    unsigned to_join; /* if it has left: the worker that it must join; or ELAPSE__NO_WORKER */
};

struct elapse__work_queue {
    struct elapse__lock lock;
    struct elapse__condition filled; /* there is a handle to take, or the queue is ending */
    struct elapse__condition quiet;  /* no worker is busy, and the queue is empty or ending */

    struct elapse__queued *ring; /* `capacity` places; never changes */
    unsigned capacity;           /* never changes */
    unsigned stay;               /* at least this many workers stay; set once */
    uint64_t idle_ns; /* a worker that was idle for this long leaves; ELAPSE__OS_NEVER: none does;
                         set once */

    /* The lock guards everything from here on. */
    unsigned first;   /* the place of the handle that is taken next */
    unsigned count;   /* handles in the queue */
    unsigned idle;    /* workers that have no task, with those that are being made */
    unsigned asleep;  /* idle workers that wait for `filled` */
    bool waking;      /* one of the workers asleep was woken, and does not have the lock yet */
    unsigned busy;    /* workers that have a task */
    bool clock_waits; /* the clock thread must be kicked once half of the queue is free */
    bool making;      /* a worker is being made: its thread may not be known yet */
    bool ending;      /* workers must leave */
    unsigned left;    /* the worker that left last and is not joined; or ELAPSE__NO_WORKER */
};

/* Makes an empty queue. Returns MEMORY, or SYSTEM if the system has no lock to give; nothing is
 * left to free then. */
enum elapse_error elapse__work_queue_init(struct elapse__work_queue *queue, unsigned capacity,
                                          const struct elapse_allocator *memory);
void elapse__work_queue_free(struct elapse__work_queue *queue,
                             const struct elapse_allocator *memory);

/* Lets workers leave that were idle for `idle_ns`, as long as `stay` of them stay. Requires that
 * there is no worker yet. */
void elapse__work_queue_let_leave(struct elapse__work_queue *queue, uint64_t idle_ns,
                                  unsigned stay);

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

/* Counts a worker that is about to be made. No worker leaves before elapse__work_queue_worker_made.
 */
void elapse__work_queue_expect_worker(struct elapse__work_queue *queue);

/* Tells whether the worker that was counted has been made. */
void elapse__work_queue_worker_made(struct elapse__work_queue *queue, bool made);

/* Returns how many workers there are, those that are being made included. */
unsigned elapse__work_queue_workers(struct elapse__work_queue *queue);

/* Waits for a handle, and takes it for a worker. Returns false when the worker must leave. Stores
 * in `*kick` whether the worker must kick the clock thread. */
bool elapse__work_queue_take(struct elapse__work_queue *queue, struct elapse__worker *worker,
                             struct elapse__queued *queued, bool *kick);

/* Returns the worker that left last, which the caller must join; ELAPSE__NO_WORKER if there is
 * none. When that worker is joined, all workers that left before it are joined, too. */
unsigned elapse__work_queue_take_left(struct elapse__work_queue *queue);

/* Waits until no worker is busy, and the queue is empty or ending, but no longer than until
 * `until_ns` by the monotonic clock; ELAPSE_NEVER: without end. Returns false when that time has
 * come. */
bool elapse__work_queue_wait_quiet(struct elapse__work_queue *queue, uint64_t until_ns);

/* Makes the workers leave. Handles that are queued stay in the queue, and no worker takes them. */
void elapse__work_queue_end(struct elapse__work_queue *queue);

/* Makes the queue count no workers, and lets new workers stay. Requires that all of its workers
 * were joined. */
void elapse__work_queue_forget_workers(struct elapse__work_queue *queue);

#endif
