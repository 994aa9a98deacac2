/*
 * The hierarchical timing wheel: the functions that look at the whole wheel. The head of wheel.c
 * lists the invariants that are checked here, and explains slots, blocks and the pointer.
 */
#include <elapse/wheel.h>

#include "../base/assert.h"
#include "../base/bits.h"
#include "../base/ring.h"
#include "wheel_slots.h"

/* Walks the rings in the order of their slots, and each ring from the oldest timer on. */
void elapse_wheel_for_each(struct elapse_wheel *wheel, elapse_visit_function *visit, void *context)
{
    for (unsigned slot = 0; slot < ELAPSE__WHEEL_SLOTS; slot++) {
        if (!elapse__ring_visit(&wheel->slots[slot].timers, visit, context))
            return;
    }
}

static bool stop_visited(struct elapse_timer *timer, void *wheel)
{
    bool stopped = elapse_wheel_stop(wheel, timer);
    ELAPSE__ASSERT(stopped);
    (void)stopped;
    return true;
}

void elapse_wheel_clear(struct elapse_wheel *wheel)
{
    elapse_wheel_for_each(wheel, stop_visited, wheel);
    wheel->wake = ELAPSE_NEVER;
    wheel->least = ELAPSE_NEVER;
    wheel->ahead = ELAPSE_NEVER;
    ELAPSE__ASSERT(elapse_wheel_count(wheel) == 0);
    ELAPSE__ASSERT(wheel->populous_words == 0);
    ELAPSE__ASSERT(wheel->cascading == 0);
    ELAPSE__ASSERT(wheel->occupied_words == 0);
}

/* ---- check ---- */

/* A slot of which the timers are checked. */
struct checked_wheel_slot {
    const struct elapse_wheel *wheel;
    unsigned slot;
};

static unsigned check_timer(const struct elapse_timer *timer, const void *context)
{
    const struct checked_wheel_slot *checked = context;
    if ((timer->place & ELAPSE__WHEEL_PLACE_MASK) != checked->slot + 1)
        return 3;
    if (timer->deadline < checked->wheel->slots[checked->slot].least)
        return 6;
    return 0;
}

/* Returns the number of the slot of `level` that `tick` is in, counted from tick 0 on. */
static uint64_t in_slots(uint64_t tick, unsigned level)
{
    return tick >> elapse__wheel_shift(level);
}

/* Checks that an occupied slot is not behind the pointer, and that its least deadline is right. */
static unsigned check_slot(const struct elapse_wheel *wheel, unsigned slot)
{
    unsigned level = elapse__wheel_level(slot);
    uint64_t first = elapse__wheel_first_tick(wheel->pointer, slot);
    uint64_t last = elapse__wheel_last_tick(wheel->pointer, slot);
    bool at_pointer = in_slots(first, level) == in_slots(wheel->pointer, level);
    bool may_be_at_pointer = level == 0 || (wheel->cascading >> level & 1) != 0;
    if (last < wheel->pointer || (at_pointer && !may_be_at_pointer))
        return 5;
    uint64_t least = wheel->slots[slot].least;
    if (least < first || least > last)
        return 6;
    return wheel->least > least || wheel->wake > wheel->least ? 7 : 0;
}

/* Checks that `words` has the bits of those words of a bitmap that are not 0. */
static unsigned check_words(const uint64_t *bitmap, uint64_t words)
{
    uint64_t expected = 0;
    for (unsigned word = 0; word < ELAPSE__WHEEL_WORDS; word++) {
        if (bitmap[word] != 0)
            expected |= UINT64_C(1) << word;
    }
    return words == expected ? 0 : 2;
}

static unsigned check_cascading(const struct elapse_wheel *wheel)
{
    if ((wheel->cascading & 1) != 0)
        return 8;
    for (unsigned level = 1; level < 32; level++) {
        if ((wheel->cascading >> level & 1) == 0)
            continue;
        if (level >= ELAPSE__WHEEL_LEVELS ||
            !elapse__bitmap_has(wheel->occupied, elapse__wheel_slot_on(level, wheel->pointer)))
            return 8;
    }
    return 0;
}

