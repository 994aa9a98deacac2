/*
 * Puts a new task into a shard. The functions require the lock of the shard.
 */
#ifndef ELAPSE__SHARD_SCHEDULE_H
#define ELAPSE__SHARD_SCHEDULE_H

#include "shard_steps.h"

/* A task that is about to be scheduled, with the memory that was allocated for it before the lock
 * was taken. */
struct elapse__admission {
    const struct elapse_task *task;
    bool plain;      /* the task needs no memory besides its place in the task table */
    bool wall_clock; /* `tick` is by the wall clock; the shard needs a wheel for that clock */
    uint64_t tick; /* in: the tick of the deadline; out: with slack, the tick that was chosen in the
                      window */
    uint64_t latest_tick; /* if not greater than `tick`, there is no slack */
    uint64_t key_hash;
    struct elapse__task_extra *extra;   /* or NULL; becomes NULL when the shard has taken it over */
    struct elapse__key *key;            /* or NULL; becomes NULL when the index has taken it over */
    struct elapse_handle handle;        /* out */
    struct elapse__ended_task replaced; /* out: what the replaced task leaves behind */
};

/* What admission needs to know of a plain task. Most tasks are plain. Without the other fields, to
 * schedule a plain task is a tenth cheaper. */
struct elapse__plain_admission {
    const struct elapse_task *task;
    uint64_t tick; /* in and out, as in struct elapse__admission */
    uint64_t latest_tick;
    struct elapse_handle handle; /* out */
};

enum elapse__admitted {
    ELAPSE__ADMITTED,
    ELAPSE__ADMIT_KEPT,                /* KEY_KEEP: the pending task was kept, the new one ends */
    ELAPSE__ADMIT_REFUSED,             /* `error` says why */
    ELAPSE__ADMIT_NO_ROOM,             /* the task table must grow first; nothing has changed */
    ELAPSE__ADMIT_NO_WALL_CLOCK_WHEEL, /* the shard needs a wheel for the wall clock first; nothing
                                          has changed */
};

/* Schedules the task. The caller must wake the clock thread after it has released the lock. */
enum elapse__admitted elapse__shard_admit(struct elapse__shard *shard,
                                          struct elapse__admission *admission,
                                          enum elapse_error *error);

enum elapse__admitted elapse__shard_admit_plain(struct elapse__shard *shard,
                                                struct elapse__plain_admission *admission,
                                                enum elapse_error *error);

#endif
