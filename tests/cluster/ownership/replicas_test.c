/*
 * Tests which nodes get a copy of which partition: the rules C1 to C9 of replicas.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* <cmocka.h> needs these headers before it. */
#include "../../../src/cluster/ownership/replicas.h"
#include "../../support/test.h"

enum { NODES = 4, PARTITIONS = 6, REPLACE_MS = 600000 };

static struct elapse__balance_node nodes[NODES];
static struct elapse__balance_partition partitions[PARTITIONS];
static bool ready[NODES][PARTITIONS];
static uint64_t unready_since[NODES][PARTITIONS];
static struct elapse__balance_view view;
static struct elapse__replicas_options options;
static struct elapse__replicas_change change;

/* Node 0 owns all, and there are no lists. All nodes live, and are ready for all partitions. */
static int set_up(void **state)
{
    (void)state;
    memset(nodes, 0, sizeof nodes);
    memset(partitions, 0, sizeof partitions);
    memset(ready, 1, sizeof ready);
    memset(unready_since, 0, sizeof unready_since);
    for (int i = 0; i < NODES; i++) {
        (void)snprintf(nodes[i].name, sizeof nodes[i].name, "node%d", i);
        nodes[i].lives = true;
        nodes[i].ready = ready[i];
        nodes[i].unready_since_ms = unready_since[i];
    }
    for (int i = 0; i < PARTITIONS; i++)
        partitions[i] = (struct elapse__balance_partition){.preferred = -1, .target = -1};
    view = (struct elapse__balance_view){.nodes = nodes,
                                         .node_count = NODES,
                                         .partitions = partitions,
                                         .partition_count = PARTITIONS,
                                         .timeline = 1,
                                         .system_identifier = 7,
                                         .has_lists = true};
    options = (struct elapse__replicas_options){1, REPLACE_MS, true, 1000};
    return 0;
}

static bool next(void)
{
    elapse__balance_count(&view);
    return elapse__replicas_next(&view, &options, &change);
}

/* Lets time pass, and looks at the nodes again. */
static void look_after(uint64_t ms)
{
    uint64_t before_ms[NODES][PARTITIONS];
    struct elapse__balance_node before_nodes[NODES];
    memcpy(before_ms, unready_since, sizeof before_ms);
    memcpy(before_nodes, nodes, sizeof before_nodes);
    for (int i = 0; i < NODES; i++)
        before_nodes[i].unready_since_ms = before_ms[i];
    struct elapse__balance_view before = view;
    before.nodes = before_nodes;
    memset(unready_since, 0, sizeof unready_since);
    options.now_ms += ms;
    elapse__replicas_note(&view, &before, options.now_ms);
}

static void take(void)
{
    struct elapse__balance_partition *row = &partitions[change.partition];
    row->replica_count = change.count;
    for (uint32_t i = 0; i < change.count; i++)
        row->replicas[i] = change.nodes[i];
}

/* Lets all lists change, and counts the changes. Each node is ready where it is a member. */
static unsigned settle(void)
{
    unsigned changes = 0;
    for (; next(); changes++) {
        assert_true(changes < 200);
        take();
        for (int i = 0; i < NODES; i++)
            ready[i][change.partition] = elapse__replicas_wants(&view, change.partition, i);
    }
    return changes;
}

static void set_list(uint32_t partition, int first, int second)
{
    partitions[partition].replica_count = 2;
    partitions[partition].replicas[0] = first;
    partitions[partition].replicas[1] = second;
    for (int i = 0; i < NODES; i++)
        ready[i][partition] = i == first || i == second;
}

/* Three copies a node: node i owns partitions i and i + 4. */
static void set_even(void)
{
    static const int members[PARTITIONS][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 2}, {1, 3}};
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        partitions[i].owner = members[i][0];
        set_list(i, members[i][0], members[i][1]);
    }
}

static void expect(uint32_t partition, uint32_t count, int last)
{
    assert_true(next());
    assert_int_equal(change.partition, partition);
    assert_int_equal(change.count, count);
    if (count > 0)
        assert_int_equal(change.nodes[count - 1], last);
}

static bool is_member(uint32_t partition, int node)
{
    return elapse__replicas_wants(&view, partition, node);
}

static int copies(int node)
{
    int count = 0;
    for (uint32_t i = 0; i < PARTITIONS; i++)
        count += is_member(i, node);
    return count;
}

#define REPLICAS_TEST(function) TEST_WITH(function, set_up, NULL)

