/*
 * Elapse: the hierarchical timing wheel.
 *
 * Starting, stopping and popping a timer cost O(1), however many timers are pending and however far
 * away their deadlines are. Time in which no timer is due costs nothing. The wheel needs only the
 * memory of its struct (some 122 KiB) and of the timers. Start, stop, advance and pop allocate
 * nothing and cannot fail.
 *
 * The small form: a wheel takes some 62 KiB if ELAPSE_WHEEL_SMALL is defined. Define it for the
 * library and for everything that includes this header. If it is defined for only one of the two,
 * elapse_wheel_init returns ELAPSE_ERROR_ABI. The small form keeps the same promises and fires the
 * same timers in the same order. It remembers fewer addresses to prefetch, so popping many timers
 * takes about a tenth more time.
 *
 * Use:
 *
 *     struct elapse_wheel wheel;
 *     struct elapse_timer *timer;
 *
 *     if (elapse_wheel_init(&wheel, now) != ELAPSE_OK)
 *         ...;                           // header and library do not match
 *     // `now` was rounded down to a tick: without the + 1 it fires up to a tick early.
 *     elapse_wheel_start(&wheel, &connection->idle, elapse_deadline_after(now, 30000 + 1));
 *     ...
 *     elapse_wheel_advance(&wheel, now);
 *     while ((timer = elapse_wheel_pop(&wheel)) != NULL)
 *         ...;                           // any call on the wheel is legal here
 *     sleep_until(elapse_wheel_next(&wheel));
 *
 * Rounding: ticks may be coarser than the clock. Then round the present time down for init and
 * advance, and round deadlines up. A delay that is counted from a time that was rounded down needs
 * one tick more. Then no timer fires early.
 *
 * The following holds for every function below, unless its comment says otherwise:
 * - Times: all times are in ticks. The caller chooses how long a tick is, and at which origin time
 *   begins.
 * - Threads: one thread at a time uses a wheel and its timers. The wheel has no lock and no clock.
 *   Different wheels are independent.
 * - The function may be called at any point between two other calls on the wheel: between pops,
 *   and between cascades. It may not be called from inside the functions given to for_each and
 *   dump.
 * - Requires that pointers are not NULL, and that a timer is idle or pending in this very wheel.
 * - Errors: the function cannot fail.
 * - Since: version 0.1.
 *
 * docs/promises.md numbers the promises, and says what they do not cover. The head of
 * src/structures/wheel.c explains the algorithm.
 */
#ifndef ELAPSE_WHEEL_H
#define ELAPSE_WHEEL_H

#include <elapse/attributes.h>
#include <elapse/error.h>
#include <elapse/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many addresses to prefetch the small form remembers. Private. */
#ifdef ELAPSE_WHEEL_SMALL
#define ELAPSE__WHEEL_HINT_DISTANCE 8
#define ELAPSE__WHEEL_TRAILS        128
#endif

/* The sizes of levels and slots. Private: only tests are built with other values. */
#ifndef ELAPSE__WHEEL_LEVEL_0_BITS
#define ELAPSE__WHEEL_LEVEL_0_BITS 7
#endif
#ifndef ELAPSE__WHEEL_DIGIT_BITS
#define ELAPSE__WHEEL_DIGIT_BITS 6
#endif
#ifndef ELAPSE__WHEEL_HINT_DISTANCE
#define ELAPSE__WHEEL_HINT_DISTANCE 16
#endif
#ifndef ELAPSE__WHEEL_TRAILS
#define ELAPSE__WHEEL_TRAILS 512
#endif
#ifndef ELAPSE__WHEEL_FEW
#define ELAPSE__WHEEL_FEW 128 /* a slot with at most this many timers is not cascaded ahead */
#endif
#ifndef ELAPSE__WHEEL_BATCH
#define ELAPSE__WHEEL_BATCH 128 /* this many timers are moved ahead at a time, if that suffices */
#endif

/* Numbers that follow from the sizes above. Private. Level 0 takes the lowest bits of a time. The
 * levels above 0 share the other bits. A level has the slots of two blocks. Each block begins at a
 * word of a bitmap. */
#define ELAPSE__WHEEL_UPPER_LEVELS                                                     \
    ((ELAPSE__TIME_BITS - ELAPSE__WHEEL_LEVEL_0_BITS + ELAPSE__WHEEL_DIGIT_BITS - 1) / \
     ELAPSE__WHEEL_DIGIT_BITS)
