/*
 * Writes the report as text or as JSON.
 */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

#include "../../base/assert.h"
#include "../common/duration.h"
#include "../common/output.h"
#include "../common/text.h"

/* Prints a line of the report: its name, a number aligned to the right, and the rest. */
static void print_number(const char *name, uint64_t number, const char *rest)
{
    output_add_format("%-12s %15s%s\n", name, group_digits(number).text, rest);
}

static void print_occupancy(const struct replay_figures *figures)
{
    output_add_format("occupancy, taken at %s pending\n",
                      group_digits(figures->occupancy_pending).text);
    ELAPSE__ASSERT(figures->levels <= REPLAY_LEVELS);
    for (unsigned level = 0; level < figures->levels; level++) {
        uint64_t slots = figures->level_slots[level];
        if (slots == 0)
            continue;
        output_add_format("  level %-4u %15s in %s slot%s\n", level,
                          group_digits(figures->level_timers[level]).text, group_digits(slots).text,
                          slots == 1 ? "" : "s");
    }
}

void report_text(const struct report *report)
{
    const struct replay_figures *figures = report->figures;
    uint64_t armings = figures->started + figures->restarted;
    char rest[64];

    ELAPSE__ASSERT(report->tick_us > 0);
    ELAPSE__ASSERT(report->figures != NULL);
    output_add_format("%-12s ", "trace");
    output_add_masked(report->trace);
    output_add_text("\n");
    output_add_format("%-12s %s\n", "structure", report->structure);
    output_add_format("%-12s %s\n", "tick", duration_format(report->tick_us * 1000).text);
    print_number("operations", figures->operations, "");
    print_number("  starts", figures->started, "");
    print_number("  restarts", figures->restarted, "");
    print_number("  stops", figures->stopped, "");
    print_number("fired", figures->fired, "");
    print_number("  early", figures->early, "");
    print_number("  latest", figures->late_ticks_max, " ticks late");
    print_number("pending", figures->pending, " at the end");
    print_number("  peak", figures->peak_pending, "");
    print_number("wake-ups", figures->wakeups, "");
    snprintf(rest, sizeof rest, " (%.3f for each start and restart)",
             armings > 0 ? (double)figures->moves / (double)armings : 0.0);
    print_number("moves", figures->moves, rest);
    output_add_format("%-12s %15.1f ns per operation (structure and judging)\n", "time",
                      figures->ns_per_operation);
    output_add_format("%-12s %016" PRIx64 "\n", "digest", figures->digest);
    print_occupancy(figures);
}

void report_json(const struct report *report)
{
    const struct replay_figures *figures = report->figures;
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {
        {"tick_us", report->tick_us},  {"operations", figures->operations},
        {"started", figures->started}, {"restarted", figures->restarted},
        {"stopped", figures->stopped}, {"fired", figures->fired},
        {"pending", figures->pending}, {"peak_pending", figures->peak_pending},
        {"early", figures->early},     {"late_ticks_max", figures->late_ticks_max},
        {"wakeups", figures->wakeups}, {"moves", figures->moves},
    };

    struct elapse__json *json = output_begin_json();
    char text[64];

    ELAPSE__ASSERT(report->tick_us > 0);
    ELAPSE__ASSERT(report->figures != NULL);
    elapse__json_open(json, '{');
    /* A file name may be any bytes. Bytes that are not UTF-8 become U+FFFD. */
    elapse__json_text_member(json, "trace", report->trace);
    elapse__json_text_member(json, "structure", report->structure);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        elapse__json_unsigned_member(json, numbers[i].name, numbers[i].value);
    elapse__json_name(json, "ns_per_operation");
    (void)snprintf(text, sizeof text, "%.1f", figures->ns_per_operation);
    elapse__json_literal(json, text);
    (void)snprintf(text, sizeof text, "%016" PRIx64, figures->digest);
    elapse__json_text_member(json, "digest", text);
    elapse__json_close(json, '}');
    output_end_json();
}
