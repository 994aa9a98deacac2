/*
 * The hashed wheel: the functions that look at the whole of it. The invariants that are checked
 * here are numbered and explained at the head of hashed.c.
 */
#include <elapse/hashed.h>

#include "../base/assert.h"
#include "../base/bits.h"
#include "../base/ring.h"
#include "hashed_ring.h"

/* Walks the rings of timers that are in no slot, and then the rings of the slots. */
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
    bool stopped = elapse_hashed_stop(hashed, timer);
    ELAPSE__ASSERT(stopped);
    (void)stopped;
    return true;
}

void elapse_hashed_clear(struct elapse_hashed *hashed)
{
    elapse_hashed_for_each(hashed, stop_visited, hashed);
    hashed->jump_origin = hashed->pointer;
    hashed->first_unvisited = hashed->slots;
    ELAPSE__ASSERT(hashed->count == 0);
    ELAPSE__ASSERT(elapse__hashed_first_from(hashed, 0) == hashed->slots);
}

/* ---- check ---- */

/* The wheel that is checked, and the slot whose timers are. */
struct checked_hashed_slot {
    const struct elapse_hashed *hashed;
    size_t slot;
};

/* True when the deadline and the rounds of a timer are right for `slot`, whose rounds are counted
 * from tick `visited`. */
static bool is_placed(const struct elapse_hashed *hashed, const struct elapse_timer *timer,
                      size_t slot, uint64_t visited)
{
    return timer->deadline > visited && timer->deadline < ELAPSE_NEVER &&
           timer->deadline % hashed->slots == slot &&
           timer->place == 1 + (timer->deadline - visited - 1) / hashed->slots;
}

static unsigned check_in_slot(const struct elapse_timer *timer, const void *context)
{
    const struct checked_hashed_slot *checked = context;
    uint64_t visited = elapse__hashed_visited(checked->hashed, checked->slot);
    return is_placed(checked->hashed, timer, checked->slot, visited) ? 0 : 5;
}

static unsigned check_aside(const struct elapse_timer *timer, const void *context)
{
    const struct elapse_hashed *hashed = context;
    uint64_t visited = elapse__hashed_visited_aside(hashed);
    return is_placed(hashed, timer, hashed->visiting, visited) ? 0 : 6;
}

static unsigned check_due(const struct elapse_timer *timer, const void *context)
{
    const struct elapse_hashed *hashed = context;
    const struct elapse__link *older = timer->keep.link.previous;
    if (timer->place != 1 || timer->deadline > hashed->pointer)
        return 7;
    if (older == &hashed->due || elapse__hashed_jumping(hashed))
        return 0;
    return elapse__ring_timer(older)->deadline <= timer->deadline ? 0 : 7;
}

static unsigned check_never(const struct elapse_timer *timer, const void *context)
{
    (void)context;
    return timer->deadline == ELAPSE_NEVER && timer->place == ELAPSE__HASHED_PLACE_NEVER ? 0 : 8;
}

/* Checks the pointer, and the fields of a jump and of a visit. */
static unsigned check_numbers(const struct elapse_hashed *hashed)
{
    if (hashed->jump_origin > hashed->pointer || hashed->pointer > hashed->clock ||
        hashed->clock > ELAPSE_TIME_MAX)
        return 1;
    if (hashed->pointer_slot != hashed->pointer % hashed->slots ||
        hashed->first_unvisited > hashed->slots)
        return 9;
    if (elapse__hashed_jumping(hashed) ? hashed->pointer - hashed->jump_origin <= hashed->slots
                                       : hashed->first_unvisited != hashed->slots)
        return 9;
    if (elapse__ring_empty(&hashed->aside))
        return 0;
    if (!elapse__hashed_jumping(hashed))
        return hashed->visiting == hashed->pointer_slot && hashed->turns == 1 ? 0 : 6;
    return hashed->visiting + 1 == hashed->first_unvisited &&
                   hashed->turns ==
                       elapse__hashed_turns(hashed, hashed->jump_origin, hashed->visiting)
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
        const struct checked_hashed_slot checked = {.hashed = hashed, .slot = slot};
        broken = elapse__ring_check(ring, hashed->count, &count, check_in_slot, &checked);
    }
    if (broken == 0)
        broken = elapse__ring_check(&hashed->aside, hashed->count, &count, check_aside, hashed);
    if (broken == 0)
        broken = elapse__ring_check(&hashed->due, hashed->count, &count, check_due, hashed);
    if (broken == 0)
        broken = elapse__ring_check(&hashed->never, hashed->count, &count, check_never, hashed);
    if (broken == 0 && count != hashed->count)
        broken = 4;
    return broken;
}

/* ---- dump ---- */

/* Describes timers from tick `first_tick` on, if there are any. */
static void dump_timers(const struct elapse__ring_summary *timers, size_t slot, uint64_t first_tick,
                        elapse_dump_function *describe, void *context)
{
    ELAPSE__ASSERT(timers->count == 0 || timers->least <= timers->greatest);
    struct elapse_slot description = {
        .slot = (unsigned)slot,
        .first_tick = first_tick,
        .last_tick = timers->greatest,
        .least = timers->least,
        .count = timers->count,
    };
    if (timers->count > 0)
        describe(&description, context);
}

/* Describes a ring that is no slot's ring, under a number after those of the slots. */
static void dump_ring(const struct elapse__link *ring, size_t number,
                      elapse_dump_function *describe, void *context)
{
    struct elapse__ring_summary timers = {.least = ELAPSE_NEVER};
    elapse__ring_summarise(ring, &timers);
    dump_timers(&timers, number, timers.least, describe, context);
}

void elapse_hashed_dump(const struct elapse_hashed *hashed, elapse_dump_function *describe,
                        void *context)
{
    bool visiting = !elapse__ring_empty(&hashed->aside);
    for (size_t slot = 0; slot < hashed->slots; slot++) {
        bool under_visit = visiting && slot == hashed->visiting;
        if (!under_visit && !elapse__hashed_occupied(hashed, slot))
            continue;
        struct elapse__ring_summary timers = {.least = ELAPSE_NEVER};
        elapse__ring_summarise(&hashed->rings[slot], &timers);
        if (under_visit)
            elapse__ring_summarise(&hashed->aside, &timers);
        uint64_t visited = under_visit ? elapse__hashed_visited_aside(hashed)
                                       : elapse__hashed_visited(hashed, slot);
        ELAPSE__ASSERT(timers.count > 0);
        ELAPSE__ASSERT(timers.least > visited);
        dump_timers(&timers, slot, elapse__hashed_tick_after(hashed, visited, slot), describe,
                    context);
    }
    dump_ring(&hashed->due, hashed->slots, describe, context);
    dump_ring(&hashed->never, hashed->slots + 1, describe, context);
}
