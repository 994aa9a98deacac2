/*
 * Tests for which partitions a node without a copy comes as a guest: the rules N1 to N6 of
 * guests.h.
 */
#include <stdio.h>
#include <string.h>

/* <cmocka.h> needs these headers before it. */
#include "../../../src/cluster/ownership/guests.h"
#include "../../support/test.h"

enum {
    NODES = 5,
    PARTITIONS = 5,
    LEASE_MS = 1000,
    LOOK_MS = 100,
    ME = 2,
    TRIAL_MS = 10 * LEASE_MS
};

static struct elapse__balance_node nodes[NODES];
static struct elapse__balance_partition partitions[PARTITIONS];
static bool ready[NODES][PARTITIONS];
static struct elapse__balance_view view;
static struct elapse__watch rows[PARTITIONS];
static struct elapse__guests guests;
static bool is_written[PARTITIONS]; /* the owner renews its lease */
static bool comes[PARTITIONS], is_same[PARTITIONS];
static uint64_t now_ms;

static void look(uint64_t ms)
{
    const struct elapse__guests_look seen = {&view, rows, ME, LEASE_MS, now_ms + ms};

    now_ms += ms;
    for (uint32_t i = 0; i < view.partition_count; i++) {
        partitions[i].row.beat += is_written[i];
        is_same[i] = rows[i].beat == partitions[i].row.beat;
        elapse__watch_take(&rows[i], &view, &partitions[i].row, now_ms);
    }
    elapse__guests_take(&guests, &seen);
    for (uint32_t i = 0; i < view.partition_count; i++)
        comes[i] = elapse__guests_comes(&guests, &seen, i, comes[i] && is_same[i]);
}

static void look_for(uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i += LOOK_MS)
        look(LOOK_MS);
}

static unsigned count(void)
{
    unsigned partition_count = 0;

    for (uint32_t i = 0; i < view.partition_count; i++)
        partition_count += comes[i];
    return partition_count;
}

/* Node 0 owns all, and node 1 follows. This node and the others have no copy. */
static int set_up(void **state)
{
    (void)state;
    memset(nodes, 0, sizeof nodes);
    memset(ready, 0, sizeof ready);
    memset(rows, 0, sizeof rows);
    memset(comes, 0, sizeof comes);
    guests = (struct elapse__guests){.is_served = false};
    for (int i = 0; i < NODES; i++) {
        (void)snprintf(nodes[i].name, sizeof nodes[i].name, "node%d", i);
        nodes[i].lives = true;
        nodes[i].ready = ready[i];
    }
    memset(ready[0], 1, sizeof ready[0]);
    memset(ready[1], 1, sizeof ready[1]);
    for (int i = 0; i < PARTITIONS; i++) {
        is_written[i] = true;
        partitions[i] = (struct elapse__balance_partition){
            .preferred = -1,
            .target = -1,
            .replica_count = 2,
            .replicas = {0, 1},
            .row = {.epoch = 3, .beat = 1, .last_group = 7},
        };
    }
    view = (struct elapse__balance_view){.nodes = nodes,
                                         .node_count = NODES,
                                         .partitions = partitions,
                                         .partition_count = PARTITIONS,
                                         .timeline = 1,
                                         .system_identifier = 7,
                                         .has_lists = true};
    now_ms = 1000;
    look_for(5 * LEASE_MS);
    return 0;
}

/* Nobody can write: owners have complaints, and no row changes. */
static void withhold(void)
{
    memset(is_written, 0, sizeof is_written);
    memset(ready, 0, sizeof ready);
}

static void give_back(uint32_t partition)
{
    is_written[partition] = true;
    ready[0][partition] = ready[1][partition] = true;
}

static void kill_members(void)
{
    memset(is_written, 0, sizeof is_written);
    nodes[0].lives = nodes[1].lives = false;
}

#define GUESTS_TEST(function) TEST_WITH(function, set_up, NULL)

GUESTS_TEST(nobody_comes_while_owners_write)
{
    look_for(20 * LEASE_MS);
    assert_int_equal(count(), 0);
}

/* No standby confirms, or the rows are locked. */
GUESTS_TEST(a_database_that_takes_no_writes_calls_no_guest)
{
    withhold();
    look_for(TRIAL_MS + LEASE_MS);
    assert_int_equal(count(), 0);
    for (uint32_t i = 0; i < PARTITIONS; i++) { /* one owner after the other goes on */
        give_back(i);
        look_for(LEASE_MS / 5);
        assert_int_equal(count(), 0);
    }
    look_for(20 * LEASE_MS);
    assert_int_equal(count(), 0);
}

/* A commit that waits for a standby shows its row when somebody ends its session. */
GUESTS_TEST(rows_that_change_without_an_owner_that_is_ready_show_nothing)
{
    withhold();
    for (unsigned i = 0; i < 3 * 4; i++) {
        partitions[i % 2].row.beat++;
        look_for(LEASE_MS / 2);
        assert_int_equal(count(), 0);
    }
}

/* Its thread hangs: what it says of itself does not change. */
GUESTS_TEST(an_owner_that_is_ready_and_writes_nothing_shows_nothing)
{
    memset(is_written, 0, sizeof is_written);
    look_for(TRIAL_MS);
    assert_int_equal(count(), 0);
}

