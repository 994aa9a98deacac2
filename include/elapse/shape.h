/*
 * Elapse: the shape of a structure whose slots the caller chooses: dials, hashed.
 */
#ifndef ELAPSE_SHAPE_H
#define ELAPSE_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include <elapse/allocator.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most levels that a shape can have: one for each bit of time. */
#define ELAPSE_SHAPE_LEVELS_MAX 64

/*
 * How many levels there are, and how many slots on each. Dials have 2 slots or more on each level,
 * and where NULL stands for a shape eight levels of 256; a hashed wheel has one level of 1 to
 * ELAPSE_HASHED_SLOTS_MAX slots, 512 where NULL stands for it. Only read during the
 * call that takes it, save for the allocator's functions and context, which are kept.
 *
 *     static const uint32_t clock_face[] = {60, 60, 24, 30};
 *     const struct elapse_shape shape = {.slots = clock_face, .levels = 4};
 *
 * Since 0.1.
 */
struct elapse_shape {
    const uint32_t *slots; /* of each level, the finest first */
    size_t levels;         /* 1 to ELAPSE_SHAPE_LEVELS_MAX; hashed: 1 */
    /* Dials: NULL, or what further levels, with as many slots as the last one listed, are
     * allocated by when a deadline needs them. Hashed: NULL. */
    const struct elapse_allocator *growth;
};

#ifdef __cplusplus
}
#endif

#endif
