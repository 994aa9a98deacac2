/*
 * Manual time: elapse_scheduler_step runs all due tasks on the calling thread.
 */
#ifndef ELAPSE__STEP_H
#define ELAPSE__STEP_H

#include "scheduler.h"

/* The clock thread calls these two functions before and after it runs tasks, as step does on a
 * thread of the user. elapse__step_enter returns false once close has begun to wait; then the
 * thread must run no tasks. */
bool elapse__step_enter(struct elapse_scheduler *scheduler);
void elapse__step_leave(struct elapse_scheduler *scheduler);

/* Tells a thread that is inside step, or between enter and leave, to leave. Waits until that thread
 * has left, but no longer than until `until_ns`; ELAPSE_NEVER: without end. Returns whether the
 * thread has left. Close uses this function. */
bool elapse__step_wait(struct elapse_scheduler *scheduler, uint64_t until_ns);

#endif
