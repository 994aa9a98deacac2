/*
 * Elapse: any structure by name, through one table of functions.
 *
 * For whoever wants to choose at run time: tools, tests, the scheduler. The verbs
 * mean what wheel.h says of them, and cost one indirect call more.
 *
 *     const struct elapse_structure *kind = elapse_structure_find("heap");
 *     void *wheel_or_heap = malloc(kind->instance_bytes);
 *     size_t bytes = kind->storage_bytes(NULL, 1000);
 *
 *     if (kind->init(wheel_or_heap, NULL, malloc(bytes), bytes, now) != ELAPSE_OK)
 *         ...;
 *     if (kind->start(wheel_or_heap, &timer, now + 30) != ELAPSE_OK)
 *         ...;                          // full: see move_storage
 *
 * Times: in ticks, as in wheel.h.
 *
 * Threads: the tables are constant, and may be used by any thread; an instance is
 * used by one thread at a time.
 */
#ifndef ELAPSE_STRUCTURE_H
#define ELAPSE_STRUCTURE_H

#include <elapse/attributes.h>
#include <elapse/error.h>
#include <elapse/shape.h>
#include <elapse/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A kind of structure, since 0.1. The functions mean, cost and allow what is said
 * of their namesakes in wheel.h and heap.h; what returns an error must be checked.
 * `instance` is memory of instance_bytes bytes, aligned as
 * malloc does; where a comment says "storage" it is memory for the places of the
 * timers or for slots, which stays the caller's to free. `shape` says how many slots there are;
 * NULL takes the usual ones, and where shape_levels_max is 0 it is not looked at.
 */
struct elapse_structure {
    const char *name;          /* "wheel", "heap", "dials", "hashed" */
    size_t instance_bytes;     /* what the struct itself takes */
    bool is_bounded;           /* only so many timers have places in the storage */
    unsigned shape_levels_max; /* of the shapes it takes; 0: it has one of its own */

    /* Bytes of storage, for `capacity` timers, which is not 0, where the structure is
     * bounded; 0 when none is needed; SIZE_MAX when there cannot be so much, or the shape is
     * not one. */
    size_t (*storage_bytes)(const struct elapse_shape *shape, size_t capacity);

    /* Makes it empty, with `storage_bytes` bytes at `storage`; it is `now`.
     * Errors: ELAPSE_ERROR_ARGUMENT for a shape that is not one; ELAPSE_ERROR_STORAGE where
     * storage is needed and not right. */
    enum elapse_error (*init)(void *instance, const struct elapse_shape *shape, void *storage,
                              size_t storage_bytes, uint64_t now);

    /* Gives back what the structure has allocated by itself, which only one that grows
     * does. Once, after an init that succeeded. The timers in it are forgotten; it may only be
     * initialised anew. */
    void (*finish)(void *instance);

    /* Where the structure is bounded: takes other, usually larger storage, every timer staying
     * pending; the old one is the caller's to free. Elsewhere it does nothing.
     * Errors: ELAPSE_ERROR_STORAGE as for init; ELAPSE_ERROR_FULL when there are
     * more timers than places. On an error nothing has changed. */
    enum elapse_error (*move_storage)(void *instance, void *storage, size_t storage_bytes);

    /* As elapse_wheel_start and elapse_wheel_start_window.
     * Errors: ELAPSE_ERROR_FULL where the structure is bounded; ELAPSE_ERROR_MEMORY where it
     * grows. */
    enum elapse_error (*start)(void *instance, struct elapse_timer *timer, uint64_t deadline);
    enum elapse_error (*start_window)(void *instance, struct elapse_timer *timer, uint64_t earliest,
                                      uint64_t latest);

    /* These cannot fail: they are as elapse_wheel_stop and so on. */
    bool (*stop)(void *instance, struct elapse_timer *timer);
    void (*advance)(void *instance, uint64_t now);
    struct elapse_timer *(*pop)(void *instance);
    bool (*cascade)(void *instance, size_t max_moves);
    uint64_t (*next)(const void *instance);
    uint64_t (*remaining)(const void *instance, const struct elapse_timer *timer);
    uint64_t (*now)(const void *instance);
    size_t (*count)(const void *instance);
    uint64_t (*moves)(const void *instance);
    void (*for_each)(void *instance, elapse_visit_function *visit, void *context);
    void (*clear)(void *instance);
    unsigned (*check)(const void *instance);
    void (*dump)(const void *instance, elapse_dump_function *describe, void *context);
};

/*
 * The structure called `name`, or NULL when there is none of that name.
 * Cost: O(structures). Any thread. Cannot fail. Since 0.1.
 */
ELAPSE_API const struct elapse_structure *elapse_structure_find(const char *name);

/*
 * The structures in turn: number 0, 1, ..., and NULL after the last. The wheel,
 * the default, is number 0.
 * Cost: O(1). Any thread. Cannot fail. Since 0.1.
 */
ELAPSE_API const struct elapse_structure *elapse_structure_at(size_t number);

#ifdef __cplusplus
}
#endif

#endif
