/*
 * Prints the statistics of a run.
 */
#include "statistics.h"

#include <inttypes.h>

#include "../../base/assert.h"
#include "../common/message.h"
#include "durable.h"

void run_print_statistics(struct run *run)
{
    struct elapse_statistics statistics;

    if (run->durable != NULL) {
        run_durable_print_statistics(run);
        return;
    }
    elapse_scheduler_statistics(run->scheduler, &statistics);
    print_error(
        "%" PRIu64 " lines, %" PRIu64 " bad, %" PRIu64 " scheduled, %" PRIu64 " replaced, %" PRIu64
        " cancelled, %" PRIu64 " fired, %" PRIu64 " failed, %" PRIu64 " pending",
        run->lines, run->bad_lines, statistics.scheduled, statistics.replaced, statistics.removed,
        statistics.begun, atomic_load(&run->failures), statistics.pending + statistics.dropped);

    static const struct {
        const char *name;
        double quantile;
    } quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};
    uint64_t late_us[sizeof quantiles / sizeof quantiles[0]];
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
        late_us[i] = elapse_statistics_lateness_ns(&statistics, quantiles[i].quantile) / 1000;
    ELAPSE__ASSERT(late_us[0] <= late_us[3]);
    print_error("late by microseconds: %s %" PRIu64 ", %s %" PRIu64 ", %s %" PRIu64 ", %s %" PRIu64
                ", max %" PRIu64,
                quantiles[0].name, late_us[0], quantiles[1].name, late_us[1], quantiles[2].name,
                late_us[2], quantiles[3].name, late_us[3], statistics.lateness_max_ns / 1000);
}
