/*
 * Nodes of rings that know whether they are in a ring: `next` of the node is NULL while the node is
 * in no ring. The server and the router of a cluster use such nodes. Timers do without: a
 * timer is in a ring all the time that it is pending.
 */
#ifndef ELAPSE__BASE_RING_MEMBER_H
#define ELAPSE__BASE_RING_MEMBER_H

#include "ring.h"

static inline bool elapse__ring_has_node(const struct elapse__ring_node *ring_node)
{
    return ring_node->next != NULL;
}

/* Removes `ring_node` from the ring that it is in, if it is in one. */
static inline void elapse__ring_leave(struct elapse__ring_node *ring_node)
{
    if (!elapse__ring_has_node(ring_node))
        return;
    (void)elapse__ring_remove(ring_node);
    ring_node->next = NULL;
}

/* Inserts `ring_node` as the newest, unless it is in a ring. */
static inline void elapse__ring_join_once(struct elapse__ring_node *ring,
                                          struct elapse__ring_node *ring_node)
{
    if (!elapse__ring_has_node(ring_node))
        elapse__ring_append(ring, ring_node);
}

/* Returns the struct of type `type` whose member `member` is at `pointer`. */
#define ELAPSE__CONTAINER_OF(pointer, type, member) \
    ((type *)((uintptr_t)(pointer)-offsetof(type, member)))

#endif
