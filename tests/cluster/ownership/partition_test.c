/*
 * Tests what one partition does, statement by statement, in cases that are too rare in the
 * simulation.
 */
#include "partition_support.h"

/* ---- the lease ---- */

PARTITION_TEST(standby_waits_for_the_whole_lease)
{
    connect_and_look();
    uint64_t seen_ms = at.now_ms;
    at.now_ms = seen_ms + LEASE_MS - 1;
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    expect_nothing();
    at.now_ms = seen_ms + LEASE_MS;
    expect(ELAPSE__STATEMENT_TAKE_OVER);
}

PARTITION_TEST(a_beat_begins_the_wait_again)
{
    connect_and_look();
    at.now_ms += LEASE_MS - 1;
    at.row.beat++;
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    uint64_t seen_ms = at.now_ms;
    at.now_ms = seen_ms + LEASE_MS - 1;
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    expect_nothing();
    at.now_ms++;
    expect(ELAPSE__STATEMENT_TAKE_OVER);
}

PARTITION_TEST(another_connection_begins_the_wait_again)
{
    connect_and_look();
    at.now_ms += LEASE_MS - 1;
    expect_outcome(ELAPSE__STATEMENT_READ_ROW, ELAPSE__OUTCOME_LOST);
    at.now_ms += LEASE_MS;
    connect_and_look();
    expect_nothing();
}

PARTITION_TEST(owner_answers_for_nine_tenths_from_the_sending)
{
    own();
    assert_int_equal(role(), ELAPSE__ROLE_OWNING);
    remember();
    uint64_t sent_ms = at.now_ms;
    assert_int_equal(elapse__partition_answer_until_ms(at.partition), sent_ms + LEASE_MS * 9 / 10);
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    at.now_ms += LEASE_MS / 4;
    sent_ms = at.now_ms;
    expect(ELAPSE__STATEMENT_BEAT);
    at.now_ms += 100;
    at.row.beat++;
    struct elapse__statement_result result = good(1);
    give(&result);
    assert_int_equal(elapse__partition_answer_until_ms(at.partition), sent_ms + LEASE_MS * 9 / 10);
}

PARTITION_TEST(nothing_is_answered_before_the_memory_is_kept)
{
    own();
    assert_int_equal(role(), ELAPSE__ROLE_OWNING);
    assert_int_equal(elapse__partition_answer_until_ms(at.partition), 0);
    uint64_t mark;
    struct elapse__partition_memory memory = elapse__partition_memory(at.partition, &mark);
    assert_int_equal(memory.system_identifier, 7);
    assert_int_equal(memory.timeline, 3);
    assert_int_equal(memory.epoch, 1);
    elapse__partition_remembered(at.partition, mark - 1);
    assert_int_equal(elapse__partition_answer_until_ms(at.partition), 0);
    elapse__partition_remembered(at.partition, mark);
    assert_true(elapse__partition_answer_until_ms(at.partition) > at.now_ms);
}

/* Reading a long log takes longer than a lease, which must go on. */
PARTITION_TEST(beats_while_catching_up)
{
    at.row.last_group = 3;
    at.row.last_hash = 1234;
    own();
    assert_int_equal(role(), ELAPSE__ROLE_CATCHING_UP);
    expect(ELAPSE__STATEMENT_READ_LOG);
    at.now_ms += LEASE_MS / 4;
    struct elapse__partition_log_row log = {
        .group = 1, .hash_of_previous = 99, .bytes = "a", .size = 1};
    struct elapse__statement_result result = good(1);
    result.log = &log;
    give(&result);
    assert_int_equal(at.applied, 1);
    at.row.beat++;
    expect_good(ELAPSE__STATEMENT_BEAT, 1);
    expect(ELAPSE__STATEMENT_READ_LOG);
    assert_int_equal(at.statement.group, 2);
    assert_int_equal(elapse__partition_answer_until_ms(at.partition), 0);
}

/* ---- complaints ---- */

