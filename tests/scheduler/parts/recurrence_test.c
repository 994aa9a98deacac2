/*
 * Compares the next occurrence with a loop that goes from one occurrence to the next; and tests it
 * at the end of time, where sums saturate.
 */
#include "part.h"

#include "../cron/next.h"
#include "recurrence.h"

enum { LOOP_MAX = 2000 };

__extension__ typedef unsigned __int128 wide;

static uint64_t saturated(wide time_ns)
{
    return time_ns < ELAPSE_NEVER ? (uint64_t)time_ns : ELAPSE_NEVER;
}

static struct elapse__occurrence next_of(const struct elapse__recurrence *recurrence,
                                         uint64_t now_ns)
{
    struct elapse__occurrence next = {.ns = 12345, .missed = 54321};

    assert_true(elapse__recurrence_next(recurrence, now_ns, &next));
    return next;
}

/* ---- periods ---- */

/* Finds the next occurrence by a loop. Occurrences between the last one and now are missed; an
 * occurrence at this very moment is not missed. */
static struct elapse__occurrence dumb_period(const struct elapse__recurrence *recurrence,
                                             uint64_t now_ns)
{
    wide next_ns = (wide)recurrence->occurrence_ns + recurrence->period_ns;
    struct elapse__occurrence next = {0};

    if (recurrence->if_missed != ELAPSE_MISSED_BURST)
        for (; next_ns < now_ns; next_ns += recurrence->period_ns)
            next.missed++;
    next.ns = recurrence->if_missed == ELAPSE_MISSED_DELAY && next.missed > 0
                  ? saturated((wide)now_ns + recurrence->period_ns)
                  : saturated(next_ns);
    return next;
}

static void check_period(uint64_t last_ns, uint64_t period_ns, uint64_t now_ns)
{
    struct elapse__recurrence recurrence = {
        .kind = ELAPSE_RECUR_PERIOD, .occurrence_ns = last_ns, .period_ns = period_ns};

    for (recurrence.if_missed = ELAPSE_MISSED_SKIP; recurrence.if_missed <= ELAPSE_MISSED_DELAY;
         recurrence.if_missed++) {
        struct elapse__occurrence expected = dumb_period(&recurrence, now_ns);
        struct elapse__occurrence next = next_of(&recurrence, now_ns);

        assert_int_equal(next.ns, expected.ns);
        assert_int_equal(next.missed, expected.missed);
    }
}

/* Checks a period at random, at a time so soon after `last_ns` that the loop can reach it. */
static void check_some_period(struct random_source *random, uint64_t last_ns)
{
    uint64_t period_ns = 1 + random_of_bits(random, 63) % ELAPSE_PERIOD_NS_MAX;
    wide now_ns = last_ns + (wide)period_ns * random_below(random, LOOP_MAX);

    if (random_one_in(random, 3))
        now_ns += random_below(random, 3) - (wide)1; /* about a moment */
    else
        now_ns += random_below(random, period_ns);
    check_period(last_ns, period_ns, now_ns > UINT64_MAX ? UINT64_MAX : (uint64_t)now_ns);
}

TEST(a_period_goes_on_as_if_counted)
{
    struct random_source random = {.state = 51};

    for (unsigned round = 0; round < 50000; round++)
        check_some_period(&random, random_of_bits(&random, 64));
}

TEST(a_period_ends_with_time)
{
    struct random_source random = {.state = 52};

    for (unsigned round = 0; round < 50000; round++)
        check_some_period(&random, UINT64_MAX - random_of_bits(&random, 64));
}

TEST(the_edges_of_periods)
{
    static const uint64_t edges[] = {1, 2, 3, 1000, ELAPSE_PERIOD_NS_MAX - 1, ELAPSE_PERIOD_NS_MAX};

    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        for (uint64_t near = 0; near < 4; near++) {
            check_period(0, edges[i], near);
            check_period(0, edges[i], edges[i] - 1 + near);
            check_period(0, edges[i], 2 * edges[i] - 1 + near);
            check_period(near, edges[i], near); /* the action took no time */
            check_period(UINT64_MAX - near, edges[i], UINT64_MAX);
            check_period(UINT64_MAX - near, edges[i], UINT64_MAX - near);
            check_period(UINT64_MAX - 1000 - near, edges[i], UINT64_MAX - 1000 + near);
        }
    }
}

/* A clock that stands, or goes back, makes nothing come again. */
TEST(the_next_is_after_the_last_whatever_the_clock_says)
{
    check_period(1000000, 10, 0);
    check_period(1000000, 10, 999999);
    check_period(1000000, 10, 1000009);
}

/* A loop could not count so many. They are computed by a division. */
TEST(a_billion_missed_are_counted)
{
    struct elapse__recurrence recurrence = {
        .kind = ELAPSE_RECUR_PERIOD, .if_missed = ELAPSE_MISSED_SKIP, .period_ns = 1};
    struct elapse__occurrence next = next_of(&recurrence, UINT64_MAX - 1);

    assert_int_equal(next.ns, UINT64_MAX - 1);
    assert_int_equal(next.missed, UINT64_MAX - 2);
    recurrence.if_missed = ELAPSE_MISSED_BURST;
    next = next_of(&recurrence, UINT64_MAX - 1);
    assert_int_equal(next.ns, 1);
    assert_int_equal(next.missed, 0);
}

/* ---- after each ---- */

