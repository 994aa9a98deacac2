/*
 * Local time, around the changes of the clock. Zones are given as rules (POSIX TZ) where
 * possible, so that most tests need no zone files.
 */
#include <unistd.h>

#include <elapse/cron.h>

#include "../support/test.h"
#include "moment.h"

/* The clock in Berlin goes from 02:00 to 03:00 on the last Sunday of March (01:00 UTC), and from
 * 03:00 to 02:00 on that of October (01:00 UTC). In 2026 these are the 29th and the 25th. */
static const char berlin[] = "CET-1CEST,M3.5.0,M10.5.0/3";

static void set_zone(const char *zone)
{
    assert_int_equal(setenv("TZ", zone, 1), 0);
    tzset();
}

static bool set_zone_file(const char *zone)
{
    char path[100];

    snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", zone);
    if (access(path, R_OK) != 0) {
        print_message("skipped: the zone %s is not installed\n", zone);
        return false;
    }
    set_zone(zone);
    return true;
}

/* `fires` holds up to five moments in UTC, ended by NULL. */
static void assert_fires(const char *expression, const char *after, const char *const *fires)
{
    struct elapse_cron cron;
    int64_t now_s = moment(after);

    assert_int_equal(elapse_cron_parse(&cron, expression, NULL), ELAPSE_OK);
    for (size_t i = 0; i < 5 && fires[i] != NULL; i++) {
        int64_t wanted_s = moment(fires[i]);

        assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_LOCAL, now_s, &now_s));
        if (now_s != wanted_s)
            fail_msg("%s: %+lld s from %s", expression, (long long)(now_s - wanted_s), fires[i]);
    }
}

TEST(a_time_in_a_gap_is_its_end)
{
    static const char *const daily[5] = {"2026-03-28T01:30", "2026-03-29T01:00",
                                         "2026-03-30T00:30"};
    static const char *const at_the_edge[5] = {"2026-03-28T01:00", "2026-03-29T01:00",
                                               "2026-03-30T00:00"};

    set_zone(berlin);
    assert_fires("30 2 * * *", "2026-03-27T12:00", daily);
    assert_fires("0 2 * * *", "2026-03-27T12:00", at_the_edge);
    assert_fires("59 59 2 29 3 *", "2026-03-01", (const char *const[5]){"2026-03-29T01:00"});
}

TEST(many_times_in_a_gap_are_one_moment)
{
    static const char *const quarters[5] = {"2026-03-29T00:45", "2026-03-29T01:00",
                                            "2026-03-29T01:15"};
    static const char *const with_the_end[5] = {"2026-03-29T01:00", "2026-03-30T00:10",
                                                "2026-03-30T00:20", "2026-03-31T00:10"};

    set_zone(berlin);
    assert_fires("*/15 * * * *", "2026-03-29T00:30", quarters);
    assert_fires("10,20 2 * * *", "2026-03-29T00:30", with_the_end);
    assert_fires("0,15 3 * * *", "2026-03-29T00:30",
                 (const char *const[5]){"2026-03-29T01:00", "2026-03-29T01:15"});
}

TEST(a_time_that_comes_twice_is_meant_the_first_time)
{
    static const char *const daily[5] = {"2026-10-24T00:30", "2026-10-25T00:30",
                                         "2026-10-26T01:30"};
    static const char *const hourly[5] = {"2026-10-24T23:00", "2026-10-25T00:00",
                                          "2026-10-25T02:00", "2026-10-25T03:00"};
    static const char *const after_it[5] = {"2026-10-25T02:00", "2026-10-25T02:00:01"};

    set_zone(berlin);
    assert_fires("30 2 * * *", "2026-10-23T12:00", daily);
    assert_fires("0 0-23 * * *", "2026-10-24T22:00", hourly);
    assert_fires("* * 0-23 * * *", "2026-10-25T00:59:59", after_it);
    assert_fires("* * 0-23 * * *", "2026-10-25T01:10:03", after_it);
    assert_fires("* * 0-23 * * *", "2026-10-25T01:59:59", after_it);
    assert_fires("59 2 * * *", "2026-10-25T00:58",
                 (const char *const[5]){"2026-10-25T00:59", "2026-10-26T01:59"});
    assert_fires("59 2 * * *", "2026-10-25T01:30", (const char *const[5]){"2026-10-26T01:59"});
}

