/*
 * elapse run: reads the command line.
 */

#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/command.h"
#include "../common/duration.h"
#include "../common/local_time.h"
#include "../common/options.h"
#include "../common/text.h"
#include "life.h"
#include "line.h"

enum { WORKERS_DEFAULT = 10, WORKERS_MAX = 4096, RETRIES_MAX = 1000 };

#define TIMEOUT_MAX_NS         UINT64_C(31536000000000000) /* a year */
#define BACKOFF_MAX_NS         UINT64_C(86400000000000)    /* a day */
#define BACKOFF_MIN_DEFAULT_NS UINT64_C(1000000000)
#define BACKOFF_MAX_DEFAULT_NS UINT64_C(60000000000)

static const struct command_help help = {
    .usage = "Usage: elapse run [FILE] [OPTION]... [--exec PROGRAM [ARG]...]\n"
             "       elapse run --in DURATION | --at TIME [OPTION]... [--exec ...]\n",
    .purpose = "Makes each line of FILE, or of standard input, a timer, and prints one line of\n"
               "JSON when it fires. It ends when the input has ended and no timer is left.\n"
               "\n"
               "Lines:\n"
               "  in 30m KEY PAYLOAD                    once, after this time\n"
               "  at 2026-11-20T10:00:00Z KEY PAYLOAD   once, at this time (Z or +hh:mm)\n"
               "  at 18:30 KEY PAYLOAD                  at this time of day, or with a date:\n"
               "                                        2026-11-20T18:30\n"
               "  every 5s KEY PAYLOAD                  again and again, at whole periods\n"
               "  after-each 5s KEY PAYLOAD             again and again, counted from each end\n"
               "  cron \"*/5 * * * *\" KEY PAYLOAD        at the times of the expression\n"
               "  cron[ZONE] \"...\" KEY PAYLOAD          in a time zone such as Europe/Berlin\n"
               "  cancel KEY                            removes the pending timer of this key\n"
               "  list                                  with --answers: the pending timers\n"
               "  # a comment\n"
               "A timer replaces the pending timer with its key. The payload is the rest of the\n"
               "line, and may be empty.\n",
    .example = "Examples:\n"
               "  printf 'in 2s tea ready\\nin 1s egg soft\\n' | elapse run\n"
               "  elapse run --in 5m --exec notify-send Tea\n",
};

static enum exit_status check_options(const struct run_options *options,
                                      const struct command_line *line)
{
    if (line->argument_count > 1)
        return usage_error("there are too many files: %s", quote_string(line->arguments[1]).text);
    if (options->program != NULL && (options->program[0] == NULL || options->program[0][0] == '\0'))
        return usage_error("--exec: a program is missing");
    if (options->data != NULL && options->data[0] == '\0')
        return usage_error("--data: a directory is missing");
    if (options->data != NULL && options->tick_ns != ELAPSE_MILLISECOND_NS)
        return usage_error("--data has a tick of 1ms");
    const char *needs_program = options->workers > 0          ? "--workers"
                                : options->timeout_ns > 0     ? "--timeout"
                                : options->retries > 0        ? "--retry"
                                : options->backoff_max_ns > 0 ? "--backoff"
                                                              : NULL;
    if (options->program == NULL && needs_program != NULL)
        return usage_error("%s needs --exec", needs_program);
    if (options->retries == 0 && options->backoff_max_ns > 0)
        return usage_error("--backoff needs --retry");
    return STATUS_OK;
}

/* Reads MIN..MAX, or one duration that is both. */
static enum exit_status read_backoff(void *context, const char *value)
{
    struct run_options *options = context;
    const char *dots = strstr(value, "..");
    const char *most = dots != NULL ? dots + 2 : value;
    size_t length = dots != NULL ? (size_t)(dots - value) : strlen(value);
    char least[64];

    if (length >= sizeof least)
        return usage_error("--backoff: %s is too long", quote_string(value).text);
    memcpy(least, value, length);
    least[length] = '\0';
    const char *fault = duration_parse(least, &options->backoff_min_ns);
    if (fault == NULL)
        fault = duration_parse(most, &options->backoff_max_ns);
    if (fault != NULL)
        return usage_error("--backoff: %s: %s", quote_string(value).text, fault);
    if (options->backoff_min_ns == 0 || options->backoff_min_ns > options->backoff_max_ns ||
        options->backoff_max_ns > BACKOFF_MAX_NS)
        return usage_error("--backoff: %s is not MIN..MAX within 1ns..1d",
                           quote_string(value).text);
    return STATUS_OK;
}

