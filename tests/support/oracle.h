/*
 * The oracle: what a structure should do, by the dumbest means that can do it. One
 * array, kept sorted by deadline and number of arming; everything is a walk along it.
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
    /* It was started again while pending, at the same or a later deadline, and so
     * may come at any position among those of its deadline (promise 4). */
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

/* The entry of a pending timer; NULL for an idle one. */
const struct oracle_entry *oracle_find(const struct oracle *oracle, size_t timer);

/* The deadline that a start with `deadline` arms for: not before now. */
uint64_t oracle_effective(const struct oracle *oracle, uint64_t deadline);

/* The deadline that a start with the window [earliest, latest] arms for. */
uint64_t oracle_in_window(uint64_t now, uint64_t earliest, uint64_t latest);

/* True when a timer is due. */
bool oracle_due(const struct oracle *oracle);

/* True when a pop may return `timer` now. `in_order` forbids what promise 4 leaves
 * open: the timer must be the very first. */
bool oracle_may_pop(const struct oracle *oracle, size_t timer, bool in_order);

/* The least deadline pending, or ELAPSE_NEVER. */
uint64_t oracle_next(const struct oracle *oracle);

#endif