REPLICAS_TEST(all_follow_without_lists)
{
    options.followers = 0;
    assert_false(next());
    for (int i = 0; i < NODES; i++)
        assert_int_equal(copies(i), PARTITIONS);
    assert_true(elapse__replicas_wants(&view, 0, -1)); /* a node that has not told of itself yet */
}

REPLICAS_TEST(the_first_list_has_only_nodes_that_are_ready)
{
    for (int i = 1; i < NODES; i++)
        memset(ready[i], 0, sizeof ready[i]);
    assert_false(next()); /* all nodes follow until there is a list */
    ready[2][4] = true;
    nodes[2].drains = true;
    assert_false(next());
    nodes[2].drains = false;
    expect(4, 2, 2);
}

/* Node 0 has four copies and node 3 has two, but node 3 has a copy of all that node 0 follows. */
REPLICAS_TEST(a_node_between_hands_a_copy_on)
{
    static const int members[PARTITIONS][2] = {{0, 1}, {0, 2}, {3, 0}, {3, 0}, {1, 2}, {2, 1}};
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        partitions[i].owner = members[i][0];
        set_list(i, members[i][0], members[i][1]);
    }
    assert_int_equal(settle(), 4); /* two copies are added, and two are removed */
    for (int i = 0; i < NODES; i++)
        assert_int_equal(copies(i), 3);
}

REPLICAS_TEST(each_partition_gets_a_list_with_its_owner)
{
    settle();
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        assert_int_equal(partitions[i].replica_count, 2);
        assert_true(is_member(i, 0));
    }
    for (int i = 1; i < NODES; i++)
        assert_int_equal(copies(i), 2);
    assert_false(elapse__replicas_wants(&view, 0, -1));
}

REPLICAS_TEST(nothing_begins_while_the_view_is_not_calm)
{
    options.is_calm = false;
    assert_false(next());
    set_even();
    nodes[1].lives = false;
    nodes[1].age_ms = REPLACE_MS + 1;
    assert_false(next());
    options.is_calm = true;
    view.is_paused = true;
    assert_false(next());
    view.is_paused = false;
    assert_true(next());
}

REPLICAS_TEST(nothing_changes_in_a_database_without_lists)
{
    view.has_lists = false;
    assert_false(next());
}

REPLICAS_TEST(even_copies_stay)
{
    set_even();
    assert_false(next());
}

/* A node without a copy has taken it over. */
REPLICAS_TEST(the_owner_becomes_a_member)
{
    set_even();
    partitions[2].owner = 0;
    ready[0][2] = true;
    options.is_calm = false;
    expect(2, 3, 0);
    take();
    options.is_calm = true;
    expect(2, 2, 0); /* another one leaves */
}

REPLICAS_TEST(a_node_that_is_away_keeps_its_copies)
{
    set_even();
    nodes[1].lives = false;
    nodes[1].age_ms = REPLACE_MS;
    assert_false(next());
}

REPLICAS_TEST(a_node_that_is_gone_is_replaced)
{
    set_even();
    nodes[1].lives = false;
    nodes[1].age_ms = REPLACE_MS + 1;
    partitions[1].owner = 2;
    partitions[5].owner = 3;
    settle();
    assert_int_equal(copies(1), 0);
    for (int i = 0; i < NODES; i++)
        assert_true(i == 1 || copies(i) == 4);
    for (uint32_t i = 0; i < PARTITIONS; i++)
        assert_int_equal(partitions[i].replica_count, 2);
}

/* An operator has removed it. */
REPLICAS_TEST(a_name_without_a_node_is_replaced)
{
    set_even();
    partitions[3].replicas[1] = -1;
    assert_true(next());
    assert_int_equal(change.partition, 3);
    assert_int_equal(change.count, 2);
    assert_int_equal(change.nodes[0], 3);
    assert_true(change.nodes[1] >= 0);
}

REPLICAS_TEST(a_new_node_gets_its_share_one_copy_at_a_time)
{
    static const int members[PARTITIONS][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 1}, {1, 2}, {2, 0}};
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        partitions[i].owner = members[i][0];
        set_list(i, members[i][0], members[i][1]);
    }
    assert_true(next());
    assert_int_equal(change.count, 3);
    assert_int_equal(change.nodes[2], 3);
    take();
    uint32_t partition = change.partition;
    assert_false(next()); /* it is not ready yet, so nobody leaves, and nobody else is added */
    ready[3][partition] = true;
    assert_true(next());
    assert_int_equal(change.partition, partition);
    assert_int_equal(change.count, 2);
    assert_true(change.nodes[0] == partitions[change.partition].owner);
    assert_int_equal(change.nodes[1], 3);
    take();
    settle();
    for (int i = 0; i < NODES; i++)
        assert_int_equal(copies(i), 3);
}

