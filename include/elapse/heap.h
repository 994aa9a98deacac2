/*
 * Elapse: the heap, a 4-ary heap of timers.
 *
 * The heap is the O(log n) structure that timing wheels are compared with. Every start, stop and
 * pop may have to move a timer past its ancestors or descendants in the tree. The heap keeps its
 * promises by simple means. It takes 16 bytes for each timer besides the timer itself. The heap is
 * a good choice for up to some hundreds of timers.
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
 * The comments of wheel.h hold here too, except where this file says otherwise. The verbs, the
 * order of timers and the promises are those of wheel.h. The following holds for every function
 * below, unless its comment says otherwise:
 * - Times: all times are in ticks, as in wheel.h.
 * - Threads: one thread at a time uses the heap and its timers.
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

/* A place in the heap. The deadline is kept beside the pointer, so that timers are moved past each
 * other without a read of the timers. Private. */
struct elapse__heap_entry {
    uint64_t deadline;
    struct elapse_timer *timer;
};

/*
 * The heap. The caller allocates the struct, and may not copy it while timers are pending. Nothing
 * needs to be released but the caller's storage. All fields are private.
 */
struct elapse_heap {
    uint64_t clock;                     /* the last time that the caller gave */
    uint64_t sequence;                  /* the number of armings so far, and of the next arming */
    uint64_t moves;                     /* places changed by timers since init */
    struct elapse__heap_entry *entries; /* the caller's storage */
    size_t count;                       /* pending timers */
    size_t capacity;                    /* places in the storage */
    size_t gaps;                        /* places that stop has left empty during for_each */
    bool walking;                       /* for_each is under way */
};

/*
 * Returns the number of bytes of storage that a heap of `capacity` timers needs; SIZE_MAX if memory
 * cannot hold so much.
 * Cost: O(1). Cannot fail.
 */
ELAPSE_API size_t elapse_heap_storage_bytes(size_t capacity);

/* elapse_heap_init calls this function, with the size that the caller was compiled with. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_heap_init_sized(struct elapse_heap *heap, size_t heap_bytes, void *storage,
                       size_t storage_bytes, uint64_t now);

/*
 * Makes an empty heap whose time is `now`. The heap keeps the places of its timers in the
 * `storage_bytes` bytes at `storage`. The storage belongs to the caller, who may free it when the
 * heap is no longer used. The capacity of the heap is the number of places that fit into the
 * storage.
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
 * Moves the heap into other storage, which may be larger or smaller. Every timer stays pending.
 * After success the caller may free the old storage.
 * Errors: ELAPSE_ERROR_STORAGE as for init; ELAPSE_ERROR_FULL if the new storage has fewer places
 * than there are pending timers. After an error nothing has changed.
 * Cost: O(timers).
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_heap_move_storage(struct elapse_heap *heap, void *storage, size_t storage_bytes);

/*
 * Does what elapse_wheel_start does.
 * Errors: ELAPSE_ERROR_FULL if the storage is full and `timer` is idle; then `timer` stays idle.
 * Re-arming a pending timer cannot fail.
 * Cost: O(log timers).
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_heap_start(struct elapse_heap *heap, struct elapse_timer *timer, uint64_t deadline);

/*
 * Does what elapse_wheel_start_window does. In a heap a shared tick saves wake-ups and nothing
 * else.
 * Errors: as elapse_heap_start. Cost: O(log timers).
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_heap_start_window(struct elapse_heap *heap,
                                                                        struct elapse_timer *timer,
                                                                        uint64_t earliest,
                                                                        uint64_t latest);

/* Does what elapse_wheel_stop does. Cost: O(log timers). Cannot fail. */
ELAPSE_API bool elapse_heap_stop(struct elapse_heap *heap, struct elapse_timer *timer);

/* Does what elapse_wheel_advance does. Cost: O(1). Cannot fail. */
ELAPSE_API void elapse_heap_advance(struct elapse_heap *heap, uint64_t now);

/* Does what elapse_wheel_pop does. Timers with one deadline always come in the order of arming.
 * Cost: O(log timers); O(1) if nothing is due. Cannot fail. */
ELAPSE_API struct elapse_timer *elapse_heap_pop(struct elapse_heap *heap);

/* Does nothing, and always returns true, because a pop moves at most O(log timers) places. The
 * other structures move timers in this call, as elapse_wheel_cascade does. Cost: O(1). Cannot fail.
 */
ELAPSE_API bool elapse_heap_cascade(struct elapse_heap *heap, size_t max_moves);

/* Returns the least deadline pending; ELAPSE_NEVER if no timer will ever be due. The answer is
 * always exact. Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_heap_next(const struct elapse_heap *heap);

/* Does what elapse_wheel_remaining does. Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_heap_remaining(const struct elapse_heap *heap,
                                          const struct elapse_timer *timer);

/* Does what elapse_wheel_now does. Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_heap_now(const struct elapse_heap *heap);

/* Does what elapse_wheel_count does. Cost: O(1). Cannot fail. */
ELAPSE_API size_t elapse_heap_count(const struct elapse_heap *heap);

/* Returns how many timers fit into the storage. Cost: O(1). Cannot fail. */
ELAPSE_API size_t elapse_heap_capacity(const struct elapse_heap *heap);

/* Returns how many places timers have moved up or down the tree since init.
 * Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_heap_moves(const struct elapse_heap *heap);

/* Does what elapse_wheel_for_each does. Cost: O(timers). Cannot fail. */
ELAPSE_API void elapse_heap_for_each(struct elapse_heap *heap, elapse_visit_function *visit,
                                     void *context);

/* Does what elapse_wheel_clear does. Cost: O(timers). Cannot fail. */
ELAPSE_API void elapse_heap_clear(struct elapse_heap *heap);

/* Does what elapse_wheel_check does. The head of src/structures/heap.c numbers the invariants.
 * Cost: O(timers). Cannot fail. */
ELAPSE_API unsigned elapse_heap_check(const struct elapse_heap *heap);

/* Does what elapse_wheel_dump does. Each generation of the tree is described as one slot. The first
 * tick of a slot is the least deadline in the generation, and the last tick is the greatest. Cost:
 * O(timers). Cannot fail. */
ELAPSE_API void elapse_heap_dump(const struct elapse_heap *heap, elapse_dump_function *describe,
                                 void *context);

#ifdef __cplusplus
}
#endif

#endif
