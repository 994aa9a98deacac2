/*
 * The clock thread: it sleeps until something is due, then hands it to the workers, or runs it
 * where there are none.
 */
#ifndef ELAPSE__CLOCK_THREAD_H
#define ELAPSE__CLOCK_THREAD_H

#include "scheduler.h"

/* Puts what is due at `now` into the work queue, as much as fits, and makes workers if they are
 * too few. Returns false if the queue was full before everything was in. */
bool elapse__deliver(struct elapse_scheduler *scheduler, struct elapse__ticks now);

/* Starts the clock thread. Returns false if the system refuses it. */
bool elapse__clock_thread_start(struct elapse_scheduler *scheduler);

/* Ends the clock thread and waits for that. */
void elapse__clock_thread_end(struct elapse_scheduler *scheduler);

#endif
