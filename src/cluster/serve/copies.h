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

/* Waits for the threads that open, close and remove files. Requires that the loop has ended. */
void elapse__cluster_copies_end(struct elapse__cluster *cluster);

#endif