PARTITION_TEST(a_complaint_is_about_the_server_that_gave_cause)
{
    expect_good(ELAPSE__STATEMENT_CONNECT, 0);
    expect(ELAPSE__STATEMENT_SESSION);
    struct elapse__statement_result result = good(1);
    result.session.in_recovery = true;
    give(&result);
    assert_int_equal(figures_now().complaint, ELAPSE__COMPLAINT_IN_RECOVERY);
    assert_int_equal(figures_now().complaint_host, 0);
    assert_int_equal(figures_now().host, 1); /* the next one */
    at.now_ms += LEASE_MS;
    expect_outcome(ELAPSE__STATEMENT_CONNECT, ELAPSE__OUTCOME_LOST);
    assert_int_equal(figures_now().complaint, ELAPSE__COMPLAINT_UNREACHABLE);
    assert_int_equal(figures_now().complaint_host, 1);
}

/* ---- hosts ---- */

static void expect_connect_to(unsigned host)
{
    at.now_ms += LEASE_MS / 20 + 1;
    expect(ELAPSE__STATEMENT_CONNECT);
    assert_int_equal(at.statement.host, host);
}

static void let_it_be_late(enum elapse__statement_kind kind)
{
    expect(kind);
    at.now_ms = elapse__partition_next_ms(at.partition);
    elapse__partition_tick(at.partition, at.now_ms);
    assert_int_equal(figures_now().complaint, ELAPSE__COMPLAINT_LATE);
}

PARTITION_TEST(a_follower_whose_primary_was_slow_asks_it_first)
{
    connect_and_look();
    at.now_ms += LEASE_MS / 8;
    let_it_be_late(ELAPSE__STATEMENT_READ_ROW);
    expect_connect_to(0);
    struct elapse__statement_result result = good(0);
    give(&result);
    expect_good(ELAPSE__STATEMENT_SESSION, 1);
    let_it_be_late(ELAPSE__STATEMENT_READ_ROW); /* again, and nothing was well */
    expect_connect_to(1);
}

PARTITION_TEST(a_node_that_takes_over_asks_a_slow_primary_first)
{
    at.row.owner = "";
    connect_and_look();
    let_it_be_late(ELAPSE__STATEMENT_TAKE_OVER);
    assert_int_equal(role(), ELAPSE__ROLE_UNKNOWN);
    expect_connect_to(0);
}

/* ---- poolers: W6 ---- */

PARTITION_TEST(a_connection_through_a_pooler_is_not_used)
{
    expect(ELAPSE__STATEMENT_CONNECT);
    struct elapse__statement_result result = good(0);
    result.is_pooled = true;
    give(&result);
    assert_int_equal(figures_now().complaint, ELAPSE__COMPLAINT_POOLER);
    expect_nothing();
    at.now_ms += LEASE_MS;
    expect(ELAPSE__STATEMENT_CONNECT);
}

PARTITION_TEST(a_write_that_another_backend_did_is_unclear)
{
    own();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    expect(ELAPSE__STATEMENT_APPEND);
    struct elapse__statement_result result = good(1);
    result.is_pooled = true;
    give(&result);
    assert_int_equal(at.confirmed, 0);
    assert_int_equal(role(), ELAPSE__ROLE_UNKNOWN);
    assert_int_equal(figures_now().complaint, ELAPSE__COMPLAINT_POOLER);
}

/* ---- appends ---- */

PARTITION_TEST(an_unclear_append_waits_for_a_barrier)
{
    own();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    expect(ELAPSE__STATEMENT_APPEND);
    uint64_t hash = at.statement.hash;
    assert_int_equal(at.statement.group, 1);
    assert_int_equal(at.statement.previous_hash, 99);
    assert_int_equal(hash, elapse__chain_next(99, "group", 5));
    struct elapse__statement_result result = good(1);
    result.noticed = true;
    give(&result);
    assert_int_equal(role(), ELAPSE__ROLE_UNKNOWN);
    assert_int_equal(at.confirmed, 0);
    connect_and_look();
    at.row.beat += 2;
    at.row.last_group = 1;
    at.row.last_hash = hash;
    expect_good(ELAPSE__STATEMENT_BEAT, 1);
    assert_int_equal(at.confirmed, 1);
    assert_int_equal(role(), ELAPSE__ROLE_OWNING);
}