#define ELAPSE__WHEEL_LEVELS (1 + ELAPSE__WHEEL_UPPER_LEVELS)
#define ELAPSE__WHEEL_LEVEL_0_BLOCK \
    (ELAPSE__WHEEL_LEVEL_0_BITS < 6 ? 64 : 1 << ELAPSE__WHEEL_LEVEL_0_BITS)
#define ELAPSE__WHEEL_UPPER_BLOCK   64
#define ELAPSE__WHEEL_LEVEL_0_SLOTS (2 * ELAPSE__WHEEL_LEVEL_0_BLOCK)
#define ELAPSE__WHEEL_UPPER_SLOTS   (2 * ELAPSE__WHEEL_UPPER_BLOCK)
#define ELAPSE__WHEEL_SLOTS \
    (ELAPSE__WHEEL_LEVEL_0_SLOTS + ELAPSE__WHEEL_UPPER_LEVELS * ELAPSE__WHEEL_UPPER_SLOTS)
#define ELAPSE__WHEEL_WORDS  (ELAPSE__WHEEL_SLOTS / 64)
#define ELAPSE__WHEEL_DIGITS (1 << ELAPSE__WHEEL_DIGIT_BITS)

/* The low bits of the place of a timer are 1 + the number of its slot. They are 0 if the timer is
 * idle. Private. */
#define ELAPSE__WHEEL_PLACE_BITS (ELAPSE__WHEEL_DIGIT_BITS < 6 ? 13 : 11)
#define ELAPSE__WHEEL_PLACE_MASK ((1u << ELAPSE__WHEEL_PLACE_BITS) - 1)

/* One slot. `timers` is the ring of its timers, and the oldest timer comes first. `least` is a
 * lower bound of their deadlines. `entered` is the number of timers that have entered the slot
 * since it was last empty, less the timers that were cascaded. Private. */
struct elapse__wheel_slot {
    struct elapse__ring_node timers;
    uint64_t least;
    uint64_t entered;
};

/* The addresses of the timers that entered a slot last, to prefetch them; see
 * src/structures/wheel_hints.h. Private. */
struct elapse__wheel_trail {
    uint64_t hints[ELAPSE__WHEEL_HINT_DISTANCE];
};

/* The timers that the cascade of one slot above level 1 has put in front of lower slots, by the
 * digit of the lower slot; see src/structures/wheel_hints.h. Private. */
struct elapse__wheel_front_trail {
    uint64_t cascade; /* the number of the cascade to which the trail belongs */
    uint64_t stopped; /* `stopped` of the wheel when the last timer entered */
    uint64_t entered; /* timers put in front so far */
    struct elapse_timer *timers[ELAPSE__WHEEL_HINT_DISTANCE];
};

/*
 * The wheel. The caller allocates the struct, and may not copy or move it after init, because it
 * contains pointers into itself. A wheel needs no finish: its memory may be reused at any time, if
 * its timers are not used any more. All fields are private.
 */
struct elapse_wheel {
    uint64_t clock;                         /* the last time that the caller gave */
    uint64_t wake;                          /* pop has nothing to do before this tick */
    uint64_t least;                         /* no pending timer is due before this tick */
    uint64_t started;                       /* timers started while they were idle, since init */
    uint64_t stopped;                       /* timers stopped since init */
    uint64_t last[ELAPSE__WHEEL_LEVELS];    /* the last tick of the next block of each level */
    uint64_t pointer;                       /* the wheel's own position, which trails the clock */
    uint64_t popped;                        /* timers popped since init */
    uint64_t moves;                         /* timers moved to another slot since init */
    uint64_t ahead;                         /* no slot has to be cascaded ahead before this tick */
    uint64_t cascades;                      /* the number of cascades that used the front trails */
    uint32_t front_slot;                    /* the slot whose cascade uses them; 0: none */
    uint32_t cascading;                     /* bit l: level l's slot at the pointer has timers */
    uint32_t begun;                         /* bit l: level l has a slot that is partly cascaded */
    uint32_t least_slot;                    /* where `least` was found */
    uint64_t occupied_words;                /* bit w: occupied[w] is not 0 */
    uint64_t present_words;                 /* bit w: word w has slots of the present block */
    uint64_t populous_words;                /* bit w: populous[w] is not 0 */
    uint64_t occupied[ELAPSE__WHEEL_WORDS]; /* bit s % 64 of word s / 64: slot s has timers */
    uint64_t populous[ELAPSE__WHEEL_WORDS]; /* bit s % 64 of word s / 64: slot s had more than a few
                                               timers */
    struct elapse__wheel_slot slots[ELAPSE__WHEEL_SLOTS];
    struct elapse__wheel_trail trails[ELAPSE__WHEEL_TRAILS]; /* shared by slot number */
    struct elapse__wheel_front_trail front[ELAPSE__WHEEL_DIGITS];
};

