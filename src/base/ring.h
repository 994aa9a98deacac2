/*
 * Rings of timers: doubly linked lists, closed by a link that belongs to no timer.
 * An empty ring is its closing link alone, which points to itself both ways.
 *
 *        +--> closing <--> oldest <--> ... <--> newest <--+
 *        +------------------------------------------------+
 */
#ifndef ELAPSE__RING_H
#define ELAPSE__RING_H

#include <elapse/timer.h>

#include "assert.h"

static inline void elapse__ring_init(struct elapse__link *ring)
{
    ring->next = ring;
    ring->previous = ring;
    ELAPSE__ASSERT(ring->next->previous == ring);
    ELAPSE__ASSERT(ring->previous->next == ring);
}

static inline bool elapse__ring_empty(const struct elapse__link *ring)
{
    return ring->next == ring;
}

/* Puts `link` between two neighbours. */
static inline void elapse__ring_insert(struct elapse__link *link, struct elapse__link *previous,
                                       struct elapse__link *next)
{
    ELAPSE__ASSERT(previous->next == next);
    ELAPSE__ASSERT(next->previous == previous);
    ELAPSE__ASSERT(link != previous);
    ELAPSE__ASSERT(link != next);
    /* Compilers do not join the stores to `link` in this order. Joined, they take
     * longer than two. */
    link->previous = previous;
    previous->next = link;
    link->next = next;
    next->previous = link;
}

/* Inserts `link` as the newest. */
static inline void elapse__ring_append(struct elapse__link *ring, struct elapse__link *link)
{
    elapse__ring_insert(link, ring->previous, ring);
    ELAPSE__ASSERT(ring->previous == link);
}

/* Inserts `link` as the oldest. */
static inline void elapse__ring_prepend(struct elapse__link *ring, struct elapse__link *link)
{
    elapse__ring_insert(link, ring, ring->next);
    ELAPSE__ASSERT(ring->next == link);
}

/* Removes `link`, which is not the closing link. Returns true when the ring is now
 * empty: its closing link was both neighbours of `link`. */
static inline bool elapse__ring_remove(struct elapse__link *link)
{
    ELAPSE__ASSERT(link->next->previous == link);
    ELAPSE__ASSERT(link->previous->next == link);
    ELAPSE__ASSERT(link->next != link);
    link->previous->next = link->next;
    link->next->previous = link->previous;
    return link->previous == link->next;
}

/* The timer of a link that is not the closing one. */
static inline struct elapse_timer *elapse__ring_timer(const struct elapse__link *link)
{
    ELAPSE__ASSERT(link != NULL);
    return (struct elapse_timer *)(uintptr_t)link;
}

/* Moves all timers of one ring, which is not empty, into another, which is. */
static inline void elapse__ring_take_all(struct elapse__link *to, struct elapse__link *from)
{
    ELAPSE__ASSERT(to != from);
    ELAPSE__ASSERT(elapse__ring_empty(to));
    ELAPSE__ASSERT(!elapse__ring_empty(from));
    *to = *from;
    to->next->previous = to;
    to->previous->next = to;
    elapse__ring_init(from);
}

/* Cuts all links behind `last` off: `last`, which may be the closing link, becomes the
 * newest. The links that are cut off have been inserted elsewhere already. */
static inline void elapse__ring_close_behind(struct elapse__link *ring, struct elapse__link *last)
{
    ELAPSE__ASSERT(last == ring || last->previous->next == last);
    ring->previous = last;
    last->next = ring;
    ELAPSE__ASSERT(ring->next->previous == ring);
    ELAPSE__ASSERT(ring->previous->next == ring);
}

/* ---- walks along a whole ring ---- */

/* Calls `visit` with each timer of the ring, the oldest first, until it returns false.
 * Returns false then, and true at the end of the ring. The visit may stop the timer. */
static inline bool elapse__ring_visit(const struct elapse__link *ring, elapse_visit_function *visit,
                                      void *context)
{
    struct elapse__link *link = ring->next;
    while (link != ring) {
        ELAPSE__ASSERT(link->next->previous == link);
        ELAPSE__ASSERT(link->previous->next == link);
        /* The visit may release the memory of the timer. */
        struct elapse__link *next = link->next;
        if (!visit(elapse__ring_timer(link), context))
            return false;
        link = next;
    }
    return true;
}

/* What a dump tells about the timers of one or more rings. */
struct elapse__ring_summary {
    size_t count;
    uint64_t least;    /* least deadline; ELAPSE_NEVER if there is no timer */
    uint64_t greatest; /* greatest deadline; 0 if there is no timer */
};

/* Adds the timers of a ring to `summary`, which begins as {.least = ELAPSE_NEVER}. */
static inline void elapse__ring_summarise(const struct elapse__link *ring,
                                          struct elapse__ring_summary *summary)
{
    for (const struct elapse__link *link = ring->next; link != ring; link = link->next) {
        ELAPSE__ASSERT(link->next->previous == link);
        ELAPSE__ASSERT(link->previous->next == link);
        uint64_t deadline = elapse__ring_timer(link)->deadline;
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

/* Checks one timer where it lies. Returns the number of the invariant that is broken, or
 * 0. */
typedef unsigned elapse__check_function(const struct elapse_timer *timer, const void *context);

/*
 * Checks the links of a ring, and each timer by `check`. Adds the timers to `*count`, and
 * gives up when that exceeds `limit`, so that it ends even if the ring is a loop without
 * its closing link. Returns the number of the first invariant found broken, or 0.
 * It asserts nothing: it is called to find damage.
 */
static inline unsigned elapse__ring_check(const struct elapse__link *ring, size_t limit,
                                          size_t *count, elapse__check_function *check,
                                          const void *context)
{
    const struct elapse__link *link = ring;
    for (;;) {
        if (link->next == NULL || link->next->previous != link)
            return ELAPSE__BROKEN_RING;
        link = link->next;
        if (link == ring)
            return 0;
        if (++*count > limit)
            return ELAPSE__BROKEN_COUNT;
        unsigned broken = check(elapse__ring_timer(link), context);
        if (broken != 0)
            return broken;
    }
}

#endif
