/*
 * The geometry of the wheel: which ticks belong to which slot.
 *
 * A tick is read as a number whose lowest digit has LEVEL_0_BITS bits and whose
 * other digits have DIGIT_BITS bits. Slots have one sequence of numbers, level by level:
 *
 *      level 0              level 1              level 2
 *      0 ... 127            128 ... 191          192 ... 255         ...
 *      one tick each        2^7 ticks each       2^13 ticks each
 *
 * These functions do not read a wheel; `pointer` is the position of one.
 */
#ifndef ELAPSE__WHEEL_GEOMETRY_H
#define ELAPSE__WHEEL_GEOMETRY_H

#include <elapse/wheel.h>

#include "../base/assert.h"
#include "../base/bits.h"

enum {
    /* Low bits of a timer's place: 1 + the number of its slot. */
    ELAPSE__WHEEL_PLACE_BITS = 10,
    ELAPSE__WHEEL_PLACE_MASK = (1 << ELAPSE__WHEEL_PLACE_BITS) - 1,
};

_Static_assert(ELAPSE__WHEEL_SLOTS < ELAPSE__WHEEL_PLACE_MASK,
               "a place has enough bits for the number of every slot");
_Static_assert(ELAPSE__WHEEL_WORDS <= 32, "one 32-bit word has a bit for every word of the bitmap");
_Static_assert(sizeof(struct elapse_wheel) <= 65536, "a wheel takes at most 64 KiB");

/* How many bits of a tick are below the digit of `level`: its slots cover 2^shift ticks. */
static inline unsigned elapse__wheel_shift(unsigned level)
{
    ELAPSE__ASSERT(level < ELAPSE__WHEEL_LEVELS);
    return level == 0
               ? 0
               : ELAPSE__WHEEL_LEVEL_0_BITS + (level - 1) * (unsigned)ELAPSE__WHEEL_DIGIT_BITS;
}

/* The number of the first slot of `level`. */
static inline unsigned elapse__wheel_first_slot(unsigned level)
{
    ELAPSE__ASSERT(level < ELAPSE__WHEEL_LEVELS);
    return level == 0
               ? 0
               : ELAPSE__WHEEL_LEVEL_0_SLOTS + (level - 1) * (unsigned)ELAPSE__WHEEL_DIGIT_SLOTS;
}

/* How many slots `level` has. */
static inline unsigned elapse__wheel_slots_in(unsigned level)
{
    ELAPSE__ASSERT(level < ELAPSE__WHEEL_LEVELS);
    return level == 0 ? ELAPSE__WHEEL_LEVEL_0_SLOTS : ELAPSE__WHEEL_DIGIT_SLOTS;
}

/* The level that `slot` is on. */
static inline unsigned elapse__wheel_level(unsigned slot)
{
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    return slot < ELAPSE__WHEEL_LEVEL_0_SLOTS
               ? 0
               : 1 + (slot - ELAPSE__WHEEL_LEVEL_0_SLOTS) / ELAPSE__WHEEL_DIGIT_SLOTS;
}

/* The digit of `tick` on `level`. */
static inline unsigned elapse__wheel_digit(uint64_t tick, unsigned level)
{
    return (unsigned)(tick >> elapse__wheel_shift(level)) & (elapse__wheel_slots_in(level) - 1);
}

/* The slot of a deadline, which is not before `pointer`: on the level of the highest
 * digit in which the two differ, the slot of the deadline's digit there. */
static inline unsigned elapse__wheel_slot_for(uint64_t pointer, uint64_t deadline)
{
    uint64_t difference = pointer ^ deadline;
    ELAPSE__ASSERT(deadline >= pointer);
    ELAPSE__ASSERT(deadline <= ELAPSE_NEVER);

    if (difference < ELAPSE__WHEEL_LEVEL_0_SLOTS)
        return (unsigned)deadline & (ELAPSE__WHEEL_LEVEL_0_SLOTS - 1);
    unsigned above_level_0 =
        (elapse__highest_bit(difference) - ELAPSE__WHEEL_LEVEL_0_BITS) / ELAPSE__WHEEL_DIGIT_BITS;
    ELAPSE__ASSERT(above_level_0 < ELAPSE__WHEEL_UPPER_LEVELS);
    unsigned shift = ELAPSE__WHEEL_LEVEL_0_BITS + above_level_0 * ELAPSE__WHEEL_DIGIT_BITS;
    return ELAPSE__WHEEL_LEVEL_0_SLOTS + above_level_0 * ELAPSE__WHEEL_DIGIT_SLOTS +
           ((unsigned)(deadline >> shift) & (ELAPSE__WHEEL_DIGIT_SLOTS - 1));
}

/* The first tick that an occupied slot covers: the pointer's digits above the
 * slot's level, then the slot's own digit, then zeros. */
static inline uint64_t elapse__wheel_first_tick(uint64_t pointer, unsigned slot)
{
    unsigned level = elapse__wheel_level(slot);
    unsigned shift = elapse__wheel_shift(level);
    uint64_t digit_mask = (uint64_t)(elapse__wheel_slots_in(level) - 1) << shift;
    uint64_t below = (UINT64_C(1) << shift) - 1;
    uint64_t digit = (uint64_t)(slot - elapse__wheel_first_slot(level)) << shift;
    return (pointer & ~digit_mask & ~below) | digit;
}

/* The last tick that an occupied slot covers. */
static inline uint64_t elapse__wheel_last_tick(uint64_t pointer, unsigned slot)
{
    unsigned shift = elapse__wheel_shift(elapse__wheel_level(slot));
    return elapse__wheel_first_tick(pointer, slot) | ((UINT64_C(1) << shift) - 1);
}

/* The number of the slot that a pending timer's place names. */
static inline unsigned elapse__wheel_slot_of(uint64_t place)
{
    ELAPSE__ASSERT((place & ELAPSE__WHEEL_PLACE_MASK) != 0);
    return (unsigned)(place & ELAPSE__WHEEL_PLACE_MASK) - 1;
}

#endif
