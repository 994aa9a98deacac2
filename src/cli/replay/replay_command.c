/*
 * elapse replay: the command line around the replay.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/structure.h>

#include "../common/command.h"
#include "../common/duration.h"
#include "../common/message.h"
#include "../common/structure_choice.h"
#include "../common/text.h"
#include "plot.h"
#include "progress.h"
#include "replay.h"
#include "report.h"
#include "samples.h"
#include "trace.h"
#include "trace_file.h"

struct replay_options {
    struct structure_choice choice;
    uint64_t tick_us;
    bool json;
    const char *plot; /* file to draw into, or NULL */
};

static enum exit_status print_help(void)
{
    fputs("Usage: elapse replay [--structure NAME] [--tick DURATION] [--json]\n"
          "                     [--plot FILE.svg] TRACE...\n"
          "\n"
          "Takes each trace of timer operations through a structure, in virtual time and as\n"
          "fast as it goes, judges by its own record that nothing fired early or late, and\n"
          "reports. A trace is CSV, plain or gzip; - is standard input.\n"
          "\n"
          "Options:\n"
          "  --structure NAME   one of: ",
          stdout);
    structure_choice_print_forms();
    printf("\n                     (default %s)\n", elapse_structure_at(0)->name);
    fputs("  --tick DURATION    length of a tick, in whole microseconds (default 1us);\n"
          "                     deadlines are rounded up to it\n"
          "  --json             one JSON object for each trace, and nothing else\n"
          "  --plot FILE.svg    draw pending timers and delays, with gnuplot\n"
          "  --help             show this\n"
          "\n"
          "Example:\n"
          "  elapse generate orders | elapse replay --structure heap --plot orders.svg -\n",
          stdout);
    return finish_output();
}

/* ---- one trace ---- */

static enum exit_status run(struct replay *replay, struct trace_reader *reader,
                            struct trace_file *file, const char *name)
{
    struct progress progress;
    enum replay_status status;
    bool more;

    progress_begin(&progress);
    do {
        status = replay_batch(replay, reader, &more);
        const struct replay_figures *figures = replay_figures(replay);
        progress_update(&progress, name, figures->operations, figures->pending,
                        trace_file_progress(file));
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
    print_error("%s:%" PRIu64 ": the structure is broken: %s", name, reader->line,
                replay_fault(replay));
    return STATUS_FAILED;
}

/* In virtual time a sound structure is neither early nor late, not by a tick. */
static enum exit_status judge(const struct report *report)
{
    const struct replay_figures *figures = report->figures;

    if (figures->early > 0)
        print_error("%s: %" PRIu64 " timers fired early", report->trace, figures->early);
    if (figures->late_ticks_max > 0)
        print_error("%s: timers were up to %" PRIu64 " ticks late", report->trace,
                    figures->late_ticks_max);
    return figures->early > 0 || figures->late_ticks_max > 0 ? STATUS_FAILED : STATUS_OK;
}

static enum exit_status show(const struct report *report, const struct replay_options *options,
                             struct samples *samples)
{
    if (options->json)
        report_json(report);
    else
        report_human(report);
    enum exit_status status = finish_output();
    if (status == STATUS_OK && options->plot != NULL) {
        samples_finish(samples);
        status = plot_write(options->plot, report, samples);
    }
    enum exit_status judgement = judge(report);
    return status == STATUS_OK ? judgement : status;
}

/* What would be in the plot's way is better told before a long replay. */
static enum exit_status prepare_plot(const char *plot, const struct trace_file *file)
{
    if (trace_file_is_at(file, plot)) {
        print_error("%s: --plot would overwrite the trace", plot);
        return STATUS_USAGE;
    }
    return plot_check(plot);
}

static enum exit_status replay_trace(const char *path, const struct replay_options *options)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path[0] == '\0' ? "''" : path;
    struct trace_file file;
    const char *fault = trace_file_open(&file, path);