/* R10 */
PARTITION_TEST(a_group_whose_rows_are_gone_is_given_up)
{
    static const int64_t ids[] = {5, 9};
    static const char *const reasons[] = {NULL, "ERR why"};
    const struct elapse__partition_group group = {
        .bytes = "group", .size = 5, .inbox = ids, .inbox_reasons = reasons, .inbox_count = 2};
    own();
    remember();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    elapse__partition_submit(at.partition, &group);
    expect(ELAPSE__STATEMENT_APPEND);
    assert_int_equal(at.statement.inbox_count, 2);
    assert_ptr_equal(at.statement.inbox, ids);
    assert_ptr_equal(at.statement.inbox_reasons, reasons);
    struct elapse__statement_result result = good(0);
    result.outcome = ELAPSE__OUTCOME_MOVED;
    give(&result);
    assert_int_equal(at.fenced, 1);
    assert_int_equal(at.confirmed, 0);
    assert_int_equal(role(), ELAPSE__ROLE_FENCED);
    assert_int_equal(elapse__partition_answer_until_ms(at.partition), 0);
    expect_nothing();
    elapse__partition_aside(at.partition);
    connect_and_look();
    at.now_ms += LEASE_MS; /* nobody else wants it: it takes over from itself */
    expect(ELAPSE__STATEMENT_TAKE_OVER);
    at.row.epoch++;
    at.row.beat++;
    result = good(1);
    give(&result);
    assert_int_equal(role(), ELAPSE__ROLE_OWNING);
    assert_int_equal(at.owned_epoch, 2);
}

PARTITION_TEST(an_append_that_did_not_happen_is_sent_again)
{
    own();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    expect_outcome(ELAPSE__STATEMENT_APPEND, ELAPSE__OUTCOME_LOST);
    connect_and_look();
    at.row.beat++;
    expect_good(ELAPSE__STATEMENT_BEAT, 1);
    assert_int_equal(at.confirmed, 0);
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    expect_good(ELAPSE__STATEMENT_APPEND, 1);
    assert_int_equal(at.confirmed, 1);
}

PARTITION_TEST(a_barrier_without_a_row_fences)
{
    own();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    expect_good(ELAPSE__STATEMENT_APPEND, 0);
    expect_good(ELAPSE__STATEMENT_BEAT, 0);
    assert_int_equal(role(), ELAPSE__ROLE_FENCED);
    assert_int_equal(at.fenced, 1);
    expect_nothing();
    elapse__partition_aside(at.partition);
    assert_int_equal(role(), ELAPSE__ROLE_FOLLOWING);
    expect(ELAPSE__STATEMENT_CONNECT);
}

PARTITION_TEST(a_late_result_is_ignored)
{
    own();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    expect(ELAPSE__STATEMENT_APPEND);
    struct elapse__statement_result late = good(1);
    at.now_ms = elapse__partition_next_ms(at.partition) - 1;
    elapse__partition_tick(at.partition, at.now_ms);
    assert_int_equal(role(), ELAPSE__ROLE_OWNING);
    at.now_ms++;
    elapse__partition_tick(at.partition, at.now_ms);
    assert_int_equal(role(), ELAPSE__ROLE_UNKNOWN);
    expect(ELAPSE__STATEMENT_CONNECT);
    give(&late);
    assert_int_equal(at.confirmed, 0);
}

PARTITION_TEST(a_row_that_is_blocked_is_freed)
{
    own();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    expect_outcome(ELAPSE__STATEMENT_APPEND, ELAPSE__OUTCOME_LOCKED);
    expect_good(ELAPSE__STATEMENT_TERMINATE, 0);
    expect_good(ELAPSE__STATEMENT_APPEND, 1);
    assert_int_equal(at.confirmed, 1);
}

PARTITION_TEST(handing_over_waits_for_the_group)
{
    own();
    remember();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    expect(ELAPSE__STATEMENT_APPEND);
    elapse__partition_hand_over(at.partition, at.now_ms);
    assert_int_equal(role(), ELAPSE__ROLE_OWNING);
    struct elapse__statement_result result = good(1);
    give(&result);
    assert_int_equal(at.confirmed, 1);
    expect(ELAPSE__STATEMENT_RELEASE);
    assert_int_equal(elapse__partition_answer_until_ms(at.partition), 0);
    result = good(1);
    give(&result);
    assert_int_equal(role(), ELAPSE__ROLE_ENDED);
    assert_int_equal(elapse__partition_next_ms(at.partition), UINT64_MAX);
}

