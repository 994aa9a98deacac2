/*
 * Elapse: the hashed wheel, one ring of slots and a count of rounds for each timer.
 *
 * This is the single-wheel design of many programs. A timer lies in slot deadline % slots, and
 * has a count of rounds: the visits to its slot that pass before the visit at which it is due.
 * Starting and stopping are O(1) and never fail. The price is paid while timers wait: each turn of
 * the wheel looks at every timer in an occupied slot, so a timer costs delay / slots visits. The
 * hashed wheel is the right choice where delays are seldom longer than the wheel has slots;
 * elapse_hashed_visits counts what longer delays cost.
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
 * Verbs and promises are those of wheel.h, whose comments hold here too, except where this
 * file says otherwise. Timers with one deadline always come in the order of arming. What holds for
 * every function below, unless it says otherwise:
 * - Times: in ticks, as in wheel.h.
 * - Threads: one at a time, as in wheel.h.
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

/* The most slots that a hashed wheel can have; the least is 1. */
#define ELAPSE_HASHED_SLOTS_MAX ((size_t)1 << 24)

/* Private: turns are sorted by digits of so many bits, with a bucket for each value of a digit. */
#define ELAPSE__HASHED_DIGIT_BITS 6
#define ELAPSE__HASHED_BUCKETS    64
#define ELAPSE__HASHED_DIGITS     11

/* Private: the due timers that wait to be sorted by one digit of their turns, and those below. */
struct elapse__hashed_digit {
    uint64_t occupied;                                        /* bit b: bucket b has timers */
    struct elapse__ring_node buckets[ELAPSE__HASHED_BUCKETS]; /* a ring if it has timers */
};

/*
 * The hashed wheel, of less than 12 KiB, most of which only a jump of more than a turn uses. The
 * caller allocates it, and may not copy or move it after init: rings point back into it. There is
 * nothing to destroy but the caller's storage. All fields are private.
 */
struct elapse_hashed {
    uint64_t clock;                 /* the last time that the caller gave */
    uint64_t pointer;               /* the tick whose visit is complete, or under way */
    uint64_t jump_origin;           /* the pointer before the jump under way; pointer: no jump */
    uint64_t turns;                 /* turns that the visit to the slot under visit stands for */
    size_t slots;                   /* how many slots there are */
    size_t pointer_slot;            /* the pointer's slot */
    size_t unvisited;               /* the jump has yet to visit the first so many slots */
    size_t visiting;                /* the slot under visit, while `aside` has timers */
    size_t count;                   /* pending timers */
    uint64_t moves;                 /* timers looked at since init */
    uint64_t visits;                /* of these, timers that were not due */
    uint64_t ticking_visits;        /* what `visits` would be if every tick were visited */
    struct elapse__ring_node due;   /* timers that may be popped, oldest first */
    struct elapse__ring_node aside; /* timers of the slot under visit, not looked at yet */
    struct elapse__ring_node never; /* timers armed for ELAPSE_NEVER, which no visit needs to see */
    uint64_t origin_turn;           /* the turn of `jump_origin`, when the last jump began */
    uint64_t due_turn;              /* the turn of the timers in `due`, counted from that one */
    uint64_t digits_occupied;       /* bit d: digits[d] has timers */
    struct elapse__ring_node dividing; /* due timers of a bucket that is being divided */
    struct elapse__ring_node *rings;   /* one for each slot, in the caller's storage */
    uint64_t *occupied; /* bit s % 64 of word s / 64: ring s has timers; in storage */
    struct elapse__hashed_digit digits[ELAPSE__HASHED_DIGITS]; /* other due timers, by turn */
};

/*
 * Returns the bytes of storage that a hashed wheel of `slots` slots needs; SIZE_MAX when `slots`
 * is 0 or more than ELAPSE_HASHED_SLOTS_MAX. The number of timers does not matter.
 * Cost: O(1). Cannot fail.
 */
ELAPSE_API size_t elapse_hashed_storage_bytes(size_t slots);

/* What elapse_hashed_init calls, with the size that the caller was compiled with. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_hashed_init_sized(struct elapse_hashed *hashed, size_t hashed_bytes, size_t slots,
                         void *storage, size_t storage_bytes, uint64_t now);

/*
 * Makes an empty hashed wheel of `slots` slots, any number from 1 to ELAPSE_HASHED_SLOTS_MAX,
 * whose time is `now`. It keeps the slots in the `storage_bytes` bytes at `storage`. The storage
 * stays the caller's, to be freed when the wheel is no longer used.
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

/* As elapse_wheel_start, but a pending timer always becomes the newest of its deadline.
 * Cost: O(1), one division. Cannot fail. */
ELAPSE_API void elapse_hashed_start(struct elapse_hashed *hashed, struct elapse_timer *timer,
                                    uint64_t deadline);

/* As elapse_wheel_start_window; here a shared tick saves wake-ups and nothing else.
 * Cost: O(1). Cannot fail. */
ELAPSE_API void elapse_hashed_start_window(struct elapse_hashed *hashed, struct elapse_timer *timer,
                                           uint64_t earliest, uint64_t latest);

/* As elapse_wheel_stop. Cost: O(1), and one division for the last timer of a ring. Cannot fail. */
ELAPSE_API bool elapse_hashed_stop(struct elapse_hashed *hashed, struct elapse_timer *timer);

