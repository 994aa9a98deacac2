/*
 * The store of a partition, and its inbox.
 */
#ifndef ELAPSE__CLUSTER_SERVE_STORE_H
#define ELAPSE__CLUSTER_SERVE_STORE_H

#include "base.h"

/* ---- store.c ---- */

/* Opens the store of a partition: on any thread, while there is no runner or it waits in a call. */
enum elapse_error elapse__cluster_partition_open_store(struct elapse__cluster_partition *partition,
                                                       struct elapse_queue_fault *fault);

/* Counts the files of the journal: on the same threads. */
void elapse__cluster_partition_count_files(struct elapse__cluster_partition *partition);

/* ---- inbox.c ---- */

extern const struct elapse__runner_inbox elapse__cluster_partition_inbox_calls;

/* Returns false if there is no memory. */
bool elapse__cluster_partition_make_inbox(struct elapse__cluster_partition *partition);
void elapse__cluster_partition_free_inbox(struct elapse__cluster_partition *partition);

/* Called on the runner's thread. Take the store's lock. */
void elapse__cluster_partition_own_inbox(struct elapse__cluster_partition *partition);
void elapse__cluster_partition_disown_inbox(struct elapse__cluster_partition *partition);
void elapse__cluster_partition_confirm_inbox(struct elapse__cluster_partition *partition);

/* Adds the rows that leave with this group, which makes durable what lies before `position`. */
void elapse__cluster_partition_attach_inbox(struct elapse__cluster_partition *partition,
                                            uint64_t position,
                                            struct elapse__partition_group *group);

#endif
