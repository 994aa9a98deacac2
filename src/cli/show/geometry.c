/*
 * Finds the geometry of a structure. For a wheel, it reads the geometry from the dump of a wheel
 * that has a timer at each power of two. For dials and a hashed wheel, the geometry is the chosen
 * shape.
 */
#include "geometry.h"

#include <string.h>

#include "../../base/assert.h"

/* ---- shapes ---- */

enum show_design show_design_of(const struct elapse_structure *structure)
{
    if (structure->shape_levels_max == 0)
        return SHOW_WHEEL;
    return structure->shape_levels_max == 1 ? SHOW_HASHED : SHOW_DIALS;
}

const struct elapse_shape *show_shape_default(const struct elapse_structure *structure)
{
    static const uint32_t clock_face[] = {60, 60, 24, 30};
    static const uint32_t ring[] = {10};
    static const struct elapse_shape dials = {.slots = clock_face, .levels = 4};
    static const struct elapse_shape hashed = {.slots = ring, .levels = 1};

    if (structure->shape_levels_max == 0)
        return NULL;
    return structure->shape_levels_max == 1 ? &hashed : &dials;
}

static void note_level(const struct elapse_slot *slot, void *context)
{
    struct show_geometry *geometry = context;

    ELAPSE__ASSERT(slot->level < SHOW_LEVELS_MAX);
    ELAPSE__ASSERT(slot->first_tick <= slot->last_tick);
    geometry->levels[slot->level].slot_ticks = slot->last_tick - slot->first_tick + 1;
    if (slot->level >= geometry->level_count)
        geometry->level_count = slot->level + 1;
}

/* Learns the geometry of a wheel at tick 0. Each level begins at a power of two. A block of a level
 * has as many ticks as a slot of the next level, and a level has the slots of two blocks. The
 * highest level has the slots of one block, which is all of time. */
static enum elapse_error learn_wheel(struct show_geometry *geometry,
                                     const struct elapse_structure *structure, void *wheel)
{
    struct elapse_timer timers[SHOW_LEVELS_MAX];
    enum elapse_error error = structure->init(wheel, NULL, NULL, 0, 0);

    for (unsigned bit = 0; bit < SHOW_LEVELS_MAX && error == ELAPSE_OK; bit++) {
        elapse_timer_init(&timers[bit]);
        error = structure->start(wheel, &timers[bit], UINT64_C(1) << bit);
    }
    if (error != ELAPSE_OK)
        return error;
    structure->dump(wheel, note_level, geometry);

    struct show_level *level = geometry->levels;
    for (unsigned number = 1; number < geometry->level_count; number++, level++)
        level->slot_count = 2 * (unsigned)(level[1].slot_ticks / level->slot_ticks);
    level->slot_count = (unsigned)(UINT64_MAX / level->slot_ticks + 1);
    return ELAPSE_OK;
}

/* Returns how many ticks the slots of a level cover together, or UINT64_MAX if they cover all
 * ticks. */
static uint64_t level_ticks(const struct show_level *level)
{
    ELAPSE__ASSERT(level->slot_count > 0);
    ELAPSE__ASSERT(level->slot_ticks > 0);
    if (level->slot_ticks > UINT64_MAX / level->slot_count)
        return UINT64_MAX;
    return level->slot_ticks * level->slot_count;
}

static void learn_dials(struct show_geometry *geometry, const struct elapse_shape *shape)
{
    uint64_t slot_ticks = 1;

    ELAPSE__ASSERT(shape->levels > 0);
    while (geometry->level_count < shape->levels ||
           (shape->growth != NULL && slot_ticks < UINT64_MAX)) {
        size_t listed =
            geometry->level_count < shape->levels ? geometry->level_count : shape->levels - 1;
        ELAPSE__ASSERT(geometry->level_count < SHOW_LEVELS_MAX);
        struct show_level *level = &geometry->levels[geometry->level_count++];
        *level = (struct show_level){.slot_count = shape->slots[listed], .slot_ticks = slot_ticks};
        slot_ticks = level_ticks(level);
    }
}

enum elapse_error show_geometry_learn(struct show_geometry *geometry,
                                      const struct elapse_structure *structure,
                                      const struct elapse_shape *shape, void *instance)
{
    memset(geometry, 0, sizeof *geometry);
    if (shape == NULL)
        return learn_wheel(geometry, structure, instance);
    geometry->design = show_design_of(structure);
    learn_dials(geometry, shape);
    return ELAPSE_OK;
}

