/*
 * The life of a run.
 */
#ifndef ELAPSE_CLI_RUN_LIFE_H
#define ELAPSE_CLI_RUN_LIFE_H

#include "../common/message.h"
#include "run.h"

/* Runs from the first line of the input to the end of the last timer, or until something ends it
 * before. */
enum exit_status run_file(const struct run_options *options);

#endif
