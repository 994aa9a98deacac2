/*
 * Admission makes a task in a shard from the user's description of a task.
 *
 * The memory that a task needs is allocated while no lock is held: a block for the task table, a
 * copy of the key, a segment of the key index. Then the lock is taken, and the task is admitted or
 * refused. If the table turns out to be full, the lock is released, room is made, and the attempt
 * is repeated.
 */
#ifndef ELAPSE__ADMISSION_H
#define ELAPSE__ADMISSION_H

#include "scheduler.h"
#include "shard_schedule.h"

/* A deadline, by the monotonic clock or by the wall clock. */
struct elapse__deadline {
    uint64_t ns;
    bool wall_clock;
};

/* Returns whether the description is valid for a deadline by the wall clock, if `wall_clock` is
 * true, or by the monotonic clock. */
bool elapse__task_is_valid(const struct elapse_scheduler *scheduler, const struct elapse_task *task,
                           bool wall_clock);

/* Returns whether the task needs no memory besides its place in the task table. */
bool elapse__task_is_plain(const struct elapse_scheduler *scheduler, const struct elapse_task *task,
                           bool wall_clock);

/* Returns the last tick that the slack allows; 0 if there is no slack. */
uint64_t elapse__latest_tick(const struct elapse_task *task, uint64_t deadline_ns,
                             uint64_t tick_ns);

/* Makes an admission out of a description, and finds its shard. Requires that no lock is held. */
enum elapse_error elapse__admission_prepare(struct elapse_scheduler *scheduler,
                                            const struct elapse_task *task,
                                            struct elapse__deadline deadline,
                                            struct elapse__admission *admission,
                                            struct elapse__shard **shard);

/* Lets the task table grow. Requires the lock of the shard; releases it and takes it again. */
enum elapse_error elapse__make_room(struct elapse_scheduler *scheduler,
                                    struct elapse__shard *shard);

/* Admits the task. Requires the lock of the shard; releases it and takes it again if memory is
 * needed. */
enum elapse__admitted elapse__admission_admit(struct elapse_scheduler *scheduler,
                                              struct elapse__shard *shard,
                                              struct elapse__admission *admission,
                                              enum elapse_error *error);

/* Wakes the clock thread and releases memory that was not needed. Requires that no lock is held.
 * The task may have run by now and released its description, so this function reads the description
 * only if the task was not admitted. */
void elapse__admission_conclude(struct elapse_scheduler *scheduler,
                                struct elapse__admission *admission,
                                enum elapse__admitted admitted);

#endif
