/*
 * Begins and ends a run of the simulation.
 */
#include <stdio.h>
#include <string.h>

#include "world.h"

void world_begin(struct random_source *random)
{
    static const uint8_t identity[ELAPSE__CHAIN_IDENTITY_BYTES] = {1, 2, 3};
    world = (struct world){.now_ms = 1000, .genesis = elapse__chain_genesis(identity, 0)};
    sim_violate = world_violate;
    database_begin(world.genesis);
    memset(nodes, 0, sizeof nodes);
    for (int i = 0; i < NODES; i++) {
        nodes[i].offset_ms = random_below(random, 1000000);
        nodes[i].rate_ppm = 960000 + random_below(random, 80000);
        nodes[i].session = -1;
        nodes[i].hashes[0] = world.genesis;
        node_start(i);
    }
}

void world_end(void)
{
    for (int i = 0; i < NODES; i++) {
        if (nodes[i].partition != NULL)
            elapse__partition_free(nodes[i].partition);
        nodes[i].partition = NULL;
    }
    database_end();
}

static bool primary_has(struct elapse__partition_log_place place)
{
    return database_has(primary, servers[primary].written, place.group, place.hash);
}

void world_note_loss(void)
{
    world.has_lost = true;
    for (int i = 0; i < NODES; i++) {
        const struct elapse__partition_log_place *seen = &nodes[i].witness.place;
        nodes[i].must_stop = nodes[i].must_stop || !primary_has(nodes[i].confirmed);
        nodes[i].must_tell = nodes[i].must_tell || (seen->group > 0 && !primary_has(*seen));
    }
}

void world_heal(void)
{
    for (int i = 0; i < SERVERS; i++) {
        if (i != primary)
            database_follow(i, primary);
    }
    if (!servers[primary].has_names)
        database_set_names(primary, true);
    for (int i = 0; i < NODES; i++) {
        memset(nodes[i].is_cut, 0, sizeof nodes[i].is_cut);
        nodes[i].is_paused = false;
        node_expect(i, ELAPSE__NEXT_OWNER_ANY);
    }
}

/* Some milliseconds in which all works. */
static void pass_time(unsigned ms)
{
    world.now_ms += ms;
    for (int i = 0; i < SESSIONS; i++)
        (void)database_run(i, world.now_ms);
    for (int i = 0; i < SERVERS; i++)
        (void)database_replicate(i, UINT32_MAX);
    (void)database_release(primary);
    for (int i = 0; i < NODES; i++) {
        node_receive(i);
        node_set_aside(i);
        node_persist(i);
        node_act(i);
        node_answer(i);
    }
}

static enum elapse__partition_role role_of(int number)
{
    struct elapse__partition_figures figures;
    if (nodes[number].partition == NULL)
        return ELAPSE__ROLE_ENDED;
    elapse__partition_figures(nodes[number].partition, &figures);
    return figures.role;
}

/* One that does not move may believe to answer; it is not meant. */
static int answering_node_but(int number)
{
    for (int i = 0; i < NODES; i++)
        if (i != number && role_of(i) == ELAPSE__ROLE_OWNING &&
            elapse__partition_answer_until_ms(nodes[i].partition) != 0)
            return i;
    return -1;
}

static int answering_node(void)
{
    return answering_node_but(-1);
}

static void restart_ended(void)
{
    for (int i = 0; i < NODES; i++) {
        if (nodes[i].partition != NULL && role_of(i) == ELAPSE__ROLE_ENDED)
            node_crash(i);
        node_start(i);
    }
}

/* Returns how long it took until a node answers; UINT64_MAX: longer than `limit_ms`. */
static uint64_t time_to_answer(uint64_t limit_ms)
{
    for (uint64_t passed = 0; passed <= limit_ms; passed++) {
        if (answering_node() >= 0)
            return passed;
        pass_time(1);
    }
    return UINT64_MAX;
}

static void check_take_over(void)
{
    int owner = answering_node();
    node_crash(owner);
    /* The clock of a node may be 4 % slow. */
    if (time_to_answer(LEASE_MS * 105 / 100 + 1000) == UINT64_MAX)
        world_violate("no node has taken over within the lease and a second");
}

static void check_hand_over(void)
{
    int owner = answering_node();
    node_hand_over(owner);
    for (int i = 0; i < 50 && role_of(owner) != ELAPSE__ROLE_ENDED; i++)
        pass_time(1);
    if (role_of(owner) != ELAPSE__ROLE_ENDED)
        world_violate("a node does not hand over");
    for (int i = 0; i < NODES; i++)
        if (nodes[i].partition != NULL)
            elapse__partition_news(nodes[i].partition);
    if (time_to_answer(50) == UINT64_MAX)
        world_violate("no node has taken over from one that handed over");
}

