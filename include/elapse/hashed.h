/*
 * Elapse: the hashed wheel, one ring of slots and a count of rounds for each timer.
 *
 * Many programs use this design with a single wheel. A timer lies in the slot with the number
 * deadline % slots. A timer has a count of rounds: the number of visits to its slot that pass
 * before the visit at which the timer is due. Starting and stopping a timer are O(1) and never
 * fail. Waiting has a price: each turn of the wheel looks at every timer, so a timer costs delay /
 * slots visits. The hashed wheel is the right choice if most delays have no more ticks than the
 * wheel has slots. elapse_hashed_visits counts what longer delays cost.
 *
 * The caller gives the memory:
 *
 *     struct elapse_hashed hashed;
 *     size_t bytes = elapse_hashed_storage_bytes(512);
 *
 *     if (elapse_hashed_init(&hashed, 512, malloc(bytes), bytes, now) != ELAPSE_OK)
 *         ...;
 *     // `now` was rounded down to a tick: without the + 1 it fires up to a tick early.
 *     elapse_hashed_start(&hashed, &connection->idle, elapse_deadline_after(now, 300 + 1));
 *
 * Slots are visited tick by tick, except that empty slots are never visited. When time has
 * advanced by more than a turn, each occupied slot is visited once for all the turns.
 *
 * The comments of wheel.h hold here too, except where this file says otherwise. The verbs and the
 * promises are those of wheel.h. Timers with one deadline always come in the order of arming. The
 * following holds for every function below, unless its comment says otherwise:
 * - Times: all times are in ticks, as in wheel.h.
 * - Threads: one thread at a time uses the hashed wheel and its timers.
 * - Since: version 0.1.
 */
#ifndef ELAPSE_HASHED_H
#define ELAPSE_HASHED_H

#include <elapse/attributes.h>
#include <elapse/error.h>
#include <elapse/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The greatest number of slots of a hashed wheel. The least number is 1. */
#define ELAPSE_HASHED_SLOTS_MAX ((size_t)1 << 24)

/* Private: due timers are sorted by the digits of their turns. A digit has this many bits. There is
 * a bucket for each value of a digit. */
#define ELAPSE__HASHED_DIGIT_BITS 6
#define ELAPSE__HASHED_BUCKETS    64
#define ELAPSE__HASHED_DIGITS     11

/* Private: the due timers that wait to be sorted by one digit of their turns and by the digits
 * below it. */
struct elapse__hashed_digit {
    uint64_t occupied;                                        /* bit b: bucket b has timers */
    struct elapse__ring_node buckets[ELAPSE__HASHED_BUCKETS]; /* a ring if it has timers */
};

/*
 * The hashed wheel. The struct has less than 12 KiB, and most of it is used only when time jumps by
 * more than a turn. The caller allocates the struct, and may not copy or move it after init,
 * because rings contain pointers into it. Nothing needs to be released but the caller's storage.
 * All fields are private.
 */
struct elapse_hashed {
    uint64_t clock;                 /* the last time that the caller gave */
    uint64_t pointer;               /* the tick whose visit is complete, or under way */
    uint64_t jump_origin;           /* where a jump began; equals `pointer` if there is no jump */
    uint64_t turns;                 /* turns that the visit to the slot under visit stands for */
    size_t slots;                   /* the number of slots */
    size_t pointer_slot;            /* the pointer's slot */
    size_t unvisited;               /* how many of the first slots the jump has yet to visit */
    size_t visiting;                /* the slot under visit, while `aside` has timers */
    size_t count;                   /* pending timers */
    uint64_t moves;                 /* timers looked at since init */
    uint64_t visits;                /* how many of `moves` were of timers that were not due */
    uint64_t ticking_visits;        /* what `visits` would be if every tick were visited */
    struct elapse__ring_node due;   /* timers that may be popped, oldest first */
    struct elapse__ring_node aside; /* timers of the slot under visit, not looked at yet */
    struct elapse__ring_node never; /* timers armed for ELAPSE_NEVER, which no visit needs to see */
    uint64_t origin_turn;           /* the turn of `jump_origin`, when the last jump began */
    uint64_t due_turn;              /* the turn of the timers in `due`, counted from origin_turn */
    uint64_t digits_occupied;       /* bit d: digits[d] has timers */
    struct elapse__ring_node dividing; /* due timers of a bucket that is being divided */
    struct elapse__ring_node *rings;   /* a ring for each slot, in the caller's storage */
    uint64_t *occupied; /* bit s % 64 of word s / 64: ring s has timers; in storage */
    struct elapse__hashed_digit digits[ELAPSE__HASHED_DIGITS]; /* other due timers, by turn */
};