/* As elapse_wheel_advance; it visits no slot. Cost: O(1). Cannot fail. */
ELAPSE_API void elapse_hashed_advance(struct elapse_hashed *hashed, uint64_t now);

/*
 * As elapse_wheel_pop, and always in the order of arming at one deadline. Before the first
 * timer of a tick is popped, the slots of that tick and of the ticks before it are visited.
 * Cost: O(1) for the timer itself, plus the visits: every timer in a slot is looked at in every
 * turn, and empty slots are passed 64 at a time. When time has advanced by more than a turn, every
 * timer that is not armed for ELAPSE_NEVER is looked at once before the first is popped. The
 * timers that have become due are then sorted by deadline while they are popped: one that is due
 * in the turn `t` after the present one is looked at up to log64(t) times more. One call may have
 * to look at all timers; use cascade where that matters. Cannot fail.
 */
ELAPSE_API struct elapse_timer *elapse_hashed_pop(struct elapse_hashed *hashed);

/*
 * As elapse_wheel_cascade: looks at `max_moves` timers at most, whether they are due or not, and
 * whether they are visited or sorted. It does no other work that grows with the number of timers.
 * When it has returned true, the next pop looks at no timer; after that pop call it again.
 * Cost: O(max_moves + slots / 64). Cannot fail.
 */
ELAPSE_API bool elapse_hashed_cascade(struct elapse_hashed *hashed, size_t max_moves);

/*
 * Returns the next tick at which an occupied slot is visited, whatever the rounds of its timers;
 * ELAPSE_NEVER when no timer will ever be due. It is at most a turn ahead of the last tick visited.
 * It is never later than the least deadline pending, and it is earlier while that timer has rounds
 * left, or while an earlier slot is occupied: a timer costs as many spurious wake-ups as it has
 * rounds. After advancing to it and popping until NULL, the answer is strictly later. A value up
 * to elapse_hashed_now means: pop now.
 * Cost: O(slots / 64). Cannot fail.
 */
ELAPSE_API uint64_t elapse_hashed_next(const struct elapse_hashed *hashed);

/* As elapse_wheel_remaining. Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_hashed_remaining(const struct elapse_hashed *hashed,
                                            const struct elapse_timer *timer);

/* As elapse_wheel_now. Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_hashed_now(const struct elapse_hashed *hashed);

/* As elapse_wheel_count. Cost: O(1). Cannot fail. */
ELAPSE_API size_t elapse_hashed_count(const struct elapse_hashed *hashed);

/* Returns how many slots there are. Cost: O(1). Cannot fail. */
ELAPSE_API size_t elapse_hashed_slots(const struct elapse_hashed *hashed);

/*
 * Returns the rounds of `timer`: how many visits to its slot will pass, after the last tick
 * visited, before the visit at which it is due. Returns 0 for a timer that is due or idle, and
 * ELAPSE_NEVER for one armed for ELAPSE_NEVER. Cost: O(1). Cannot fail.
 */
ELAPSE_API uint64_t elapse_hashed_rounds(const struct elapse_hashed *hashed,
                                         const struct elapse_timer *timer);

/* Returns how many times a timer was looked at since init, due or not, to visit or to sort it.
 * Wraps at 2^64. Cost: O(1). Cannot fail. */
ELAPSE_API uint64_t elapse_hashed_moves(const struct elapse_hashed *hashed);

/*
 * Returns how many times a timer was looked at that was not due. A wheel with enough slots would
 * spare these visits. Wraps at 2^64.
 * Cost: O(1). Cannot fail.
 */
ELAPSE_API uint64_t elapse_hashed_visits(const struct elapse_hashed *hashed);

/*
 * Returns how many visits elapse_hashed_visits would have counted if the wheel had visited the slot
 * of every tick, one after the other. It is more than elapse_hashed_visits if time ever advanced by
 * more than a turn at once. A timer counts as armed at the last tick visited, which is the clock
 * after a loop that popped until NULL. Wraps at 2^64.
 * Cost: O(1). Cannot fail.
 */
ELAPSE_API uint64_t elapse_hashed_ticking_visits(const struct elapse_hashed *hashed);

/* As elapse_wheel_for_each. Cost: O(slots + timers). Cannot fail. */
ELAPSE_API void elapse_hashed_for_each(struct elapse_hashed *hashed, elapse_visit_function *visit,
                                       void *context);

/* As elapse_wheel_clear. Cost: O(slots + timers). Cannot fail. */
ELAPSE_API void elapse_hashed_clear(struct elapse_hashed *hashed);

/* As elapse_wheel_check, with the invariants numbered at the head of
 * src/structures/hashed.c. Cost: O(slots + timers). Cannot fail. */
ELAPSE_API unsigned elapse_hashed_check(const struct elapse_hashed *hashed);

/*
 * As elapse_wheel_dump, with every slot on level 0. The first tick of a slot is the next tick at
 * which it is visited, its last tick is the greatest deadline in it, and `least` is the least
 * deadline in it. Two more slots come after these: the timers that may be popped, as slot number
 * elapse_hashed_slots, and after it the timers armed for ELAPSE_NEVER.
 * Cost: O(slots + timers). Cannot fail.
 */
ELAPSE_API void elapse_hashed_dump(const struct elapse_hashed *hashed,
                                   elapse_dump_function *describe, void *context);

#ifdef __cplusplus
}
#endif

#endif
