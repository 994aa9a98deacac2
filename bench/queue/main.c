/*
 * elapse-bench-queue: measures the durable queue beside floors and SQLite. bench/README.md
 * describes the workloads.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../report.h"
#include "queue_bench.h"

enum { EXIT_USAGE = 2, REPETITIONS_MAX = 15 };

#define JOBS_LEAST 10000
#define JOBS_MOST  100000000

static const char usage_text[] =
    "usage: elapse-bench --queue [options]\n"
    "Measures the durable queue, its floors, and SQLite, which does the same work.\n"
    "\n"
    "  --jobs N            jobs of a workload, 10,000 to 100,000,000 (default 1,000,000)\n"
    "  --boundary-jobs N   jobs of the workload boundary (default 10,000,000)\n"
    "  --workloads LIST    of put,cancel,reschedule,work,recovery,memory,churn,boundary\n"
    "  --repetitions N     runs of each, 1 to 15 (default 3)\n"
    "  --without-sqlite    leave SQLite out\n"
    "  --directory DIR     where the files go: on the disk to be measured (default .)\n"
    "  --csv FILE          write the figures to this file, too\n"
    "  --help              print this\n";

static const struct queue_workload {
    const char *name;
    void (*run)(const struct settings *settings);
    bool once; /* its figures do not vary, or it takes long */
} workloads[] = {
    {"put", bench_put, false},
    {"cancel", bench_cancel, false},
    {"reschedule", bench_reschedule, false},
    {"work", bench_work, false},
    {"recovery", bench_recovery, false},
    {"memory", bench_memory, true},
    {"churn", bench_churn, true},
    {"boundary", bench_boundary, true},
};

enum { WORKLOAD_COUNT = sizeof workloads / sizeof workloads[0] };

static _Noreturn void refuse(const char *option, const char *value)
{
    fprintf(stderr, "elapse-bench-queue: %s: '%s' is not allowed\nTry --help.\n", option, value);
    exit(EXIT_USAGE);
}

static uint64_t read_number(const char *option, const char *text, uint64_t least, uint64_t most)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number < least || number > most)
        refuse(option, text);
    return number;
}

static void choose(const char *list, bool *chosen)
{
    memset(chosen, 0, WORKLOAD_COUNT * sizeof *chosen);
    for (const char *item = list;; item++) {
        size_t length = strcspn(item, ",");
        size_t found = 0;
        while (found < WORKLOAD_COUNT && (strlen(workloads[found].name) != length ||
                                          strncmp(workloads[found].name, item, length) != 0))
            found++;
        if (found == WORKLOAD_COUNT)
            refuse("--workloads", list);
        chosen[found] = true;
        item += length;
        if (*item == '\0')
            return;
    }
}

static void run_all(const struct settings *settings, const bool *chosen)
{
    for (unsigned repetition = 0; repetition < settings->repetitions; repetition++)
        for (size_t i = 0; i < WORKLOAD_COUNT; i++) {
            if (!chosen[i] || (workloads[i].once && repetition > 0))
                continue;
            fprintf(stderr, "%s, run %u\n", workloads[i].name, repetition + 1);
            workloads[i].run(settings);
        }
}

static void print_head(const struct settings *settings)
{
    struct machine machine;
    machine_describe(&machine);
    printf("%s\n%s, %s, %s\n%llu jobs with bodies of %d bytes, in %s\n\n", machine.processor,
           machine.system, machine.compiler, machine.flags, (unsigned long long)settings->jobs,
           BODY_BYTES, settings->directory);
}

int main(int argument_count, char **arguments)
{
    static const struct option options[] = {
        {"jobs", required_argument, NULL, 'j'},
        {"boundary-jobs", required_argument, NULL, 'b'},
        {"workloads", required_argument, NULL, 'w'},
        {"repetitions", required_argument, NULL, 'r'},
        {"directory", required_argument, NULL, 'd'},
        {"csv", required_argument, NULL, 'c'},
        {"without-sqlite", no_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct settings settings = {
        .jobs = 1000000, .boundary_jobs = 10000000, .repetitions = 3, .directory = "."};
    bool chosen[WORKLOAD_COUNT];
    const char *csv = NULL;
    int letter;

    memset(chosen, true, sizeof chosen);
    while ((letter = getopt_long(argument_count, arguments, "", options, NULL)) != -1) {
        switch (letter) {
        case 'j':
            settings.jobs = read_number("--jobs", optarg, JOBS_LEAST, JOBS_MOST);
            break;
        case 'b':
            settings.boundary_jobs = read_number("--boundary-jobs", optarg, 1, JOBS_MOST);
            break;
        case 'w':
            choose(optarg, chosen);
            break;
        case 'r':
            settings.repetitions =
                (unsigned)read_number("--repetitions", optarg, 1, REPETITIONS_MAX);
            break;
        case 's':
            settings.without_sqlite = true;
            break;
        case 'd':
            settings.directory = optarg;
            break;
        case 'c':
            csv = optarg;
            break;
        case 'h':
            fputs(usage_text, stdout);
            return EXIT_SUCCESS;
        default:
            return EXIT_USAGE;
        }
    }
    if (optind < argument_count)
        refuse("argument", arguments[optind]);
    run_all(&settings, chosen);
    print_head(&settings);
    table_print();
    table_print_goals();
    return csv == NULL || table_write_csv(csv) ? EXIT_SUCCESS : EXIT_FAILURE;
}
