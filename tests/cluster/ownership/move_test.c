/*
 * Tests planned moves: an owner hands over and goes on as a follower, and a follower that expects
 * another owner waits.
 */
#include "partition_support.h"

static void move(void)
{
    elapse__partition_move(at.partition);
    expect(ELAPSE__STATEMENT_RELEASE);
    assert_int_equal(elapse__partition_answer_until_ms(at.partition), 0);
}

PARTITION_TEST(an_owner_that_moves_hands_over_and_follows)
{
    own();
    remember();
    assert_true(elapse__partition_answer_until_ms(at.partition) > 0);
    move();
    at.row.owner = "";
    struct elapse__statement_result result = good(0);
    give(&result);
    assert_int_equal(role(), ELAPSE__ROLE_FENCED);
    assert_int_equal(at.fenced, 1);
    elapse__partition_aside(at.partition);
    assert_int_equal(role(), ELAPSE__ROLE_FOLLOWING);
}

PARTITION_TEST(a_move_waits_for_the_group_in_flight)
{
    own();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    elapse__partition_move(at.partition);
    expect(ELAPSE__STATEMENT_APPEND);
    assert_false(elapse__partition_takes_group(at.partition));
    struct elapse__statement_result result = good(1);
    give(&result);
    assert_int_equal(at.confirmed, 1);
    assert_false(elapse__partition_takes_group(at.partition));
    expect(ELAPSE__STATEMENT_RELEASE);
}

PARTITION_TEST(a_move_whose_outcome_is_unclear_ends_the_epoch)
{
    own();
    move();
    struct elapse__statement_result result = good(0);
    result.outcome = ELAPSE__OUTCOME_LOST;
    give(&result);
    assert_int_equal(role(), ELAPSE__ROLE_FENCED);
}

/* The next epoch of the same node is not handed over. */
PARTITION_TEST(a_move_ends_with_its_epoch)
{
    own();
    move();
    at.row.owner = "";
    struct elapse__statement_result result = good(0);
    give(&result);
    elapse__partition_aside(at.partition);
    own();
    assert_int_equal(role(), ELAPSE__ROLE_OWNING);
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    expect_nothing();
}

PARTITION_TEST(a_follower_does_not_move)
{
    connect_and_look();
    elapse__partition_move(at.partition);
    expect_nothing();
    at.row.owner = "";
    at.now_ms += LEASE_MS / 10 + 1;
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    expect(ELAPSE__STATEMENT_TAKE_OVER);
}

PARTITION_TEST(a_follower_that_expects_another_owner_waits_for_a_lease)
{
    at.row.owner = "";
    elapse__partition_expect(at.partition, ELAPSE__NEXT_OWNER_THERE);
    connect_and_look();
    uint64_t seen_ms = at.now_ms;
    for (; at.now_ms < seen_ms + LEASE_MS; at.now_ms++) {
        struct elapse__statement statement;
        if (!elapse__partition_next(at.partition, at.now_ms, &statement))
            continue;
        at.statement = statement;
        assert_int_equal(statement.kind, ELAPSE__STATEMENT_READ_ROW);
        struct elapse__statement_result result = good(1);
        give(&result);
    }
    expect(ELAPSE__STATEMENT_TAKE_OVER);
}

PARTITION_TEST(a_follower_that_is_told_that_any_node_may_own_takes_over_at_once)
{
    at.row.owner = "";
    elapse__partition_expect(at.partition, ELAPSE__NEXT_OWNER_THERE);
    connect_and_look();
    expect_nothing();
    elapse__partition_expect(at.partition, ELAPSE__NEXT_OWNER_ANY);
    expect(ELAPSE__STATEMENT_TAKE_OVER);
}

PARTITION_TEST(the_next_owner_reads_the_row_more_often)
{
    elapse__partition_expect(at.partition, ELAPSE__NEXT_OWNER_HERE);
    connect_and_look();
    assert_true(elapse__partition_next_ms(at.partition) <= at.now_ms + LEASE_MS / 100 + 1);
    at.now_ms += LEASE_MS / 100 + 1;
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    elapse__partition_expect(at.partition, ELAPSE__NEXT_OWNER_ANY);
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    assert_int_equal(elapse__partition_next_ms(at.partition), at.now_ms + LEASE_MS / 10 + 1);
}

/* An owner that has died is replaced in time, whoever was to come next. */
PARTITION_TEST(a_dead_owner_is_replaced_after_a_lease_whoever_is_expected)
{
    elapse__partition_expect(at.partition, ELAPSE__NEXT_OWNER_THERE);
    connect_and_look();
    at.now_ms += LEASE_MS;
    expect(ELAPSE__STATEMENT_TAKE_OVER);
}

TEST_MAIN("move")
