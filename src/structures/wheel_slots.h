/*
 * The slots of the wheel: which slots have timers, which slot comes first, and how a timer enters a
 * slot. The head of wheel.c explains slots, blocks, the pointer and cascades.
 */
#ifndef ELAPSE__WHEEL_SLOTS_H
#define ELAPSE__WHEEL_SLOTS_H

#include <elapse/wheel.h>

#include "../base/assert.h"
#include "../base/bits.h"
#include "../base/compiler.h"
#include "../base/ring.h"
#include "wheel_geometry.h"
#include "wheel_hints.h"

/* ---- occupancy ---- */

static inline void elapse__wheel_mark_occupied(struct elapse_wheel *wheel, unsigned slot)
{
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    ELAPSE__ASSERT(!elapse__bitmap_has(wheel->occupied, slot));
    elapse__bitmap_set(wheel->occupied, slot);
    wheel->occupied_words |= UINT64_C(1) << slot / 64;
}

/* Clears the bit of `slot` in a bitmap. If no other bit is set in the same word, clears the bit of
 * the word in `*words`. */
static inline void elapse__wheel_clear_bit(uint64_t *bitmap, uint64_t *words, unsigned slot)
{
    uint64_t *word = &bitmap[slot / 64];
    *word &= ~(UINT64_C(1) << slot % 64);
    if (*word == 0)
        *words &= ~(UINT64_C(1) << slot / 64);
}

/* Makes sure that pop cascades ahead from `tick` on at the latest. */
static inline void elapse__wheel_work_by(struct elapse_wheel *wheel, uint64_t tick)
{
    if (tick < wheel->ahead)
        wheel->ahead = tick;
    if (tick < wheel->wake)
        wheel->wake = tick;
}

/* Ends the cascade of a slot above level 0, which has become empty. */
static inline void elapse__wheel_end_cascade(struct elapse_wheel *wheel, unsigned slot)
{
    unsigned level = elapse__wheel_level(slot);
    ELAPSE__ASSERT(level > 0);
    if (elapse__bitmap_has(wheel->populous, slot))
        elapse__wheel_clear_bit(wheel->populous, &wheel->populous_words, slot);
    wheel->begun &= ~(UINT32_C(1) << level);
    if (wheel->cascading != 0 && slot == elapse__wheel_slot_on(level, wheel->pointer))
        wheel->cascading &= ~(UINT32_C(1) << level);
    /* The timers of the slot may be popped from now on. */
    if (slot == wheel->front_slot)
        wheel->front_slot = 0;
}

static inline void elapse__wheel_mark_empty(struct elapse_wheel *wheel, unsigned slot)
{
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    ELAPSE__ASSERT(elapse__bitmap_has(wheel->occupied, slot));
    ELAPSE__ASSERT(elapse__ring_empty(&wheel->slots[slot].timers));
    elapse__wheel_clear_bit(wheel->occupied, &wheel->occupied_words, slot);
    if (slot >= ELAPSE__WHEEL_LEVEL_0_SLOTS)
        elapse__wheel_end_cascade(wheel, slot);
}

/* Returns the first slot of `level` whose bit is set in `bitmap`. The slots of the present block
 * come before those of the next block. Requires that the level has such a slot. */
static inline unsigned elapse__wheel_first_set(const struct elapse_wheel *wheel,
                                               const uint64_t *bitmap, unsigned level)
{
    unsigned block_words = elapse__wheel_block_slots(level) / 64;
    unsigned start = elapse__wheel_first_slot(level) / 64;
    unsigned word = (unsigned)(elapse__wheel_block(wheel->pointer, level) & 1) * block_words;
    while (bitmap[start + word] == 0) {
        word = (word + 1) % (2 * block_words);
        ELAPSE__ASSERT(word != (elapse__wheel_block(wheel->pointer, level) & 1) * block_words);
    }
    return (start + word) * 64 + elapse__lowest_bit(bitmap[start + word]);
}

/* Returns the lowest level that has a bit set in `words`. The bits of `words` say which words of a
 * bitmap are not 0. Requires that a bit is set. */
static inline unsigned elapse__wheel_lowest_level(uint64_t words)
{
    return elapse__wheel_level(elapse__lowest_bit(words) * 64);
}

/* Returns `words` without the bits of `level` and of the levels below. */
static inline uint64_t elapse__wheel_words_above(uint64_t words, unsigned level)
{
    if (level == ELAPSE__WHEEL_TOP_LEVEL)
        return 0;
    return words & ~UINT64_C(0) << elapse__wheel_first_slot(level + 1) / 64;
}

/* Returns the first slot whose bit is set in one word of a bitmap. Requires that this word is not
 * 0. */
