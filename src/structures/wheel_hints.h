/*
 * Prefetching: how a walk along a ring overlaps its cache misses.
 *
 * Timers lie all over memory, and each names only its neighbours: walking a long
 * ring would wait for one cache miss after the other. So every timer carries, in
 * the upper bits of its `place`, a hint: the address of the timer that the walk
 * will come to HINT_DISTANCE (16) steps later. The walk prefetches it and goes on.
 *
 *      place   |  address / 8 of the timer 16 steps ahead  |  slot number + 1  |
 *               63                                       10 9                 0
 *
 * A hint is only ever prefetched, never read through or written through. It may
 * be stale, it may name memory that was freed: then it costs its 16 steps' speed,
 * nothing else.
 *
 * Which timer will be 16 steps ahead?
 *
 *  - A ring above level 0 is drained from the newest to the oldest. A timer that
 *    is appended will be followed, 16 steps later, by the one that was appended
 *    16 before it. A small ring of addresses, the trail, remembers those.
 *  - A ring on level 0 is popped from the oldest on. A timer that a drain puts in
 *    front will be followed by the one put in front 16 before it: a trail too.
 *  - A timer that a drain puts in front of a ring above level 0 will be followed
 *    by the one put in front 16 *after* it, which is not known yet. So the later
 *    one's address is written into the earlier one. That is a write to another
 *    timer, and allowed only because this very walk has touched it: the addresses
 *    come from a scratch trail on the stack, which ends with the call, and never
 *    from one that outlives it, whose timers may have been freed since. A drain that
 *    is done in steps finds the trail again in the ring itself.
 *
 *  - A timer that is started straight onto level 0 follows those before it, and
 *    who will follow is not known: its hint points back and does no good.
 *
 * Trails are shared by slots whose numbers are equal modulo 256, which those of
 * the levels up to 2 are not.
 *
 * What it gives is measured in docs/decisions/0002-prefetch-hints.md.
 */
#ifndef ELAPSE__WHEEL_HINTS_H
#define ELAPSE__WHEEL_HINTS_H

#include <elapse/wheel.h>

#include "../base/ring.h"
#include "wheel_geometry.h"

/* Where timers are aligned to 8 bytes, the low 3 bits of an address say nothing;
 * where to less, the cache line is all but always the same without them. */
enum { ADDRESS_SHIFT = 3 };

static inline uint64_t elapse__hint(const struct elapse_timer *timer)
{
    return (uint64_t)(uintptr_t)timer >> ADDRESS_SHIFT << ELAPSE__WHEEL_PLACE_BITS;
}

/* Asks for the timer that a hint or a place names: for both cache lines, should it
 * straddle two. */
static inline void elapse__prefetch(uint64_t hint)
{
    uintptr_t address = (uintptr_t)(hint >> ELAPSE__WHEEL_PLACE_BITS << ADDRESS_SHIFT);
    __builtin_prefetch((const void *)address, 1);
    __builtin_prefetch((const void *)(address + sizeof(struct elapse_timer) - 1), 1);
}

static inline uint64_t *elapse__trail_hint(struct elapse_wheel *wheel, unsigned slot,
                                           uint64_t number)
{
    return &wheel->trails[slot % ELAPSE__WHEEL_TRAILS].hints[number % ELAPSE__WHEEL_HINT_DISTANCE];
}

/* Notes in the slot's trail that `timer`, as the `number`th, enters it, and returns
 * the place of a timer that does, with the hint that the trail gives. */
static inline uint64_t elapse__place_on_trail(struct elapse_wheel *wheel, unsigned slot,
                                              uint64_t number, const struct elapse_timer *timer)
{
    uint64_t *kept = elapse__trail_hint(wheel, slot, number);
    uint64_t earlier = *kept;
    *kept = elapse__hint(timer);
    return earlier | (slot + 1);
}

/* Asks for the first timers of a walk along the ring of `slot`, to which no hint
 * leads. A ring that was never long is not worth it. */
static inline void elapse__prefetch_trail(struct elapse_wheel *wheel, unsigned slot)
{
    if (wheel->slots[slot].entered < ELAPSE__WHEEL_HINT_DISTANCE)
        return;
    for (unsigned i = 0; i < ELAPSE__WHEEL_HINT_DISTANCE; i++)
        elapse__prefetch(*elapse__trail_hint(wheel, slot, i));
}

/* The trails of one walk of a drain, by the slot's number within its level. */
struct elapse__scratch_trails {
    struct elapse_timer *timers[ELAPSE__WHEEL_DIGIT_SLOTS][ELAPSE__WHEEL_HINT_DISTANCE];
    uint32_t entered[ELAPSE__WHEEL_DIGIT_SLOTS];
};

/* A drain that is resumed finds in a ring what it put there before: these timers are
 * in the wheel, so that they may be written to, and the walk goes on from them. */
static inline void elapse__adopt_scratch_trail(struct elapse__scratch_trails *trails,
                                               unsigned digit, const struct elapse__link *ring,
                                               const struct elapse__link *front)
{
    const struct elapse__link *link = front;
    unsigned count = 0;
    for (; link != ring && count < ELAPSE__WHEEL_HINT_DISTANCE; link = link->next)
        count++;
    trails->entered[digit] = count;
    /* The one at the front was the last to enter. */
    for (link = front; count > 0; link = link->next)
        trails->timers[digit][--count] = elapse__ring_timer(link);
}

/* Notes that the walk has put `timer` in front of the ring of `slot`, above level 0,
 * and writes its address into the timer that the walk put there 16 before. */
static inline void elapse__leave_scratch_trail(struct elapse__scratch_trails *trails,
                                               struct elapse_wheel *wheel, unsigned slot,
                                               struct elapse_timer *timer)
{
    unsigned digit = (slot - ELAPSE__WHEEL_LEVEL_0_SLOTS) % ELAPSE__WHEEL_DIGIT_SLOTS;
    const struct elapse__link *ring = &wheel->slots[slot].timers;
    if (trails->entered[digit] == 0 && timer->keep.link.next != ring)
        elapse__adopt_scratch_trail(trails, digit, ring, timer->keep.link.next);
    unsigned number = trails->entered[digit]++;
    struct elapse_timer **kept = &trails->timers[digit][number % ELAPSE__WHEEL_HINT_DISTANCE];
    if (number >= ELAPSE__WHEEL_HINT_DISTANCE) {
        uint64_t slot_of_earlier = (*kept)->place & ELAPSE__WHEEL_PLACE_MASK;
        (*kept)->place = slot_of_earlier | elapse__hint(timer);
    } else {
        /* The first to enter are the first to be walked: see prefetch_trail. */
        (void)elapse__place_on_trail(wheel, slot, wheel->slots[slot].entered++, timer);
    }
    *kept = timer;
}

#endif
