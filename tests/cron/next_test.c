/*
 * The moments that an expression names in UTC, rule by rule.
 */
#include <elapse/cron.h>

#include "../support/test.h"
#include "moment.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const int64_t first_s = INT64_C(-62135596800);
static const int64_t last_s = INT64_C(253402300799);

static struct elapse_cron parsed(const char *expression)
{
    struct elapse_cron cron;
    struct elapse_cron_fault fault;

    if (elapse_cron_parse(&cron, expression, &fault) != ELAPSE_OK)
        fail_msg("%s: at %zu: %s", expression, fault.position, fault.text);
    return cron;
}

static void assert_fires(const char *expression, const char *after, const char *const *fires)
{
    struct elapse_cron cron = parsed(expression);
    int64_t now_s = moment(after);

    for (size_t i = 0; i < 5 && fires[i] != NULL; i++) {
        int64_t wanted_s = moment(fires[i]);

        assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_UTC, now_s, &now_s));
        if (now_s != wanted_s)
            fail_msg("%s: %+lld s from %s", expression, (long long)(now_s - wanted_s), fires[i]);
    }
}

TEST(days_that_depend_on_the_month)
{
    /* In 2026, 1 January is a Thursday, 1 February and 1 March Sundays, 1 August a Saturday. */
    static const struct {
        const char *expression;
        const char *after;
        const char *fires[5];
    } known[] = {
        {"0 0 L * *", "2026-01-30", {"2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30"}},
        {"0 0 L 2 *", "2026-03-01", {"2027-02-28", "2028-02-29", "2029-02-28"}},
        {"0 0 L-3 * *", "2026-01-01", {"2026-01-28", "2026-02-25", "2026-03-28"}},
        {"0 0 L-30 * *", "2026-01-01", {"2026-03-01", "2026-05-01", "2026-07-01"}},
        {"0 0 L-28 2 *", "2026-01-01", {"2028-02-01", "2032-02-01"}},
        {"0 0 15W * *", "2026-01-01", {"2026-01-15", "2026-02-16", "2026-03-16", "2026-04-15"}},
        {"0 0 1W * *", "2026-01-31", {"2026-02-02", "2026-03-02", "2026-04-01", "2026-05-01"}},
        {"0 0 1W 8 *", "2026-01-31", {"2026-08-03", "2027-08-02", "2028-08-01"}},
        {"0 0 2W * *", "2026-05-01", {"2026-06-02", "2026-07-02", "2026-08-03", "2026-09-02"}},
        {"0 0 2W 5 *", "2026-01-01", {"2026-05-01", "2027-05-03", "2028-05-02"}},
        {"0 0 */21 2 5L", "2026-01-01", {"2030-02-22", "2041-02-22", "2047-02-22"}},
        {"0 0 31W * *", "2026-01-01", {"2026-01-30", "2026-03-31", "2026-05-29", "2026-07-31"}},
        {"0 0 30W 8 *", "2026-01-01", {"2026-08-31"}},
        {"0 0 LW * *", "2026-01-01", {"2026-01-30", "2026-02-27", "2026-03-31", "2026-04-30"}},
        {"0 0 1W,15W,LW 2 *", "2026-01-01", {"2026-02-02", "2026-02-16", "2026-02-27"}},
        {"0 0 * * 5L", "2026-01-01", {"2026-01-30", "2026-02-27", "2026-03-27"}},
        {"0 0 * * 0L", "2026-02-01", {"2026-02-22", "2026-03-29", "2026-04-26", "2026-05-31"}},
        {"0 0 * * 5#2", "2026-01-01", {"2026-01-09", "2026-02-13", "2026-03-13"}},
        {"0 0 * * sun#5", "2026-01-01", {"2026-03-29", "2026-05-31", "2026-08-30"}},
        {"0 0 * 2 0#5", "2026-01-01", {"2032-02-29", "2060-02-29"}},
        {"0 0 * * 4#1,4#5", "2026-01-01", {"2026-01-29", "2026-02-05", "2026-03-05"}},
        {"0 0 31 * *", "2026-01-01", {"2026-01-31", "2026-03-31", "2026-05-31", "2026-07-31"}},
        {"0 0 29 2 *", "2097-01-01", {"2104-02-29", "2108-02-29"}},
    };

    for (size_t i = 0; i < LENGTH(known); i++)
        assert_fires(known[i].expression, known[i].after, known[i].fires);
}

