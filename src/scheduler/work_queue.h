/*
 * The queue between the clock thread and the workers: a ring of handles of tasks that are due. Only
 * one thread puts handles in. If a queued task is cancelled or rescheduled, its handle stays in the
 * queue. The worker that takes the handle finds that the task is not QUEUED any more (task.h).
 *
 * To wake a worker takes longer than most actions. So only one worker is woken at a time. It takes
 * a task and, if there are more tasks, wakes the next worker before it runs its own task. So a few
 * tasks, or short ones, occupy few workers, and many or long tasks soon occupy all workers.
 *
 * When the queue is full, the clock thread leaves due tasks in their shards (back-pressure), and
 * sleeps. When half of the queue is free, a worker kicks the clock thread: the thread wakes up at
 * once, whatever deadline it sleeps for (sleeper.h).
 *
 * A worker that has been idle for `idle_ns` leaves, if there are more workers than must stay. The
 * worker decides this while it holds the lock and the queue is empty. In the same step the queue
 * stops counting it. So no handle that is put in later waits for this worker: another worker takes
 * the handle, or a new worker is made. A worker that must stay waits without a time limit. With a
 * limit it would wake up, find nothing to do, and wait again.
 *
 * The thread of a worker that has left has to be joined. The next worker that leaves joins it,
 * before its own thread ends:
 *
 *      left = 7    worker 7 leaves; no worker has left before
 *      left = 3    worker 3 leaves, and joins 7
 *      left = 5    worker 5 leaves, and joins 3
 *
 * So at most one worker that has left waits to be joined by another thread, and the stacks of the
 * others become free. That worker is joined by close. If its number is needed for a new worker
 * before, the thread that makes the new worker joins it.
 */
#ifndef ELAPSE__WORK_QUEUE_H
#define ELAPSE__WORK_QUEUE_H

#include <limits.h>

#include <elapse/scheduler.h>

#include "../base/allocator.h"
#include "../os/os.h"

/* A place in the queue: the handle of a task. */
struct elapse__queued {
    struct elapse_handle handle;
    /* A task that was rescheduled may have several places. Its newest place is the one whose
     * `number` equals the `queue_number` of the task. */
    uint32_t number;
};

/* A number that no worker has. */
#define ELAPSE__NO_WORKER UINT_MAX

/* A worker, as the queue sees it. */
struct elapse__worker {
    unsigned number; /* no other worker has this number at the same time */
    bool busy;       /* the worker has taken a handle, and has not come back for the next one */
    bool left;       /* the worker was idle for too long, and does not count any more */
    /* If the worker has left: the worker that it must join; or ELAPSE__NO_WORKER. */
    unsigned to_join;
};

struct elapse__work_queue {
    struct elapse__lock lock;
    struct elapse__condition filled; /* there is a handle to take, or the queue is ending */
    struct elapse__condition quiet;  /* no worker is busy, and the queue is empty or ending */

    struct elapse__queued *ring; /* `capacity` places; never changes */
    unsigned capacity;           /* never changes */
    unsigned stay;               /* at least this many workers stay; set once */
    uint64_t idle_ns; /* a worker that was idle for this long leaves; ELAPSE__OS_NEVER: no worker
                         leaves; set once */

    /* The lock guards everything from here on. */
    unsigned first;   /* the place of the handle that is taken next */
    unsigned count;   /* handles in the queue */
    unsigned idle;    /* workers that have no task; a worker that is being made counts, too */
    unsigned asleep;  /* idle workers that wait for `filled` */
    bool waking;      /* one of the workers asleep was woken, and does not have the lock yet */
    unsigned busy;    /* workers that have a task */
    bool clock_waits; /* the queue was full: a worker must kick the clock thread once half of the
                         queue is free */
    bool making;      /* a worker is being made, and its thread may not be known yet */
    bool ending;      /* workers must leave */
    unsigned left;    /* the worker that left last and is not joined; or ELAPSE__NO_WORKER */
};

/* Makes an empty queue. Returns the error MEMORY if there is no memory, and SYSTEM if the system
 * has no lock to give. After an error there is nothing to free. */
enum elapse_error elapse__work_queue_init(struct elapse__work_queue *queue, unsigned capacity,
                                          const struct elapse_allocator *memory);
void elapse__work_queue_free(struct elapse__work_queue *queue,
                             const struct elapse_allocator *memory);

/* Allows a worker that was idle for `idle_ns` to leave, as long as `stay` workers stay. Requires
 * that there is no worker yet. */
void elapse__work_queue_let_leave(struct elapse__work_queue *queue, uint64_t idle_ns,
                                  unsigned stay);

/* Returns the number of free places. Only the thread that puts handles in may call this function.
 * For that thread the number stays right: other threads only make places free. If no place is free,
 * notes that a worker must kick the clock thread once half of the queue is free. */
unsigned elapse__work_queue_room(struct elapse__work_queue *queue);

/* Puts `count` handles in. Requires at least one handle, and a free place for each. Returns by how
 * many the handles in the queue exceed the idle workers; 0 if they do not. */
unsigned elapse__work_queue_put(struct elapse__work_queue *queue,
                                const struct elapse__queued *queued, unsigned count);

/* Returns by how many the handles in the queue exceed the idle workers; 0 if they do not. */
unsigned elapse__work_queue_without_worker(struct elapse__work_queue *queue);

/* Counts a worker that the caller is about to make. Until the caller has called
 * elapse__work_queue_worker_made, no worker leaves. */
void elapse__work_queue_expect_worker(struct elapse__work_queue *queue);

/* Must follow elapse__work_queue_expect_worker. `made` says whether the system made the worker. If
 * it is false, the worker is not counted any more. */
void elapse__work_queue_worker_made(struct elapse__work_queue *queue, bool made);

/* Returns how many workers there are. Workers that are being made count, too. */
unsigned elapse__work_queue_workers(struct elapse__work_queue *queue);

/* Waits for a handle, and takes it for the worker. Returns false if the worker must leave. Stores
 * in `*kick` whether the worker must kick the clock thread, by elapse__sleeper_kick. */
bool elapse__work_queue_take(struct elapse__work_queue *queue, struct elapse__worker *worker,
                             struct elapse__queued *queued, bool *kick);

/* Returns the worker that left last and is not joined; ELAPSE__NO_WORKER if there is none. The
 * caller must join this worker. This worker joins the one that left before it, and so on, so all
 * workers that have left are joined then. */
unsigned elapse__work_queue_take_left(struct elapse__work_queue *queue);

/* Waits until no worker is busy and the queue has no handle that a worker would take: it is empty,
 * or it is ending. Waits no longer than until `until_ns` by the monotonic clock; ELAPSE_NEVER:
 * without end. Returns false if that time came first. */
bool elapse__work_queue_wait_quiet(struct elapse__work_queue *queue, uint64_t until_ns);

/* Makes all workers leave. Handles in the queue stay there, and no worker takes them. */
void elapse__work_queue_end(struct elapse__work_queue *queue);

/* Undoes elapse__work_queue_end: sets the count of workers to 0, and lets new workers take handles.
 * Requires that all workers were joined. */
void elapse__work_queue_forget_workers(struct elapse__work_queue *queue);

#endif
