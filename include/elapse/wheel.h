/*
 * Elapse: the hierarchical timing wheel.
 *
 * Starting, stopping and popping a timer cost O(1), however many timers are pending and
 * however far away their deadlines are. Empty time costs nothing. The wheel needs no
 * memory beyond its own struct (sizeof(struct elapse_wheel), some 122 KiB) and the
 * callers' timers. Start, stop, advance and pop allocate nothing and cannot fail.
 *
 * The small form: with ELAPSE_WHEEL_SMALL defined, for the library and for everything that includes
 * this header, a wheel takes some 62 KiB. It keeps the same promises and fires the same timers in
 * the same order. It remembers fewer addresses to prefetch, so that popping a large population
 * takes about a tenth more time. Where only one side was compiled with it, elapse_wheel_init
 * returns ELAPSE_ERROR_ABI.
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
 * Rounding: where ticks are coarser than the clock, round the present down for init and
 * advance, and round deadlines up: add one tick to a delay counted from a present that was
 * rounded down. Then no timer fires early.
 *
 * What holds for every function below, unless it says otherwise:
 * - Times: in ticks, the caller's own unit, from the caller's own origin.
 * - Threads: a wheel and its timers are used by one thread at a time. The wheel has no
 *   lock and no clock. Different wheels are independent.
 * - It may be called at any point between two other calls on the wheel: between
 *   pops, between cascades. It may not be called from inside the functions given
 *   to for_each and dump.
 * - Requires that pointers are not NULL, and that a timer is idle or pending in this very
 *   wheel.
 * - Errors: none; it cannot fail.
 * - Since: version 0.1.
 *
 * The promises are numbered in docs/promises.md, which also says what they do not cover.
 * The algorithm is explained at the head of src/structures/wheel.c.
 */
#ifndef ELAPSE_WHEEL_H
#define ELAPSE_WHEEL_H

#include <elapse/attributes.h>
#include <elapse/error.h>
#include <elapse/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The addresses to prefetch, in the small form. Private. */
#ifdef ELAPSE_WHEEL_SMALL
#define ELAPSE__WHEEL_HINT_DISTANCE 8
#define ELAPSE__WHEEL_TRAILS        128
#endif

/* Geometry. Private: only tests build other values of these. */
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
#define ELAPSE__WHEEL_FEW 128 /* a slot of so many timers is not cascaded ahead */
#endif
#ifndef ELAPSE__WHEEL_BATCH
#define ELAPSE__WHEEL_BATCH 128 /* so many timers are moved ahead at a time, if that suffices */
#endif

/* Numbers that follow from it. Private. The levels above 0 share the bits that level 0
 * leaves. A level has the slots of two blocks; each of them begins a word of a bitmap. */
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

/* The low bits of a timer's place: 1 + the number of its slot; 0 if it is idle. Private. */
#define ELAPSE__WHEEL_PLACE_BITS (ELAPSE__WHEEL_DIGIT_BITS < 6 ? 13 : 11)
#define ELAPSE__WHEEL_PLACE_MASK ((1u << ELAPSE__WHEEL_PLACE_BITS) - 1)

/* One slot: the ring of its timers, oldest first; a lower bound of their
 * deadlines; and how many timers have entered it since it was last empty, less those that were
 * cascaded. Private. */
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
    uint64_t cascade; /* the number of the cascade that the trail belongs to */
    uint64_t stopped; /* `stopped` of the wheel when the last timer entered */
    uint64_t entered; /* timers put in front so far */
    struct elapse_timer *timers[ELAPSE__WHEEL_HINT_DISTANCE];
};

/*
 * The wheel. The caller allocates it, and may not copy or move it after init, because it
 * contains pointers into itself. It needs no finish:
 * its memory may be reused at any time, if its timers are not used any more. All fields are
 * private.
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
    uint64_t populous[ELAPSE__WHEEL_WORDS]; /* the same: slot s had more than a few timers */
    struct elapse__wheel_slot slots[ELAPSE__WHEEL_SLOTS];
    struct elapse__wheel_trail trails[ELAPSE__WHEEL_TRAILS]; /* shared by slot number */
    struct elapse__wheel_front_trail front[ELAPSE__WHEEL_DIGITS];
};

/* What elapse_wheel_init calls, with the size that the caller was compiled with. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_wheel_init_sized(struct elapse_wheel *wheel, size_t wheel_bytes, uint64_t now);

/*
 * Makes an empty wheel whose time is `now`, which may be any 64-bit number;
 * ELAPSE_NEVER is taken as ELAPSE_TIME_MAX. Timers pending in an earlier use
 * of the same memory are forgotten, and must be initialised before they are
 * used again.
 * Errors: ELAPSE_ERROR_ABI when the sizes of struct elapse_wheel in header and
 * library differ; nothing is written then.
 * Cost: writes the struct once.
 */
