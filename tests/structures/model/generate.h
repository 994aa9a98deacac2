/*
 * Random operations for the model test.
 */
#ifndef ELAPSE_TESTS_GENERATE_H
#define ELAPSE_TESTS_GENERATE_H

#include "random.h"
#include "trial.h"

/* The character of a run, which is drawn at random at its beginning. */
struct run_character {
    uint64_t origin;
    size_t timers;
    size_t capacity;
    size_t operations;
    uint64_t shared_ticks[3]; /* distances at which deadlines cluster */
    unsigned reach_bits;      /* most deadlines lie within 2^reach_bits */
    unsigned far_one_in;      /* N: one deadline in N lies farther, and one jump in N is longer */
    bool pure;                /* no timer is stopped or moved: next stays exact */
};

struct run_character character_draw(struct random_source *source);

struct operation operation_draw(struct random_source *source, const struct run_character *character,
                                const struct oracle *oracle);

#endif
