/*
 * Random expressions, compared with a model that tries each moment: every minute of five
 * years, and every second of the days on which the clock is changed.
 *
 * A walk goes over the moments and notes which local times each of them reaches for the first
 * time: one as a rule, none while an hour is repeated, many at the end of a gap. A moment is
 * named if the expression matches one of the local times that it reaches; or, if its field for
 * hours begins with *, its own local time.
 *
 * Each answer is also compared with that of the zone's file, read by the library itself.
 *
 *     cron-walk [--zone ZONE] [--seed SEED] [--expressions COUNT]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <elapse/cron.h>

#include "dumb.h"

enum { SKIPPED = 77, DAY_S = 86400, FIRST_YEAR = 1996, LAST_YEAR = 2036, WALK_YEARS = 5 };

/* The moments and local times of a walk, in steps of a minute or a second. */
struct walk {
    enum elapse_zone zone;
    int64_t begin_s;
    int64_t step_s;
    size_t steps;
    const struct elapse_time_zone *file_zone;
    int64_t *local_s;         /* [step]: local time */
    int64_t *highest_s;       /* [step]: the highest local time reached so far */
    struct dumb_time *locals; /* [step]: each local time from highest_s[0] on */
    size_t locals_count;
    uint64_t compared;
};

static int64_t local_s(enum elapse_zone zone, int64_t moment_s)
{
    time_t moment = moment_s;
    struct tm broken_down;

    if (zone == ELAPSE_ZONE_UTC)
        return moment_s;
    if (localtime_r(&moment, &broken_down) == NULL)
        abort();
    return timegm(&broken_down);
}

static struct dumb_time dumb_time_of(int64_t reached_s)
{
    time_t moment = reached_s;
    struct tm broken_down;

    if (gmtime_r(&moment, &broken_down) == NULL)
        abort();
    struct dumb_time result = {broken_down.tm_sec,
                               broken_down.tm_min,
                               broken_down.tm_hour,
                               broken_down.tm_mday,
                               broken_down.tm_mon + 1,
                               broken_down.tm_wday,
                               0};
    /* The day before the first of the next month. */
    broken_down =
        (struct tm){.tm_year = broken_down.tm_year, .tm_mon = broken_down.tm_mon + 1, .tm_mday = 0};
    timegm(&broken_down);
    result.month_length = broken_down.tm_mday;
    return result;
}

/* Goes over the two days before `begin_s` first, to know which local times have been reached. */
static void walk_prepare(struct walk *walk, enum elapse_zone zone, int64_t begin_s, int64_t step_s,
                         size_t steps)
{
    size_t before = (size_t)(2 * DAY_S / step_s);
    int64_t highest_s = INT64_MIN;

    *walk = (struct walk){.zone = zone, .begin_s = begin_s, .step_s = step_s, .steps = steps};
    walk->highest_s = calloc(steps, sizeof *walk->highest_s);
    walk->local_s = calloc(steps, sizeof *walk->local_s);
    if (walk->highest_s == NULL || walk->local_s == NULL)
        abort();
    const char *name = zone == ELAPSE_ZONE_UTC ? "UTC" : getenv("TZ");
    if (elapse_time_zone_find(name, &walk->file_zone) != ELAPSE_OK)
        abort();
    for (size_t i = 0; i < before + steps; i++) {
        int64_t reached_s = local_s(zone, begin_s + ((int64_t)i - (int64_t)before) * step_s);

        if (reached_s > highest_s)
            highest_s = reached_s;
        if (i < before)
            continue;
        walk->highest_s[i - before] = highest_s;
        walk->local_s[i - before] = reached_s;
    }
    walk->locals_count = (size_t)((highest_s - walk->highest_s[0]) / step_s) + 1;
    walk->locals = calloc(walk->locals_count, sizeof *walk->locals);
    if (walk->locals == NULL)
        abort();
    for (size_t i = 0; i < walk->locals_count; i++)
        walk->locals[i] = dumb_time_of(walk->highest_s[0] + (int64_t)i * step_s);
}

static void walk_release(struct walk *walk)
{
    free(walk->highest_s);
    free(walk->local_s);
    free(walk->locals);
}

/* Returns whether the moment of step `at` is named. Requires that it is not the first step. */
static bool is_named(const struct walk *walk, const struct dumb_cron *dumb, size_t at)
{
    int64_t origin_s = walk->highest_s[0];
    size_t from = (size_t)((walk->highest_s[at - 1] - origin_s) / walk->step_s) + 1;
    size_t to = (size_t)((walk->highest_s[at] - origin_s) / walk->step_s);

    for (size_t i = from; i <= to; i++) {
        if (dumb_matches(dumb, &walk->locals[i]))
            return true;
    }
    /* While an hour is repeated, no new local time is reached. The last minute of it equals the
     * highest local time, and is repeated all the same. */
    bool is_repeated = walk->highest_s[at] == walk->highest_s[at - 1];
    if (dumb->fields[2].items[0].kind != DUMB_STAR || !is_repeated)
        return false;
    struct dumb_time again = dumb_time_of(walk->local_s[at]);
    return dumb_matches(dumb, &again);
}

static void compare(struct walk *walk, const struct dumb_cron *dumb, const struct elapse_cron *cron,
                    int64_t after_s, int64_t wanted_s)
{
    int64_t next_s = INT64_MIN;
    bool found = elapse_cron_next(cron, walk->zone, after_s, &next_s);

    struct elapse_cron bound = *cron;
    int64_t bound_s = INT64_MIN;

    elapse_cron_set_time_zone(&bound, walk->file_zone);
    found = found && elapse_cron_next(&bound, ELAPSE_ZONE_UTC, after_s, &bound_s);
    walk->compared++;
    if (found && next_s == wanted_s && bound_s != next_s)
        next_s = bound_s;
    if (!found || next_s != wanted_s) {
        printf("%s\nafter %" PRId64 " comes %" PRId64 ", not %" PRId64 "\n", dumb->text, after_s,
               wanted_s, next_s);
        exit(EXIT_FAILURE);
    }
}

