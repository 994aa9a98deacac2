/*
 * The life of a partition.
 */
#ifndef ELAPSE__CLUSTER_SERVE_LIFE_H
#define ELAPSE__CLUSTER_SERVE_LIFE_H

#include "store.h"

/* ---- partition.c ---- */

/* The calls of the store and of the runner. */
bool elapse__cluster_partition_submit(void *context, const void *bytes, size_t size,
                                      uint64_t position);
void elapse__cluster_partition_trim(void *context, uint64_t tail);
struct elapse__partition_owner
elapse__cluster_partition_owner(struct elapse__cluster_partition *partition);
extern const struct elapse__runner_calls elapse__cluster_partition_calls;

/* ---- partition_life.c ---- */

/* Opens the store of a partition, if its files belong to that partition. Returns false after a line
 * in the log. */
bool elapse__cluster_partition_open(struct elapse__cluster *cluster, uint32_t partition);

/* Starts the runner. Requires a store. Returns false after a line in the log. */
bool elapse__cluster_partition_start(struct elapse__cluster_partition *partition);

/* Ends the runner, and closes the store. Requires that there is no core. Returns false if not
 * everything that is confirmed became durable here. */
bool elapse__cluster_partition_close(struct elapse__cluster_partition *partition);

#endif
