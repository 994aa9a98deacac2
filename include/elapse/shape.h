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
 * level. Dials have 2 or more slots on each level. Dials without a shape (NULL) have eight levels
 * of 256 slots each. A hashed wheel has one level of 1 to ELAPSE_HASHED_SLOTS_MAX slots. A hashed
 * wheel without a shape (NULL) has 512 slots. The shape, its `slots` and its `growth` need not
 * outlive the call that takes them, because the call copies what the structure needs. What the
 * context of the allocator points to must outlive the dials, because they pass it to the allocator.
 *
 *     static const uint32_t clock_face[] = {60, 60, 24, 30};
 *     const struct elapse_shape shape = {.slots = clock_face, .levels = 4};
 *
 * Since 0.2.
 */
struct elapse_shape {
    const uint32_t *slots; /* the number of slots of each level; the finest level comes first */
    size_t levels; /* the number of levels: 1 to ELAPSE_SHAPE_LEVELS_MAX; a hashed wheel has 1 */
    /* The allocator for further levels of dials. The dials make a further level when a deadline
     * lies beyond their last level. A further level has as many slots as the last level in `slots`.
     * If `growth` is NULL, the dials do not grow. A hashed wheel requires NULL. */
    const struct elapse_allocator *growth;
};

#ifdef __cplusplus
}
#endif

#endif
