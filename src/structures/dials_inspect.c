/*
 * Dials: the functions that look at all timers. The head of dials.c lists the invariants that are
 * checked here, and explains levels and the pointer.
 */
#include <elapse/dials.h>

#include "../base/assert.h"
#include "../base/bits.h"
#include "../base/ring.h"
#include "dials_level.h"

/* Calls `visit` with each timer on a level. Returns false if `visit` ended the walk. */
static bool visit_level(const struct elapse__dials_level *level, elapse_visit_function *visit,
                        void *context)
{
    size_t words = elapse__bitmap_words(level->slots);
    for (size_t word = 0; word < words; word++) {
        /* The bits are copied, because they change when `visit` stops the last timer of a slot. */
        uint64_t bits = elapse__dials_occupied(level)[word];
        for (; bits != 0; bits &= bits - 1) {
            uint32_t slot = (uint32_t)(word * 64) + elapse__lowest_bit(bits);
            if (!elapse__ring_visit(elapse__dials_ring(level, slot), visit, context))
                return false;
        }
    }
    return true;
}

void elapse_dials_for_each(struct elapse_dials *dials, elapse_visit_function *visit, void *context)
{
    for (const struct elapse__dials_level *level = dials->finest; level != NULL;
         level = level->coarser) {
        if (!visit_level(level, visit, context))
            return;
    }
    (void)(elapse__ring_visit(&dials->aside, visit, context) &&
           elapse__ring_visit(&dials->parked, visit, context) &&
           elapse__ring_visit(&dials->never, visit, context));
}

static bool stop_visited(struct elapse_timer *timer, void *dials)
{
    bool stopped = elapse_dials_stop(dials, timer);
    ELAPSE__ASSERT(stopped);
    (void)stopped;
    return true;
}

void elapse_dials_clear(struct elapse_dials *dials)
{
    elapse_dials_for_each(dials, stop_visited, dials);
    dials->wake = ELAPSE_NEVER;
    ELAPSE__ASSERT(dials->count == 0);
    ELAPSE__ASSERT(elapse__ring_empty(&dials->parked));
    ELAPSE__ASSERT(elapse__ring_empty(&dials->aside));
    ELAPSE__ASSERT(elapse__ring_empty(&dials->never));
}

/* ---- check ---- */

/* What the timers of a ring must be, and how many timers have been found so far. */
struct inspection {
    const struct elapse_dials *dials;
    uint64_t place;
    uint64_t first; /* a deadline before `first` breaks the invariant `broken` */
    uint64_t last;  /* a deadline after `last` breaks it, too */
    unsigned broken;
    size_t count;
};

static unsigned inspect_timer(const struct elapse_timer *timer, const void *context)
{
    const struct inspection *inspection = context;
    if (timer->place != inspection->place)
        return 3;
    if (timer->deadline < inspection->first || timer->deadline > inspection->last)
        return inspection->broken;
    return 0;
}

/* Returns the number of the broken invariant, or 0. */
static unsigned inspect_ring(const struct elapse__ring_node *ring, struct inspection *inspection)
{
    return elapse__ring_check(ring, inspection->dials->count, &inspection->count, inspect_timer,
                              inspection);
}

/* Returns the last tick of the slot whose first tick is `begin`. */
static uint64_t last_tick(const struct elapse__dials_level *level, uint64_t begin)
{
    ELAPSE__ASSERT(level->width > 0);
    return level->width - 1 < ELAPSE_TIME_MAX - begin ? begin + (level->width - 1)
                                                      : ELAPSE_TIME_MAX;
}

/* Checks that a slot, or a visit, with the first tick `begin` is not overdue. */
static unsigned check_begin(const struct elapse_dials *dials, uint64_t begin, bool on_level_0)
{
    if (dials->wake > begin)
        return 7;
    return dials->cascaded && !on_level_0 && begin == dials->pointer ? 8 : 0;
}

static unsigned inspect_slot(const struct elapse__dials_level *level, uint32_t slot,
                             struct inspection *inspection)
{
    const struct elapse_dials *dials = inspection->dials;
    const struct elapse__ring_node *ring = elapse__dials_ring(level, slot);
    bool occupied = elapse__bitmap_has(elapse__dials_occupied(level), slot);
    if (occupied == elapse__ring_empty(ring))
        return 2;

    uint64_t begin = elapse__dials_slot_begin(level, dials->pointer, slot);
    inspection->place = elapse__dials_place(level->number, slot);
    inspection->first = begin;
    inspection->last = last_tick(level, begin);
    inspection->broken = 5;
    unsigned broken = inspect_ring(ring, inspection);
    if (broken != 0 || !occupied)
        return broken;
    if (begin < dials->pointer)
        return 5;
    return check_begin(dials, begin, level->number == 0);
}

static unsigned check_level(const struct elapse__dials_level *level, struct inspection *inspection)
{
    const uint64_t *occupied = elapse__dials_occupied(level);
    size_t words = elapse__bitmap_words(level->slots);
    uint64_t bits = 0;
    for (size_t word = 0; word < words; word++) {
        for (uint64_t left = occupied[word]; left != 0; left &= left - 1)
            bits++;
    }
    if (bits != level->occupied_slots)
        return 2;
    if (level->slots % 64 != 0 && occupied[words - 1] >> level->slots % 64 != 0)
        return 2;
    for (uint32_t slot = 0; slot < level->slots; slot++) {
        unsigned broken = inspect_slot(level, slot, inspection);
        if (broken != 0)
            return broken;
    }
    return 0;
}

