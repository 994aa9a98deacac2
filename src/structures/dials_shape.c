/*
 * Dials: how levels are made, from storage or by the allocator, and how they are given back. The
 * head of dials.c explains levels.
 */
#include <string.h>

#include <elapse/dials.h>

#include "../base/assert.h"
#include "../base/bits.h"
#include "../base/ring.h"
#include "deadline.h"
#include "dials_level.h"

/* The shape for a caller that gives NULL. Eight levels of 256 slots cover all ticks of 64 bits. */
static const uint32_t usual_slots[] = {256, 256, 256, 256, 256, 256, 256, 256};
static const struct elapse_shape usual_shape = {
    .slots = usual_slots,
    .levels = sizeof usual_slots / sizeof usual_slots[0],
};

static bool shape_is_sound(const struct elapse_shape *shape)
{
    if (shape->slots == NULL || shape->levels == 0 || shape->levels > ELAPSE_SHAPE_LEVELS_MAX)
        return false;
    for (size_t i = 0; i < shape->levels; i++) {
        if (shape->slots[i] < 2)
            return false;
    }
    return shape->growth == NULL ||
           (shape->growth->allocate != NULL && shape->growth->release != NULL);
}

/* Returns how many bytes a level takes. 64 bits suffice, because 2^32 slots take less than 2^37
 * bytes. A size_t may have fewer bits. */
static uint64_t level_bytes(uint32_t slots)
{
    return sizeof(struct elapse__dials_level) + (uint64_t)slots * sizeof(struct elapse__ring_node) +
           (uint64_t)elapse__bitmap_words(slots) * sizeof(uint64_t);
}

size_t elapse_dials_storage_bytes(const struct elapse_shape *shape)
{
    uint64_t bytes = 0;
    if (shape == NULL)
        shape = &usual_shape;
    if (!shape_is_sound(shape))
        return SIZE_MAX;
    for (size_t i = 0; i < shape->levels; i++)
        bytes += level_bytes(shape->slots[i]);
#if SIZE_MAX < UINT64_MAX
    if (bytes > SIZE_MAX)
        return SIZE_MAX;
#endif
    return (size_t)bytes;
}

/* Makes a level in `memory`, and makes it the coarsest level of the dials. */
static void add_level(struct elapse_dials *dials, void *memory, uint32_t slots)
{
    struct elapse__dials_level *level = memory;
    struct elapse__dials_level *below = dials->coarsest;
    uint64_t width = below == NULL ? 1 : below->span;

    ELAPSE__ASSERT(memory != NULL);
    ELAPSE__ASSERT((uintptr_t)memory % _Alignof(struct elapse__dials_level) == 0);
    ELAPSE__ASSERT(slots >= 2);
    ELAPSE__ASSERT(dials->levels < ELAPSE_SHAPE_LEVELS_MAX);
    ELAPSE__ASSERT((below == NULL) == (dials->levels == 0));
    *level = (struct elapse__dials_level){
        .width = width,
        .span = width > UINT64_MAX / slots ? UINT64_MAX : width * slots,
        .slots = slots,
        .number = dials->levels++,
    };
    for (uint32_t slot = 0; slot < slots; slot++)
        elapse__ring_init(elapse__dials_ring(level, slot));
    memset(elapse__dials_occupied(level), 0, elapse__bitmap_words(slots) * sizeof(uint64_t));
    if (below == NULL)
        dials->finest = level;
    else
        below->coarser = level;
    ELAPSE__ASSERT(level->span > level->width || level->span == UINT64_MAX);
    dials->coarsest = level;
}

bool elapse__dials_grow(struct elapse_dials *dials)
{
    ELAPSE__ASSERT(dials->growth.allocate != NULL);
    ELAPSE__ASSERT(dials->coarsest->span < UINT64_MAX);
    uint32_t slots = dials->coarsest->slots;
    void *memory = dials->growth.allocate(_Alignof(struct elapse__dials_level),
                                          (size_t)level_bytes(slots), dials->growth.context);
    if (memory == NULL)
        return false;
    add_level(dials, memory, slots);
    return true;
}

enum elapse_error elapse_dials_init_sized(struct elapse_dials *dials, size_t dials_bytes,
                                          const struct elapse_shape *shape, void *storage,
                                          size_t storage_bytes, uint64_t now)
{
    if (dials_bytes != sizeof *dials)
        return ELAPSE_ERROR_ABI;
    if (shape == NULL)
        shape = &usual_shape;
    size_t needed = elapse_dials_storage_bytes(shape);
    if (needed == SIZE_MAX)
        return ELAPSE_ERROR_ARGUMENT;
    if (storage == NULL || (uintptr_t)storage % _Alignof(struct elapse__dials_level) != 0 ||
        storage_bytes < needed)
        return ELAPSE_ERROR_STORAGE;

    memset(dials, 0, sizeof *dials);
    dials->clock = elapse__clock_at(now);
    dials->pointer = dials->clock;
    dials->wake = ELAPSE_NEVER;
    elapse__ring_init(&dials->parked);
    elapse__ring_init(&dials->aside);
    elapse__ring_init(&dials->never);
    if (shape->growth != NULL)
        dials->growth = *shape->growth;
    char *memory = storage;
    for (size_t i = 0; i < shape->levels; i++) {
        add_level(dials, memory, shape->slots[i]);
        memory += level_bytes(shape->slots[i]);
    }
    ELAPSE__ASSERT((size_t)(memory - (char *)storage) == needed);
    ELAPSE__ASSERT(dials->levels == shape->levels);
    ELAPSE__ASSERT(dials->coarsest->coarser == NULL);
    dials->storage_levels = dials->levels;
    return ELAPSE_OK;
}

void elapse_dials_finish(struct elapse_dials *dials)
{
    struct elapse__dials_level *level = dials->finest;
    while (level != NULL) {
        struct elapse__dials_level *coarser = level->coarser;
        ELAPSE__ASSERT(coarser == NULL || coarser->number == level->number + 1);
        if (level->number >= dials->storage_levels)
            dials->growth.release(level, (size_t)level_bytes(level->slots), dials->growth.context);
        level = coarser;
    }
}

enum elapse_error elapse_dials_reserve(struct elapse_dials *dials, uint64_t delay)
{
    if (dials->growth.allocate == NULL)
        return ELAPSE_OK;
    /* The coarsest level reaches all its slots but the one that the pointer is in, wherever the
     * pointer is in that slot. */
    while (dials->coarsest->span < UINT64_MAX &&
           delay > dials->coarsest->span - dials->coarsest->width) {
        if (!elapse__dials_grow(dials))
            return ELAPSE_ERROR_MEMORY;
    }
    return ELAPSE_OK;
}

unsigned elapse_dials_levels(const struct elapse_dials *dials)
{
    ELAPSE__ASSERT(dials->levels == dials->coarsest->number + 1);
    return dials->levels;
}

uint32_t elapse_dials_slots(const struct elapse_dials *dials, unsigned level)
{
    const struct elapse__dials_level *found = dials->finest;
    while (found != NULL && found->number != level)
        found = found->coarser;
    return found == NULL ? 0 : found->slots;
}