/* elapse_wheel_init calls this function, with the size that the caller was compiled with. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_wheel_init_sized(struct elapse_wheel *wheel, size_t wheel_bytes, uint64_t now);

/*
 * Makes an empty wheel whose time is `now`. `now` may be any 64-bit number, and ELAPSE_NEVER counts
 * as ELAPSE_TIME_MAX. If the memory was a wheel before, the timers that were pending in it are
 * forgotten. Such timers must be initialised before they are used again.
 * Errors: ELAPSE_ERROR_ABI if the sizes of struct elapse_wheel in header and library differ. Then
 * nothing is written.
 * Cost: writes the struct once.
 */
ELAPSE_MUST_CHECK static inline enum elapse_error elapse_wheel_init(struct elapse_wheel *wheel,
                                                                    uint64_t now)
{
    return elapse_wheel_init_sized(wheel, sizeof *wheel, now);
}

/*
 * Arms an idle timer for the tick `deadline`. Call this function in place of elapse_wheel_start if
 * you know that the timer is idle. This function does not read the timer, which saves a cache miss.
 * Requires that the timer is idle. The memory of the timer need not be initialised. Only a build
 * with assertions requires that too, because it asserts that the timer is idle.
 * Cost: O(1).
 */
ELAPSE_API void elapse_wheel_start_idle(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                        uint64_t deadline);

/* elapse_wheel_start calls this function for a pending timer that is not merely postponed. */
ELAPSE_API void elapse_wheel_start_earlier(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                           uint64_t deadline);

/*
 * Arms `timer` for the tick `deadline`. If `timer` is pending, re-arms it, and forgets the old
 * deadline. A deadline that has passed counts as now: the current pop loop returns the timer. A
 * timer that is armed for ELAPSE_NEVER is counted but never due.
 *
 * A loop that pops a timer and starts it again for now never ends: the caller must bound
 * such a loop.
 *
 * Cost: O(1). If a pending timer is postponed to a later deadline, the cost is one store. There is
 * one exception: the timer was to be popped within the next 255 ticks, at the same tick as more
 * than 128 others. Then postponing the timer costs a stop and a start, because otherwise that tick
 * would have to move all timers that were postponed. An example is a million timers that are
 * restarted every 20 ticks for a deadline 100 ticks ahead. With one store, a restart took 45 ns,
 * and a tick moved 18,000 timers. With a stop and a start, a restart takes 82 ns, and no tick moves
 * a timer.
 */
ELAPSE_API inline void elapse_wheel_start(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                          uint64_t deadline)
{
    if (timer->place == 0)
        elapse_wheel_start_idle(wheel, timer, deadline);
    else if (deadline > timer->deadline && timer->deadline > wheel->last[0] &&
             deadline >= wheel->clock && deadline <= ELAPSE_NEVER)
        timer->deadline = deadline; /* postponed: moved when its slot's turn comes */
    else
        elapse_wheel_start_earlier(wheel, timer, deadline);
}

/*
 * Arms or re-arms `timer` for one tick in [earliest, latest] (coalescing). The wheel chooses the
 * tick that costs least and that other timers are likely to share. elapse_deadline_in_window in
 * timer.h says which tick that is, and what an empty window means. Use a window if a timer may fire
 * a little late: "30 s, and up to 2 s more" wakes the process far less often. Timers are popped in
 * the order of the ticks that were chosen.
 * Cost: that of elapse_wheel_start.
 */
ELAPSE_API void elapse_wheel_start_window(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                          uint64_t earliest, uint64_t latest);

/* elapse_wheel_stop calls this function when it has taken the last timer out of a slot. */
ELAPSE_API void elapse_wheel_close_slot(struct elapse_wheel *wheel, uint64_t place);

/*
 * Disarms `timer`. Returns true if the timer was pending. Then the timer will not be popped, also
 * if it was due already, and its memory belongs to the caller. Returns false and does nothing if
 * the timer was idle.
 * Cost: O(1).
 */
ELAPSE_API inline bool elapse_wheel_stop(struct elapse_wheel *wheel, struct elapse_timer *timer)
{
    struct elapse__ring_node *next = timer->keep.ring_node.next;
    struct elapse__ring_node *previous = timer->keep.ring_node.previous;
    uint64_t place = timer->place;

    if (place == 0)
        return false;
    previous->next = next;
    next->previous = previous;
    timer->place = 0;
    wheel->stopped++;
    if (next == previous)
        elapse_wheel_close_slot(wheel, place);
    return true;
}

