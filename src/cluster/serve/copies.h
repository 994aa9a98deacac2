/*
 * Declares the functions that open and close copies of partitions while the node runs.
 */
#ifndef ELAPSE__CLUSTER_SERVE_COPIES_H
#define ELAPSE__CLUSTER_SERVE_COPIES_H

#include "links.h"

/* ---- copies.c ---- */

/* Called on the thread of the loop. Begins to open the copies that this node is to have, and to
 * close those that it is not to have, and goes on with what has begun. Tells the router who owns
 * partitions without a copy. */
void elapse__cluster_copies_look(struct elapse__cluster *cluster);

/* Returns whether all that the files alone may know was compared with the log: the log goes on
 * behind the last group that they had when they were opened (0: none), or ends with it. So a copy
 * that is not wanted any more need not be read to the end of the log. */
bool elapse__cluster_has_compared(const struct elapse__partition_figures *seen,
                                  uint64_t opened_group);

/* Waits for the threads that open, close and remove files. Requires that the loop has ended. */
void elapse__cluster_copies_end(struct elapse__cluster *cluster);

#endif