ELAPSE_MUST_CHECK static inline enum elapse_error elapse_wheel_init(struct elapse_wheel *wheel,
                                                                    uint64_t now)
{
    return elapse_wheel_init_sized(wheel, sizeof *wheel, now);
}

/*
 * Arms `timer`, which is idle, for the tick `deadline`. Use it in place of elapse_wheel_start where
 * you know that the timer is idle: it need not read the timer to find out, which saves a cache
 * miss.
 * Requires that the timer is idle. Its memory need not be initialised, except in a build with
 * assertions, which asserts it.
 * Cost: O(1).
 */
ELAPSE_API void elapse_wheel_start_idle(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                        uint64_t deadline);

/* What elapse_wheel_start calls for a pending timer that is not merely postponed. */
ELAPSE_API void elapse_wheel_start_earlier(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                           uint64_t deadline);

/*
 * Arms `timer` for the tick `deadline`, or re-arms it if it is pending, in which
 * case the old deadline is forgotten. A deadline that has passed counts as now:
 * the timer comes out of the current pop loop. ELAPSE_NEVER arms a timer that is
 * counted but never due.
 *
 * A loop that pops a timer and starts it again for now never ends: the caller must bound
 * such a loop.
 *
 * Cost: O(1); for a pending timer that is postponed to a later deadline, one store. But where the
 * timer is to be popped within the next 255 ticks, and more than 128 timers with it in one tick,
 * postponing it is a stop and a start: otherwise that tick would have to move all timers that were
 * postponed. With a million timers that are restarted every 20 ticks, 100 ticks ahead, a restart
 * took 45 ns and takes 82, and no tick moves a timer, where a tick moved 18,000.
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
 * Arms or re-arms `timer` for one tick in [earliest, latest] (coalescing). The wheel chooses
 * the tick that costs least and that other timers are likely to share; see
 * elapse_deadline_in_window in timer.h, which also says what an empty window means.
 * Use it wherever a deadline may be met a little late: "30 s, and up to 2 s
 * more" wakes the process far less often. Timers are popped in the order of the ticks chosen.
 * Cost: as start.
 */
ELAPSE_API void elapse_wheel_start_window(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                          uint64_t earliest, uint64_t latest);

/* What elapse_wheel_stop calls when it has taken the last timer out of a slot. */
ELAPSE_API void elapse_wheel_close_slot(struct elapse_wheel *wheel, uint64_t place);

/*
 * Disarms `timer`. Returns true if it was pending: it will not be popped (also
 * when it was due already), and its memory is the caller's. Returns false and
 * does nothing if it was idle.
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
 * Prefetches the memory that stopping `timer` will touch, and does not wait for it. If you
 * know a few calls ahead which timers you will stop, prefetch the next while stopping this
 * one: the cache misses then overlap.
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
 * Sets the time of the wheel to `now`. Timers with a deadline up to `now` are due from then
 * on, and pop returns them; advance itself pops and moves nothing. A time
 * before the last one is ignored; ELAPSE_NEVER is taken as
 * ELAPSE_TIME_MAX. A jump may be of any length.
 * Cost: one comparison and one store.
 */
ELAPSE_API inline void elapse_wheel_advance(struct elapse_wheel *wheel, uint64_t now)
{
    if (now > wheel->clock)
        wheel->clock = now < ELAPSE_NEVER ? now : ELAPSE_TIME_MAX;
}

/* What elapse_wheel_pop calls when a timer may be due. */
ELAPSE_API struct elapse_timer *elapse_wheel_pop_due(struct elapse_wheel *wheel);

/*
 * Takes the next due timer out of the wheel and returns it, idle; returns NULL when no
 * timer is due. Timers are popped in the order of their deadlines, and at one deadline
 * in the order of arming. There is one exception: a timer that was started again while pending,
 * at the same or a later deadline, may come at any position among the timers of its new
 * deadline.
 * Cost: O(1) for the timer itself, plus moves: each timer is
 * moved at most once per level for each arming, and once more for each time that
 * it was postponed. If the time advances tick by tick, pop moves timers ahead, some at each tick,
 * and few are left to move when they are due: on each level at most 128 timers a tick, or
 * an equal share for each tick that is left where that is more. That holds for a burst of timers
 * shortly before they are due, too. After a jump over many ticks, one
 * call may have to move all timers of one slot a level; use cascade where that matters, and
 * cascade_ahead in the time before. When there is nothing to do: one
 * comparison. But if the timer with the least deadline of a slot was stopped or postponed, that
 * deadline causes one spurious wake-up.
 */
