/*
 * From the description of a task to a task in a shard.
 *
 * What a task needs is made without the lock: a block for the task table, a copy of the key, a
 * segment of the key index. Then, under the lock, the task is admitted or it is not. When the
 * table turns out to be full, the lock is released, room is made, and everything begins anew.
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

/* Returns whether the description makes sense for a deadline by this clock. */
bool elapse__task_is_valid(const struct elapse_scheduler *scheduler, const struct elapse_task *task,
                           bool wall_clock);

/* Returns whether nothing but the task itself has to be made for it. */
bool elapse__task_is_plain(const struct elapse_task *task, bool wall_clock);

/* Returns the last tick that the slack allows; 0: there is no slack. */
uint64_t elapse__latest_tick(const struct elapse_task *task, uint64_t deadline_ns,
                             uint64_t tick_ns);

/* Makes an admission out of a description, and finds the shard it is for. */
enum elapse_error elapse__admission_prepare(struct elapse_scheduler *scheduler,
                                            const struct elapse_task *task,
                                            struct elapse__deadline deadline,
                                            struct elapse__admission *admission,
                                            struct elapse__shard **shard);

/* Lets the task table grow. The lock of the shard is held at the call and when it returns, and not
 * in between. */
enum elapse_error elapse__make_room(struct elapse_scheduler *scheduler,
                                    struct elapse__shard *shard);

/* Admits with the lock held, which it releases in between where room is needed. */
enum elapse__admitted elapse__admission_admit(struct elapse_scheduler *scheduler,
                                              struct elapse__shard *shard,
                                              struct elapse__admission *admission,
                                              enum elapse_error *error);

/* Does what is left to do after the lock. The task may have run by now and released its
 * description, so that is not read any more unless the task was kept out by its key. */
void elapse__admission_conclude(struct elapse_scheduler *scheduler,
                                struct elapse__admission *admission,
                                enum elapse__admitted admitted);

#endif
