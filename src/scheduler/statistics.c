#include "scheduler.h"

#include <string.h>

#include "../base/assert.h"
#include "due_list.h"
#include "lateness.h"

void elapse_scheduler_statistics(struct elapse_scheduler *scheduler,
                                 struct elapse_statistics *statistics)
{
    memset(statistics, 0, sizeof *statistics);
    const uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    const uint64_t wall_clock_ns = elapse_scheduler_wall_clock_ns(scheduler);
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        struct elapse__shard *shard = &scheduler->shards[i];
        elapse__shard_lock(shard);
        statistics->scheduled += shard->scheduled;
        statistics->rescheduled += shard->rescheduled;
        statistics->begun += shard->begun;
        statistics->completed += shard->completed;
        statistics->removed += shard->removed;
        statistics->replaced += shard->replaced;
        statistics->handed_back += shard->handed_back;
        statistics->dropped += shard->dropped;
        statistics->pending += shard->pending;
        statistics->running += shard->running;
        uint64_t overdue_ns = elapse__oldest_overdue_ns(shard, now_ns, wall_clock_ns);
        if (overdue_ns > statistics->oldest_overdue_ns)
            statistics->oldest_overdue_ns = overdue_ns;
        if (shard->lateness_max_ns > statistics->lateness_max_ns)
            statistics->lateness_max_ns = shard->lateness_max_ns;
        for (unsigned bucket = 0; bucket < ELAPSE_LATENESS_BUCKETS; bucket++)
            statistics->lateness[bucket] += shard->lateness[bucket];
        elapse__shard_unlock(shard);
    }
    statistics->held_back = atomic_load(&scheduler->held_back);
    statistics->refused_threads = atomic_load(&scheduler->refused_threads);
    statistics->workers = elapse__work_queue_workers(&scheduler->queue);
}

uint64_t elapse_statistics_lateness_ns(const struct elapse_statistics *statistics, double quantile)
{
    uint64_t total = 0;
    for (unsigned bucket = 0; bucket < ELAPSE_LATENESS_BUCKETS; bucket++)
        total += statistics->lateness[bucket];
    if (total == 0)
        return 0;
    /* The loop skips empty buckets at the beginning, so that quantile 0 is the least lateness that
     * was counted. */
    double wanted = quantile * (double)total;
    uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < ELAPSE_LATENESS_BUCKETS; bucket++) {
        seen += statistics->lateness[bucket];
        uint64_t greatest = elapse__lateness_greatest_ns(bucket);
        if (seen > 0 && (double)seen >= wanted)
            return greatest < statistics->lateness_max_ns ? greatest : statistics->lateness_max_ns;
    }
    ELAPSE__ASSERT_THAT(seen, ==, total);
    return statistics->lateness_max_ns;
}