/*
 * Prefetches the memory that stopping `timer` will touch, and does not wait for that memory. If you
 * know a few calls ahead which timers you will stop, prefetch a later timer before you stop the
 * present one: then the cache misses overlap.
 * Cost: reads the timer.
 */
ELAPSE_API inline void elapse_wheel_prefetch_stop(const struct elapse_timer *timer)
{
#if defined(__GNUC__)
    __builtin_prefetch(timer->keep.ring_node.next, 1);
    __builtin_prefetch(timer->keep.ring_node.previous, 1);
#else
    (void)timer;
#endif
}

/*
 * Sets the time of the wheel to `now`. From then on, timers with a deadline up to `now` are due,
 * and pop returns them. Advance itself pops and moves no timer. A time before the present time of
 * the wheel is ignored. ELAPSE_NEVER counts as ELAPSE_TIME_MAX. The time may jump by any length.
 * Cost: one comparison and one store.
 */
ELAPSE_API inline void elapse_wheel_advance(struct elapse_wheel *wheel, uint64_t now)
{
    if (now > wheel->clock)
        wheel->clock = now < ELAPSE_NEVER ? now : ELAPSE_TIME_MAX;
}

/* elapse_wheel_pop calls this function when a timer may be due. */
ELAPSE_API struct elapse_timer *elapse_wheel_pop_due(struct elapse_wheel *wheel);

/*
 * Takes the next due timer out of the wheel and returns it; the timer is idle then. Returns NULL if
 * no timer is due. Timers are popped in the order of their deadlines. Timers with one deadline are
 * popped in the order of arming. There is one exception: if a pending timer was started again for
 * the same or a later deadline, it may come at any position among the timers of its new deadline.
 * Cost: O(1) for the timer itself, and the moves of timers. After each arming a timer is moved at
 * most once for each level, and once more for each time that it was postponed. If there is nothing
 * to do, the cost is one comparison. But if the timer with the least deadline of a slot was stopped
 * or postponed, that deadline causes one spurious wake-up.
 *
 * Caveat: the timers of a slot have to be moved before the slot is due, and one tick may have to
 * move many of them. Then pop takes long, some nanoseconds for each move. How many it may be:
 * - If the time advances tick by tick, and each tick pops until NULL, then a tick moves at most 128
 *   timers on each level above 0, or n / t + 1 if that is more. n is the number of timers that
 *   entered the slot that is needed next, at most all. t is the number of ticks until it is needed:
 *   at first 128 on level 1, and 8064 on level 2.
 * - A burst of timers that are started shortly before their slot is needed enters lower levels.
 *   Only the first 129 timers of the burst enter the slot.
 * - A tick at which a block of slots ends may also move a slot of up to 128 timers on each level.
 *   Each tick may also move up to 128 timers of level 0 that were postponed.
 * - After a jump over many ticks, the first due timer waits for all timers of one slot on each
 *   level, and for the postponed timers whose former deadline has passed. No number bounds that.
 * - If a jump ends where nothing is due, pop moves at most 128 timers, or 16 (n / t + 1) if that is
 *   more.
 * If that is too long, advance tick by tick, or call elapse_wheel_cascade_ahead in the time before,
 * and elapse_wheel_cascade in steps after a jump.
 */
ELAPSE_API inline struct elapse_timer *elapse_wheel_pop(struct elapse_wheel *wheel)
{
    return wheel->clock < wheel->wake ? NULL : elapse_wheel_pop_due(wheel);
}

/*
 * Moves the timers that the next pop would have to move (the cascade), but at most `max_moves` of
 * them. Returns true if the next pop has nothing left to move. The next call goes on exactly where
 * this call has ended. Any function may be called between two calls.
 *
 *     while (!elapse_wheel_cascade(&wheel, 1000))
 *         serve_something_else();
 *     timer = elapse_wheel_pop(&wheel);
 *
 * Cost: O(max_moves).
 */
ELAPSE_API bool elapse_wheel_cascade(struct elapse_wheel *wheel, size_t max_moves);

