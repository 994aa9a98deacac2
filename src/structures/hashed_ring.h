/*
 * The hashed wheel's ring of slots: which slots are occupied, and at which tick each slot is
 * visited. The head of hashed.c explains rounds, turns, visits, the pointer and the jump.
 */
#ifndef ELAPSE__HASHED_RING_H
#define ELAPSE__HASHED_RING_H

#include <elapse/hashed.h>

#include "../base/assert.h"
#include "../base/bits.h"

/* The `place` of a timer that is armed for ELAPSE_NEVER. The place of any other timer is 1 + its
 * rounds, which is always less. */
#define ELAPSE__HASHED_PLACE_NEVER UINT64_MAX

/* Returns whether the ring of `slot` has timers. */
static inline bool elapse__hashed_occupied(const struct elapse_hashed *hashed, size_t slot)
{
    ELAPSE__ASSERT(slot < hashed->slots);
    return elapse__bitmap_has(hashed->occupied, slot);
}

/* Returns the first occupied slot from `slot` on; the number of slots if there is none. */
static inline size_t elapse__hashed_first_from(const struct elapse_hashed *hashed, size_t slot)
{
    ELAPSE__ASSERT(slot <= hashed->slots);
    uint64_t masked = UINT64_MAX << slot % 64;
    for (size_t word = slot / 64; word * 64 < hashed->slots; word++) {
        uint64_t bits = hashed->occupied[word] & masked;
        if (bits != 0)
            return word * 64 + elapse__lowest_bit(bits);
        masked = UINT64_MAX;
    }
    return hashed->slots;
}

/* Returns the last occupied slot below `slot`; the number of slots if there is none. */
static inline size_t elapse__hashed_last_below(const struct elapse_hashed *hashed, size_t slot)
{
    ELAPSE__ASSERT(slot <= hashed->slots);
    uint64_t masked = (UINT64_C(1) << slot % 64) - 1;
    for (size_t word = slot / 64;; word--) {
        uint64_t bits = masked == 0 ? 0 : hashed->occupied[word] & masked;
        if (bits != 0)
            return word * 64 + elapse__highest_bit(bits);
        if (word == 0)
            return hashed->slots;
        masked = UINT64_MAX;
    }
}

/* Returns the first tick after `tick` at which `slot` is visited. */
static inline uint64_t elapse__hashed_tick_after(const struct elapse_hashed *hashed, uint64_t tick,
                                                 size_t slot)
{
    ELAPSE__ASSERT(slot < hashed->slots);
    size_t position = (size_t)(tick % hashed->slots);
    return tick + (slot > position ? 0 : hashed->slots) + slot - position;
}

/* Returns whether a jump is under way. */
static inline bool elapse__hashed_jumping(const struct elapse_hashed *hashed)
{
    return hashed->jump_origin != hashed->pointer;
}

/* Returns the tick from which the rounds of the timers in the ring of `slot` are counted. This is
 * the pointer. If a jump is under way and has not visited `slot` yet, this is the tick at which the
 * jump began. */
static inline uint64_t elapse__hashed_visited(const struct elapse_hashed *hashed, size_t slot)
{
    ELAPSE__ASSERT(slot < hashed->slots);
    return slot < hashed->unvisited ? hashed->jump_origin : hashed->pointer;
}

/* Returns the tick from which the rounds of the timers set aside are counted. It is a tick before
 * the visit to their slot, because this visit is not complete. */
static inline uint64_t elapse__hashed_visited_aside(const struct elapse_hashed *hashed)
{
    return elapse__hashed_jumping(hashed) ? hashed->jump_origin : hashed->pointer - 1;
}

/* Returns how many visits to `slot` there are after tick `before`, up to the pointer. Requires at
 * least one visit. */
static inline uint64_t elapse__hashed_turns(const struct elapse_hashed *hashed, uint64_t before,
                                            size_t slot)
{
    uint64_t first = elapse__hashed_tick_after(hashed, before, slot);
    ELAPSE__ASSERT(first <= hashed->pointer);
    return 1 + (hashed->pointer - first) / hashed->slots;
}

/* Returns, during a jump, in which turn the jump passes the slot under visit for the first time.
 * Turns are counted from the turn of `jump_origin`. Returns 0 if no jump is under way. */
static inline uint64_t elapse__hashed_first_turn(const struct elapse_hashed *hashed)
{
    return elapse__hashed_jumping(hashed) &&
           hashed->visiting <= (size_t)(hashed->jump_origin % hashed->slots);
}

#endif
