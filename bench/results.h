/*
 * What was measured: one sample for each size, workload, contender, figure and
 * repetition.
 */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include "options.h"

struct summary {
    unsigned count; /* of samples; 0: there is no such figure */
    double median;
    double least;
    double most;
};

struct results {
    struct options options;
    uint64_t clock_cost_ns; /* of reading the clock once */
    double *samples;
};

struct results *results_new(const struct options *options);
void results_free(struct results *results);

void results_put(struct results *results, size_t size, enum workload workload, size_t contender,
                 unsigned repetition, const double *figures);

struct summary results_summary(const struct results *results, size_t size, enum workload workload,
                               size_t contender, size_t figure);

/* The median as a multiple of the floor's, or NAN where there is no floor. */
double results_floor_ratio(const struct results *results, size_t size, enum workload workload,
                           size_t contender, size_t figure);

/* How many timers a workload has, at this place in the list of sizes. */
size_t results_timers(const struct results *results, size_t size, enum workload workload);

/* Is a workload run at this place in the list of sizes? One that has its own number of
 * timers is run at the first alone. */
bool results_run_at(const struct results *results, size_t size, enum workload workload);

/* How many samples there are of a workload's figures. */
unsigned results_repetitions(const struct results *results, enum workload workload);

/* May the contender run this workload with so many timers? */
bool feasible(const struct contender *contender, enum workload workload, size_t timers);

#endif
