/*
 * elapse cron: checks a cron expression and lists its next times.
 */

#include <inttypes.h>
#include <time.h>

#include <elapse/cron.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "../common/command.h"
#include "../common/local_time.h"
#include "../common/options.h"
#include "../common/output.h"
#include "../common/text.h"

enum { NEXT_DEFAULT = 5, NEXT_MAX = 1000000, NANOSECONDS_A_SECOND = 1000000000 };

static const struct command_help help = {
    .usage = "Usage: elapse cron EXPRESSION [--zone ZONE] [--next N]\n",
    .purpose = "Checks a cron expression, and lists its next times, in local time or in ZONE.\n",
    .example = "Examples:\n"
               "  elapse cron '*/10 22-2 * * FRI-MON'\n"
               "  elapse cron '30 2 * * *' --zone Europe/Berlin --next 3\n",
};

struct cron_options {
    const char *zone; /* NULL: local time */
    uint64_t next;
};

/* Prints a moment as local time: 2026-11-20T10:00:00+01:00 Fri. */
static void print_moment(const struct elapse_time_zone *zone, int64_t moment_s)
{
    int64_t offset_s = elapse_time_zone_offset_s(zone, moment_s);
    uint64_t minutes = (uint64_t)(offset_s < 0 ? -offset_s : offset_s) / 60;
    time_t local_s = (time_t)(moment_s + offset_s);
    const struct tm *local = gmtime(&local_s);
    char text[40];

    ELAPSE__ASSERT(local != NULL);
    ELAPSE__ASSERT_THAT(minutes, <, 26 * 60U); /* no zone is further from UTC */
    (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", local);
    output_add_text(text);
    output_add_format("%c%02" PRIu64 ":%02" PRIu64, offset_s < 0 ? '-' : '+', minutes / 60,
                      minutes % 60);
    (void)strftime(text, sizeof text, " %a\n", local);
    output_add_text(text);
}

static enum exit_status list_next(struct elapse_cron *cron, const struct elapse_time_zone *zone,
                                  uint64_t count)
{
    int64_t moment_s = (int64_t)(elapse__os_wall_clock_ns() / NANOSECONDS_A_SECOND);

    elapse_cron_set_time_zone(cron, zone);
    for (uint64_t i = 0; i < count && !output_failed(); i++) {
        int64_t before_s = moment_s;
        if (!elapse_cron_next(cron, ELAPSE_ZONE_LOCAL, moment_s, &moment_s))
            break;
        ELAPSE__ASSERT(moment_s > before_s);
        (void)before_s; /* used only by the assertion */
        print_moment(zone, moment_s);
    }
    return output_finish();
}

enum exit_status cron_command(int argc, char **argv)
{
    struct cron_options options = {.next = NEXT_DEFAULT};
    const struct command_option table[] = {
        option_text("zone", "ZONE", &options.zone,
                    "the time zone, such as Europe/Berlin or UTC; local time without it"),
        option_number("next", "N", &options.next, 0, NEXT_MAX,
                      "how many times to list, up to 1000000 (default 5)"),
    };
    struct command_line line = COMMAND_LINE(help, table);
    const struct elapse_time_zone *zone;
    struct elapse_cron cron;
    struct elapse_cron_fault fault;
    enum exit_status status;

    if (!options_read(&line, argc, argv, &status))
        return status;
    if (line.argument_count == 0)
        return usage_error("an expression is missing");
    if (line.argument_count > 1)
        return usage_error("give the expression in quotes: there are %d arguments",
                           line.argument_count);
    if (options.zone != NULL && elapse_time_zone_find(options.zone, &zone) != ELAPSE_OK)
        return usage_error("--zone: there is no time zone %s", quote_string(options.zone).text);
    if (options.zone == NULL && !local_time_is_known(&status))
        return status;
    if (options.zone == NULL && elapse_time_zone_find(NULL, &zone) != ELAPSE_OK)
        return STATUS_FAILED;
    if (elapse_cron_parse(&cron, line.arguments[0], &fault) != ELAPSE_OK)
        return error_of(STATUS_USAGE, "the cron expression %s: at character %zu: %s",
                        quote_string(line.arguments[0]).text, fault.position + 1, fault.text);
    return list_next(&cron, zone, options.next);
}