TEST(either_day_if_both_are_restricted_else_both)
{
    static const char *const either[5] = {"2026-03-02", "2026-03-09", "2026-03-13", "2026-03-16"};
    static const char *const monday[5] = {"2026-03-02", "2026-03-09", "2026-03-16"};
    static const char *const odd_monday[5] = {"2026-03-09", "2026-03-23", "2026-04-13"};
    static const char *const friday_or_sunday_13th[5] = {"2026-03-13", "2026-09-13", "2026-11-13"};
    static const char *const last_or_friday[5] = {"2026-03-27", "2026-03-31", "2026-04-03"};

    assert_fires("0 0 13 * 1", "2026-03-01", either);
    assert_fires("0 0 * * 1", "2026-03-01", monday);
    assert_fires("0 0 ? * 1", "2026-03-01", monday);
    assert_fires("0 0 */2 * 1", "2026-03-02", odd_monday);
    assert_fires("0 0 13 * */5", "2026-03-01", friday_or_sunday_13th);
    assert_fires("0 0 L * 5", "2026-03-20", last_or_friday);
}

TEST(strictly_after)
{
    static const char *const minutes[5] = {"2026-03-01T00:01:00", "2026-03-01T00:02:00"};
    static const char *const seconds[5] = {"2026-03-01T00:00:01", "2026-03-01T00:00:02"};
    static const char *const within[5] = {"2026-03-01T00:01:00"};
    static const char *const turn[5] = {"2026-01-01T00:00:00", "2027-01-01T00:00:00"};
    static const char *const evening[5] = {"2025-12-31T23:59:59", "2026-12-31T23:59:59"};

    assert_fires("* * * * *", "2026-03-01T00:00:00", minutes);
    assert_fires("* * * * *", "2026-03-01T00:00:59", within);
    assert_fires("* * * * * *", "2026-03-01T00:00:00", seconds);
    assert_fires("@yearly", "2025-12-31T23:59:59", turn);
    assert_fires("59 59 23 31 12 ?", "2025-12-31T23:59:58", evening);
}

TEST(each_field_carries_into_the_next)
{
    static const char *const fires[5] = {"2026-03-01T09:05:50", "2026-03-01T09:20:20",
                                         "2026-03-01T09:20:50", "2026-03-01T17:05:20",
                                         "2026-03-01T17:05:50"};
    static const char *const next_day[5] = {"2026-03-02T09:05:20"};
    static const char *const next_year[5] = {"2027-02-02T00:00:00"};

    assert_fires("20,50 5,20 9,17 * * *", "2026-03-01T09:05:20", fires);
    assert_fires("20,50 5,20 9,17 * * *", "2026-03-01T17:20:50", next_day);
    assert_fires("20,50 5,20 9,17 * * *", "2026-03-01T17:21:00", next_day);
    assert_fires("20,50 5,20 9,17 * * *", "2026-03-01T18:00:00", next_day);
    assert_fires("0 0 2 2 *", "2026-02-02T00:00:00", next_year);
}

TEST(moments_before_1970)
{
    static const char *const old[5] = {"1969-12-31T23:59:59", "1970-01-01T00:00:00"};
    static const char *const leap_day[5] = {"1904-02-29", "1908-02-29"};

    assert_fires("* * * * * *", "1969-12-31T23:59:58", old);
    assert_fires("0 0 29 2 *", "1896-02-29", leap_day);
}

static void assert_next(const char *expression, int64_t after_s, int64_t wanted_s)
{
    struct elapse_cron cron = parsed(expression);
    int64_t next_s = 4711;

    assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_UTC, after_s, &next_s));
    if (next_s != wanted_s)
        fail_msg("%s: %+lld s", expression, (long long)(next_s - wanted_s));
}

static void assert_no_next(const char *expression, int64_t after_s)
{
    static const enum elapse_zone zones[] = {ELAPSE_ZONE_UTC, ELAPSE_ZONE_LOCAL};
    struct elapse_cron cron = parsed(expression);

    for (size_t i = 0; i < LENGTH(zones); i++) {
        int64_t next_s = 4711;

        assert_false(elapse_cron_next(&cron, zones[i], after_s, &next_s));
        assert_int_equal(next_s, 4711);
    }
}

