/*
 * elapse run: the command line.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "../common/command.h"
#include "../common/duration.h"
#include "../common/message.h"
#include "../common/text.h"
#include "run.h"

enum { WORKERS_DEFAULT = 10, WORKERS_MAX = 4096 };

static enum exit_status print_help(void)
{
    fputs("Usage: elapse run [FILE] [OPTION]... [--exec PROGRAM [ARG]...]\n"
          "\n"
          "Makes each line of FILE, or of standard input, a timer, and prints one line of\n"
          "JSON when it fires. It ends when the input has ended and no timer is left.\n"
          "\n"
          "Lines:\n"
          "  in 30m KEY PAYLOAD                    once, after a while\n"
          "  at 2026-11-20T10:00:00Z KEY PAYLOAD   once, at a time (Z or +hh:mm)\n"
          "  every 5s KEY PAYLOAD                  again and again, by the clock\n"
          "  after-each 5s KEY PAYLOAD             again and again, counted from each end\n"
          "  cron \"*/5 * * * *\" KEY PAYLOAD        whenever the expression says\n"
          "  cancel KEY                            no more\n"
          "  # a comment\n"
          "A timer takes the place of a pending one with its key. The payload is the rest\n"
          "of the line, or nothing.\n"
          "\n"
          "Options:\n"
          "  --exec PROGRAM [ARG]...   run this when a timer fires, instead of printing,\n"
          "                            with ELAPSE_KEY, ELAPSE_DUE, ELAPSE_FIRED,\n"
          "                            ELAPSE_LATE_US, ELAPSE_RUN, ELAPSE_MISSED and\n"
          "                            ELAPSE_PAYLOAD in its environment; it takes the rest\n"
          "                            of the command line\n"
          "  --workers N               so many programs at once at most (default 10)\n"
          "  --tick DURATION           timers are rounded up to this (default 1ms)\n"
          "  --utc                     cron expressions mean UTC, not local time\n"
          "  --strict                  end at the first line that is wrong, with status 2;\n"
          "                            otherwise wrong lines are told and passed over\n"
          "  --stats                   print counts and lateness at the end; SIGUSR1 does\n"
          "                            at any time\n"
          "  --help                    show this\n"
          "\n"
          "Example:\n"
          "  printf 'in 2s tea ready\\nin 1s egg soft\\n' | elapse run\n",
          stdout);
    return finish_output();
}

static enum exit_status set_tick(struct run_options *options, const char *program, const char *text)
{
    const char *fault = duration_parse(text, &options->tick_ns);

    if (fault != NULL)
        return usage_error(program, "--tick: %s: %s", quote_string(text).text, fault);
    if (options->tick_ns == 0 || options->tick_ns > ELAPSE_HOUR_NS)
        return usage_error(program, "--tick: %s is not from 1ns to 1h", quote_string(text).text);
    return STATUS_OK;
}

static enum exit_status set_workers(struct run_options *options, const char *program,
                                    const char *text)
{
    uint64_t workers;

    if (!parse_number(text, 1, WORKERS_MAX, &workers))
        return usage_error(program, "--workers: %s is not a number from 1 to %d",
                           quote_string(text).text, (int)WORKERS_MAX);
    options->workers = (unsigned)workers;
    return STATUS_OK;
}

enum { OPTION_TICK = 256, OPTION_WORKERS, OPTION_STRICT, OPTION_STATS, OPTION_UTC, OPTION_HELP };

static const struct option long_options[] = {
    {"tick", required_argument, NULL, OPTION_TICK},
    {"workers", required_argument, NULL, OPTION_WORKERS},
    {"strict", no_argument, NULL, OPTION_STRICT},
    {"stats", no_argument, NULL, OPTION_STATS},
    {"utc", no_argument, NULL, OPTION_UTC},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/* Reads one option. Sets `*help` when it is --help. */
static enum exit_status read_option(int option, const char *program, struct run_options *options,
                                    bool *help)
{
    switch (option) {
    case OPTION_TICK:
        return set_tick(options, program, optarg);
    case OPTION_WORKERS:
        return set_workers(options, program, optarg);
    case OPTION_STRICT:
        options->strict = true;
        return STATUS_OK;
    case OPTION_STATS:
        options->statistics = true;
        return STATUS_OK;
    case OPTION_UTC:
        options->zone = ELAPSE_ZONE_UTC;
        return STATUS_OK;
    case OPTION_HELP:
        *help = true;
        return STATUS_OK;
    default:
        return usage_hint(program);
    }
}

/* Where --exec stands among the arguments, or argc: what follows is not for getopt. */
static int find_exec(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--exec") == 0)
            return i;
        if (strcmp(argv[i], "--") == 0)
            break;
    }
    return argc;
}

enum exit_status run_command(int argc, char **argv)
{
    struct run_options options = {
        .file = "-", .tick_ns = ELAPSE_MILLISECOND_NS, .zone = ELAPSE_ZONE_LOCAL};
    enum exit_status status = STATUS_OK;
    bool help = false;
    int option;

    int own = find_exec(argc, argv);
    if (own < argc) {
        options.program = argv + own + 1;
        argv[own] = NULL;
    }
    while ((option = getopt_long(own, argv, "", long_options, NULL)) != -1) {
        status = read_option(option, argv[0], &options, &help);
        if (status != STATUS_OK)
            return status;
        if (help)
            return print_help();
    }
    if (own - optind > 1)
        return usage_error(argv[0], "there are too many files: %s",
                           quote_string(argv[optind + 1]).text);
    if (options.program != NULL && (options.program[0] == NULL || options.program[0][0] == '\0'))
        return usage_error(argv[0], "--exec: a program is missing");
    if (options.program == NULL && options.workers > 0)
        return usage_error(argv[0], "--workers is for --exec");
    if (options.workers == 0)
        options.workers = WORKERS_DEFAULT;
    if (optind < own)
        options.file = argv[optind];
    return run_file(&options);
}
