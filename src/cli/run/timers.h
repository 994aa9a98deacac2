/*
 * Makes timers from lines.
 */
#ifndef ELAPSE_CLI_RUN_TIMERS_H
#define ELAPSE_CLI_RUN_TIMERS_H

#include <stdint.h>

#include "line.h"
#include "run.h"

/* run_apply does what a line says, either at once or at the next run_apply_rest. `now_ns` is when
 * the line was read, by the scheduler's clock. A timer that cannot be scheduled is reported and
 * counted as a failure. */
void run_apply(struct run *run, const struct run_line *line, uint64_t now_ns);
void run_apply_rest(struct run *run);

#endif
