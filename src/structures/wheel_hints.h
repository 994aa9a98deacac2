/*
 * Prefetching: how the cache misses of a walk along a ring overlap.
 *
 * Timers lie anywhere in memory, and each timer names only its neighbours. So a walk along a long
 * ring would wait for one cache miss after another. Therefore every timer carries a hint in the
 * upper bits of its `place`: the address of the timer that the walk will reach HINT_DISTANCE (16)
 * steps later. The walk prefetches that timer and goes on.
 *
 *      place   |  address / 8 of the timer 16 steps ahead  |  slot number + 1  |
 *               63                                       11 10                0
 *
 * A hint is only prefetched. Nothing is read or written through a hint. A hint may be stale, and
 * may name memory that was freed. Then the walk is slower for these 16 steps, and nothing else
 * happens.
 *
 * Which timer will be 16 steps ahead?
 *
 *  - A ring above level 0 is cascaded from the newest timer to the oldest. The timer that
 *    follows 16 steps after a timer in this walk was appended 16 timers before it. A small
 *    array of addresses, the trail, remembers the timers that were appended last.
 *  - A ring on level 0 is popped from the oldest timer on. If a cascade puts a timer in front,
 *    the timer that follows 16 steps later was put in front 16 timers before it. The same trail
 *    remembers these timers.
 *  - If a cascade puts a timer in front of a ring above level 0, the timer that will follow 16
 *    steps later is put in front 16 timers *after* it, and is not known yet. So the address of
 *    the later timer is written into the earlier timer. That is a write to another timer, and
 *    is allowed only while that timer is pending. The front trails, one for each digit, remember
 *    the last 16 timers that the cascade of one slot has put in front. A cascade may be done in
 *    many small steps, and the front trails are kept between two steps. They are valid only
 *    while no timer is stopped in between: the count `stopped` of the wheel tells. If a timer
 *    was stopped, the trail is read again from the front of the ring. No timer of a front trail
 *    can be popped before the cascade has ended, and then the front trails are forgotten.
 *
 *  - A timer that is started straight onto level 0 becomes the newest of its ring. The timers
 *    that will follow it are not known, so its hint names an older timer and is of no use.
 *
 * Slots share a trail if their numbers are equal modulo 512. On the levels 0 to 2, no two slots
 * share a trail. In the small form (ELAPSE_WHEEL_SMALL) the distance is 8 and the modulus is 128,
 * so that each trail belongs to two slots of level 0.
 *
 * docs/decisions/0002-prefetch-hints.md says what the hints gain.
 */
#ifndef ELAPSE__WHEEL_HINTS_H
#define ELAPSE__WHEEL_HINTS_H

#include <elapse/wheel.h>

#include "../base/assert.h"
#include "../base/ring.h"
#include "wheel_geometry.h"

/* If timers are aligned to 8 bytes, the low 3 bits of an address are 0. If timers are aligned to
 * less, the address without these bits is almost always in the same cache line. */
enum { ADDRESS_SHIFT = 3 };

/* Returns the hint that names `timer`, shifted to the bits of `place` that hold a hint. */
static inline uint64_t elapse__hint(const struct elapse_timer *timer)
{
    uint64_t address = (uintptr_t)timer;
    if (_Alignof(struct elapse_timer) % (1 << ADDRESS_SHIFT) != 0)
        address &= ~UINT64_C(0) << ADDRESS_SHIFT;
    ELAPSE__ASSERT(address % (1 << ADDRESS_SHIFT) == 0);
    return address << (ELAPSE__WHEEL_PLACE_BITS - ADDRESS_SHIFT);
}

/* Prefetches the timer that a hint names. `hint` may be a hint or a whole `place`. If the timer
 * lies in two cache lines, prefetches both. */
static inline void elapse__prefetch(uint64_t hint)
{
    uintptr_t address = (uintptr_t)(hint >> ELAPSE__WHEEL_PLACE_BITS << ADDRESS_SHIFT);
    __builtin_prefetch((const void *)address, 1);
    __builtin_prefetch((const void *)(address + sizeof(struct elapse_timer) - 1), 1);
}

/* Returns where the trail of `slot` keeps the hint of the `number`th timer that entered the
 * slot. */
static inline uint64_t *elapse__trail_hint(struct elapse_wheel *wheel, unsigned slot,
                                           uint64_t number)
{
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    return &wheel->trails[slot % ELAPSE__WHEEL_TRAILS].hints[number % ELAPSE__WHEEL_HINT_DISTANCE];
}

/* Notes in the slot's trail that `timer` enters the slot as its `number`th timer. Returns the
 * `place` of this timer: the slot, with the hint of the timer that entered 16 timers before it. */
