/*
 * Declares what makes and frees the core of a partition, and what the loop does for the partition's
 * runner.
 */
#ifndef ELAPSE__CLUSTER_SERVE_CORE_H
#define ELAPSE__CLUSTER_SERVE_CORE_H

#include "life.h"

/* ---- core.c ---- */

/* Counts the descriptors that no client gets. */
void elapse__cluster_count_files(struct elapse__cluster *cluster);

/* Does what the runner's thread has asked for: makes or frees the core, starts another runner, logs
 * what has changed, and tells the router who owns the partition. */
void elapse__cluster_partition_look(struct elapse__cluster_partition *partition);

/* Frees the core, if there is one. */
void elapse__cluster_partition_release(struct elapse__cluster_partition *partition);

#endif
