/*
 * What a histogram has counted in the last minute, from one look at it in each second.
 */
#ifndef ELAPSE__HTTP_WINDOW_H
#define ELAPSE__HTTP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/histogram.h"

enum { ELAPSE__HTTP_WINDOW_SECONDS = 60 };

/* Begins as zeros: what was counted before the first look is in the first second. */
struct elapse__http_window {
    uint32_t seconds[ELAPSE__HTTP_WINDOW_SECONDS][ELAPSE__HISTOGRAM_BUCKETS];
    uint64_t counts[ELAPSE__HISTOGRAM_BUCKETS]; /* the sums over the seconds */
    uint64_t before[ELAPSE__HISTOGRAM_BUCKETS]; /* at the last look */
    uint64_t count;                             /* the sum over the buckets */
    unsigned place;
};

/* Adds a second. A bucket with fewer counts than before, because a partition has gone, counts from
 * there on. */
void elapse__http_window_add(struct elapse__http_window *window,
                             const struct elapse__histogram *histogram);

/* Returns a value that `percent` of 100 values do not exceed: the greatest value of a bucket.
 * Requires that something was counted, and 1 to 100 as `percent`. */
uint64_t elapse__http_window_quantile(const struct elapse__http_window *window, unsigned percent);

#endif
