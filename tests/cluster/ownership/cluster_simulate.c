/*
 * cluster-simulate [--seed N] [--runs N] [--seconds S] [--trace] [--no-shrink]
 *
 * Runs three nodes over a simulated database. Again and again the database loses connections,
 * delays answers, sends warnings and fails over. world.h lists what is checked. seeds.h says what
 * happens to a run that fails.
 */
#include <stdio.h>
#include <string.h>

#include "seeds.h"
#include "world.h"

static unsigned count_steps(struct random_source *random)
{
    return 300 + (unsigned)random_below(random, SEEDED_STEPS_MAX - 300);
}

/* What a run likes to do. */
static struct habits {
    unsigned fault_in;    /* one step in so many */
    uint64_t tick_ms;     /* how far a step of time goes, at most */
    unsigned time_in;     /* one step in so many lets time pass */
    unsigned lag;         /* standbys receive in one step of so many only */
    bool goes_wrong;      /* the wrong standby may be promoted */
    bool old_one_returns; /* an old primary may get a standby again */
    bool reaches_all;     /* no cuts and pauses */
    bool is_busy;         /* groups are submitted all the time */
    bool sets_node_clock; /* that of one node is set by an hour; those of others are 3 s off */
    int clocked;          /* this node */
} habits;

static void choose_habits(struct random_source *random)
{
    static const unsigned faults[] = {20, 60, 150, 400};
    static const uint64_t ticks[] = {4, 40, 150, 600};
    habits = (struct habits){
        .fault_in = faults[random_below(random, 4)],
        .tick_ms = ticks[random_below(random, 4)],
        .time_in = 3 + (unsigned)random_below(random, 12),
        .lag = 1 + (unsigned)random_below(random, 4),
        .goes_wrong = random_one_in(random, 3),
        .old_one_returns = random_one_in(random, 3),
        .reaches_all = random_one_in(random, 3),
        .is_busy = random_one_in(random, 2),
        .sets_node_clock = random_one_in(random, 2),
        .clocked = (int)random_below(random, NODES),
    };
}

/* ---- faults ---- */

static void trace(const char *what, int number)
{
    if (world_trace)
        (void)printf("%8llu -- %s %d\n", (unsigned long long)world.now_ms, what, number);
}

/* The other standby follows the new primary, or the rest of the old one does. */
static void repair_servers(struct random_source *random)
{
    for (int i = 0; i < SERVERS; i++) {
        if (i == primary || random_one_in(random, 3))
            continue;
        trace("repaired as a standby:", i);
        database_follow(i, primary);
    }
    if (!servers[primary].has_names && !random_one_in(random, 3))
        database_set_names(primary, true);
}

static void fail_over(struct random_source *random)
{
    bool wrong = habits.goes_wrong && random_one_in(random, 2);
    bool lives_on = !wrong && random_one_in(random, 2);
    if (!database_fail_over(wrong, lives_on))
        return;
    trace(wrong ? "the wrong standby is promoted:" : "promoted:", primary);
    servers[primary].has_names = !random_one_in(random, 3);
    world_totals->fail_overs++;
    if (wrong) {
        world_totals->wrong++;
        world_note_loss();
    }
    if (random_one_in(random, 2))
        repair_servers(random);
}

/* An old primary that lives on, isolated. When all nodes know of the new timeline, and only then,
 * it may even get a standby: they must refuse it. */
static void revive(void)
{
    bool all_know = true;
    for (int i = 0; i < NODES; i++)
        all_know = all_know && nodes[i].memory.timeline == servers[primary].timeline;
    if (!all_know)
        return;
    for (int old = 0; old < SERVERS; old++) {
        int other = SERVERS - primary - old;
        if (old == primary || !servers[old].is_primary || servers[other].is_primary)
            continue;
        trace("the old primary has a standby again:", old);
        database_follow(other, old);
        if (!servers[old].has_names)
            database_set_names(old, true);
    }
}

/* A write becomes visible without a standby, nodes see it, and then the standby is promoted that
 * has not got it: the row goes back. */
