/*
 * Elapse: dials, the hierarchical timing wheel with any number of slots on each level.
 *
 * Each level is a dial of two or more slots, as many as the caller says. A slot of the
 * finest dial is one tick; a slot of another dial is as wide as the whole dial below it. The
 * classical designs can be built from dials: 60 seconds, 60 minutes, 24 hours and 30 days as on
 * a clock face; 512 slots, and another dial of 512 that is made only when a deadline needs it;
 * or four dials of 16 slots, which take less than 2 KiB in all, for small machines. If you need
 * none of this, the wheel of wheel.h is faster.
 *
 * The caller gives the memory for the slots:
 *
 *     static const uint32_t clock_face[] = {60, 60, 24, 30};
 *     const struct elapse_shape shape = {.slots = clock_face, .levels = 4};
 *     struct elapse_dials dials;
 *     size_t bytes = elapse_dials_storage_bytes(&shape);
 *
 *     if (elapse_dials_init(&dials, &shape, malloc(bytes), bytes, now) != ELAPSE_OK)
 *         ...;
 *     // `now` was rounded down to a tick: without the + 1 it fires up to a tick early.
 *     if (elapse_dials_start(&dials, &connection->idle, elapse_deadline_after(now, 30 + 1)) !=
 *         ELAPSE_OK)
 *         ...;                          // only dials that grow can fail
 *
 * When a deadline lies beyond the reach of the coarsest dial, dials with an allocator
 * grow by another dial. Other dials park the timer: they look at it again each time that its
 * deadline may have come within reach, at most once a turn of the coarsest dial.
 *
 * Verbs, order and promises are those of wheel.h, whose comments hold here too, except
 * where this file says otherwise. What holds for every function below, unless it says otherwise:
 * - Times: in ticks, as in wheel.h.
 * - Threads: one at a time, as in wheel.h.
 * - Since: version 0.1.
 */
#ifndef ELAPSE_DIALS_H
#define ELAPSE_DIALS_H

#include <elapse/allocator.h>
#include <elapse/attributes.h>
#include <elapse/error.h>
#include <elapse/shape.h>
#include <elapse/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One dial; it lies in the storage, or in memory from the allocator. Private. */
struct elapse__dials_level;

/*
 * The dials. The caller allocates the struct, and may not copy or move it after
 * init. All fields are private.
 */
struct elapse_dials {
    uint64_t clock;                       /* the last time that the caller gave */
    uint64_t wake;                        /* there is no work to do before this tick */
    uint64_t pointer;                     /* the dials' own position, which trails the clock */
    size_t count;                         /* pending timers */
    uint64_t moves;                       /* timers moved to another slot since init */
    struct elapse__dials_level *finest;   /* each level points to the next coarser one */
    struct elapse__dials_level *coarsest; /* the coarsest */
    struct elapse__ring_node parked;      /* timers out of reach */
    struct elapse__ring_node aside;       /* parked timers that a visit has yet to look at */
    struct elapse__ring_node never;       /* timers armed for ELAPSE_NEVER */
    uint64_t parked_least;                /* no deadline in `parked` is earlier */
    struct elapse_allocator growth;       /* its functions are NULL if the dials do not grow */
    uint32_t levels;                      /* how many there are */
    uint32_t storage_levels;              /* how many of these are in the storage */
    bool cascaded;                        /* every timer due at the pointer is on level 0 */
};

/*
 * Returns the bytes of storage that dials of this shape need: some 16 bytes for each slot. A
 * shape has 1 to ELAPSE_SHAPE_LEVELS_MAX levels of 2 slots or more. NULL stands for eight
 * levels of 256 slots, which reach every deadline and take some 33 KiB. Returns SIZE_MAX when
 * the shape is not such a shape, its allocator lacks a function, or memory cannot hold so much.
 * Cost: O(levels). Cannot fail.
 */
ELAPSE_API size_t elapse_dials_storage_bytes(const struct elapse_shape *shape);