/* Makes the only line from --in or --at, and checks it. */
static bool make_line(struct run_options *options, const struct command_line *command,
                      const char *in, const char *at, enum exit_status *status)
{
    static char text[128];
    struct run_line line;
    struct run_line_fault fault;
    const char *option = in != NULL ? "--in" : "--at";
    const char *value = in != NULL ? in : at;

    ELAPSE__ASSERT(value != NULL);
    *status = STATUS_USAGE;
    if (in != NULL && at != NULL)
        *status = usage_error("give --in or --at, not both");
    else if (command->argument_count > 0)
        *status = usage_error("%s takes no file", option);
    else if (value[0] == '\0' || strpbrk(value, " \t\n") != NULL ||
             snprintf(text, sizeof text, "%s %s once", option + 2, value) >= (int)sizeof text)
        *status = usage_error("%s: %s is not one word", option, quote_string(value).text);
    else if (!run_line_parse(&line, text, strlen(text), &fault))
        *status = usage_error("%s: %s", option, fault.text);
    else
        options->line = text;
    return options->line != NULL;
}

/* The values of the options. */
struct run_request {
    struct run_options options;
    bool utc;
    const char *in;
    const char *at;
};

/* Reads the command line. Returns what options_read does. */
static bool read_options(struct run_request *request, struct command_line *line, int argc,
                         char **argv, enum exit_status *status)
{
    const struct command_option table[] = {
        option_rest("exec", "PROGRAM [ARG]...", &request->options.program,
                    "run this program when a timer fires, instead of printing, with ELAPSE_KEY, "
                    "ELAPSE_DUE, ELAPSE_FIRED, ELAPSE_LATE_US, ELAPSE_RUN, ELAPSE_MISSED and "
                    "ELAPSE_PAYLOAD in its environment; takes the rest of the command line"),
        option_number("workers", "N", &request->options.workers, 1, WORKERS_MAX,
                      "run at most N programs at once (default 10)"),
        option_duration("timeout", &request->options.timeout_ns, 1, TIMEOUT_MAX_NS,
                        "end a program that runs for longer, by SIGTERM, and by SIGKILL 5s later"),
        option_number("retry", "N", &request->options.retries, 1, RETRIES_MAX,
                      "run a program that fails up to N times more"),
        option_function(
            "backoff", "MIN..MAX", read_backoff, &request->options,
            "wait MIN before the first retry, and twice as long before each next, up to MAX "
            "(default 1s..1m)"),
        option_text("in", "DURATION", &request->in, "one timer, after this time, and no input"),
        option_text("at", "TIME", &request->at,
                    "one timer, at this time, such as 18:30, and no input"),
        option_text(
            "data", "DIRECTORY", &request->options.data,
            "keep the timers in this directory: they survive the end of the program, however "
            "it ends, and go on with the next run; each fires at least once, and says if it "
            "may have fired before"),
        option_duration("tick", &request->options.tick_ns, 1, ELAPSE_HOUR_NS,
                        "round deadlines up to whole ticks of this length (default 1ms)"),
        option_flag("utc", &request->utc, "read cron expressions in UTC, not in local time"),
        option_flag(
            "answers", &request->options.answers,
            "print what each cancel found, what list finds and what is wrong with a line, as "
            "lines of JSON"),
        option_flag(
            "strict", &request->options.strict,
            "end at the first bad line, with status 2; otherwise bad lines are reported and "
            "skipped"),
        option_flag("stats", &request->options.statistics,
                    "print counts and lateness at the end; SIGUSR1 prints them at any time"),
    };

    *line = (struct command_line)COMMAND_LINE(help, table);
    return options_read(line, argc, argv, status);
}

enum exit_status run_command(int argc, char **argv)
{
    struct run_request request = {
        .options = {.file = "-", .tick_ns = ELAPSE_MILLISECOND_NS, .zone = ELAPSE_ZONE_LOCAL}};
    struct run_options *options = &request.options;
    struct command_line line;
    enum exit_status status;

    if (!read_options(&request, &line, argc, argv, &status))
        return status;
    status = check_options(options, &line);
    if (status != STATUS_OK || (!request.utc && !local_time_is_known(&status)))
        return status;
    if (options->workers == 0)
        options->workers = WORKERS_DEFAULT;
    if (options->backoff_max_ns == 0) {
        options->backoff_min_ns = BACKOFF_MIN_DEFAULT_NS;
        options->backoff_max_ns = BACKOFF_MAX_DEFAULT_NS;
    }
    if (request.utc)
        options->zone = ELAPSE_ZONE_UTC;
    if ((request.in != NULL || request.at != NULL) &&
        !make_line(options, &line, request.in, request.at, &status))
        return status;
    if (line.argument_count > 0)
        options->file = line.arguments[0];
    ELAPSE__ASSERT(options->workers <= WORKERS_MAX);
    return run_file(options);
}
