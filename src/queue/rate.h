/*
 * Rates: at most so many hand-outs in a time. A bucket holds up to `burst` tokens, and gets one
 * each period_ms / count milliseconds; a hand-out takes one. In any window of period_ms at most
 * count + burst - 1 hand-outs begin.
 *
 * The bucket is one time: the moment `next` from which it has a token.
 *
 *      a token is taken    next = max(next, now - (burst - 1) x period / count) + period / count
 *
 * `next` is an exact fraction of a millisecond, so that no rate drifts.
 */
#ifndef ELAPSE__QUEUE_RATE_H
#define ELAPSE__QUEUE_RATE_H

#include <stdbool.h>
#include <stdint.h>

enum { ELAPSE__QUEUE_RATE_MAX = 100000000 }; /* of count, and of burst */

#define ELAPSE__QUEUE_RATE_PERIOD_MS_MAX (INT64_C(366) * 24 * 60 * 60 * 1000)

/* A bucket whose tokens come no faster than this keeps its time on the disk. */
#define ELAPSE__QUEUE_RATE_SLOW_MS UINT64_C(60000)

struct elapse__queue_rate {
    uint64_t count; /* 0: no rate, and the others are 0, too */
    uint64_t period_ms;
    uint64_t burst;
};

/* The moment `tick` + `part` / count. */
struct elapse__queue_bucket {
    uint64_t tick;
    uint64_t part;
};

/* Returns the burst that a rate has if none is given, which is the least: as many tokens as come in
 * a millisecond, so that a clock of milliseconds loses none. Requires that neither number is 0. */
uint64_t elapse__queue_rate_least_burst(uint64_t count, uint64_t period_ms);

/* Returns whether the numbers are in their ranges, and the burst is not less than the least. */
bool elapse__queue_rate_fits(const struct elapse__queue_rate *rate);

/* The functions below require a rate that fits and has a count, and ticks from 2^62 on. */

/* Takes a token. Requires that the bucket has one at this tick. */
void elapse__queue_bucket_take(struct elapse__queue_bucket *bucket,
                               const struct elapse__queue_rate *rate, uint64_t tick);

/* Takes all tokens: the next one comes after period_ms / count. */
void elapse__queue_bucket_empty(struct elapse__queue_bucket *bucket,
                                const struct elapse__queue_rate *rate, uint64_t tick);

/* Returns the first tick at which the bucket has a token. */
uint64_t elapse__queue_bucket_next(const struct elapse__queue_bucket *bucket);

/* Returns the first tick at which the bucket is full, if no token is taken. */
uint64_t elapse__queue_bucket_full(const struct elapse__queue_bucket *bucket,
                                   const struct elapse__queue_rate *rate);

/* Returns the bucket for a new rate of one for an earlier rate. If the next token is still to come
 * at this tick, it comes when it would have come, or sooner if the new rate is faster. Otherwise
 * the bucket is full. */
struct elapse__queue_bucket elapse__queue_bucket_renew(const struct elapse__queue_bucket *bucket,
                                                       const struct elapse__queue_rate *rate,
                                                       uint64_t tick);

/* Returns how many tokens the bucket has at this tick. */
uint64_t elapse__queue_bucket_tokens(const struct elapse__queue_bucket *bucket,
                                     const struct elapse__queue_rate *rate, uint64_t tick);

/* Returns whether a token takes so long to come that the bucket is kept on the disk. */
static inline bool elapse__queue_rate_is_slow(const struct elapse__queue_rate *rate)
{
    return rate->count != 0 && rate->period_ms / rate->count >= ELAPSE__QUEUE_RATE_SLOW_MS;
}

#endif
