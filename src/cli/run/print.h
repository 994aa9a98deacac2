/*
 * Without --exec: a timer that fires prints one line of JSON.
 */
#ifndef ELAPSE_CLI_RUN_PRINT_H
#define ELAPSE_CLI_RUN_PRINT_H

#include "run.h"

/* The action of the timers. Its context is a struct run_timer. */
elapse_action_function run_print;

#endif