/* N4 */
GUESTS_TEST(one_partition_is_tried_while_none_is_served)
{
    withhold();
    is_written[0] = true; /* somebody ends the owner's sessions */
    look_for(TRIAL_MS + 6 * LEASE_MS);
    assert_int_equal(count(), 1);
    uint32_t tried = guests.trial;
    assert_true(comes[tried]);
    is_written[0] = false;
    for (unsigned i = 0; i < 3; i++) { /* it stays the only one, also in other sessions */
        for (uint32_t j = 0; j < PARTITIONS; j++)
            elapse__watch_connect(&rows[j]);
        elapse__guests_connect(&guests);
        look_for(2 * TRIAL_MS);
        assert_int_equal(count(), 1);
        assert_true(comes[tried]);
    }
    is_written[tried] = true; /* its owner is the first one that goes on, and is not ready yet */
    look_for(LEASE_MS);
    assert_int_equal(count(), 0);
    withhold();
    look_for(TRIAL_MS - LEASE_MS);
    assert_int_equal(count(), 0);
    look_for(LEASE_MS);
    assert_int_equal(count(), 1);
}

/* N4, N3: the owner and the follower live, and are stuck. */
GUESTS_TEST(a_trial_that_succeeds_calls_guests_to_the_others)
{
    withhold();
    look_for(TRIAL_MS + 6 * LEASE_MS);
    uint32_t tried = guests.trial;
    partitions[tried].owner = ME;
    ready[ME][tried] = is_written[tried] = true;
    look_for(LEASE_MS);
    assert_int_equal(count(), 0);
    look_for(4 * LEASE_MS);
    assert_int_equal(count(), PARTITIONS - 1);
    assert_false(comes[tried]);
}

/* N2: no other partition can show anything. */
GUESTS_TEST(the_only_partition_of_a_queue_is_taken_when_its_nodes_are_dead)
{
    view.partition_count = 1;
    kill_members();
    look_for(2 * LEASE_MS - LOOK_MS);
    assert_int_equal(count(), 0);
    look_for(LEASE_MS);
    assert_int_equal(count(), 1);
}

GUESTS_TEST(the_only_partition_of_a_queue_is_tried_when_its_nodes_are_stuck)
{
    view.partition_count = 1;
    withhold();
    nodes[0].lives = false;
    look_for(TRIAL_MS);
    assert_int_equal(count(), 0);
    look_for(6 * LEASE_MS);
    assert_int_equal(count(), 1);
}

GUESTS_TEST(a_partition_without_an_owner_and_living_members_is_taken)
{
    kill_members();
    for (uint32_t i = 0; i < PARTITIONS; i++)
        partitions[i].owner = -1;
    look_for(6 * LEASE_MS);
    assert_int_equal(count(), PARTITIONS);
}

/* This node owned the partition before it lost its disk. It is no member. */
GUESTS_TEST(an_earlier_life_of_this_node_is_no_heir)
{
    kill_members();
    for (uint32_t i = 0; i < PARTITIONS; i++)
        partitions[i].owner = ME;
    look_for(6 * LEASE_MS);
    assert_int_equal(count(), PARTITIONS);
}

/* This one is the first guest of the partitions 0 to 2, the second one of 4, and the third one
 * of 3.
 */
GUESTS_TEST(guests_come_one_lease_after_the_other)
{
    static const unsigned counts[] = {0, 3, 4, 5};

    kill_members();
    look_for(LEASE_MS / 2);
    for (unsigned i = 0; i < 4; i++) {
        look_for(LEASE_MS);
        assert_int_equal(count(), counts[i]);
    }
}

/* N3 */
GUESTS_TEST(a_partition_that_stands_still_alone_is_taken)
{
    is_written[1] = ready[0][1] = ready[1][1] = false;
    look_for(2 * LEASE_MS - LOOK_MS);
    assert_int_equal(count(), 0);
    look_for(4 * LEASE_MS);
    assert_int_equal(count(), 1);
    assert_true(comes[1]);
}

/* N5 */
GUESTS_TEST(a_guest_stays_until_the_row_changes)
{
    is_written[1] = ready[0][1] = ready[1][1] = false;
    look_for(6 * LEASE_MS);
    withhold();
    look_for(5 * LEASE_MS);
    assert_true(comes[1]);
    for (uint32_t j = 0; j < PARTITIONS; j++)
        elapse__watch_connect(&rows[j]);
    elapse__guests_connect(&guests);
    look_for(LEASE_MS);
    assert_true(comes[1]);
    partitions[1].row.beat++;
    look(LOOK_MS);
    assert_false(comes[1]);
}

/* N1, N6 */
GUESTS_TEST(a_lost_witness_calls_at_once_unless_the_partition_is_stopped)
{
    rows[1].is_lost = true;
    look(LOOK_MS);
    assert_int_equal(count(), 1);
    assert_true(comes[1]);
    partitions[1].is_stopped = true;
    look(LOOK_MS);
    assert_int_equal(count(), 0);
}

/* N6 */
GUESTS_TEST(a_member_is_no_guest)
{
    kill_members();
    partitions[1].replicas[1] = ME;
    partitions[0].is_stopped = true;
    look_for(6 * LEASE_MS);
    assert_int_equal(count(), PARTITIONS - 2);
    assert_false(comes[0] || comes[1]);
}

TEST_MAIN("guests")
