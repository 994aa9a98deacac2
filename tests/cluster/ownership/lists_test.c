/*
 * Runs the lists of replicas over nodes that die, come back, drain, and cannot make some copies, by
 * random steps from a seed. The rules are in replicas.h. Owners move by balance.h, at once.
 *
 * After each change the lists keep C1 to C3 and C8. In the end all nodes live, and then the lists
 * come to rest, each with enough members in as many zones as can be. Without zones all nodes have
 * as many copies as each other.
 */
#include <stdio.h>
#include <string.h>

/* <cmocka.h> needs these headers before it. */
#include "../../../src/cluster/ownership/replicas.h"
#include "../../support/random.h"
#include "../../support/test.h"

enum { NODES_MAX = 7, PARTITIONS_MAX = 12, REPLACE_MS = 600000, LEASE_MS = 10000 };

static struct elapse__balance_node nodes[NODES_MAX], last_nodes[NODES_MAX];
static struct elapse__balance_partition partitions[PARTITIONS_MAX];
static bool ready[NODES_MAX][PARTITIONS_MAX];
static bool is_broken[NODES_MAX][PARTITIONS_MAX]; /* the node cannot make this copy */
static uint64_t since_ms[NODES_MAX][PARTITIONS_MAX], last_ms[NODES_MAX][PARTITIONS_MAX];
static struct elapse__balance_view view;
static struct elapse__replicas_options options;
static struct elapse__balance balance;
static struct random_source source;
static bool has_zones;

static bool is_member(uint32_t partition, int node)
{
    return partitions[partition].replica_count > 0 &&
           elapse__replicas_wants(&view, partition, node);
}

static bool can_be_ready(uint32_t partition, int node)
{
    return nodes[node].lives && !is_broken[node][partition] &&
           elapse__replicas_wants(&view, partition, node);
}

static void begin(uint64_t seed)
{
    source = (struct random_source){seed};
    memset(nodes, 0, sizeof nodes);
    memset(ready, 0, sizeof ready);
    memset(is_broken, 0, sizeof is_broken);
    memset(since_ms, 0, sizeof since_ms);
    balance = (struct elapse__balance){.is_uneven = false};
    view = (struct elapse__balance_view){.nodes = nodes,
                                         .node_count = 2 + random_index(&source, NODES_MAX - 1),
                                         .partitions = partitions,
                                         .partition_count =
                                             1 + (uint32_t)random_below(&source, PARTITIONS_MAX),
                                         .has_lists = true};
    options = (struct elapse__replicas_options){1 + (uint32_t)random_below(&source, 3), REPLACE_MS,
                                                true, 1};
    has_zones = random_one_in(&source, 2);
    const size_t zones = has_zones ? 1 + random_index(&source, 4) : 0;
    for (int i = 0; i < (int)view.node_count; i++) {
        (void)snprintf(nodes[i].name, sizeof nodes[i].name, "node%d", i);
        nodes[i].ready = ready[i];
        nodes[i].unready_since_ms = since_ms[i];
        nodes[i].lives = i == 0;
        if (zones > 0)
            (void)snprintf(nodes[i].zone, sizeof nodes[i].zone, "zone%d",
                           (int)random_index(&source, zones));
    }
    for (uint32_t i = 0; i < PARTITIONS_MAX; i++)
        partitions[i] = (struct elapse__balance_partition){.preferred = -1, .target = -1};
}

/* ---- the world ---- */

/* Some copies have been made. Each partition without an owner gets one: a node that is ready, or
 * one that reads the log. */
static void go_on(unsigned one_in)
{
    for (uint32_t i = 0; i < view.partition_count; i++) {
        struct elapse__balance_partition *row = &partitions[i];
        for (int j = 0; j < (int)view.node_count; j++)
            ready[j][i] = can_be_ready(i, j) && (ready[j][i] || random_one_in(&source, one_in));
        for (int tries = 0; tries < 100 && (row->owner < 0 || !nodes[row->owner].lives); tries++) {
            int node = (int)random_index(&source, view.node_count);
            if (nodes[node].lives && !is_broken[node][i] && (ready[node][i] || tries > 50))
                row->owner = node;
        }
        if (row->owner >= 0 && nodes[row->owner].lives)
            ready[row->owner][i] = true;
    }
}

static void disturb(void)
{
    int node = (int)random_index(&source, view.node_count);
    uint32_t partition = (uint32_t)random_below(&source, view.partition_count);

    switch (random_below(&source, 6)) {
    case 0:
    case 1:
        nodes[node].lives = !nodes[node].lives;
        nodes[node].age_ms = 0;
        break;
    case 2:
        nodes[node].drains = !nodes[node].drains;
        break;
    case 3:
        is_broken[node][partition] =
            node != partitions[partition].owner && random_one_in(&source, 2);
        break;
    case 4:
        partitions[partition].preferred = random_one_in(&source, 2) ? node : -1;
        break;
    default:
        options.is_calm = !options.is_calm;
        break;
    }
}

static void pass(uint64_t ms)
{
    struct elapse__balance_view last = view;

    memcpy(last_nodes, nodes, sizeof last_nodes);
    memcpy(last_ms, since_ms, sizeof last_ms);
    last.nodes = last_nodes;
    memset(since_ms, 0, sizeof since_ms);
    options.now_ms += ms;
    for (int i = 0; i < (int)view.node_count; i++) {
        last_nodes[i].unready_since_ms = last_ms[i];
        nodes[i].age_ms = nodes[i].lives ? 0 : nodes[i].age_ms + ms;
    }
    elapse__replicas_note(&view, &last, options.now_ms);
}

/* ---- the changes ---- */

static bool has(const struct elapse__replicas_change *list, int node)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->nodes[i] == node)
            return true;
    return false;
}

