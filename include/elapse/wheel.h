/*
 * Elapse: the hierarchical timing wheel.
 *
 * Starting, stopping and popping a timer cost O(1), however many are pending and
 * however far their deadlines lie; empty time costs nothing. The wheel needs no
 * memory beyond its own struct (sizeof(struct elapse_wheel), some 56 KiB) and the
 * callers' timers; start, stop, advance and pop allocate nothing and cannot fail.
 *
 * Use:
 *
 *     struct elapse_wheel wheel;
 *     struct elapse_timer *timer;
 *
 *     if (elapse_wheel_init(&wheel, now) != ELAPSE_OK)
 *         ...;                           // header and library do not match
 *     elapse_wheel_start(&wheel, &connection->idle, now + 30000);
 *     ...
 *     elapse_wheel_advance(&wheel, now);
 *     while ((timer = elapse_wheel_pop(&wheel)) != NULL)
 *         ...;                           // any call on the wheel is legal here
 *     sleep_until(elapse_wheel_next(&wheel));
 *
 * What holds for every function below, unless it says otherwise:
 * - Times: in ticks, the caller's own unit, from the caller's own origin.
 * - Threads: a wheel and its timers are used by one thread at a time; there is no
 *   lock inside, and no clock. Different wheels are independent.
 * - It may be called at any point between two other calls on the wheel: between
 *   pops, between cascades. It may not be called from inside the functions given
 *   to for_each and dump.
 * - Pointers must not be NULL; a timer must be idle or pending in this very
 *   wheel.
 * - Errors: none; it cannot fail.
 * - Since: version 0.1.
 *
 * The promises, with what they do not cover, are numbered in docs/promises.md.
 * The algorithm is told at the head of src/structures/wheel.c.
 */
#ifndef ELAPSE_WHEEL_H
#define ELAPSE_WHEEL_H

#include <elapse/attributes.h>
#include <elapse/error.h>
#include <elapse/timer.h>

