/*
 * The clock thread sleeps until a task is due. Then it puts the task into the work queue. If there
 * are no workers, it runs the task.
 */
#ifndef ELAPSE__CLOCK_THREAD_H
#define ELAPSE__CLOCK_THREAD_H

#include "scheduler.h"

/* Puts the tasks that are due at `now` into the work queue, and makes workers if there are too few.
 * Returns false if the queue became full before all tasks were in it. */
bool elapse__deliver(struct elapse_scheduler *scheduler, struct elapse__ticks now);

/* Starts the clock thread. Returns false if the system refuses it. */
bool elapse__clock_thread_start(struct elapse_scheduler *scheduler);

/* Tells the clock thread to leave, and waits until it has left. Does nothing if there is no clock
 * thread. */
void elapse__clock_thread_end(struct elapse_scheduler *scheduler);

#endif
