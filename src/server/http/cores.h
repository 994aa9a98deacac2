/*
 * Reads figures from cores. A server has one core. A node of a cluster has one core for each
 * partition that it owns.
 */
#ifndef ELAPSE__HTTP_CORES_H
#define ELAPSE__HTTP_CORES_H

#include "../loop/loop.h"

/* Calls `call` for each core, one after the other. Holds the lock of the core's store during each
 * call. */
void elapse__http_each_core(struct elapse__loop *loop,
                            void (*call)(struct elapse__loop *loop, void *argument),
                            void *argument);

enum { ELAPSE__HTTP_TUBES = 100 };

/* A slice of the tubes of one core, and where the next slice begins. The struct begins as zeros. */
struct elapse__http_tubes {
    uint32_t core, cursor; /* where the next slice begins: the core, and the place there */
    bool is_there;         /* this process has that core */
    size_t count;
    size_t sizes[ELAPSE__HTTP_TUBES]; /* the sizes of the names */
    unsigned char names[ELAPSE__HTTP_TUBES][ELAPSE__QUEUE_TUBE_BYTES_MAX];
    struct elapse__queue_statistics
        counts[ELAPSE__HTTP_TUBES]; /* in this core, later in all cores */
};

/* Takes the next slice. Calls `call` for each of its tubes, without a lock, with the tube's counts
 * in all cores. A tube that several cores have comes once, in a slice of the first of these cores.
 * Returns whether there are more slices. After the last slice, the next call takes the first one
 * again. */
bool elapse__http_next_tubes(struct elapse__loop *loop, struct elapse__http_tubes *tubes,
                             void (*call)(void *argument, struct elapse__queue_text name,
                                          const struct elapse__queue_statistics *counts),
                             void *argument);

#endif
