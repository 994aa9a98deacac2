/*
 * The hierarchical timing wheel: the functions that look at the whole of it. The invariants
 * that are checked here are numbered and explained at the head of wheel.c.
 */
#include <elapse/wheel.h>

#include "../base/assert.h"
#include "../base/bits.h"
#include "../base/ring.h"
#include "wheel_geometry.h"

/* Walks the rings in the order of their slots, and each from the oldest timer on. */
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
    ELAPSE__ASSERT(wheel->count == 0);
    ELAPSE__ASSERT(wheel->cascading == 0);
    ELAPSE__ASSERT(wheel->occupied_words == 0);
}

/* ---- check ---- */

/* A slot whose timers are checked. */
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

/* Checks that an occupied slot lies ahead, and that its least deadline is right. */
static unsigned check_slot(const struct elapse_wheel *wheel, unsigned slot)
{
    unsigned level = elapse__wheel_level(slot);
    unsigned digit = slot - elapse__wheel_first_slot(level);
    unsigned pointer_digit = elapse__wheel_digit(wheel->pointer, level);
    bool may_be_equal = level == 0 || slot == wheel->cascading;
    ELAPSE__ASSERT(digit < elapse__wheel_slots_in(level));
    if (digit < pointer_digit || (digit == pointer_digit && !may_be_equal))
        return 5;
    uint64_t least = wheel->slots[slot].least;
    if (least < elapse__wheel_first_tick(wheel->pointer, slot) ||
        least > elapse__wheel_last_tick(wheel->pointer, slot))
        return 6;
    return wheel->wake > least ? 7 : 0;
}

static unsigned check_words(const struct elapse_wheel *wheel)
{
    uint32_t words = 0;
    for (unsigned word = 0; word < ELAPSE__WHEEL_WORDS; word++) {
        if (wheel->occupied[word] != 0)
            words |= UINT32_C(1) << word;
    }
    return words == wheel->occupied_words ? 0 : 2;
}

static unsigned check_cascading(const struct elapse_wheel *wheel)
{
    unsigned slot = wheel->cascading;
    if (slot == 0)
        return 0;
    if (slot < ELAPSE__WHEEL_LEVEL_0_SLOTS || slot >= ELAPSE__WHEEL_SLOTS ||
        !elapse__bitmap_has(wheel->occupied, slot))
        return 8;
    unsigned level = elapse__wheel_level(slot);
    unsigned digit = slot - elapse__wheel_first_slot(level);
    if (digit != elapse__wheel_digit(wheel->pointer, level))
        return 8;
    return wheel->wake > wheel->clock ? 8 : 0;
}

unsigned elapse_wheel_check(const struct elapse_wheel *wheel)
{
    if (wheel->pointer > wheel->clock || wheel->clock > ELAPSE_TIME_MAX)
        return 1;
    unsigned broken = check_words(wheel);
    if (broken == 0)
        broken = check_cascading(wheel);

    size_t count = 0;
    for (unsigned slot = 0; slot < ELAPSE__WHEEL_SLOTS && broken == 0; slot++) {
        const struct elapse__link *ring = &wheel->slots[slot].timers;
        const struct checked_wheel_slot checked = {.wheel = wheel, .slot = slot};
        bool occupied = elapse__bitmap_has(wheel->occupied, slot);
        if (occupied == elapse__ring_empty(ring))
            return 2;
        broken = elapse__ring_check(ring, wheel->count, &count, check_timer, &checked);
        if (broken == 0 && occupied)
            broken = check_slot(wheel, slot);
    }
    if (broken == 0 && count != wheel->count)
        broken = 4;
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
            .slot = slot - elapse__wheel_first_slot(level),
            .first_tick = elapse__wheel_first_tick(wheel->pointer, slot),
            .last_tick = elapse__wheel_last_tick(wheel->pointer, slot),
            .least = wheel->slots[slot].least,
            .count = timers.count,
        };
        describe(&description, context);
    }
}