static inline uint64_t elapse__place_on_trail(struct elapse_wheel *wheel, unsigned slot,
                                              uint64_t number, const struct elapse_timer *timer)
{
    uint64_t *hint = elapse__trail_hint(wheel, slot, number);
    uint64_t earlier = *hint;
    ELAPSE__ASSERT((earlier & ELAPSE__WHEEL_PLACE_MASK) == 0);
    *hint = elapse__hint(timer);
    return earlier | (slot + 1);
}

/* Prefetches the first timers of a walk along the ring of `slot`, because no timer's hint names
 * these. Does nothing for a ring that was never long, for which this is not worth its cost. */
static inline void elapse__prefetch_trail(struct elapse_wheel *wheel, unsigned slot)
{
    if (wheel->slots[slot].entered < ELAPSE__WHEEL_HINT_DISTANCE)
        return;
    for (unsigned i = 0; i < ELAPSE__WHEEL_HINT_DISTANCE; i++)
        elapse__prefetch(*elapse__trail_hint(wheel, slot, i));
}

/* Returns the digit of a slot above level 0. */
static inline unsigned elapse__digit_of_slot(unsigned slot)
{
    ELAPSE__ASSERT(slot >= ELAPSE__WHEEL_LEVEL_0_SLOTS);
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    return slot % ELAPSE__WHEEL_UPPER_BLOCK;
}

/* Makes the front trails belong to the cascade of `slot`. */
static inline void elapse__claim_front_trails(struct elapse_wheel *wheel, unsigned slot)
{
    ELAPSE__ASSERT(slot >= ELAPSE__WHEEL_LEVEL_0_SLOTS);
    if (wheel->front_slot != slot)
        wheel->cascades++;
    wheel->front_slot = slot;
}

/* Fills the trail anew from the timers that the cascade has put in front of `ring`. These timers
 * are in the wheel, so the walk may write to them. */
static inline void elapse__read_front_trail(struct elapse__wheel_front_trail *trail,
                                            const struct elapse__ring_node *ring,
                                            const struct elapse__ring_node *first)
{
    uint64_t most =
        trail->entered < ELAPSE__WHEEL_HINT_DISTANCE ? trail->entered : ELAPSE__WHEEL_HINT_DISTANCE;
    uint64_t count = 0;
    for (const struct elapse__ring_node *ring_node = first; ring_node != ring && count < most;
         ring_node = ring_node->next) {
        ELAPSE__ASSERT(ring_node->next->previous == ring_node);
        ELAPSE__ASSERT(ring_node->previous->next == ring_node);
        count++;
    }
    trail->entered = count;
    /* The timer at the front was the last to enter. */
    for (const struct elapse__ring_node *ring_node = first; count > 0; ring_node = ring_node->next)
        trail->timers[--count] = elapse__ring_timer(ring_node);
}

/* Notes that the cascade puts `timer` in front of the ring of `slot`, which is above level 0.
 * Requires that the timer's link to the next timer is set. Writes the address of the timer into the
 * timer that the cascade put there 16 timers before. */
static inline void elapse__leave_front_trail(struct elapse_wheel *wheel, unsigned slot,
                                             struct elapse_timer *timer)
{
    struct elapse__wheel_front_trail *trail = &wheel->front[elapse__digit_of_slot(slot)];
    const struct elapse__ring_node *ring = &wheel->slots[slot].timers;
    ELAPSE__ASSERT(timer->keep.ring_node.next->previous == &timer->keep.ring_node);
    ELAPSE__ASSERT(wheel->front_slot > slot);
    if (trail->cascade != wheel->cascades) {
        trail->cascade = wheel->cascades;
        trail->entered = 0;
    } else if (trail->stopped != wheel->stopped) {
        elapse__read_front_trail(trail, ring, timer->keep.ring_node.next);
    }
    trail->stopped = wheel->stopped;
    uint64_t number = trail->entered++;
    struct elapse_timer **entry = &trail->timers[number % ELAPSE__WHEEL_HINT_DISTANCE];
    if (number >= ELAPSE__WHEEL_HINT_DISTANCE) {
        struct elapse_timer *earlier = *entry;
        ELAPSE__ASSERT(earlier->place != 0);
        earlier->place = (earlier->place & ELAPSE__WHEEL_PLACE_MASK) | elapse__hint(timer);
    }
    *entry = timer;
    /* The timers that entered first are the first that a walk reaches: see
     * elapse__prefetch_trail. */
    if (number + 1 == ELAPSE__WHEEL_HINT_DISTANCE) {
        for (unsigned i = 0; i < ELAPSE__WHEEL_HINT_DISTANCE; i++)
            *elapse__trail_hint(wheel, slot, i) = elapse__hint(trail->timers[i]);
    }
}

#endif
