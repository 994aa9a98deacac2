/*
 * Elapse: dials, the hierarchical timing wheel with any number of slots on each level.
 *
 * Each level is a dial of two or more slots. The caller chooses the number of slots of each dial. A
 * slot of the finest dial is one tick. A slot of another dial is as wide as the whole dial below
 * it. Three classical designs can be built from dials. The first has 60 seconds, 60 minutes, 24
 * hours and 30 days, like a clock face. The second has 512 slots, and another dial of 512 slots is
 * made only when a deadline needs it. The third has four dials of 16 slots for small machines, and
 * takes less than 2 KiB in all. If you need none of these designs, use the wheel of wheel.h, which
 * is faster.
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
 * A deadline can lie beyond the reach of the coarsest dial. Then dials with an allocator grow by
 * another dial. Dials without an allocator park the timer. They look at the parked timer again each
 * time that its deadline may have come within reach, which is at most once in a turn of the
 * coarsest dial.
 *
 * The comments of wheel.h hold here too, except where this file says otherwise. The verbs, the
 * order of timers and the promises are those of wheel.h. The following holds for every function
 * below, unless its comment says otherwise:
 * - Times: all times are in ticks, as in wheel.h.
 * - Threads: one thread at a time uses the dials and their timers.
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

/* One dial. A dial lies in the storage, or in memory from the allocator. Private. */
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
    struct elapse__dials_level *coarsest; /* the coarsest level */
    struct elapse__ring_node parked;      /* timers whose deadlines are out of reach */
    struct elapse__ring_node aside;       /* parked timers that a visit has yet to look at */
    struct elapse__ring_node never;       /* timers armed for ELAPSE_NEVER */
    uint64_t parked_least;                /* no deadline in `parked` is earlier than this */
    struct elapse_allocator growth;       /* its functions are NULL if the dials do not grow */
    uint32_t levels;                      /* the number of levels */
    uint32_t storage_levels;              /* the number of levels that are in the storage */
    bool cascaded;                        /* every timer due at the pointer is on level 0 */
};

/*
 * Returns the number of bytes of storage that dials of this shape need. A slot takes some 16 bytes.
 * A shape of dials has 1 to ELAPSE_SHAPE_LEVELS_MAX levels of 2 or more slots. A shape of NULL
 * stands for eight levels of 256 slots, which reach every deadline and take some 33 KiB. Returns
 * SIZE_MAX if the shape is not a shape of dials, if its allocator lacks a function, or if memory
 * cannot hold so much.
 * Cost: O(levels). Cannot fail.
 */
ELAPSE_API size_t elapse_dials_storage_bytes(const struct elapse_shape *shape);

/* elapse_dials_init calls this function, with the size that the caller was compiled with. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_dials_init_sized(struct elapse_dials *dials, size_t dials_bytes,
                        const struct elapse_shape *shape, void *storage, size_t storage_bytes,
                        uint64_t now);

/*
 * Makes empty dials of this shape whose time is `now`. The dials keep their slots in the
 * `storage_bytes` bytes at `storage`. The storage belongs to the caller, who may free it when the
 * dials are no longer used. A shape of NULL means the same as for elapse_dials_storage_bytes. If
 * the shape has an allocator, the dials can grow by further levels. A further level is made when a
 * deadline needs it, and has as many slots as the last level of the shape.
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
 * Gives the further levels back to the allocator. Requires that elapse_dials_init has succeeded,
 * and that elapse_dials_finish was not called after it. Timers that are still in the dials are
 * forgotten. The only call that the dials allow after this one is elapse_dials_init. Dials that
 * cannot grow need no finish.
 * Cost: O(levels). Cannot fail.
 */
ELAPSE_API void elapse_dials_finish(struct elapse_dials *dials);

/*
 * Adds the levels that delays of up to `delay` ticks need. After that, a start with such a delay
 * cannot fail. A delay begins at the time at which pop last returned NULL, or at which init was
 * called. A delay ends at the deadline, or at the present time if that is later. So if you let time
 * jump, and start timers before you pop the timers that came due, reserve the length of the jump as
 * well. After ELAPSE_NEVER was reserved, no start can fail. Does nothing in dials that do not grow.
 * Errors: ELAPSE_ERROR_MEMORY if the allocator has no memory. Levels that were made before the
 * error stay.
 * Cost: O(levels), and the cost of the allocator.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_dials_reserve(struct elapse_dials *dials,
                                                                    uint64_t delay);

/*
 * Does what elapse_wheel_start does. A pending timer that is started again always comes after the
 * timers that have its new deadline already.
 * Errors: ELAPSE_ERROR_MEMORY if the dials have to grow and the allocator has no memory. Then a
 * pending timer stays as it was, and an idle timer stays idle. Levels that were made before the
 * error stay. Starts in dials that do not grow cannot fail.
 * Cost: O(levels). The first start after a jump of time over slots that have timers also
 * searches the bitmap of each level, 64 slots at a time.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_dials_start(struct elapse_dials *dials, struct elapse_timer *timer, uint64_t deadline);

/* Does what elapse_wheel_start_window does. Errors, cost: as elapse_dials_start. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_dials_start_window(struct elapse_dials *dials,
                                                                         struct elapse_timer *timer,
                                                                         uint64_t earliest,
                                                                         uint64_t latest);

/* Does what elapse_wheel_stop does. Cost: O(1); O(levels) for the last timer of a slot. Cannot
 * fail. */
