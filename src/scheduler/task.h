/*
 * A task as a shard keeps it, and the states that a task goes through. The lock of the shard guards
 * all of the task. shard_check.c tests which fields a task may have in each state.
 *
 *                                   +--- due, but its key's action runs ---> WAITING
 *                                   |                                           |
 *              schedule             |  <--------- that action has ended --------+
 *      FREE ------------> PENDING --+
 *       ^                   ^ ^     |
 *       |                   | |     +--- due ---> QUEUED ---> RUNNING --+--> FREE
 *       |                   | |                    |  begin     |       |  finish
 *       |                   | +----- reschedule ---+            |       |
 *       |                   +------- finish, when `runs_again` ------+-------+
 *       |
 *       +---- remove (cancel, replacement, closing): from WAITING and QUEUED; and from
 *             PENDING by way of UNLINKING
 *
 *  FREE        The struct holds no task, and is in the list of free tasks of its block.
 *  PENDING     The timer of the task is in a wheel or, for a wall-clock time, in the chain of
 *              wall_clock_wheel.h.
 *  WAITING     The task is due, and out of the wheel. The action of another task with its key runs.
 *  QUEUED      The task is due, and out of the wheel. If there are workers, the handle of the task
 *              is in the work queue, perhaps several times. A worker that takes the handle begins
 *              the task only if the task is still QUEUED. If there are no workers, the task begins
 *              before the lock is released.
 *  RUNNING     The action has begun and not returned. In pull mode: the task is taken and not done.
 *  FINISHING   Only in pull mode. A thread has called elapse_task_done, and has released the lock
 *              to compute the next occurrence. It will take the lock again to finish the task.
 *  UNLINKING   The task has ended, and no handle finds it, but its timer is still in the wheel. To
 *              unlink a timer writes to both its neighbours, which costs two cache misses. So the
 *              neighbours are prefetched now, and the timer is unlinked some cancels later: see
 *              unlink_later in shard_steps.c. A task with a wall-clock time is unlinked at once,
 *              unless it is in the chain of wall_clock_wheel.h. Such a task stays UNLINKING until
 *              the chain is emptied.
 *
 * While a task is RUNNING or FINISHING, `runs_again` means that the task becomes PENDING when it
 * finishes, because it recurs or was rescheduled meanwhile. A task that recurs has `runs_again`
 * from the moment it begins. `cancelled` means that the task must not run again. `waited` means
 * that a thread waits for the task's end, or has waited for it.
 */
#ifndef ELAPSE__TASK_H
#define ELAPSE__TASK_H

#include <stddef.h>

#include <elapse/scheduler.h>
#include <elapse/timer.h>

#include "../base/assert.h"

/* No handle names a task that is FREE or UNLINKING. */
enum elapse__task_state {
    ELAPSE__TASK_FREE,
    ELAPSE__TASK_UNLINKING,
    ELAPSE__TASK_PENDING,
    ELAPSE__TASK_WAITING,
    ELAPSE__TASK_QUEUED,
    ELAPSE__TASK_RUNNING,
    ELAPSE__TASK_FINISHING,
};

enum {
    ELAPSE__TASK_INDEX_BITS = 26,
    ELAPSE__TASK_INDEX_MASK = (1 << ELAPSE__TASK_INDEX_BITS) - 1,
};

/* An index that no task has. */
#define ELAPSE__NO_TASK UINT32_MAX

/* The place of a due task in a list: the indices of its two neighbours. This struct lies in the
 * memory of the timer, and does not overwrite the timer's deadline. */
struct elapse__due_place {
    uint32_t next;
    uint32_t previous;
#if UINTPTR_MAX > UINT32_MAX
    uint32_t queue_number; /* on 32-bit machines there is no room here, so the number is in the task
                              itself */
#endif
};

_Static_assert(sizeof(struct elapse__due_place) <= offsetof(struct elapse_timer, deadline),
               "the place in the list leaves the deadline of the timer as it is");

/* The function that receives the context of an ended task. At most one of the two is not NULL. */
struct elapse__destructor {
    elapse_destroy_function *destroy;
    elapse_ended_function *ended;
};