/* What elapse_dials_init calls, with the size that the caller was compiled with. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_dials_init_sized(struct elapse_dials *dials, size_t dials_bytes,
                        const struct elapse_shape *shape, void *storage, size_t storage_bytes,
                        uint64_t now);

/*
 * Makes empty dials of this shape whose time is `now`. They keep the slots in the
 * `storage_bytes` bytes at `storage`. The storage stays the caller's, to be freed when the dials
 * are no longer used. A NULL shape means the same as for elapse_dials_storage_bytes.
 * With an allocator in the shape the dials can grow: further levels have as many slots
 * as the last level listed, and are made when a deadline needs them.
 * Errors: ELAPSE_ERROR_ABI when the sizes of struct elapse_dials in header and library
 * differ; ELAPSE_ERROR_ARGUMENT for a shape for which elapse_dials_storage_bytes returns
 * SIZE_MAX; ELAPSE_ERROR_STORAGE when `storage` is NULL, not aligned for a uint64_t and a
 * pointer, or too small. Nothing is written then.
 * Cost: writes struct and storage once.
 */
ELAPSE_MUST_CHECK static inline enum elapse_error
elapse_dials_init(struct elapse_dials *dials, const struct elapse_shape *shape, void *storage,
                  size_t storage_bytes, uint64_t now)
{
    return elapse_dials_init_sized(dials, sizeof *dials, shape, storage, storage_bytes, now);
}

/*
 * Gives the levels that were added back to the allocator. Requires an init that succeeded, and no
 * finish since. The timers still in the dials are forgotten, and the dials may only be initialised
 * again. Dials that cannot grow need no finish.
 * Cost: O(levels). Cannot fail.
 */
ELAPSE_API void elapse_dials_finish(struct elapse_dials *dials);

/*
 * Adds the levels that delays of up to `delay` ticks need, so that starts with such delays cannot
 * fail. A delay is counted from the time at which pop last returned NULL (or init was called) to
 * the deadline, or to now where that is later. So if you let time jump, and start timers before you
 * pop those that came due, reserve the length of the jump as well. After reserving ELAPSE_NEVER no
 * start can fail. Does nothing in dials that do not grow.
 * Errors: ELAPSE_ERROR_MEMORY when the allocator has none; levels made before that stay.
 * Cost: O(levels), and the cost of the allocator.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_dials_reserve(struct elapse_dials *dials,
                                                                    uint64_t delay);

/*
 * As elapse_wheel_start; a pending timer always comes after those that have its new
 * deadline already.
 * Errors: ELAPSE_ERROR_MEMORY when the dials have to grow and cannot. A pending
 * timer then stays as it was, and an idle timer stays idle; levels made before stay too. Dials
 * that do not grow cannot fail.
 * Cost: O(levels). The first start after a jump of time over slots that have timers also
 * searches the bitmap of each level, 64 slots at a time.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_dials_start(struct elapse_dials *dials, struct elapse_timer *timer, uint64_t deadline);

/* As elapse_wheel_start_window. Errors, cost: as start. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_dials_start_window(struct elapse_dials *dials,
                                                                         struct elapse_timer *timer,
                                                                         uint64_t earliest,
                                                                         uint64_t latest);

/* As elapse_wheel_stop. Cost: O(1); O(levels) for the last timer of a slot. Cannot
 * fail. */
ELAPSE_API bool elapse_dials_stop(struct elapse_dials *dials, struct elapse_timer *timer);

/* As elapse_wheel_advance. Cost: one comparison and one store. Cannot fail. */
ELAPSE_API inline void elapse_dials_advance(struct elapse_dials *dials, uint64_t now)
{
    if (now > dials->clock)
        dials->clock = now < ELAPSE_NEVER ? now : ELAPSE_TIME_MAX;
}

/* What elapse_dials_pop calls when there may be work to do. */
ELAPSE_API struct elapse_timer *elapse_dials_pop_due(struct elapse_dials *dials);