PARTITION_TEST(handing_over_ends_without_the_database)
{
    own();
    expect(ELAPSE__STATEMENT_MAKE_TABLE);
    elapse__partition_hand_over(at.partition, at.now_ms);
    at.now_ms += LEASE_MS / 3;
    elapse__partition_tick(at.partition, at.now_ms);
    assert_int_equal(role(), ELAPSE__ROLE_ENDED);
}

/* ---- what must not go on ---- */

PARTITION_TEST(stops_without_a_row)
{
    expect_good(ELAPSE__STATEMENT_CONNECT, 0);
    expect_good(ELAPSE__STATEMENT_SESSION, 1);
    expect_good(ELAPSE__STATEMENT_READ_ROW, 0);
    assert_int_equal(at.stop, ELAPSE__STOP_NO_ROW);
    expect_nothing();
}

/* R13 */
PARTITION_TEST(stops_where_a_table_or_a_right_is_missing)
{
    expect_good(ELAPSE__STATEMENT_CONNECT, 0);
    expect_good(ELAPSE__STATEMENT_SESSION, 1);
    expect_outcome(ELAPSE__STATEMENT_READ_ROW, ELAPSE__OUTCOME_REFUSED);
    assert_int_equal(at.stop, ELAPSE__STOP_REFUSED);
    assert_int_equal(role(), ELAPSE__ROLE_STOPPED);
    expect_nothing();
}

PARTITION_TEST(an_owner_whose_table_is_missing_stops)
{
    own();
    remember();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    expect_outcome(ELAPSE__STATEMENT_APPEND, ELAPSE__OUTCOME_REFUSED);
    assert_int_equal(at.stop, ELAPSE__STOP_REFUSED);
    assert_int_equal(at.confirmed, 0);
    assert_int_equal(elapse__partition_answer_until_ms(at.partition), 0);
    expect_nothing();
}

PARTITION_TEST(sessions_that_may_not_be_ended_stop_nobody)
{
    own();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    expect_outcome(ELAPSE__STATEMENT_APPEND, ELAPSE__OUTCOME_LOCKED);
    expect_outcome(ELAPSE__STATEMENT_TERMINATE, ELAPSE__OUTCOME_REFUSED);
    assert_int_equal(at.stop, ELAPSE__STOP_NONE);
    assert_int_equal(role(), ELAPSE__ROLE_UNKNOWN);
}

PARTITION_TEST(a_node_that_cannot_hand_over_ends)
{
    own();
    elapse__partition_hand_over(at.partition, at.now_ms);
    expect_outcome(ELAPSE__STATEMENT_RELEASE, ELAPSE__OUTCOME_REFUSED);
    assert_int_equal(at.stop, ELAPSE__STOP_NONE);
    assert_int_equal(role(), ELAPSE__ROLE_ENDED);
}

/* A follower whose row says that there are five groups reads the log, and gets none. */
static void follow_and_miss(void)
{
    at.row.last_group = 5;
    connect_and_look();
    expect_good(ELAPSE__STATEMENT_READ_LOG, 0);
    assert_int_equal(at.stop, ELAPSE__STOP_NONE);
}

PARTITION_TEST(stops_where_the_log_lacks_what_the_row_has)
{
    follow_and_miss();
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    assert_int_equal(at.stop, ELAPSE__STOP_BROKEN_LOG);
    expect_nothing();
}

PARTITION_TEST(what_was_trimmed_meanwhile_is_not_missing)
{
    follow_and_miss();
    at.row.tail = 3;
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    assert_int_equal(at.stop, ELAPSE__STOP_NONE);
    assert_int_equal(at.rebuilt, 1);
    expect(ELAPSE__STATEMENT_READ_LOG);
    assert_int_equal(at.statement.group, 3);
}

PARTITION_TEST(another_server_may_have_what_is_missing)
{
    follow_and_miss();
    expect_outcome(ELAPSE__STATEMENT_READ_ROW, ELAPSE__OUTCOME_LOST);
    at.now_ms += LEASE_MS / 10;
    connect_and_look();
    assert_int_equal(at.stop, ELAPSE__STOP_NONE);
    expect(ELAPSE__STATEMENT_READ_LOG);
}

