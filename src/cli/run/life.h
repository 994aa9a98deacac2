/*
 * One whole call of `elapse run`, from its first line of input to its exit status.
 */
#ifndef ELAPSE_CLI_RUN_LIFE_H
#define ELAPSE_CLI_RUN_LIFE_H

#include "../common/message.h"
#include "run.h"

/* Reads lines and fires timers. Returns when the last timer has ended, or when something else, such
 * as a signal, ends the run. */
enum exit_status run_file(const struct run_options *options);

#endif
