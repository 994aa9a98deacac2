/*
 * Leases, in pull mode: a lease says how long a thread holds a task that it has taken. All leases
 * of a scheduler have the same length, so a list in the order of taking is a list in the order of
 * expiry:
 *
 *      first_lease -> until 10 -> until 12 -> until 15 <- last_lease
 *                        |                       ^
 *                        +------- extend --------+      take: appended here
 *
 * A lease that has expired stays in the list, and its task stays RUNNING, until a take finds the
 * task by elapse__shard_take_due. The take hands the task out again or, if the task was cancelled,
 * ends the task.
 *
 * A thread may take several tasks in one batch. Their leases begin when the whole batch is taken.
 * Before that, and while a task is FINISHING, its lease is in no list; then the thread holds the
 * task, however long that lasts.
 *
 * The functions require the lock of the shard. task.h explains the states of a task, which are
 * written in capitals.
 */
#ifndef ELAPSE__LEASE_H
#define ELAPSE__LEASE_H

#include "shard_run.h"

/* Begins the lease of a task that is RUNNING and whose lease is in no list. Wakes a thread that
 * closes the scheduler, because that thread must wait until `until_tick` at most. */
void elapse__lease_begin(struct elapse__shard *shard, struct elapse__lease *lease,
                         uint64_t until_tick);

/* Takes a lease out of the list. */
void elapse__lease_end(struct elapse__shard *shard, struct elapse__lease *lease);

/* Returns whether the thread that took the task as the `number`-th taker still holds the task. */
bool elapse__lease_is_held(const struct elapse__task *task, uint64_t number, uint64_t now_tick);

/* Begins another attempt of a task whose lease has expired, and takes the lease out of the list.
 * `actual_ns` is the time by the clock of the task. */
struct elapse__begun elapse__lease_begin_attempt(struct elapse__shard *shard,
                                                 struct elapse__task *task, uint64_t actual_ns);

/* Ends a task whose lease has expired, because the shard is closed. Its destructor gets `reason`.
 */
void elapse__lease_remove_expired(struct elapse__shard *shard, struct elapse__task *task,
                                  enum elapse_end reason, struct elapse__ended_task *ended);

/* Returns whether a thread holds a task of the shard, or is about to finish one. */
bool elapse__lease_any_held(const struct elapse__shard *shard, uint64_t now_tick);

#endif