/*
 * As elapse_wheel_pop, and always in the order of arming at one deadline.
 * Cost: O(1) for the timer itself, plus the moves that are due: each timer is moved at
 * most once per level for each arming, and while it is parked once more for each turn of the
 * coarsest level. The pop of the last timer of a tick also searches for the next
 * occupied slot: at most the bitmap of each level, 64 slots at a time. When there is no work
 * to do: one comparison. Cannot fail.
 */
ELAPSE_API inline struct elapse_timer *elapse_dials_pop(struct elapse_dials *dials)
{
    return dials->clock < dials->wake ? NULL : elapse_dials_pop_due(dials);
}

/* As elapse_wheel_cascade. Cost: O(max_moves), and the search for occupied slots as in
 * pop. Cannot fail. */
ELAPSE_API bool elapse_dials_cascade(struct elapse_dials *dials, size_t max_moves);

/*
 * Returns the earliest time at which there may be work to do; ELAPSE_NEVER when no
 * timer will ever be due. It is never later than the least deadline pending. It may be earlier by
 * up to the width of the slot that this deadline lies in, because the timers of a slot are moved to
 * a finer level at the slot's first tick. After a stop or a re-arming it may be earlier still,
 * which costs one spurious wake-up. After advancing to it and popping until NULL, the answer is
 * strictly later. A value up to elapse_dials_now means: pop now.
 * Cost: O(1). Cannot fail.
 */
ELAPSE_API inline uint64_t elapse_dials_next(const struct elapse_dials *dials)
{
    return dials->wake;
}

/* As elapse_wheel_remaining. Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_dials_remaining(const struct elapse_dials *dials,
                                           const struct elapse_timer *timer);

/* As elapse_wheel_now. Cost: O(1). Cannot fail. */
ELAPSE_API inline uint64_t elapse_dials_now(const struct elapse_dials *dials)
{
    return dials->clock;
}

/* As elapse_wheel_count. Cost: O(1). Cannot fail. */
ELAPSE_API inline size_t elapse_dials_count(const struct elapse_dials *dials)
{
    return dials->count;
}

/* As elapse_wheel_moves. Cost: O(1). Cannot fail. */
ELAPSE_API inline uint64_t elapse_dials_moves(const struct elapse_dials *dials)
{
    return dials->moves;
}

/* Returns how many levels there are: those of the shape, and those that were added.
 * Cost: O(1). Cannot fail. */
ELAPSE_API unsigned elapse_dials_levels(const struct elapse_dials *dials);

/* Returns how many slots level `level` has; 0 if there is no such level. Level 0 is the
 * finest. Cost: O(levels). Cannot fail. */
ELAPSE_API uint32_t elapse_dials_slots(const struct elapse_dials *dials, unsigned level);

/* As elapse_wheel_for_each. Cost: O(slots / 64 + timers). Cannot fail. */
ELAPSE_API void elapse_dials_for_each(struct elapse_dials *dials, elapse_visit_function *visit,
                                      void *context);

/* As elapse_wheel_clear; levels that were added stay. Cost: O(slots / 64 + timers).
 * Cannot fail. */
ELAPSE_API void elapse_dials_clear(struct elapse_dials *dials);

/* As elapse_wheel_check, with the invariants numbered at the head of
 * src/structures/dials.c. Cost: O(slots + timers). Cannot fail. */
ELAPSE_API unsigned elapse_dials_check(const struct elapse_dials *dials);

/*
 * As elapse_wheel_dump. Parked timers are described as slot 0 of the level after the
 * coarsest, from the least deadline among them to ELAPSE_NEVER; timers armed for
 * ELAPSE_NEVER are described as slot 1 of that level.
 * Cost: O(slots / 64 + timers). Cannot fail.
 */
ELAPSE_API void elapse_dials_dump(const struct elapse_dials *dials, elapse_dump_function *describe,
                                  void *context);

#ifdef __cplusplus
}
#endif

#endif