    if (fault != NULL) {
        print_error("%s: %s", name, fault);
        return STATUS_USAGE;
    }
    struct samples *samples = NULL;
    if (options->plot != NULL) {
        enum exit_status ready = prepare_plot(options->plot, &file);
        if (ready != STATUS_OK) {
            trace_file_close(&file);
            return ready;
        }
        samples = allocate(sizeof *samples);
        samples_init(samples);
    }
    struct trace_reader *reader = allocate(sizeof *reader);
    trace_reader_init(reader, trace_file_read, &file);
    struct replay *replay =
        replay_new(options->choice.structure, options->choice.shape, options->tick_us, samples);

    enum exit_status status = run(replay, reader, &file, name);
    if (status == STATUS_OK) {
        struct report report = {
            .trace = name,
            .structure = options->choice.text,
            .tick_us = options->tick_us,
            .figures = replay_figures(replay),
        };
        status = show(&report, options, samples);
    }
    replay_free(replay);
    free(reader);
    free(samples);
    trace_file_close(&file);
    return status;
}

/* ---- the command line ---- */

static enum exit_status set_tick(struct replay_options *options, const char *program,
                                 const char *text)
{
    uint64_t tick_ns;
    const char *fault = duration_parse(text, &tick_ns);

    if (fault != NULL)
        return usage_error(program, "--tick: %s: %s", quote_string(text).text, fault);
    if (tick_ns == 0 || tick_ns % 1000 != 0)
        return usage_error(program, "--tick: %s is not a whole, positive number of microseconds",
                           quote_string(text).text);
    options->tick_us = tick_ns / 1000;
    return STATUS_OK;
}

enum { OPTION_STRUCTURE = 256, OPTION_TICK, OPTION_JSON, OPTION_PLOT, OPTION_HELP };

static const struct option long_options[] = {
    {"structure", required_argument, NULL, OPTION_STRUCTURE},
    {"tick", required_argument, NULL, OPTION_TICK},
    {"json", no_argument, NULL, OPTION_JSON},
    {"plot", required_argument, NULL, OPTION_PLOT},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/* Reads one option. Sets `*help` when it is --help. */
static enum exit_status read_option(int option, const char *program, struct replay_options *options,
                                    bool *help)
{
    switch (option) {
    case OPTION_STRUCTURE:
        return structure_choice_parse(&options->choice, program, "--structure", optarg);
    case OPTION_TICK:
        return set_tick(options, program, optarg);
    case OPTION_JSON:
        options->json = true;
        return STATUS_OK;
    case OPTION_PLOT:
        options->plot = optarg;
        return STATUS_OK;
    case OPTION_HELP:
        *help = true;
        return STATUS_OK;
    default:
        return usage_hint(program);
    }
}

static unsigned count_standard_input(char **traces)
{
    unsigned count = 0;

    for (; *traces != NULL; traces++)
        count += strcmp(*traces, "-") == 0;
    return count;
}

enum exit_status replay_command(int argc, char **argv)
{
    struct replay_options options = {.tick_us = 1};
    enum exit_status status = STATUS_OK;
    bool help = false;
    int option;

    structure_choice_default(&options.choice);

    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        status = read_option(option, argv[0], &options, &help);
        if (status != STATUS_OK)
            return status;
        if (help)
            return print_help();
    }
    if (optind == argc)
        return usage_error(argv[0], "a trace is missing; - is standard input");
    if (options.plot != NULL && (options.plot[0] == '\0' || strcmp(options.plot, "-") == 0))
        return usage_error(argv[0], "--plot takes the name of a file, not %s",
                           quote_string(options.plot).text);
    if (options.plot != NULL && argc - optind > 1)
        return usage_error(argv[0], "--plot takes one trace, and there are %d", argc - optind);
    if (count_standard_input(argv + optind) > 1)
        return usage_error(argv[0], "standard input, -, can be read only once");

    for (int i = optind; i < argc; i++) {
        enum exit_status one = replay_trace(argv[i], &options);
        if (one > status)
            status = one;
    }
    return status;
}
