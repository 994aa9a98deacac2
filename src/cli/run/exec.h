/*
 * With --exec: a timer that fires runs a program.
 */
#ifndef ELAPSE_CLI_RUN_EXEC_H
#define ELAPSE_CLI_RUN_EXEC_H

#include "run.h"

/* These functions make and free what run_spawn uses. run_exec_init returns 0 or an error number. */
int run_exec_init(struct run *run);
void run_exec_free(struct run *run);

/* Says that the run ends, so that no program is tried again. */
void run_exec_end(struct run *run);

/* The action of the timers. It runs the program, and waits until the program has ended. Its context
 * is a struct run_timer. */
elapse_action_function run_spawn;

#endif
