/*
 * Makes and ends threads: the workers, and the clock thread.
 */
#ifndef ELAPSE__WORKERS_H
#define ELAPSE__WORKERS_H

#include "scheduler.h"

/* Makes a thread of this name (at most 15 characters) that runs `main(argument)`. All signals are
 * blocked in it, so that the user's threads receive them. Returns false if there is no memory or
 * the system refuses the thread. */
bool elapse__thread_make(struct elapse_scheduler *scheduler, struct elapse__os_thread *thread,
                         const char *name, void *(*main)(void *argument), void *argument);

/* Makes `count` more workers, or as many as are allowed. Only the thread that puts into the work
 * queue may call it. Returns false if the system refused a worker; the workers that were made
 * before stay. */
bool elapse__workers_make(struct elapse_scheduler *scheduler, unsigned count);

/* Tells all workers to leave, and waits until they have left. They finish the actions that they
 * run. */
void elapse__workers_end(struct elapse_scheduler *scheduler);

#endif
