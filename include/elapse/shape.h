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
 * The shape of dials or of a hashed wheel: the number of levels, and the number of slots of each
 * level. Dials have 2 or more slots on each level. Dials without a shape (NULL) have eight levels,
 * and each has 256 slots. A hashed wheel has one level of 1 to ELAPSE_HASHED_SLOTS_MAX slots. A
 * hashed wheel without a shape (NULL) has 512 slots. A call that takes a shape reads it only during
 * the call. The structure keeps the functions and the context of the allocator.
 *
 *     static const uint32_t clock_face[] = {60, 60, 24, 30};
 *     const struct elapse_shape shape = {.slots = clock_face, .levels = 4};
 *
 * Since 0.2.
 */
struct elapse_shape {
    const uint32_t *slots; /* the number of slots of each level; the finest level comes first */
    size_t levels; /* the number of levels: 1 to ELAPSE_SHAPE_LEVELS_MAX; a hashed wheel has 1 */
    /* The allocator for further levels of dials. A further level is made when a deadline needs it.
     * It has as many slots as the last level in `slots`. If `growth` is NULL, the dials do not
     * grow. A hashed wheel requires NULL. */
    const struct elapse_allocator *growth;
};

#ifdef __cplusplus
}
#endif

#endif
