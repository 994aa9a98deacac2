#include "arguments.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static _Noreturn void usage_error(const char *what, const char *text)
{
    fprintf(stderr, "%s%s (PROGRAM ADDRESS VERB [--OPTION VALUE]...)\n", what, text);
    exit(2);
}

static const struct {
    const char *name;
    size_t offset;
} whole_numbers[] = {
    {"--connections", offsetof(struct arguments, connections)},
    {"--window", offsetof(struct arguments, window)},
    {"--count", offsetof(struct arguments, count)},
    {"--first", offsetof(struct arguments, first)},
    {"--batch", offsetof(struct arguments, batch)},
    {"--rate", offsetof(struct arguments, rate)},
    {"--live", offsetof(struct arguments, live)},
    {"--share", offsetof(struct arguments, share)},
    {"--seed", offsetof(struct arguments, seed)},
    {"--poll-ms", offsetof(struct arguments, poll_ms)},
    {"--ahead-ms", offsetof(struct arguments, ahead_ms)},
    {"--at-ms", offsetof(struct arguments, at_ms)},
    {"--spread-ms", offsetof(struct arguments, spread_ms)},
};

static void read_option(struct arguments *arguments, const char *name, const char *value)
{
    char *end = NULL;

    if (strcmp(name, "--speech") == 0) {
        arguments->speech = value;
        return;
    }
    errno = 0;
    if (strcmp(name, "--seconds") == 0) {
        arguments->seconds = strtod(value, &end);
        if (end == value || *end != '\0' || !(arguments->seconds > 0))
            usage_error("not a time: ", value);
        return;
    }
    for (size_t i = 0; i < sizeof whole_numbers / sizeof *whole_numbers; i++)
        if (strcmp(name, whole_numbers[i].name) == 0) {
            int64_t number = strtoll(value, &end, 10);
            if (end == value || *end != '\0' || number < 0 || errno != 0)
                usage_error("not a number: ", value);
            memcpy((char *)arguments + whole_numbers[i].offset, &number, sizeof number);
            return;
        }
    usage_error("no such option: ", name);
}

struct arguments arguments_read(int argc, char **argv)
{
    if (argc < 3)
        usage_error("too few arguments", "");
    struct arguments arguments = {
        .address = argv[1],
        .verb = argv[2],
        .speech = "resp",
        .connections = 1,
        .window = 1,
        .seconds = 300,
        .first = 1,
        .batch = 1000,
        .live = 100000,
        .share = 90,
        .seed = 1,
        .poll_ms = 1,
        .ahead_ms = 2000,
        .spread_ms = 1,
    };
    for (int i = 3; i < argc; i += 2) {
        if (i + 1 == argc)
            usage_error("it needs a value: ", argv[i]);
        read_option(&arguments, argv[i], argv[i + 1]);
    }
    if (arguments.connections == 0 || arguments.window == 0 || arguments.batch == 0 ||
        arguments.first == 0 || arguments.live == 0 || arguments.spread_ms == 0)
        usage_error("0 is too few", "");
    if (arguments.share > 100)
        usage_error("more than all", "");
    return arguments;
}

uint16_t arguments_port(const struct arguments *arguments)
{
    char *end;
    unsigned long port = strtoul(arguments->address, &end, 10);

    if (*end != '\0' || port == 0 || port > UINT16_MAX)
        usage_error("not a port: ", arguments->address);
    return (uint16_t)port;
}

/* ---- times ---- */

enum { FINE_BITS = 4, FINE = 1 << FINE_BITS };

/* Up to 32 us each has a bucket; then each power of two has 16. */
static size_t bucket_of(uint64_t us)
{
    unsigned power = 0;

    if (us < 2 * FINE)
        return us;
    while (us >> power >= 2 * FINE)
        power++;
    size_t bucket = (size_t)power * FINE + (us >> power);
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

static uint64_t upper_us(size_t bucket)
{
    if (bucket < 2 * FINE)
        return bucket + 1;
    size_t power = bucket / FINE - 1;
    return (uint64_t)(bucket - power * FINE + 1) << power;
}

void histogram_add(struct histogram *histogram, uint64_t ns, uint64_t count)
{
    uint64_t us = ns / 1000;

    histogram->buckets[bucket_of(us)] += count;
    histogram->count += count;
    if (us > histogram->max_us)
        histogram->max_us = us;
}

uint64_t histogram_quantile_us(const struct histogram *histogram, uint64_t of_thousand)
{
    uint64_t wanted = histogram->count * of_thousand / 1000, seen = 0;
    size_t bucket = 0;

    while (bucket < HISTOGRAM_BUCKETS - 1 && (seen += histogram->buckets[bucket]) <= wanted)
        bucket++;
    return upper_us(bucket) < histogram->max_us ? upper_us(bucket) : histogram->max_us;
}

/* ---- figures ---- */

static const char *separator;

void figures_begin(void)
{
    separator = "{";
}

void figures_number(const char *name, double value)
{
    printf("%s\"%s\": %.*f", separator, name, value == floor(value) ? 0 : 3, value);
    separator = ", ";
}

void figures_times(const struct histogram *histogram)
{
    if (histogram->count == 0)
        return;
    figures_number("p50_us", (double)histogram_quantile_us(histogram, 500));
    figures_number("p99_us", (double)histogram_quantile_us(histogram, 990));
    figures_number("p999_us", (double)histogram_quantile_us(histogram, 999));
    figures_number("max_us", (double)histogram->max_us);
}

void figures_histogram(const struct histogram *histogram)
{
    const char *comma = "";

    printf("%s\"histogram\": [", separator);
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (histogram->buckets[i] > 0) {
            printf("%s[%llu, %llu]", comma, (unsigned long long)upper_us(i),
                   (unsigned long long)histogram->buckets[i]);
            comma = ", ";
        }
    printf("]");
    separator = ", ";
}

void figures_end(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    figures_number("cpu_s", (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    printf("}\n");
    if (fflush(stdout) != 0)
        exit(1);
}
