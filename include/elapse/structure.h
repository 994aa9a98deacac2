/*
 * Elapse: any structure by name, through one table of functions.
 *
 * Use the table to choose a structure at run time, as tools and tests do. The functions do what the
 * functions with the same names in wheel.h do, and cost one indirect call more. The scheduler does
 * not use the table: it always calls the wheel.
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
 * Times: all times are in ticks, as in wheel.h.
 *
 * Threads: the tables are constant, and any thread may use them. One thread at a time uses an
 * instance.
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
 * A kind of structure, since 0.1. wheel.h and heap.h tell what the functions with the same names do
 * and cost. The caller must check every error that is returned. `instance` is memory of
 * instance_bytes bytes, aligned as malloc aligns memory. `storage` is memory for the places of the
 * timers, or for slots. The storage belongs to the caller. `shape` says how many slots there are. A
 * shape of NULL stands for the default shape. If shape_levels_max is 0, the shape is not read.
 */
struct elapse_structure {
    const char *name;          /* "wheel", "heap", "dials", "hashed" */
    size_t instance_bytes;     /* bytes of the struct itself */
    bool is_bounded;           /* the storage has places for a limited number of timers */
    unsigned shape_levels_max; /* the most levels of a shape; 0: the structure has no shape */

    /* Returns the number of bytes of storage that the structure needs. Returns 0 if the structure
     * needs no storage. Returns SIZE_MAX if memory cannot hold so much, or if the shape is wrong
     * for the structure. A bounded structure gets places for `capacity` timers, which must not be
     * 0. */
    size_t (*storage_bytes)(const struct elapse_shape *shape, size_t capacity);

    /* Makes an empty structure whose time is `now`. The structure uses the `storage_bytes` bytes at
     * `storage`. Errors: ELAPSE_ERROR_ARGUMENT if the shape is wrong for the structure;
     * ELAPSE_ERROR_STORAGE if the structure needs storage, and the storage is missing, too small or
     * not aligned. */
    enum elapse_error (*init)(void *instance, const struct elapse_shape *shape, void *storage,
                              size_t storage_bytes, uint64_t now);

    /* Gives back the memory that the structure has allocated. Only a structure that grows allocates
     * memory. Requires that `init` has succeeded, and that `finish` was not called after it. The
     * timers in the structure are forgotten. The only call that the structure allows after this one
     * is `init`. */
    void (*finish)(void *instance);

    /* Moves a bounded structure into other storage, which is usually larger. Every timer stays
     * pending. After success the caller may free the old storage. Does nothing in a structure that
     * is not bounded. Errors: ELAPSE_ERROR_STORAGE as for init; ELAPSE_ERROR_FULL if there are more
     * timers than places. After an error nothing has changed. */
    enum elapse_error (*move_storage)(void *instance, void *storage, size_t storage_bytes);

    /* Do what elapse_wheel_start and elapse_wheel_start_window do. Errors: ELAPSE_ERROR_FULL in a
     * bounded structure; ELAPSE_ERROR_MEMORY in a structure that grows. */
    enum elapse_error (*start)(void *instance, struct elapse_timer *timer, uint64_t deadline);
    enum elapse_error (*start_window)(void *instance, struct elapse_timer *timer, uint64_t earliest,
                                      uint64_t latest);

    /* Do what the functions elapse_wheel_stop to elapse_wheel_dump do. These functions cannot fail.
     */
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
 * Returns the structure with the name `name`, or NULL if no structure has that name.
 * Cost: O(structures). Threads: any thread may call this function at any time. Cannot fail. Since
 * 0.2.
 */
ELAPSE_API const struct elapse_structure *elapse_structure_find(const char *name);

/*
 * Returns the structure with the number `number`. The numbers begin at 0. Returns NULL after the
 * last structure. Number 0 is the wheel, which is the default.
 * Cost: O(1). Threads: any thread may call this function at any time. Cannot fail. Since 0.2.
 */
ELAPSE_API const struct elapse_structure *elapse_structure_at(size_t number);

#ifdef __cplusplus
}
#endif

#endif
