/*
 * The hashed wheel: looking at all of it. The invariants that are checked here are numbered and
 * explained at the head of hashed.c.
 */
#include <elapse/hashed.h>

#include "../base/assert.h"
#include "../base/ring.h"
#include "hashed_ring.h"

/* Calls `visit` along one ring; false when it asked to end the walk. */
void elapse_hashed_for_each(struct elapse_hashed *hashed, elapse_visit_function *visit,
                            void *context)
{
    size_t slot = 0;
    bool goes_on = elapse__ring_visit(&hashed->due, visit, context) &&
                   elapse__ring_visit(&hashed->aside, visit, context) &&
                   elapse__ring_visit(&hashed->never, visit, context);
    while (goes_on && (slot = elapse__hashed_first_from(hashed, slot)) < hashed->slots)
        goes_on = elapse__ring_visit(&hashed->rings[slot++], visit, context);
}

static bool stop_visited(struct elapse_timer *timer, void *hashed)
{
    (void)elapse_hashed_stop(hashed, timer);
    return true;
}

void elapse_hashed_clear(struct elapse_hashed *hashed)
{
    elapse_hashed_for_each(hashed, stop_visited, hashed);
    hashed->before = hashed->pointer;
    hashed->unvisited = hashed->slots;
    ELAPSE__ASSERT(hashed->count == 0);
}

/* ---- check ---- */

/* Is this timer right where it lies? Returns the number of the broken invariant, or 0. */
typedef unsigned check_function(const struct elapse_hashed *hashed,
                                const struct elapse_timer *timer, size_t slot);

/* In a slot's ring, or set aside from it: are the deadline and the rounds right? `visited` is the
 * last tick that the slot reckons with. */
static bool is_placed(const struct elapse_hashed *hashed, const struct elapse_timer *timer,
                      size_t slot, uint64_t visited)
{
    return timer->deadline > visited && timer->deadline < ELAPSE_NEVER &&
           timer->deadline % hashed->slots == slot &&
           timer->place == 1 + (timer->deadline - visited - 1) / hashed->slots;
}

static unsigned check_in_slot(const struct elapse_hashed *hashed, const struct elapse_timer *timer,
                              size_t slot)
{
    return is_placed(hashed, timer, slot, elapse__hashed_visited(hashed, slot)) ? 0 : 5;
}

static unsigned check_aside(const struct elapse_hashed *hashed, const struct elapse_timer *timer,
                            size_t slot)
{
    return is_placed(hashed, timer, slot, elapse__hashed_visited_aside(hashed)) ? 0 : 6;
}

static unsigned check_due(const struct elapse_hashed *hashed, const struct elapse_timer *timer,
                          size_t slot)
{
    (void)slot;
    const struct elapse__link *older = timer->keep.link.previous;
    if (timer->place != 1 || timer->deadline > hashed->pointer)
        return 7;
    if (older == &hashed->due || elapse__hashed_jumping(hashed))
        return 0;
    return elapse__ring_timer(older)->deadline <= timer->deadline ? 0 : 7;
}

static unsigned check_never(const struct elapse_hashed *hashed, const struct elapse_timer *timer,
                            size_t slot)
{
    (void)hashed;
    (void)slot;
    return timer->deadline == ELAPSE_NEVER && timer->place == ELAPSE__HASHED_PLACE_NEVER ? 0 : 8;
}

/*
 * Walks a ring, looks at each timer, and adds them to `*count`, giving up beyond the wheel's own
 * count so that a loop ends. Returns the number of the broken invariant, or 0.
 */
static unsigned check_ring(const struct elapse_hashed *hashed, const struct elapse__link *ring,
                           size_t slot, check_function *check, size_t *count)
{
    const struct elapse__link *link = ring;
    for (;;) {
        if (link->next == NULL || link->next->previous != link)
            return 3;
        link = link->next;
        if (link == ring)
            return 0;
        if (++*count > hashed->count)
            return 4;
        unsigned broken = check(hashed, elapse__ring_timer(link), slot);
        if (broken != 0)
            return broken;
    }
}

