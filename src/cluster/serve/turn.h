/*
 * Declares the turns of the loop of a cluster's node.
 */
#ifndef ELAPSE__CLUSTER_SERVE_TURN_H
#define ELAPSE__CLUSTER_SERVE_TURN_H

#include "move.h"

/* ---- turn.c ---- */

/* Does turns until there is nothing to do now, but not for long. Returns whether there is more to
 * do. */
bool elapse__cluster_turn(struct elapse__cluster *cluster);

#endif
