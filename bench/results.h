/*
 * The results: one sample for each size, workload, contender, figure and repetition.
 */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include "options.h"

struct summary {
    unsigned count; /* the number of samples; 0 if there is no such figure */
    double median;
    double least;
    double most;
};

struct results {
    struct options options;
    uint64_t clock_cost_ns; /* the time to read the clock once */
    uint64_t cycles_cost;   /* what the tails measure when nothing is done */
    double *samples;
};

struct results *results_new(const struct options *options);
void results_free(struct results *results);

void results_put(struct results *results, size_t size, enum workload workload, size_t contender,
                 unsigned repetition, const double *figures);

struct summary results_summary(const struct results *results, size_t size, enum workload workload,
                               size_t contender, size_t figure);

/* Returns the median divided by the floor's, or NAN if there is no floor. */
double results_floor_ratio(const struct results *results, size_t size, enum workload workload,
                           size_t contender, size_t figure);

/* Returns the number of timers of a workload at this place in the list of sizes. */
size_t results_timers(const struct results *results, size_t size, enum workload workload);

/* Returns whether a workload is run at this place in the list of sizes. One with its own number of
 * timers is run only at the first place. */
bool results_run_at(const struct results *results, size_t size, enum workload workload);

/* Returns the number of samples of each figure of a workload. */
unsigned results_repetitions(const struct results *results, enum workload workload);

/* Returns whether the contender may run this workload with so many timers. */
bool feasible(const struct contender *contender, enum workload workload, size_t timers);

#endif
