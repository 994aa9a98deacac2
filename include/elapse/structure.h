/*
 * Elapse: any structure by name, through one table of functions.
 *
 * Use it to choose a structure at run time, as tools and tests do. The functions do what
 * their namesakes in wheel.h do, and cost one indirect call more. The scheduler does not use it:
 * it always calls the wheel.
 *
 *     const struct elapse_structure *kind = elapse_structure_find("heap");
 *     void *wheel_or_heap = malloc(kind->instance_bytes);
 *     size_t bytes = kind->storage_bytes(NULL, 1000);
 *
 *     if (kind->init(wheel_or_heap, NULL, malloc(bytes), bytes, now) != ELAPSE_OK)
 *         ...;
 *     // `now` was rounded down to a tick: without the + 1 it fires up to a tick early.
 *     if (kind->start(wheel_or_heap, &timer, elapse_deadline_after(now, 30 + 1)) != ELAPSE_OK)
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
 * A kind of structure, since 0.1. The functions mean and cost what wheel.h and heap.h say of their
 * namesakes; every error that is returned must be checked.
 * `instance` is memory of instance_bytes bytes, aligned as malloc aligns it. `storage` is memory
 * for the places of the timers, or for slots; it stays the caller's. `shape` says how many slots
 * there are. A NULL shape stands for the usual one. Where shape_levels_max is 0 the shape is not
 * read.
 */
struct elapse_structure {
    const char *name;          /* "wheel", "heap", "dials", "hashed" */
    size_t instance_bytes;     /* bytes of the struct itself */
    bool is_bounded;           /* the storage has places for a limited number of timers */
    unsigned shape_levels_max; /* the most levels of a shape; 0: the structure has no shape */

    /* Returns the bytes of storage that the structure needs; 0 when it needs none; SIZE_MAX when
     * memory cannot hold so much, or the shape is wrong for the structure. A bounded structure
     * gets places for `capacity` timers, which must not be 0. */
    size_t (*storage_bytes)(const struct elapse_shape *shape, size_t capacity);

    /* Makes the structure empty, with `storage_bytes` bytes at `storage`. Its time is `now`.
     * Errors: ELAPSE_ERROR_ARGUMENT for a shape that is wrong for the structure;
     * ELAPSE_ERROR_STORAGE where storage is needed and is missing, too small or not aligned. */
    enum elapse_error (*init)(void *instance, const struct elapse_shape *shape, void *storage,
                              size_t storage_bytes, uint64_t now);

    /* Gives back the memory that the structure has allocated; only one that grows has any.
     * Requires an init that succeeded, and no finish since. The timers in it are forgotten, and it
     * may only be initialised again. */
    void (*finish)(void *instance);

    /* Moves a bounded structure into other storage, usually larger; every timer stays pending.
     * On success the caller may free the old storage. Does nothing in other structures.
     * Errors: ELAPSE_ERROR_STORAGE as for init; ELAPSE_ERROR_FULL when there are
     * more timers than places. On an error nothing has changed. */
    enum elapse_error (*move_storage)(void *instance, void *storage, size_t storage_bytes);

    /* As elapse_wheel_start and elapse_wheel_start_window.
     * Errors: ELAPSE_ERROR_FULL in a bounded structure; ELAPSE_ERROR_MEMORY in one that
     * grows. */
    enum elapse_error (*start)(void *instance, struct elapse_timer *timer, uint64_t deadline);
    enum elapse_error (*start_window)(void *instance, struct elapse_timer *timer, uint64_t earliest,
                                      uint64_t latest);

    /* As elapse_wheel_stop and so on. They cannot fail. */
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
 * Returns the structure called `name`, or NULL when there is none of that name.
 * Cost: O(structures). Any thread. Cannot fail. Since 0.2.
 */
ELAPSE_API const struct elapse_structure *elapse_structure_find(const char *name);

/*
 * Returns structure number `number`, counted from 0, and NULL after the last. The wheel,
 * the default, is number 0.
 * Cost: O(1). Any thread. Cannot fail. Since 0.2.
 */
ELAPSE_API const struct elapse_structure *elapse_structure_at(size_t number);

#ifdef __cplusplus
}
#endif

#endif
