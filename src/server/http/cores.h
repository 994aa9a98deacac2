/*
 * The cores that the figures of HTTP come from: that of the server, or, on a node of a cluster,
 * those of the partitions that it owns. Also, what the node tells of the cluster.
 */
#ifndef ELAPSE__HTTP_CORES_H
#define ELAPSE__HTTP_CORES_H

#include "../loop/loop.h"
#include "cluster.h"

/* Calls with each core, one after the other, and with the lock of its store. */
void elapse__http_each_core(struct elapse__loop *loop,
                            void (*call)(struct elapse__loop *loop, void *argument),
                            void *argument);

/* Calls with the core number `place`, from 0. Returns false if there is none with this or a higher
 * number. A node may own some of them: for the others it does not call. */
bool elapse__http_with_core(struct elapse__loop *loop, uint32_t place,
                            void (*call)(struct elapse__loop *loop, void *argument),
                            void *argument);

enum { ELAPSE__HTTP_NAMES = 100 };

/* Names of tubes of a node of a cluster. It begins as zeros. */
struct elapse__http_names {
    uint32_t place, cursor; /* where it goes on */
    uint32_t found_at;      /* the core that has these */
    size_t count;
    size_t sizes[ELAPSE__HTTP_NAMES];
    unsigned char bytes[ELAPSE__HTTP_NAMES][ELAPSE__QUEUE_TUBE_BYTES_MAX];
};

/* Takes the next names, perhaps none. Returns false, and begins anew, after the last core. */
bool elapse__http_next_names(struct elapse__loop *loop, struct elapse__http_names *names);

/* Stores the counts of one of them, from all cores. Returns false if a core before has it too: then
 * it is counted with the names of that one; or if it has gone. */
bool elapse__http_count_tube(struct elapse__loop *loop, const struct elapse__http_names *names,
                             size_t which, struct elapse__queue_statistics *counts);

/* Returns whether there is a cluster, and stores what this node tells of it. `partition` of it may
 * be called until the next event of the loop. */
bool elapse__http_cluster_look(struct elapse__loop *loop, struct elapse__http_cluster *cluster);

#endif
