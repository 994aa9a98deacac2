/*
 * elapse-bench-scale: how the durable queue behaves as the number of its jobs grows. One call
 * measures one stage of one size; scale.py calls it for each, one after another:
 *
 *      fill      N jobs are put, most are cancelled, some are replaced; the process kills itself
 *      recover   the queue is opened after that, and closed
 *      reopen    it is opened with its files out of the page cache, and hands out some jobs
 *
 * Processor time is measured beside the time on the wall, because a size takes minutes, and other
 * programs of the machine go on meanwhile.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../measure.h"
#include "../report.h"
#include "scale.h"

enum { EXIT_USAGE = 2, HOUR_MS = 3600000, LEAST_HOURS = 4, MOST_HOURS = 24 };

#define JOBS_LEAST 10000
#define JOBS_MOST  250000000

static const char usage_text[] =
    "usage: elapse-bench-scale STAGE DIRECTORY --jobs N [options]\n"
    "Measures one stage of one size; `./dev bench --scale` calls it for all.\n"
    "\n"
    "  STAGE               fill, recover, reopen, or describe: the machine\n"
    "  DIRECTORY           the queue's; fill makes it\n"
    "  --jobs N            10,000 to 250,000,000\n"
    "  --keys              each job has a key\n"
    "  --least N, --most N how many jobs recover and reopen have to find\n"
    "  --help              print this\n";

void scale_print(const char *stage, const char *figure, uint64_t at, double value, const char *unit)
{
    printf("%s,\"%s\",%llu,%.9g,%s\n", stage, figure, (unsigned long long)at, value, unit);
    require(fflush(stdout) == 0, "the figures cannot be written");
}

/* ---- the jobs ---- */

/* A number that looks random, always the same for the same number. */
static uint64_t mixed(uint64_t number)
{
    struct generator generator = {number};
    return generator_draw(&generator);
}

struct elapse_put scale_job(const struct scale *scale, uint64_t number)
{
    static unsigned char body[BODY_BYTES];
    static uint64_t key;
    uint64_t spread_ms = (uint64_t)(MOST_HOURS - LEAST_HOURS) * HOUR_MS;
    uint64_t mark = mixed(number);
    struct elapse_put put =
        job_numbered(number, false, (uint64_t)LEAST_HOURS * HOUR_MS + mark % spread_ms);

    memcpy(body, &number, sizeof number);
    memcpy(body + sizeof number, &mark, sizeof mark);
    key = number;
    put.body = body;
    put.key = scale->with_keys ? &key : NULL;
    put.key_bytes = scale->with_keys ? sizeof key : 0;
    return put;
}

bool scale_body_is_whole(const void *body, size_t body_bytes)
{
    uint64_t number;
    uint64_t mark;
    if (body_bytes != BODY_BYTES)
        return false;
    memcpy(&number, body, sizeof number);
    memcpy(&mark, (const unsigned char *)body + sizeof number, sizeof mark);
    return mark == mixed(number);
}

struct elapse_queue_counts scale_look(struct elapse_queue *queue)
{
    struct elapse_queue_counts counts;
    require(elapse_queue_statistics(queue, NULL, &counts) == ELAPSE_OK, "no statistics");
    return counts;
}

/* ---- time ---- */

static uint64_t read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t thread_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t process_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

/* The least value of the bucket that has it. */
static double percentile(const struct lengths *lengths, double share)
{
    const struct elapse__histogram *histogram = &lengths->histogram;
    uint64_t rank = (uint64_t)(share * (double)histogram->count);
    uint64_t passed = 0;
    for (unsigned bucket = 0; bucket < ELAPSE__HISTOGRAM_BUCKETS; bucket++) {
        passed += histogram->counts[bucket];
        if (passed > rank)
            return (double)elapse__histogram_least(bucket);
    }
    return (double)lengths->most;
}

void lengths_print(const struct lengths *lengths, const char *stage, const char *figure,
                   uint64_t at)
{
    static const struct {
        const char *name;
        double share;
    } shares[] = {{"p50", 0.5}, {"p99.9", 0.999}, {"p99.99", 0.9999}};
    char text[128];
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        snprintf(text, sizeof text, "%s: %s", figure, shares[i].name);
        scale_print(stage, text, at, percentile(lengths, shares[i].share) / 1e3, "us");
    }
    snprintf(text, sizeof text, "%s: longest", figure);
    scale_print(stage, text, at, (double)lengths->most / 1e3, "us");
}

/* ---- main ---- */

static void describe(const struct scale *scale)
{
    struct machine machine;
    (void)scale;
    machine_describe(&machine);
    printf("%s; %s; %s %s\n", machine.processor, machine.system, machine.compiler, machine.flags);
}

static const struct {
    const char *name;
    void (*run)(const struct scale *scale);
} stages[] = {
    {"fill", scale_fill},
    {"recover", scale_recover},
    {"reopen", scale_reopen},
    {"describe", describe},
};

static _Noreturn void refuse(const char *what, const char *value)
{
    fprintf(stderr, "elapse-bench-scale: %s: '%s' is not allowed\nTry --help.\n", what, value);
    exit(EXIT_USAGE);
}

static uint64_t read_number(const char *option, const char *text, uint64_t least)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number < least || number > JOBS_MOST)
        refuse(option, text);
    return number;
}

static int run_stage(const char *name, const struct scale *scale)
{
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        if (strcmp(stages[i].name, name) == 0) {
            stages[i].run(scale);
            return EXIT_SUCCESS;
        }
    refuse("stage", name);
}

int main(int argument_count, char **arguments)
{
    static const struct option options[] = {
        {"jobs", required_argument, NULL, 'j'},  {"keys", no_argument, NULL, 'k'},
        {"least", required_argument, NULL, 'l'}, {"most", required_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
    };
    struct scale scale = {.jobs = JOBS_LEAST};
    int letter;

    while ((letter = getopt_long(argument_count, arguments, "", options, NULL)) != -1) {
        switch (letter) {
        case 'j':
            scale.jobs = read_number("--jobs", optarg, JOBS_LEAST);
            break;
        case 'k':
            scale.with_keys = true;
            break;
        case 'l':
            scale.least = read_number("--least", optarg, 0);
            break;
        case 'm':
            scale.most = read_number("--most", optarg, 0);
            break;
        case 'h':
            fputs(usage_text, stdout);
            return EXIT_SUCCESS;
        default:
            return EXIT_USAGE;
        }
    }
    if (argument_count - optind != 2)
        refuse("arguments", optind < argument_count ? arguments[optind] : "");
    scale.directory = arguments[optind + 1];
    return run_stage(arguments[optind], &scale);
}
