/*
 * Prefetching: how a walk along a ring overlaps its cache misses.
 *
 * Timers lie anywhere in memory, and each names only its neighbours, so a walk along a
 * long ring would wait for one cache miss after another. Therefore every timer carries a
 * hint in the upper bits of its `place`: the address of the timer that the walk
 * will reach HINT_DISTANCE (16) steps later. The walk prefetches it and goes on.
 *
 *      place   |  address / 8 of the timer 16 steps ahead  |  slot number + 1  |
 *               63                                       10 9                 0
 *
 * A hint is only ever prefetched. Nothing is read or written through it. It may
 * be stale, and may name memory that was freed: the walk is then slower for these 16
 * steps, and nothing else happens.
 *
 * Which timer will be 16 steps ahead?
 *
 *  - A ring above level 0 is cascaded from the newest timer to the oldest. A timer that
 *    is appended will be followed, 16 steps later, by the timer that was appended
 *    16 before it. A small array of addresses, the trail, remembers those.
 *  - A ring on level 0 is popped from the oldest timer on. A timer that a cascade puts in
 *    front will be followed by the timer that was put in front 16 before it. That is a
 *    trail too.
 *  - A timer that a cascade puts in front of a ring above level 0 will be followed
 *    by the timer that is put in front 16 *after* it, which is not known yet. So the
 *    address of the later timer is written into the earlier one. That is a write to another
 *    timer, and it is allowed only because this very walk has touched that timer. The
 *    addresses come from a scratch trail on the stack, which ends with the call. They never
 *    come from a trail that outlives the call, whose timers may have been freed since. A
 *    cascade that is done in steps finds the scratch trail again in the ring itself.
 *
 *  - A timer that is started straight onto level 0 comes after the timers before it, and
 *    nothing is known about those that will follow: its hint points back and does no good.
 *
 * Slots share a trail if their numbers are equal modulo 256. On the levels 0 to 2 no two
 * slots share one.
 *
 * What the hints gain is measured in docs/decisions/0002-prefetch-hints.md.
 */
#ifndef ELAPSE__WHEEL_HINTS_H
#define ELAPSE__WHEEL_HINTS_H

#include <elapse/wheel.h>

#include "../base/assert.h"
#include "../base/ring.h"
#include "wheel_geometry.h"

/* Where timers are aligned to 8 bytes, the low 3 bits of an address are 0. Where they
 * are aligned to less, the address without these bits is almost always in the same cache
 * line. */
enum { ADDRESS_SHIFT = 3 };

/* The hint that names `timer`, in the bits of a place where hints are. */
static inline uint64_t elapse__hint(const struct elapse_timer *timer)
{
    return (uint64_t)(uintptr_t)timer >> ADDRESS_SHIFT << ELAPSE__WHEEL_PLACE_BITS;
}

/* Prefetches the timer that a hint, or the hint in a place, names: both cache lines, if
 * it straddles two. */
static inline void elapse__prefetch(uint64_t hint)
{
    uintptr_t address = (uintptr_t)(hint >> ELAPSE__WHEEL_PLACE_BITS << ADDRESS_SHIFT);
    __builtin_prefetch((const void *)address, 1);
    __builtin_prefetch((const void *)(address + sizeof(struct elapse_timer) - 1), 1);
}

/* Where the trail of `slot` keeps the hint of the `number`th timer that entered. */
static inline uint64_t *elapse__trail_hint(struct elapse_wheel *wheel, unsigned slot,
                                           uint64_t number)
{
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    return &wheel->trails[slot % ELAPSE__WHEEL_TRAILS].hints[number % ELAPSE__WHEEL_HINT_DISTANCE];
}

/* Notes in the slot's trail that `timer` enters the slot as its `number`th. Returns the
 * place of that timer: the slot, with the hint of the timer that entered 16 before it. */
static inline uint64_t elapse__place_on_trail(struct elapse_wheel *wheel, unsigned slot,
                                              uint64_t number, const struct elapse_timer *timer)
{
    uint64_t *hint = elapse__trail_hint(wheel, slot, number);
    uint64_t earlier = *hint;
    ELAPSE__ASSERT((earlier & ELAPSE__WHEEL_PLACE_MASK) == 0);
    *hint = elapse__hint(timer);
    return earlier | (slot + 1);
}

