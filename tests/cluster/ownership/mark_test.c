/*
 * Tests rule R11 of src/cluster/ownership/partition.h, statement by statement: a node marks a
 * database that lost groups, and a mark stops all nodes.
 */
#include "partition_support.h"

/* An owner with one confirmed group, which a promoted standby lacks. */
static void own_and_lose(void)
{
    own();
    remember();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    expect_good(ELAPSE__STATEMENT_APPEND, 1);
    assert_int_equal(at.confirmed, 1);
    at.now_ms += LEASE_MS / 4;
    expect_good(ELAPSE__STATEMENT_BEAT, 1);
}

PARTITION_TEST(an_owner_that_lost_groups_marks_the_row)
{
    own_and_lose();
    assert_false(elapse__partition_takes_group(at.partition));
    expect_confirmed_mark(1, 1);
    struct elapse__partition_figures figures;
    elapse__partition_figures(at.partition, &figures);
    assert_string_equal(figures.mark, "why");
}

/* The barrier would wait for a standby, and others might take over meanwhile. */
PARTITION_TEST(an_owner_finds_lost_groups_before_a_barrier)
{
    own();
    remember();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    expect_good(ELAPSE__STATEMENT_APPEND, 1);
    submit();
    expect_outcome(ELAPSE__STATEMENT_APPEND, ELAPSE__OUTCOME_LOST);
    assert_int_equal(role(), ELAPSE__ROLE_UNKNOWN);
    connect_and_look();
    expect_confirmed_mark(1, 1);
}

/* An unclear one is written again, on a new connection, and one that failed, too. */
PARTITION_TEST(a_mark_is_tried_until_it_is_confirmed)
{
    own_and_lose();
    expect_mark(1, 1);
    struct elapse__statement_result result = good(1);
    result.noticed = true;
    give(&result);
    assert_int_equal(role(), ELAPSE__ROLE_MARKING);
    for (unsigned attempt = 0; attempt < 3; attempt++) {
        connect_and_look();
        assert_int_equal(role(), ELAPSE__ROLE_MARKING);
        expect_outcome(ELAPSE__STATEMENT_MARK,
                       attempt == 0 ? ELAPSE__OUTCOME_LOST : ELAPSE__OUTCOME_ERROR);
        at.now_ms = elapse__partition_next_ms(at.partition);
    }
    connect_and_look();
    expect_outcome(ELAPSE__STATEMENT_MARK, ELAPSE__OUTCOME_LOCKED);
    expect_good(ELAPSE__STATEMENT_TERMINATE, 0);
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    expect(ELAPSE__STATEMENT_MARK);
    result = good(1);
    result.after.loaded_us++;
    give(&result);
    assert_int_equal(role(), ELAPSE__ROLE_MARKING);
    connect_and_look();
    expect(ELAPSE__STATEMENT_MARK);
    at.now_ms = elapse__partition_next_ms(at.partition);
    elapse__partition_tick(at.partition, at.now_ms);
    assert_int_equal(role(), ELAPSE__ROLE_MARKING);
    connect_and_look();
    expect_good(ELAPSE__STATEMENT_MARK, 1);
    assert_int_equal(at.stop, ELAPSE__STOP_LOST_GROUPS);
}

/* The right standby was promoted meanwhile. */
PARTITION_TEST(a_database_that_has_all_groups_is_not_marked)
{
    own_and_lose();
    expect_outcome(ELAPSE__STATEMENT_MARK, ELAPSE__OUTCOME_LOST);
    at.row.last_group = 1;
    at.row.last_hash = elapse__chain_next(99, "group", 5);
    connect_and_look();
    assert_int_equal(at.stop, ELAPSE__STOP_LOST_GROUPS);
    expect_nothing();
}

/* It was the operator's command that had locked the row. */
PARTITION_TEST(a_row_that_was_repaired_meanwhile_is_not_marked)
{
    own_and_lose();
    expect_outcome(ELAPSE__STATEMENT_MARK, ELAPSE__OUTCOME_LOCKED);
    expect_good(ELAPSE__STATEMENT_TERMINATE, 0);
    at.row.epoch++;
    at.row.last_group = 1;
    at.row.last_hash = elapse__chain_next(99, "group", 5);
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    assert_int_equal(at.stop, ELAPSE__STOP_LOST_GROUPS);
    expect_nothing();
}

/* The log is read, and its sixth group says what the fifth has. */
static void give_sixth_group(uint64_t epoch, uint64_t hash_of_fifth)
{
    struct elapse__partition_log_row log = {
        .group = 6, .epoch = epoch, .hash_of_previous = hash_of_fifth, .bytes = "a", .size = 1};
    expect(ELAPSE__STATEMENT_READ_LOG);
    assert_int_equal(at.statement.group, 6);
    struct elapse__statement_result result = good(1);
    result.log = &log;
    give(&result);
}