#ifdef __cplusplus
extern "C" {
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
#define ELAPSE__WHEEL_TRAILS 256

/* What follows from it. Private. Levels above 0 share what level 0 leaves. */
#define ELAPSE__WHEEL_UPPER_LEVELS                                                     \
    ((ELAPSE__TIME_BITS - ELAPSE__WHEEL_LEVEL_0_BITS + ELAPSE__WHEEL_DIGIT_BITS - 1) / \
     ELAPSE__WHEEL_DIGIT_BITS)
#define ELAPSE__WHEEL_LEVELS        (1 + ELAPSE__WHEEL_UPPER_LEVELS)
#define ELAPSE__WHEEL_LEVEL_0_SLOTS (1 << ELAPSE__WHEEL_LEVEL_0_BITS)
#define ELAPSE__WHEEL_DIGIT_SLOTS   (1 << ELAPSE__WHEEL_DIGIT_BITS)
#define ELAPSE__WHEEL_SLOTS \
    (ELAPSE__WHEEL_LEVEL_0_SLOTS + ELAPSE__WHEEL_UPPER_LEVELS * ELAPSE__WHEEL_DIGIT_SLOTS)
#define ELAPSE__WHEEL_WORDS ((ELAPSE__WHEEL_SLOTS + 63) / 64)

/* One slot: the ring of its timers, oldest first, a lower bound of their
 * deadlines, and how many have left an address on its trail since it was last
 * empty. Private. */
struct elapse__wheel_slot {
    struct elapse__link timers;
    uint64_t least;
    uint64_t entered;
};

/* Where the timers that entered a slot last lie in memory, to prefetch them; see
 * src/structures/wheel_hints.h. Private. */
struct elapse__wheel_trail {
    uint64_t hints[ELAPSE__WHEEL_HINT_DISTANCE];
};

/*
 * The wheel. The caller allocates it, on the stack if it likes, and may not copy
 * or move it after init: rings inside point back into it. There is nothing to
 * destroy; forgetting it (with its timers) is enough. All fields are private.
 */
struct elapse_wheel {
    uint64_t clock;                         /* the last time that the caller gave */
    uint64_t wake;                          /* no pending timer is due before this tick */
    uint64_t pointer;                       /* the wheel's own position, which trails the clock */
    uint32_t occupied_words;                /* bit w: occupied[w] is not 0 */
    uint32_t cascading;                     /* number of the slot that is half drained; 0: none */
    size_t count;                           /* pending timers */
    uint64_t moves;                         /* timers moved to another slot since init */
    uint64_t occupied[ELAPSE__WHEEL_WORDS]; /* bit s % 64 of word s / 64: slot s has timers */
    struct elapse__wheel_slot slots[ELAPSE__WHEEL_SLOTS];
    struct elapse__wheel_trail trails[ELAPSE__WHEEL_TRAILS]; /* shared by slot number */
};

/* What elapse_wheel_init calls, with the size that the caller was compiled with. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_wheel_init_sized(struct elapse_wheel *wheel, size_t wheel_bytes, uint64_t now);

/*
 * Makes an empty wheel whose time is `now`. Any 64-bit origin will do; a `now`
 * of ELAPSE_NEVER is taken as ELAPSE_TIME_MAX. Timers pending in an earlier use
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

/* What elapse_wheel_start calls for a timer that is idle, and for one that is
 * pending and not just put off. */
ELAPSE_API void elapse_wheel_start_idle(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                        uint64_t deadline);
ELAPSE_API void elapse_wheel_start_earlier(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                           uint64_t deadline);

/*
 * Arms `timer` for the tick `deadline`, or re-arms it if it is pending, in which
 * case the old deadline is forgotten. A deadline that has passed counts as now:
 * the timer comes out of the current pop loop. ELAPSE_NEVER arms a timer that is
 * counted but never due.
 *
 * A loop that pops a timer and starts it again for now never ends: bounding that
 * is the caller's.
 *
 * Cost: O(1); for a pending timer that is put off to a later deadline, one store.
 */
ELAPSE_API inline void elapse_wheel_start(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                          uint64_t deadline)
{
    if (timer->place == 0)
        elapse_wheel_start_idle(wheel, timer, deadline);
    else if (deadline > timer->deadline && deadline >= wheel->clock && deadline <= ELAPSE_NEVER)
        timer->deadline = deadline; /* put off: placed when its slot's turn comes */
    else
        elapse_wheel_start_earlier(wheel, timer, deadline);
}

/*
 * Arms or re-arms `timer` for some tick in [earliest, latest]: the wheel takes
 * the one that costs least and that other timers are likely to share, see
 * elapse_deadline_in_window in timer.h, which also tells how odd windows are
 * read. Use it wherever a deadline may be met a little late: "30 s, and up to 2 s
 * more" wakes the process far less often. Order goes by the tick chosen.
 * Cost: as start.
 */
ELAPSE_API void elapse_wheel_start_window(struct elapse_wheel *wheel, struct elapse_timer *timer,
                                          uint64_t earliest, uint64_t latest);

/* What elapse_wheel_stop calls when it has taken the last timer out of a slot. */
ELAPSE_API void elapse_wheel_close_slot(struct elapse_wheel *wheel, uint64_t place);

/*
 * Disarms `timer`. Returns true if it was pending: it will not be popped (also
 * when it was due already), and its memory is the caller's. Returns false, and
 * does nothing, if it was idle.
 * Cost: O(1).
 */
ELAPSE_API inline bool elapse_wheel_stop(struct elapse_wheel *wheel, struct elapse_timer *timer)
{
    struct elapse__link *next = timer->keep.link.next;
    struct elapse__link *previous = timer->keep.link.previous;
    uint64_t place = timer->place;

    if (place == 0)
        return false;
    previous->next = next;
    next->previous = previous;
    timer->place = 0;
    wheel->count--;
    if (next == previous)
        elapse_wheel_close_slot(wheel, place);
    return true;
}

/*
 * Asks the processor for the memory that stopping `timer` will touch, and does not
 * wait for it. Who knows some calls ahead which timers are to be stopped, and asks for
 * the next while stopping one, has the cache misses overlap.
 * Cost: reads the timer.
 */
ELAPSE_API inline void elapse_wheel_prefetch_stop(const struct elapse_timer *timer)
{
#if defined(__GNUC__)
    __builtin_prefetch(timer->keep.link.next, 1);
    __builtin_prefetch(timer->keep.link.previous, 1);
#else
    (void)timer;
#endif
}

/*
 * Tells the wheel that it is `now`. Nothing is popped or moved by it: timers with
 * a deadline up to `now` are due from here on, and pop hands them out. A time
 * before the one given last is ignored; ELAPSE_NEVER is taken as
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
 * Takes the next due timer out of the wheel and returns it, idle; NULL when no
 * timer is due. Timers come in the order of their deadlines, and at one deadline
 * in the order of arming; only a timer that was started again while pending, at
 * the same or a later deadline, may come at any position among those of its new
 * deadline.
 * Cost: O(1) for the timer itself, plus the moves that are due: each timer is
 * moved at most once per level for each arming, and once more for each time that
 * it was put off. One call may have to move the population of a whole slot; see
 * cascade where that matters. Moving takes some 9 KiB of stack. When nothing is due: one
 * comparison, except that for a slot whose least deadline went stale, because its timer was stopped
 * or put off, there is one wake-up in vain.
 */
ELAPSE_API inline struct elapse_timer *elapse_wheel_pop(struct elapse_wheel *wheel)
{
    return wheel->clock < wheel->wake ? NULL : elapse_wheel_pop_due(wheel);
}

/*
 * Does the moving that the next pop would have to do, but moves at most
 * `max_moves` timers, and returns true once that pop has nothing left to move.
 * The next call resumes exactly where this one left off; between two calls
 * anything may be called.
 *
 *     while (!elapse_wheel_cascade(&wheel, 1000))
 *         serve_something_else();
 *     timer = elapse_wheel_pop(&wheel);
 *
 * Cost: O(max_moves), and some 9 KiB of stack.
 */
ELAPSE_API bool elapse_wheel_cascade(struct elapse_wheel *wheel, size_t max_moves);

/*
 * The earliest time at which there may be something to do; ELAPSE_NEVER when no
 * timer will ever be due. It is the least deadline pending, exactly, unless a
 * timer was stopped or moved to another deadline since; then it may be earlier,
 * never later. After advancing to it and popping until NULL, the answer is
 * strictly later. A value up to elapse_wheel_now means: pop now.
 * Cost: O(1).
 */
ELAPSE_API uint64_t elapse_wheel_next(const struct elapse_wheel *wheel);

/*
 * The ticks left until the deadline of `timer`: 0 when it is due, ELAPSE_NEVER
 * when it is armed for ELAPSE_NEVER or is idle.
 * Cost: O(1).
 */
ELAPSE_API uint64_t elapse_wheel_remaining(const struct elapse_wheel *wheel,
                                           const struct elapse_timer *timer);

/*
 * The time of the wheel: the latest `now` that it was given.
 * Cost: O(1).
 */
ELAPSE_API inline uint64_t elapse_wheel_now(const struct elapse_wheel *wheel)
{
    return wheel->clock;
}

/*
 * How many timers are pending, those due but not yet popped and those armed for
 * ELAPSE_NEVER included.
 * Cost: O(1).
 */
ELAPSE_API inline size_t elapse_wheel_count(const struct elapse_wheel *wheel)
{
    return wheel->count;
}

/*
 * How many times a timer was moved from one slot to another since init. Divided
 * by the timers started it says what the levels cost. Wraps at 2^64.
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
 * Stops every timer. They are idle afterwards, and their memory is the caller's;
 * the time stays as it is.
 * Cost: O(slots + timers).
 */
ELAPSE_API void elapse_wheel_clear(struct elapse_wheel *wheel);

/*
 * Examines the whole wheel and returns 0 if all is well, otherwise the number of
 * the first invariant found broken, as numbered at the head of
 * src/structures/wheel.c. A number other than 0 means that memory was overwritten
 * or a rule above was broken: a timer freed, copied or initialised while pending,
 * or used in two structures. It follows the pointers it finds, and can crash where
 * they lead out of memory.
 * Cost: O(slots + timers).
 */
ELAPSE_API unsigned elapse_wheel_check(const struct elapse_wheel *wheel);

/*
 * Calls `describe(slot, context)` for each occupied slot, from the finest level
 * to the coarsest and within a level by number. A timer that was put off is still
 * in the slot of its earlier deadline. The counts add up to elapse_wheel_count.
 * Cost: O(slots + timers).
 */
ELAPSE_API void elapse_wheel_dump(const struct elapse_wheel *wheel, elapse_dump_function *describe,
                                  void *context);

#ifdef __cplusplus
}
#endif

#endif