static unsigned check_geometry(const struct elapse_dials *dials)
{
    const struct elapse__dials_level *level = dials->finest;
    uint64_t width = 1;
    for (uint32_t number = 0;; number++) {
        if (level->number != number || level->slots < 2 || level->width != width)
            return 9;
        width = width > UINT64_MAX / level->slots ? UINT64_MAX : width * level->slots;
        if (level->span != width)
            return 9;
        if (level->coarser == NULL)
            return level == dials->coarsest && number + 1 == dials->levels ? 0 : 9;
        level = level->coarser;
    }
}

/* Checks the rings that belong to no slot. */
static unsigned check_unplaced(const struct elapse_dials *dials, struct inspection *inspection)
{
    uint64_t begin = elapse__dials_begin(dials->coarsest, dials->parked_least);
    unsigned broken = 0;

    inspection->broken = 6;
    inspection->place = elapse__dials_place(ELAPSE__DIALS_PARKED, 0);
    inspection->first = dials->pointer;
    inspection->last = ELAPSE_TIME_MAX;
    broken = inspect_ring(&dials->aside, inspection);
    if (broken == 0 && dials->cascaded && !elapse__ring_empty(&dials->aside))
        broken = 8;
    if (broken == 0) {
        inspection->first = dials->parked_least;
        broken = inspect_ring(&dials->parked, inspection);
    }
    if (broken == 0 && !elapse__ring_empty(&dials->parked))
        broken = begin < dials->pointer ? 6 : check_begin(dials, begin, false);
    if (broken == 0) {
        inspection->place = elapse__dials_place(ELAPSE__DIALS_NEVER, 0);
        inspection->first = ELAPSE_NEVER;
        inspection->last = ELAPSE_NEVER;
        broken = inspect_ring(&dials->never, inspection);
    }
    return broken;
}

unsigned elapse_dials_check(const struct elapse_dials *dials)
{
    struct inspection inspection = {.dials = dials};
    if (dials->pointer > dials->clock || dials->clock > ELAPSE_TIME_MAX)
        return 1;
    if (dials->wake < dials->pointer)
        return 7;
    unsigned broken = check_geometry(dials);
    for (const struct elapse__dials_level *level = dials->finest; level != NULL && broken == 0;
         level = level->coarser)
        broken = check_level(level, &inspection);
    if (broken == 0)
        broken = check_unplaced(dials, &inspection);
    if (broken == 0 && inspection.count != dials->count)
        broken = 4;
    return broken;
}

/* ---- dump ---- */

static void dump_slot(const struct elapse_dials *dials, const struct elapse__dials_level *level,
                      uint32_t slot, elapse_dump_function *describe, void *context)
{
    uint64_t begin = elapse__dials_slot_begin(level, dials->pointer, slot);
    struct elapse__ring_summary timers = {.least = ELAPSE_NEVER};
    elapse__ring_summarise(elapse__dials_ring(level, slot), &timers);
    ELAPSE__ASSERT(timers.count > 0);
    ELAPSE__ASSERT(timers.least >= begin);
    ELAPSE__ASSERT(timers.greatest <= last_tick(level, begin));
    struct elapse_slot description = {
        .level = level->number,
        .slot = slot,
        .first_tick = begin,
        .last_tick = last_tick(level, begin),
        .least = timers.least,
        .count = timers.count,
    };
    describe(&description, context);
}

/* Describes the timers that are in no slot. Describes them as if they were in slot `slot` of a
 * level above the coarsest, which begins at their least deadline. Describes nothing if there are no
 * such timers. */
static void dump_unplaced(const struct elapse_dials *dials, unsigned slot,
                          const struct elapse__ring_summary *timers, elapse_dump_function *describe,
                          void *context)
{
    struct elapse_slot description = {
        .level = dials->levels,
        .slot = slot,
        .first_tick = timers->least,
        .last_tick = ELAPSE_NEVER,
        .least = timers->least,
        .count = timers->count,
    };
    ELAPSE__ASSERT(timers->count <= dials->count);
    if (timers->count > 0)
        describe(&description, context);
}

static void dump_level(const struct elapse_dials *dials, const struct elapse__dials_level *level,
                       elapse_dump_function *describe, void *context)
{
    size_t words = elapse__bitmap_words(level->slots);
    for (size_t word = 0; word < words; word++) {
        uint64_t bits = elapse__dials_occupied(level)[word];
        for (; bits != 0; bits &= bits - 1)
            dump_slot(dials, level, (uint32_t)(word * 64) + elapse__lowest_bit(bits), describe,
                      context);
    }
}

void elapse_dials_dump(const struct elapse_dials *dials, elapse_dump_function *describe,
                       void *context)
{
    struct elapse__ring_summary parked = {.least = ELAPSE_NEVER};
    struct elapse__ring_summary never = {.least = ELAPSE_NEVER};

    for (const struct elapse__dials_level *level = dials->finest; level != NULL;
         level = level->coarser)
        dump_level(dials, level, describe, context);
    elapse__ring_summarise(&dials->aside, &parked);
    elapse__ring_summarise(&dials->parked, &parked);
    dump_unplaced(dials, 0, &parked, describe, context);
    elapse__ring_summarise(&dials->never, &never);
    dump_unplaced(dials, 1, &never, describe, context);
}
