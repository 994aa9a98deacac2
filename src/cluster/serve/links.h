/*
 * Declares the functions that join the router with sockets and cores. The router's clients are
 * sockets, and its links lead to cores or to other nodes.
 */
#ifndef ELAPSE__CLUSTER_SERVE_LINKS_H
#define ELAPSE__CLUSTER_SERVE_LINKS_H

#include "core.h"

/* ---- front.c ---- */

/* Takes a new client. `loop` is the front. */
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

/* Sends to other nodes, and notes which links in this process have bytes. Returns whether anything
 * has happened. */
bool elapse__links_send(struct elapse__cluster *cluster);

/* Tells the other nodes that jobs of this partition have become ready. */
void elapse__links_push_ready(struct elapse__cluster_partition *partition);

/* Asks all who have a connection to the core to leave it: tells each other node once that this node
 * is about to hand over, and takes no further bytes of clients that do not speak RESP. The core
 * answers the commands that it has. Returns whether all have left, and nothing of them is left to
 * undo. Call this again until it returns true. */
bool elapse__links_leave(struct elapse__cluster_partition *partition);

/* Ends the connections of clients that do not speak RESP and do not read their answers. Clients
 * whose answers wait for the disk or the database keep their connections. */
void elapse__links_cut_clients(struct elapse__cluster_partition *partition);

/* Gives the core a turn, in which it gets the bytes of the links in this process. Returns whether
 * there is more to do. */
bool elapse__links_turn(struct elapse__cluster_partition *partition);

#endif
