/*
 * The geometry of the wheel: which ticks belong to which slot.
 *
 * A tick is read as a number whose lowest digit has LEVEL_0_BITS bits and whose other digits have
 * DIGIT_BITS bits. Each level has one digit. The ticks that have all digits above a level in common
 * are a block of that level. A block has 128 slots on level 0, and 64 slots on every other level. A
 * level has the slots of two blocks: the present block and the next block. These slots are the two
 * halves of the level. Blocks with even numbers use the lower half, and blocks with odd numbers the
 * upper half. The highest level has one block, which is all of time. The slots of all levels are
 * numbered in one sequence:
 *
 *      level 0              level 1              level 2
 *      0 ... 127, ... 255   256 ... 319, ... 383 384 ... 447, ... 511        ...
 *      one tick each        2^7 ticks each       2^13 ticks each
 *
 * In a geometry with fewer bits, a block still takes 64 numbers, so that each block begins a word
 * of a bitmap. Some of these numbers are not used.
 *
 * Most of these functions do not read a wheel. `pointer` is the pointer of a wheel: the tick from
 * which its slots are counted. The head of wheel.c explains it.
 */
#ifndef ELAPSE__WHEEL_GEOMETRY_H
#define ELAPSE__WHEEL_GEOMETRY_H

#include <elapse/wheel.h>

#include "../base/assert.h"
#include "../base/bits.h"

enum {
    ELAPSE__WHEEL_TOP_LEVEL = ELAPSE__WHEEL_LEVELS - 1,
    /* No block has numbers that are not used. */
    ELAPSE__WHEEL_NUMBERS_ARE_DENSE =
        ELAPSE__WHEEL_LEVEL_0_BITS >= 6 && ELAPSE__WHEEL_DIGIT_BITS == 6,
};

_Static_assert(ELAPSE__WHEEL_SLOTS < ELAPSE__WHEEL_PLACE_MASK,
               "a place has enough bits for the number of every slot");
_Static_assert(ELAPSE__WHEEL_WORDS <= 64, "one 64-bit word has a bit for every word of a bitmap");
_Static_assert(ELAPSE__WHEEL_LEVELS <= 32, "one 32-bit word has a bit for every level");
_Static_assert(ELAPSE__WHEEL_LEVEL_0_BITS != 7 || sizeof(struct elapse_wheel) <= 131072,
               "a wheel takes at most 128 KiB");
#ifdef ELAPSE_WHEEL_SMALL
_Static_assert(sizeof(struct elapse_wheel) <= 65536, "a small wheel takes at most 64 KiB");
#endif

/* Returns how many bits of a tick are below the digit of `level`. If there are n such bits, a slot
 * of the level covers 2^n ticks. */
static inline unsigned elapse__wheel_shift(unsigned level)
{
    ELAPSE__ASSERT(level < ELAPSE__WHEEL_LEVELS);
    return level == 0
               ? 0
               : ELAPSE__WHEEL_LEVEL_0_BITS + (level - 1) * (unsigned)ELAPSE__WHEEL_DIGIT_BITS;
}

/* Returns the number of the first slot of `level`. */
static inline unsigned elapse__wheel_first_slot(unsigned level)
{
    ELAPSE__ASSERT(level < ELAPSE__WHEEL_LEVELS);
    return level == 0
               ? 0
               : ELAPSE__WHEEL_LEVEL_0_SLOTS + (level - 1) * (unsigned)ELAPSE__WHEEL_UPPER_SLOTS;
}

/* Returns how many bits the digit of `level` has. */
static inline unsigned elapse__wheel_bits(unsigned level)
{
    ELAPSE__ASSERT(level < ELAPSE__WHEEL_LEVELS);
    return level == 0 ? ELAPSE__WHEEL_LEVEL_0_BITS : ELAPSE__WHEEL_DIGIT_BITS;
}

/* Returns how many slot numbers a block of `level` takes. */
static inline unsigned elapse__wheel_block_slots(unsigned level)
{
    ELAPSE__ASSERT(level < ELAPSE__WHEEL_LEVELS);
    return level == 0 ? ELAPSE__WHEEL_LEVEL_0_BLOCK : ELAPSE__WHEEL_UPPER_BLOCK;
}

/* Returns the level that `slot` is on. */
static inline unsigned elapse__wheel_level(unsigned slot)
{
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    return slot < ELAPSE__WHEEL_LEVEL_0_SLOTS
               ? 0
               : 1 + (slot - ELAPSE__WHEEL_LEVEL_0_SLOTS) / ELAPSE__WHEEL_UPPER_SLOTS;
}

/* Returns the number of the block of `level` that `tick` is in, counted from tick 0. */
static inline uint64_t elapse__wheel_block(uint64_t tick, unsigned level)
{
    return level == ELAPSE__WHEEL_TOP_LEVEL ? 0 : tick >> elapse__wheel_shift(level + 1);
}

/* Returns the number of the slot of `level` that `tick` belongs to. The block of the tick gives the
 * half of the level, and the digit of the tick gives the slot in this half. */
