/*
 * A new task comes into a shard. The functions are called with the shard's lock held.
 */
#ifndef ELAPSE__SHARD_SCHEDULE_H
#define ELAPSE__SHARD_SCHEDULE_H

#include "shard_steps.h"

/* A task about to be scheduled, with everything that had to be made without the lock. */
struct elapse__admission {
    const struct elapse_task *task;
    bool plain;           /* nothing was made for it but the task itself */
    bool wall_clock;      /* `tick` is by the wall clock; the shard needs a wheel for that */
    uint64_t tick;        /* out: the one chosen, where there is slack */
    uint64_t latest_tick; /* not above `tick`: there is no slack */
    uint64_t key_hash;
    struct elapse__task_extra *extra;   /* NULL, or for the task; taken if it is admitted */
    struct elapse__key *key;            /* NULL, or for the index; taken if the key is new */
    struct elapse_handle handle;        /* out */
    struct elapse__ended_task replaced; /* out: of the task that was replaced */
};

/* The same for a task that needs nothing but its 64 bytes. Most tasks are so, and to leave out
 * what they do not need takes a tenth off the cost of scheduling one. */
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
    ELAPSE__ADMIT_NO_WALL_CLOCK_WHEEL, /* the shard needs such a wheel first; nothing has changed */
};

/* Schedules the task. After the lock the caller wakes the clock thread. */
enum elapse__admitted elapse__shard_admit(struct elapse__shard *shard,
                                          struct elapse__admission *admission,
                                          enum elapse_error *error);

enum elapse__admitted elapse__shard_admit_plain(struct elapse__shard *shard,
                                                struct elapse__plain_admission *admission,
                                                enum elapse_error *error);

#endif
