/*
 * A node of a cluster: a server whose queue lies in the replicated log of a PostgreSQL database,
 * and is served by whichever node owns it. docs/cluster_protocol.md says what clients see.
 *
 *      serve_cluster.c   the life: read the queue's facts, open, listen, serve, hand over
 *      options.c         what the options ask for
 *      part_life.c       one partition: its store and its runner
 *      part.c            the calls of its runner, on the runner's thread
 *      notices.c         its lines for the log, from that thread
 *      inbox.c           the transactional inbox of one partition
 *      errand.c          threads for what waits:
 *      inbox_errand.c    for the database, which may have an inbox
 *      addresses.c       for the names of hosts
 *      core.c            the core of a partition that this node owns, on the thread of the loop
 *      front.c           clients: their sockets and the router
 *      links.c           links of the router to cores of this node, and to other nodes
 *      turn.c            turns
 *      figures.c         what others may know
 *
 * Threads. The loop is the thread that called: sockets, the router, and the core of each partition
 * that this node owns. Each partition has a runner, which asks the database, and calls; a store
 * with its three threads; and, while this node owns it, a reader of bodies. Two threads do what
 * waits for others.
 */
#ifndef ELAPSE__CLUSTER_SERVE_H
#define ELAPSE__CLUSTER_SERVE_H

#include "../../server/serve/serve.h"

/* Does what elapse__serve does. Requires that `clusters` of the options has one string at least. */
enum elapse__serve_end elapse__cluster_serve(const struct elapse__loop_options *options);

#endif