/* A log that is read on a connection whose row was not seen yet may be older than the row. */
PARTITION_TEST(each_connection_reads_the_row_before_the_log)
{
    at.row.last_group = 5;
    connect_and_look();
    expect_outcome(ELAPSE__STATEMENT_READ_LOG, ELAPSE__OUTCOME_LOST);
    at.now_ms += LEASE_MS / 10;
    expect_good(ELAPSE__STATEMENT_CONNECT, 0);
    expect_good(ELAPSE__STATEMENT_SESSION, 1);
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    assert_int_equal(at.stop, ELAPSE__STOP_NONE);
    expect(ELAPSE__STATEMENT_READ_LOG);
}

PARTITION_TEST(stops_at_another_lease)
{
    at.row.lease_ms = LEASE_MS + 1;
    connect_and_look();
    assert_int_equal(at.stop, ELAPSE__STOP_LEASE);
}

PARTITION_TEST(stops_when_an_epoch_is_lost)
{
    elapse__partition_free(at.partition);
    struct elapse__partition_options options = options_of();
    options.memory.epoch = options.memory.seen_epoch = 5;
    begin_with(&options);
    at.row.epoch = 4;
    connect_and_look();
    expect_confirmed_mark(5, 0);
}

/* One group above the durable ones may go back. It is no loss. */
PARTITION_TEST(builds_again_when_the_last_group_went_back)
{
    elapse__partition_free(at.partition);
    struct elapse__partition_options options = options_of();
    options.confirmed = (struct elapse__partition_log_place){4, 44};
    options.local = (struct elapse__partition_log_place){5, 55};
    begin_with(&options);
    at.row.last_group = 4;
    at.row.last_hash = 44;
    connect_and_look();
    assert_int_equal(at.stop, ELAPSE__STOP_NONE);
    assert_int_equal(at.rebuilt, 1);
    expect(ELAPSE__STATEMENT_READ_LOG);
    assert_int_equal(at.statement.group, 1);
}

PARTITION_TEST(stops_when_a_durable_group_went_back)
{
    begin_with_five_groups();
    at.row.epoch = 2;
    at.row.last_group = 4;
    at.row.last_hash = 44;
    connect_and_look();
    expect_confirmed_mark(2, 5);
}

/* ---- tables ---- */

/* Owns a log with two tables that are full and a third one. */
static void own_tables(void)
{
    elapse__partition_free(at.partition);
    struct elapse__partition_options options = options_of();
    const uint64_t last = 2 * ELAPSE__LOG_TABLE_GROUPS + 2;
    options.confirmed = options.local = (struct elapse__partition_log_place){last, 55};
    begin_with(&options);
    at.row.last_group = last;
    at.row.last_hash = 55;
    own();
    assert_int_equal(role(), ELAPSE__ROLE_OWNING);
    expect_nothing();
}

/* A tail in the middle of a table frees nothing: it waits for the beat. */
PARTITION_TEST(a_table_is_dropped_without_waiting_for_the_beat)
{
    own_tables();
    elapse__partition_trim(at.partition, ELAPSE__LOG_TABLE_GROUPS - 1);
    expect_nothing();
    elapse__partition_trim(at.partition, ELAPSE__LOG_TABLE_GROUPS);
    expect(ELAPSE__STATEMENT_BEAT);
    assert_int_equal(at.statement.tail, ELAPSE__LOG_TABLE_GROUPS);
    at.row.beat++;
    at.row.tail = ELAPSE__LOG_TABLE_GROUPS;
    struct elapse__statement_result result = good(1);
    give(&result);
    expect_good(ELAPSE__STATEMENT_DROP_TABLES, 1);
    assert_int_equal(at.statement.table, 1);
    expect_nothing();
    elapse__partition_trim(at.partition, ELAPSE__LOG_TABLE_GROUPS + 1);
    expect_nothing();
}

/* ---- databases ---- */

PARTITION_TEST(tries_the_next_host)
{
    expect(ELAPSE__STATEMENT_CONNECT);
    assert_int_equal(at.statement.host, 0);
    struct elapse__statement_result result = good(0);
    result.outcome = ELAPSE__OUTCOME_LOST;
    give(&result);
    expect_nothing();
    at.now_ms = elapse__partition_next_ms(at.partition);
    expect(ELAPSE__STATEMENT_CONNECT);
    assert_int_equal(at.statement.host, 1);
}