/* The owner hands over to one node, and the others wait for it. */
static void check_move(struct random_source *random)
{
    int owner = answering_node();
    int next = (owner + 1 + (int)random_below(random, NODES - 1)) % NODES;
    if (nodes[next].partition == NULL || nodes[next].has_stopped ||
        role_of(next) == ELAPSE__ROLE_ENDED || node_has_wrong_clock(next))
        return;
    for (int i = 0; i < NODES; i++)
        node_expect(i, i == next ? ELAPSE__NEXT_OWNER_HERE : ELAPSE__NEXT_OWNER_THERE);
    node_move(owner);
    for (int i = 0; i < LEASE_MS / 10 && answering_node() != next; i++)
        pass_time(1);
    if (answering_node() != next)
        world_violate("a partition does not move to the node that is to own it next");
    if (role_of(owner) != ELAPSE__ROLE_FOLLOWING)
        world_violate("a node that moved its partition away does not follow");
    for (int i = 0; i < NODES; i++)
        node_expect(i, ELAPSE__NEXT_OWNER_ANY);
}

/* The owner alone goes on, and one of the standbys receives nothing. */
static void pass_time_of(int owner, int lagging)
{
    world.now_ms++;
    for (int i = 0; i < SESSIONS; i++)
        (void)database_run(i, world.now_ms);
    for (int i = 0; i < SERVERS; i++)
        if (i != lagging)
            (void)database_replicate(i, UINT32_MAX);
    (void)database_release(primary);
    node_receive(owner);
    node_persist(owner);
    node_act(owner);
    node_answer(owner);
}

static void check_that_others_are_silent(int owner, uint64_t for_ms)
{
    for (uint64_t passed = 0; passed < for_ms && world.violation[0] == '\0'; passed++) {
        pass_time(1);
        if (answering_node_but(owner) >= 0)
            world_violate("a node goes on without groups that are lost");
    }
}

/* The row that the lagging standby has says that nobody owns the partition. Returns its owner. */
static int change_owner(int owner, int lagging)
{
    int next = (owner + 1) % NODES;
    if (nodes[next].partition == NULL || nodes[next].has_stopped)
        next = (owner + 2) % NODES;
    node_hand_over(owner);
    for (int i = 0; i < 50 && role_of(owner) != ELAPSE__ROLE_ENDED; i++)
        pass_time_of(owner, -1);
    for (int i = 0; i < 50; i++)
        (void)database_replicate(lagging, UINT32_MAX);
    for (int i = 0; i < LEASE_MS && answering_node() != next; i++)
        pass_time_of(next, lagging);
    node_crash(owner);
    node_start(owner);
    return next;
}

/* C7. The owner stands still for up to one and a half leases, and then needs a fifth of one to find
 * the new primary. */
static void check_in_time(int owner, struct random_source *random)
{
    uint64_t confirmed = world_totals->groups;
    nodes[owner].is_paused = true;
    check_that_others_are_silent(owner, random_below(random, LEASE_MS * 3 / 2));
    nodes[owner].is_paused = false;
    check_that_others_are_silent(owner, 2 * LEASE_MS);
    if (world_totals->groups != confirmed)
        world_violate("a group is confirmed although others are lost");
    for (int i = 0; i < NODES; i++)
        if (nodes[i].partition != NULL && !nodes[i].has_stopped && role_of(i) != ELAPSE__ROLE_ENDED)
            world_violate("a node does not stop although there is a mark");
}

/* C8. Others have gone on. Where the database lost the owner's take-over, too, they may be in its
 * epoch, and then there is a mark. */
static void check_late(int owner)
{
    nodes[owner].is_paused = true;
    for (int i = 0; i < 4 * LEASE_MS && answering_node_but(owner) < 0; i++)
        pass_time(1);
    if (answering_node_but(owner) < 0)
        world_violate("no node has taken over from one that stands still");
    nodes[owner].is_paused = false;
    for (int i = 0; i < LEASE_MS; i++)
        pass_time(1);
    const struct sim_row *row = &servers[primary].state.row;
    if (!nodes[owner].has_stopped || (!row->is_missed && !row->is_marked))
        world_violate("a node that knows of lost groups comes late, and the row does not say so");
    if (answering_node() < 0 && !row->is_marked)
        world_violate("a node that comes late stops the others");
}

/* The others have read none of these groups. */
static void check_mark(struct random_source *random)
{
    int owner = answering_node();
    int lagging = (primary + 1 + (int)random_below(random, 2)) % SERVERS;
    if (random_one_in(random, 2))
        owner = change_owner(owner, lagging);
    uint64_t before = nodes[owner].confirmed.group;
    for (uint64_t i = 0, groups = 1 + random_below(random, 4); i < groups; i++) {
        (void)node_submit(owner);
        for (unsigned j = 0; j < 20; j++)
            pass_time_of(owner, lagging);
    }
    if (nodes[owner].confirmed.group == before || !database_fail_over(true, false))
        return;
    servers[primary].has_names = true;
    world_totals->marks++;
    world_note_loss();
    world_heal();
    if (random_one_in(random, 4))
        check_late(owner);
    else
        check_in_time(owner, random);
}