REPLICAS_TEST(no_copy_is_begun_while_another_is_being_made)
{
    set_even();
    options.followers = 2;
    ready[3][2] = false;
    assert_false(next());
    ready[3][2] = true;
    assert_true(next());
    assert_int_equal(change.count, 3);
}

/* All members but the owner are dead. */
REPLICAS_TEST(a_partition_without_a_living_follower_does_not_wait)
{
    set_even();
    ready[3][2] = false; /* a copy is being made */
    nodes[1].lives = false;
    partitions[1].owner = 2;
    partitions[1].replica_count = 1;
    partitions[1].replicas[0] = 2;
    partitions[5].owner = 3;
    assert_true(next());
    assert_int_equal(change.partition, 1);
    assert_int_equal(change.count, 2);
}

/* Node 3 is new, and cannot make its first copy. */
REPLICAS_TEST(a_copy_that_is_never_ready_does_not_block_the_others)
{
    static const int members[PARTITIONS][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 1}, {1, 2}, {2, 0}};
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        partitions[i].owner = members[i][0];
        set_list(i, members[i][0], members[i][1]);
    }
    assert_true(next());
    take();
    const uint32_t stuck = change.partition;
    look_after(0);
    assert_false(next());
    look_after(REPLACE_MS);
    assert_false(next());
    look_after(1);
    for (unsigned changes = 0; next(); changes++) {
        assert_true(changes < 200);
        assert_true(change.partition != stuck);
        take();
        for (int i = 0; i < NODES; i++)
            ready[i][change.partition] = is_member(change.partition, i);
    }
    assert_int_equal(partitions[stuck].replica_count, 3);
    assert_true(is_member(stuck, 3));
    for (int i = 0; i < NODES; i++)
        assert_true(copies(i) == 3 || copies(i) == 4); /* 13 copies */
}

REPLICAS_TEST(a_stuck_follower_stays_beside_another_one)
{
    set_even();
    ready[3][2] = false;
    look_after(0);
    look_after(REPLACE_MS);
    assert_false(next());
    look_after(1);
    assert_true(next());
    assert_int_equal(change.partition, 2);
    assert_int_equal(change.count, 3);
    int added = change.nodes[2];
    take();
    look_after(1);
    assert_false(next()); /* the new copy is being made */
    ready[added][2] = true;
    look_after(REPLACE_MS);
    assert_false(next()); /* it is tried no more often */
    nodes[3].lives = false;
    look_after(1);
    expect(2, 2, added); /* it was stopped: the other one is ready */
    nodes[3].lives = true;
    ready[3][2] = true;
    look_after(1);
    assert_true(next()); /* or it has become ready, and any follower may leave */
    assert_int_equal(change.partition, 2);
    assert_int_equal(change.count, 2);
    assert_int_equal(change.nodes[0], 2);
}

REPLICAS_TEST(a_partition_that_nobody_can_copy_is_tried_by_one_more_node)
{
    set_even();
    ready[3][2] = false;
    look_after(0);
    look_after(REPLACE_MS + 1);
    assert_true(next());
    take();
    look_after(1);
    look_after(REPLACE_MS + 1);
    assert_false(next());
    assert_int_equal(partitions[2].replica_count, 3);
}

/* An owner is not replaced because it complains of the database. */
REPLICAS_TEST(an_owner_that_is_not_ready_is_no_stuck_member)
{
    set_even();
    ready[2][2] = false;
    look_after(0);
    look_after(REPLACE_MS + 1);
    assert_false(next());
}

REPLICAS_TEST(a_stuck_member_does_not_leave_for_others)
{
    set_even();
    set_list(2, 2, 3);
    partitions[2].replica_count = 4;
    partitions[2].replicas[2] = 1;
    partitions[2].replicas[3] = partitions[2].preferred = 0;
    ready[0][2] = ready[1][2] = true;
    ready[3][2] = false;
    set_list(4, 0, 3); /* node 3 has most copies */
    set_list(1, 1, 3);
    look_after(0);
    look_after(REPLACE_MS + 1);
    expect(2, 3, 0);
    assert_true(change.nodes[0] == 2 && change.nodes[1] == 3);
}