/* A follower that knows group 5, and of a log of 7 groups reads one that says what the fifth has.
 */
static void follow_to(uint64_t hash_of_fifth)
{
    begin_with_five_groups();
    at.row.epoch = 2;
    at.row.last_group = 7;
    at.row.last_hash = 77;
    connect_and_look();
    give_sixth_group(2, hash_of_fifth);
}

/* After an unclear mark: the next group says what the fifth has. */
static void look_into_log_again(uint64_t hash_of_fifth)
{
    expect_mark(2, 5);
    struct elapse__statement_result result = good(0);
    result.outcome = ELAPSE__OUTCOME_LOST;
    at.row.stopped = "";
    give(&result);
    connect_and_look();
    give_sixth_group(2, hash_of_fifth);
}

/* The row alone does not show it. */
PARTITION_TEST(a_fork_is_marked_until_it_is_confirmed)
{
    follow_to(54);
    for (unsigned attempt = 0; attempt < 2; attempt++)
        look_into_log_again(54);
    expect_confirmed_mark(2, 5);
}

PARTITION_TEST(a_longer_log_that_has_all_groups_is_not_marked)
{
    follow_to(54);
    look_into_log_again(55);
    assert_int_equal(at.stop, ELAPSE__STOP_LOST_GROUPS);
    expect_nothing();
}

/* Others have gone on for long. */
PARTITION_TEST(a_log_that_was_trimmed_since_is_not_marked)
{
    follow_to(54);
    expect_outcome(ELAPSE__STATEMENT_MARK, ELAPSE__OUTCOME_LOST);
    connect_and_look();
    expect_good(ELAPSE__STATEMENT_READ_LOG, 0);
    assert_int_equal(at.stop, ELAPSE__STOP_LOST_GROUPS);
    expect_nothing();
}

/* Its owner goes on. */
PARTITION_TEST(a_row_of_a_later_epoch_is_not_marked)
{
    own_and_lose();
    at.row.epoch = 2;
    expect_good(ELAPSE__STATEMENT_MARK, 1);
    assert_int_equal(at.stop, ELAPSE__STOP_LOST_GROUPS);
    expect_nothing();
}

/* An operator has accepted the loss, and began a later epoch. */
PARTITION_TEST(a_node_that_comes_late_marks_for_the_epochs_it_knows)
{
    begin_with_five_groups();
    at.row.epoch = 3;
    at.row.last_group = 4;
    at.row.last_hash = 44;
    connect_and_look();
    expect(ELAPSE__STATEMENT_MARK);
    assert_int_equal(at.statement.epoch, 2);
}

/* The same, and the others have handed over. It finds the fork when it owns the partition. */
PARTITION_TEST(a_node_that_comes_late_and_owns_marks_for_the_epochs_before)
{
    begin_with_five_groups();
    at.row.epoch = 3;
    at.row.last_group = 7;
    at.row.last_hash = 77;
    own();
    give_sixth_group(3, 54);
    expect_confirmed_mark(2, 5);
}

PARTITION_TEST(handing_over_does_not_end_the_attempts_at_once)
{
    own_and_lose();
    expect_outcome(ELAPSE__STATEMENT_MARK, ELAPSE__OUTCOME_LOST);
    elapse__partition_hand_over(at.partition, at.now_ms);
    connect_and_look();
    expect(ELAPSE__STATEMENT_MARK);
    at.now_ms += LEASE_MS / 3 - 1;
    elapse__partition_tick(at.partition, at.now_ms);
    assert_int_equal(role(), ELAPSE__ROLE_MARKING);
    at.now_ms++;
    elapse__partition_tick(at.partition, at.now_ms);
    assert_int_equal(at.stop, ELAPSE__STOP_LOST_GROUPS);
    expect_nothing();
}

PARTITION_TEST(a_follower_that_sees_a_mark_stops)
{
    connect_and_look();
    at.now_ms += LEASE_MS;
    at.row.owner = "";
    at.row.stopped = "why";
    expect_good(ELAPSE__STATEMENT_TAKE_OVER, 0);
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    assert_int_equal(at.stop, ELAPSE__STOP_MARKED);
    assert_int_equal(role(), ELAPSE__ROLE_STOPPED);
    expect_nothing();
}

PARTITION_TEST(an_owner_that_sees_a_mark_stops)
{
    own();
    remember();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    at.row.stopped = "why";
    expect_good(ELAPSE__STATEMENT_APPEND, 0);
    expect_good(ELAPSE__STATEMENT_BEAT, 1);
    assert_int_equal(at.stop, ELAPSE__STOP_MARKED);
    assert_int_equal(at.confirmed, 0);
    assert_int_equal(elapse__partition_answer_until_ms(at.partition), 0);
}

