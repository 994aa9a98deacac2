/*
 * Declares the functions that make and free the core of a partition, and the function that does
 * what the partition's runner asks of the loop.
 */
#ifndef ELAPSE__CLUSTER_SERVE_CORE_H
#define ELAPSE__CLUSTER_SERVE_CORE_H

#include "life.h"

/* ---- core.c ---- */

/* Counts the file descriptors that are kept back for partitions, so that clients do not get
 * them. */
void elapse__cluster_count_files(struct elapse__cluster *cluster);

/* Does what the runner's thread has asked for: makes or frees the core, starts a new runner, logs
 * changes, and tells the router who owns the partition. */
void elapse__cluster_partition_look(struct elapse__cluster_partition *partition);

/* Lets the process end because the database lacks groups, but only after the partitions have looked
 * for those that they lack (search_until_ms of inner.h). */
void elapse__cluster_search(struct elapse__cluster *cluster);

/* Tells the router who owns the partition, as the partition's figures say. */
void elapse__cluster_partition_tell(struct elapse__cluster_partition *partition);

/* Frees the core, if there is one. */
void elapse__cluster_partition_release(struct elapse__cluster_partition *partition);

#endif
