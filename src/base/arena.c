#include "arena.h"

#include <stdlib.h>

#include "bits.h"

enum {
    UNITS = ELAPSE__REGION_BYTES / ELAPSE__ARENA_UNIT_BYTES,
    KEPT_UNITS = UNITS, /* an empty region is given back if the others have this many free */
    FIRST_CAPACITY = 16,
};

struct elapse__region {
    uint64_t used[UNITS / 64]; /* a bit for each unit */
    uint32_t index;            /* the index of this region in the arena's table */
    uint32_t free_units;
    uint32_t longest;
};

enum {
    HEADER_UNITS =
        (sizeof(struct elapse__region) + ELAPSE__ARENA_UNIT_BYTES - 1) / ELAPSE__ARENA_UNIT_BYTES,
    BLOCK_UNITS = UNITS - HEADER_UNITS, /* the units of a region that blocks may take */
};

_Static_assert(UNITS == 1 << ELAPSE__ARENA_CLASSES, "a run of units has a class");

static uint32_t units_of(size_t bytes)
{
    ELAPSE__ASSERT_THAT(bytes, >, 0);
    ELAPSE__ASSERT_THAT(bytes, <=, ELAPSE__ARENA_BLOCK_MAX);
    return (uint32_t)((bytes + ELAPSE__ARENA_UNIT_BYTES - 1) / ELAPSE__ARENA_UNIT_BYTES);
}

/* ---- one region ---- */

/* Returns the first unit from `unit` on that is in use, if `in_use` is true, or the first unit that
 * is free; UNITS if there is none. */
static uint32_t find_unit(const struct elapse__region *region, uint32_t unit, bool in_use)
{
    while (unit < UNITS) {
        uint64_t word = in_use ? region->used[unit / 64] : ~region->used[unit / 64];
        word >>= unit % 64;
        if (word != 0)
            return unit + elapse__lowest_bit(word);
        unit = (unit / 64 + 1) * 64;
    }
    return UNITS;
}

/* Returns where the first run of `units` free units begins. If there is none, returns where the
 * longest run begins. Stores the length of that run. */
static uint32_t find_run(const struct elapse__region *region, uint32_t units, uint32_t *length)
{
    uint32_t begin = find_unit(region, 0, false), found = UNITS;
    *length = 0;
    while (begin < UNITS && *length < units) {
        uint32_t end = find_unit(region, begin, true);
        if (end - begin > *length) {
            *length = end - begin;
            found = begin;
        }
        begin = find_unit(region, end, false);
    }
    return found;
}

static void mark(struct elapse__region *region, uint32_t begin, uint32_t units, bool in_use)
{
    for (uint32_t unit = begin; unit < begin + units; unit++) {
        ELAPSE__ASSERT(elapse__bitmap_has(region->used, unit) != in_use);
        if (in_use)
            elapse__bitmap_set(region->used, unit);
        else
            elapse__bitmap_clear(region->used, unit);
    }
    if (in_use)
        region->free_units -= units;
    else
        region->free_units += units;
}

static void *unit_at(struct elapse__region *region, uint32_t unit)
{
    return (unsigned char *)region + (size_t)unit * ELAPSE__ARENA_UNIT_BYTES;
}

static void *take_block(struct elapse__region *region, uint32_t units)
{
    uint32_t length;
    if (region->longest < units)
        return NULL;
    uint32_t begin = find_run(region, units, &length);
    if (length < units) {
        region->longest = length;
        return NULL;
    }
    mark(region, begin, units, true);
    return unit_at(region, begin);
}

/* ---- all regions ---- */

/* Restores invariant A2 after a region has got more room, or another place in the table. */
static void note_room(struct elapse__arena *arena, const struct elapse__region *region)
{
    for (unsigned bits = 0; bits < ELAPSE__ARENA_CLASSES && region->longest >> bits != 0; bits++)
        if (arena->first[bits] > region->index)
            arena->first[bits] = region->index;
}

static bool make_room(struct elapse__arena *arena)
{
    if (arena->count < arena->capacity)
        return true;
    uint32_t capacity = arena->capacity == 0 ? FIRST_CAPACITY : 2 * arena->capacity;
    struct elapse__region **grown = realloc(arena->regions, capacity * sizeof(void *));
    if (grown == NULL)
        return false;
    arena->regions = grown;
    arena->capacity = capacity;
    return true;
}

