/*
 * A shard: a lock, and what it guards: a wheel, the tasks in it, their keys, counts.
 * Every change of a task's state is a function here, called with the lock held; it
 * neither allocates nor calls anything of the user's. What a task leaves behind when it
 * ends is collected in an `elapse__remains`, for after the lock.
 */
#ifndef ELAPSE__SHARD_H
#define ELAPSE__SHARD_H

#include <pthread.h>
#include <stdatomic.h>

#include <elapse/scheduler.h>
#include <elapse/wheel.h>

#include "key_index.h"
#include "recurrence.h"
#include "task_table.h"
#include "ticks.h"
#include "wall_clock_wheel.h"

/* Tasks that may be LEAVING at a time: enough for their neighbours to have come
 * when they are needed. */
enum { ELAPSE__LEAVING_MAX = 8 };

struct elapse__shard {
    _Alignas(ELAPSE__LINE_BYTES) pthread_mutex_t lock;
    /* No timer of the wheel is due before this tick. Written with the lock held; the
     * clock thread reads it without. See sleeper.h. */
    _Atomic uint64_t wake_tick;

    /* Guarded by `lock`, all that follows. */
    bool closed;          /* nothing is scheduled any more */
    uint64_t pending;     /* tasks PENDING, WAITING or QUEUED, or RUNNING and `again` */
    uint64_t running;     /* tasks RUNNING */
    pthread_cond_t ended; /* a task that was `waited` for has ended; once closed: any */
    struct elapse__task_table tasks;
    struct elapse__task *leaving[ELAPSE__LEAVING_MAX]; /* a ring; NULL: nobody */
    unsigned oldest_leaving;                           /* the next to be taken out */
    struct elapse_wheel wheel;
    struct elapse__wall_clock_wheel wall_clock;
    struct elapse__key_index keys;
    uint64_t scheduled, rescheduled, begun, removed, replaced, handed_back, dropped;
    uint64_t lateness_max_ns;
    uint64_t lateness[ELAPSE_LATENESS_BUCKETS];

    /* Never change. */
    uint64_t tick_ns;
    uint32_t number;
    uint64_t pending_max;             /* 0: no limit */
    _Atomic uint64_t *pending_of_all; /* counted only where there is a limit */
};

/* What remains of a task that has ended: to be dealt with after the lock. */
struct elapse__remains {
    elapse_destroy_function *destroy; /* NULL: nothing to destroy */
    void *context;
    struct elapse__task_extra *extra;
    struct elapse__recurrence *recurrence;
    struct elapse__key *key; /* one that names no task any more */
};

/* A task about to be scheduled, with all that had to be made without the lock. */
struct elapse__admission {
    const struct elapse_task *task;
    bool plain;           /* nothing was made for it but the task itself */
    bool wall_clock;      /* `tick` is by the wall clock; the shard needs a wheel for that */
    uint64_t tick;        /* out: the one chosen, where there is slack */
    uint64_t latest_tick; /* not above `tick`: there is no slack */
    uint64_t key_hash;
    struct elapse__task_extra *extra; /* NULL, or for the task; taken if it is admitted */
    struct elapse__key *key;          /* NULL, or for the index; taken if the key is new */
    struct elapse_handle handle;      /* out */
    struct elapse__remains replaced;  /* out: of the task that had to go */
};

/* The same for a task that needs nothing but its 64 bytes: most are so, and to leave out
 * what they do not need takes a tenth off scheduling one. */
struct elapse__plain_admission {
    const struct elapse_task *task;
    uint64_t tick; /* as above */
    uint64_t latest_tick;
    struct elapse_handle handle; /* out */
};

enum elapse__admitted {
    ELAPSE__ADMITTED,
    ELAPSE__ADMIT_KEPT,                /* by KEY_KEEP: the new task has ended */
    ELAPSE__ADMIT_REFUSED,             /* `error` says why */
    ELAPSE__ADMIT_NO_ROOM,             /* the task table must grow first; nothing has changed */
    ELAPSE__ADMIT_NO_WALL_CLOCK_WHEEL, /* a wheel for wall-clock times must be made first; likewise
                                        */
};

/* An action that has begun. */
struct elapse__begun {
    struct elapse__task *task;
    elapse_action_function *action;
    void *context;
    const struct elapse__recurrence *recurrence; /* or NULL; what finds the next occurrence does not
                                                    change while it runs */
    bool wall_clock;                             /* the times are by the wall clock */
    uint64_t number;
    uint64_t missed;
    struct elapse_handle handle;
    uint64_t intended_ns;
    uint64_t actual_ns;
};

