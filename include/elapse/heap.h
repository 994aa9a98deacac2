/*
 * Elapse: the heap, a 4-ary heap of timers.
 *
 * This is the O(log n) structure that timing wheels are compared with: every start, stop
 * and pop may have to move a timer past its ancestors or descendants in the tree.
 * It keeps its promises by simple means and takes 16 bytes for each timer besides the
 * timer itself. It is a good choice for up to some hundreds of timers.
 *
 * The caller gives the memory:
 *
 *     struct elapse_heap heap;
 *     size_t bytes = elapse_heap_storage_bytes(1000);
 *
 *     if (elapse_heap_init(&heap, malloc(bytes), bytes, now) != ELAPSE_OK)
 *         ...;
 *     // `now` was rounded down to a tick: without the + 1 it fires up to a tick early.
 *     if (elapse_heap_start(&heap, &connection->idle, elapse_deadline_after(now, 30000 + 1)) !=
 *         ELAPSE_OK)
 *         ...;                          // ELAPSE_ERROR_FULL: 1000 are pending
 *
 * Verbs, order and promises are those of wheel.h, whose comments hold here too, except
 * where this file says otherwise. What holds for every function below, unless it says otherwise:
 * - Times: in ticks, as in wheel.h.
 * - Threads: one at a time, as in wheel.h.
 * - Since: version 0.1.
 */
#ifndef ELAPSE_HEAP_H
#define ELAPSE_HEAP_H

#include <elapse/attributes.h>
#include <elapse/error.h>
#include <elapse/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A place in the heap. The deadline is kept beside the pointer, so that timers can be
 * moved past each other without reading them. Private. */
struct elapse__heap_entry {
    uint64_t deadline;
    struct elapse_timer *timer;
};

/*
 * The heap. The caller allocates it, and may not copy it while timers are
 * pending. Nothing needs to be released but the caller's storage. All fields are
 * private.
 */
struct elapse_heap {
    uint64_t clock;                     /* the last time that the caller gave */
    uint64_t sequence;                  /* armings so far; the number of the next arming */
    uint64_t moves;                     /* places changed by timers since init */
    struct elapse__heap_entry *entries; /* the caller's storage */
    size_t count;                       /* pending timers */
    size_t capacity;                    /* places in the storage */
    size_t gaps;                        /* gaps left by stop in for_each, which closes them */
    bool walking;                       /* for_each is under way */
};

/*
 * Returns the bytes of storage that a heap of `capacity` timers needs; SIZE_MAX when
 * that is more than memory can hold.
 * Cost: O(1). Cannot fail.
 */
ELAPSE_API size_t elapse_heap_storage_bytes(size_t capacity);

/* What elapse_heap_init calls, with the size that the caller was compiled with. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_heap_init_sized(struct elapse_heap *heap, size_t heap_bytes, void *storage,
                       size_t storage_bytes, uint64_t now);

/*
 * Makes an empty heap whose time is `now`. It keeps its timers' places in the
 * `storage_bytes` bytes at `storage`. The storage stays the caller's, to be freed when the
 * heap is no longer used. The heap's capacity is as many timers as fit.
 * Errors: ELAPSE_ERROR_ABI when the sizes of struct elapse_heap in header and
 * library differ; ELAPSE_ERROR_STORAGE when `storage` is NULL, not aligned
 * for a uint64_t and a pointer, or too small for one timer. After an error the heap may not be
 * used.
 * Cost: O(1).
 */
ELAPSE_MUST_CHECK static inline enum elapse_error
elapse_heap_init(struct elapse_heap *heap, void *storage, size_t storage_bytes, uint64_t now)
{
    return elapse_heap_init_sized(heap, sizeof *heap, storage, storage_bytes, now);
}

/*
 * Moves the heap into other storage, larger or smaller; every timer stays
 * pending. On success the caller may free the old storage.
 * Errors: ELAPSE_ERROR_STORAGE as for init; ELAPSE_ERROR_FULL when the new
 * storage has fewer places than there are pending timers. On an error nothing
 * has changed.
 * Cost: O(timers).
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_heap_move_storage(struct elapse_heap *heap, void *storage, size_t storage_bytes);

/*
 * As elapse_wheel_start.
 * Errors: ELAPSE_ERROR_FULL when storage is full and `timer` is idle; it
 * stays idle. Re-arming a pending timer cannot fail.
 * Cost: O(log timers).
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_heap_start(struct elapse_heap *heap, struct elapse_timer *timer, uint64_t deadline);

/*
 * As elapse_wheel_start_window; here a shared tick saves wake-ups and nothing else.
 * Errors: as start. Cost: O(log timers).
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_heap_start_window(struct elapse_heap *heap,
                                                                        struct elapse_timer *timer,
                                                                        uint64_t earliest,
                                                                        uint64_t latest);

/* As elapse_wheel_stop. Cost: O(log timers). Cannot fail. */
ELAPSE_API bool elapse_heap_stop(struct elapse_heap *heap, struct elapse_timer *timer);

/* As elapse_wheel_advance. Cost: O(1). Cannot fail. */
ELAPSE_API void elapse_heap_advance(struct elapse_heap *heap, uint64_t now);

/* As elapse_wheel_pop, and always in the order of arming at one deadline.
 * Cost: O(log timers); O(1) when nothing is due. Cannot fail. */
ELAPSE_API struct elapse_timer *elapse_heap_pop(struct elapse_heap *heap);

/* As elapse_wheel_cascade; returns true always, because a pop moves at most O(log timers)
 * places. Cost: O(1). Cannot fail. */
ELAPSE_API bool elapse_heap_cascade(struct elapse_heap *heap, size_t max_moves);

/* Returns the least deadline pending, always exact; ELAPSE_NEVER when no timer will ever
 * be due. Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_heap_next(const struct elapse_heap *heap);

/* As elapse_wheel_remaining. Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_heap_remaining(const struct elapse_heap *heap,
                                          const struct elapse_timer *timer);

/* As elapse_wheel_now. Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_heap_now(const struct elapse_heap *heap);

/* As elapse_wheel_count. Cost: O(1). Cannot fail. */
ELAPSE_API size_t elapse_heap_count(const struct elapse_heap *heap);

/* Returns how many timers fit. Cost: O(1). Cannot fail. */
ELAPSE_API size_t elapse_heap_capacity(const struct elapse_heap *heap);

/* Returns how many places timers have moved up or down the tree since init.
 * Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_heap_moves(const struct elapse_heap *heap);

/* As elapse_wheel_for_each. Cost: O(timers). Cannot fail. */
ELAPSE_API void elapse_heap_for_each(struct elapse_heap *heap, elapse_visit_function *visit,
                                     void *context);

/* As elapse_wheel_clear. Cost: O(timers). Cannot fail. */
ELAPSE_API void elapse_heap_clear(struct elapse_heap *heap);

/* As elapse_wheel_check, with the invariants numbered at the head of
 * src/structures/heap.c. Cost: O(timers). Cannot fail. */
ELAPSE_API unsigned elapse_heap_check(const struct elapse_heap *heap);

/* As elapse_wheel_dump, with one slot for each generation of the tree. Its first and
 * last tick are the least and the greatest deadline in it.
 * Cost: O(timers). Cannot fail. */
ELAPSE_API void elapse_heap_dump(const struct elapse_heap *heap, elapse_dump_function *describe,
                                 void *context);

#ifdef __cplusplus
}
#endif

#endif
