/*
 * Tests how long a partition waits in four cases: for a statement, for a host, for the database
 * when the partition hands over, and as a guest.
 */
#include "partition_support.h"

/* A statement is given up after half a lease at most, so that an owner whose connection hangs keeps
 * its partition; after a second at least, from leases of 2 s on. */
PARTITION_TEST(a_statement_has_half_the_lease)
{
    static const uint32_t leases_ms[] = {100, 1000, 1999, 2000, 3000, 10000};
    struct elapse__statement statement;

    for (size_t i = 0; i < sizeof leases_ms / sizeof *leases_ms; i++) {
        struct elapse__partition_options options = options_of();
        options.lease_ms = leases_ms[i];
        struct elapse__partition *partition = elapse__partition_new(&options, 0);
        assert_true(elapse__partition_next(partition, 0, &statement));
        uint64_t limit_ms = elapse__partition_next_ms(partition);
        assert_true(limit_ms <= leases_ms[i] / 2);
        assert_true(leases_ms[i] < 2000 || limit_ms >= 1000);
        elapse__partition_free(partition);
    }
}

/* R11: an owner asks its primary, which was well, twice, and another host that does not answer
 * once. Of the two leases until others may take over at the third host, a quarter is left. */
PARTITION_TEST(an_owner_reaches_the_third_host_in_time_to_mark_lost_groups)
{
    struct elapse__partition_options options = options_of();
    options.hosts = 3;
    elapse__partition_free(at.partition);
    begin_with(&options);
    own();
    submit();
    expect(ELAPSE__STATEMENT_MAKE_TABLE);
    uint64_t begun_ms = at.now_ms;
    unsigned tries = 0;
    do {
        at.now_ms = elapse__partition_next_ms(at.partition);
        elapse__partition_tick(at.partition, at.now_ms);
        at.now_ms = elapse__partition_next_ms(at.partition);
        expect(ELAPSE__STATEMENT_CONNECT);
        tries++;
    } while (at.statement.host != 2);
    assert_int_equal(tries, 3);
    assert_true(at.now_ms - begun_ms <= 2 * LEASE_MS - LEASE_MS / 4);
}

/* A node that has only just asked for the partition keeps nobody waiting. */
PARTITION_TEST(handing_over_before_it_owned_ends_soon)
{
    struct elapse__partition_options options = options_of();
    options.lease_ms = 60000;
    elapse__partition_free(at.partition);
    begin_with(&options);
    at.row.owner = "";
    at.row.lease_ms = options.lease_ms;
    connect_and_look();
    expect(ELAPSE__STATEMENT_TAKE_OVER);
    elapse__partition_hand_over(at.partition, at.now_ms);
    assert_true(elapse__partition_next_ms(at.partition) <= at.now_ms + 500);
    at.now_ms = elapse__partition_next_ms(at.partition);
    elapse__partition_tick(at.partition, at.now_ms);
    assert_int_equal(role(), ELAPSE__ROLE_ENDED);
}

/* ---- guests ---- */

/* Reads the log of a dead owner, and takes over when it lacks no more than 64 groups. */
PARTITION_TEST(a_guest_reads_the_log_before_it_takes_over)
{
    struct elapse__partition_log_row log[2];
    struct elapse__partition_options options = options_of();
    options.is_guest = true;
    options.witness = (struct elapse__partition_witness){.system_identifier = 7, .timeline = 3};
    elapse__partition_free(at.partition);
    begin_with(&options);
    at.row.last_group = 66;
    connect_and_look();
    at.now_ms += LEASE_MS;
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    expect(ELAPSE__STATEMENT_READ_LOG);
    uint64_t hash = 99;
    for (uint64_t i = 0; i < 2; i++) {
        log[i] = (struct elapse__partition_log_row){i + 1, 1, hash, "a", 1};
        hash = elapse__chain_next(hash, "a", 1);
    }
    struct elapse__statement_result result = good(1);
    result.log = log;
    give(&result);
    expect(ELAPSE__STATEMENT_READ_LOG);
    assert_int_equal(at.statement.group, 2);
    result = good(1);
    result.log = &log[1];
    give(&result);
    expect(ELAPSE__STATEMENT_TAKE_OVER);
}

/* Perhaps a server was just promoted, and a node that knows of lost groups needs time to mark them.
 */
PARTITION_TEST(a_guest_is_wary_of_a_timeline_that_it_does_not_know)
{
    struct elapse__partition_options options = options_of();
    options.is_guest = true;
    elapse__partition_free(at.partition);
    begin_with(&options);
    uint64_t begun_ms = at.now_ms;
    at.row.owner = "";
    connect_and_look();
    while (at.now_ms < begun_ms + 2 * LEASE_MS - 1) {
        at.now_ms = elapse__partition_next_ms(at.partition);
        if (at.now_ms < begun_ms + 2 * LEASE_MS)
            expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
    }
    assert_int_equal(role(), ELAPSE__ROLE_FOLLOWING);
    at.now_ms = begun_ms + 2 * LEASE_MS;
    expect(ELAPSE__STATEMENT_TAKE_OVER);
}

TEST_MAIN("patience")
