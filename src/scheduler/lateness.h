/*
 * The buckets of the histogram of lateness. Below 8 ns there is one bucket for each nanosecond.
 * From 8 ns on there are eight buckets for each doubling.
 */
#ifndef ELAPSE__LATENESS_H
#define ELAPSE__LATENESS_H

#include <elapse/scheduler.h>

#include "../base/assert.h"

/* Returns the bucket that counts this lateness. */
static inline unsigned elapse__lateness_bucket(uint64_t lateness_ns)
{
    if (lateness_ns < 8)
        return (unsigned)lateness_ns;
    unsigned highest = 63 - (unsigned)__builtin_clzll(lateness_ns);
    return (highest - 2) * 8 + (unsigned)(lateness_ns >> (highest - 3) & 7);
}

/* Returns the greatest lateness that the bucket counts. */
static inline uint64_t elapse__lateness_greatest_ns(unsigned bucket)
{
    if (bucket < 8)
        return bucket;
    ELAPSE__ASSERT_THAT(bucket, <, ELAPSE_LATENESS_BUCKETS);
    unsigned shift = bucket / 8 - 1;
    return ((UINT64_C(8) + bucket % 8 + 1) << shift) - 1;
}

#endif
