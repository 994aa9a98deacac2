/*
 * Counters of jobs by the time at which they come due, for a queue that is asked how many jobs are
 * coming (elapse__queue_foresee), and for how long jobs have been waiting for a worker
 * (elapse__queue_overdue_ms). The queue that programs embed has none.
 *
 * Delayed jobs have a counter for each minute of two years, and one for each second of 36 hours:
 * rings, by the clock that the job waits by. A job that is due later than that is counted by its
 * minute alone, or not at all. Its entry says which, so that it leaves the counters that it has
 * entered.
 *
 * Ready jobs have a counter for each second at which they were due, of 12 days.
 *
 * The rings have 17 MiB of addresses, and only the pages that jobs are counted in take memory.
 */
#ifndef ELAPSE__QUEUE_COUNTERS_H
#define ELAPSE__QUEUE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/assert.h"

enum {
    ELAPSE__FORECAST_MINUTES = 1 << 20,
    ELAPSE__FORECAST_SECONDS = 1 << 17,
    ELAPSE__FORECAST_READY = 1 << 20, /* seconds */
    ELAPSE__FORECAST_MS_A_SECOND = 1000,
    ELAPSE__FORECAST_MS_A_MINUTE = 60000,
};

/* Added to a tick, so that days begin where the clock has them. */
#define ELAPSE__FORECAST_SHIFT 30212096

/* What an entry is counted in: bits of its tube_state. */
#define ELAPSE__QUEUE_BY_MINUTE (UINT32_C(1) << 30)
#define ELAPSE__QUEUE_BY_SECOND (UINT32_C(1) << 31)
#define ELAPSE__QUEUE_COUNTED   (ELAPSE__QUEUE_BY_MINUTE | ELAPSE__QUEUE_BY_SECOND)

/* The counters of one clock. */
struct elapse__queue_counters {
    uint32_t minutes[ELAPSE__FORECAST_MINUTES];
    uint32_t seconds[ELAPSE__FORECAST_SECONDS];
    uint32_t ready[ELAPSE__FORECAST_READY];
    uint64_t ready_count;
    uint64_t oldest_ready; /* no ready job was due before this second */
};

/* A job waits until `tick`; ticks are shifted, here and below. Returns the bits of its entry. Costs
 * a few nanoseconds, if the counters are in the cache. */
static inline uint32_t elapse__queue_count_delayed(struct elapse__queue_counters *counters,
                                                   uint64_t tick, uint64_t present)
{
    uint64_t second = tick / ELAPSE__FORECAST_MS_A_SECOND;
    uint64_t minute = tick / ELAPSE__FORECAST_MS_A_MINUTE;
    uint32_t bits = 0;

    if (minute < present / ELAPSE__FORECAST_MS_A_MINUTE + ELAPSE__FORECAST_MINUTES) {
        counters->minutes[minute % ELAPSE__FORECAST_MINUTES]++;
        bits |= ELAPSE__QUEUE_BY_MINUTE;
    }
    if (second < present / ELAPSE__FORECAST_MS_A_SECOND + ELAPSE__FORECAST_SECONDS) {
        counters->seconds[second % ELAPSE__FORECAST_SECONDS]++;
        bits |= ELAPSE__QUEUE_BY_SECOND;
    }
    return bits;
}

/* A job that was counted by elapse__queue_count_delayed waits no longer. `bits` are those of its
 * entry. */
static inline void elapse__queue_uncount_delayed(struct elapse__queue_counters *counters,
                                                 uint64_t tick, uint32_t bits)
{
    ELAPSE__ASSERT(
        (bits & ELAPSE__QUEUE_BY_MINUTE) == 0 ||
        counters->minutes[tick / ELAPSE__FORECAST_MS_A_MINUTE % ELAPSE__FORECAST_MINUTES] > 0);
    if ((bits & ELAPSE__QUEUE_BY_MINUTE) != 0)
        counters->minutes[tick / ELAPSE__FORECAST_MS_A_MINUTE % ELAPSE__FORECAST_MINUTES]--;
    if ((bits & ELAPSE__QUEUE_BY_SECOND) != 0)
        counters->seconds[tick / ELAPSE__FORECAST_MS_A_SECOND % ELAPSE__FORECAST_SECONDS]--;
}

/* A job that was due at `tick` waits for a worker, or no longer. */
static inline uint32_t elapse__queue_count_ready(struct elapse__queue_counters *counters,
                                                 uint64_t tick)
{
    uint64_t second = tick / ELAPSE__FORECAST_MS_A_SECOND;

    if (counters->ready_count++ == 0 || second < counters->oldest_ready)
        counters->oldest_ready = second;
    counters->ready[second % ELAPSE__FORECAST_READY]++;
    return ELAPSE__QUEUE_BY_SECOND;
}

static inline void elapse__queue_uncount_ready(struct elapse__queue_counters *counters,
                                               uint64_t tick)
{
    ELAPSE__ASSERT_THAT(counters->ready_count, >, 0);
    counters->ready_count--;
    counters->ready[tick / ELAPSE__FORECAST_MS_A_SECOND % ELAPSE__FORECAST_READY]--;
}

#endif