ELAPSE_API bool elapse_dials_stop(struct elapse_dials *dials, struct elapse_timer *timer);

/* Does what elapse_wheel_advance does. Cost: one comparison and one store. Cannot fail. */
ELAPSE_API inline void elapse_dials_advance(struct elapse_dials *dials, uint64_t now)
{
    if (now > dials->clock)
        dials->clock = now < ELAPSE_NEVER ? now : ELAPSE_TIME_MAX;
}

/* elapse_dials_pop calls this function when there may be work to do. */
ELAPSE_API struct elapse_timer *elapse_dials_pop_due(struct elapse_dials *dials);

/*
 * Does what elapse_wheel_pop does. Timers with one deadline always come in the order of arming.
 * Cost: O(1) for the timer itself, and the moves that are due. After each arming a timer is moved
 * at most once for each level. A parked timer is moved once more in each turn of the coarsest
 * level. The pop of the last timer of a tick also searches for the next occupied slot: at most the
 * bitmap of each level, 64 slots at a time. If there is no work to do, the cost is one comparison.
 * Cannot fail.
 */
ELAPSE_API inline struct elapse_timer *elapse_dials_pop(struct elapse_dials *dials)
{
    return dials->clock < dials->wake ? NULL : elapse_dials_pop_due(dials);
}

/* Does what elapse_wheel_cascade does. Cost: O(max_moves), and the search for occupied slots that
 * elapse_dials_pop does. Cannot fail. */
ELAPSE_API bool elapse_dials_cascade(struct elapse_dials *dials, size_t max_moves);

/*
 * Returns the earliest time at which there may be work to do; ELAPSE_NEVER if no timer will ever be
 * due. This time is never later than the least deadline pending. This time may be earlier by up to
 * the width of the slot in which that deadline lies, because the timers of a slot are moved to a
 * finer level at the first tick of the slot. After a stop or a re-arming this time may be earlier
 * still, which costs one spurious wake-up. If you advance to this time and pop until NULL, the next
 * answer is strictly later. If this time is not later than elapse_dials_now, pop now.
 * Cost: O(1). Cannot fail.
 */
ELAPSE_API inline uint64_t elapse_dials_next(const struct elapse_dials *dials)
{
    return dials->wake;
}

/* Does what elapse_wheel_remaining does. Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_dials_remaining(const struct elapse_dials *dials,
                                           const struct elapse_timer *timer);

/* Does what elapse_wheel_now does. Cost: O(1). Cannot fail. */
ELAPSE_API inline uint64_t elapse_dials_now(const struct elapse_dials *dials)
{
    return dials->clock;
}

/* Does what elapse_wheel_count does. Cost: O(1). Cannot fail. */
ELAPSE_API inline size_t elapse_dials_count(const struct elapse_dials *dials)
{
    return dials->count;
}

/* Does what elapse_wheel_moves does. Cost: O(1). Cannot fail. */
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

/* Does what elapse_wheel_for_each does. Cost: O(slots / 64 + timers). Cannot fail. */
ELAPSE_API void elapse_dials_for_each(struct elapse_dials *dials, elapse_visit_function *visit,
                                      void *context);

/* Does what elapse_wheel_clear does. Levels that were added stay. Cost: O(slots / 64 + timers).
 * Cannot fail. */
ELAPSE_API void elapse_dials_clear(struct elapse_dials *dials);

/* Does what elapse_wheel_check does. The head of src/structures/dials.c numbers the invariants.
 * Cost: O(slots + timers). Cannot fail. */
ELAPSE_API unsigned elapse_dials_check(const struct elapse_dials *dials);

/*
 * Does what elapse_wheel_dump does. The parked timers are described as slot 0 of the level after
 * the coarsest level. That slot covers the ticks from the least deadline of the parked timers to
 * ELAPSE_NEVER. The timers armed for ELAPSE_NEVER are described as slot 1 of the level after the
 * coarsest level.
 * Cost: O(slots / 64 + timers). Cannot fail.
 */
ELAPSE_API void elapse_dials_dump(const struct elapse_dials *dials, elapse_dump_function *describe,
                                  void *context);

#ifdef __cplusplus
}
#endif

#endif
