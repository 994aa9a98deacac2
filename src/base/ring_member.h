/*
 * Nodes of rings that know whether they are in a ring: while a node is in no ring, its `next` is
 * NULL. The server and the router of a cluster use such nodes. Timers need no such nodes, because a
 * timer is in a ring all the time that it is pending.
 */
#ifndef ELAPSE__BASE_RING_MEMBER_H
#define ELAPSE__BASE_RING_MEMBER_H

#include "ring.h"

static inline bool elapse__ring_has_node(const struct elapse__ring_node *ring_node)
{
    return ring_node->next != NULL;
}

/* Removes `ring_node` from its ring, if it is in a ring. */
static inline void elapse__ring_leave(struct elapse__ring_node *ring_node)
{
    if (!elapse__ring_has_node(ring_node))
        return;
    (void)elapse__ring_remove(ring_node);
    ring_node->next = NULL;
}

/* Inserts `ring_node` as the newest node, unless it is in a ring. */
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