/* One node reads the row, and nothing of the log. */
static void read_row_only(int number, int owner, int lagging)
{
    struct elapse__partition_figures figures;
    uint64_t last = servers[primary].state.row.last_group;
    world.now_ms += LEASE_MS / 10 + 1;
    for (unsigned i = 0; i < LEASE_MS && world.violation[0] == '\0'; i++) {
        pass_time_of(owner, lagging);
        node_receive(number);
        elapse__partition_figures(nodes[number].partition, &figures);
        if (figures.last_group == last && figures.timeline > 0)
            return;
        node_act(number);
    }
}

/* C11. A node has lost its directory, and sees the groups of the owner in the row while it reads
 * none of them. Then they are lost, and the owner for good. */
static void check_witness(struct random_source *random)
{
    int owner = answering_node();
    int lagging = (primary + 1 + (int)random_below(random, 2)) % SERVERS;
    int witness = (owner + 1 + (int)random_below(random, NODES - 1)) % NODES;
    if (nodes[witness].has_stopped || nodes[witness].must_stop || node_has_wrong_clock(witness))
        return;
    node_crash(witness);
    node_empty(witness);
    if (random_one_in(random, 2))
        nodes[witness].witness = (struct elapse__partition_witness){.epoch = 0}; /* a new node */
    node_start(witness);
    for (unsigned i = 0; i < 4; i++) {
        (void)node_submit(owner);
        for (unsigned j = 0; j < 20; j++)
            pass_time_of(owner, lagging);
        read_row_only(witness, owner, lagging);
    }
    node_persist(witness);
    if (random_one_in(random, 2))
        node_crash(witness);
    node_crash(owner);
    if (!database_fail_over(true, false) || primary_has(nodes[witness].witness.place))
        return;
    servers[primary].has_names = true;
    world_totals->witnessed++;
    world.has_lost = true; /* nobody has to stop, but the mark stops all */
    world_heal();
    node_start(witness);
    check_that_others_are_silent(owner, 4 * LEASE_MS);
    if (!servers[primary].state.row.is_marked)
        world_violate("a group that a node has seen is lost, and there is no mark");
}

/* Everybody has what the log has. */
static void check_ends(void)
{
    const struct sim_row *row = &servers[primary].state.row;
    if (!world.has_lost && !primary_has(world.told))
        world_violate("a group of which an answer told is lost");
    for (int i = 0; i < NODES; i++) {
        if (nodes[i].partition == NULL || nodes[i].has_stopped || role_of(i) == ELAPSE__ROLE_ENDED)
            continue;
        if (nodes[i].local.group != row->last_group || nodes[i].local.hash != row->last_hash)
            world_violate("a node does not have the end of the log");
    }
}

static unsigned stopped_nodes(void)
{
    unsigned stopped = 0;
    for (int i = 0; i < NODES; i++)
        stopped += nodes[i].has_stopped;
    return stopped;
}

/* C10 */
static void check_clock_of_owner(void)
{
    bool has_right = false;
    for (int i = 0; i < NODES; i++)
        has_right = has_right || (nodes[i].partition != NULL && !nodes[i].has_stopped &&
                                  role_of(i) != ELAPSE__ROLE_ENDED && !node_has_wrong_clock(i));
    if (has_right && node_has_wrong_clock(answering_node()))
        world_violate("a node whose clock is wrong answers");
}

/* C4, C11 */
static void check_loss(const struct sim_node *node)
{
    const struct sim_row *row = &servers[primary].state.row;
    if (node->must_stop && !node->has_stopped)
        world_violate("a node knows of a group that is lost, and does not stop");
    if (node->must_tell && !node->has_stopped && !row->is_marked && !row->is_missed)
        world_violate("a node has seen a group that is lost, and nothing says so");
}

void world_finish(struct random_source *random)
{
    world_heal();
    for (int i = 0; i < LEASE_MS; i++) {
        if (i < LEASE_MS / 4)
            restart_ended(); /* some were about to end */
        pass_time(4);
    }
    for (int i = 0; i < NODES; i++)
        check_loss(&nodes[i]);
    if (stopped_nodes() == NODES)
        return;
    if (answering_node() < 0) {
        world_violate("no node answers although all is well");
        return;
    }
    check_clock_of_owner();
    for (unsigned i = 0; i < 10; i++) {
        (void)node_submit(answering_node());
        for (unsigned j = 0; j < 20; j++)
            pass_time(1);
        if (answering_node() < 0)
            world_violate("the owner does not stay although all is well");
        if (world.violation[0] != '\0')
            return;
    }
    restart_ended(); /* some were about to end */
    for (int i = 0; i < LEASE_MS / 2; i++)
        pass_time(4);
    check_ends();
    if (stopped_nodes() + 2 > NODES || world.violation[0] != '\0')
        return;
    uint64_t kind = random_below(random, 5);
    if (kind == 0)
        check_take_over();
    else if (kind == 1)
        check_hand_over();
    else if (kind == 2)
        check_move(random);
    else if (kind == 3)
        check_mark(random);
    else
        check_witness(random);
}