TEST(open_hours_go_on_while_an_hour_is_repeated)
{
    set_zone(berlin);
    assert_fires("0 * * * *", "2026-10-24T22:00",
                 (const char *const[5]){"2026-10-24T23:00", "2026-10-25T00:00", "2026-10-25T01:00",
                                        "2026-10-25T02:00", "2026-10-25T03:00"});
    assert_fires(
        "*/30 * * * *", "2026-10-25T00:30",
        (const char *const[5]){"2026-10-25T01:00", "2026-10-25T01:30", "2026-10-25T02:00"});
    assert_fires(
        "30 */2 * * *", "2026-10-24T23:00",
        (const char *const[5]){"2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T03:30"});
    assert_fires("* * * * * *", "2026-10-25T00:59:59",
                 (const char *const[5]){"2026-10-25T01:00", "2026-10-25T01:00:01"});
    /* The gap is the same for all expressions. */
    assert_fires(
        "*/30 * * * *", "2026-03-29T00:00",
        (const char *const[5]){"2026-03-29T00:30", "2026-03-29T01:00", "2026-03-29T01:30"});
}

TEST(each_second_of_the_two_days_in_order)
{
    static const char *const days[] = {"2026-03-29", "2026-10-25"};
    struct elapse_cron cron;

    set_zone(berlin);
    assert_int_equal(elapse_cron_parse(&cron, "7 * 0-23 * * *", NULL), ELAPSE_OK);
    for (size_t day = 0; day < 2; day++) {
        for (int64_t after_s = moment(days[day]); after_s < moment(days[day]) + 10800; after_s++) {
            int64_t next_s;
            int64_t wanted_s = after_s - after_s % 60 + 7;
            int64_t change_s = moment(days[day]) + 3600;

            if (wanted_s <= after_s)
                wanted_s += 60;
            if (day == 0 && after_s < change_s && wanted_s > change_s)
                wanted_s = change_s;
            if (day == 1 && wanted_s >= change_s && wanted_s < change_s + 3600)
                wanted_s = change_s + 3600 + 7;
            assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_LOCAL, after_s, &next_s));
            assert_int_equal(next_s, wanted_s);
        }
    }
}

/* Lord Howe: half an hour; 02:00 becomes 01:30 on the first Sunday of April, 5 April 2026 (at
 * 15:00 UTC the day before), and 02:00 becomes 02:30 on that of October, the 4th (15:30 UTC). */
TEST(half_an_hour)
{
    set_zone("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0");
    assert_fires("45 1 * * *", "2026-04-03T18:00",
                 (const char *const[5]){"2026-04-04T14:45", "2026-04-05T15:15"});
    assert_fires(
        "*/20 * * * *", "2026-04-04T14:20",
        (const char *const[5]){"2026-04-04T14:40", "2026-04-04T15:10", "2026-04-04T15:30"});
    assert_fires("*/20 0-23 * * *", "2026-04-04T14:20",
                 (const char *const[5]){"2026-04-04T14:40", "2026-04-04T15:30"});
    assert_fires("15 2 * * *", "2026-10-03T12:00",
                 (const char *const[5]){"2026-10-03T15:30", "2026-10-04T15:15"});
    assert_fires("30 2 * * *", "2026-10-03T12:00",
                 (const char *const[5]){"2026-10-03T15:30", "2026-10-04T15:30"});
}

/* Where clocks change at midnight, a day can begin at one o'clock, and its last hour can come
 * twice. */
TEST(changes_at_midnight)
{
    set_zone("<-03>3<-02>,M10.3.0/0,M2.3.0/0");
    assert_fires("@daily", "2026-10-17T12:00",
                 (const char *const[5]){"2026-10-18T03:00", "2026-10-19T02:00"});
    assert_fires("30 23 * * *", "2026-02-14T12:00",
                 (const char *const[5]){"2026-02-15T01:30", "2026-02-16T02:30"});
    assert_fires("@daily", "2026-02-14T12:00",
                 (const char *const[5]){"2026-02-15T03:00", "2026-02-16T03:00"});
}

