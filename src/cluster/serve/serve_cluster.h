/*
 * A node of a cluster is a server whose queue lies in the replicated log of a PostgreSQL database.
 * The queue has partitions, and the owner of a partition serves it. docs/cluster_protocol.md says
 * what clients see.
 *
 * The files lie in layers, from the top down. A file calls only files below it. It includes the
 * header of its layer, which includes the headers below. inner.h has the types and the rules.
 *
 *                serve_cluster.c   the life: the queue's facts, open, listen, serve, hand over
 *      turn.h    turn.c            turns
 *      move.h    move.c            planned moves of partitions to other nodes
 *      copies.h  copies.c          which partitions this node has copies of
 *      links.h   front.c           clients: their sockets and the router
 *                links.c           links of the router to cores of this node, and to other nodes
 *      core.h    core.c            the core of a partition that this node owns: the loop's thread
 *      life.h    partition_life.c  one partition: its files and its runner
 *                partition.c       the calls of its runner, on the runner's thread
 *      store.h   store.c           its store
 *                inbox.c           its transactional inbox
 *      base.h    together.c        calls side by side
 *                errand.c          locks with a condition, and threads for what waits:
 *                inbox_errand.c    for the database, which may have an inbox
 *                nodes_errand.c    for the other nodes, and who should own what
 *                giving.c          for that thread: which files are given up
 *                witnesses.c       for the disk: what this node has seen of partitions
 *                aside.c           files that are set aside and removed
 *                begin.c           for what is needed before the node serves
 *                addresses.c       for the names of hosts
 *                check.c           the invariants of a partition
 *                notices.c         lines for the log, from the thread of a runner
 *                figures.c         names of states, and figures
 *                options.c         checks the options
 *                receive.c         bytes from sockets
 *
 * Threads. The loop is the thread that called elapse__cluster_serve. It has the sockets, the
 * router, and the core of each partition that this node owns. It also makes jobs ready when they
 * are due, so the stores have no clock threads. Each partition has a runner, which is the thread
 * that talks to the database, and the two threads of its journal. All cores share a thread that
 * reads bodies. Four more threads (errands) wait for the database, for name servers and for the
 * disk.
 */
#ifndef ELAPSE__CLUSTER_SERVE_H
#define ELAPSE__CLUSTER_SERVE_H

#include "../../server/serve/serve.h"

/* Does what elapse__serve does. Requires that `clusters` of the options has at least one string. */
enum elapse__serve_end elapse__cluster_serve(const struct elapse__loop_options *options);

#endif
