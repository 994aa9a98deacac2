/*
 * elapse replay: reads the command line, and replays each trace.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/structure.h>

#include "../../base/assert.h"
#include "../common/command.h"
#include "../common/duration.h"
#include "../common/options.h"
#include "../common/output.h"
#include "../common/progress.h"
#include "../common/structure_choice.h"
#include "../common/text.h"
#include "plot.h"
#include "replay.h"
#include "report.h"
#include "samples.h"
#include "trace.h"
#include "trace_file.h"

struct replay_options {
    struct structure_choice choice;
    uint64_t tick_us;
    bool json;
    const char *plot; /* the file to draw into, or NULL */
};

/* ---- one trace ---- */

/* Shows how much of the trace was replayed. `part` is from 0 to 1, or below 0 if it is unknown. */
static void show_progress(struct progress *progress, const char *trace,
                          const struct replay_figures *figures, double part)
{
    char percent[16] = "";
    char line[400];

    if (!progress_is_due(progress))
        return;
    ELAPSE__ASSERT(part <= 1);
    if (part >= 0)
        snprintf(percent, sizeof percent, "%.0f %% of ", part * 100);
    snprintf(line, sizeof line, "%s%s: %s operations, %s pending", percent,
             quote_string(trace).text, group_digits(figures->operations).text,
             group_digits(figures->pending).text);
    progress_show(progress, line);
}

/* Runs the trace to its end, or to the first fault. Reports the fault. */
static enum exit_status run(struct replay *replay, struct trace_reader *reader,
                            struct trace_file *file, const char *name)
{
    struct progress progress;
    enum replay_status status;
    bool more;

    progress_begin(&progress);
    do {
        status = replay_batch(replay, reader, &more);
        show_progress(&progress, name, replay_figures(replay), trace_file_progress(file));
    } while (status == REPLAY_OK && more);
    progress_end(&progress);
    if (status == REPLAY_OK)
        status = replay_finish(replay);

    switch (status) {
    case REPLAY_OK:
        return STATUS_OK;
    case REPLAY_BAD_TRACE:
        print_error("%s:%" PRIu64 ": %s%s", name, reader->line, reader->error,
                    trace_file_rest_is_damaged(file) ? " (the gzip data is damaged)" : "");
        return STATUS_USAGE;
    case REPLAY_BROKEN_STRUCTURE:
        break;
    }
    return error_of(STATUS_FAILED, "%s:%" PRIu64 ": the structure is broken: %s", name,
                    reader->line, replay_fault(replay));
}

/* Reports timers that fired early or late. In virtual time there are none, unless the structure is
 * broken. */
static enum exit_status check_lateness(const struct report *report)
{
    const struct replay_figures *figures = report->figures;

    ELAPSE__ASSERT(report->figures != NULL);
    if (figures->early > 0)
        print_error("%s: %" PRIu64 " timers fired early", report->trace, figures->early);
    if (figures->late_ticks_max > 0)
        print_error("%s: timers were up to %" PRIu64 " ticks late", report->trace,
                    figures->late_ticks_max);
    return figures->early > 0 || figures->late_ticks_max > 0 ? STATUS_FAILED : STATUS_OK;
}

static enum exit_status print_report(const struct report *report,
                                     const struct replay_options *options, struct samples *samples)
{
    ELAPSE__ASSERT((options->plot != NULL) == (samples != NULL));
    if (options->json)
        report_json(report);
    else
        report_text(report);
    enum exit_status status = output_finish();
    if (status == STATUS_OK && options->plot != NULL) {
        samples_finish(samples);
        status = plot_write(options->plot, report, samples);
    }
    enum exit_status lateness = check_lateness(report);
    return status == STATUS_OK ? lateness : status;
}

/* Checks before a long replay that the plot can be written. */
static enum exit_status prepare_plot(const char *plot, const struct trace_file *file)
{
    if (trace_file_is_at(file, plot))
        return error_of(STATUS_USAGE, "%s: --plot would overwrite the trace", plot);
    return plot_check(plot);
}

