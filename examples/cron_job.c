/*
 * A cron job: the moments that an expression names, also when the clocks are changed.
 *
 *     cron_job                          tells the story below
 *     cron_job EXPRESSION [COUNT]       prints the next COUNT fires, by default five, in local time
 *
 * The job runs each night at half past two, in Berlin. On 29 March 2026 there is no half past two,
 * because the clocks go from two to three. On 25 October half past two comes twice. The job runs
 * once in each of these nights, in March at three. elapse_cron_next says so in advance, and the
 * scheduler does so: this program runs it on a manual clock, on which a week passes at once.
 *
 * What to look at:
 * - print_fires(): asking in advance needs no scheduler.
 * - run_week(): a cron task follows the wall clock (here ELAPSE_ZONE_LOCAL) and keeps its handle.
 *   The action receives the moment by that clock in run->intended_ns.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <elapse/cron.h>
#include <elapse/scheduler.h>

enum { NIGHTS = 5, COUNT_MAX = 100000 };

/* The rules of Berlin, written out, so that the program needs no installed time zones. */
static const char berlin[] = "CET-1CEST,M3.5.0,M10.5.0/3";

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "cron_job: fault: %s\n", what);
    exit(EXIT_FAILURE);
}

static struct elapse_cron parse(const char *expression)
{
    struct elapse_cron cron;
    struct elapse_cron_fault fault;

    if (elapse_cron_parse(&cron, expression, &fault) == ELAPSE_OK)
        return cron;
    fprintf(stderr, "cron_job: '%s': at character %zu: %s\n", expression, fault.position + 1,
            fault.text);
    exit(2);
}

static void print_time(const char *what, int64_t unix_s)
{
    char text[64];
    time_t time = (time_t)unix_s;
    struct tm local;

    require(localtime_r(&time, &local) != NULL &&
                strftime(text, sizeof text, "%a %Y-%m-%d %H:%M:%S %Z", &local) > 0,
            "a time cannot be written");
    printf("%s%s\n", what, text);
}

/* Prints the next fires, and stores them in `fires_s` unless that is NULL. */
static void print_fires(const struct elapse_cron *cron, int64_t after_s, unsigned long count,
                        int64_t *fires_s)
{
    for (unsigned long i = 0; i < count; i++) {
        if (!elapse_cron_next(cron, ELAPSE_ZONE_LOCAL, after_s, &after_s)) {
            puts("  and then never again");
            return;
        }
        print_time("  ", after_s);
        if (fires_s != NULL)
            fires_s[i] = after_s;
    }
}

/* ---- the same with the scheduler ---- */

struct job {
    const int64_t *expected_s;
    size_t runs;
};

static void back_up(void *context, const struct elapse_run *run)
{
    struct job *job = context;
    int64_t intended_s = (int64_t)(run->intended_ns / ELAPSE_SECOND_NS);

    print_time("  the job runs: ", intended_s);
    require(run->wall_clock && run->missed == 0, "a night was left out");
    require(run->actual_ns >= run->intended_ns, "the job ran early");
    require(job->runs < NIGHTS && intended_s == job->expected_s[job->runs],
            "the scheduler and elapse_cron_next differ");
    job->runs++;
}

static void run_week(const struct elapse_cron *cron, int64_t from_s, const int64_t *expected_s)
{
    struct job job = {.expected_s = expected_s};
    struct elapse_task task = {.action = back_up,
                               .context = &job,
                               .cron = cron,
                               .zone = ELAPSE_ZONE_LOCAL,
                               .recurrence = ELAPSE_RECUR_CRON};
    struct elapse_scheduler_options options;
    struct elapse_scheduler *scheduler;
    struct elapse_handle handle;
    uint64_t next_ns;
    uint64_t end_ns = (uint64_t)(expected_s[NIGHTS - 1] - from_s) * ELAPSE_SECOND_NS;

    elapse_scheduler_options_init(&options);
    options.clock = ELAPSE_CLOCK_MANUAL;
    require(elapse_scheduler_new(&options, &scheduler) == ELAPSE_OK, "no scheduler");
    require(elapse_scheduler_set_wall_clock(scheduler, (uint64_t)from_s * ELAPSE_SECOND_NS) ==
                ELAPSE_OK,
            "the wall clock cannot be set");
    require(elapse_task_schedule_cron(scheduler, &task, &handle) == ELAPSE_OK,
            "the job cannot be scheduled");
    while ((next_ns = elapse_scheduler_next_ns(scheduler)) <= end_ns)
        require(elapse_scheduler_step(scheduler, next_ns, NULL) == ELAPSE_OK, "time stands still");
    require(job.runs == NIGHTS, "a night is missing");
    require(elapse_task_cancel(scheduler, handle) == ELAPSE_CANCEL_REMOVED,
            "the job was not pending any more");
    require(elapse_scheduler_free(scheduler) == ELAPSE_OK, "the scheduler is not free");
}

/* Tells of five nights. The clocks change in the third. */
static void tell(const char *title, const struct elapse_cron *cron, int64_t from_s,
                 const int64_t known_s[NIGHTS])
{
    int64_t fires_s[NIGHTS] = {0};

    puts(title);
    print_fires(cron, from_s, NIGHTS, fires_s);
    for (size_t i = 0; i < NIGHTS; i++)
        require(fires_s[i] == known_s[i], "a fire is at the wrong time");
    run_week(cron, from_s, fires_s);
}

static int user_expression(int argument_count, char **arguments)
{
    const char *said = argument_count > 2 ? arguments[2] : "5";
    char *end;
    unsigned long count = strtoul(said, &end, 10);

    if (*arguments[1] == '-' || argument_count > 3 || *end != '\0' || count < 1 ||
        count > COUNT_MAX) {
        fprintf(stderr, "usage: cron_job [EXPRESSION [COUNT]], COUNT from 1 to %d\n", COUNT_MAX);
        return 2;
    }
    struct elapse_cron cron = parse(arguments[1]);
    print_fires(&cron, (int64_t)time(NULL), count, NULL);
    return EXIT_SUCCESS;
}

int main(int argument_count, char **arguments)
{
    /* In seconds since 1970. The nights are 86,400 s apart, except at the change. */
    static const int64_t march_s[NIGHTS] = {1774575000, /* Friday 27 March, 02:30 CET */
                                            1774661400,
                                            1774746000, /* Sunday: 03:00 CEST, the end of the gap */
                                            1774830600, 1774917000};
    static const int64_t october_s[NIGHTS] = {1792715400, /* Friday 23 October, 02:30 CEST */
                                              1792801800,
                                              1792888200, /* Sunday: the first 02:30, still CEST */
                                              1792978200, 1793064600};

    if (argument_count > 1)
        return user_expression(argument_count, arguments);
    require(setenv("TZ", berlin, 1) == 0, "no time zone");
    tzset();
    struct elapse_cron nightly = parse("30 2 * * *");
    tell("at half past two each night; one hour is left out:", &nightly, march_s[0] - 3600,
         march_s);
    tell("at half past two each night; one hour comes twice:", &nightly, october_s[0] - 3600,
         october_s);
    return EXIT_SUCCESS;
}
