/*
 * Elapse: the timer, the node that every structure keeps.
 *
 * The caller allocates it, usually inside the object that has the deadline, and
 * gets from the timer back to that object with `container_of` or a cast:
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
 * While a timer is pending its memory belongs to the structure: do not move it,
 * overwrite it or free it. As soon as pop has returned it, or stop or
 * clear has returned, it is the caller's again, and nothing in the library reads
 * or writes it any more (promise 12). A timer is in at most one structure at a
 * time. Pass a pending timer only to the structure that it is pending in.
 *
 * Times: the caller says what time it is, as an unsigned 64-bit count of ticks from
 * an origin of the caller's choice. The structures read no clock, take no lock and
 * print nothing. They allocate nothing, except dials that were given an allocator.
 *
 * Threads: a structure and the timers in it are one object, to be used by one
 * thread at a time; different structures are independent.
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

/* Width of time in bits. Private: only tests build another value. */
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
 * A timer: 32 bytes where a pointer has 64 bits, 24 where it has 32. All fields are private; read
 * them through the functions below. Memory set to zero is an idle timer.
 */
struct elapse_timer {
    union {
        struct elapse__ring_node ring_node; /* every structure but the heap: neighbours in a list */
        uint64_t sequence;                  /* heap: the number of the arming, counted from 0 */
    } keep;
    uint64_t deadline; /* ticks; meaningful while pending */
    uint64_t place;    /* where the structure keeps it; 0: idle */
};

/*
 * Makes `timer` idle. Call it once, before the first use, unless the timer's memory is
 * zero already. Requires that the timer is not pending: the structure would keep
 * pointers to a timer that says it is idle.
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
 * Returns true while `timer` is pending: started, and neither popped nor stopped since.
 * A timer that is due but not yet popped is pending.
 * Cost: O(1). Cannot fail. Since 0.2.
 */
ELAPSE_API inline bool elapse_timer_pending(const struct elapse_timer *timer)
{
    return timer->place != 0;
}

/*
 * Returns the deadline of a pending timer in ticks. If the deadline had passed when the timer
 * was started, it is the time of that start. If the timer was started with a window, it is
 * the tick chosen in the window. For a timer that was popped it is the deadline that it was
 * popped for, until the timer is started again or its memory is reused. For any
 * other idle timer the value has no meaning.
 * Cost: O(1). Cannot fail. Since 0.2.
 */
ELAPSE_API inline uint64_t elapse_timer_deadline(const struct elapse_timer *timer)
{
    return timer->deadline;
}

/*
 * Returns the deadline that lies `delay` ticks after `now`. A sum beyond the last tick
 * saturates at ELAPSE_NEVER; it does not wrap around to an early deadline.
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
 * Returns the deadline that a start with the window [earliest, latest] chooses at the
 * time `now`: the tick in the window that ends in the most zero bits. So
 * timers with overlapping windows tend to share a tick (coalescing), and a hierarchical wheel
 * cascades them through fewer levels. An `earliest` before `now` is taken as `now`, a
 * `latest` before `earliest` is taken as `earliest`, and a `latest` of ELAPSE_NEVER as
 * the last tick. An `earliest` of ELAPSE_NEVER gives ELAPSE_NEVER.
 * Cost: O(1). Cannot fail. Since 0.2.
 */
ELAPSE_API uint64_t elapse_deadline_in_window(uint64_t now, uint64_t earliest, uint64_t latest);

/*
 * What for_each calls with each pending timer. It may stop that timer, and
 * free it then; it may call nothing else on the structure. It returns false to end
 * the walk.
 */
typedef bool elapse_visit_function(struct elapse_timer *timer, void *context);

/*
 * One occupied slot, as dump describes it. In a heap a level is a generation of
 * the tree: the root is level 0, its children are level 1, and the slot is always 0.
 */
struct elapse_slot {
    unsigned level;      /* 0 is the finest */
    unsigned slot;       /* number within the level */
    uint64_t first_tick; /* first tick that the slot covers */
    uint64_t last_tick;  /* last tick that the slot covers */
    uint64_t least;      /* no deadline in it is earlier */
    size_t count;        /* timers in it */
};

/* What dump calls with each occupied slot. It must not change the
 * structure. `slot` is valid only during the call. */
typedef void elapse_dump_function(const struct elapse_slot *slot, void *context);

#ifdef __cplusplus
}
#endif

#endif
