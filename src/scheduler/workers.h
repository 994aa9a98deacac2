/*
 * Threads: the workers, and how any thread of a scheduler is made.
 */
#ifndef ELAPSE__WORKERS_H
#define ELAPSE__WORKERS_H

#include "scheduler.h"

/* Makes a thread of this name (at most 15 characters) that runs `main(scheduler)`. All
 * signals are blocked in it: they are for the user's threads. */
bool elapse__thread_make(struct elapse_scheduler *scheduler, pthread_t *thread, const char *name,
                         void *(*main)(void *scheduler));

/* Makes `count` more workers, or as many as are allowed. Only for the thread that puts
 * into the work queue. Returns false if the system refused one; the others stay. */
bool elapse__workers_make(struct elapse_scheduler *scheduler, unsigned count);

/* Ends all workers and waits for them; what they run they finish. */
void elapse__workers_end(struct elapse_scheduler *scheduler);

#endif