/*
 * Returns the number of bytes of storage that a hashed wheel of `slots` slots needs; SIZE_MAX if
 * `slots` is 0 or more than ELAPSE_HASHED_SLOTS_MAX. The number of timers does not matter.
 * Cost: O(1). Cannot fail.
 */
ELAPSE_API size_t elapse_hashed_storage_bytes(size_t slots);

/* elapse_hashed_init calls this function, with the size that the caller was compiled with. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_hashed_init_sized(struct elapse_hashed *hashed, size_t hashed_bytes, size_t slots,
                         void *storage, size_t storage_bytes, uint64_t now);

/*
 * Makes an empty hashed wheel of `slots` slots whose time is `now`. `slots` is 1 to
 * ELAPSE_HASHED_SLOTS_MAX. The wheel keeps its slots in the `storage_bytes` bytes at `storage`. The
 * storage belongs to the caller, who may free it when the wheel is no longer used.
 * Errors: ELAPSE_ERROR_ABI when the sizes of struct elapse_hashed in header and library
 * differ; ELAPSE_ERROR_ARGUMENT for a number of slots out of range; ELAPSE_ERROR_STORAGE when
 * `storage` is NULL, not aligned for a uint64_t and a pointer, or too small. Nothing is written
 * then.
 * Cost: O(slots).
 */
ELAPSE_MUST_CHECK static inline enum elapse_error elapse_hashed_init(struct elapse_hashed *hashed,
                                                                     size_t slots, void *storage,
                                                                     size_t storage_bytes,
                                                                     uint64_t now)
{
    return elapse_hashed_init_sized(hashed, sizeof *hashed, slots, storage, storage_bytes, now);
}

/* Does what elapse_wheel_start does. A pending timer that is started again always becomes the
 * newest timer of its deadline. Cost: O(1), one division. Cannot fail. */
ELAPSE_API void elapse_hashed_start(struct elapse_hashed *hashed, struct elapse_timer *timer,
                                    uint64_t deadline);

/* Does what elapse_wheel_start_window does. In a hashed wheel a shared tick saves wake-ups and
 * nothing else. Cost: O(1). Cannot fail. */
ELAPSE_API void elapse_hashed_start_window(struct elapse_hashed *hashed, struct elapse_timer *timer,
                                           uint64_t earliest, uint64_t latest);

/* Does what elapse_wheel_stop does. Cost: O(1), and one division for the last timer of a slot.
 * Cannot fail. */
ELAPSE_API bool elapse_hashed_stop(struct elapse_hashed *hashed, struct elapse_timer *timer);

/* Does what elapse_wheel_advance does. Visits no slot. Cost: O(1). Cannot fail. */
ELAPSE_API void elapse_hashed_advance(struct elapse_hashed *hashed, uint64_t now);

/*
 * Does what elapse_wheel_pop does. Timers with one deadline always come in the order of arming.
 * Before the first timer of a tick is popped, the slots of that tick and of the ticks before it are
 * visited.
 * Cost: O(1) for the timer itself, and the visits. A visit looks at every timer in the slot, and
 * empty slots are passed 64 at a time. If time has advanced by more than a turn, every timer that
 * is not armed for ELAPSE_NEVER is looked at once before the first timer is popped. The timers that
 * have become due are then sorted by deadline while they are popped. A timer that is due `t` turns
 * after the present turn is looked at up to log64(t) times more. One call may have to look at all
 * timers; use elapse_hashed_cascade if that matters. Cannot fail.
 */
ELAPSE_API struct elapse_timer *elapse_hashed_pop(struct elapse_hashed *hashed);

/*
 * Does what elapse_wheel_cascade does. Looks at `max_moves` timers at most, whether they are due or
 * not, and whether they are visited or sorted. Does no other work that grows with the number of
 * timers. After a call that has returned true, the next pop looks at no timer. After that pop, call
 * elapse_hashed_cascade again.
 * Cost: O(max_moves + slots / 64). Cannot fail.
 */