static inline unsigned elapse__wheel_first_in_word(const uint64_t *bitmap, unsigned word)
{
    ELAPSE__ASSERT(word < ELAPSE__WHEEL_WORDS);
    return word * 64 + elapse__lowest_bit(bitmap[word]);
}

/*
 * `words` are the words of slots that have timers. Returns those of them that may contain the slot
 * that comes first: the first word of a present block, and the words of the next blocks of its
 * level and of lower levels. Slots of higher levels come later, unless such a slot is at the
 * pointer and is being cascaded.
 */
static inline uint64_t elapse__wheel_first_words(const struct elapse_wheel *wheel, uint64_t words)
{
    uint64_t present = words & wheel->present_words;
    if (present == 0 || wheel->cascading != 0)
        return words;
    uint64_t lowest = present & (~present + 1);
    return (words & ~wheel->present_words & (lowest - 1)) | lowest;
}

/* Returns the least `least` of all slots. No pending timer is due before this tick. Stores in
 * `*least_slot` the slot that has this `least`. If several slots have it, stores the slot on the
 * highest level, because its timers are the oldest. */
static inline uint64_t elapse__wheel_least_of_slots(const struct elapse_wheel *wheel,
                                                    unsigned *least_slot)
{
    uint64_t least = ELAPSE_NEVER;
    *least_slot = 0;
    uint64_t words = elapse__wheel_first_words(wheel, wheel->occupied_words);
    for (; words != 0; words &= words - 1) {
        unsigned slot = elapse__wheel_first_in_word(wheel->occupied, elapse__lowest_bit(words));
        ELAPSE__ASSERT(!elapse__ring_empty(&wheel->slots[slot].timers));
        uint64_t slot_least = wheel->slots[slot].least;
        *least_slot = slot_least <= least ? slot : *least_slot;
        least = slot_least < least ? slot_least : least;
    }
    return least;
}

/* Computes `least` and `wake` of the wheel again, after slots were emptied. */
static inline void elapse__wheel_find_least(struct elapse_wheel *wheel)
{
    unsigned slot;
    uint64_t least = elapse__wheel_least_of_slots(wheel, &slot);
    ELAPSE__ASSERT(least >= wheel->least);
    ELAPSE__ASSERT(least >= wheel->pointer);
    wheel->least = least;
    wheel->least_slot = slot;
    wheel->wake = least < wheel->ahead ? least : wheel->ahead;
}

/* ---- the pointer ---- */

/* Returns the bits of the words that one block of `level` uses: the block in this half of the
 * level. */
static inline uint64_t elapse__wheel_block_words(unsigned level, unsigned half)
{
    unsigned words = elapse__wheel_block_slots(level) / 64;
    return ((UINT64_C(1) << words) - 1) << (elapse__wheel_first_slot(level) / 64 + half * words);
}

/* Notes that the pointer has entered another block of `level`: which ticks are in the next block,
 * and which half of the level is the present block. Returns the bit of the level above if the slot
 * of that level at the pointer has timers; otherwise 0. */
static inline uint32_t elapse__wheel_enter_block(struct elapse_wheel *wheel, unsigned level,
                                                 uint64_t changed)
{
    unsigned shift = elapse__wheel_shift(level + 1);
    uint64_t words = elapse__wheel_block_words(level, 0) | elapse__wheel_block_words(level, 1);
    wheel->present_words ^= (changed >> shift & 1) * words;
    wheel->last[level] = elapse__wheel_last_of_next_block(wheel->pointer, shift);
    unsigned above = elapse__wheel_slot_on(level + 1, wheel->pointer);
    return (uint32_t)elapse__bitmap_has(wheel->occupied, above) << (level + 1);
}

/*
 * Notes on which levels the pointer has entered another block. `changed` has the bits of the
 * pointer that have changed. The lowest levels come first, one by one, with constants to shift by.
 */
static inline void elapse__wheel_enter_blocks(struct elapse_wheel *wheel, uint64_t changed)
{
    wheel->cascading = elapse__wheel_enter_block(wheel, 0, changed);
    if (changed >> elapse__wheel_shift(2) == 0)
        return;
    wheel->cascading |= elapse__wheel_enter_block(wheel, 1, changed);
    if (changed >> elapse__wheel_shift(3) == 0)
        return;
    wheel->cascading |= elapse__wheel_enter_block(wheel, 2, changed);
    for (unsigned level = 3; level < ELAPSE__WHEEL_TOP_LEVEL; level++) {
        if (changed >> elapse__wheel_shift(level + 1) == 0)
            return;
        wheel->cascading |= elapse__wheel_enter_block(wheel, level, changed);
    }
}

/*
 * Moves the pointer to `tick`. Requires that the pointer moves neither backwards nor beyond
 * `least`. No timer has a deadline before `least`, and pop goes on from `tick` to `least`. If a
 * block begins on the way, a slot of the level above may have timers that must be cascaded before a
 * timer is popped. Then notes that level in `cascading`.
 */
