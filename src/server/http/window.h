/*
 * Keeps what a histogram has counted in the last minute. The owner looks at the histogram once a
 * second.
 */
#ifndef ELAPSE__HTTP_WINDOW_H
#define ELAPSE__HTTP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/histogram.h"

enum { ELAPSE__HTTP_WINDOW_SECONDS = 60 };

/* The struct begins as zeros. The first second has everything that the histogram counted before the
 * first look. */
struct elapse__http_window {
    uint32_t seconds[ELAPSE__HTTP_WINDOW_SECONDS][ELAPSE__HISTOGRAM_BUCKETS];
    uint64_t counts[ELAPSE__HISTOGRAM_BUCKETS]; /* the sums over the seconds */
    uint64_t before[ELAPSE__HISTOGRAM_BUCKETS]; /* the histogram's counts at the last look */
    uint64_t count;                             /* the sum over the buckets */
    unsigned place;
};

/* Adds a second. If a bucket has fewer counts than at the last look, because a partition has gone,
 * the second has none of that bucket. */
void elapse__http_window_add(struct elapse__http_window *window,
                             const struct elapse__histogram *histogram);

/* Returns a value that `percent` of 100 values do not exceed. It is the greatest value of a bucket.
 * Requires that something was counted, and that `percent` is from 1 to 100. */
uint64_t elapse__http_window_quantile(const struct elapse__http_window *window, unsigned percent);

#endif
