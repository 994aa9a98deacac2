/*
 * Declares the functions that hand a partition over to another node while this node goes on.
 */
#ifndef ELAPSE__CLUSTER_SERVE_MOVE_H
#define ELAPSE__CLUSTER_SERVE_MOVE_H

#include "links.h"

/* ---- move.c ---- */

/* Tells the runners which node is to own their partitions next. Begins the moves that the balancer
 * has asked for. */
void elapse__cluster_moves_look(struct elapse__cluster *cluster);

/* Goes on with the moves that are under way. Returns whether a move is under way. Then the caller
 * calls again, some milliseconds later. */
bool elapse__cluster_moves_turn(struct elapse__cluster *cluster);

#endif
