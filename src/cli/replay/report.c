/*
 * The two forms of the report.
 */
#include "report.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "../common/duration.h"
#include "../common/text.h"

/* A line of the report: its name, and a number right-aligned behind it. */
static void print_number(const char *name, uint64_t number, const char *rest)
{
    printf("%-12s %15s%s\n", name, group_digits(number).text, rest);
}

static void print_occupancy(const struct replay_figures *figures)
{
    char heading[80];

    snprintf(heading, sizeof heading, "occupancy, taken at %s pending",
             group_digits(figures->occupancy_pending).text);
    puts(heading);
    for (unsigned level = 0; level < figures->levels; level++) {
        uint64_t slots = figures->level_slots[level];
        if (slots == 0)
            continue;
        printf("  level %-4u %15s in %s slot%s\n", level,
               group_digits(figures->level_timers[level]).text, group_digits(slots).text,
               slots == 1 ? "" : "s");
    }
}

void report_human(const struct report *report)
{
    const struct replay_figures *figures = report->figures;
    uint64_t armings = figures->started + figures->restarted;
    char trace[PATH_MAX];
    char rest[64];

    snprintf(trace, sizeof trace, "%s", report->trace);
    mask_control_characters(trace);
    printf("%-12s %s\n", "trace", trace);
    printf("%-12s %s\n", "structure", report->structure);
    printf("%-12s %s\n", "tick", duration_format(report->tick_us * 1000).text);
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
    printf("%-12s %15.1f ns per operation (structure and judging)\n", "time",
           figures->ns_per_operation);
    printf("%-12s %016" PRIx64 "\n", "digest", figures->digest);
    print_occupancy(figures);
}

/* A file name can be any bytes; those that are no UTF-8 become U+FFFD. */
static void print_json_string(const char *string)
{
    putchar('"');
    while (*string != '\0') {
        size_t length = character_length(string);
        if (length == 0) {
            fputs("\\ufffd", stdout);
            length = 1;
        } else if (*string == '"' || *string == '\\') {
            printf("\\%c", *string);
        } else if ((unsigned char)*string < 0x20) {
            printf("\\u%04x", (unsigned)*string);
        } else {
            fwrite(string, 1, length, stdout);
        }
        string += length;
    }
    putchar('"');
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

    fputs("{\"trace\":", stdout);
    print_json_string(report->trace);
    fputs(",\"structure\":", stdout);
    print_json_string(report->structure);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        printf(",\"%s\":%" PRIu64, numbers[i].name, numbers[i].value);
    printf(",\"ns_per_operation\":%.1f,\"digest\":\"%016" PRIx64 "\"}\n", figures->ns_per_operation,
           figures->digest);
}
