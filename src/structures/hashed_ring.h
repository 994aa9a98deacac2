/*
 * The hashed wheel's ring of slots: which are occupied, and at which tick each is visited.
 */
#ifndef ELAPSE__HASHED_RING_H
#define ELAPSE__HASHED_RING_H

#include <elapse/hashed.h>

#include "../base/bits.h"

/* A timer's place is its rounds and 1 more; but in the ring of those armed for ELAPSE_NEVER it
 * is this, which is more than any rounds give. */
#define ELAPSE__HASHED_PLACE_NEVER UINT64_MAX

static inline bool elapse__hashed_occupied(const struct elapse_hashed *hashed, size_t slot)
{
    return (hashed->occupied[slot / 64] >> slot % 64 & 1) != 0;
}

/* The first occupied slot from `slot` on; the number of slots, if there is none. */
static inline size_t elapse__hashed_first_from(const struct elapse_hashed *hashed, size_t slot)
{
    uint64_t masked = UINT64_MAX << slot % 64;
    for (size_t word = slot / 64; word * 64 < hashed->slots; word++) {
        uint64_t bits = hashed->occupied[word] & masked;
        if (bits != 0)
            return word * 64 + elapse__lowest_bit(bits);
        masked = UINT64_MAX;
    }
    return hashed->slots;
}

/* The first tick after `tick` at which `slot` is visited. */
static inline uint64_t elapse__hashed_tick_after(const struct elapse_hashed *hashed, uint64_t tick,
                                                 size_t slot)
{
    size_t position = (size_t)(tick % hashed->slots);
    return tick + (slot > position ? 0 : hashed->slots) + slot - position;
}

static inline bool elapse__hashed_jumping(const struct elapse_hashed *hashed)
{
    return hashed->before != hashed->pointer;
}

/* The last tick whose visit the rounds of the timers in the ring of `slot` reckon with. */
static inline uint64_t elapse__hashed_visited(const struct elapse_hashed *hashed, size_t slot)
{
    return slot < hashed->unvisited ? hashed->pointer : hashed->before;
}

/* The same for the timers set aside, whose visit is under way. */
static inline uint64_t elapse__hashed_visited_aside(const struct elapse_hashed *hashed)
{
    return elapse__hashed_jumping(hashed) ? hashed->before : hashed->pointer - 1;
}

/* How many visits to `slot` there are after `before`, up to the pointer. */
static inline uint64_t elapse__hashed_turns(const struct elapse_hashed *hashed, uint64_t before,
                                            size_t slot)
{
    uint64_t first = elapse__hashed_tick_after(hashed, before, slot);
    return 1 + (hashed->pointer - first) / hashed->slots;
}

#endif
