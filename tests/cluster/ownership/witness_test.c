/*
 * Tests the witness of rule R11 of src/cluster/ownership/partition.h, statement by statement: what
 * a node has seen of the log in the row counts as what it has read.
 */
#include "partition_support.h"

static struct elapse__partition_figures figures(void)
{
    struct elapse__partition_figures seen;
    elapse__partition_figures(at.partition, &seen);
    return seen;
}

static void set_row(uint64_t epoch, uint64_t group, uint64_t hash)
{
    at.row.epoch = epoch;
    at.row.last_group = group;
    at.row.last_hash = hash;
    at.row.beat++;
}

/* The node is behind, and reads the row all the same when it is time. */
static void lag(void)
{
    at.now_ms += LEASE_MS / 10 + 1;
}

static void read_row(void)
{
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
}

/* A follower that has nothing, and has seen rows with 8 and with 9 groups. */
static void see_eight_groups(void)
{
    set_row(2, 8, 88);
    connect_and_look();
    assert_int_equal(figures().witness.place.group, 0);
    lag();
    set_row(3, 9, 99);
    read_row();
}

/* A node that starts with such a witness, and nothing else. */
static void begin_with_witness(void)
{
    struct elapse__partition_options options = options_of();
    options.witness = (struct elapse__partition_witness){{8, 88}, 3, 7, 3};
    options.memory.system_identifier = 7;
    options.memory.timeline = 3;
    elapse__partition_free(at.partition);
    begin_with(&options);
}

static void lose_connection(void)
{
    expect_outcome(ELAPSE__STATEMENT_READ_LOG, ELAPSE__OUTCOME_LOST);
}

PARTITION_TEST(a_row_with_more_groups_makes_the_one_before_durable)
{
    see_eight_groups();
    assert_int_equal(figures().witness.place.group, 8);
    assert_int_equal(figures().witness.place.hash, 88);
    assert_int_equal(figures().witness.epoch, 3);
    assert_int_equal(figures().witness.system_identifier, 7);
}

/* The ninth group was perhaps seen without a standby. */
PARTITION_TEST(the_last_group_of_a_row_is_no_witness)
{
    see_eight_groups();
    lose_connection();
    set_row(3, 8, 88);
    connect_and_look();
    assert_int_equal(role(), ELAPSE__ROLE_FOLLOWING);
    assert_int_equal(figures().witness.place.group, 8);
}

/* The group of the row before may have been lost in between. */
PARTITION_TEST(rows_of_two_connections_prove_nothing)
{
    set_row(2, 8, 88);
    connect_and_look();
    lose_connection();
    set_row(3, 12, 12);
    connect_and_look();
    assert_int_equal(figures().witness.place.group, 0);
}

PARTITION_TEST(each_connection_looks_for_the_witness)
{
    see_eight_groups();
    lose_connection();
    set_row(3, 12, 12);
    connect_and_look();
    assert_int_equal(figures().witness.place.group, 8);
    expect(ELAPSE__STATEMENT_READ_LOG);
    assert_int_equal(at.statement.group, 9);
}

PARTITION_TEST(a_row_that_lacks_the_witness_is_marked)
{
    see_eight_groups();
    lose_connection();
    set_row(3, 7, 77);
    connect_and_look();
    expect_confirmed_mark(3, 8);
}

PARTITION_TEST(a_witness_of_an_earlier_life_counts)
{
    begin_with_witness();
    set_row(3, 8, 80);
    connect_and_look();
    expect_confirmed_mark(3, 8);
}

/* An operator has let the node use another system. */
PARTITION_TEST(a_witness_of_the_system_before_does_not_count)
{
    struct elapse__partition_options options = options_of();
    options.witness = (struct elapse__partition_witness){{8, 88}, 3, 6, 3};
    options.memory.system_identifier = 7;
    options.memory.timeline = 3;
    elapse__partition_free(at.partition);
    begin_with(&options);
    set_row(1, 5, 55);
    connect_and_look();
    assert_int_equal(role(), ELAPSE__ROLE_FOLLOWING);
    assert_int_equal(figures().witness.place.group, 0);
}

