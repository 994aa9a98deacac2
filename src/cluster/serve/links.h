/*
 * Declares what joins the router with sockets and cores: the router's clients and links.
 */
#ifndef ELAPSE__CLUSTER_SERVE_LINKS_H
#define ELAPSE__CLUSTER_SERVE_LINKS_H

#include "core.h"

/* ---- front.c ---- */

/* Takes a new client; `loop` is the front. */
void elapse__front_welcome(struct elapse__loop *loop, struct elapse__peer *peer);

/* Receives from the clients whose sockets have bytes. */
void elapse__front_receive(struct elapse__cluster *cluster);

/* Sends to clients. Gives the connections of other nodes to the cores that they ask for. Closes the
 * connections that have ended. Returns whether anything has happened. */
bool elapse__front_send(struct elapse__cluster *cluster);

/* ---- links.c ---- */

/* Opens the links that the router wants. */
void elapse__links_open(struct elapse__cluster *cluster);

/* Receives from other nodes. */
void elapse__links_receive(struct elapse__cluster *cluster);

/* Sends to other nodes, and marks the local links that have bytes. Returns whether anything has
 * happened. */
bool elapse__links_send(struct elapse__cluster *cluster);

/* Tells the other nodes that jobs of this partition have become ready. */
void elapse__links_push_ready(struct elapse__cluster_partition *partition);

/* Tells the other nodes, once each, that this node is about to hand over. Returns whether any node,
 * or the router of this one, still has a connection to the core. */
bool elapse__links_push_leaving(struct elapse__cluster_partition *partition);

/* Passes the bytes of local links to the core, by a turn of it. Returns whether there is more. */
bool elapse__links_turn(struct elapse__cluster_partition *partition);

#endif
