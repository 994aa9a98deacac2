/*
 * The cores that the figures of HTTP come from: that of the server, or, on a node of a cluster,
 * those of the partitions that the node owns.
 */
#ifndef ELAPSE__HTTP_CORES_H
#define ELAPSE__HTTP_CORES_H

#include "../loop/loop.h"

/* Calls with each core, one after the other, and with the lock of its store. A partition that the
 * node does not own has no core. */
void elapse__http_each_core(struct elapse__loop *loop,
                            void (*call)(struct elapse__loop *loop, void *argument),
                            void *argument);

enum { ELAPSE__HTTP_TUBES = 100 };

/* A slice of the tubes of one core, and where the next slice begins. Begins as zeros. */
struct elapse__http_tubes {
    uint32_t core, cursor; /* of the next slice: its core, and its place there */
    bool is_there;         /* the core was there */
    size_t count;
    size_t sizes[ELAPSE__HTTP_TUBES]; /* of the names */
    unsigned char names[ELAPSE__HTTP_TUBES][ELAPSE__QUEUE_TUBE_BYTES_MAX];
    struct elapse__queue_statistics counts[ELAPSE__HTTP_TUBES]; /* in this core */
};

/* Calls, without a lock, for each tube of the next slice, with its counts in all cores. A tube that
 * is in many cores comes once, with the first of its cores. Returns whether there are more slices;
 * after the last one the tubes begin anew. */
bool elapse__http_next_tubes(struct elapse__loop *loop, struct elapse__http_tubes *tubes,
                             void (*call)(void *argument, struct elapse__queue_text name,
                                          const struct elapse__queue_statistics *counts),
                             void *argument);

#endif
