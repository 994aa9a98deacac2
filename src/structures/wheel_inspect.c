/*
 * The hierarchical timing wheel: looking at all of it. The invariants that are
 * checked here are numbered and explained at the head of wheel.c.
 */
#include <elapse/wheel.h>

#include "../base/ring.h"
#include "wheel_geometry.h"

static bool slot_occupied(const struct elapse_wheel *wheel, unsigned slot)
{
    return (wheel->occupied[slot / 64] >> slot % 64 & 1) != 0;
}

/* Calls `visit` along one ring; false when it asked to end the walk. */
void elapse_wheel_for_each(struct elapse_wheel *wheel, elapse_visit_function *visit, void *context)
{
    for (unsigned slot = 0; slot < ELAPSE__WHEEL_SLOTS; slot++) {
        if (!elapse__ring_visit(&wheel->slots[slot].timers, visit, context))
            return;
    }
}

static bool stop_visited(struct elapse_timer *timer, void *wheel)
{
    (void)elapse_wheel_stop(wheel, timer);
    return true;
}

void elapse_wheel_clear(struct elapse_wheel *wheel)
{
    elapse_wheel_for_each(wheel, stop_visited, wheel);
    wheel->wake = ELAPSE_NEVER;
    ELAPSE__ASSERT(wheel->count == 0 && wheel->cascading == 0);
}

/* ---- check ---- */

/*
 * Walks the ring of `slot` and adds its timers to `*count`, giving up beyond the
 * wheel's own count so that a loop ends. Returns the number of the broken invariant, or 0.
 */
static unsigned check_ring(const struct elapse_wheel *wheel, unsigned slot, size_t *count)
{
    const struct elapse__link *ring = &wheel->slots[slot].timers;
    const struct elapse__link *link = ring;
    for (;;) {
        if (link->next == NULL || link->next->previous != link)
            return 3;
        link = link->next;
        if (link == ring)
            return 0;
        if (++*count > wheel->count)
            return 4;
        const struct elapse_timer *timer = elapse__ring_timer(link);
        if (timer->place == 0 || elapse__wheel_slot_of(timer->place) != slot)
            return 3;
        if (timer->deadline < wheel->slots[slot].least)
            return 6;
    }
}

/* An occupied slot: does it lie ahead, and is its least deadline right? */
static unsigned check_slot(const struct elapse_wheel *wheel, unsigned slot)
{
    unsigned level = elapse__wheel_level(slot);
    unsigned digit = slot - elapse__wheel_first_slot(level);
    unsigned pointer_digit = elapse__wheel_digit(wheel->pointer, level);
    bool may_be_equal = level == 0 || slot == wheel->cascading;
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
        !slot_occupied(wheel, slot))
        return 8;
    unsigned level = elapse__wheel_level(slot);
    unsigned digit = slot - elapse__wheel_first_slot(level);
    return digit == elapse__wheel_digit(wheel->pointer, level) && wheel->wake <= wheel->clock ? 0
                                                                                              : 8;
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
        const struct elapse__wheel_slot *checked = &wheel->slots[slot];
        if (slot_occupied(wheel, slot) == elapse__ring_empty(&checked->timers))
            return 2;
        broken = check_ring(wheel, slot, &count);
        if (broken == 0 && !elapse__ring_empty(&checked->timers))
            broken = check_slot(wheel, slot);
    }
    if (broken == 0 && count != wheel->count)
        broken = 4;
    return broken;
}

/* ---- dump ---- */

static size_t ring_length(const struct elapse__link *ring)
{
    size_t length = 0;
    for (const struct elapse__link *link = ring->next; link != ring; link = link->next)
        length++;
    return length;
}

void elapse_wheel_dump(const struct elapse_wheel *wheel, elapse_dump_function *describe,
                       void *context)
{
    for (unsigned slot = 0; slot < ELAPSE__WHEEL_SLOTS; slot++) {
        if (!slot_occupied(wheel, slot))
            continue;
        unsigned level = elapse__wheel_level(slot);
        struct elapse_slot description = {
            .level = level,
            .slot = slot - elapse__wheel_first_slot(level),
            .first_tick = elapse__wheel_first_tick(wheel->pointer, slot),
            .last_tick = elapse__wheel_last_tick(wheel->pointer, slot),
            .least = wheel->slots[slot].least,
            .count = ring_length(&wheel->slots[slot].timers),
        };
        describe(&description, context);
    }
}