static enum exit_status replay_trace(const char *path, const struct replay_options *options)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path[0] == '\0' ? "''" : path;
    struct trace_file *file = allocate(sizeof *file);
    const char *fault = trace_file_open(file, path);

    if (fault != NULL) {
        print_error("%s: %s", name, fault);
        free(file);
        return STATUS_USAGE;
    }
    struct samples *samples = NULL;
    if (options->plot != NULL) {
        enum exit_status ready = prepare_plot(options->plot, file);
        if (ready != STATUS_OK) {
            trace_file_close(file);
            free(file);
            return ready;
        }
        samples = allocate(sizeof *samples);
        samples_init(samples);
    }
    struct trace_reader *reader = allocate(sizeof *reader);
    trace_reader_init(reader, trace_file_read, file);
    ELAPSE__ASSERT(options->tick_us > 0);
    const struct replay_plan plan = {
        .trace = name,
        .structure = options->choice.structure,
        .shape = options->choice.shape,
        .tick_us = options->tick_us,
        .samples = samples,
        .takes_occupancy = !options->json,
    };
    struct replay *replay = replay_new(&plan);

    enum exit_status status = run(replay, reader, file, name);
    if (status == STATUS_OK) {
        struct report report = {
            .trace = name,
            .structure = options->choice.text,
            .tick_us = options->tick_us,
            .figures = replay_figures(replay),
        };
        status = print_report(&report, options, samples);
    }
    replay_free(replay);
    free(reader);
    free(samples);
    trace_file_close(file);
    free(file);
    return status;
}

/* ---- the command line ---- */

static const struct command_help help = {
    .usage = "Usage: elapse replay [--structure NAME] [--tick DURATION] [--json]\n"
             "                     [--plot FILE.svg] TRACE...\n",
    .purpose = "Runs each trace of timer operations through a structure, in virtual time and as\n"
               "fast as possible. Checks with records of its own that no timer fires early or\n"
               "late, and reports. A trace is CSV, plain or gzip; - is standard input.\n",
    .example = "Example:\n"
               "  elapse generate orders | elapse replay --structure heap --plot orders.svg -\n",
};

static enum exit_status read_structure(void *context, const char *value)
{
    struct replay_options *options = context;

    return structure_choice_parse(&options->choice, "--structure", value);
}

static enum exit_status read_tick(void *context, const char *value)
{
    struct replay_options *options = context;
    uint64_t tick_ns;
    const char *fault = duration_parse(value, &tick_ns);

    if (fault != NULL)
        return usage_error("--tick: %s: %s", quote_string(value).text, fault);
    if (tick_ns == 0 || tick_ns % 1000 != 0)
        return usage_error("--tick: %s is not a whole, positive number of microseconds",
                           quote_string(value).text);
    options->tick_us = tick_ns / 1000;
    return STATUS_OK;
}

static enum exit_status check_options(const struct replay_options *options,
                                      const struct command_line *line)
{
    const char *plot = options->plot;
    unsigned standard_inputs = 0;

    for (int i = 0; i < line->argument_count; i++)
        standard_inputs += strcmp(line->arguments[i], "-") == 0;
    if (line->argument_count == 0)
        return usage_error("a trace is missing; - is standard input");
    if (plot != NULL && (plot[0] == '\0' || strcmp(plot, "-") == 0))
        return usage_error("--plot needs the name of a file, not %s", quote_string(plot).text);
    if (plot != NULL && line->argument_count > 1)
        return usage_error("--plot takes one trace, and there are %d", line->argument_count);
    if (standard_inputs > 1)
        return usage_error("standard input, -, can be read only once");
    return STATUS_OK;
}

enum exit_status replay_command(int argc, char **argv)
{
    struct replay_options options = {.tick_us = 1};
    const struct command_option table[] = {
        option_function("structure", "NAME", read_structure, &options,
                        "wheel (the default), heap, dials[:SLOTS,...] or hashed[:SLOTS]"),
        option_function("tick", "DURATION", read_tick, &options,
                        "the length of a tick, in whole microseconds (default 1us); deadlines are "
                        "rounded up to it"),
        option_flag("json", &options.json,
                    "print one JSON object for each trace, and nothing else"),
        option_text("plot", "FILE.svg", &options.plot,
                    "draw pending timers and delays, with gnuplot"),
    };
    struct command_line line = COMMAND_LINE(help, table);
    enum exit_status status;

    structure_choice_default(&options.choice);
    if (!options_read(&line, argc, argv, &status))
        return status;
    status = check_options(&options, &line);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < line.argument_count; i++) {
        enum exit_status one = replay_trace(line.arguments[i], &options);
        status = one > status ? one : status;
    }
    return status;
}
