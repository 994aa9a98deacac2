/*
 * One level of the dials. Dials are a hierarchical timing wheel, and each of its levels is a dial.
 *
 * In memory, three parts lie one behind the other: the level; its rings, one for each slot; and a
 * bitmap of the slots that have timers.
 *
 *     | level | ring 0 | ring 1 | ... | ring slots - 1 | bits 0-63 | bits 64-127 | ...
 *
 * Time is cut into pieces of `width` ticks, which are numbered from tick 0 on. Piece n belongs to
 * slot n % slots. Several pieces share a slot, but only one of them can have timers: the first
 * piece that has not passed. This piece begins less than `span` ticks after the piece that the
 * pointer is in. The pointer is the tick from which the slots are counted: see the head of dials.c.
 */
#ifndef ELAPSE__DIALS_LEVEL_H
#define ELAPSE__DIALS_LEVEL_H

#include <elapse/dials.h>

#include "../base/assert.h"
#include "../base/bits.h"

struct elapse__dials_level {
    uint64_t width; /* how many ticks a slot covers */
    uint64_t span;  /* how many ticks all slots together cover; UINT64_MAX: all ticks */
    /* The next coarser level; NULL: this level is the coarsest. */
    struct elapse__dials_level *coarser;
    uint32_t slots;
    uint32_t occupied_slots;
    uint32_t number; /* the number of the level; 0 is the finest */
};

/* Adds a level with as many slots as the coarsest level has. Returns false if the allocator has no
 * memory. dials_shape.c has this function. */
bool elapse__dials_grow(struct elapse_dials *dials);

/* The upper half of a timer's `place` is the number of its level, or one of these two numbers. */
enum {
    ELAPSE__DIALS_PARKED = ELAPSE_SHAPE_LEVELS_MAX,
    ELAPSE__DIALS_NEVER,
};

/* Returns the `place` of a timer that is in `slot` of `level`. Never returns 0, which is the place
 * of an idle timer. */
static inline uint64_t elapse__dials_place(uint32_t level, uint32_t slot)
{
    ELAPSE__ASSERT(level <= ELAPSE__DIALS_NEVER);
    return (uint64_t)level << 32 | (slot + 1);
}

static inline uint32_t elapse__dials_place_level(uint64_t place)
{
    ELAPSE__ASSERT(place >> 32 <= ELAPSE__DIALS_NEVER);
    return (uint32_t)(place >> 32);
}

static inline uint32_t elapse__dials_place_slot(uint64_t place)
{
    ELAPSE__ASSERT((uint32_t)place != 0);
    return (uint32_t)place - 1;
}

/* The rings of the slots lie behind the level, and the bitmap behind the rings. */
static inline struct elapse__ring_node *elapse__dials_rings(const struct elapse__dials_level *level)
{
    return (struct elapse__ring_node *)(uintptr_t)(level + 1);
}

static inline struct elapse__ring_node *elapse__dials_ring(const struct elapse__dials_level *level,
                                                           uint32_t slot)
{
    ELAPSE__ASSERT(slot < level->slots);
    return elapse__dials_rings(level) + slot;
}

static inline uint64_t *elapse__dials_occupied(const struct elapse__dials_level *level)
{
    return (uint64_t *)(uintptr_t)(elapse__dials_rings(level) + level->slots);
}

static inline void elapse__dials_mark_occupied(struct elapse__dials_level *level, uint32_t slot)
{
    ELAPSE__ASSERT(!elapse__bitmap_has(elapse__dials_occupied(level), slot));
    ELAPSE__ASSERT(level->occupied_slots < level->slots);
    elapse__bitmap_set(elapse__dials_occupied(level), slot);
    level->occupied_slots++;
}

static inline void elapse__dials_mark_empty(struct elapse__dials_level *level, uint32_t slot)
{
    ELAPSE__ASSERT(elapse__bitmap_has(elapse__dials_occupied(level), slot));
    ELAPSE__ASSERT(level->occupied_slots > 0);
    elapse__bitmap_clear(elapse__dials_occupied(level), slot);
    level->occupied_slots--;
}

/* Returns the number of the piece of time that `tick` is in. Treats level 0 apart, because most
 * calls are for level 0, and a division takes long. */
static inline uint64_t elapse__dials_piece(const struct elapse__dials_level *level, uint64_t tick)
{
    ELAPSE__ASSERT(level->width > 0);
    return level->number == 0 ? tick : tick / level->width;
}

/* Returns how many ticks of the piece of time that `tick` is in lie before `tick`. */
static inline uint64_t elapse__dials_past(const struct elapse__dials_level *level, uint64_t tick)
{
    return level->number == 0 ? 0 : tick % level->width;
}

static inline uint32_t elapse__dials_slot(const struct elapse__dials_level *level, uint64_t tick)
{
    return (uint32_t)(elapse__dials_piece(level, tick) % level->slots);
}

/* Returns whether a timer with this deadline can lie on this level while the pointer is at
 * `pointer`. */
static inline bool elapse__dials_reaches(const struct elapse__dials_level *level, uint64_t pointer,
                                         uint64_t deadline)
{
    ELAPSE__ASSERT(deadline >= pointer);
    uint64_t distance = deadline - pointer;
    return distance < level->span && distance + elapse__dials_past(level, pointer) < level->span;
}

/* Returns the first tick of the piece of time that `tick` is in. */
static inline uint64_t elapse__dials_begin(const struct elapse__dials_level *level, uint64_t tick)
{
    return tick - elapse__dials_past(level, tick);
}

/* Returns the first tick, from `tick` on, that begins a piece of time; ELAPSE_NEVER if there is
 * none. */
static inline uint64_t elapse__dials_next_begin(const struct elapse__dials_level *level,
                                                uint64_t tick)
{
    uint64_t past = elapse__dials_past(level, tick);
    if (past == 0)
        return tick;
    uint64_t ahead = level->width - past;
    return ahead < ELAPSE_NEVER - tick ? tick + ahead : ELAPSE_NEVER;
}

/* Returns the first tick of the piece of time whose timers are in `slot`. */
static inline uint64_t elapse__dials_slot_begin(const struct elapse__dials_level *level,
                                                uint64_t pointer, uint32_t slot)
{
    ELAPSE__ASSERT(slot < level->slots);
    uint64_t piece = elapse__dials_piece(level, pointer);
    uint32_t from = (uint32_t)(piece % level->slots);
    uint32_t ahead = slot >= from ? slot - from : level->slots - from + slot;
    return (piece + ahead) * level->width;
}

/* Returns the first tick of the first slot that has timers. Requires that a slot has timers. Looks
 * at 64 slots at a time, from the pointer's own slot around to the slot before it. */
static inline uint64_t elapse__dials_first_begin(const struct elapse__dials_level *level,
                                                 uint64_t pointer)
{
    ELAPSE__ASSERT(level->occupied_slots > 0);
    const uint64_t *occupied = elapse__dials_occupied(level);
    size_t words = elapse__bitmap_words(level->slots);
    uint32_t from = elapse__dials_slot(level, pointer);
    size_t word = from / 64;
    uint64_t bits = occupied[word] & UINT64_MAX << from % 64;
    while (bits == 0) {
        word = word + 1 < words ? word + 1 : 0;
        bits = occupied[word];
    }
    uint32_t slot = (uint32_t)(word * 64) + elapse__lowest_bit(bits);
    ELAPSE__ASSERT(slot < level->slots);
    return elapse__dials_slot_begin(level, pointer, slot);
}

#endif