bool elapse__arena_add(struct elapse__arena *arena, void *memory)
{
    struct elapse__region *region = memory;
    ELAPSE__ASSERT((uintptr_t)memory % ELAPSE__REGION_BYTES == 0);
    if (!make_room(arena))
        return false;
    region->index = arena->count;
    region->free_units = UNITS;
    mark(region, 0, HEADER_UNITS, true);
    region->longest = BLOCK_UNITS;
    arena->regions[arena->count++] = region;
    arena->free_units += BLOCK_UNITS;
    note_room(arena, region);
    return true;
}

/* Gives an empty region back. The last region of the table gets the place of the empty region. */
static void give_back(struct elapse__arena *arena, const struct elapse__region_source *source,
                      struct elapse__region *region)
{
    struct elapse__region *last = arena->regions[--arena->count];
    ELAPSE__ASSERT(arena->regions[region->index] == region);
    arena->regions[region->index] = last;
    last->index = region->index;
    arena->free_units -= BLOCK_UNITS;
    note_room(arena, last);
    source->unmap(region, ELAPSE__REGION_BYTES);
}

/* Gives all regions back. Requires that all are empty. */
static void give_all_back(struct elapse__arena *arena, const struct elapse__region_source *source)
{
    while (arena->count > 0)
        source->unmap(arena->regions[--arena->count], ELAPSE__REGION_BYTES);
    free(arena->regions);
    *arena = (struct elapse__arena){.regions = NULL};
}

/* Returns a block in the present regions; NULL if none of them has room. */
static void *find_block(struct elapse__arena *arena, uint32_t units)
{
    uint32_t *first = &arena->first[elapse__highest_bit(units)];
    while (*first < arena->count &&
           arena->regions[*first]->longest >> elapse__highest_bit(units) == 0)
        ++*first;
    for (uint32_t i = *first; i < arena->count; i++) {
        void *block = take_block(arena->regions[i], units);
        if (block != NULL)
            return block;
    }
    return NULL;
}

void *elapse__arena_allocate(struct elapse__arena *arena,
                             const struct elapse__region_source *source, size_t bytes)
{
    uint32_t units = units_of(bytes);
    void *block = find_block(arena, units);
    if (block == NULL) {
        void *region = source->map(ELAPSE__REGION_BYTES, true);
        if (region == NULL)
            return NULL;
        if (!elapse__arena_add(arena, region)) {
            source->unmap(region, ELAPSE__REGION_BYTES);
            return NULL;
        }
        block = take_block(region, units);
    }
    ELAPSE__ASSERT(block != NULL);
    arena->free_units -= units;
    return block;
}

void elapse__arena_release(struct elapse__arena *arena, const struct elapse__region_source *source,
                           void *block, size_t bytes)
{
    size_t offset = (uintptr_t)block % ELAPSE__REGION_BYTES;
    struct elapse__region *region = (void *)((unsigned char *)block - offset);
    uint32_t units = units_of(bytes);
    ELAPSE__ASSERT(offset % ELAPSE__ARENA_UNIT_BYTES == 0);
    ELAPSE__ASSERT_THAT(region->index, <, arena->count);
    ELAPSE__ASSERT(arena->regions[region->index] == region);
    mark(region, (uint32_t)(offset / ELAPSE__ARENA_UNIT_BYTES), units, false);
    arena->free_units += units;
    region->longest = region->free_units;
    note_room(arena, region);
    if (arena->free_units == (uint64_t)arena->count * BLOCK_UNITS)
        give_all_back(arena, source);
    else if (region->free_units == BLOCK_UNITS && arena->free_units >= BLOCK_UNITS + KEPT_UNITS)
        give_back(arena, source, region);
}

bool elapse__arena_is_low(const struct elapse__arena *arena)
{
    return arena->free_units < ELAPSE__ARENA_LOW_BYTES / ELAPSE__ARENA_UNIT_BYTES;
}

bool elapse__arena_check(const struct elapse__arena *arena)
{
    uint64_t free_units = 0;
    for (uint32_t i = 0; i < arena->count; i++) {
        const struct elapse__region *region = arena->regions[i];
        uint32_t length, used = 0;
        (void)find_run(region, UNITS, &length);
        for (uint32_t unit = 0; unit < UNITS; unit++)
            used += elapse__bitmap_has(region->used, unit);
        free_units += region->free_units;
        if (region->index != i || length > region->longest || used + region->free_units != UNITS)
            return false;
        for (unsigned bits = 0; bits < ELAPSE__ARENA_CLASSES; bits++)
            if (i < arena->first[bits] && length >> bits != 0)
                return false;
    }
    return free_units == arena->free_units;
}
