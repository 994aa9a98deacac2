/*
 * Declares the functions that open, run and close a partition.
 */
#ifndef ELAPSE__CLUSTER_SERVE_LIFE_H
#define ELAPSE__CLUSTER_SERVE_LIFE_H

#include "store.h"

/* ---- partition.c ---- */

/* The functions of a partition that its store and its runner call. */
bool elapse__cluster_partition_submit(void *context, const void *bytes, size_t size,
                                      uint64_t position);
void elapse__cluster_partition_trim(void *context, uint64_t tail);
struct elapse__partition_owner
elapse__cluster_partition_owner(struct elapse__cluster_partition *partition);
extern const struct elapse__runner_calls elapse__cluster_partition_calls;

/* Waits until no thread brings the store into service any more. Called on the runner's thread, or
 * when its callbacks have ended. */
void elapse__cluster_partition_end_beginning(struct elapse__cluster_partition *partition);

/* If the error is a fault of the partition's files, ends the partition on this node, logs why with
 * `detail`, and returns true. If there is a runner, it hands the partition over. Returns false if
 * the disk or the machine is at fault, because the other partitions need these, too (promise Q11).
 * Called on the runner's thread, or, while there is no runner, by the thread that opens the
 * store. */
bool elapse__cluster_partition_goes_without_files(struct elapse__cluster_partition *partition,
                                                  enum elapse_error error, const char *detail);

/* ---- partition_life.c ---- */

/* Makes the partition with this number, without a store. Returns false if that fails. Then the
 * partition has a line for the log, unless there was no memory. */
bool elapse__cluster_partition_make(struct elapse__cluster *cluster, uint32_t number);

/* Opens the store of the partition with this number if the files belong to the partition. Requires
 * that the partition was made. `context` is the cluster. Any thread may call this, for several
 * partitions at the same time. If it fails, there is no store. Then the partition has a line for
 * the log, unless there was no memory. If the partition's files are at fault, `out` is set, and the
 * node can go on without the partition. */
void elapse__cluster_partition_open(void *context, uint32_t number);

/* Starts the runner. Requires that there is a store. If it fails, logs why and returns false. */
bool elapse__cluster_partition_start(struct elapse__cluster_partition *partition);

/* Ends the runner, if there is one. Requires that there is no core. */
void elapse__cluster_partition_end(struct elapse__cluster_partition *partition);

/* Closes the store of the partition with this number, if there is one. `context` is the cluster.
 * Any thread may call this, for several partitions at the same time. Requires that there is no
 * runner. */
void elapse__cluster_partition_close(void *context, uint32_t number);

/* Says on the disk that nobody has to open the files to compare them with the log: writes
 * `partition->left`, and sets `is_left`. If that fails, logs why. Requires that the store was
 * closed, and that its files were compared. Called on the thread that has closed the store. */
void elapse__cluster_partition_leave(struct elapse__cluster_partition *partition);

/* Frees the partition, and logs the lines that it has for the log. Returns false if not all
 * confirmed groups became durable here. Requires that the store was closed. */
bool elapse__cluster_partition_free(struct elapse__cluster_partition *partition);

#endif
