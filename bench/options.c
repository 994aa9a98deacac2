/*
 * Reads the command line.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "options.h"

enum { EXIT_USAGE = 2 };

#define SECONDS_LEAST 0.1
#define SECONDS_MOST  60.0

static const char usage_text[] =
    "usage: elapse-bench [options]\n"
    "Measures the structures and the scheduler, and floors: the same work without them.\n"
    "\n"
    "  --sizes LIST        numbers of timers, such as 10k,1M,10M (default 10k,1M)\n"
    "  --full              the same as --sizes 10k,1M,10M\n"
    "  --quick             the same as --sizes 10k,100k --seconds 1, and 3 repetitions\n"
    "  --workloads LIST    of %s (default all)\n"
    "  --contenders LIST   of %s (default all)\n"
    "  --repetitions N     runs of each, 1 to %d (default 5; 1 of S3, S4 and Lx)\n"
    "  --seconds S         how long S3 and S4 last, and S6 at most: 0.1 to 60 (default 5)\n"
    "  --trace FILE        draw the delays of Lmix from this trace; may be repeated\n"
    "  --csv FILE          write the figures to this file, too\n"
    "  --plots DIRECTORY   draw them as SVG files in this directory, with gnuplot\n"
    "  --help              print this\n"
    "\n"
    "Lists are separated by commas. bench/README.md describes the workloads.\n";

static _Noreturn void __attribute__((format(printf, 1, 2))) refuse(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("elapse-bench: ", stderr);
    vfprintf(stderr, format, values);
    fputs("\nTry 'elapse-bench --help'.\n", stderr);
    va_end(values);
    exit(EXIT_USAGE);
}

/* ---- lists of names ---- */

static const char *workload_name(size_t number)
{
    return workload_descriptions[number].name;
}

/* Floors always run and cannot be chosen, so they have no name here. */
static const char *contender_name(size_t number)
{
    return contenders[number]->floor ? NULL : contenders[number]->name;
}

typedef const char *name_function(size_t number);

static const char *names_text(name_function *name_of, size_t count, char *text, size_t text_bytes)
{
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *name = name_of(i);
        size_t used = strlen(text);
        if (name != NULL)
            snprintf(text + used, text_bytes - used, "%s%s", used == 0 ? "" : ",", name);
    }
    return text;
}

static _Noreturn void print_usage(void)
{
    char workload_names[200];
    char contender_names[200];
    printf(usage_text, names_text(workload_name, WORKLOADS, workload_names, sizeof workload_names),
           names_text(contender_name, CONTENDERS, contender_names, sizeof contender_names),
           (int)REPETITIONS_MOST);
    exit(EXIT_SUCCESS);
}

/* Marks the items of the list in `chosen`. */
static void read_names(const char *option, const char *list, name_function *name_of, size_t count,
                       bool *chosen)
{
    for (size_t i = 0; i < count; i++)
        chosen[i] = false;
    for (const char *item = list;; item++) {
        size_t length = strcspn(item, ",");
        size_t found = 0;
        while (found < count && (name_of(found) == NULL || strlen(name_of(found)) != length ||
                                 strncasecmp(name_of(found), item, length) != 0))
            found++;
        if (found == count) {
            char names[200];
            refuse("%s: '%.*s' is none of %s", option, (int)length, item,
                   names_text(name_of, count, names, sizeof names));
        }
        chosen[found] = true;
        item += length;
        if (*item == '\0')
            return;
    }
}

/* ---- numbers ---- */

/* Reads the number at the start of `text`, up to a comma or the end. */
static size_t read_count(const char *option, const char *text, size_t least, size_t most)
{
    size_t length = strcspn(text, ",");
    char *end;
    unsigned long long count = 0;
    if (text[0] >= '0' && text[0] <= '9')
        count = strtoull(text, &end, 10);
    else
        refuse("%s: '%.*s' is not a number", option, (int)length, text);
    unsigned long long scale = 1;
    if (*end == 'k')
        scale = 1000;
    else if (*end == 'M')
        scale = 1000000;
    if (scale > 1)
        end++;
    if (end != text + length)
        refuse("%s: '%.*s' is not a number", option, (int)length, text);
    if (count > most / scale || count * scale < least)
        refuse("%s: '%.*s' is not between %zu and %zu", option, (int)length, text, least, most);
    return (size_t)(count * scale);
}

static double read_seconds(const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= SECONDS_LEAST && seconds <= SECONDS_MOST))
        refuse("--seconds: '%s' is not between %g and %g", text, SECONDS_LEAST, SECONDS_MOST);
    return seconds;
}

