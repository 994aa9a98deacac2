/*
 * Steps that several changes of a task's state share. They are called with the shard's lock held.
 */
#ifndef ELAPSE__SHARD_STEPS_H
#define ELAPSE__SHARD_STEPS_H

#include "shard.h"

/* What a task leaves behind when it ends. It is released after the lock: see callback.h. */
struct elapse__ended_task {
    elapse_destroy_function *destroy; /* NULL: nothing to destroy */
    void *context;
    struct elapse__task_extra *extra;
    struct elapse__recurrence *recurrence;
    struct elapse__key *key; /* a key that names no task any more */
};

/* Counts a task as pending. Returns false if that would be more than the limit. */
bool elapse__shard_count_pending(struct elapse__shard *shard);
void elapse__shard_uncount_pending(struct elapse__shard *shard);

/* Puts the task's timer into its wheel: the task is PENDING. The caller wakes the clock thread
 * after it has released the lock; see sleeper.h for the order of these accesses. */
void elapse__shard_start_timer(struct elapse__shard *shard, struct elapse__task *task,
                               uint64_t tick);

/* UNLINKING -> FREE, for one task whose timer was popped, and for all. */
void elapse__shard_free_popped(struct elapse__shard *shard, struct elapse__task *task);
void elapse__shard_unlink_all(struct elapse__shard *shard);

/* Takes a key that names no task any more out of the index, for `ended`. */
void elapse__shard_drop_idle_key(struct elapse__shard *shard, struct elapse__key *key,
                                 struct elapse__ended_task *ended);

/* Ends a task. Requires that no key names it. */
void elapse__shard_end(struct elapse__shard *shard, struct elapse__task *task,
                       struct elapse__ended_task *ended);

/* Takes a pending task out. Requires that it is not running. */
void elapse__shard_remove(struct elapse__shard *shard, struct elapse__task *task,
                          struct elapse__ended_task *ended);

/* Makes sure that a running task does not run again, even if it was rescheduled or recurs. */
void elapse__shard_cancel_next_run(struct elapse__shard *shard, struct elapse__task *task);

/* Gives the task another deadline. What was noted of the one before is forgotten, and periods are
 * counted from the new one. */
void elapse__shard_note_moved(struct elapse__task *task, uint64_t deadline_ns);

/* Returns whether the task goes on to its next occurrence when its action has returned, and not to
 * a deadline that it was moved to meanwhile. */
bool elapse__shard_recurs(const struct elapse__task *task);

#endif
