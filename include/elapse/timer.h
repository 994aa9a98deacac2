/*
 * Elapse: the timer, the node that every structure keeps.
 *
 * The caller allocates a timer, usually inside the object that has the deadline. The caller gets
 * from the timer to that object with `container_of` or a cast:
 *
 *     struct connection {
 *         struct elapse_timer idle;      // first member: a cast is enough
 *         int socket;
 *     };
 *
 * Life of a timer:
 *
 *                 start                       pop, stop, clear
 *      idle  ----------------->  pending  ------------------------>  idle
 *                                 |    ^
 *                                 +----+ start again: re-armed
 *
 * While a timer is pending, its memory belongs to the structure: do not move, overwrite or free
 * that memory. The memory belongs to the caller again when pop has returned the timer, or when stop
 * or clear has returned. From then on nothing in the library reads or writes the timer (promise
 * 12). A timer is in at most one structure at a time. Pass a pending timer only to the structure in
 * which it is pending.
 *
 * Times: the caller says what time it is. A time is an unsigned 64-bit number of ticks since an
 * origin that the caller chooses. The structures read no clock, take no lock and print nothing.
 * They allocate nothing, except dials that were given an allocator.
 *
 * Threads: one thread at a time uses a structure and the timers in it. Different structures are
 * independent.
 */
#ifndef ELAPSE_TIMER_H
#define ELAPSE_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/attributes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The width of a time in bits. Private: only tests are built with another value. */
#ifndef ELAPSE__TIME_BITS
#define ELAPSE__TIME_BITS 64
#endif

/* The deadline of a timer that is pending and counted, but never due. */
#define ELAPSE_NEVER (UINT64_MAX >> (64 - ELAPSE__TIME_BITS))

/* The last tick. A later `now` is taken as this one. */
#define ELAPSE_TIME_MAX (ELAPSE_NEVER - 1)

/* Two neighbours in a list. Private. */
struct elapse__ring_node {
    struct elapse__ring_node *next;
    struct elapse__ring_node *previous;
};

/*
 * A timer. It has 32 bytes if a pointer has 64 bits, and 24 bytes if a pointer has 32 bits. All
 * fields are private: read them through the functions below. Memory that is set to zero is an idle
 * timer.
 */
struct elapse_timer {
    union {
        struct elapse__ring_node ring_node; /* every structure but the heap: neighbours in a list */
        uint64_t sequence;                  /* heap: the number of the arming, counted from 0 */
    } keep;
    uint64_t deadline; /* in ticks; has a meaning while the timer is pending */
    uint64_t place;    /* where the structure keeps the timer; 0: the timer is idle */
};

/*
 * Makes `timer` idle. Call this function once, before the first use of the timer, unless the memory
 * of the timer is zero already. Requires that the timer is not pending. Otherwise the structure
 * would keep pointers to a timer that says that it is idle.
 * Cost: O(1). Cannot fail. Since 0.2.
 */
ELAPSE_API inline void elapse_timer_init(struct elapse_timer *timer)
{
    timer->keep.ring_node.next = NULL;
    timer->keep.ring_node.previous = NULL;
    timer->deadline = 0;
    timer->place = 0;
}

/*
 * Returns true if `timer` is pending: it was started, and was neither popped nor stopped since. A
 * timer that is due but is not popped yet is pending.
 * Cost: O(1). Cannot fail. Since 0.2.
 */
ELAPSE_API inline bool elapse_timer_pending(const struct elapse_timer *timer)
{
    return timer->place != 0;
}

/*
 * Returns the deadline of a pending timer in ticks. If the deadline had passed when the timer was
 * started, returns the time of that start. If the timer was started with a window, returns the tick
 * that was chosen in the window. For a timer that was popped, returns the deadline for which it was
 * popped, until the timer is started again or its memory is reused. For any other idle timer the
 * value has no meaning.
 * Cost: O(1). Cannot fail. Since 0.2.
 */
ELAPSE_API inline uint64_t elapse_timer_deadline(const struct elapse_timer *timer)
{
    return timer->deadline;
}

/*
 * Returns the deadline that lies `delay` ticks after `now`. If the sum lies beyond the last tick,
 * returns ELAPSE_NEVER: the sum does not wrap around to an early deadline.
 *
 *     // The wheel's time was rounded down to a tick: without the + 1 the timer fires
 *     // up to a tick early.
 *     elapse_wheel_start(&wheel, &timer,
 *                        elapse_deadline_after(elapse_wheel_now(&wheel), 30 + 1));
 *
 * Cost: O(1). Cannot fail. Since 0.2.
 */
ELAPSE_API inline uint64_t elapse_deadline_after(uint64_t now, uint64_t delay)
{
    return now < ELAPSE_NEVER && delay < ELAPSE_NEVER - now ? now + delay : ELAPSE_NEVER;
}

/*
 * Returns the deadline that a start with the window [earliest, latest] chooses at the time `now`.
 * This deadline is the tick in the window that ends in the most zero bits. So timers with
 * overlapping windows tend to share a tick (coalescing), and a hierarchical wheel cascades them
 * through fewer levels. If `earliest` lies before `now`, it counts as `now`. If `latest` lies
 * before `earliest`, it counts as `earliest`. A `latest` of ELAPSE_NEVER counts as the last tick.
 * If `earliest` is ELAPSE_NEVER, returns ELAPSE_NEVER.
 * Cost: O(1). Cannot fail. Since 0.2.
 */
ELAPSE_API uint64_t elapse_deadline_in_window(uint64_t now, uint64_t earliest, uint64_t latest);

/*
 * A function that for_each calls with each pending timer. The function may stop that timer, and may
 * then free it. The function may make no other call on the structure. If the function returns
 * false, for_each ends.
 */
typedef bool elapse_visit_function(struct elapse_timer *timer, void *context);

/*
 * One occupied slot, as dump describes it. In a heap a level is a generation of the tree: the root
 * is level 0, and the children of the root are level 1. In a heap the number of the slot is always
 * 0.
 */
struct elapse_slot {
    unsigned level;      /* the number of the level; 0 is the finest level */
    unsigned slot;       /* the number of the slot within the level */
    uint64_t first_tick; /* the first tick that the slot covers */
    uint64_t last_tick;  /* the last tick that the slot covers */
    uint64_t least;      /* no deadline in the slot is earlier than this */
    size_t count;        /* the number of timers in the slot */
};

/* A function that dump calls with each occupied slot. The function must not change the structure.
 * `slot` is valid only during the call. */
typedef void elapse_dump_function(const struct elapse_slot *slot, void *context);

#ifdef __cplusplus
}
#endif

#endif