/* The pointer, and what a jump and a visit know of it. */
static unsigned check_numbers(const struct elapse_hashed *hashed)
{
    if (hashed->before > hashed->pointer || hashed->pointer > hashed->clock ||
        hashed->clock > ELAPSE_TIME_MAX)
        return 1;
    if (hashed->position != hashed->pointer % hashed->slots || hashed->unvisited > hashed->slots)
        return 9;
    if (elapse__hashed_jumping(hashed) ? hashed->pointer - hashed->before <= hashed->slots
                                       : hashed->unvisited != hashed->slots)
        return 9;
    if (elapse__ring_empty(&hashed->aside))
        return 0;
    if (!elapse__hashed_jumping(hashed))
        return hashed->visiting == hashed->position && hashed->turns == 1 ? 0 : 6;
    return hashed->visiting + 1 == hashed->unvisited &&
                   hashed->turns == elapse__hashed_turns(hashed, hashed->before, hashed->visiting)
               ? 0
               : 6;
}

unsigned elapse_hashed_check(const struct elapse_hashed *hashed)
{
    size_t count = 0;
    unsigned broken = check_numbers(hashed);
    size_t bits_in_last = hashed->slots % 64;
    if (broken == 0 && bits_in_last != 0 &&
        hashed->occupied[hashed->slots / 64] >> bits_in_last != 0)
        broken = 2;
    for (size_t slot = 0; slot < hashed->slots && broken == 0; slot++) {
        const struct elapse__link *ring = &hashed->rings[slot];
        if (elapse__hashed_occupied(hashed, slot) == elapse__ring_empty(ring))
            return 2;
        broken = check_ring(hashed, ring, slot, check_in_slot, &count);
    }
    if (broken == 0)
        broken = check_ring(hashed, &hashed->aside, hashed->visiting, check_aside, &count);
    if (broken == 0)
        broken = check_ring(hashed, &hashed->due, 0, check_due, &count);
    if (broken == 0)
        broken = check_ring(hashed, &hashed->never, 0, check_never, &count);
    if (broken == 0 && count != hashed->count)
        broken = 4;
    return broken;
}

/* ---- dump ---- */

/* Adds the timers of a ring to what is described. */
static void add_ring(struct elapse_slot *description, const struct elapse__link *ring)
{
    for (const struct elapse__link *link = ring->next; link != ring; link = link->next) {
        uint64_t deadline = elapse__ring_timer(link)->deadline;
        if (description->count == 0 || deadline < description->least)
            description->least = deadline;
        if (deadline > description->last_tick)
            description->last_tick = deadline;
        description->count++;
    }
}

/* Describes a ring that is no slot's, if it has timers, by a number after the slots'. */
static void dump_ring(const struct elapse__link *ring, size_t number,
                      elapse_dump_function *describe, void *context)
{
    struct elapse_slot description = {.slot = (unsigned)number};
    add_ring(&description, ring);
    description.first_tick = description.least;
    if (description.count > 0)
        describe(&description, context);
}

void elapse_hashed_dump(const struct elapse_hashed *hashed, elapse_dump_function *describe,
                        void *context)
{
    bool visiting = !elapse__ring_empty(&hashed->aside);
    for (size_t slot = 0; slot < hashed->slots; slot++) {
        bool under_visit = visiting && slot == hashed->visiting;
        if (!under_visit && !elapse__hashed_occupied(hashed, slot))
            continue;
        struct elapse_slot description = {.slot = (unsigned)slot};
        add_ring(&description, &hashed->rings[slot]);
        if (under_visit)
            add_ring(&description, &hashed->aside);
        uint64_t visited = under_visit ? elapse__hashed_visited_aside(hashed)
                                       : elapse__hashed_visited(hashed, slot);
        description.first_tick = elapse__hashed_tick_after(hashed, visited, slot);
        describe(&description, context);
    }
    dump_ring(&hashed->due, hashed->slots, describe, context);
    dump_ring(&hashed->never, hashed->slots + 1, describe, context);
}