/* Follows one expression. Compares the first thousand moments that it names, those at a change of
 * the clock, and some of the others. */
static void walk_along(struct walk *walk, const struct dumb_cron *dumb,
                       const struct elapse_cron *cron, struct random_source *random)
{
    int64_t before_s = walk->begin_s;
    unsigned named = 0;

    for (size_t at = 1; at < walk->steps; at++) {
        int64_t now_s = walk->begin_s + (int64_t)at * walk->step_s;
        bool at_a_change = walk->highest_s[at] - walk->highest_s[at - 1] != walk->step_s;

        if (!is_named(walk, dumb, at))
            continue;
        if (named++ < 1000 || at_a_change || random_one_in(random, 64)) {
            int64_t between_s =
                before_s + (int64_t)random_below(random, (uint64_t)(now_s - before_s));

            compare(walk, dumb, cron, before_s, now_s);
            compare(walk, dumb, cron, between_s, now_s);
            compare(walk, dumb, cron, now_s - 1, now_s);
        }
        before_s = now_s;
    }
}

/* Makes random expressions until one names a day that exists. */
static void make(struct dumb_cron *dumb, struct elapse_cron *cron, struct random_source *random,
                 bool has_seconds)
{
    struct elapse_cron_fault fault;

    for (;;) {
        dumb_make(dumb, random, has_seconds);
        if (elapse_cron_parse(cron, dumb->text, &fault) == ELAPSE_OK)
            return;
        if (strcmp(fault.text, "this day never comes") != 0) {
            printf("%s\nat %zu: %s\n", dumb->text, fault.position, fault.text);
            exit(EXIT_FAILURE);
        }
    }
}

static uint64_t walk_expressions(struct walk *walk, struct random_source *random, unsigned count,
                                 bool has_seconds)
{
    for (unsigned i = 0; i < count; i++) {
        struct dumb_cron dumb;
        struct elapse_cron cron;

        make(&dumb, &cron, random, has_seconds);
        walk_along(walk, &dumb, &cron, random);
    }
    return walk->compared;
}

static int64_t year_begins_s(int year)
{
    struct tm broken_down = {.tm_year = year - 1900, .tm_mday = 1};

    return timegm(&broken_down);
}

static uint64_t minute_by_minute(enum elapse_zone zone, struct random_source *random,
                                 unsigned count)
{
    int year = FIRST_YEAR + (int)random_below(random, LAST_YEAR - FIRST_YEAR - WALK_YEARS);
    int64_t begin_s = year_begins_s(year);
    int64_t end_s = year_begins_s(year + WALK_YEARS);
    struct walk walk;

    walk_prepare(&walk, zone, begin_s, 60, (size_t)((end_s - begin_s) / 60));
    uint64_t compared = walk_expressions(&walk, random, count, false);
    walk_release(&walk);
    printf("%d to %d, minute by minute: %u expressions, %" PRIu64 " moments compared\n", year,
           year + WALK_YEARS - 1, count, compared);
    return compared;
}

/* Walks the days of one year on which the clock is changed, and its first day, so that zones
 * without changes are tested too. */
static uint64_t second_by_second(enum elapse_zone zone, struct random_source *random,
                                 unsigned count)
{
    int year = FIRST_YEAR + (int)random_below(random, LAST_YEAR - FIRST_YEAR);
    int64_t begin_s = year_begins_s(year);
    uint64_t compared = 0;
    unsigned days = 0;

    for (int64_t day_s = begin_s; day_s < year_begins_s(year + 1); day_s += DAY_S) {
        struct walk walk;
        int64_t ahead_s = local_s(zone, day_s) - day_s;

        if (day_s != begin_s && local_s(zone, day_s + DAY_S) - day_s - DAY_S == ahead_s)
            continue;
        walk_prepare(&walk, zone, day_s, 1, DAY_S + DAY_S / 2);
        compared += walk_expressions(&walk, random, count, true);
        compared += walk_expressions(&walk, random, count, false);
        walk_release(&walk);
        days++;
    }
    printf("%d, second by second: %u days, %" PRIu64 " moments compared\n", year, days, compared);
    return compared;
}

static int usage(void)
{
    fprintf(stderr, "usage: cron-walk [--zone ZONE] [--seed SEED] [--expressions COUNT]\n");
    return 2;
}

int main(int argc, char **argv)
{
    const char *zone_name = "UTC";
    uint64_t seed = (uint64_t)time(NULL);
    unsigned count = 12;
    char path[100];

    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            return usage();
        if (strcmp(argv[i], "--zone") == 0)
            zone_name = argv[i + 1];
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--expressions") == 0)
            count = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else
            return usage();
    }
    snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", zone_name);
    if (strcmp(zone_name, "UTC") != 0 && access(path, R_OK) != 0) {
        printf("skipped: the zone %s is not installed\n", zone_name);
        return SKIPPED;
    }
    if (setenv("TZ", zone_name, 1) != 0)
        return EXIT_FAILURE;
    tzset();

    struct random_source random = {.state = seed};
    enum elapse_zone zone = strcmp(zone_name, "UTC") == 0 ? ELAPSE_ZONE_UTC : ELAPSE_ZONE_LOCAL;
    printf("again: --zone %s --seed %" PRIu64 " --expressions %u\n", zone_name, seed, count);
    fflush(stdout);
    uint64_t compared = minute_by_minute(zone, &random, count);
    compared += second_by_second(zone, &random, count);
    return compared > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