/*
 * Moves timers that pop would have to move later (cascades ahead), but at most `max_moves` of them.
 * Returns true if no timer can be moved ahead at present, or if a timer is due. Pop a due timer
 * first. Call this function before the program sleeps: then pop has less to do when deadlines come.
 * This function does not change which timers are popped, in which order they are popped, and what
 * elapse_wheel_next returns.
 *
 *     while (nothing_else_to_do() && !elapse_wheel_cascade_ahead(&wheel, 1000))
 *         continue;
 *
 * Cost: O(max_moves).
 */
ELAPSE_API bool elapse_wheel_cascade_ahead(struct elapse_wheel *wheel, size_t max_moves);

/*
 * Returns the time from which elapse_wheel_cascade_ahead can move timers. If this time is not later
 * than elapse_wheel_now, timers can be moved ahead at once. Returns ELAPSE_NEVER if no pending
 * timer can be moved ahead. A loop that sleeps until elapse_wheel_next may sleep until this time
 * instead, if this time is earlier, and then cascade ahead. A slot of up to 128 timers is not worth
 * that, and does not count.
 * Cost: O(levels).
 */
ELAPSE_API uint64_t elapse_wheel_next_cascade(const struct elapse_wheel *wheel);

/*
 * Returns the earliest time at which a timer may be due; ELAPSE_NEVER if no timer will ever be due.
 * This time is exactly the least deadline pending, unless a timer was stopped or moved to another
 * deadline. Then this time may be earlier, but is never later. If you advance to this time and pop
 * until NULL, the next answer is strictly later. If this time is not later than elapse_wheel_now,
 * pop now.
 * Cost: O(1).
 */
ELAPSE_API uint64_t elapse_wheel_next(const struct elapse_wheel *wheel);

/*
 * Returns how many ticks are left until the deadline of `timer`. Returns 0 if the timer is due.
 * Returns ELAPSE_NEVER if the timer is armed for ELAPSE_NEVER or is idle.
 * Cost: O(1).
 */
ELAPSE_API uint64_t elapse_wheel_remaining(const struct elapse_wheel *wheel,
                                           const struct elapse_timer *timer);

/*
 * Returns the time of the wheel, which is the latest `now` that the wheel was given.
 * Cost: O(1).
 */
ELAPSE_API inline uint64_t elapse_wheel_now(const struct elapse_wheel *wheel)
{
    return wheel->clock;
}

/*
 * Returns how many timers are pending. Timers that are due but not popped yet count, and so do
 * timers that are armed for ELAPSE_NEVER.
 * Cost: O(1).
 */
ELAPSE_API inline size_t elapse_wheel_count(const struct elapse_wheel *wheel)
{
    return (size_t)(wheel->started - wheel->stopped - wheel->popped);
}

/*
 * Returns how many times a timer was moved from one slot to another since init. This number divided
 * by the number of timers started says what the levels cost. The number wraps at 2^64.
 * Cost: O(1).
 */
ELAPSE_API inline uint64_t elapse_wheel_moves(const struct elapse_wheel *wheel)
{
    return wheel->moves;
}

/*
 * Calls `visit(timer, context)` for each pending timer, in no particular order, until `visit`
 * returns false. `visit` may stop the timer that it is given. It may start or stop no other timer.
 * Cost: O(slots + timers).
 */
ELAPSE_API void elapse_wheel_for_each(struct elapse_wheel *wheel, elapse_visit_function *visit,
                                      void *context);

/*
 * Stops every timer. All timers are idle afterwards, and their memory is the caller's.
 * The time of the wheel stays as it is.
 * Cost: O(slots + timers).
 */
ELAPSE_API void elapse_wheel_clear(struct elapse_wheel *wheel);

/*
 * Examines the whole wheel. Returns 0 if all is well. Otherwise returns the number of the first
 * invariant that is broken. The head of src/structures/wheel.c numbers the invariants. A broken
 * invariant means that memory was overwritten, or that a rule above was broken: a timer was freed,
 * copied or initialised while it was pending, or was used in two structures. The check follows the
 * pointers that it finds, and can crash if they lead out of memory.
 * Cost: O(slots + timers).
 */
ELAPSE_API unsigned elapse_wheel_check(const struct elapse_wheel *wheel);

/*
 * Calls `describe(slot, context)` for each occupied slot. The finest level comes first and the
 * coarsest last. Within a level the slots come in the order of their numbers. A timer that was
 * postponed is still in the slot of its earlier deadline. The counts of all slots add up to
 * elapse_wheel_count.
 * Cost: O(slots + timers).
 */
ELAPSE_API void elapse_wheel_dump(const struct elapse_wheel *wheel, elapse_dump_function *describe,
                                  void *context);

#ifdef __cplusplus
}
#endif

#endif