/* The only follower is stuck, and a copy of another partition is being made. */
REPLICAS_TEST(a_partition_with_a_stuck_follower_does_not_wait)
{
    set_even();
    ready[1][1] = ready[2][1] = ready[3][2] = false;
    ready[1][1] = true; /* its owner */
    look_after(0);
    look_after(REPLACE_MS);
    ready[3][2] = true;
    look_after(1);
    ready[3][2] = false;
    look_after(1); /* begins anew */
    assert_true(next());
    assert_int_equal(change.partition, 1);
    assert_int_equal(change.count, 3);
}

/* A node with a name before the others has joined. */
REPLICAS_TEST(how_long_a_member_was_not_ready_belongs_to_its_name)
{
    struct elapse__balance_node fewer_nodes[NODES];
    uint64_t fewer_ms[NODES][PARTITIONS] = {{0}};
    set_even();
    ready[3][2] = false;
    for (int i = 1; i < NODES; i++) {
        fewer_nodes[i - 1] = nodes[i];
        fewer_nodes[i - 1].unready_since_ms = fewer_ms[i - 1];
    }
    fewer_ms[2][2] = 77;
    fewer_ms[1][2] = 88; /* ready since */
    struct elapse__balance_view before = view;
    before.nodes = fewer_nodes;
    before.node_count = NODES - 1;
    elapse__replicas_note(&view, &before, 1000);
    assert_int_equal(unready_since[3][2], 77);
    assert_int_equal(unready_since[2][2], 0);
    assert_int_equal(unready_since[0][2], 0);
}

REPLICAS_TEST(a_preferred_node_becomes_a_member_and_stays)
{
    set_even();
    partitions[0].preferred = 2;
    expect(0, 3, 2);
    take();
    assert_false(next());
    ready[2][0] = true;
    assert_true(next());
    assert_true(change.nodes[0] == 0 && change.nodes[1] == 2);
}

REPLICAS_TEST(a_node_that_drains_gets_no_copy)
{
    set_even();
    partitions[4].replica_count = 1;
    nodes[3].drains = nodes[1].drains = true;
    expect(4, 2, 2);
}

REPLICAS_TEST(a_stopped_partition_stays)
{
    set_even();
    partitions[3].is_stopped = true;
    partitions[3].replicas[1] = -1;
    assert_false(next());
}

REPLICAS_TEST(lists_are_given_up_one_after_the_other)
{
    set_even();
    options.followers = 0;
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        expect(i, 0, 0);
        take();
    }
    assert_false(next());
}

/* Each guest waits for a lease more than the one before. */
REPLICAS_TEST(guests_have_an_order)
{
    bool seen[NODES + 1] = {false};
    set_even();
    for (int i = 0; i < NODES; i++)
        if (!is_member(3, i))
            seen[elapse__replicas_rank(&view, 3, i)] = true;
    assert_true(seen[1] && seen[2]);
    assert_true(elapse__replicas_rank(&view, 0, 2) != elapse__replicas_rank(&view, 3, 2));
    nodes[2].lives = false;
    assert_int_equal(elapse__replicas_rank(&view, 0, 3), 1);
}

static void set_zones(const char *zones)
{
    for (int i = 0; i < NODES; i++)
        (void)snprintf(nodes[i].zone, sizeof nodes[i].zone, "%.1s", zones + i);
}

REPLICAS_TEST(the_first_list_has_nodes_of_two_zones)
{
    set_zones("aaab");
    settle();
    for (uint32_t i = 0; i < PARTITIONS; i++)
        assert_true(is_member(i, 0) && is_member(i, 3)); /* node 0 owns all */
}

REPLICAS_TEST(a_list_in_one_zone_gets_a_member_of_another)
{
    set_even();
    set_zones("aabb"); /* {0,1} and {2,3} are in one zone each */
    assert_true(next());
    assert_int_equal(change.partition, 0);
    assert_int_equal(change.count, 3);
    assert_true(change.nodes[2] >= 2);
    int added = change.nodes[2];
    take();
    assert_false(next());
    ready[added][0] = true;
    expect(0, 2, added); /* node 1 leaves */
    take();
    settle();
    for (uint32_t i = 0; i < PARTITIONS; i++)
        assert_true((is_member(i, 0) || is_member(i, 1)) && (is_member(i, 2) || is_member(i, 3)));
    for (int i = 0; i < NODES; i++)
        assert_int_equal(copies(i), 3);
}

