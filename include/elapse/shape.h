/*
 * Elapse: the shape of a structure whose slots the caller chooses: dials and hashed wheels.
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
 * How many levels there are, and how many slots each has. Dials have 2 slots or more on each level;
 * where the shape is NULL they have eight levels of 256. A hashed wheel has one level of 1 to
 * ELAPSE_HASHED_SLOTS_MAX slots; where the shape is NULL it has 512. A shape is read only during
 * the call that takes it; the functions and the context of its allocator are kept.
 *
 *     static const uint32_t clock_face[] = {60, 60, 24, 30};
 *     const struct elapse_shape shape = {.slots = clock_face, .levels = 4};
 *
 * Since 0.2.
 */
struct elapse_shape {
    const uint32_t *slots; /* of each level, the finest first */
    size_t levels;         /* 1 to ELAPSE_SHAPE_LEVELS_MAX; hashed: 1 */
    /* Dials: the allocator of further levels, which are made when a deadline needs them and have
     * as many slots as the last level listed; NULL if the dials are not to grow. Hashed: NULL. */
    const struct elapse_allocator *growth;
};

#ifdef __cplusplus
}
#endif

#endif
