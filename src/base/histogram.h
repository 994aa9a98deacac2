/*
 * A histogram counts values by their size. There are four buckets for each power of two, so that
 * the values of a bucket differ by less than a quarter of the least of them. To add a value takes a
 * few nanoseconds.
 *
 *      0 1 2 3 | 4 5 6 7 | 8-9 10-11 12-13 14-15 | 16-19 20-23 24-27 28-31 | ...
 */
#ifndef ELAPSE__BASE_HISTOGRAM_H
#define ELAPSE__BASE_HISTOGRAM_H

#include <stdint.h>

#include "bits.h"

/* For values up to 2^41 - 1; larger values count in the last bucket. */
enum { ELAPSE__HISTOGRAM_BUCKETS = 160 };

/* A histogram begins as zeros. */
struct elapse__histogram {
    uint64_t counts[ELAPSE__HISTOGRAM_BUCKETS];
    uint64_t count;
    uint64_t sum;
};

/* Returns the bucket of a value. */
static inline unsigned elapse__histogram_bucket(uint64_t value)
{
    if (value < 4)
        return (unsigned)value;
    unsigned power = elapse__highest_bit(value);
    unsigned bucket = (power - 1) * 4 + (unsigned)(value >> (power - 2) & 3);
    return bucket < ELAPSE__HISTOGRAM_BUCKETS ? bucket : ELAPSE__HISTOGRAM_BUCKETS - 1;
}

/* Returns the least value of a bucket. If `bucket` is ELAPSE__HISTOGRAM_BUCKETS, returns the least
 * value above the last bucket. */
static inline uint64_t elapse__histogram_least(unsigned bucket)
{
    return bucket < 4 ? bucket : (uint64_t)(4 + bucket % 4) << (bucket / 4 - 1);
}

static inline void elapse__histogram_add(struct elapse__histogram *histogram, uint64_t value)
{
    histogram->counts[elapse__histogram_bucket(value)]++;
    histogram->count++;
    histogram->sum += value;
}

#endif
