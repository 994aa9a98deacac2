/*
 * Manual time: elapse_scheduler_step runs all due tasks on the calling thread.
 */
#ifndef ELAPSE__STEP_H
#define ELAPSE__STEP_H

#include "scheduler.h"

/* Tells a thread that is inside step to leave, and waits until it has left. Used by close. */
void elapse__step_wait(struct elapse_scheduler *scheduler);

#endif