/* The last hour of a Saturday is repeated. An expression for Sundays begins after it. */
TEST(after_the_hour_that_comes_twice)
{
    set_zone("<-03>3<-02>,M10.3.0/0,M2.3.0/0");
    assert_fires("* * * * 0", "2026-02-15T02:30",
                 (const char *const[5]){"2026-02-15T03:00", "2026-02-15T03:01"});
}

/* Samoa crossed the date line and skipped 30 December 2011. */
TEST(a_day_that_was_left_out)
{
    if (!set_zone_file("Pacific/Apia"))
        return;
    assert_fires(
        "30 12 * * *", "2011-12-29T00:00",
        (const char *const[5]){"2011-12-29T22:30", "2011-12-30T10:00", "2011-12-30T22:30"});
    assert_fires("0 0 30 12 *", "2011-01-01",
                 (const char *const[5]){"2011-12-30T10:00", "2012-12-29T10:00"});
}

/* Alaska crossed the date line the other way: in October 1867 a day came twice. */
TEST(a_day_that_came_twice)
{
    struct elapse_cron cron;

    if (!set_zone_file("America/Sitka"))
        return;
    assert_int_equal(elapse_cron_parse(&cron, "0 0-23 * * *", NULL), ELAPSE_OK);
    int64_t now_s = moment("1867-10-17");
    struct tm before;
    struct tm local;
    time_t now = now_s;
    assert_non_null(localtime_r(&now, &before));
    while (now_s < moment("1867-10-21")) {
        assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_LOCAL, now_s, &now_s));
        now = now_s;
        assert_non_null(localtime_r(&now, &local));
        /* Each hour of each day comes once, in order. */
        assert_int_equal(local.tm_min, 0);
        assert_int_equal(local.tm_hour, (before.tm_hour + 1) % 24);
        assert_int_equal(local.tm_mday, before.tm_mday + (local.tm_hour == 0));
        before = local;
    }
}

TEST(a_change_that_is_taken_back_soon)
{
    set_zone("XYZ0ABC-1,J60/0,J61/0");
    assert_fires(
        "0 12 * * *", "2026-02-28",
        (const char *const[5]){"2026-02-28T12:00", "2026-03-01T11:00", "2026-03-02T12:00"});
    assert_fires(
        "30 0 * * *", "2026-02-28",
        (const char *const[5]){"2026-02-28T00:30", "2026-03-01T00:00", "2026-03-02T00:30"});
}

/* These zones leap two days forward for half a day, and back. No such zone exists, so the test
 * only asks that each moment is later than the last. */
TEST(strictly_after_even_in_an_impossible_zone)
{
    static const char *const zones[] = {"XYZ24:59:59ABC-24:59:59,J60/0,J60/9",
                                        "XYZ-24:59:59ABC24:59:59,J60/12,J300/12",
                                        "XYZ-24:59:59ABC24:59:59,J60/0,J63/0"};
    struct elapse_cron cron;

    assert_int_equal(elapse_cron_parse(&cron, "7 */10 * * * *", NULL), ELAPSE_OK);
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        set_zone(zones[i]);
        for (int64_t after_s = moment("2026-02-24"); after_s < moment("2026-03-08");
             after_s += 499) {
            int64_t next_s;

            assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_LOCAL, after_s, &next_s));
            assert_true(next_s > after_s);
        }
        for (int64_t now_s = moment("2026-02-24"); now_s < moment("2026-03-08");) {
            int64_t before_s = now_s;

            assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_LOCAL, before_s, &now_s));
            assert_true(now_s > before_s);
        }
    }
}

