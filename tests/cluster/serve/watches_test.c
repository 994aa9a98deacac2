/*
 * Tests what the thread that watches the rows tells the loop.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../src/cluster/serve/copies.h"
#include "../../../src/cluster/serve/watches.h"
#include "../../../src/os/os.h"
#include "../../support/test.h"

enum { NODES = 3, PARTITIONS = 4, LEASE_MS = 1000, ME = 2 };

static struct elapse__cluster *cluster;
static struct elapse__watches *watches;
static struct elapse__balance_node nodes[NODES];
static struct elapse__balance_partition partitions[PARTITIONS];
static bool ready[NODES][PARTITIONS], has_copy[PARTITIONS];
static struct elapse__balance_view view;
static uint64_t now_ms;

/* Node 0 owns all, and node 1 follows. This node has no copy. */
static void make_view(void)
{
    for (int i = 0; i < NODES; i++)
        nodes[i] = (struct elapse__balance_node){.lives = true, .ready = ready[i]};
    memset(ready[0], 1, sizeof ready[0]);
    for (int i = 0; i < PARTITIONS; i++)
        partitions[i] = (struct elapse__balance_partition){
            .preferred = -1, .target = -1, .replica_count = 2, .replicas = {0, 1}};
    view = (struct elapse__balance_view){.nodes = nodes,
                                         .node_count = NODES,
                                         .partitions = partitions,
                                         .partition_count = PARTITIONS,
                                         .timeline = 1,
                                         .has_lists = true};
}

static int set_up(void **state)
{
    (void)state;
    cluster = calloc(1, sizeof *cluster);
    assert_non_null(cluster);
    cluster->queue.partitions = PARTITIONS;
    cluster->queue.lease_ms = LEASE_MS;
    cluster->partitions = calloc(PARTITIONS, sizeof *cluster->partitions);
    cluster->witnesses.seen = calloc(PARTITIONS, sizeof *cluster->witnesses.seen);
    cluster->nodes.wants = calloc(PARTITIONS, sizeof *cluster->nodes.wants);
    cluster->nodes.calls = calloc(PARTITIONS, sizeof *cluster->nodes.calls);
    cluster->nodes.rows = calloc(PARTITIONS, sizeof *cluster->nodes.rows);
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        cluster->partitions[i].cluster = cluster;
        cluster->partitions[i].number = i;
    }
    watches = elapse__watches_new(cluster);
    assert_non_null(watches);
    elapse__watches_note_copies(watches, has_copy);
    elapse__watches_connect(watches);
    make_view();
    now_ms = 1000;
    return elapse__os->lock_init(&cluster->nodes.errand.monitor.lock) +
           elapse__os->lock_init(&cluster->witnesses.errand.monitor.lock);
}

static int tear_down(void **state)
{
    (void)state;
    elapse__lock_free(&cluster->nodes.errand.monitor.lock);
    elapse__lock_free(&cluster->witnesses.errand.monitor.lock);
    elapse__watches_free(watches);
    free(cluster->nodes.wants);
    free(cluster->nodes.calls);
    free(cluster->nodes.rows);
    free(cluster->witnesses.seen);
    free(cluster->partitions);
    free(cluster);
    return 0;
}

/* Looks ten times a lease, and returns for how many partitions this node is called then. */
static unsigned look_for(unsigned leases, bool is_written)
{
    unsigned calls = 0;

    for (unsigned i = 0; i < 10 * leases; i++) {
        now_ms += LEASE_MS / 10;
        for (int j = 0; j < PARTITIONS; j++)
            partitions[j].row.beat += is_written;
        assert_true(elapse__watches_take(watches, &view, NULL, now_ms, NULL));
        elapse__lock(&cluster->nodes.errand.monitor.lock);
        for (uint32_t j = 0; j < PARTITIONS; j++)
            (void)elapse__watches_publish(watches, &view, j, ME, now_ms);
        elapse__unlock(&cluster->nodes.errand.monitor.lock);
    }
    for (uint32_t i = 0; i < PARTITIONS; i++)
        calls += cluster->nodes.calls[i];
    return calls;
}

/* Each node would make a copy of each partition. */
TEST_WITH(a_database_that_takes_no_writes_calls_no_guest, set_up, tear_down)
{
    (void)state;
    assert_int_equal(look_for(4, true), 0);
    memset(ready, 0, sizeof ready);
    assert_int_equal(look_for(8, false), 0);
    memset(ready[0], 1, sizeof ready[0]);
    assert_int_equal(look_for(4, true), 0);
}

TEST_WITH(partitions_of_dead_nodes_call, set_up, tear_down)
{
    (void)state;
    assert_int_equal(look_for(4, true), 0);
    nodes[0].lives = nodes[1].lives = false;
    assert_int_equal(look_for(1, false), 0);
    assert_int_equal(look_for(2, false), PARTITIONS);
    elapse__watches_connect(watches); /* it goes on to read the logs */
    assert_int_equal(look_for(1, false), PARTITIONS);
    assert_int_equal(look_for(1, true), 0);
}

/* What a node acknowledges at a server that lacks groups is missing on the right one. */
TEST_WITH(a_mark_is_told_for_a_partition_without_a_copy, set_up, tear_down)
{
    (void)state;
    partitions[1].is_stopped = true;
    has_copy[1] = true;
    elapse__watches_note_copies(watches, has_copy);
    (void)look_for(1, true);
    assert_int_equal(cluster->nodes.marked, 0); /* its runner sees it */
    has_copy[1] = false;
    elapse__watches_note_copies(watches, has_copy);
    (void)look_for(1, true);
    assert_int_equal(cluster->nodes.marked, 2);
}

/* Such as the server that was promoted wrongly once, after the right one. */
TEST_WITH(a_mark_of_a_database_that_is_not_used_is_not_told, set_up, tear_down)
{
    (void)state;
    for (uint32_t i = 0; i < PARTITIONS; i++)
        cluster->witnesses.seen[i] = (struct elapse__store_witness){.group = 5, .timeline = 2};
    partitions[1].is_stopped = true;
    (void)look_for(1, true);
    assert_int_equal(cluster->nodes.marked, 0);
}

static bool has_compared(uint64_t opened_group, uint64_t group, uint64_t last_group)
{
    const struct elapse__partition_figures seen = {
        .role = ELAPSE__ROLE_FOLLOWING,
        .timeline = 1,
        .local = {.group = group},
        .last_group = last_group,
    };
    return elapse__cluster_has_compared(&seen, opened_group);
}

/* A copy that nobody needs any more need not read a log of hours. */
TEST(files_are_compared_when_the_log_goes_on_behind_them)
{
    const struct elapse__partition_figures unseen = {.role = ELAPSE__ROLE_FOLLOWING};

    (void)state;
    assert_false(elapse__cluster_has_compared(&unseen, 0));
    assert_false(has_compared(5, 5, 9));
    assert_true(has_compared(5, 6, 9));
    assert_true(has_compared(5, 5, 5));
    assert_false(has_compared(0, 0, 9));
    assert_true(has_compared(0, 1, 9));
    assert_true(has_compared(0, 0, 0));
}

TEST_MAIN("watches")
