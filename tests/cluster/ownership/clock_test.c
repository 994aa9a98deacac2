/*
 * Tests R12: nodes have one time, however wrong their wall clocks are.
 */
#include "partition_support.h"

static const struct elapse__clock_others nobody = {0, 0, 0};

/* What the cluster's time is before the true one. */
static int64_t cluster_ahead_ms(void)
{
    assert_true(figures_now().time.is_known);
    return figures_now().time.offset_ms - NOON_MS;
}

/* Beats, and questions for clocks with this answer, until so much time has passed. */
static void live_for(uint64_t ms, struct elapse__clock_others others)
{
    uint64_t until_ms = at.now_ms + ms;
    while (role() == ELAPSE__ROLE_OWNING && at.now_ms < until_ms) {
        while (role() == ELAPSE__ROLE_OWNING &&
               elapse__partition_next(at.partition, at.now_ms, &at.statement)) {
            struct elapse__statement_result result = good(1);
            if (at.statement.kind == ELAPSE__STATEMENT_RELEASE)
                at.row.owner = "";
            result.others = others;
            result.row.beat = ++at.row.beat;
            give(&result);
        }
        at.now_ms += 10;
    }
}

static void own_with_clock(int64_t ahead_ms)
{
    at.has_clock = true;
    at.ahead_ms = ahead_ms;
    own();
    assert_int_equal(role(), ELAPSE__ROLE_OWNING);
}

PARTITION_TEST(nodes_with_different_clocks_have_the_same_time)
{
    own_with_clock(3000);
    assert_int_equal(cluster_ahead_ms(), 0);
    assert_int_equal(figures_now().clock, ELAPSE__CLOCK_OFF);
    assert_in_range(figures_now().ahead_ms, 2990, 3000);
}

PARTITION_TEST(a_wall_clock_that_is_set_does_not_change_the_time)
{
    own_with_clock(0);
    at.ahead_ms = -3600 * 1000;
    live_for(LEASE_MS / 2, nobody);
    assert_int_equal(cluster_ahead_ms(), 0);
    assert_int_equal(figures_now().clock, ELAPSE__CLOCK_APART);
}

PARTITION_TEST(a_node_whose_clock_is_wrong_gives_up_what_it_owns)
{
    own_with_clock(0);
    remember();
    at.ahead_ms = 3600 * 1000;
    uint64_t set_ms = at.now_ms;
    live_for(3 * LEASE_MS, (struct elapse__clock_others){.living = 2, .right = 2});
    assert_string_equal(at.row.owner, "");
    assert_int_equal(role(), ELAPSE__ROLE_FENCED);
    assert_int_equal(at.fenced, 1);
    assert_int_equal(elapse__partition_answer_until_ms(at.partition), 0);
    assert_int_equal(figures_now().clock, ELAPSE__CLOCK_WRONG);
    assert_in_range(at.now_ms - set_ms, LEASE_MS, 2 * LEASE_MS);
    elapse__partition_aside(at.partition);
    connect_and_look();
    at.now_ms += 2 * LEASE_MS; /* nobody owns the partition, and it takes nothing over */
    expect_clocks((struct elapse__clock_others){.living = 2, .right = 2});
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    expect_nothing();
    at.ahead_ms = 0;
    at.now_ms += LEASE_MS / 4;
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    expect(ELAPSE__STATEMENT_TAKE_OVER);
}

PARTITION_TEST(a_database_whose_clock_is_set_is_not_followed_and_ends_nothing)
{
    own_with_clock(200);
    at.database_ahead_ms = -3600 * 1000;
    live_for(3 * LEASE_MS, (struct elapse__clock_others){.living = 2, .agreeing = 2});
    assert_int_equal(role(), ELAPSE__ROLE_OWNING);
    assert_int_equal(figures_now().clock, ELAPSE__CLOCK_DATABASE);
    assert_int_equal(cluster_ahead_ms(), 0);
    at.database_ahead_ms = 30;
    live_for(LEASE_MS, nobody);
    assert_int_equal(figures_now().clock, ELAPSE__CLOCK_RIGHT);
}

PARTITION_TEST(a_node_that_most_others_contradict_gives_up_although_the_database_is_wrong)
{
    own_with_clock(0);
    at.ahead_ms = 10 * 1000;
    at.database_ahead_ms = -3600 * 1000;
    live_for(3 * LEASE_MS, (struct elapse__clock_others){.living = 2});
    assert_int_equal(role(), ELAPSE__ROLE_FENCED);
}

