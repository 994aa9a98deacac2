/*
 * Keeps the samples, and sums them up.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results.h"

const struct contender *const contenders[CONTENDERS] = {
    [CONTENDER_FLOOR] = &floor_independent,
    [CONTENDER_STORE] = &floor_store,
    [CONTENDER_CHAIN] = &floor_chain,
    [CONTENDER_STREAM] = &floor_stream,
    [CONTENDER_WHEEL] = &contender_wheel,
    [CONTENDER_HEAP] = &contender_heap,
    [CONTENDER_DIALS] = &contender_dials,
    [CONTENDER_HASHED] = &contender_hashed,
    [CONTENDER_TEXTBOOK] = &contender_textbook,
    [CONTENDER_LIST] = &contender_list,
    [CONTENDER_SCHEDULER] = &contender_scheduler,
#ifdef BENCH_RIVALS
    [CONTENDER_LIBEV] = &contender_libev,
    [CONTENDER_LIBEVENT] = &contender_libevent,
    [CONTENDER_LIBEVENT_COMMON] = &contender_libevent_common,
    [CONTENDER_LIBUV] = &contender_libuv,
    [CONTENDER_GLIB] = &contender_glib,
#endif
};

static size_t samples_most(const struct options *options)
{
    return options->repetitions > options->long_repetitions ? options->repetitions
                                                            : options->long_repetitions;
}

/* The samples of one figure lie side by side. */
static double *samples_of(const struct results *results, size_t size, enum workload workload,
                          size_t contender, size_t figure)
{
    size_t place = ((size * WORKLOADS + workload) * CONTENDERS + contender) * FIGURES_MOST + figure;
    return &results->samples[place * samples_most(&results->options)];
}

struct results *results_new(const struct options *options)
{
    struct results *results = malloc(sizeof *results);
    size_t count =
        options->size_count * WORKLOADS * CONTENDERS * FIGURES_MOST * samples_most(options);
    double *samples = malloc(count * sizeof *samples);
    if (results == NULL || samples == NULL) {
        fprintf(stderr, "elapse-bench: no memory for %zu samples\n", count);
        exit(EXIT_FAILURE);
    }
    for (size_t i = 0; i < count; i++)
        samples[i] = (double)NAN;
    *results = (struct results){.options = *options, .samples = samples};
    return results;
}

void results_free(struct results *results)
{
    free(results->samples);
    free(results);
}

void results_put(struct results *results, size_t size, enum workload workload, size_t contender,
                 unsigned repetition, const double *figures)
{
    for (size_t figure = 0; figure < FIGURES_MOST; figure++)
        samples_of(results, size, workload, contender, figure)[repetition] = figures[figure];
}

static int compare_samples(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

struct summary results_summary(const struct results *results, size_t size, enum workload workload,
                               size_t contender, size_t figure)
{
    double sorted[REPETITIONS_MOST];
    unsigned count = results_repetitions(results, workload);
    memcpy(sorted, samples_of(results, size, workload, contender, figure),
           count * sizeof sorted[0]);
    if (isnan(sorted[0]))
        return (struct summary){0};
    qsort(sorted, count, sizeof sorted[0], compare_samples);
    return (struct summary){
        .count = count,
        .median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2,
        .least = sorted[0],
        .most = sorted[count - 1],
    };
}

double results_floor_ratio(const struct results *results, size_t size, enum workload workload,
                           size_t contender, size_t figure)
{
    struct summary of = results_summary(results, size, workload, contender, figure);
    struct summary floor = results_summary(results, size, workload, CONTENDER_FLOOR, figure);
    return of.count == 0 || floor.count == 0 ? (double)NAN : of.median / floor.median;
}

unsigned results_repetitions(const struct results *results, enum workload workload)
{
    const struct workload_description *description = &workload_descriptions[workload];
    return description->real_time || description->tails ? results->options.long_repetitions
                                                        : results->options.repetitions;
}

size_t results_timers(const struct results *results, size_t size, enum workload workload)
{
    const struct workload_description *description = &workload_descriptions[workload];
    return description->size == SIZE_OWN ? description->own_timers : results->options.sizes[size];
}

bool results_run_at(const struct results *results, size_t size, enum workload workload)
{
    switch (workload_descriptions[workload].size) {
    case SIZE_OWN:
        return size == 0;
    case SIZE_LARGEST:
        return size == results->options.size_count - 1;
    case SIZE_EACH:
        break;
    }
    return true;
}

bool feasible(const struct contender *contender, enum workload workload, size_t timers)
{
    size_t most = contender->most_timers[workload];
    return contender->run[workload] != NULL && (most == 0 || timers <= most);
}