/* ---- ranges ---- */

/* Returns all ticks for which a level of a wheel has slots: those of the present block and of the
 * next block. */
static struct show_range wheel_spans(const struct show_level *level, uint64_t now)
{
    uint64_t ticks = level->slot_ticks * level->slot_count;

    /* The highest level covers all 2^64 ticks. In 64 bits this number is 0. */
    if (ticks == 0)
        return (struct show_range){0, UINT64_MAX};
    uint64_t first = now - now % (ticks / 2);
    uint64_t last = first + (ticks - 1);
    return (struct show_range){first, last > first ? last : UINT64_MAX};
}

unsigned show_slot_at(const struct show_level *level, uint64_t now)
{
    ELAPSE__ASSERT(level->slot_count > 0);
    return (unsigned)(now / level->slot_ticks % level->slot_count);
}

static struct show_range level_of_wheel_covers(const struct show_geometry *geometry, unsigned level,
                                               uint64_t now)
{
    struct show_range covered = wheel_spans(&geometry->levels[level], now);

    ELAPSE__ASSERT(geometry->design == SHOW_WHEEL);
    if (level == 0) {
        covered.first = now;
        return covered;
    }
    uint64_t covered_below = wheel_spans(&geometry->levels[level - 1], now).last;
    if (covered_below == covered.last)
        return (struct show_range){1, 0};
    covered.first = covered_below + 1;
    return covered;
}

bool show_slot_takes_none(const struct show_geometry *geometry, unsigned level, unsigned slot,
                          uint64_t now)
{
    const struct show_level *shown = &geometry->levels[level];
    struct show_range covered = show_level_covers(geometry, level, now);

    ELAPSE__ASSERT(slot < shown->slot_count);
    if (geometry->design != SHOW_WHEEL)
        return false;
    if (covered.first > covered.last)
        return true;
    unsigned first = show_slot_at(shown, covered.first);
    unsigned last = show_slot_at(shown, covered.last);
    return first <= last ? slot < first || slot > last : slot < first && slot > last;
}

/* Returns the ticks that a dial covers: one turn from the first tick of the slot of `now` on. */
static struct show_range dial_spans(const struct show_level *level, uint64_t now)
{
    uint64_t first = now - now % level->slot_ticks;
    uint64_t ticks = level_ticks(level) - 1;

    return (struct show_range){first,
                               ticks < ELAPSE_TIME_MAX - first ? first + ticks : ELAPSE_TIME_MAX};
}

struct show_range show_level_covers(const struct show_geometry *geometry, unsigned level,
                                    uint64_t now)
{
    ELAPSE__ASSERT(level < geometry->level_count);
    if (geometry->design == SHOW_WHEEL)
        return level_of_wheel_covers(geometry, level, now);
    struct show_range covered = dial_spans(&geometry->levels[level], now);
    if (level == 0)
        return covered;
    uint64_t covered_below = dial_spans(&geometry->levels[level - 1], now).last;
    if (covered_below >= covered.last)
        return (struct show_range){1, 0};
    covered.first = covered_below + 1;
    return covered;
}

/* ---- places ---- */

unsigned show_dial_for(const struct show_geometry *geometry, uint64_t pointer, uint64_t deadline)
{
    unsigned level = 0;

    while (level < geometry->level_count &&
           deadline > dial_spans(&geometry->levels[level], pointer).last)
        level++;
    return level;
}

struct show_place show_place_in_dials(const struct show_geometry *geometry, uint64_t since,
                                      uint64_t now, uint64_t deadline)
{
    unsigned level = show_dial_for(geometry, since, deadline);

    ELAPSE__ASSERT(geometry->design == SHOW_DIALS);
    ELAPSE__ASSERT(since <= now);
    while (level > 0 && level < geometry->level_count) {
        uint64_t first = deadline - deadline % geometry->levels[level].slot_ticks;
        if (first > now)
            break;
        level = show_dial_for(geometry, first, deadline);
    }
    if (level == geometry->level_count)
        return (struct show_place){level, 0};
    return (struct show_place){level, show_slot_at(&geometry->levels[level], deadline)};
}

uint64_t show_rounds_left(const struct show_geometry *geometry, uint64_t now, uint64_t deadline)
{
    if (geometry->design != SHOW_HASHED || deadline <= now || deadline == ELAPSE_NEVER)
        return 0;
    return (deadline - now - 1) / geometry->levels[0].slot_count;
}