ELAPSE_API inline struct elapse_timer *elapse_wheel_pop(struct elapse_wheel *wheel)
{
    return wheel->clock < wheel->wake ? NULL : elapse_wheel_pop_due(wheel);
}

/*
 * Does the moving that the next pop would have to do (the cascade), but moves at most
 * `max_moves` timers. Returns true once that pop has nothing left to move.
 * The next call resumes exactly where this one left off. Any function may be called
 * between two calls.
 *
 *     while (!elapse_wheel_cascade(&wheel, 1000))
 *         serve_something_else();
 *     timer = elapse_wheel_pop(&wheel);
 *
 * Cost: O(max_moves).
 */
ELAPSE_API bool elapse_wheel_cascade(struct elapse_wheel *wheel, size_t max_moves);

/*
 * Moves timers that pop would have to move later (cascades ahead), at most
 * `max_moves` of them. Returns true when nothing can be moved ahead at present, or a timer is
 * due: pop it first. Call it in the time before sleeping: pop then has less to
 * do when deadlines come. It does not change which timers are popped, in which order, or `next`.
 *
 *     while (nothing_else_to_do() && !elapse_wheel_cascade_ahead(&wheel, 1000))
 *         continue;
 *
 * Cost: O(max_moves).
 */
ELAPSE_API bool elapse_wheel_cascade_ahead(struct elapse_wheel *wheel, size_t max_moves);

/*
 * Returns the time from which elapse_wheel_cascade_ahead can move timers; a time up to
 * elapse_wheel_now means at once, and ELAPSE_NEVER means that nothing pending can be moved
 * ahead. A loop that sleeps until `next` may sleep until this time instead, if it is earlier, and
 * then cascade ahead. Few timers are not worth that: slots of up to 128 timers do not count.
 * Cost: O(levels).
 */
ELAPSE_API uint64_t elapse_wheel_next_cascade(const struct elapse_wheel *wheel);

/*
 * Returns the earliest time at which a timer may be due; ELAPSE_NEVER when no
 * timer will ever be due. It is exactly the least deadline pending, unless a
 * timer was stopped or moved to another deadline. Then it may be earlier, but
 * never later. After advancing to it and popping until NULL, the answer is
 * strictly later. A value up to elapse_wheel_now means: pop now.
 * Cost: O(1).
 */
ELAPSE_API uint64_t elapse_wheel_next(const struct elapse_wheel *wheel);

/*
 * Returns the ticks left until the deadline of `timer`: 0 when it is due, ELAPSE_NEVER
 * when it is armed for ELAPSE_NEVER or is idle.
 * Cost: O(1).
 */
ELAPSE_API uint64_t elapse_wheel_remaining(const struct elapse_wheel *wheel,
                                           const struct elapse_timer *timer);

/*
 * Returns the time of the wheel: the latest `now` that it was given.
 * Cost: O(1).
 */
ELAPSE_API inline uint64_t elapse_wheel_now(const struct elapse_wheel *wheel)
{
    return wheel->clock;
}

/*
 * Returns how many timers are pending, including those due but not yet popped and those
 * armed for ELAPSE_NEVER.
 * Cost: O(1).
 */
ELAPSE_API inline size_t elapse_wheel_count(const struct elapse_wheel *wheel)
{
    return (size_t)(wheel->started - wheel->stopped - wheel->popped);
}

/*
 * Returns how many times a timer was moved from one slot to another since init. Divided
 * by the number of timers started, it says what the levels cost. Wraps at 2^64.
 * Cost: O(1).
 */
ELAPSE_API inline uint64_t elapse_wheel_moves(const struct elapse_wheel *wheel)
{
    return wheel->moves;
}

/*
 * Calls `visit(timer, context)` for each pending timer, in no particular order,
 * until it returns false. `visit` may stop the timer that it is given; it may
 * start or stop no other.
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
 * Examines the whole wheel. Returns 0 if all is well, otherwise the number of
 * the first invariant found broken, as numbered at the head of
 * src/structures/wheel.c. A number other than 0 means that memory was overwritten
 * or that a rule above was broken: a timer was freed, copied or initialised while pending,
 * or used in two structures. The check follows the pointers it finds, and can crash if
 * they lead out of memory.
 * Cost: O(slots + timers).
 */
ELAPSE_API unsigned elapse_wheel_check(const struct elapse_wheel *wheel);

/*
 * Calls `describe(slot, context)` for each occupied slot, from the finest level
 * to the coarsest, and within a level by number. A timer that was postponed is still
 * in the slot of its earlier deadline. The counts add up to elapse_wheel_count.
 * Cost: O(slots + timers).
 */
ELAPSE_API void elapse_wheel_dump(const struct elapse_wheel *wheel, elapse_dump_function *describe,
                                  void *context);

#ifdef __cplusplus
}
#endif

#endif
