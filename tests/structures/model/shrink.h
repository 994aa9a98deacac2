/*
 * Records runs where a crash does not destroy the record, and shrinks them to a short sequence of
 * operations that still fails.
 */
#ifndef ELAPSE_TESTS_SHRINK_H
#define ELAPSE_TESTS_SHRINK_H

#include "trial.h"

enum { RUN_OPERATIONS = 2048 };

struct run_record {
    uint64_t seed;
    struct trial_options options;
    bool check_each;
    size_t count;
    struct operation operations[RUN_OPERATIONS];
};

/* A record in memory that a child process shares with its parent. */
struct run_record *record_share(void);

/* Shrinks the failing run `record` in place, then prints and repeats it. */
void record_shrink(struct run_record *record);

#endif