/* Nodes without a zone share none. */
REPLICAS_TEST(zones_come_before_even_copies)
{
    set_zones("abbb");
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        partitions[i].owner = i < 3 ? 1 : 2;
        set_list(i, partitions[i].owner, 0);
    }
    assert_false(next()); /* node 3 has no copy, and node 0 has six */
    set_zones("abb\0");
    assert_true(next());
    assert_int_equal(change.nodes[2], 3);
}

REPLICAS_TEST(a_preferred_node_may_share_the_zone_of_the_owner)
{
    set_even();
    set_zones("aabb");
    partitions[0].preferred = 1;
    partitions[2].preferred = 3;
    assert_false(next());
}

REPLICAS_TEST(each_node_is_something_to_a_partition)
{
    set_even();
    ready[3][2] = false;
    partitions[2].replica_count = 3;
    partitions[2].replicas[2] = 1;
    nodes[1].lives = false;
    ready[0][2] = true;
    assert_int_equal(elapse__replicas_copy(&view, 2, 0), ELAPSE__REPLICAS_LEAVING);
    assert_int_equal(elapse__replicas_copy(&view, 2, 1), ELAPSE__REPLICAS_AWAY);
    assert_int_equal(elapse__replicas_copy(&view, 2, 2), ELAPSE__REPLICAS_OWNER);
    assert_int_equal(elapse__replicas_copy(&view, 2, 3), ELAPSE__REPLICAS_COPYING);
    ready[0][2] = false;
    ready[3][2] = true;
    assert_int_equal(elapse__replicas_copy(&view, 2, 0), ELAPSE__REPLICAS_NONE);
    assert_int_equal(elapse__replicas_copy(&view, 2, 3), ELAPSE__REPLICAS_READY);
    partitions[2].replica_count = 0; /* all follow */
    assert_int_equal(elapse__replicas_copy(&view, 2, 0), ELAPSE__REPLICAS_COPYING);
    assert_int_equal(elapse__replicas_copy(&view, 2, 1), ELAPSE__REPLICAS_NONE);
    assert_string_equal(elapse__replicas_copy_word(ELAPSE__REPLICAS_COPYING), "copying");
}

REPLICAS_TEST(all_nodes_follow_if_there_are_few)
{
    options.followers = 5;
    settle();
    for (int i = 0; i < NODES; i++)
        assert_int_equal(copies(i), PARTITIONS);
}

enum { MANY_NODES = 64, MANY_PARTITIONS = 16384 };

/* Each node owns as many, and its neighbour follows them; the first node follows one more, of the
 * third one. */
static struct elapse__balance_view large_view(void)
{
    struct elapse__balance_view large = view;

    large.node_count = MANY_NODES;
    large.partition_count = MANY_PARTITIONS;
    large.nodes = calloc(MANY_NODES, sizeof *large.nodes);
    large.partitions = calloc(MANY_PARTITIONS, sizeof *large.partitions);
    for (int i = 0; i < MANY_NODES; i++) {
        large.nodes[i].lives = true;
        large.nodes[i].ready = calloc(MANY_PARTITIONS, sizeof *large.nodes[i].ready);
        memset(large.nodes[i].ready, 1, MANY_PARTITIONS);
    }
    for (int i = 0; i < MANY_PARTITIONS; i++)
        large.partitions[i] = (struct elapse__balance_partition){
            .owner = i % MANY_NODES,
            .preferred = -1,
            .target = -1,
            .replica_count = 2,
            .replicas = {i % MANY_NODES, (i + 1) % MANY_NODES},
        };
    return large;
}

static void free_large(struct elapse__balance_view *large)
{
    for (int i = 0; i < MANY_NODES; i++)
        free(large->nodes[i].ready);
    free(large->nodes);
    free(large->partitions);
}

/* Where each look counts the copies anew, this takes hours. */
REPLICAS_TEST(a_large_cluster_is_looked_at_in_moments)
{
    struct elapse__balance_view large = large_view();

    elapse__balance_count(&large);
    assert_false(elapse__replicas_next(&large, &options, &change));
    large.partitions[2].replicas[1] = 0;
    elapse__balance_count(&large);
    assert_true(elapse__replicas_next(&large, &options, &change));
    assert_int_equal(change.count, 3);
    assert_int_equal(change.nodes[2], 3);
    free_large(&large);
}

/* Somebody has written the list by hand. */
REPLICAS_TEST(a_list_that_names_a_node_twice_is_one_copy)
{
    set_even();
    set_list(2, 2, 2);
    elapse__balance_count(&view);
    for (int i = 0; i < NODES; i++)
        assert_int_equal(nodes[i].copies, copies(i));
}

TEST_MAIN("replicas")
