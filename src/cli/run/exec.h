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

/* Takes a signal as elapse__os_signals_take does. If the signal ends the run, says so as
 * run_exec_end does, in the same step. */
enum elapse__os_signal run_exec_take_signal(struct run *run);

/* The action of the timers. It runs the program, and waits until the program has ended. Its context
 * is a struct run_timer. */
elapse_action_function run_spawn;

/* Does the same for a timer of --data. Returns false if the program failed when the run ended, so
 * that the next run has to fire the timer again. */
bool run_spawn_durable(const struct run_timer *timer, const struct elapse_run *firing);

#endif
