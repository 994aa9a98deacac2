/*
 * Prefetching: how a walk along a ring overlaps its cache misses.
 *
 * Timers lie anywhere in memory, and each names only its neighbours, so a walk along a
 * long ring would wait for one cache miss after another. Therefore every timer carries a
 * hint in the upper bits of its `place`: the address of the timer that the walk
 * will reach HINT_DISTANCE (16) steps later. The walk prefetches it and goes on.
 *
 *      place   |  address / 8 of the timer 16 steps ahead  |  slot number + 1  |
 *               63                                       11 10                0
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
 *    timer, and it is allowed only while that timer is pending. The front trails remember the
 *    last 16 timers that the cascade of one slot has put in front, for each digit. A cascade may
 *    be done in many small steps, and the trails are kept between two steps. They
 *    are valid only while no timer was stopped in between: `stopped` of the wheel says so. (No
 *    timer of theirs can be popped before the cascade has ended, and then they are forgotten.)
 *    If a timer was stopped, the trail is read again from the front of the ring itself.
 *
 *  - A timer that is started straight onto level 0 comes after the timers before it, and
 *    nothing is known about those that will follow: its hint points back and does no good.
 *
 * Slots share a trail if their numbers are equal modulo 512. On the levels 0 to 2 no two
 * slots share one. In the small form (ELAPSE_WHEEL_SMALL) the distance is 8 and the modulus 128, so
 * that two slots of level 0 share each trail.
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
    uint64_t address = (uintptr_t)timer;
    if (_Alignof(struct elapse_timer) % (1 << ADDRESS_SHIFT) != 0)
        address &= ~UINT64_C(0) << ADDRESS_SHIFT;
    ELAPSE__ASSERT(address % (1 << ADDRESS_SHIFT) == 0);
    return address << (ELAPSE__WHEEL_PLACE_BITS - ADDRESS_SHIFT);
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

/* The digit of a slot above level 0. */
static inline unsigned elapse__digit_of_slot(unsigned slot)
{
    ELAPSE__ASSERT(slot >= ELAPSE__WHEEL_LEVEL_0_SLOTS);
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    return slot % ELAPSE__WHEEL_UPPER_BLOCK;
}

/* Makes the front trails those of the cascade of `slot`. */
static inline void elapse__claim_front_trails(struct elapse_wheel *wheel, unsigned slot)
{
    ELAPSE__ASSERT(slot >= ELAPSE__WHEEL_LEVEL_0_SLOTS);
    if (wheel->front_slot != slot)
        wheel->cascades++;
    wheel->front_slot = slot;
}

/* Fills the trail from the timers that the cascade put in front of `ring` before. These
 * timers are in the wheel, so the walk may write to them. */
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

/* Notes that the cascade puts `timer` in front of the ring of `slot`, above level 0. Its link to
 * the next timer is set. Writes its address into the timer that the cascade put there 16 before. */
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
    /* The first to enter are the first that a walk reaches: see prefetch_trail. */
    if (number + 1 == ELAPSE__WHEEL_HINT_DISTANCE) {
        for (unsigned i = 0; i < ELAPSE__WHEEL_HINT_DISTANCE; i++)
            *elapse__trail_hint(wheel, slot, i) = elapse__hint(trail->timers[i]);
    }
}

#endif
