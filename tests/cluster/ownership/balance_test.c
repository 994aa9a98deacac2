/*
 * Tests which partition moves to which node: the rules B1 to B7 of balance.h.
 */
#include <stdio.h>
#include <string.h>

/* <cmocka.h> needs these headers before it. */
#include "../../../src/cluster/ownership/balance.h"
#include "../../support/test.h"

enum { NODES = 3, PARTITIONS = 6, LEASE_MS = 1000, AFTER_MS = 60000 };

static struct elapse__balance_node nodes[NODES];
static struct elapse__balance_partition partitions[PARTITIONS];
static bool ready[NODES][PARTITIONS];
static struct elapse__balance_view view;
static struct elapse__balance balance;
static struct elapse__balance_options options;
static struct elapse__balance_move move;
static uint64_t now_ms;

/* Node 0 owns all. All nodes live, and are ready for all partitions. */
static int set_up(void **state)
{
    (void)state;
    memset(nodes, 0, sizeof nodes);
    memset(partitions, 0, sizeof partitions);
    memset(ready, 1, sizeof ready);
    for (int i = 0; i < NODES; i++) {
        (void)snprintf(nodes[i].name, sizeof nodes[i].name, "node%d", i);
        nodes[i].lives = true;
        nodes[i].ready = ready[i];
    }
    for (int i = 0; i < PARTITIONS; i++)
        partitions[i] = (struct elapse__balance_partition){.preferred = -1, .target = -1};
    view = (struct elapse__balance_view){nodes, NODES, partitions, PARTITIONS, false,
                                         1,     7,     false,      false};
    balance = (struct elapse__balance){.is_uneven = false};
    options = (struct elapse__balance_options){LEASE_MS, AFTER_MS, true};
    now_ms = 1000;
    return 0;
}

static bool next(void)
{
    elapse__balance_count(&view);
    return elapse__balance_next(&balance, &view, &options, now_ms, &move);
}

static void expect(uint32_t partition, int target)
{
    assert_true(next());
    assert_int_equal(move.partition, partition);
    assert_int_equal(move.target, target);
}

static void set_target(uint32_t partition, int target)
{
    partitions[partition].has_target = target >= 0;
    partitions[partition].target = target;
}

/* Lets the target own the partition. */
static void finish(void)
{
    uint32_t partition = move.partition;

    set_target(partition, move.target);
    partitions[partition].owner = move.target;
    expect(partition, -1);
    set_target(partition, -1);
}

#define BALANCE_TEST(function) TEST_WITH(function, set_up, NULL)

BALANCE_TEST(counts_that_stay_uneven_are_evened)
{
    assert_false(next());
    now_ms += AFTER_MS - 1;
    assert_false(next());
    now_ms++;
    unsigned moves = 0;
    for (; next() && moves < 10; moves++) {
        assert_true(move.partition > 0); /* the balancer's own comes last */
        finish();
        now_ms += ELAPSE__BALANCE_PAUSE_MS;
    }
    assert_int_equal(moves, 4);
    for (int i = 0; i < NODES; i++)
        assert_int_equal(nodes[i].owns, 2);
}

BALANCE_TEST(counts_that_differ_by_one_are_even)
{
    partitions[1].owner = partitions[2].owner = 1;
    partitions[3].owner = 2;
    partitions[4].owner = 2;
    partitions[5].owner = 1; /* 1, 3, 2 */
    partitions[5].owner = 0; /* 2, 2, 2 */
    view.partition_count = 5;
    for (int i = 0; i < 5; i++) {
        assert_false(next());
        now_ms += AFTER_MS;
    }
}

BALANCE_TEST(counts_that_are_even_for_a_moment_begin_anew)
{
    assert_false(next());
    now_ms += AFTER_MS - 1;
    for (uint32_t i = 0; i < PARTITIONS; i++)
        partitions[i].owner = (int)(i % NODES);
    assert_false(next());
    for (uint32_t i = 0; i < PARTITIONS; i++)
        partitions[i].owner = 0;
    now_ms++;
    assert_false(next());
    now_ms += AFTER_MS;
    assert_true(next());
}

/* Counts that were uneven before a node drained, and are uneven again afterwards, begin anew. */
BALANCE_TEST(counts_are_looked_at_while_a_node_drains)
{
    assert_false(next());
    now_ms += AFTER_MS;
    for (uint32_t i = 0; i < PARTITIONS; i++)
        partitions[i].owner = (int)(i % NODES);
    nodes[2].drains = true;
    for (unsigned i = 0; i < 2; i++) {
        assert_true(next());
        finish();
        now_ms += ELAPSE__BALANCE_PAUSE_MS;
    }
    nodes[2].drains = false; /* 3, 3, 0 */
    assert_false(next());
    now_ms += AFTER_MS - 1;
    assert_false(next());
    now_ms++;
    assert_true(next());
}

