/*
 * Runs a simulation with many seeds: all that a run does follows from its seed. Runs are done in a
 * child process, because an assertion may end the process. A run that fails is shrunk: steps are
 * left out as long as it still fails. Then its seed is printed, and what happens in the remaining
 * steps.
 */
#ifndef ELAPSE_TESTS_SEEDS_H
#define ELAPSE_TESTS_SEEDS_H

#include "random.h"

enum { SEEDED_STEPS_MAX = 3000 };

/* A run: its seed, and one random number for each step. */
struct seeded_plan {
    uint64_t seed;
    unsigned count;
    uint64_t steps[SEEDED_STEPS_MAX];
};

/* What a run tells, even if the process ends in the middle of it. */
struct seeded_run {
    unsigned step;       /* the step that is under way */
    char violation[320]; /* how a promise was broken; empty: none was */
};

/* What each program of a simulation has of its own. */
struct seeded_program {
    const char *name;
    bool *trace; /* whether a run prints what happens */

    /* Returns how many steps a run has, 1 .. SEEDED_STEPS_MAX. */
    unsigned (*count_steps)(struct random_source *random);
    void (*run)(const struct seeded_plan *plan, struct seeded_run *run);

    /* Counts over all runs. `count_in` adds the counts of a run to `totals`, which begin as zeros.
     */
    size_t totals_bytes;
    void (*count_in)(void *totals);
    void (*print_totals)(void);
};

/*
 * The program's main: [--seed N] [--runs N] [--seconds S] [--trace] [--no-shrink]. `--seconds`
 * limits the time that passes. Returns the exit status: 0; 1 if a run failed; 2 if the program
 * could not run.
 */
int seeded_main(const struct seeded_program *the_program, int argc, char **argv);

#endif