/* The task's deadline is by the wall clock. */
static inline bool elapse__by_wall_clock(const struct elapse__task *task)
{
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    return recurrence != NULL && recurrence->wall_clock;
}

bool elapse__shard_init(struct elapse__shard *shard, uint32_t number, uint64_t now_tick,
                        uint64_t tick_ns);
void elapse__shard_free(struct elapse__shard *shard, const struct elapse_allocator *memory);

static inline void elapse__shard_lock(struct elapse__shard *shard)
{
    (void)pthread_mutex_lock(&shard->lock);
}

static inline void elapse__shard_unlock(struct elapse__shard *shard)
{
    (void)pthread_mutex_unlock(&shard->lock);
}

static inline struct elapse_handle elapse__handle_of(const struct elapse__shard *shard,
                                                     const struct elapse__task *task)
{
    return (struct elapse_handle){task->index, task->generation, shard->number};
}

/* The task that the handle names; NULL if it is gone. */
struct elapse__task *elapse__shard_find(struct elapse__shard *shard, struct elapse_handle handle);

/* Without the lock: asks for the task's cache line. */
static inline void elapse__shard_prefetch(const struct elapse__shard *shard,
                                          struct elapse_handle handle)
{
    elapse__task_table_prefetch(&shard->tasks, handle.index);
}

/* Schedules. The caller looks afterwards whether wake_tick was lowered. */
enum elapse__admitted elapse__shard_admit(struct elapse__shard *shard,
                                          struct elapse__admission *admission,
                                          enum elapse_error *error);

enum elapse__admitted elapse__shard_admit_plain(struct elapse__shard *shard,
                                                struct elapse__plain_admission *admission,
                                                enum elapse_error *error);

/* Moves a task to another deadline, which comes due at `tick`. `*started`: its timer was started,
 * to be announced. */
enum elapse_error elapse__shard_reschedule(struct elapse__shard *shard, struct elapse_handle handle,
                                           uint64_t deadline_ns, uint64_t tick, bool *started);

/* Cancels; `remains` is filled if the answer is REMOVED. */
enum elapse_cancel elapse__shard_cancel(struct elapse__shard *shard, struct elapse_handle handle,
                                        struct elapse__remains *remains);

/* Takes a task that is not RUNNING out, whatever its state. */
void elapse__shard_remove(struct elapse__shard *shard, struct elapse__task *task,
                          struct elapse__remains *remains);

/* When a task that is not FREE is due, or was: the beginning of that tick. By the wall clock if
 * it has a wall-clock time. */
uint64_t elapse__shard_deadline_ns(const struct elapse__shard *shard,
                                   const struct elapse__task *task);

/* Makes all tasks that are LEAVING FREE. */
void elapse__shard_take_out_leaving(struct elapse__shard *shard);

/* What take_due found. */
enum elapse__due {
    ELAPSE__DUE_TASK, /* a task, taken out of the wheel, in `*taken` */
    ELAPSE__DUE_NONE, /* none; wake_tick is up to date */
    ELAPSE__DUE_MORE, /* it has moved timers for long enough: release the lock and come again */
};

/* Takes the next task that is due out of its wheel: QUEUED from now on. It is `now`; what is taken
 * is due at `until`, which is no later. An until.wall_clock of ELAPSE_NEVER leaves that wheel
 * alone.
 */
enum elapse__due elapse__shard_take_due(struct elapse__shard *shard, struct elapse__ticks now,
                                        struct elapse__ticks until, struct elapse__task **taken);

/* Brings both wake_ticks up to date. */
void elapse__shard_note_next(struct elapse__shard *shard, struct elapse__ticks now);

/* QUEUED -> RUNNING. */
struct elapse__begun elapse__shard_begin(struct elapse__shard *shard, struct elapse__task *task,
                                         uint64_t actual_ns);

/* The action has returned: RUNNING -> FREE or, when it was rescheduled or recurs, PENDING.
 * `next_occurrence`: NULL if it does not recur. Returns the ticks of the timers that were thereby
 * started, its own or that of the next task with its key: they are to be announced.
 * ELAPSE_NEVER: none was. */
struct elapse__ticks elapse__shard_finish(struct elapse__shard *shard, struct elapse__task *task,
                                          const struct elapse__occurrence *next_occurrence,
                                          struct elapse__remains *remains);

#endif
