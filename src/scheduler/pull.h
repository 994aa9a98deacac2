/*
 * In pull mode, threads of the user take due tasks. This file has what new, start, close and free
 * do for pull mode. elapse/pull.h declares the other functions.
 */
#ifndef ELAPSE__PULL_H
#define ELAPSE__PULL_H

#include "scheduler.h"

/* Makes the lock of pulling. Returns false if the system has no lock to give. */
bool elapse__pull_init(struct elapse_scheduler *scheduler);
void elapse__pull_free(struct elapse_scheduler *scheduler);

/* Makes the descriptor, and sets the alarms for the first time. Requires that the sleeper is open.
 * Returns false if the system has no descriptor to give. */
bool elapse__pull_start(struct elapse_scheduler *scheduler);

/* Wakes all threads that wait in take. Waits until all tasks that were taken are done, but no
 * longer than until `until_ns`; ELAPSE_NEVER: without end. Returns whether all of these tasks are
 * done. Requires that all shards are closed. */
bool elapse__pull_end(struct elapse_scheduler *scheduler, uint64_t until_ns);

#endif