/* B1, and B3: one at a time, and a second between two. */
BALANCE_TEST(one_partition_moves_at_a_time)
{
    options.balance_after_ms = 0;
    assert_true(next());
    set_target(move.partition, move.target);
    now_ms += 2 * ELAPSE__BALANCE_PAUSE_MS;
    assert_false(next());
    finish();
    assert_true(next());
    finish();
    assert_false(next()); /* no second has passed */
    now_ms += ELAPSE__BALANCE_PAUSE_MS;
    assert_true(next());
}

/* B1: a target that does not come true is taken away, and nothing moves for a while. */
BALANCE_TEST(a_target_that_does_not_come_true_is_taken_away)
{
    options.balance_after_ms = 0;
    set_target(3, 1);
    assert_false(next());
    now_ms += 3 * LEASE_MS - 1;
    assert_false(next());
    now_ms++;
    expect(3, -1);
    set_target(3, -1);
    now_ms += 6 * LEASE_MS - 1;
    assert_false(next());
    now_ms++;
    assert_true(next());
}

BALANCE_TEST(a_target_that_cannot_own_is_taken_away)
{
    set_target(3, 1);
    assert_false(next());
    ready[1][3] = false;
    expect(3, -1);
    ready[1][3] = true;
    nodes[1].lives = false;
    expect(3, -1);
    nodes[1].lives = true;
    nodes[1].drains = true;
    expect(3, -1);
    nodes[1].drains = false;
    assert_false(next());
    partitions[3].is_stopped = true;
    expect(3, -1);
    partitions[3].is_stopped = false;
    view.is_paused = true;
    expect(3, -1);
    view.is_paused = false;
    partitions[3].target = -1; /* a node that is not known */
    expect(3, -1);
}

/* B2 */
BALANCE_TEST(only_a_node_that_lives_and_is_ready_is_chosen)
{
    options.balance_after_ms = 0;
    nodes[1].lives = false;
    memset(ready[2], 0, sizeof ready[2]);
    assert_false(next());
    ready[2][4] = true;
    expect(4, 2);
    now_ms += ELAPSE__BALANCE_PAUSE_MS;
    nodes[2].drains = true;
    assert_false(next());
}

/* B3 */
BALANCE_TEST(nothing_moves_while_moves_are_paused_or_the_view_is_not_calm)
{
    options.balance_after_ms = 0;
    partitions[2].is_preferred = true;
    partitions[2].preferred = 2;
    nodes[0].drains = true;
    view.is_paused = true;
    assert_false(next());
    view.is_paused = false;
    options.is_calm = false;
    assert_false(next());
    options.is_calm = true;
    assert_true(next());
}

/* B4 */
BALANCE_TEST(what_an_operator_prefers_comes_first)
{
    nodes[0].drains = true;
    partitions[2].is_preferred = true;
    partitions[2].preferred = 2;
    expect(2, 2);
    finish();
    now_ms += ELAPSE__BALANCE_PAUSE_MS;
    expect(0, 1);
    now_ms += ELAPSE__BALANCE_PAUSE_MS;
    partitions[2].owner = 0;
    ready[2][2] = false;
    expect(0, 1);
}

BALANCE_TEST(a_node_that_drains_gives_all_away)
{
    nodes[0].drains = true;
    for (unsigned i = 0; i < PARTITIONS; i++) {
        assert_true(next());
        finish();
        now_ms += ELAPSE__BALANCE_PAUSE_MS;
    }
    assert_false(next());
    assert_int_equal(nodes[0].owns, 0);
    assert_int_equal(nodes[1].owns, 3);
    assert_int_equal(nodes[2].owns, 3);
}

/* B5 */
BALANCE_TEST(the_balance_waits_until_all_partitions_have_ready_owners)
{
    options.balance_after_ms = 0;
    partitions[5].owner = -1;
    assert_false(next());
    partitions[5].owner = 0;
    ready[0][5] = false;
    assert_false(next());
    ready[0][5] = true;
    partitions[5].is_stopped = true;
    assert_false(next());
    partitions[5].is_stopped = false;
    assert_true(next());
}

BALANCE_TEST(the_balance_moves_no_partition_that_an_operator_has_placed)
{
    options.balance_after_ms = 0;
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        partitions[i].is_preferred = i != 4;
        partitions[i].preferred = i != 4 ? 0 : -1;
    }
    expect(4, 1);
    finish();
    now_ms += ELAPSE__BALANCE_PAUSE_MS;
    assert_false(next());
}

/* B6 */
BALANCE_TEST(a_node_whose_clock_is_off_is_a_target_only_for_operators)
{
    options.balance_after_ms = 0;
    nodes[1].ahead_ms = ELAPSE__BALANCE_CLOCK_MS + 1;
    nodes[2].ahead_ms = -ELAPSE__BALANCE_CLOCK_MS - 1;
    assert_false(next());
    nodes[2].ahead_ms++;
    expect(5, 2);
    now_ms += ELAPSE__BALANCE_PAUSE_MS;
    partitions[3].is_preferred = true;
    partitions[3].preferred = 1;
    expect(3, 1);
}

