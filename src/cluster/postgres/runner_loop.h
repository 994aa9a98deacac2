/*
 * Declares the function of a runner's thread, for the file that starts the thread.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_RUNNER_LOOP_H
#define ELAPSE__CLUSTER_POSTGRES_RUNNER_LOOP_H

#include "runner_core.h"

/* The main function of the thread. `argument` is the runner. */
void *elapse__runner_main(void *argument);

/* Returns the callbacks of the partition, with the runner as their context. */
struct elapse__partition_owner elapse__runner_owner(struct elapse__runner *runner);

#endif