/* The node has no directory, and so no memory. The database may be the wrong one. */
PARTITION_TEST(a_witness_keeps_the_node_from_another_system)
{
    struct elapse__partition_options options = options_of();
    options.witness = (struct elapse__partition_witness){{8, 88}, 3, 6, 3};
    elapse__partition_free(at.partition);
    begin_with(&options);
    expect_good(ELAPSE__STATEMENT_CONNECT, 0);
    expect_good(ELAPSE__STATEMENT_SESSION, 1);
    assert_int_equal(figures().complaint, ELAPSE__COMPLAINT_OTHER_SYSTEM);
    assert_int_equal(figures().witness.place.group, 8);
    assert_int_equal(figures().witness.system_identifier, 6);
}

/* The directory is lost, and with it what the partition remembers. */
PARTITION_TEST(a_primary_of_the_past_is_known_by_the_witness)
{
    struct elapse__partition_options options = options_of();
    options.witness = (struct elapse__partition_witness){{8, 88}, 3, 7, 4};
    elapse__partition_free(at.partition);
    begin_with(&options);
    expect_good(ELAPSE__STATEMENT_CONNECT, 0);
    expect_good(ELAPSE__STATEMENT_SESSION, 1);
    assert_int_equal(figures().complaint, ELAPSE__COMPLAINT_OLD_TIMELINE);
}

/* An operator has accepted the loss, or others have gone on. */
PARTITION_TEST(a_node_that_lacks_only_its_witness_says_so_and_goes_on)
{
    begin_with_witness();
    set_row(4, 7, 77);
    connect_and_look();
    expect(ELAPSE__STATEMENT_MARK);
    assert_int_equal(at.statement.epoch, 3);
    assert_int_equal(at.statement.group, 8);
    struct elapse__statement_result result = good(1);
    give(&result);
    assert_int_equal(role(), ELAPSE__ROLE_FOLLOWING);
    assert_int_equal(at.stop, ELAPSE__STOP_NONE);
    assert_int_equal(figures().stop, ELAPSE__STOP_NONE);
    assert_int_equal(figures().witness.place.group, 0);
    assert_int_equal(figures().witness_losses, 1);
    read_row();
    assert_int_equal(role(), ELAPSE__ROLE_FOLLOWING);
    expect(ELAPSE__STATEMENT_READ_LOG);
}

/* The words in the row may not be with a standby. */
PARTITION_TEST(a_witness_is_forgotten_only_when_the_row_says_so_for_certain)
{
    begin_with_witness();
    set_row(4, 7, 77);
    connect_and_look();
    expect(ELAPSE__STATEMENT_MARK);
    struct elapse__statement_result result = good(1);
    result.noticed = true;
    give(&result);
    assert_int_equal(role(), ELAPSE__ROLE_MARKING);
    assert_int_equal(figures().witness.place.group, 8);
    connect_and_look();
    expect_good(ELAPSE__STATEMENT_MARK, 1);
    assert_int_equal(role(), ELAPSE__ROLE_FOLLOWING);
}

/* What it has itself is lost, too. */
PARTITION_TEST(a_node_that_lacks_its_own_groups_stops)
{
    struct elapse__partition_options options = options_of();
    options.confirmed = options.local = (struct elapse__partition_log_place){5, 55};
    options.witness = (struct elapse__partition_witness){{8, 88}, 3, 7, 3};
    elapse__partition_free(at.partition);
    begin_with(&options);
    set_row(4, 4, 44);
    connect_and_look();
    expect_good(ELAPSE__STATEMENT_MARK, 1);
    assert_int_equal(at.stop, ELAPSE__STOP_LOST_GROUPS);
}

static void give_log(const struct elapse__partition_log_row *log, uint64_t count)
{
    expect(ELAPSE__STATEMENT_READ_LOG);
    struct elapse__statement_result result = good(count);
    result.log = log;
    give(&result);
}

/* Three groups of one byte each, on the genesis of options_of. */
static uint64_t make_log(struct elapse__partition_log_row *log, size_t count)
{
    uint64_t hash = 99;
    for (size_t i = 0; i < count; i++) {
        log[i] = (struct elapse__partition_log_row){
            .group = i + 1, .epoch = 3, .hash_of_previous = hash, .bytes = "a", .size = 1};
        hash = elapse__chain_next(hash, "a", 1);
    }
    return hash;
}

