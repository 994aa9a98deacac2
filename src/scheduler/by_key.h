/*
 * Finds the task that a key names, for calls that change the task before they release the lock.
 */
#ifndef ELAPSE__BY_KEY_H
#define ELAPSE__BY_KEY_H

#include "scheduler.h"

/* Finds the pending task with the key or, if none is pending, the running one. If there is such a
 * task, returns its shard, whose lock the caller must release, and stores the handle. Otherwise
 * returns NULL, and no lock is held. */
struct elapse__shard *elapse__task_lock_by_key(struct elapse_scheduler *scheduler, const void *key,
                                               size_t key_bytes, struct elapse_handle *handle);

#endif
