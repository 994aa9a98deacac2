/*
 * The scheduler's aims, beside its results.
 */
#include <math.h>

#include "report.h"
#include "scheduler_bench.h"

/* The number of tasks that the aims are meant for, unless a workload has its own number. */
enum { AIMED_TIMERS = 1000000 };

enum kind {
    SHARE_OF_FLOOR, /* at least this share of the floor's operations in the same time */
    AT_LEAST,
    AT_MOST,
};

static const struct aim {
    enum workload workload;
    enum kind kind;
    size_t figure;
    double aim;
} aims[] = {
    {WORKLOAD_SCHEDULE, SHARE_OF_FLOOR, S1_SCHEDULE, 0.6},
    {WORKLOAD_SCHEDULE, AT_LEAST, S1_SPEED_UP, 1.0},
    {WORKLOAD_CANCEL, SHARE_OF_FLOOR, 0, 0.6},
    {WORKLOAD_DELIVER, AT_LEAST, S3_EARLIEST, 0.0},
    {WORKLOAD_DELIVER, AT_MOST, S3_P99, 1.2},
    {WORKLOAD_DELIVER_FINE, AT_LEAST, S3_EARLIEST, 0.0},
    {WORKLOAD_DELIVER_FINE, AT_MOST, S3_MEDIAN, 0.1},
    {WORKLOAD_SLEEP, AT_MOST, S4_CPU, 5.0},
    {WORKLOAD_MEMORY, AT_MOST, S5_COUNTED, 72.0},
    {WORKLOAD_MEMORY, AT_MOST, S5_RESIDENT, 72.0},
    {WORKLOAD_RESCHEDULE, SHARE_OF_FLOOR, 0, 0.7},
};

/* Returns the figure, or NAN if it was not measured. */
static double reached(const struct results *results, size_t size, const struct aim *aim)
{
    struct summary summary =
        results_summary(results, size, aim->workload, CONTENDER_SCHEDULER, aim->figure);
    if (aim->kind == SHARE_OF_FLOOR)
        return 1 /
               results_floor_ratio(results, size, aim->workload, CONTENDER_SCHEDULER, aim->figure);
    return summary.count == 0 ? (double)NAN : summary.median;
}

static void print_aim(const struct aim *aim, double number, FILE *out)
{
    const struct workload_description *description = &workload_descriptions[aim->workload];
    const struct figure_description *figure = &description->figures[aim->figure];
    bool met = aim->kind == AT_MOST ? number <= aim->aim : number >= aim->aim;
    char what[64];
    snprintf(what, sizeof what, "%s, %s", figure->name,
             aim->kind == SHARE_OF_FLOOR ? "of the floor's rate" : figure->unit);
    fprintf(out, "%-6s %-32s %10.3f  %s %-6g  %s\n", description->name, what, number,
            aim->kind == AT_MOST ? "at most " : "at least", aim->aim, met ? "reached" : "missed");
}

void report_aims(const struct results *results, FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < sizeof aims / sizeof aims[0]; i++) {
        for (size_t size = 0; size < results->options.size_count; size++) {
            double number = reached(results, size, &aims[i]);
            bool meant = workload_descriptions[aims[i].workload].size == SIZE_OWN ||
                         results->options.sizes[size] == AIMED_TIMERS;
            if (!meant || isnan(number))
                continue;
            if (!any)
                fprintf(out, "\nThe scheduler's aims, for a million tasks:\n");
            any = true;
            print_aim(&aims[i], number, out);
        }
    }
}