/* Another one was faster. */
PARTITION_TEST(an_owner_that_lost_groups_says_so_although_there_is_a_mark)
{
    own();
    remember();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    expect_good(ELAPSE__STATEMENT_APPEND, 1);
    at.now_ms += LEASE_MS / 4;
    at.row.stopped = "why";
    expect_good(ELAPSE__STATEMENT_BEAT, 1);
    expect_confirmed_mark(1, 1);
}

/* The epochs that it knows are those of groups that it has, and of rows that end with them. */
PARTITION_TEST(epochs_are_seen_in_the_log)
{
    uint64_t mark;
    at.row.last_group = 2;
    at.row.last_hash = 1234;
    at.row.epoch = 9;
    connect_and_look();
    assert_int_equal(elapse__partition_memory(at.partition, &mark).seen_epoch, 0);
    struct elapse__partition_log_row log = {
        .group = 1, .epoch = 4, .hash_of_previous = 99, .bytes = "a", .size = 1};
    expect(ELAPSE__STATEMENT_READ_LOG);
    struct elapse__statement_result result = good(1);
    result.log = &log;
    give(&result);
    uint64_t before = mark;
    assert_int_equal(elapse__partition_memory(at.partition, &mark).seen_epoch, 4);
    assert_int_not_equal(mark, before);
    at.row.last_group = 1;
    at.row.last_hash = elapse__chain_next(99, "a", 1);
    expect_good(ELAPSE__STATEMENT_READ_LOG, 0);
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    assert_int_equal(elapse__partition_memory(at.partition, &mark).seen_epoch, 9);
}

PARTITION_TEST(an_owner_has_seen_its_epoch)
{
    uint64_t mark;
    struct elapse__partition_log_row log = {
        .group = 1, .hash_of_previous = 99, .bytes = "a", .size = 1};
    at.row.last_group = 1;
    at.row.last_hash = elapse__chain_next(99, "a", 1);
    own();
    expect(ELAPSE__STATEMENT_READ_LOG);
    struct elapse__statement_result result = good(1);
    result.log = &log;
    give(&result);
    assert_int_equal(role(), ELAPSE__ROLE_OWNING);
    assert_int_equal(elapse__partition_memory(at.partition, &mark).seen_epoch, 1);
}

/* A follower that has seen timeline 3 finds a promoted standby. */
static void meet_new_timeline(const char *owner)
{
    connect_and_look();
    expect_nothing();
    at.now_ms += LEASE_MS / 2;
    expect_outcome(ELAPSE__STATEMENT_READ_ROW, ELAPSE__OUTCOME_LOST);
    at.now_ms = elapse__partition_next_ms(at.partition);
    at.timeline = 4;
    at.row.owner = owner;
    connect_and_look();
}

/* Looks at the row again and again, and stops before `at_ms`. */
static void look_until(uint64_t at_ms)
{
    while (elapse__partition_next_ms(at.partition) < at_ms) {
        at.now_ms = elapse__partition_next_ms(at.partition);
        expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    }
    at.now_ms = at_ms;
}

PARTITION_TEST(a_follower_waits_two_leases_on_a_new_timeline)
{
    meet_new_timeline("other");
    uint64_t found_ms = at.now_ms;
    look_until(found_ms + 2 * LEASE_MS);
    assert_int_equal(role(), ELAPSE__ROLE_FOLLOWING);
    expect(ELAPSE__STATEMENT_TAKE_OVER);
}

/* The row may be that of a moment between two owners, of which the second one is forgotten. */
PARTITION_TEST(nobody_owns_at_once_on_a_new_timeline)
{
    meet_new_timeline("");
    uint64_t found_ms = at.now_ms;
    look_until(found_ms + 2 * LEASE_MS - 1);
    at.now_ms = found_ms + 2 * LEASE_MS;
    expect(ELAPSE__STATEMENT_TAKE_OVER);
}

/* Another connection neither ends the wait nor begins it again. */
PARTITION_TEST(the_wait_is_for_the_timeline)
{
    meet_new_timeline("");
    uint64_t found_ms = at.now_ms;
    look_until(found_ms + LEASE_MS);
    at.now_ms = elapse__partition_next_ms(at.partition);
    expect_outcome(ELAPSE__STATEMENT_READ_ROW, ELAPSE__OUTCOME_LOST);
    at.now_ms = elapse__partition_next_ms(at.partition);
    connect_and_look();
    look_until(found_ms + 2 * LEASE_MS);
    expect(ELAPSE__STATEMENT_TAKE_OVER);
}

TEST_MAIN("mark")
