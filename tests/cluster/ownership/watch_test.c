/*
 * Tests what a node without a copy of a partition learns from its row.
 */
#include <string.h>

/* <cmocka.h> needs these headers before it. */
#include "../../../src/cluster/ownership/watch.h"
#include "../../support/test.h"

static struct elapse__watch watch;
static struct elapse__balance_view view;
static struct elapse__balance_row row;
static uint64_t now_ms;

static int set_up(void **state)
{
    (void)state;
    watch = (struct elapse__watch){.has_row = false};
    view = (struct elapse__balance_view){.timeline = 3, .system_identifier = 7};
    row = (struct elapse__balance_row){.epoch = 2, .beat = 5, .last_group = 8, .last_hash = 88};
    now_ms = 1000;
    elapse__watch_connect(&watch);
    return 0;
}

static void take(uint64_t epoch, uint64_t group, uint64_t hash)
{
    now_ms += 100;
    row.epoch = epoch;
    row.beat++;
    row.last_group = group;
    row.last_hash = hash;
    elapse__watch_take(&watch, &view, &row, now_ms);
}

static bool doubts(void)
{
    uint64_t group;
    bool has_doubts = elapse__watch_doubts(&watch, &group);
    assert_true(!has_doubts || group == watch.witness.place.group + 1);
    return has_doubts;
}

static void expect_witness(uint64_t group, uint64_t hash, uint64_t epoch)
{
    assert_int_equal(watch.witness.place.group, group);
    assert_int_equal(watch.witness.place.hash, hash);
    assert_int_equal(watch.witness.epoch, epoch);
}

#define WATCH_TEST(function) TEST_WITH(function, set_up, NULL)

WATCH_TEST(a_row_with_more_groups_makes_the_one_before_durable)
{
    take(2, 8, 88);
    expect_witness(0, 0, 0);
    take(3, 9, 99);
    expect_witness(8, 88, 3);
    assert_int_equal(watch.witness.timeline, 3);
    assert_int_equal(watch.witness.system_identifier, 7);
    take(4, 9, 99);
    expect_witness(8, 88, 4);
}

WATCH_TEST(rows_of_two_sessions_prove_nothing)
{
    take(2, 8, 88);
    elapse__watch_connect(&watch);
    take(2, 9, 99);
    expect_witness(0, 0, 0);
}

WATCH_TEST(another_session_has_to_have_the_witness)
{
    take(2, 8, 88);
    take(2, 9, 99);
    elapse__watch_connect(&watch);
    take(2, 12, 12);
    assert_true(doubts());
    take(2, 13, 13);
    expect_witness(8, 88, 2);
    elapse__watch_prove(&watch, true, 88);
    assert_false(doubts());
    assert_false(watch.is_lost);
    take(2, 14, 14);
    expect_witness(13, 13, 2);
}

WATCH_TEST(a_log_with_another_past_has_lost_the_witness)
{
    take(2, 8, 88);
    take(2, 9, 99);
    elapse__watch_connect(&watch);
    take(2, 12, 12);
    elapse__watch_prove(&watch, true, 80);
    assert_true(watch.is_lost);
    take(2, 13, 13);
    expect_witness(8, 88, 2);
}

WATCH_TEST(nothing_can_be_said_of_a_log_that_was_trimmed)
{
    take(2, 8, 88);
    take(2, 9, 99);
    elapse__watch_connect(&watch);
    take(2, 12, 12);
    elapse__watch_prove(&watch, false, 0);
    assert_false(watch.is_lost || doubts());
}

WATCH_TEST(a_row_alone_may_show_the_loss)
{
    take(2, 8, 88);
    take(2, 9, 99);
    elapse__watch_connect(&watch);
    take(2, 8, 88);
    assert_false(watch.is_lost || doubts());
    elapse__watch_connect(&watch);
    take(2, 7, 77);
    assert_true(watch.is_lost);
    elapse__watch_connect(&watch);
    take(2, 8, 80);
    assert_true(watch.is_lost);
}

WATCH_TEST(a_primary_of_the_past_shows_nothing)
{
    take(2, 8, 88);
    take(2, 9, 99);
    elapse__watch_connect(&watch);
    view.timeline = 2;
    take(2, 7, 77);
    assert_false(watch.is_lost || doubts());
    assert_int_equal(elapse__watch_idle_ms(&watch, now_ms + 5000), 0);
}

/* It may be a dump that was restored, or the wrong host. */
WATCH_TEST(another_system_shows_nothing)
{
    take(2, 8, 88);
    take(2, 9, 99);
    elapse__watch_connect(&watch);
    view.system_identifier = 8;
    assert_false(elapse__watch_trusts(&watch, &view));
    take(1, 5, 55);
    take(1, 6, 66);
    assert_false(watch.is_lost || doubts());
    expect_witness(8, 88, 2);
    assert_int_equal(elapse__watch_idle_ms(&watch, now_ms + 5000), 0);
    elapse__watch_connect(&watch);
    view.system_identifier = 7;
    take(2, 9, 99);
    assert_true(elapse__watch_trusts(&watch, &view));
    assert_true(doubts());
}

WATCH_TEST(a_node_without_a_witness_watches_any_system)
{
    view.system_identifier = 8;
    take(2, 8, 88);
    take(2, 9, 99);
    expect_witness(8, 88, 2);
    assert_int_equal(watch.witness.system_identifier, 8);
}

WATCH_TEST(the_time_without_a_change_is_measured_in_one_session)
{
    take(2, 8, 88);
    assert_int_equal(elapse__watch_idle_ms(&watch, now_ms + 700), 700);
    elapse__watch_take(&watch, &view, &row, now_ms + 700);
    assert_int_equal(elapse__watch_idle_ms(&watch, now_ms + 900), 900);
    now_ms += 900;
    take(2, 8, 88); /* a beat */
    assert_int_equal(elapse__watch_idle_ms(&watch, now_ms + 50), 50);
    elapse__watch_connect(&watch);
    assert_int_equal(elapse__watch_idle_ms(&watch, now_ms + 50), 0);
    elapse__watch_take(&watch, &view, &row, now_ms + 300);
    assert_int_equal(elapse__watch_idle_ms(&watch, now_ms + 400), 100);
}

TEST_MAIN("watch")