PARTITION_TEST(a_database_without_standbys_needs_consent)
{
    at.settings.standby_names = " ";
    expect_good(ELAPSE__STATEMENT_CONNECT, 0);
    expect_good(ELAPSE__STATEMENT_SESSION, 1);
    expect_nothing();
    elapse__partition_free(at.partition);
    struct elapse__partition_options options = options_of();
    options.single_copy = true;
    begin_with(&options);
    at.settings.standby_names = "";
    own();
    assert_int_equal(at.owned_epoch, 1);
}

PARTITION_TEST(judges_settings)
{
    struct elapse__partition_settings settings = {"ANY 1 (a, b)", "on", 1, 0, 0};
    assert_int_equal(elapse__trust_settings(&settings, false), ELAPSE__COMPLAINT_NONE);
    settings.commit = "remote_apply";
    assert_int_equal(elapse__trust_settings(&settings, false), ELAPSE__COMPLAINT_NONE);
    settings.commit = "remote_write";
    assert_int_equal(elapse__trust_settings(&settings, false), ELAPSE__COMPLAINT_COMMIT_IS_WEAK);
    assert_int_equal(elapse__trust_settings(&settings, true), ELAPSE__COMPLAINT_NONE);
    settings.commit = "off";
    assert_int_equal(elapse__trust_settings(&settings, true), ELAPSE__COMPLAINT_COMMIT_IS_WEAK);
    settings = (struct elapse__partition_settings){"", "on", 1, 0, 0};
    assert_int_equal(elapse__trust_settings(&settings, false), ELAPSE__COMPLAINT_NO_STANDBY);
}

PARTITION_TEST(judges_sessions)
{
    struct elapse__partition_session session = {.system_identifier = 7, .timeline = 3};
    assert_int_equal(elapse__trust_session(&session, 0, 0), ELAPSE__COMPLAINT_NONE);
    assert_int_equal(elapse__trust_session(&session, 7, 3), ELAPSE__COMPLAINT_NONE);
    assert_int_equal(elapse__trust_session(&session, 7, 4), ELAPSE__COMPLAINT_OLD_TIMELINE);
    assert_int_equal(elapse__trust_session(&session, 8, 1), ELAPSE__COMPLAINT_OTHER_SYSTEM);
    session.in_recovery = true;
    assert_int_equal(elapse__trust_session(&session, 0, 0), ELAPSE__COMPLAINT_IN_RECOVERY);
}

PARTITION_TEST(chains_differ_by_what_comes_before)
{
    uint8_t identity[ELAPSE__CHAIN_IDENTITY_BYTES] = {1};
    uint64_t genesis = elapse__chain_genesis(identity, 0);
    assert_int_not_equal(genesis, elapse__chain_genesis(identity, 1));
    identity[15] = 1;
    assert_int_not_equal(genesis, elapse__chain_genesis(identity, 0));
    assert_int_not_equal(elapse__chain_next(1, "a", 1), elapse__chain_next(2, "a", 1));
    assert_int_not_equal(elapse__chain_next(1, "a", 1), elapse__chain_next(1, "b", 1));
}

PARTITION_TEST(a_beat_that_shows_a_shorter_log_ends_the_owner)
{
    own();
    expect_good(ELAPSE__STATEMENT_MAKE_TABLE, 0);
    submit();
    expect_good(ELAPSE__STATEMENT_APPEND, 1);
    assert_int_equal(at.confirmed, 1);
    at.now_ms += LEASE_MS / 4;
    at.row.beat++; /* and the row still ends before the group */
    expect_good(ELAPSE__STATEMENT_BEAT, 1);
    assert_int_equal(role(), ELAPSE__ROLE_MARKING);
}

PARTITION_TEST(a_log_that_forks_below_the_durable_groups_has_lost_them)
{
    begin_with_five_groups();
    at.row.last_group = 6;
    at.row.last_hash = 66;
    connect_and_look();
    expect(ELAPSE__STATEMENT_READ_LOG);
    struct elapse__partition_log_row log = {
        .group = 6, .epoch = 2, .hash_of_previous = 99, .bytes = "a", .size = 1};
    struct elapse__statement_result result = good(1);
    result.log = &log;
    give(&result);
    assert_int_equal(role(), ELAPSE__ROLE_MARKING);
    assert_int_equal(at.rebuilt, 0);
}

TEST_MAIN("partition")
