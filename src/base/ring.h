/*
 * Rings of timers: doubly linked, closed by a link that is no timer. An empty
 * ring is its closing link alone, pointing to itself both ways.
 *
 *        +--> closing <--> oldest <--> ... <--> newest <--+
 *        +------------------------------------------------+
 */
#ifndef ELAPSE__RING_H
#define ELAPSE__RING_H

#include <elapse/timer.h>

static inline void elapse__ring_init(struct elapse__link *ring)
{
    ring->next = ring;
    ring->previous = ring;
}

static inline bool elapse__ring_empty(const struct elapse__link *ring)
{
    return ring->next == ring;
}

static inline void elapse__ring_insert(struct elapse__link *link, struct elapse__link *previous,
                                       struct elapse__link *next)
{
    /* In this order compilers do not join the stores to `link`, which takes longer
     * than doing both. */
    link->previous = previous;
    previous->next = link;
    link->next = next;
    next->previous = link;
}

/* As the newest. */
static inline void elapse__ring_append(struct elapse__link *ring, struct elapse__link *link)
{
    elapse__ring_insert(link, ring->previous, ring);
}

/* As the oldest. */
static inline void elapse__ring_prepend(struct elapse__link *ring, struct elapse__link *link)
{
    elapse__ring_insert(link, ring, ring->next);
}

/* Returns true when nothing is left in the ring: its closing link is then both
 * neighbours of the one removed. */
static inline bool elapse__ring_remove(struct elapse__link *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    return link->previous == link->next;
}

static inline struct elapse_timer *elapse__ring_timer(const struct elapse__link *link)
{
    return (struct elapse_timer *)(uintptr_t)link;
}

/* Calls `visit` with each timer of the ring until it returns false, as does this then. */
static inline bool elapse__ring_visit(const struct elapse__link *ring, elapse_visit_function *visit,
                                      void *context)
{
    struct elapse__link *link = ring->next;
    while (link != ring) {
        struct elapse__link *next = link->next; /* the visit may stop the timer */
        if (!visit(elapse__ring_timer(link), context))
            return false;
        link = next;
    }
    return true;
}

/* Moves all of a ring that is not empty into one that is. */
static inline void elapse__ring_take_all(struct elapse__link *to, struct elapse__link *from)
{
    *to = *from;
    to->next->previous = to;
    to->previous->next = to;
    elapse__ring_init(from);
}

#endif
