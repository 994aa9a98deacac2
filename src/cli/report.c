/*
 * The two forms of the report.
 */
#include "report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "duration.h"
#include "text.h"

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
    char rest[64];

    printf("%-12s %s\n", "trace", report->trace);
    printf("%-12s %s\n", "structure", report->structure);
    if (report->tick_us <= UINT64_MAX / 1000)
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
    printf("%-12s %15.1f ns per operation\n", "time", figures->ns_per_operation);
    printf("%-12s %016" PRIx64 "\n", "digest", figures->digest);
    print_occupancy(figures);
}

/* Length of the UTF-8 character that `text` begins with; 0 if it is none. */
static size_t character_length(const unsigned char *text)
{
    static const struct {
        unsigned char mask;
        unsigned char lead;
        uint32_t least; /* smaller ones must be written with fewer bytes */
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

    for (size_t length = 1; length <= sizeof forms / sizeof forms[0]; length++) {
        unsigned char mask = forms[length - 1].mask;
        if ((text[0] & mask) != forms[length - 1].lead)
            continue;
        uint32_t character = text[0] & (unsigned char)~mask;
        for (size_t i = 1; i < length; i++) {
            if ((text[i] & 0xc0) != 0x80)
                return 0;
            character = character << 6 | (text[i] & 0x3f);
        }
        bool is_surrogate = character >= 0xd800 && character <= 0xdfff;
        bool is_valid =
            character >= forms[length - 1].least && character <= 0x10ffff && !is_surrogate;
        return is_valid ? length : 0;
    }
    return 0;
}

/* A file name can be any bytes; those that are no UTF-8 become U+FFFD. */
static void print_json_string(const char *string)
{
    const unsigned char *text = (const unsigned char *)string;

    putchar('"');
    while (*text != '\0') {
        size_t length = character_length(text);
        if (length == 0) {
            fputs("\\ufffd", stdout);
            length = 1;
        } else if (*text == '"' || *text == '\\') {
            printf("\\%c", *text);
        } else if (*text < 0x20) {
            printf("\\u%04x", *text);
        } else {
            fwrite(text, 1, length, stdout);
        }
        text += length;
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
