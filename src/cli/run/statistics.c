/*
 * What elapse run says of itself: messages and counts.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "../common/text.h"
#include "run.h"

void run_message(const char *format, ...)
{
    char line[8192];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    mask_control_characters(line);
    fprintf(stderr, "elapse run: %s\n", line);
}

void run_report(struct run *run)
{
    struct elapse_statistics statistics;

    elapse_scheduler_statistics(run->scheduler, &statistics);
    run_message(
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
    run_message("late by microseconds: %s %" PRIu64 ", %s %" PRIu64 ", %s %" PRIu64 ", %s %" PRIu64
                ", max %" PRIu64,
                quantiles[0].name, late_us[0], quantiles[1].name, late_us[1], quantiles[2].name,
                late_us[2], quantiles[3].name, late_us[3], statistics.lateness_max_ns / 1000);
}