/* Prefetches the first timers of a walk along the ring of `slot`, which no timer's hint
 * names. For a ring that was never long this is not worth its cost, and is left out. */
static inline void elapse__prefetch_trail(struct elapse_wheel *wheel, unsigned slot)
{
    if (wheel->slots[slot].entered < ELAPSE__WHEEL_HINT_DISTANCE)
        return;
    for (unsigned i = 0; i < ELAPSE__WHEEL_HINT_DISTANCE; i++)
        elapse__prefetch(*elapse__trail_hint(wheel, slot, i));
}

/* The number within its level of a slot above level 0. */
static inline unsigned elapse__digit_of_slot(unsigned slot)
{
    ELAPSE__ASSERT(slot >= ELAPSE__WHEEL_LEVEL_0_SLOTS);
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    return (slot - ELAPSE__WHEEL_LEVEL_0_SLOTS) % ELAPSE__WHEEL_DIGIT_SLOTS;
}

/* The trails of one walk of a cascade, by the slot's number within its level. Slots of
 * different levels share a trail if they have the same number there. */
struct elapse__scratch_trails {
    struct elapse_timer *timers[ELAPSE__WHEEL_DIGIT_SLOTS][ELAPSE__WHEEL_HINT_DISTANCE];
    uint32_t entered[ELAPSE__WHEEL_DIGIT_SLOTS];
};

/* Fills the trail of a cascade that is resumed from what the cascade put in front of
 * `ring` before. These timers are in the wheel, so the walk may write to them. */
static inline void elapse__adopt_scratch_trail(struct elapse__scratch_trails *trails,
                                               unsigned digit, const struct elapse__link *ring,
                                               const struct elapse__link *front)
{
    ELAPSE__ASSERT(digit < ELAPSE__WHEEL_DIGIT_SLOTS);
    ELAPSE__ASSERT(front != ring);
    const struct elapse__link *link = front;
    unsigned count = 0;
    for (; link != ring && count < ELAPSE__WHEEL_HINT_DISTANCE; link = link->next) {
        ELAPSE__ASSERT(link->next->previous == link);
        ELAPSE__ASSERT(link->previous->next == link);
        count++;
    }
    trails->entered[digit] = count;
    /* The timer at the front was the last to enter. */
    for (link = front; count > 0; link = link->next)
        trails->timers[digit][--count] = elapse__ring_timer(link);
    ELAPSE__ASSERT(trails->entered[digit] > 0);
}

/* Notes that the walk has put `timer` in front of the ring of `slot`, above level 0.
 * Writes its address into the timer that the walk put there 16 before. */
static inline void elapse__leave_scratch_trail(struct elapse__scratch_trails *trails,
                                               struct elapse_wheel *wheel, unsigned slot,
                                               struct elapse_timer *timer)
{
    unsigned digit = elapse__digit_of_slot(slot);
    const struct elapse__link *ring = &wheel->slots[slot].timers;
    ELAPSE__ASSERT(ring->next == &timer->keep.link);
    if (trails->entered[digit] == 0 && timer->keep.link.next != ring)
        elapse__adopt_scratch_trail(trails, digit, ring, timer->keep.link.next);
    unsigned number = trails->entered[digit]++;
    struct elapse_timer **entry = &trails->timers[digit][number % ELAPSE__WHEEL_HINT_DISTANCE];
    if (number >= ELAPSE__WHEEL_HINT_DISTANCE) {
        struct elapse_timer *earlier = *entry;
        ELAPSE__ASSERT(elapse__digit_of_slot(elapse__wheel_slot_of(earlier->place)) == digit);
        earlier->place = (earlier->place & ELAPSE__WHEEL_PLACE_MASK) | elapse__hint(timer);
    } else {
        /* The first to enter are the first that a walk reaches: see prefetch_trail. */
        (void)elapse__place_on_trail(wheel, slot, wheel->slots[slot].entered++, timer);
    }
    *entry = timer;
}

#endif
