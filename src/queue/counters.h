/*
 * Counts jobs by the time at which they are due. elapse__queue_foresee reads from the counters how
 * many jobs will come due, and elapse__queue_overdue_ms for how long jobs have been waiting for a
 * worker. The queue that programs embed has no counters.
 *
 * For delayed jobs there is a counter for each minute of two years, and a counter for each second
 * of 36 hours. They are rings; each clock has its own. A job that is due after more than 36 hours
 * is counted by its minute alone, and a job that is due after more than two years is not counted.
 * The job's entry says in which counters the job was counted, so that it is subtracted from these.
 *
 * For ready jobs there is a counter for each second at which they were due, for 12 days.
 *
 * The rings have 17 MiB of addresses. Only the pages in which jobs were counted take memory.
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

/* Is added to a tick, so that the shifted tick of the begin of a day is a multiple of a day. */
#define ELAPSE__FORECAST_SHIFT 30212096

/* Bits of an entry's tube_state: in which counters the entry is counted. */
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

/* Counts a job that waits until `tick`. Ticks are shifted (ELAPSE__FORECAST_SHIFT), here and below.
 * Returns the bits for the job's entry. Costs a few nanoseconds, if the counters are in the cache.
 */
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

/* Subtracts a job that elapse__queue_count_delayed has counted, because it does not wait any more.
 * `bits` are those of its entry. */
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

/* Count a job that was due at `tick` and waits for a worker; subtract it when it does not wait any
 * more. */
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
