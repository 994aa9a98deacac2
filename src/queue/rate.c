#include "rate.h"

#include "../base/assert.h"

uint64_t elapse__queue_rate_least_burst(uint64_t count, uint64_t period_ms)
{
    ELAPSE__ASSERT_THAT(count, >, 0);
    ELAPSE__ASSERT_THAT(period_ms, >, 0);
    return (count + period_ms - 1) / period_ms;
}

bool elapse__queue_rate_fits(const struct elapse__queue_rate *rate)
{
    if (rate->count == 0)
        return rate->period_ms == 0 && rate->burst == 0;
    return rate->count <= ELAPSE__QUEUE_RATE_MAX && rate->period_ms >= 1 &&
           rate->period_ms <= (uint64_t)ELAPSE__QUEUE_RATE_PERIOD_MS_MAX &&
           rate->burst <= ELAPSE__QUEUE_RATE_MAX &&
           rate->burst >= elapse__queue_rate_least_burst(rate->count, rate->period_ms);
}

/* Goes on by the time in which one token comes. */
static void add_one(struct elapse__queue_bucket *bucket, const struct elapse__queue_rate *rate)
{
    bucket->tick += rate->period_ms / rate->count;
    bucket->part += rate->period_ms % rate->count;
    if (bucket->part >= rate->count) {
        bucket->part -= rate->count;
        bucket->tick++;
    }
    ELAPSE__ASSERT_THAT(bucket->part, <, rate->count);
}

void elapse__queue_bucket_take(struct elapse__queue_bucket *bucket,
                               const struct elapse__queue_rate *rate, uint64_t tick)
{
    ELAPSE__ASSERT(elapse__queue_rate_fits(rate));
    ELAPSE__ASSERT_THAT(elapse__queue_bucket_next(bucket), <=, tick);
    /* At most 2^62, by the greatest values of a rate. */
    uint64_t back = (rate->burst - 1) * rate->period_ms;
    uint64_t rest = back % rate->count;
    struct elapse__queue_bucket full = {
        .tick = tick - back / rate->count - (rest > 0),
        .part = rest > 0 ? rate->count - rest : 0,
    };
    if (bucket->tick < full.tick || (bucket->tick == full.tick && bucket->part < full.part))
        *bucket = full;
    add_one(bucket, rate);
}

void elapse__queue_bucket_empty(struct elapse__queue_bucket *bucket,
                                const struct elapse__queue_rate *rate, uint64_t tick)
{
    ELAPSE__ASSERT(elapse__queue_rate_fits(rate));
    *bucket = (struct elapse__queue_bucket){.tick = tick};
    add_one(bucket, rate);
}

uint64_t elapse__queue_bucket_next(const struct elapse__queue_bucket *bucket)
{
    return bucket->tick + (bucket->part > 0);
}

uint64_t elapse__queue_bucket_full(const struct elapse__queue_bucket *bucket,
                                   const struct elapse__queue_rate *rate)
{
    ELAPSE__ASSERT(elapse__queue_rate_fits(rate));
    uint64_t parts = bucket->part + (rate->burst - 1) * rate->period_ms;
    return bucket->tick + parts / rate->count + (parts % rate->count > 0);
}

struct elapse__queue_bucket elapse__queue_bucket_renew(const struct elapse__queue_bucket *bucket,
                                                       const struct elapse__queue_rate *rate,
                                                       uint64_t tick)
{
    struct elapse__queue_bucket empty;
    uint64_t next = elapse__queue_bucket_next(bucket);
    if (next <= tick)
        return (struct elapse__queue_bucket){0};
    elapse__queue_bucket_empty(&empty, rate, tick);
    return empty.tick < next ? empty : (struct elapse__queue_bucket){.tick = next};
}

uint64_t elapse__queue_bucket_tokens(const struct elapse__queue_bucket *bucket,
                                     const struct elapse__queue_rate *rate, uint64_t tick)
{
    ELAPSE__ASSERT(elapse__queue_rate_fits(rate));
    if (elapse__queue_bucket_next(bucket) > tick)
        return 0;
    uint64_t age = tick - bucket->tick;
    /* Beyond this the bucket is full, and the product below could overflow. */
    if (age > rate->burst * rate->period_ms / rate->count)
        return rate->burst;
    uint64_t tokens = (age * rate->count - bucket->part) / rate->period_ms + 1;
    return tokens < rate->burst ? tokens : rate->burst;
}
