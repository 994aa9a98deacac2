/*
 * Elapse: any structure by name, through one table of functions.
 *
 * For whoever wants to choose at run time: tools, tests, the scheduler. The verbs
 * mean what wheel.h says of them, and cost one indirect call more.
 *
 *     const struct elapse_structure *kind = elapse_structure_find("heap");
 *     void *wheel_or_heap = malloc(kind->instance_bytes);
 *     size_t bytes = kind->storage_bytes(1000);
 *
 *     if (kind->init(wheel_or_heap, malloc(bytes), bytes, now) != ELAPSE_OK)
 *         ...;
 *     if (kind->start(wheel_or_heap, &timer, now + 30) != ELAPSE_OK)
 *         ...;                          // full: see move_storage
 *
 * Threads: the tables are constant, and may be used by any thread; an instance is
 * used by one thread at a time.
 */
#ifndef ELAPSE_STRUCTURE_H
#define ELAPSE_STRUCTURE_H

#include <elapse/attributes.h>
#include <elapse/error.h>
#include <elapse/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A kind of structure, since 0.1. The functions mean, cost and allow what is said
 * of their namesakes in wheel.h and heap.h; what returns an error must be checked.
 * `instance` is memory of instance_bytes bytes, aligned as
 * malloc does; where a comment says "storage" it is memory for the places of the
 * timers, which stays the caller's to free.
 */
struct elapse_structure {
    const char *name;      /* "wheel", "heap" */
    size_t instance_bytes; /* what the struct itself takes */

    /* Bytes of storage for `capacity` timers, which is not 0; 0 for a structure that
     * needs none and is never full; SIZE_MAX when it cannot be had. */
    size_t (*storage_bytes)(size_t capacity);

    /* Errors: ELAPSE_ERROR_STORAGE where storage is needed and not right. */
    enum elapse_error (*init)(void *instance, void *storage, size_t storage_bytes, uint64_t now);

    /* Takes other, usually larger storage, every timer staying pending; the old
     * one is the caller's to free. Does nothing where none is needed.
     * Errors: ELAPSE_ERROR_STORAGE as for init; ELAPSE_ERROR_FULL when there are
     * more timers than places. On an error nothing has changed. */
    enum elapse_error (*move_storage)(void *instance, void *storage, size_t storage_bytes);

    /* Errors: ELAPSE_ERROR_FULL where storage has an end. */
    enum elapse_error (*start)(void *instance, struct elapse_timer *timer, uint64_t deadline);
    enum elapse_error (*start_window)(void *instance, struct elapse_timer *timer, uint64_t earliest,
                                      uint64_t latest);

    bool (*stop)(void *instance, struct elapse_timer *timer);
    void (*advance)(void *instance, uint64_t now);
    struct elapse_timer *(*pop)(void *instance);
    bool (*settle)(void *instance, size_t max_moves);
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
 * Cost: O(structures). Any thread. Since 0.1.
 */
ELAPSE_API const struct elapse_structure *elapse_structure_find(const char *name);

/*
 * The structures in turn: number 0, 1, ..., and NULL after the last. The wheel,
 * the default, is number 0.
 * Cost: O(1). Any thread. Since 0.1.
 */
ELAPSE_API const struct elapse_structure *elapse_structure_at(size_t number);

#ifdef __cplusplus
}
#endif

#endif
