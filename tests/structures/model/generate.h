/*
 * Random operations for the model test.
 */
#ifndef ELAPSE_TESTS_GENERATE_H
#define ELAPSE_TESTS_GENERATE_H

#include "random.h"
#include "trial.h"

/* What makes one run unlike another; drawn once, at its beginning. */
struct run_character {
    uint64_t origin;
    size_t timers;
    size_t capacity;
    size_t operations;
    uint64_t shared_ticks[3]; /* distances at which deadlines cluster */
    unsigned reach_bits;      /* most deadlines lie within 2^reach_bits */
    unsigned far_one_in;      /* how rare the others are, and jumps of their length */
    bool pure;                /* no timer is stopped or moved: next stays exact */
};

struct run_character character_draw(struct random_source *source);

struct operation operation_draw(struct random_source *source, const struct run_character *character,
                                const struct oracle *oracle);

#endif