/* Checks what follows from the pointer for each level. */
static unsigned check_blocks(const struct elapse_wheel *wheel)
{
    uint64_t present = 0;
    for (unsigned level = 0; level < ELAPSE__WHEEL_LEVELS; level++) {
        unsigned half = elapse__wheel_block(wheel->pointer, level) & 1;
        present |= elapse__wheel_block_words(level, half);
        if (wheel->last[level] != elapse__wheel_last_of_level(wheel->pointer, level))
            return 9;
    }
    return wheel->present_words == present ? 0 : 9;
}

/* Checks that a populous slot is cascaded in time. */
static unsigned check_populous(const struct elapse_wheel *wheel, unsigned slot)
{
    if (!elapse__bitmap_has(wheel->populous, slot))
        return 0;
    if (slot < ELAPSE__WHEEL_LEVEL_0_SLOTS || !elapse__bitmap_has(wheel->occupied, slot))
        return 10;
    bool in_time = wheel->ahead <= elapse__wheel_first_tick(wheel->pointer, slot);
    return in_time || wheel->ahead <= wheel->clock + 1 ? 0 : 10;
}

static unsigned check_ahead(const struct elapse_wheel *wheel)
{
    if (wheel->wake > wheel->ahead || check_words(wheel->populous, wheel->populous_words) != 0)
        return 10;
    for (unsigned slot = 0; slot < ELAPSE__WHEEL_SLOTS; slot++) {
        if (check_populous(wheel, slot) != 0)
            return 10;
    }
    return 0;
}

unsigned elapse_wheel_check(const struct elapse_wheel *wheel)
{
    if (wheel->pointer > wheel->clock || wheel->clock > ELAPSE_TIME_MAX)
        return 1;
    unsigned broken = check_words(wheel->occupied, wheel->occupied_words);
    if (broken == 0)
        broken = check_cascading(wheel);

    size_t count = 0;
    for (unsigned slot = 0; slot < ELAPSE__WHEEL_SLOTS && broken == 0; slot++) {
        const struct elapse__ring_node *ring = &wheel->slots[slot].timers;
        const struct checked_wheel_slot checked = {.wheel = wheel, .slot = slot};
        bool occupied = elapse__bitmap_has(wheel->occupied, slot);
        if (occupied == elapse__ring_empty(ring))
            return 2;
        broken = elapse__ring_check(ring, elapse_wheel_count(wheel), &count, check_timer, &checked);
        if (broken == 0 && occupied)
            broken = check_slot(wheel, slot);
    }
    if (broken == 0 && count != elapse_wheel_count(wheel))
        broken = 4;
    if (broken == 0)
        broken = check_blocks(wheel);
    unsigned least_slot;
    if (broken == 0 && (wheel->least != elapse__wheel_least_of_slots(wheel, &least_slot) ||
                        wheel->least < wheel->pointer))
        broken = 7;
    if (broken == 0)
        broken = check_ahead(wheel);
    return broken;
}

/* ---- dump ---- */

void elapse_wheel_dump(const struct elapse_wheel *wheel, elapse_dump_function *describe,
                       void *context)
{
    for (unsigned slot = 0; slot < ELAPSE__WHEEL_SLOTS; slot++) {
        if (!elapse__bitmap_has(wheel->occupied, slot))
            continue;
        unsigned level = elapse__wheel_level(slot);
        struct elapse__ring_summary timers = {.least = ELAPSE_NEVER};
        elapse__ring_summarise(&wheel->slots[slot].timers, &timers);
        ELAPSE__ASSERT(timers.count > 0);
        ELAPSE__ASSERT(timers.least >= wheel->slots[slot].least);
        struct elapse_slot description = {
            .level = level,
            .slot = elapse__wheel_number(slot),
            .first_tick = elapse__wheel_first_tick(wheel->pointer, slot),
            .last_tick = elapse__wheel_last_tick(wheel->pointer, slot),
            .least = wheel->slots[slot].least,
            .count = timers.count,
        };
        describe(&description, context);
    }
}
