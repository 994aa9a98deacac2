/*
 * The parts of the workloads that are not about timers: arguments, memory, handles, the
 * system's figures of the process, and the lateness of S3.
 */
#include "race.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_USAGE = 2 };

_Noreturn void race_fail(const char *what)
{
    (void)fflush(stdout);
    fprintf(stderr, "%s: %s\n", race_contender.name, what);
    exit(EXIT_FAILURE);
}

/* ---- arguments ---- */

_Noreturn static void refuse(const char *option, const char *fault)
{
    fprintf(stderr, "%s: %s: %s\n", race_contender.name, option, fault);
    exit(STATUS_USAGE);
}

static uint64_t parse_count(const char *option, const char *text, uint64_t most)
{
    char *end;
    char fault[64];
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 && number >= 1 &&
        number <= most)
        return number;
    snprintf(fault, sizeof fault, "not a number from 1 to %llu", (unsigned long long)most);
    refuse(option, fault);
}

static double parse_seconds(const char *option, const char *text)
{
    char *end;
    double number = strtod(text, &end);
    if (isdigit((unsigned char)text[0]) && *end == '\0' && number >= 0.001 && number <= 1000)
        return number;
    refuse(option, "not a number from 0.001 to 1000");
}

static enum race_workload parse_workload(const char *option, const char *text)
{
    if (strlen(text) != 2 || text[0] != 'S' || text[1] < '1' || text[1] > '6')
        refuse(option, "not one of S1, S2, S3, S4, S5, S6");
    return (enum race_workload)(text[1] - '1');
}

static void parse_option(const char *option, const char *text, struct race_options *options)
{
    if (strcmp(option, "--workload") == 0)
        options->workload = parse_workload(option, text);
    else if (strcmp(option, "--timers") == 0)
        options->timers = parse_count(option, text, 50000000);
    else if (strcmp(option, "--threads") == 0)
        options->threads = (unsigned)parse_count(option, text, RACE_THREADS_MOST);
    else if (strcmp(option, "--rounds") == 0)
        options->rounds = (unsigned)parse_count(option, text, 1000);
    else if (strcmp(option, "--seconds") == 0)
        options->seconds = parse_seconds(option, text);
    else if (strcmp(option, "--tick-us") == 0)
        options->tick_ns = parse_count(option, text, 1000000) * 1000;
    else if (strcmp(option, "--lateness") == 0)
        options->lateness_path = text;
    else
        refuse(option, "no such option");
}

struct race_options race_parse(int argument_count, char **arguments)
{
    struct race_options options = {
        .workload = RACE_WORKLOADS,
        .timers = 1000000,
        .threads = 1,
        .rounds = 5,
        .seconds = 5,
        .tick_ns = 1000000,
    };
    for (int i = 1; i < argument_count; i += 2) {
        if (i + 1 == argument_count)
            refuse(arguments[i], "has no value, or is no option");
        parse_option(arguments[i], arguments[i + 1], &options);
    }
    if (options.workload == RACE_WORKLOADS)
        refuse("--workload", "is missing");
    if (options.threads > options.timers)
        refuse("--threads", "more threads than timers");
    return options;
}

/* ---- memory, handles, time ---- */

void *race_allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    race_must(memory != NULL, "no memory");
    return memory;
}

void *race_allocate_touched(size_t count, size_t bytes)
{
    unsigned char *memory = race_allocate(count, bytes);
    memset(memory, 1, count * bytes);
    forget_memory();
    memset(memory, 0, count * bytes);
    forget_memory();
    return memory;
}

void race_shuffle(const struct race_handles *handles, struct generator *generator)
{
    unsigned char *bytes = handles->first;
    unsigned char kept[64];
    race_must(handles->bytes <= sizeof kept, "a handle is too large");
    for (size_t i = handles->count; i-- > 1;) {
        unsigned char *last = &bytes[i * handles->bytes];
        unsigned char *chosen = &bytes[below(generator, i + 1) * handles->bytes];
        memcpy(kept, last, handles->bytes);
        memmove(last, chosen, handles->bytes);
        memcpy(chosen, kept, handles->bytes);
    }
}

void race_sleep_until(uint64_t time_ns)
{
    struct timespec until = {
        .tv_sec = (time_t)(time_ns / 1000000000u),
        .tv_nsec = (long)(time_ns % 1000000000u),
    };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        continue;
}

/* ---- the system's figures of the process ---- */