/* The others may just have begun to see the same. */
PARTITION_TEST(what_others_said_within_a_lease_of_a_jump_does_not_count)
{
    own_with_clock(0);
    at.database_ahead_ms = -3600 * 1000;
    live_for(LEASE_MS * 9 / 10, (struct elapse__clock_others){.living = 2, .right = 2});
    assert_int_equal(role(), ELAPSE__ROLE_OWNING);
    assert_int_equal(figures_now().clock, ELAPSE__CLOCK_APART);
    live_for(3 * LEASE_MS, (struct elapse__clock_others){.living = 2, .agreeing = 2});
    assert_int_equal(role(), ELAPSE__ROLE_OWNING);
}

PARTITION_TEST(an_answer_that_takes_long_says_less_of_the_clock)
{
    own_with_clock(0);
    expect_clocks(nobody);
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    at.now_ms += LEASE_MS / 4;
    expect(ELAPSE__STATEMENT_BEAT);
    struct elapse__statement_result result = good(1);
    at.now_ms += 400; /* the answer is on its way */
    result.wall_ms = NOON_MS + (int64_t)at.now_ms;
    at.row.beat++;
    give(&result);
    assert_int_equal(figures_now().ahead_ms, 0);
    assert_int_equal(cluster_ahead_ms(), 0);
}

PARTITION_TEST(clocks_that_cannot_be_told_end_nothing)
{
    own_with_clock(0);
    expect_outcome(ELAPSE__STATEMENT_CLOCKS, ELAPSE__OUTCOME_ERROR);
    assert_int_equal(role(), ELAPSE__ROLE_OWNING);
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
}

/* Begins anew, as a node does that hands a partition over or makes a copy. */
static void begin_anew(const struct elapse__clock_time *time)
{
    struct elapse__partition_options options = options_of();

    options.time = *time;
    elapse__partition_free(at.partition);
    begin_with(&options);
    at.has_clock = true;
    at.ahead_ms = 3600 * 1000;
}

/* The other nodes say that the database is wrong. */
static void agree_with_others(void)
{
    const struct elapse__clock_others others = {.living = 2, .agreeing = 2};

    connect_and_look();
    expect_clocks(others);
    at.now_ms += 2 * LEASE_MS;
    expect_clocks(others);
    assert_int_equal(figures_now().clock, ELAPSE__CLOCK_DATABASE);
}

PARTITION_TEST(a_partition_that_begins_anew_keeps_the_time_that_the_node_had)
{
    own_with_clock(0);
    const struct elapse__clock_time time = figures_now().time;

    assert_false(time.is_borrowed);
    begin_anew(&time);
    agree_with_others();
    assert_int_equal(cluster_ahead_ms(), 0);
}

PARTITION_TEST(a_process_that_begins_with_most_others_believes_them)
{
    begin_anew(&(struct elapse__clock_time){.is_known = false});
    agree_with_others();
    assert_int_equal(cluster_ahead_ms(), 3600 * 1000);
}

PARTITION_TEST(a_borrowed_time_stays_borrowed_when_a_partition_begins_anew)
{
    begin_anew(&(struct elapse__clock_time){true, NOON_MS, true});
    agree_with_others();
    assert_int_equal(cluster_ahead_ms(), 3600 * 1000);
}

PARTITION_TEST(a_wall_clock_that_was_right_meanwhile_ends_the_borrowing)
{
    begin_anew(&(struct elapse__clock_time){true, NOON_MS, true});
    at.ahead_ms = 0;
    own();
    assert_false(figures_now().time.is_borrowed);
    at.ahead_ms = 3600 * 1000;
    live_for(3 * LEASE_MS, (struct elapse__clock_others){.living = 2, .agreeing = 2});
    assert_int_equal(cluster_ahead_ms(), 0);
}

/* What it tells would say that its clock is right. */
PARTITION_TEST(a_time_that_is_known_is_not_told_before_the_first_look)
{
    begin_anew(&(struct elapse__clock_time){true, NOON_MS, false});
    at.has_clock = false;
    connect_and_look();
    expect_nothing();
}

/* Otherwise the first look would lie in the middle between the two times. */
PARTITION_TEST(a_look_during_which_the_database_is_set_back_says_nothing)
{
    at.has_clock = true;
    expect_good(ELAPSE__STATEMENT_CONNECT, 0);
    expect_good(ELAPSE__STATEMENT_SESSION, 1);
    assert_false(figures_now().time.is_known);
    expect(ELAPSE__STATEMENT_READ_ROW);
    struct elapse__statement_result result = good(1);
    result.before.clock_ms += 3600 * 1000;
    give(&result);
    assert_false(figures_now().time.is_known);
    at.now_ms += LEASE_MS / 4;
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    assert_int_equal(cluster_ahead_ms(), 0);
}

TEST_MAIN("clock")