/* Takes over at once, so that the log is read only as an owner that catches up. */
static void own_with_witness_at(uint64_t group, uint64_t hash, uint64_t last, uint64_t last_hash)
{
    struct elapse__partition_options options = options_of();
    options.witness = (struct elapse__partition_witness){{group, hash}, 3, 7, 3};
    elapse__partition_free(at.partition);
    begin_with(&options);
    set_row(3, last, last_hash);
    own();
}

PARTITION_TEST(a_new_owner_compares_the_log_with_the_witness)
{
    struct elapse__partition_log_row log[3];
    uint64_t hash = make_log(log, 3);
    own_with_witness_at(2, 22, 3, hash);
    give_log(log, 3);
    assert_int_equal(at.applied, 1);
    assert_int_equal(figures().local.group, 1);
    expect(ELAPSE__STATEMENT_MARK);
    assert_int_equal(at.statement.epoch, 3);
    assert_int_equal(at.statement.group, 2);
}

PARTITION_TEST(a_new_owner_whose_log_has_the_witness_owns)
{
    struct elapse__partition_log_row log[3];
    uint64_t hash = make_log(log, 3);
    own_with_witness_at(2, log[2].hash_of_previous, 3, hash);
    give_log(log, 3);
    assert_int_equal(at.applied, 3);
    assert_int_equal(at.owned_epoch, 4);
}

/* The log begins behind the witness, and its first group has the hash of the group before. */
PARTITION_TEST(the_first_group_of_a_trimmed_log_is_compared_with_the_witness)
{
    struct elapse__partition_log_row log[3];
    uint64_t hash = make_log(log, 3);
    struct elapse__partition_options options = options_of();
    options.witness = (struct elapse__partition_witness){{2, 22}, 3, 7, 3};
    elapse__partition_free(at.partition);
    begin_with(&options);
    set_row(3, 3, hash);
    at.row.tail = 3;
    connect_and_look();
    assert_int_equal(at.rebuilt, 1);
    give_log(&log[2], 1);
    assert_int_equal(at.applied, 0);
    expect_confirmed_mark(3, 2);
}

/* On a new connection the row has more groups than the witness, and perhaps another past. The group
 * after the witness tells. Until it was read, no other witness takes its place. */
static void look_for_witness(uint64_t count, uint64_t hash_of_eighth)
{
    struct elapse__partition_log_row log = {
        .group = 9, .epoch = 3, .hash_of_previous = hash_of_eighth, .bytes = "a", .size = 1};
    begin_with_witness();
    set_row(3, 12, 12);
    connect_and_look();
    lag();
    set_row(4, 13, 13);
    read_row();
    assert_int_equal(figures().witness.place.group, 8);
    assert_int_equal(figures().witness.epoch, 3);
    expect(ELAPSE__STATEMENT_READ_LOG);
    assert_int_equal(at.statement.group, 9);
    struct elapse__statement_result result = good(count);
    result.log = &log;
    give(&result);
    assert_int_equal(at.applied, 0);
}

PARTITION_TEST(a_witness_that_the_log_has_makes_way)
{
    look_for_witness(1, 88);
    expect(ELAPSE__STATEMENT_READ_LOG);
    assert_int_equal(at.statement.group, 1);
    assert_int_equal(role(), ELAPSE__ROLE_FOLLOWING);
}

PARTITION_TEST(a_witness_that_the_log_lacks_is_marked)
{
    look_for_witness(1, 80);
    assert_int_equal(role(), ELAPSE__ROLE_MARKING);
    expect(ELAPSE__STATEMENT_MARK);
    assert_int_equal(at.statement.epoch, 3);
    assert_int_equal(at.statement.group, 8);
}

/* It was trimmed. */
PARTITION_TEST(nothing_can_be_said_of_a_witness_that_the_log_dropped)
{
    look_for_witness(0, 0);
    assert_int_equal(role(), ELAPSE__ROLE_FOLLOWING);
    expect(ELAPSE__STATEMENT_READ_LOG);
    assert_int_equal(at.statement.group, 1);
}

PARTITION_TEST(a_witness_that_is_the_end_of_the_row_makes_way)
{
    begin_with_witness();
    set_row(4, 8, 88);
    connect_and_look();
    lag();
    set_row(5, 9, 99);
    read_row();
    assert_int_equal(figures().witness.place.group, 8);
    assert_int_equal(figures().witness.epoch, 5);
    lag();
    set_row(5, 11, 11);
    read_row();
    assert_int_equal(figures().witness.place.group, 9);
}

TEST_MAIN("witness")
