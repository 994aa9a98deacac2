/*
 * The oracle: knows what a structure should do, in the simplest way. It keeps one array of timers,
 * sorted by deadline and number of arming. Each answer is a walk along the array.
 */
#ifndef ELAPSE_TESTS_ORACLE_H
#define ELAPSE_TESTS_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/timer.h>

enum { ORACLE_CAPACITY = 64 };

struct oracle_entry {
    uint64_t deadline;
    uint64_t arming; /* number of the start, counted from 0 */
    size_t timer;    /* which timer it is */
    /* The timer was started again while pending, for the same or a later deadline. So it may come
     * at any position among the timers of its deadline (promise 4 of docs/promises.md). */
    bool any_position;
};

struct oracle {
    uint64_t now;
    uint64_t armings;
    size_t count;
    struct oracle_entry entries[ORACLE_CAPACITY];
};

void oracle_init(struct oracle *oracle, uint64_t now);
void oracle_start(struct oracle *oracle, size_t timer, uint64_t deadline);
bool oracle_stop(struct oracle *oracle, size_t timer);
void oracle_advance(struct oracle *oracle, uint64_t now);

/* Returns the entry of a pending timer; NULL for an idle timer. */
const struct oracle_entry *oracle_find(const struct oracle *oracle, size_t timer);

/* Returns the deadline that a start with `deadline` arms a timer for: `deadline`, or now if that is
 * later. */
uint64_t oracle_effective(const struct oracle *oracle, uint64_t deadline);

/* Returns the deadline that a start with the window [earliest, latest] arms a timer for. */
uint64_t oracle_in_window(uint64_t now, uint64_t earliest, uint64_t latest);

/* Returns whether a timer is due. */
bool oracle_due(const struct oracle *oracle);

/* Returns whether a pop may return `timer` now. If `in_order`, the timer must be the very first,
 * even where promise 4 allows another order. */
bool oracle_may_pop(const struct oracle *oracle, size_t timer, bool in_order);

/* Returns the least pending deadline; ELAPSE_NEVER if no timer is pending. */
uint64_t oracle_next(const struct oracle *oracle);

#endif
