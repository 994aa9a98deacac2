/*
 * Declares the functions that open the store of a partition, and those that join the partition's
 * inbox with the store and the runner.
 */
#ifndef ELAPSE__CLUSTER_SERVE_STORE_H
#define ELAPSE__CLUSTER_SERVE_STORE_H

#include "base.h"

/* ---- store.c ---- */

/* Opens the store of a partition. Requires that there is no runner, or that the runner's thread is
 * in a callback. */
enum elapse_error elapse__cluster_partition_open_store(struct elapse__cluster_partition *partition,
                                                       struct elapse_queue_fault *fault);

/* Counts the files of the journal. Requires the same as elapse__cluster_partition_open_store. */
void elapse__cluster_partition_count_files(struct elapse__cluster_partition *partition);

/* ---- inbox.c ---- */

extern const struct elapse__runner_inbox elapse__cluster_partition_inbox_calls;

/* Makes the inbox of a partition. Returns false if there is no memory. */
bool elapse__cluster_partition_make_inbox(struct elapse__cluster_partition *partition);
void elapse__cluster_partition_free_inbox(struct elapse__cluster_partition *partition);

/* These functions tell the inbox one of three things: this node owns the partition, this node does
 * not own it any more, or the group in flight is confirmed. They are called on the runner's thread,
 * and take the store's lock. */
void elapse__cluster_partition_own_inbox(struct elapse__cluster_partition *partition);
void elapse__cluster_partition_disown_inbox(struct elapse__cluster_partition *partition);
void elapse__cluster_partition_confirm_inbox(struct elapse__cluster_partition *partition);

/* Adds to a group the rows of the inbox that become durable with it. The group makes everything
 * before `position` durable. */
void elapse__cluster_partition_attach_inbox(struct elapse__cluster_partition *partition,
                                            uint64_t position,
                                            struct elapse__partition_group *group);

#endif