static inline unsigned elapse__wheel_slot_on(unsigned level, uint64_t tick)
{
    unsigned digits = (unsigned)(tick >> elapse__wheel_shift(level));
    unsigned block_slots = elapse__wheel_block_slots(level);
    /* The bits of the digit, and above them the bit of the half. */
    if (ELAPSE__WHEEL_NUMBERS_ARE_DENSE)
        return elapse__wheel_first_slot(level) + (digits & (2 * block_slots - 1));
    unsigned mask = (1u << elapse__wheel_bits(level)) - 1;
    unsigned half = (digits & ~mask) * (block_slots / (mask + 1)) & block_slots;
    return elapse__wheel_first_slot(level) + (half | (digits & mask));
}

/* Returns the number of `slot` within its level, counted without the numbers that are not used. */
static inline unsigned elapse__wheel_number(unsigned slot)
{
    unsigned level = elapse__wheel_level(slot);
    unsigned number = slot - elapse__wheel_first_slot(level);
    unsigned half = number / elapse__wheel_block_slots(level);
    return (half << elapse__wheel_bits(level)) + number % elapse__wheel_block_slots(level);
}

/* Returns whether `slot` is in the half of its level that the pointer's block uses. Such a slot
 * belongs to the present block, and any other slot to the next block. */
static inline bool elapse__wheel_is_present(uint64_t pointer, unsigned slot)
{
    unsigned level = elapse__wheel_level(slot);
    unsigned half = (slot - elapse__wheel_first_slot(level)) / elapse__wheel_block_slots(level);
    return half == (elapse__wheel_block(pointer, level) & 1);
}

/* Returns the first tick that a slot of the present block or of the next block covers. */
static inline uint64_t elapse__wheel_first_tick(uint64_t pointer, unsigned slot)
{
    unsigned level = elapse__wheel_level(slot);
    uint64_t digit = (slot - elapse__wheel_first_slot(level)) % elapse__wheel_block_slots(level);
    uint64_t block = elapse__wheel_block(pointer, level) + !elapse__wheel_is_present(pointer, slot);
    ELAPSE__ASSERT(digit >> elapse__wheel_bits(level) == 0);
    return (block << elapse__wheel_bits(level) | digit) << elapse__wheel_shift(level);
}

/* Returns the last tick that a slot of the present block or of the next block covers. */
static inline uint64_t elapse__wheel_last_tick(uint64_t pointer, unsigned slot)
{
    unsigned shift = elapse__wheel_shift(elapse__wheel_level(slot));
    return elapse__wheel_first_tick(pointer, slot) | ((UINT64_C(1) << shift) - 1);
}

/* Returns the last tick of the next block, for blocks of 2^shift ticks; UINT64_MAX if there is no
 * next block. */
static inline uint64_t elapse__wheel_last_of_next_block(uint64_t pointer, unsigned shift)
{
    uint64_t block_ticks = UINT64_C(1) << shift;
    uint64_t next = (pointer | (block_ticks - 1)) + block_ticks;
    return next > pointer ? next : UINT64_MAX;
}

/* Returns the last tick of the next block of `level`. */
static inline uint64_t elapse__wheel_last_of_level(uint64_t pointer, unsigned level)
{
    if (level == ELAPSE__WHEEL_TOP_LEVEL)
        return UINT64_MAX;
    return elapse__wheel_last_of_next_block(pointer, elapse__wheel_shift(level + 1));
}

/*
 * Returns the slot of a deadline: the slot is on the lowest level whose present or next block
 * contains the deadline. Requires that the deadline is not before the pointer. Most deadlines lie
 * on the lowest levels, so these levels are tried one by one, with constants to shift by. For other
 * deadlines, the distance from the pointer gives a level. The slot is on that level or on the level
 * below it.
 */
static inline unsigned elapse__wheel_slot_for(const struct elapse_wheel *wheel, uint64_t deadline)
{
    ELAPSE__ASSERT(deadline >= wheel->pointer);
    ELAPSE__ASSERT(deadline <= ELAPSE_NEVER);
    if (deadline <= wheel->last[2]) {
        if (deadline > wheel->last[1])
            return elapse__wheel_slot_on(2, deadline);
        if (deadline > wheel->last[0])
            return elapse__wheel_slot_on(1, deadline);
        return elapse__wheel_slot_on(0, deadline);
    }
    if (deadline <= wheel->last[3])
        return elapse__wheel_slot_on(3, deadline);
    unsigned highest = elapse__highest_bit(deadline - wheel->pointer);
    unsigned level = 1 + (highest - ELAPSE__WHEEL_LEVEL_0_BITS) / ELAPSE__WHEEL_DIGIT_BITS;
    level -= deadline <= wheel->last[level - 1];
    ELAPSE__ASSERT(level > 3);
    ELAPSE__ASSERT(level < ELAPSE__WHEEL_LEVELS);
    return elapse__wheel_slot_on(level, deadline);
}

/* Returns the number of the slot that the `place` of a pending timer names. */
static inline unsigned elapse__wheel_slot_of(uint64_t place)
{
    ELAPSE__ASSERT((place & ELAPSE__WHEEL_PLACE_MASK) != 0);
    return (unsigned)(place & ELAPSE__WHEEL_PLACE_MASK) - 1;
}

#endif