/* The balancer writes the target that it has chosen, and takes it away, because nothing happens. */
static void fail_to_move(void)
{
    uint32_t partition = move.partition;

    set_target(partition, move.target);
    assert_false(next());
    now_ms += 3 * LEASE_MS;
    expect(partition, -1);
    set_target(partition, -1);
    now_ms += 6 * LEASE_MS;
}

/* B7 */
BALANCE_TEST(a_partition_that_cannot_move_keeps_no_node_from_draining)
{
    nodes[0].drains = true;
    expect(0, 1);
    fail_to_move();
    for (uint32_t i = 1; i < PARTITIONS; i++) {
        assert_true(next());
        assert_int_equal(move.partition, i);
        finish();
        now_ms += ELAPSE__BALANCE_PAUSE_MS;
    }
    assert_true(next()); /* it is tried again */
    assert_int_equal(move.partition, 0);
    fail_to_move();
    assert_true(next());
    assert_int_equal(move.partition, 0);
    finish();
    now_ms += ELAPSE__BALANCE_PAUSE_MS;
    assert_false(next());
}

/* B7 */
BALANCE_TEST(what_operators_prefer_in_vain_keeps_no_node_from_draining)
{
    for (unsigned i = 0; i < 2; i++) {
        partitions[i].is_preferred = true;
        partitions[i].preferred = 2;
        partitions[i + 4].owner = 1;
    }
    nodes[1].drains = true;
    expect(0, 2);
    fail_to_move();
    expect(1, 2);
    fail_to_move();
    for (uint32_t i = 4; i < PARTITIONS; i++) {
        assert_true(next());
        assert_int_equal(move.partition, i);
        finish();
        now_ms += ELAPSE__BALANCE_PAUSE_MS;
    }
    expect(0, 2);
    fail_to_move();
    expect(1, 2);
    finish();
    now_ms += ELAPSE__BALANCE_PAUSE_MS;
    expect(0, 2); /* it is the only one that is left */
}

/* B7: node 1 has the fewest, and only partitions 5 and 4 can go there. */
BALANCE_TEST(a_partition_that_cannot_move_does_not_keep_the_counts_uneven)
{
    options.balance_after_ms = 0;
    nodes[2].lives = false;
    for (unsigned i = 0; i < 4; i++)
        ready[1][i] = false;
    expect(5, 1);
    fail_to_move();
    expect(4, 1);
    finish();
    now_ms += ELAPSE__BALANCE_PAUSE_MS;
    expect(5, 1);
}

BALANCE_TEST(lives_belong_to_nodes)
{
    (void)snprintf(nodes[1].name, sizeof nodes[1].name, "a/b");
    assert_int_equal(elapse__balance_node_of(&view, "node0/00ff"), 0);
    assert_int_equal(elapse__balance_node_of(&view, "a/b/00ff"), 1);
    assert_int_equal(elapse__balance_node_of(&view, "a/00ff"), -1);
    assert_int_equal(elapse__balance_node_of(&view, "node01/00ff"), -1);
    assert_int_equal(elapse__balance_node_of(&view, ""), -1);
    assert_int_equal(elapse__balance_find(&view, "node2"), 2);
    assert_int_equal(elapse__balance_find(&view, ""), -1);
}

BALANCE_TEST(nodes_expect_the_target_as_the_next_owner)
{
    assert_int_equal(elapse__balance_expect(&view, 3, 1), ELAPSE__NEXT_OWNER_ANY);
    set_target(3, 1);
    assert_int_equal(elapse__balance_expect(&view, 3, 1), ELAPSE__NEXT_OWNER_HERE);
    assert_int_equal(elapse__balance_expect(&view, 3, 0), ELAPSE__NEXT_OWNER_THERE);
    nodes[1].lives = false;
    assert_int_equal(elapse__balance_expect(&view, 3, 0), ELAPSE__NEXT_OWNER_ANY);
}

BALANCE_TEST(a_node_that_drains_leaves_partitions_to_others_that_are_ready)
{
    nodes[1].drains = true;
    assert_int_equal(elapse__balance_expect(&view, 3, 1), ELAPSE__NEXT_OWNER_THERE);
    assert_int_equal(elapse__balance_expect(&view, 3, 2), ELAPSE__NEXT_OWNER_ANY);
    nodes[0].drains = true;
    ready[2][3] = false;
    assert_int_equal(elapse__balance_expect(&view, 3, 1), ELAPSE__NEXT_OWNER_ANY);
}

BALANCE_TEST(another_node_is_ready)
{
    assert_true(elapse__balance_has_other(&view, 3, 0));
    ready[1][3] = false;
    nodes[2].lives = false;
    assert_false(elapse__balance_has_other(&view, 3, 0));
    assert_true(elapse__balance_has_other(&view, 3, 1));
}

TEST_MAIN("balance")