static void step_back(struct random_source *random)
{
    if (!database_terminate(primary))
        return;
    trace("a write is seen that no standby has, on", primary);
    for (unsigned round = 0; round < 8; round++) {
        for (int i = 0; i < SESSIONS; i++)
            (void)database_run(i, world.now_ms);
        for (int i = 0; i < NODES; i++) {
            node_receive(i);
            node_act(i);
        }
    }
    if (!database_fail_over(false, false))
        return;
    world_totals->fail_overs++;
    trace("promoted:", primary);
    servers[primary].has_names = true;
    for (int i = 0; i < SERVERS; i++)
        if (i != primary)
            database_follow(i, primary);
    for (int i = 0; i < NODES; i++)
        nodes[i].is_paused = nodes[i].partition != NULL && random_one_in(random, 2);
}

static void disturb_servers(struct random_source *random)
{
    int server = (int)random_below(random, SERVERS);
    if (habits.goes_wrong && random_one_in(random, 3)) {
        fail_over(random);
        return;
    }
    switch (random_below(random, 8)) {
    case 0:
        fail_over(random);
        break;
    case 1:
        trace("restarts:", server);
        database_crash(server, random_one_in(random, 2));
        break;
    case 2:
        trace("names are emptied on", server);
        if (random_one_in(random, 2))
            database_set_names(server, false);
        else
            database_flap_names(server);
        break;
    case 3:
        trace("the wait of a commit is cancelled on", server);
        (void)database_cancel(server);
        break;
    case 4:
        trace("a session is terminated on", server);
        (void)database_terminate(server);
        break;
    case 7:
        step_back(random);
        break;
    case 5:
        if (habits.old_one_returns)
            revive();
        break;
    default:
        repair_servers(random);
        break;
    }
}

/* Either the clock of one node is set again and again, or those of servers: with two that are wrong
 * at once nobody could know which. */
static void set_clock(struct random_source *random)
{
    static const int64_t aheads[] = {0, 0, 3000, -3000, HOUR_MS, -HOUR_MS};
    int64_t ahead_ms = aheads[random_below(random, sizeof aheads / sizeof aheads[0])];
    int server = (int)random_below(random, SERVERS);
    if (habits.sets_node_clock)
        nodes[habits.clocked].ahead_ms = ahead_ms;
    else if (world.sets_database_clocks)
        servers[server].ahead_ms = ahead_ms;
    trace("a clock is set to seconds ahead:", (int)(ahead_ms / 1000));
}

static void disturb_nodes(struct random_source *random)
{
    int node = (int)random_below(random, NODES);
    switch (random_below(random, 8)) {
    case 0:
        node_crash(node);
        break;
    case 1:
        if (!habits.reaches_all)
            nodes[node].is_cut[random_below(random, SERVERS)] = true;
        break;
    case 2:
        memset(nodes[node].is_cut, 0, sizeof nodes[node].is_cut);
        break;
    case 3:
        if (!habits.reaches_all && nodes[node].partition != NULL)
            nodes[node].is_paused = true;
        break;
    case 4:
        if (random_one_in(random, 4))
            node_hand_over(node);
        break;
    case 5:
        set_clock(random);
        break;
    case 6:
        node_expect(node, (enum elapse__partition_next_owner)random_below(random, 3));
        if (random_one_in(random, 2))
            node_move(node);
        break;
    default:
        node_lose_connection(node);
        break;
    }
}

static void begin_clocks(struct random_source *random)
{
    world.sets_database_clocks = !habits.sets_node_clock && random_one_in(random, 2);
    for (int i = 0; i < NODES && habits.sets_node_clock; i++)
        nodes[i].ahead_ms = (int64_t)random_below(random, 3) * 3000 - 3000;
    set_clock(random);
}

/* ---- steps ---- */

/* A process that has ended, or pauses, goes on after a while. */
static void wake(int node, struct random_source *random)
{
    struct elapse__partition_figures figures;
    if (nodes[node].partition == NULL) {
        if (random_one_in(random, 8))
            node_empty(node);
        node_start(node);
        return;
    }
    elapse__partition_figures(nodes[node].partition, &figures);
    if (figures.role == ELAPSE__ROLE_ENDED)
        node_crash(node);
    if (random_one_in(random, 2))
        nodes[node].is_paused = false;
}

