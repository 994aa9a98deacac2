/*
 * Tests moves of a partition that are called off before the partition is released. The linker puts
 * functions of this file into the places of those that need a core, a store and a runner.
 */
#include "../../../src/cluster/serve/core.h"
#include "../../../src/cluster/serve/move.h"
#include "../../support/test.h"

static bool have_left, is_logged; /* what the core and the store answer */
static unsigned moves;            /* how often the runner was told to release */

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
bool __wrap_elapse__links_leave(struct elapse__cluster_partition *partition);
void __wrap_elapse__runner_move(struct elapse__runner *runner);
void __wrap_elapse__runner_wake(struct elapse__runner *runner);
void __wrap_elapse__runner_expect(struct elapse__runner *runner,
                                  enum elapse__partition_next_owner next_owner);
uint64_t __wrap_elapse__store_appended(struct elapse_queue *store);
bool __wrap_elapse__store_is_logged(struct elapse_queue *store);
bool __wrap_elapse__store_is_logged_before(struct elapse_queue *store, uint64_t position);
void __wrap_elapse__cluster_partition_look(struct elapse__cluster_partition *partition);

bool __wrap_elapse__links_leave(struct elapse__cluster_partition *partition)
{
    (void)partition;
    return have_left;
}

void __wrap_elapse__runner_move(struct elapse__runner *runner)
{
    (void)runner;
    moves++;
}

void __wrap_elapse__runner_wake(struct elapse__runner *runner)
{
    (void)runner;
}

void __wrap_elapse__runner_expect(struct elapse__runner *runner,
                                  enum elapse__partition_next_owner next_owner)
{
    (void)runner, (void)next_owner;
}

uint64_t __wrap_elapse__store_appended(struct elapse_queue *store)
{
    (void)store;
    return 0;
}

bool __wrap_elapse__store_is_logged(struct elapse_queue *store)
{
    (void)store;
    return is_logged;
}

bool __wrap_elapse__store_is_logged_before(struct elapse_queue *store, uint64_t position)
{
    (void)store, (void)position;
    return is_logged;
}

void __wrap_elapse__cluster_partition_look(struct elapse__cluster_partition *partition)
{
    (void)partition;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static struct elapse__loop_options options;

/* A node that owns its partition, which is to move. */
static int set_up(void **state)
{
    struct elapse__cluster *cluster = calloc(1, sizeof *cluster);
    struct elapse__cluster_partition *partition = calloc(1, sizeof *partition);
    struct elapse__loop *core = calloc(1, sizeof *core);
    assert_non_null(cluster);
    assert_non_null(partition);
    assert_non_null(core);
    cluster->service.loop.options = &options;
    cluster->service.loop.peers.logger.most = ELAPSE__LOGGER_ERROR;
    cluster->queue.lease_ms = 3600000; /* no step ends by time */
    cluster->partitions = partition;
    cluster->partition_count = 1;
    partition->cluster = cluster;
    partition->core = core;
    partition->runner = (struct elapse__runner *)(void *)partition; /* is not looked into */
    partition->is_to_move = true;
    have_left = is_logged = false;
    moves = 0;
    *state = partition;
    return 0;
}

static int tear_down(void **state)
{
    struct elapse__cluster_partition *partition = *state;

    free(partition->core);
    free(partition->cluster);
    free(partition);
    return 0;
}

static void turn(struct elapse__cluster_partition *partition)
{
    elapse__cluster_moves_look(partition->cluster);
    (void)elapse__cluster_moves_turn(partition->cluster);
}

static void call_off(struct elapse__cluster_partition *partition)
{
    partition->is_to_move = false;
    have_left = is_logged = true;
    turn(partition);
    turn(partition);
    assert_int_equal(partition->moving, ELAPSE__CLUSTER_STAYS);
    assert_false(atomic_load(&partition->is_moving));
    assert_int_equal(moves, 0);
}

TEST_WITH(a_partition_is_released_when_all_is_logged, set_up, tear_down)
{
    struct elapse__cluster_partition *partition = *state;

    have_left = is_logged = true;
    turn(partition);
    turn(partition);
    assert_int_equal(partition->moving, ELAPSE__CLUSTER_RELEASES);
    assert_int_equal(moves, 1);
    partition->is_to_move = false; /* too late */
    turn(partition);
    assert_int_equal(partition->moving, ELAPSE__CLUSTER_RELEASES);
}

TEST_WITH(a_move_is_called_off_while_clients_leave, set_up, tear_down)
{
    struct elapse__cluster_partition *partition = *state;

    turn(partition);
    assert_int_equal(partition->moving, ELAPSE__CLUSTER_LEAVES);
    call_off(partition);
}

TEST_WITH(a_move_is_called_off_while_the_log_settles, set_up, tear_down)
{
    struct elapse__cluster_partition *partition = *state;

    have_left = true;
    turn(partition);
    assert_int_equal(partition->moving, ELAPSE__CLUSTER_SETTLES);
    call_off(partition);
}

TEST_WITH(a_move_that_was_called_off_begins_again_later, set_up, tear_down)
{
    struct elapse__cluster_partition *partition = *state;

    turn(partition);
    call_off(partition);
    partition->is_to_move = true;
    turn(partition);
    assert_int_equal(partition->moving, ELAPSE__CLUSTER_STAYS);
    partition->rests_until_ms = 0;
    turn(partition);
    assert_int_not_equal(partition->moving, ELAPSE__CLUSTER_STAYS);
}

TEST_MAIN("called_off")