uint64_t race_process_cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Returns the number after "NAME:" in a status file of /proc; 0 if there is none. */
static uint64_t status_number(const char *path, const char *name)
{
    char line[256];
    size_t length = strlen(name);
    uint64_t number = 0;
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, length) == 0 && line[length] == ':') {
            number = strtoull(line + length + 1, NULL, 10);
            break;
        }
    }
    if (file != NULL)
        (void)fclose(file);
    return number;
}

uint64_t race_resident_bytes(void)
{
    return status_number("/proc/self/status", "VmRSS") * 1024;
}

uint64_t race_switches(void)
{
    uint64_t switches = 0;
    DIR *threads = opendir("/proc/self/task");
    struct dirent *thread;
    while (threads != NULL && (thread = readdir(threads)) != NULL) {
        char path[300];
        snprintf(path, sizeof path, "/proc/self/task/%s/status", thread->d_name);
        if (thread->d_name[0] != '.')
            switches += status_number(path, "voluntary_ctxt_switches");
    }
    if (threads != NULL)
        (void)closedir(threads);
    return switches;
}

/* ---- figures ---- */

void race_print(const char *metric, double value)
{
    printf("%s\t%.6f\n", metric, value);
}

static int compare_lateness(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static int64_t floor_us(int64_t ns)
{
    return ns >= 0 ? ns / 1000 : -((-ns + 999) / 1000);
}

/*
 * Returns the lower bound of the bucket that a lateness belongs to. Below 16 us in magnitude
 * every microsecond is a bucket; above, each doubling has 16. A negative lateness is rounded
 * away from zero, so that the result is still a lower bound.
 */
static int64_t bucket_us(int64_t lateness_us)
{
    enum { EXACT_BITS = 4 };
    uint64_t magnitude = (uint64_t)(lateness_us < 0 ? -lateness_us : lateness_us);
    if (magnitude >> EXACT_BITS == 0)
        return lateness_us;
    int shift = 63 - __builtin_clzll(magnitude) - EXACT_BITS;
    uint64_t below_it = magnitude >> shift << shift;
    if (lateness_us > 0)
        return (int64_t)below_it;
    return -(int64_t)(below_it == magnitude ? magnitude : below_it + (UINT64_C(1) << shift));
}

static void write_histogram(const int64_t *sorted_ns, size_t count, const char *path)
{
    FILE *file = fopen(path, "w");
    race_must(file != NULL, "the file for the lateness cannot be written");
    for (size_t i = 0; i < count;) {
        int64_t bucket = bucket_us(floor_us(sorted_ns[i]));
        size_t first = i;
        while (i < count && bucket_us(floor_us(sorted_ns[i])) == bucket)
            i++;
        fprintf(file, "%lld,%zu\n", (long long)bucket, i - first);
    }
    race_must(fclose(file) == 0, "the file for the lateness cannot be written");
}

/* Returns the least lateness that this share of the timers does not exceed. */
static double quantile_ms(const int64_t *sorted_ns, size_t count, double share)
{
    size_t place = (size_t)ceil(share * (double)count);
    return (double)sorted_ns[place == 0 ? 0 : place - 1] / 1e6;
}

void race_print_lateness(const struct race_note *notes, size_t count, const char *path)
{
    int64_t *lateness_ns = race_allocate(count, sizeof *lateness_ns);
    size_t fired = 0;
    size_t early = 0;
    for (size_t i = 0; i < count; i++) {
        race_must(notes[i].runs == 1, "not every timer fired exactly once");
        fired += notes[i].runs;
        lateness_ns[i] = (int64_t)(notes[i].noted_ns - notes[i].deadline_ns);
        early += lateness_ns[i] < 0;
    }
    qsort(lateness_ns, count, sizeof *lateness_ns, compare_lateness);
    race_print("fired", (double)fired);
    race_print("early", (double)early);
    race_print("earliest_ms", quantile_ms(lateness_ns, count, 0));
    race_print("p50_ms", quantile_ms(lateness_ns, count, 0.5));
    race_print("p90_ms", quantile_ms(lateness_ns, count, 0.9));
    race_print("p99_ms", quantile_ms(lateness_ns, count, 0.99));
    race_print("p999_ms", quantile_ms(lateness_ns, count, 0.999));
    race_print("latest_ms", quantile_ms(lateness_ns, count, 1));
    if (path != NULL)
        write_histogram(lateness_ns, count, path);
    free(lateness_ns);
}