/* What nodes and servers do all the time, each now and then. */
static void go_on(struct random_source *random)
{
    for (int i = 0; i < SESSIONS; i++)
        if (random_one_in(random, 2))
            (void)database_run(i, world.now_ms);
    for (int i = 0; i < SERVERS; i++) {
        if (random_one_in(random, 2 * habits.lag))
            (void)database_replicate(i, 1 + (unsigned)random_below(random, 3));
        if (random_one_in(random, 2))
            (void)database_release(i);
    }
    for (int i = 0; i < NODES; i++) {
        if (random_one_in(random, 2))
            node_receive(i);
        if (random_one_in(random, 2))
            node_act(i);
    }
}

static void step(uint64_t number)
{
    struct random_source random = {.state = number};
    int node = (int)random_below(&random, NODES);
    if (random_one_in(&random, habits.time_in))
        world.now_ms += random_below(&random, habits.tick_ms + 1);
    if (random_one_in(&random, habits.fault_in)) {
        if (random_one_in(&random, 2))
            disturb_servers(&random);
        else
            disturb_nodes(&random);
        return;
    }
    go_on(&random);
    uint64_t kind = random_below(&random, 100);
    if (kind < 20) {
        node_answer(node);
    } else if (kind < 50) {
        for (int i = 0; i < NODES && (habits.is_busy || random_one_in(&random, 8)); i++)
            (void)node_submit(i);
    } else if (kind < 65) {
        node_persist(node);
    } else if (kind < 75) {
        node_set_aside(node);
    } else if (kind < 80) {
        node_trim(node, random_below(&random, 20));
    } else if (kind < 84) {
        wake(node, &random);
    }
}

static void run_plan(const struct seeded_plan *plan, struct seeded_run *run)
{
    struct random_source random = {.state = plan->seed ^ UINT64_C(0x5DEECE66D)};
    choose_habits(&random);
    world_begin(&random);
    begin_clocks(&random);
    for (unsigned i = 0; i < plan->count && world.violation[0] == '\0'; i++) {
        run->step = i;
        step(plan->steps[i]);
    }
    if (world.violation[0] == '\0')
        world_finish(&random);
    world_end();
    world_totals->runs++;
    _Static_assert(sizeof run->violation >= sizeof world.violation, "it fits");
    memcpy(run->violation, world.violation, sizeof world.violation);
}

static void print_totals(void)
{
    const struct world_totals *totals = world_totals;
    (void)printf(
        "%llu runs: %llu groups confirmed, %llu answers, %llu take-overs; %llu fail-overs, "
        "%llu of them to the wrong standby; %llu lost connections, %llu nodes fenced, "
        "%llu ended, %llu of them without their directories, %llu handed over, %llu moved, %llu "
        "rebuilt, %llu stopped, %llu lost what only the owner had, %llu lost what only a witness "
        "knew\n",
        (unsigned long long)totals->runs, (unsigned long long)totals->groups,
        (unsigned long long)totals->answers, (unsigned long long)totals->take_overs,
        (unsigned long long)totals->fail_overs, (unsigned long long)totals->wrong,
        (unsigned long long)totals->losses, (unsigned long long)totals->fenced,
        (unsigned long long)totals->crashes, (unsigned long long)totals->emptied,
        (unsigned long long)totals->hand_overs, (unsigned long long)totals->moves,
        (unsigned long long)totals->rebuilds, (unsigned long long)totals->stops,
        (unsigned long long)totals->marks, (unsigned long long)totals->witnessed);
}

static void count_in(void *totals)
{
    world_totals = totals;
}

int main(int argc, char **argv)
{
    static const struct seeded_program program = {
        .name = "cluster-simulate",
        .trace = &world_trace,
        .count_steps = count_steps,
        .run = run_plan,
        .totals_bytes = sizeof *world_totals,
        .count_in = count_in,
        .print_totals = print_totals,
    };
    return seeded_main(&program, argc, argv);
}
