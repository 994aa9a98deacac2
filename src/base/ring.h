/*
 * A ring is a doubly linked list of nodes. One more node, which belongs to no member, closes the
 * ring. In an empty ring this closing node is alone, and points to itself both ways.
 *
 *        +--> closing <--> oldest <--> ... <--> newest <--+
 *        +------------------------------------------------+
 */
#ifndef ELAPSE__RING_H
#define ELAPSE__RING_H

#include <elapse/timer.h>

#include "assert.h"

static inline void elapse__ring_init(struct elapse__ring_node *ring)
{
    ring->next = ring;
    ring->previous = ring;
    ELAPSE__ASSERT(ring->next->previous == ring);
    ELAPSE__ASSERT(ring->previous->next == ring);
}

static inline bool elapse__ring_empty(const struct elapse__ring_node *ring)
{
    return ring->next == ring;
}

/* Puts `ring_node` between two neighbours. */
static inline void elapse__ring_insert(struct elapse__ring_node *ring_node,
                                       struct elapse__ring_node *previous,
                                       struct elapse__ring_node *next)
{
    ELAPSE__ASSERT(previous->next == next);
    ELAPSE__ASSERT(next->previous == previous);
    ELAPSE__ASSERT(ring_node != previous);
    ELAPSE__ASSERT(ring_node != next);
    /* In this order compilers do not join the two stores to `ring_node`. One joined store takes
     * longer than two stores. */
    ring_node->previous = previous;
    previous->next = ring_node;
    ring_node->next = next;
    next->previous = ring_node;
}

/* Inserts `ring_node` as the newest node. */
static inline void elapse__ring_append(struct elapse__ring_node *ring,
                                       struct elapse__ring_node *ring_node)
{
    elapse__ring_insert(ring_node, ring->previous, ring);
    ELAPSE__ASSERT(ring->previous == ring_node);
}

/* Inserts `ring_node` as the oldest node. */
static inline void elapse__ring_prepend(struct elapse__ring_node *ring,
                                        struct elapse__ring_node *ring_node)
{
    elapse__ring_insert(ring_node, ring, ring->next);
    ELAPSE__ASSERT(ring->next == ring_node);
}

/* Removes `ring_node`. Requires that `ring_node` is not the closing node. Returns whether the ring
 * is empty now: then the closing node was both neighbours of `ring_node`. */
static inline bool elapse__ring_remove(struct elapse__ring_node *ring_node)
{
    ELAPSE__ASSERT(ring_node->next->previous == ring_node);
    ELAPSE__ASSERT(ring_node->previous->next == ring_node);
    ELAPSE__ASSERT(ring_node->next != ring_node);
    ring_node->previous->next = ring_node->next;
    ring_node->next->previous = ring_node->previous;
    return ring_node->previous == ring_node->next;
}

/* ---- rings of timers ---- */

/* Returns the timer of a node. Requires that the node is not the closing node. */
static inline struct elapse_timer *elapse__ring_timer(const struct elapse__ring_node *ring_node)
{
    ELAPSE__ASSERT(ring_node != NULL);
    return (struct elapse_timer *)(uintptr_t)ring_node;
}

/* Moves all timers of the ring `from` into the ring `to`. Requires that `from` is not empty, and
 * that `to` is empty. */
static inline void elapse__ring_take_all(struct elapse__ring_node *to,
                                         struct elapse__ring_node *from)
{
    ELAPSE__ASSERT(to != from);
    ELAPSE__ASSERT(elapse__ring_empty(to));
    ELAPSE__ASSERT(!elapse__ring_empty(from));
    *to = *from;
    to->next->previous = to;
    to->previous->next = to;
    elapse__ring_init(from);
}

/* Cuts off all nodes behind `last`. Then `last` is the newest node; if `last` is the closing node,
 * the ring is empty. Requires that the nodes that are cut off were inserted elsewhere already. */
static inline void elapse__ring_close_behind(struct elapse__ring_node *ring,
                                             struct elapse__ring_node *last)
{
    ELAPSE__ASSERT(last == ring || last->previous->next == last);
    ring->previous = last;
    last->next = ring;
    ELAPSE__ASSERT(ring->next->previous == ring);
    ELAPSE__ASSERT(ring->previous->next == ring);
}

/* ---- walks along a whole ring ---- */

/* Calls `visit` with each timer of the ring, the oldest first, until `visit` returns false. Returns
 * true if `visit` returned true for all timers. `visit` may stop its timer. */
static inline bool elapse__ring_visit(const struct elapse__ring_node *ring,
                                      elapse_visit_function *visit, void *context)
{
    struct elapse__ring_node *ring_node = ring->next;
    while (ring_node != ring) {
        ELAPSE__ASSERT(ring_node->next->previous == ring_node);
        ELAPSE__ASSERT(ring_node->previous->next == ring_node);
        /* `visit` may release the memory of the timer. */
        struct elapse__ring_node *next = ring_node->next;
        if (!visit(elapse__ring_timer(ring_node), context))
            return false;
        ring_node = next;
    }
    return true;
}

/* What a dump of a structure tells about the timers of one ring or of several rings. */
struct elapse__ring_summary {
    size_t count;
    uint64_t least;    /* the least deadline; ELAPSE_NEVER if there is no timer */
    uint64_t greatest; /* the greatest deadline; 0 if there is no timer */
};

/* Adds the timers of a ring to `summary`. A summary begins as {.least = ELAPSE_NEVER}. */
static inline void elapse__ring_summarise(const struct elapse__ring_node *ring,
                                          struct elapse__ring_summary *summary)
{
    for (const struct elapse__ring_node *ring_node = ring->next; ring_node != ring;
         ring_node = ring_node->next) {
        ELAPSE__ASSERT(ring_node->next->previous == ring_node);
        ELAPSE__ASSERT(ring_node->previous->next == ring_node);
        uint64_t deadline = elapse__ring_timer(ring_node)->deadline;
        if (deadline < summary->least)
            summary->least = deadline;
        if (deadline > summary->greatest)
            summary->greatest = deadline;
        summary->count++;
    }
}

/* The numbers of two invariants that are the same in each structure that has rings. */
enum {
    ELAPSE__BROKEN_RING = 3,  /* every ring is closed in both directions */
    ELAPSE__BROKEN_COUNT = 4, /* `count` timers are in the rings */
};

/* Checks one timer at its place. Returns the number of the invariant that is broken; 0 if none
 * is. */
typedef unsigned elapse__check_function(const struct elapse_timer *timer, const void *context);

/*
 * Checks the links of a ring, and each timer by `check`. Adds the number of timers to `*count`.
 * Ends when `*count` exceeds `limit`, so that the walk ends even if damaged links make a loop
 * without the closing node. Returns the number of the first invariant that it finds broken; 0 if it
 * finds none. Asserts nothing, because it is called to find damage.
 */
static inline unsigned elapse__ring_check(const struct elapse__ring_node *ring, size_t limit,
                                          size_t *count, elapse__check_function *check,
                                          const void *context)
{
    const struct elapse__ring_node *ring_node = ring;
    for (;;) {
        if (ring_node->next == NULL || ring_node->next->previous != ring_node)
            return ELAPSE__BROKEN_RING;
        ring_node = ring_node->next;
        if (ring_node == ring)
            return 0;
        if (++*count > limit)
            return ELAPSE__BROKEN_COUNT;
        unsigned broken = check(elapse__ring_timer(ring_node), context);
        if (broken != 0)
            return broken;
    }
}

#endif
