/*
 * The kinds of structure that the tests run on: each structure, in each shape that is worth a test,
 * with what it promises. Promises have the numbers of docs/promises.md.
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
    NEXT_EXACT_UNDISTURBED, /* exact, but for a spurious wake-up for each timer stopped or moved */
    NEXT_EARLY,             /* some wake-ups are spurious */
    /* At most a turn ahead, so that there is a wake-up for each turn before a deadline. If there
     * may be too many wake-ups, tests follow next for a while and then jump. */
    NEXT_A_TURN_AHEAD,
};

struct kind {
    const char *name;      /* "heap", "dials:10,parking"; the tests' option --structure takes it */
    const char *structure; /* the name of the structure */
    const struct elapse_shape *shape;
    enum kind_next next;
    /* A timer that is started again while pending, for the same or a later deadline, may come at
     * any position among the timers of that deadline (promise 4). */
    bool any_position;
    /* `cascade` may return false. After it returned true, a pop moves no timer (promise 6). */
    bool cascades;
    /* The ranges of occupied slots do not overlap. */
    bool disjoint_slots;
    /* Timers out of reach are visited again and again. Each visit counts as a move. */
    bool parks;
    /* All timers share one slot, except timers that are due, and timers of ELAPSE_NEVER. */
    bool one_slot;
    /* The most moves for each start, and how many more for each start that postpones a
     * timer (promise 6); 0: no bound. */
    uint64_t moves_per_start;
    uint64_t moves_per_postponement;
};

/* Return the kind of this name or number; NULL if there is none. */
const struct kind *kind_find(const char *name);
const struct kind *kind_at(size_t number);

const struct elapse_structure *kind_structure(const struct kind *kind);

#endif
