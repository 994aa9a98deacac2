/*
 * The kinds of structure that the tests run on: each structure, in each shape that is worth a
 * test, with its promises.
 */
#ifndef ELAPSE_TESTS_KIND_H
#define ELAPSE_TESTS_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/structure.h>

/* What promise 10 says of a kind. For every kind, next is never late. */
enum kind_next {
    NEXT_EXACT,             /* always the least deadline */
    NEXT_EXACT_UNDISTURBED, /* unless a timer was stopped or moved; then one spurious wake-up each
                             */
    NEXT_EARLY,             /* some wake-ups are spurious */
    /* At most a turn ahead, so that a deadline takes a wake-up for each turn before it. If there
     * may be too many of them, tests follow next for a while and then jump. */
    NEXT_A_TURN_AHEAD,
};

struct kind {
    const char *name;      /* "heap", "dials:10,parking"; the tests' option --structure takes it */
    const char *structure; /* the name of the structure */
    const struct elapse_shape *shape;
    enum kind_next next;
    /* A timer started again while pending, not earlier, may come at any position among those
     * of its new deadline (promise 4). */
    bool any_position;
    /* cascade may answer false, and a pop after it answered true moves nothing (promise 6). */
    bool cascades;
    /* The ranges of occupied slots do not overlap. */
    bool disjoint_slots;
    /* Timers out of reach are visited again and again, each time at the cost of a move. */
    bool parks;
    /* All timers share one slot, except those that are due, or armed for ELAPSE_NEVER. */
    bool one_slot;
    /* The most moves for each start, and how many more for each start that postpones a
     * timer (promise 6); 0: no bound. */
    uint64_t moves_per_start;
    uint64_t moves_per_postponement;
};

/* Return NULL if there is none of that name or number. */
const struct kind *kind_find(const char *name);
const struct kind *kind_at(size_t number);

const struct elapse_structure *kind_structure(const struct kind *kind);

#endif
