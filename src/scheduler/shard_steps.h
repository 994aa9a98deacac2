/*
 * Steps that several changes of a task's state share. They require the lock of the shard. task.h
 * explains the states of a task, which are written in capitals.
 */
#ifndef ELAPSE__SHARD_STEPS_H
#define ELAPSE__SHARD_STEPS_H

#include "shard.h"
#include "shard_deadline.h"

/* What a task leaves behind when it ends. elapse__ended_task_dispose in callback.h releases it,
 * without the lock. Begin with elapse__ended_task_init. */
struct elapse__ended_task {
    struct elapse__task_extra *extra; /* NULL: nothing is left, and no other field is set */
    struct elapse__destructor destructor;
    void *context;
    enum elapse_end reason;
    struct elapse__recurrence *recurrence;
    struct elapse__lease *lease;
    /* Or NULL; a key that names no task any more, and is not in the index. */
    struct elapse__key *key;
    /* NULL, or the key of the task, which no other task may use until the context is destroyed. */
    struct elapse__key *held_key;
    /* If there is something to destroy, this struct is in a list of its shard: the list of ended
     * tasks that are being destroyed. So the struct must stay at its address until it is disposed
     * of. */
    struct elapse__shard *shard;
    struct elapse__ended_task *next;
    struct elapse__ended_task *previous;
    struct elapse_handle handle; /* the handle that the task had */
    bool waited;                 /* a thread waits until the destructor has returned */
};

/* Notes that no task has ended. Sets only one field: to set all fields to 0 would cost more than
 * any other part of a cancel, and most tasks leave nothing behind
 * (docs/decisions/0006-scheduler.md). */
static inline void elapse__ended_task_init(struct elapse__ended_task *ended)
{
    ended->extra = NULL;
}

/* Counts a task as pending. If that would exceed the limit, does not count it, and returns
 * false. */
bool elapse__shard_count_pending(struct elapse__shard *shard);

/* Counts a task as not pending any more. */
void elapse__shard_uncount_pending(struct elapse__shard *shard);

/* Sets cascade_tick to the time from which timers of the wheel can be cascaded ahead. */
void elapse__shard_note_cascade(struct elapse__shard *shard);

/* Puts the task's timer into its wheel, and makes the task PENDING. The caller must wake the clock
 * thread after it has released the lock; sleeper.h says why in this order. */
void elapse__shard_start_timer(struct elapse__shard *shard, struct elapse__task *task,
                               uint64_t tick);

/* Frees a task that was UNLINKING, after its timer was popped. */
void elapse__shard_free_popped(struct elapse__shard *shard, struct elapse__task *task);

/* Unlinks and frees all tasks of the unlinking ring. */
void elapse__shard_unlink_all(struct elapse__shard *shard);

/* Moves a key from the index to `ended` if the key names no task any more and is not in use. */
void elapse__shard_drop_idle_key(struct elapse__shard *shard, struct elapse__key *key,
                                 struct elapse__ended_task *ended);

/* Ends a task. If it has a key and a destructor, the key stays in use until
 * elapse__shard_release_key, so that a resource that belongs to the key has one user at a time.
 * Requires that no key names the task. */
void elapse__shard_end(struct elapse__shard *shard, struct elapse__task *task,
                       enum elapse_end reason, struct elapse__ended_task *ended);

/* Returns the ended task of this handle if it is being destroyed; otherwise NULL. */
struct elapse__ended_task *elapse__shard_find_ended(const struct elapse__shard *shard,
                                                    struct elapse_handle handle);

/* Takes an ended task out of the list of ended tasks that are being destroyed, and wakes the
 * threads that wait for it. */
void elapse__shard_note_destroyed(struct elapse__shard *shard, struct elapse__ended_task *ended);

/* Releases the key that an ended task holds. Requires that the destructor has returned. If the next
 * task with the key waits for it, starts that task's timer. Returns the ticks of that timer; the
 * caller must wake the clock thread for them after it has released the lock. `released` receives
 * the key if the key names no task any more. */
struct elapse__ticks elapse__shard_release_key(struct elapse__shard *shard, struct elapse__key *key,
                                               struct elapse__ended_task *released);

/* Starts the timer of the pending task of this key, if that task is WAITING and the key is not in
 * use any more. `*started` receives the tick of the timer. */
void elapse__shard_start_waiting(struct elapse__shard *shard, struct elapse__key *key,
                                 struct elapse__ticks *started);

/* Takes a pending task out of the shard, and ends it. Requires that the task is not running. */
void elapse__shard_remove(struct elapse__shard *shard, struct elapse__task *task,
                          enum elapse_end reason, struct elapse__ended_task *ended);

/* Makes sure that a running task does not run again, even if it was rescheduled or recurs. */
void elapse__shard_cancel_next_run(struct elapse__shard *shard, struct elapse__task *task);

/* Notes that the task has another deadline. Forgets what was noted for the old deadline. Periods
 * are counted from the new deadline. */
void elapse__shard_note_moved(struct elapse__task *task, uint64_t deadline_ns);

#endif
