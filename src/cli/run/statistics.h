/*
 * Prints the statistics of a run.
 */
#ifndef ELAPSE_CLI_RUN_STATISTICS_H
#define ELAPSE_CLI_RUN_STATISTICS_H

#include "run.h"

/* Prints counts and lateness on standard error. */
void run_print_statistics(struct run *run);

#endif