TEST(the_first_moments_are_those_of_the_year_1)
{
    static const int64_t before_s[] = {INT64_MIN, INT64_MIN + 1, -86400, -2, -1};

    for (size_t i = 0; i < LENGTH(before_s); i++) {
        int64_t after_s = before_s[i] < -86400 ? before_s[i] : first_s + before_s[i];

        assert_next("* * * * * *", after_s, first_s);
        assert_next("@yearly", after_s, first_s);
        assert_next("@hourly", after_s, first_s);
        assert_next("1 0 0 * * *", after_s, first_s + 1);
        assert_next("59 59 23 31 12 *", after_s, first_s + INT64_C(365) * 86400 - 1);
        assert_next("0 0 29 2 *", after_s, first_s + (INT64_C(3) * 365 + 31 + 28) * 86400);
    }
    assert_next("* * * * * *", first_s, first_s + 1);
    assert_next("@hourly", first_s, first_s + 3600);
    assert_next("@daily", first_s, first_s + 86400);
    assert_next("@yearly", first_s, first_s + INT64_C(365) * 86400);
    assert_next("@weekly", first_s, first_s + INT64_C(6) * 86400); /* it was a Monday */
}

/* The last day is reached from before, is left at each of its fields, and nothing follows it. */
TEST(the_last_moments_are_those_of_the_year_9999)
{
    const int64_t last_midnight_s = last_s - 86399;

    assert_next("* * * * * *", last_s - 1, last_s);
    assert_next("59 59 23 31 12 *", first_s, first_s + INT64_C(365) * 86400 - 1);
    assert_next("59 59 23 31 12 *", last_s - 1, last_s);
    assert_next("59 59 23 31 12 *", last_midnight_s - 1, last_s);
    assert_next("59 23 * * *", last_s - 60, last_s - 59);
    assert_next("0 23 * * *", last_s - 3600, last_s - 3599);
    assert_next("0 0 31 12 *", last_midnight_s - 1, last_midnight_s);
    assert_next("0 0 L * *", last_midnight_s - 1, last_midnight_s);
    assert_next("0 0 31 12 *", last_midnight_s - INT64_C(366) * 86400,
                last_midnight_s - INT64_C(365) * 86400);
    assert_next("0 0 30 12 *", last_midnight_s - 86401, last_midnight_s - 86400);
    /* 31 December 9999 is a Friday. */
    assert_next("0 0 * 12 5#5", last_midnight_s - 1, last_midnight_s);

    assert_no_next("* * * * * *", last_s);
    assert_no_next("59 59 23 31 12 *", last_s);
    assert_no_next("59 23 * * *", last_s - 59);
    assert_no_next("0 23 * * *", last_s - 3599);
    assert_no_next("0 0 31 12 *", last_midnight_s);
    assert_no_next("0 0 31 12 *", last_midnight_s + 1);
    assert_no_next("0 0 31 12 *", last_s - 1);
    assert_no_next("0 0 L * *", last_midnight_s);
    assert_no_next("@daily", last_midnight_s);
    assert_no_next("0 0 30 12 *", last_midnight_s - 86400);
    assert_no_next("0 0 * 12 4", last_midnight_s - 86400);
    assert_no_next("@monthly", last_midnight_s - INT64_C(30) * 86400);
    assert_no_next("@yearly", last_midnight_s - INT64_C(364) * 86400);
    assert_no_next("0 0 29 2 *", last_midnight_s - INT64_C(2) * 366 * 86400);
}

TEST(nothing_follows_the_year_9999)
{
    static const int64_t after_s[] = {1,
                                      2,
                                      86399,
                                      86400,
                                      86401,
                                      26 * 3600,
                                      26 * 3600 + 1,
                                      INT64_C(86400) * 40,
                                      INT64_C(86400) * 366 * 400};
    static const char *const expressions[] = {"* * * * * *", "@daily", "@yearly", "0 0 31 12 *",
                                              "0 0 29 2 *"};

    for (size_t i = 0; i < LENGTH(expressions); i++) {
        for (size_t j = 0; j < LENGTH(after_s); j++)
            assert_no_next(expressions[i], last_s + after_s[j]);
        assert_no_next(expressions[i], INT64_MAX - 1);
        assert_no_next(expressions[i], INT64_MAX);
    }
}

/* 29 February is a Monday every 28 years as a rule; across a century it takes 12 or 40 years. */
TEST(the_rarest_days)
{
    struct elapse_cron cron = parsed("0 0 */28 2 1#5");
    int64_t now_s = moment("1600-01-01");
    int64_t before_s;
    unsigned count = 0;

    while (now_s < moment("2000-01-01")) {
        before_s = now_s;
        assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_UTC, before_s, &now_s));
        assert_true(now_s > before_s);
        count++;
    }
    /* In 400 years 15 of the 97 leap days are Mondays. The search goes on to the next one. */
    assert_int_equal(count, 15 + 1);
}

int main(void)
{
    /* Local time is asked about only where nothing follows. That depends on the zone. */
    if (setenv("TZ", "UTC0", 1) != 0)
        return EXIT_FAILURE;

    return run_tests_of_file("next");
}