static inline bool elapse__has_destructor(const struct elapse__destructor *destructor)
{
    ELAPSE__ASSERT(destructor->destroy == NULL || destructor->ended == NULL);
    return destructor->destroy != NULL || destructor->ended != NULL;
}

/* How long a thread holds a task that it has taken. Only pull mode with leases uses this struct.
 * lease.h has the functions. */
struct elapse__lease {
    struct elapse__task *task;
    /* The neighbours in the list of leases of the shard. The list holds leases that have begun, and
     * that may have expired. */
    struct elapse__lease *previous;
    struct elapse__lease *next;
    uint64_t until_tick;  /* from this tick on the lease has expired; 0: the lease is in no list */
    uint64_t number;      /* how often the task was taken */
    uint64_t attempt;     /* how often the task was taken for this run */
    uint64_t intended_ns; /* when this run was due */
};

/* Fields that only some tasks need. */
struct elapse__task_extra {
    struct elapse__destructor destructor;
    struct elapse__key *key;               /* NULL: no key */
    struct elapse__recurrence *recurrence; /* NULL: the task runs once, by the monotonic clock */
    struct elapse__lease *lease;           /* NULL: the scheduler has no leases */
    uint64_t noted_tick;                   /* if `noted`: the deadline of a task that was WAITING */
    bool noted;                            /* false: the timer has the deadline */
    bool replaced; /* while RUNNING and `cancelled`: the task was cancelled because another task has
                      taken its key */
};

struct elapse__task {
    union {
        /* While PENDING; its deadline stays readable until the task is finished. */
        struct elapse_timer timer;
        uint64_t next_run_tick;       /* while `runs_again`: the timer is idle then */
        struct elapse__due_place due; /* while WAITING or QUEUED: see due_list.h */
        struct elapse__task *next;    /* while FREE */
    } when;
    elapse_action_function *action;
    void *context;
    struct elapse__task_extra *extra; /* NULL: none of these fields is needed */
    uint32_t generation; /* the generation in the handle of the task; it grows when the task ends */
    uint32_t index : ELAPSE__TASK_INDEX_BITS;
    uint32_t state : 3;
    uint32_t runs_again : 1;
    uint32_t cancelled : 1;
    uint32_t waited : 1;
#if UINTPTR_MAX <= UINT32_MAX
    uint32_t queue_number;
#endif
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct elapse__task) == 64,
               "a task is one cache line");

/* Returns where a QUEUED task keeps its number in the work queue. A task may have several places in
 * the work queue; the number tells which of them is the newest. */
static inline uint32_t *elapse__work_queue_number_of(struct elapse__task *task)
{
#if UINTPTR_MAX > UINT32_MAX
    return &task->when.due.queue_number;
#else
    return &task->queue_number;
#endif
}

/* Returns the task of a timer. The timer is the first member of the task. */
static inline struct elapse__task *elapse__task_of(struct elapse_timer *timer)
{
    return (struct elapse__task *)(void *)timer;
}

/* Returns whether the action of the task has begun and not ended. */
static inline bool elapse__is_running(const struct elapse__task *task)
{
    return task->state >= ELAPSE__TASK_RUNNING;
}

/* Returns the recurrence of a task; NULL if the task runs once, by the monotonic clock. Requires
 * that the task has not ended, because a recurrence is released at the end. */
static inline struct elapse__recurrence *elapse__recurrence_of(const struct elapse__task *task)
{
    return task->extra == NULL ? NULL : task->extra->recurrence;
}

/* Returns the key of a task; NULL if it has no key. Requires that the task has not ended. */
static inline struct elapse__key *elapse__key_of(const struct elapse__task *task)
{
    return task->extra == NULL ? NULL : task->extra->key;
}

/* Returns the lease of a task; NULL if the scheduler has no leases. Requires that the task has not
 * ended. */
static inline struct elapse__lease *elapse__lease_of(const struct elapse__task *task)
{
    return task->extra == NULL ? NULL : task->extra->lease;
}

#endif