static inline void elapse__wheel_set_pointer(struct elapse_wheel *wheel, uint64_t tick)
{
    ELAPSE__ASSERT(tick >= wheel->pointer);
    ELAPSE__ASSERT(tick <= wheel->clock);
    ELAPSE__ASSERT(tick <= wheel->least);
    ELAPSE__ASSERT(wheel->cascading == 0);
    uint64_t changed = wheel->pointer ^ tick;
    wheel->pointer = tick;
    if (changed >> ELAPSE__WHEEL_LEVEL_0_BITS != 0)
        elapse__wheel_enter_blocks(wheel, changed);
}

/* ---- entering a slot ---- */

/* Lowers `least` and `wake` to the deadline of a timer that enters `slot`. */
static inline void elapse__wheel_lower_least(struct elapse_wheel *wheel, unsigned slot,
                                             uint64_t deadline)
{
    if (deadline >= wheel->least)
        return;
    ELAPSE__ASSERT(deadline >= wheel->pointer);
    wheel->least = deadline;
    wheel->least_slot = slot;
    if (deadline < wheel->wake)
        wheel->wake = deadline;
    ELAPSE__ASSERT(wheel->wake <= wheel->least);
}

/* Makes an empty slot ready for its first timer. */
static inline void elapse__wheel_open_slot(struct elapse_wheel *wheel, unsigned slot,
                                           uint64_t deadline)
{
    ELAPSE__ASSERT(elapse__ring_empty(&wheel->slots[slot].timers));
    elapse__wheel_mark_occupied(wheel, slot);
    ELAPSE__ASSERT(deadline >= elapse__wheel_first_tick(wheel->pointer, slot));
    ELAPSE__ASSERT(deadline <= elapse__wheel_last_tick(wheel->pointer, slot));
    wheel->slots[slot].least = deadline;
    wheel->slots[slot].entered = 0;
}

/* Returns the tick from which a slot above level 0 takes no more timers, so that it can be cascaded
 * ahead. At this tick the slot before it begins. */
static inline uint64_t elapse__wheel_closing_tick(const struct elapse_wheel *wheel, unsigned slot)
{
    uint64_t slot_ticks = UINT64_C(1) << elapse__wheel_shift(elapse__wheel_level(slot));
    uint64_t first = elapse__wheel_first_tick(wheel->pointer, slot);
    ELAPSE__ASSERT(first >= slot_ticks);
    return first - slot_ticks;
}

/* Notes that a slot has more than a few timers. If the slot is above level 0, it will be cascaded
 * ahead. */
void elapse__wheel_mark_populous(struct elapse_wheel *wheel, unsigned slot);

/* Returns the slot with this number. The empty statement hides from the compiler how the address
 * was computed. Without the statement, the compiler computes the address again for every field, and
 * a stop and start take 5.0 ns in place of 4.6 ns (docs/decisions/0003-start-and-stop.md). */
static inline struct elapse__wheel_slot *elapse__wheel_slot_at(struct elapse_wheel *wheel,
                                                               unsigned slot)
{
    ELAPSE__ASSERT(slot < ELAPSE__WHEEL_SLOTS);
    struct elapse__wheel_slot *at = &wheel->slots[slot];
    __asm__("" : "+r"(at));
    return at;
}

/*
 * Puts a timer that is in no ring into an open slot, as the newest timer, and stores its deadline.
 * Returns true when the slot gets more than a few timers by this call. All reads come before the
 * first store, and the order of the stores was found by measuring. With this order a start takes 8
 * % less time (docs/decisions/0003-start-and-stop.md).
 */
static inline bool elapse__wheel_append(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                        unsigned slot, struct elapse__wheel_slot *entered,
                                        uint64_t deadline)
{
    struct elapse__ring_node *ring = &entered->timers;
    struct elapse__ring_node *ring_node = &timer->keep.ring_node;
    struct elapse__ring_node *newest = ring->previous;
    uint64_t number = entered->entered;
    uint64_t *hint = elapse__trail_hint(wheel, slot, number);
    uint64_t earlier = *hint;
    ELAPSE__ASSERT(elapse__bitmap_has(wheel->occupied, slot));
    ELAPSE__ASSERT(deadline >= entered->least);
    ELAPSE__ASSERT(newest->next == ring);
    ELAPSE__ASSERT(newest != ring_node);
    ring_node->next = ring;
    timer->deadline = deadline;
    newest->next = ring_node;
    ring->previous = ring_node;
    entered->entered = number + 1;
    ring_node->previous = newest;
    *hint = elapse__hint(timer);
    timer->place = earlier | (slot + 1);
    ELAPSE__ASSERT(elapse__wheel_slot_of(timer->place) == slot);
    return number == ELAPSE__WHEEL_FEW;
}

#endif