TEST(after_each_counts_from_the_return)
{
    struct random_source random = {.state = 53};

    for (unsigned round = 0; round < 100000; round++) {
        struct elapse__recurrence recurrence = {
            .kind = ELAPSE_RECUR_AFTER_EACH,
            .occurrence_ns = random_of_bits(&random, 64),
            .period_ns = 1 + random_of_bits(&random, 63) % ELAPSE_PERIOD_NS_MAX,
        };
        uint64_t now_ns = random_of_bits(&random, 64);

        if (random_one_in(&random, 2))
            now_ns = UINT64_MAX - now_ns;
        struct elapse__occurrence next = next_of(&recurrence, now_ns);
        assert_int_equal(next.ns, saturated((wide)now_ns + recurrence.period_ns));
        assert_int_equal(next.missed, 0);
    }
}

TEST(what_does_not_recur_has_no_next)
{
    struct elapse__recurrence recurrence = {.kind = ELAPSE_RECUR_NEVER, .period_ns = 5};
    struct elapse__occurrence next;

    assert_false(elapse__recurrence_next(&recurrence, 5, &next));
}

/* ---- cron ---- */

#define MINUTE_NS ELAPSE_MINUTE_NS

static struct elapse__recurrence each_minute(enum elapse_missed if_missed)
{
    struct elapse__recurrence recurrence = {
        .kind = ELAPSE_RECUR_CRON, .if_missed = if_missed, .wall_clock = true};

    assert_int_equal(elapse_cron_parse(&recurrence.cron, "* * * * *", NULL), ELAPSE_OK);
    return recurrence;
}

TEST(cron_goes_on_as_if_counted)
{
    struct elapse__recurrence skip = each_minute(ELAPSE_MISSED_SKIP);
    struct elapse__recurrence burst = each_minute(ELAPSE_MISSED_BURST);
    struct random_source random = {.state = 54};

    for (unsigned round = 0; round < 20000; round++) {
        /* Up to the year 2262, and the wall clock up to half an hour on, sometimes back. */
        uint64_t last_ns = random_of_bits(&random, 57) * 60;
        uint64_t now_ns = last_ns + random_of_bits(&random, 41);
        struct elapse__occurrence expected = {.ns = last_ns / MINUTE_NS * MINUTE_NS + MINUTE_NS};

        if (random_one_in(&random, 8))
            now_ns = random_below(&random, last_ns + 1);
        else if (random_one_in(&random, 4))
            now_ns = now_ns / MINUTE_NS * MINUTE_NS;
        burst.occurrence_ns = last_ns;
        struct elapse__occurrence next = next_of(&burst, now_ns);
        assert_int_equal(next.ns, expected.ns);
        assert_int_equal(next.missed, 0);

        for (; expected.ns < now_ns; expected.ns += MINUTE_NS)
            expected.missed++;
        skip.occurrence_ns = last_ns;
        next = next_of(&skip, now_ns);
        assert_int_equal(next.ns, expected.ns);
        assert_int_equal(next.missed, expected.missed);
    }
}

/* Ten years have five million minutes. Not all of the missed occurrences are counted, but the next
 * one is right. */
TEST(cron_counts_missed_ones_up_to_a_bound)
{
    struct elapse__recurrence skip = each_minute(ELAPSE_MISSED_SKIP);
    uint64_t now_ns = 3650 * ELAPSE_DAY_NS + 1;
    struct elapse__occurrence next = next_of(&skip, now_ns);

    assert_int_equal(next.ns, 3650 * ELAPSE_DAY_NS + MINUTE_NS);
    assert_int_equal(next.missed, 10000);
}

TEST(the_moments_of_cron_end_with_time)
{
    struct elapse__recurrence skip = each_minute(ELAPSE_MISSED_SKIP);
    struct elapse__occurrence next;
    uint64_t last_ns = UINT64_MAX / MINUTE_NS * MINUTE_NS;
    uint64_t next_ns;

    assert_true(elapse__cron_next_ns(&skip.cron, ELAPSE_ZONE_UTC, last_ns - 1, &next_ns));
    assert_int_equal(next_ns, last_ns);
    assert_false(elapse__cron_next_ns(&skip.cron, ELAPSE_ZONE_UTC, last_ns, &next_ns));
    assert_false(elapse__cron_next_ns(&skip.cron, ELAPSE_ZONE_UTC, UINT64_MAX, &next_ns));
    skip.occurrence_ns = last_ns - MINUTE_NS;
    assert_int_equal(next_of(&skip, last_ns).ns, last_ns);
    assert_false(elapse__recurrence_next(&skip, last_ns + 1, &next));
    skip.occurrence_ns = last_ns;
    assert_false(elapse__recurrence_next(&skip, last_ns, &next));
}

/* Moments of cron are whole seconds. A time within a second is after that second's moment and
 * before the next. */
TEST(a_moment_of_cron_is_after_any_part_of_the_second_before)
{
    struct elapse__recurrence skip = each_minute(ELAPSE_MISSED_SKIP);
    uint64_t next_ns;

    assert_true(elapse__cron_next_ns(&skip.cron, ELAPSE_ZONE_UTC, MINUTE_NS - 1, &next_ns));
    assert_int_equal(next_ns, MINUTE_NS);
    assert_true(elapse__cron_next_ns(&skip.cron, ELAPSE_ZONE_UTC, MINUTE_NS, &next_ns));
    assert_int_equal(next_ns, 2 * MINUTE_NS);
    assert_true(elapse__cron_next_ns(&skip.cron, ELAPSE_ZONE_UTC, MINUTE_NS + 1, &next_ns));
    assert_int_equal(next_ns, 2 * MINUTE_NS);
}

TEST_MAIN("recurrence")