TEST(a_zone_without_changes_is_utc_shifted)
{
    struct elapse_cron cron;
    int64_t next_s = 4711;

    set_zone("XYZ+24:59:59");
    assert_fires("0 12 * * *", "2026-03-01",
                 (const char *const[5]){"2026-03-01T12:59:59", "2026-03-02T12:59:59"});
    assert_int_equal(elapse_cron_parse(&cron, "* * * * * *", NULL), ELAPSE_OK);
    assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_LOCAL, INT64_MIN, &next_s));
    assert_int_equal(next_s, INT64_C(-62135596800) + 89999);
    assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_LOCAL, INT64_C(253402300799), &next_s));
    assert_int_equal(next_s, INT64_C(253402300800));
    next_s = 4711;
    assert_false(
        elapse_cron_next(&cron, ELAPSE_ZONE_LOCAL, INT64_C(253402300799) + 89999, &next_s));
    assert_int_equal(next_s, 4711);
    set_zone("XYZ-24:59:59");
    assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_LOCAL, INT64_MIN, &next_s));
    assert_int_equal(next_s, INT64_C(-62135596800) - 89999);
    assert_false(elapse_cron_next(&cron, ELAPSE_ZONE_LOCAL, INT64_C(253402300799), &next_s));
}

/* The year 9999 ends by local time, which is earlier or later than its end in UTC. */
TEST(the_first_and_the_last_local_day)
{
    static const struct {
        const char *zone;
        int64_t ahead_s; /* of UTC */
    } zones[] = {{"XYZ+24:59:59", -89999}, {"XYZ+5", -18000}, {"XYZ0", 0},
                 {"XYZ-1", 3600},          {"XYZ-14", 50400}, {"XYZ-24:59:59", 89999}};
    const int64_t first_local_s = INT64_C(-62135596800);
    const int64_t last_local_s = INT64_C(253402300799);
    struct elapse_cron last_day;
    struct elapse_cron first_day;
    struct elapse_cron each_second;

    assert_int_equal(elapse_cron_parse(&last_day, "0 0 31 12 *", NULL), ELAPSE_OK);
    assert_int_equal(elapse_cron_parse(&first_day, "0 0 1 1 *", NULL), ELAPSE_OK);
    assert_int_equal(elapse_cron_parse(&each_second, "* * * * * *", NULL), ELAPSE_OK);
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        const int64_t first_s = first_local_s - zones[i].ahead_s;
        const int64_t last_s = last_local_s - zones[i].ahead_s;
        const int64_t midnight_s = last_s - 86399;
        int64_t next_s;

        set_zone(zones[i].zone);
        assert_true(elapse_cron_next(&first_day, ELAPSE_ZONE_LOCAL, INT64_MIN, &next_s));
        assert_int_equal(next_s, first_s);
        assert_true(elapse_cron_next(&first_day, ELAPSE_ZONE_LOCAL, first_s - 1, &next_s));
        assert_int_equal(next_s, first_s);
        assert_true(elapse_cron_next(&each_second, ELAPSE_ZONE_LOCAL, first_s, &next_s));
        assert_int_equal(next_s, first_s + 1);
        assert_true(elapse_cron_next(&last_day, ELAPSE_ZONE_LOCAL, midnight_s - 1, &next_s));
        assert_int_equal(next_s, midnight_s);
        assert_true(elapse_cron_next(&each_second, ELAPSE_ZONE_LOCAL, last_s - 1, &next_s));
        assert_int_equal(next_s, last_s);
        next_s = 4711;
        assert_false(elapse_cron_next(&last_day, ELAPSE_ZONE_LOCAL, midnight_s, &next_s));
        assert_false(elapse_cron_next(&last_day, ELAPSE_ZONE_LOCAL, last_s - 1, &next_s));
        assert_false(elapse_cron_next(&each_second, ELAPSE_ZONE_LOCAL, last_s, &next_s));
        assert_false(elapse_cron_next(&each_second, ELAPSE_ZONE_LOCAL, INT64_MAX, &next_s));
        assert_int_equal(next_s, 4711);
    }
}

TEST(utc_is_not_local)
{
    struct elapse_cron cron;
    int64_t next_s;

    set_zone(berlin);
    assert_int_equal(elapse_cron_parse(&cron, "30 2 * * *", NULL), ELAPSE_OK);
    assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_UTC, moment("2026-03-29"), &next_s));
    assert_int_equal(next_s, moment("2026-03-29T02:30"));
}

TEST_MAIN("local")