static int compare_counts(const void *left, const void *right)
{
    size_t a = *(const size_t *)left;
    size_t b = *(const size_t *)right;
    return (a > b) - (a < b);
}

static void read_sizes(struct options *options, const char *list)
{
    options->size_count = 0;
    for (const char *item = list;; item++) {
        if (options->size_count == SIZES_MOST)
            refuse("--sizes: more than %d", SIZES_MOST);
        options->sizes[options->size_count++] =
            read_count("--sizes", item, TIMERS_LEAST, TIMERS_MOST);
        item += strcspn(item, ",");
        if (*item == '\0')
            break;
    }
    qsort(options->sizes, options->size_count, sizeof options->sizes[0], compare_counts);
    for (size_t i = 1; i < options->size_count; i++) {
        if (options->sizes[i] == options->sizes[i - 1])
            refuse("--sizes: %zu is given twice", options->sizes[i]);
    }
}

const char *count_text(size_t count, char text[21])
{
    if (count >= 1000000 && count % 1000000 == 0)
        snprintf(text, 21, "%zuM", count / 1000000);
    else if (count >= 1000 && count % 1000 == 0)
        snprintf(text, 21, "%zuk", count / 1000);
    else
        snprintf(text, 21, "%zu", count);
    return text;
}

/* ---- the command line ---- */

enum option_number {
    OPTION_SIZES = 1,
    OPTION_FULL,
    OPTION_QUICK,
    OPTION_WORKLOADS,
    OPTION_CONTENDERS,
    OPTION_REPETITIONS,
    OPTION_SECONDS,
    OPTION_TRACE,
    OPTION_CSV,
    OPTION_PLOTS,
    OPTION_HELP,
};

static const struct option long_options[] = {
    {"sizes", required_argument, NULL, OPTION_SIZES},
    {"full", no_argument, NULL, OPTION_FULL},
    {"quick", no_argument, NULL, OPTION_QUICK},
    {"workloads", required_argument, NULL, OPTION_WORKLOADS},
    {"contenders", required_argument, NULL, OPTION_CONTENDERS},
    {"repetitions", required_argument, NULL, OPTION_REPETITIONS},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"trace", required_argument, NULL, OPTION_TRACE},
    {"csv", required_argument, NULL, OPTION_CSV},
    {"plots", required_argument, NULL, OPTION_PLOTS},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static void read_option(struct options *options, int option)
{
    switch (option) {
    case OPTION_SIZES:
        read_sizes(options, optarg);
        break;
    case OPTION_FULL:
        read_sizes(options, "10k,1M,10M");
        break;
    case OPTION_QUICK:
        read_sizes(options, "10k,100k");
        options->repetitions = 3;
        options->seconds = 1;
        break;
    case OPTION_WORKLOADS:
        read_names("--workloads", optarg, workload_name, WORKLOADS, options->workloads);
        break;
    case OPTION_CONTENDERS:
        read_names("--contenders", optarg, contender_name, CONTENDERS, options->contenders);
        break;
    case OPTION_REPETITIONS:
        options->repetitions = (unsigned)read_count("--repetitions", optarg, 1, REPETITIONS_MOST);
        options->long_repetitions = options->repetitions;
        break;
    case OPTION_SECONDS:
        options->seconds = read_seconds(optarg);
        break;
    case OPTION_TRACE:
        delays_read(&options->delays, optarg);
        break;
    case OPTION_CSV:
        options->csv_path = optarg;
        break;
    case OPTION_PLOTS:
        options->plots_directory = optarg;
        break;
    case OPTION_HELP:
        print_usage();
    default:
        break;
    }
}

struct options options_read(int argument_count, char **arguments)
{
    struct options options = {.repetitions = 5, .long_repetitions = 1, .seconds = 5};
    read_sizes(&options, "10k,1M");
    for (size_t i = 0; i < WORKLOADS; i++)
        options.workloads[i] = true;
    for (size_t i = 0; i < CONTENDERS; i++)
        options.contenders[i] = true;

    opterr = 0;
    for (;;) {
        int option = getopt_long(argument_count, arguments, ":", long_options, NULL);
        if (option == -1)
            break;
        if (option == ':')
            refuse("%s needs a value", arguments[optind - 1]);
        if (option == '?')
            refuse("unknown option '%s'", arguments[optind - 1]);
        read_option(&options, option);
    }
    if (optind < argument_count)
        refuse("'%s' is not an option", arguments[optind]);
    for (size_t i = 0; i < CONTENDERS; i++)
        options.contenders[i] = (options.contenders[i] || contenders[i]->floor) &&
                                contenders[i]->missing_package == NULL;
    return options;
}
