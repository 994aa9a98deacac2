/*
 * Offsets of moments, and moments of local times, in zones given as rules (POSIX TZ).
 */
#include "../support/test.h"
#include "moment.h"
#include "zone.h"

enum { HOUR_S = 3600 };

static const struct elapse_time_zone *const local = &elapse__zone_local;

static void set_zone(const char *zone)
{
    assert_int_equal(setenv("TZ", zone, 1), 0);
    tzset();
}

/* Berlin leaps from 02:00 to 03:00 on 29 March 2026, and falls from 03:00 to 02:00 on 25
 * October, both at 01:00 UTC. */
static int set_berlin(void **state)
{
    (void)state;
    set_zone("CET-1CEST,M3.5.0,M10.5.0/3");
    return 0;
}

TEST_WITH(the_offset_changes_at_the_change_of_the_clock, set_berlin, NULL)
{
    const int64_t spring_s = moment("2026-03-29T01:00");
    const int64_t autumn_s = moment("2026-10-25T01:00");

    assert_int_equal(elapse__zone_offset_s(local, spring_s - 1), HOUR_S);
    assert_int_equal(elapse__zone_offset_s(local, spring_s), 2 * HOUR_S);
    assert_int_equal(elapse__zone_offset_s(local, autumn_s - 1), 2 * HOUR_S);
    assert_int_equal(elapse__zone_offset_s(local, autumn_s), HOUR_S);
}

TEST(the_offset_can_be_negative_and_odd)
{
    set_zone("XYZ5:17:32");
    assert_int_equal(elapse__zone_offset_s(local, 0), -(5 * HOUR_S + 17 * 60 + 32));
    assert_int_equal(elapse__zone_offset_s(local, moment("1900-02-28T23:59:59")),
                     -(5 * HOUR_S + 17 * 60 + 32));
}

TEST_WITH(utc_has_no_offset, set_berlin, NULL)
{
    const int64_t summer_s = moment("2026-07-01");

    assert_int_equal(elapse__zone_offset_s(&elapse__zone_utc, summer_s), 0);
    assert_int_equal(elapse__zone_moment_s(&elapse__zone_utc, summer_s), summer_s);
    assert_int_equal(elapse__zone_highest_local_s(&elapse__zone_utc, summer_s), summer_s);
}

TEST_WITH(the_offset_is_zero_where_the_library_cannot_tell, set_berlin, NULL)
{
    assert_int_equal(elapse__zone_offset_s(local, INT64_MAX / 4), 0);
    assert_int_equal(elapse__zone_offset_s(local, INT64_MIN / 4), 0);
}

TEST_WITH(a_local_time_in_a_gap_is_the_end_of_the_gap, set_berlin, NULL)
{
    const int64_t gap_s = moment("2026-03-29T02:00");
    const int64_t change_s = moment("2026-03-29T01:00");

    assert_int_equal(elapse__zone_moment_s(local, gap_s - 1), change_s - 1);
    assert_int_equal(elapse__zone_moment_s(local, gap_s), change_s);
    assert_int_equal(elapse__zone_moment_s(local, gap_s + HOUR_S - 1), change_s);
    assert_int_equal(elapse__zone_moment_s(local, gap_s + HOUR_S), change_s);
    assert_int_equal(elapse__zone_moment_s(local, gap_s + HOUR_S + 1), change_s + 1);
}

TEST_WITH(a_local_time_that_comes_twice_is_the_first_of_the_two, set_berlin, NULL)
{
    const int64_t twice_s = moment("2026-10-25T02:00");
    const int64_t change_s = moment("2026-10-25T01:00");

    assert_int_equal(elapse__zone_moment_s(local, twice_s - 1), change_s - HOUR_S - 1);
    assert_int_equal(elapse__zone_moment_s(local, twice_s), change_s - HOUR_S);
    assert_int_equal(elapse__zone_moment_s(local, twice_s + HOUR_S - 1), change_s - 1);
    assert_int_equal(elapse__zone_moment_s(local, twice_s + HOUR_S), change_s + HOUR_S);
}

TEST_WITH(the_highest_local_time_stands_still_while_an_hour_comes_again, set_berlin, NULL)
{
    const int64_t end_s = moment("2026-10-25T03:00"); /* of the local hour that comes twice */
    const int64_t change_s = moment("2026-10-25T01:00");

    assert_int_equal(elapse__zone_highest_local_s(local, change_s - 1), end_s - 1);
    for (int64_t after_s = 0; after_s < HOUR_S; after_s += 7)
        assert_int_equal(elapse__zone_highest_local_s(local, change_s + after_s), end_s - 1);
    assert_int_equal(elapse__zone_highest_local_s(local, change_s + HOUR_S - 1), end_s - 1);
    assert_int_equal(elapse__zone_highest_local_s(local, change_s + HOUR_S), end_s);
}

/* This zone falls back on 1 March at 23:00 UTC, and leaps forward 25 hours later. */
TEST(a_change_that_is_still_to_come_does_not_count)
{
    const int64_t leap_s = moment("2026-03-03T00:00");

    set_zone("XYZ0ABC-1,J62/0,J61/0");
    assert_int_equal(elapse__zone_offset_s(local, moment("2026-03-01T22:59:59")), HOUR_S);
    assert_int_equal(elapse__zone_offset_s(local, leap_s - 1), 0);
    assert_int_equal(elapse__zone_offset_s(local, leap_s), HOUR_S);
    for (int64_t before_s = 1; before_s < HOUR_S; before_s += 7)
        assert_int_equal(elapse__zone_highest_local_s(local, leap_s - before_s), leap_s - before_s);
}

/* A moment is mapped to the highest local time, and that back to the moment, except while an
 * hour comes again: from there one gets back to the last second before the change. */
TEST_WITH(moments_survive_the_way_there_and_back, set_berlin, NULL)
{
    const int64_t change_s = moment("2026-10-25T01:00");

    for (int64_t moment_s = moment("2026-03-27"); moment_s < moment("2026-10-28");
         moment_s += 599) {
        bool is_repeated = moment_s >= change_s && moment_s < change_s + HOUR_S;
        int64_t local_s = elapse__zone_highest_local_s(local, moment_s);

        assert_int_equal(elapse__zone_moment_s(local, local_s),
                         is_repeated ? change_s - 1 : moment_s);
    }
}

TEST_MAIN("zone")
