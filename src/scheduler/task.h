/*
 * A task as a shard keeps it, and the states it goes through. All of it is guarded
 * by the lock of its shard; each arrow is taken within one holding of that lock.
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
 *  PENDING   its timer is in a wheel; with a wall-clock time perhaps in the chain of
 * wall_clock_wheel.h WAITING   popped; nothing but the key names it QUEUED    popped; its handle
 * lies in the work queue, perhaps several times: what a worker takes out counts only while the task
 * is still QUEUED RUNNING   its action has begun and not ended; only the thread it runs on ends
 *            that. `runs_again`: it was rescheduled meanwhile. `cancelled`: it must not
 *            run again. `waited`: somebody waits for its end.
 *
 *  FINISHING    RUNNING still, for everybody; but one thread has come to end it (pull mode)
 *  UNLINKING   gone for everybody, but its timer is still in the wheel. To take it out
 *            touches its neighbours, two cache misses; these are asked for now, and
 *            it is taken out some cancels later (see leave in shard.c).
 *
 * A task that recurs is `runs_again` from the moment that it begins. One with a wall-clock time
 * does not leave by way of UNLINKING, but for one in that chain. Where there are no workers a
 * QUEUED task is RUNNING at once.
 */
#ifndef ELAPSE__TASK_H
#define ELAPSE__TASK_H

#include <elapse/scheduler.h>
#include <elapse/timer.h>

/* Up to UNLINKING, no handle names the task. */
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

/* What only some tasks need. */
struct elapse__task_extra {
    elapse_destroy_function *destroy;
    struct elapse__key *key;               /* NULL: it has none */
    struct elapse__recurrence *recurrence; /* NULL: it runs once, by the scheduler's clock */
    uint64_t noted_tick; /* the deadline, once it was WAITING; 0: the timer has it */
};

struct elapse__task {
    union {
        struct elapse_timer timer; /* while PENDING; its deadline until finished */
        uint64_t next_run_tick;    /* while `runs_again`: the timer is idle, its first bytes free */
        struct elapse__task *next; /* while FREE */
    } when;
    elapse_action_function *action;
    void *context;
    struct elapse__task_extra *extra; /* NULL: nothing */
    uint32_t generation;              /* of the handle; another each time it becomes FREE */
    uint32_t index : ELAPSE__TASK_INDEX_BITS;
    uint32_t state : 3;
    uint32_t runs_again : 1;
    uint32_t cancelled : 1;
    uint32_t waited : 1;
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct elapse__task) == 64,
               "a task is one cache line");

/* The timer is the first member of its task. */
static inline struct elapse__task *elapse__task_of(struct elapse_timer *timer)
{
    return (struct elapse__task *)(void *)timer;
}

static inline bool elapse__is_running(const struct elapse__task *task)
{
    return task->state >= ELAPSE__TASK_RUNNING;
}

/* NULL: it runs once, by the scheduler's clock. */
static inline struct elapse__recurrence *elapse__recurrence_of(const struct elapse__task *task)
{
    return task->extra == NULL ? NULL : task->extra->recurrence;
}

static inline struct elapse__key *elapse__key_of(const struct elapse__task *task)
{
    return task->extra == NULL ? NULL : task->extra->key;
}

#endif