ELAPSE_API bool elapse_hashed_cascade(struct elapse_hashed *hashed, size_t max_moves);

/*
 * Returns the next tick at which an occupied slot is visited, whatever the rounds of its timers;
 * ELAPSE_NEVER if no timer will ever be due. This tick is at most a turn ahead of the last tick
 * visited. This tick is never later than the least deadline pending. This tick is earlier while the
 * timer with that deadline has rounds left, or while an earlier slot is occupied. So a timer costs
 * as many spurious wake-ups as it has rounds. If you advance to this tick and pop until NULL, the
 * next answer is strictly later. If this tick is not later than elapse_hashed_now, pop now.
 * Cost: O(slots / 64). Cannot fail.
 */
ELAPSE_API uint64_t elapse_hashed_next(const struct elapse_hashed *hashed);

/* Does what elapse_wheel_remaining does. Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_hashed_remaining(const struct elapse_hashed *hashed,
                                            const struct elapse_timer *timer);

/* Does what elapse_wheel_now does. Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_hashed_now(const struct elapse_hashed *hashed);

/* Does what elapse_wheel_count does. Cost: O(1). Cannot fail. */
ELAPSE_API size_t elapse_hashed_count(const struct elapse_hashed *hashed);

/* Returns the number of slots. Cost: O(1). Cannot fail. */
ELAPSE_API size_t elapse_hashed_slots(const struct elapse_hashed *hashed);

/*
 * Returns the rounds of `timer`: how many visits to the slot of the timer will pass, after the last
 * tick visited, before the visit at which the timer is due. Returns 0 for a timer that is due or
 * idle. Returns ELAPSE_NEVER for a timer that is armed for ELAPSE_NEVER. Cost: O(1). Cannot fail.
 */
ELAPSE_API uint64_t elapse_hashed_rounds(const struct elapse_hashed *hashed,
                                         const struct elapse_timer *timer);

/* Returns how many times a timer was looked at since init. Looks by visits and looks for sorting
 * count, at timers that are due and at timers that are not. The number wraps at 2^64. Cost: O(1).
 * Cannot fail. */
ELAPSE_API uint64_t elapse_hashed_moves(const struct elapse_hashed *hashed);

/*
 * Returns how many times a timer was looked at that was not due. A wheel with enough slots would
 * need none of these visits. The number wraps at 2^64.
 * Cost: O(1). Cannot fail.
 */
ELAPSE_API uint64_t elapse_hashed_visits(const struct elapse_hashed *hashed);

/*
 * Returns how many visits elapse_hashed_visits would have counted if the wheel had visited the slot
 * of every tick, one after the other. The number is greater than that of elapse_hashed_visits if
 * time has ever advanced by more than a turn at once. A timer counts as armed at the last tick
 * visited, which is the time of the wheel after a loop that popped until NULL. The number wraps at
 * 2^64.
 * Cost: O(1). Cannot fail.
 */
ELAPSE_API uint64_t elapse_hashed_ticking_visits(const struct elapse_hashed *hashed);

/* Does what elapse_wheel_for_each does. Cost: O(slots + timers). Cannot fail. */
ELAPSE_API void elapse_hashed_for_each(struct elapse_hashed *hashed, elapse_visit_function *visit,
                                       void *context);

/* Does what elapse_wheel_clear does. Cost: O(slots + timers). Cannot fail. */
ELAPSE_API void elapse_hashed_clear(struct elapse_hashed *hashed);

/* Does what elapse_wheel_check does. The head of src/structures/hashed.c numbers the invariants.
 * Cost: O(slots + timers). Cannot fail. */
ELAPSE_API unsigned elapse_hashed_check(const struct elapse_hashed *hashed);

/*
 * Does what elapse_wheel_dump does. Every slot is on level 0. The first tick of a slot is the next
 * tick at which the slot is visited. The last tick of a slot is the greatest deadline in it.
 * `least` is the least deadline in it. Two more slots come after the slots of the wheel. The timers
 * that may be popped are described as the slot with the number elapse_hashed_slots. The timers
 * armed for ELAPSE_NEVER are described as the slot after that one.
 * Cost: O(slots + timers). Cannot fail.
 */
ELAPSE_API void elapse_hashed_dump(const struct elapse_hashed *hashed,
                                   elapse_dump_function *describe, void *context);

#ifdef __cplusplus
}
#endif

#endif