static bool is_gone(int node)
{
    return !nodes[node].lives && nodes[node].age_ms > REPLACE_MS;
}

static void check(const struct elapse__replicas_change *change)
{
    const uint32_t partition = change->partition;
    uint32_t left = 0, others = 0;

    assert_true(change->count > 0 && change->count <= ELAPSE__BALANCE_REPLICAS_MAX);
    for (uint32_t i = 0; i < change->count; i++)
        for (uint32_t j = i + 1; j < change->count; j++)
            assert_true(change->nodes[i] != change->nodes[j]);
    for (int i = 0; i < (int)view.node_count; i++) {
        others += has(change, i) && ready[i][partition];
        if (has(change, i) && !is_member(partition, i) && i != partitions[partition].owner &&
            i != partitions[partition].preferred)
            assert_true(change->count <= options.followers + 2); /* C6, C8 */
        if (!is_member(partition, i) || has(change, i))
            continue;
        assert_true(i != partitions[partition].owner || is_gone(i)); /* C1 */
        left += !is_gone(i);
    }
    assert_true(left <= 1); /* C2 */
    if (left == 1)
        assert_true(others > options.followers);
}

static bool change_one(void)
{
    struct elapse__replicas_change change;

    elapse__balance_count(&view);
    if (!elapse__replicas_next(&view, &options, &change))
        return false;
    check(&change);
    partitions[change.partition].replica_count = change.count;
    memcpy(partitions[change.partition].replicas, change.nodes, sizeof change.nodes);
    return true;
}

/* Moves one partition by the rules of the balance, at once. */
static bool move_one(void)
{
    const struct elapse__balance_options rules = {LEASE_MS, 0, options.is_calm};
    struct elapse__balance_move move;

    elapse__balance_count(&view);
    if (!elapse__balance_next(&balance, &view, &rules, options.now_ms, &move))
        return false;
    assert_true(move.target >= 0 && ready[move.target][move.partition]);
    partitions[move.partition].owner = move.target;
    return true;
}

/* ---- the end ---- */

/* Returns how many changes it takes until nothing changes any more. */
static unsigned come_to_rest(void)
{
    unsigned changes = 0;

    for (unsigned quiet = 0; quiet < 20;) {
        pass(REPLACE_MS / 8); /* no copy takes so long */
        go_on(1);
        bool has_changed = change_one();
        has_changed = move_one() || has_changed;
        changes += has_changed;
        quiet = has_changed ? 0 : quiet + 1;
        assert_true(changes < 2000);
    }
    return changes;
}

static int copies(int node)
{
    int count = 0;

    for (uint32_t i = 0; i < view.partition_count; i++)
        count += is_member(i, node);
    return count;
}

static void expect_even_copies(void)
{
    int most = 0, fewest = PARTITIONS_MAX;

    for (int i = 0; i < (int)view.node_count; i++) {
        int count = copies(i);
        most = count > most ? count : most;
        fewest = count < fewest ? count : fewest;
    }
    assert_true(most - fewest <= 1);
}

/* Returns how many zones the members of a list have, or all nodes. */
static uint32_t count_zones(uint32_t partition, bool all)
{
    uint32_t zones = 0;

    for (int i = 0; i < (int)view.node_count; i++) {
        bool is_first = all || is_member(partition, i);
        for (int j = 0; j < i; j++)
            if ((all || is_member(partition, j)) && strcmp(nodes[i].zone, nodes[j].zone) == 0)
                is_first = false;
        zones += is_first;
    }
    return zones;
}

static void expect_zones(void)
{
    for (uint32_t i = 0; i < view.partition_count; i++) {
        uint32_t zones = count_zones(i, true), copies = options.followers + 1;
        if (view.node_count > options.followers)
            assert_int_equal(count_zones(i, false), zones < copies ? zones : copies);
    }
}

static void expect_whole_lists(bool may_be_stuck)
{
    for (uint32_t i = 0; i < view.partition_count; i++) {
        uint32_t are_ready = 0, count = partitions[i].replica_count;
        for (int j = 0; j < (int)view.node_count; j++)
            are_ready += is_member(i, j) && ready[j][i];
        if (view.node_count <= options.followers)
            continue; /* all follow */
        if (may_be_stuck && count == 0)
            continue; /* so few nodes can make a copy that all follow */
        assert_true(count >= options.followers + 1);
        if (!may_be_stuck) {
            assert_int_equal(count, options.followers + 1);
            assert_int_equal(are_ready, options.followers + 1);
        }
    }
}

static void run(uint64_t seed)
{
    begin(seed);
    for (int step = 0; step < 300; step++) {
        if (random_one_in(&source, 8))
            disturb();
        pass(1 + random_below(&source, REPLACE_MS / 10));
        go_on(4);
        (void)change_one();
        if (random_one_in(&source, 4))
            (void)move_one();
    }
    for (int i = 0; i < (int)view.node_count; i++) {
        nodes[i].lives = true;
        nodes[i].drains = false;
    }
    for (uint32_t i = 0; i < view.partition_count; i++) {
        partitions[i].preferred = -1;
        if (partitions[i].owner >= 0)
            is_broken[partitions[i].owner][i] = false;
    }
    options.is_calm = true;
    (void)come_to_rest(); /* also while nodes cannot make copies */
    expect_whole_lists(true);
    memset(is_broken, 0, sizeof is_broken);
    (void)come_to_rest();
    expect_whole_lists(false);
    if (has_zones)
        expect_zones();
    else
        expect_even_copies();
}

TEST(lists_come_to_rest_and_copies_are_even)
{
    for (uint64_t seed = 1; seed <= 2500; seed++)
        run(seed);
}

TEST_MAIN("lists")
