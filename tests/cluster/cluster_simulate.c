/*
 * cluster-simulate [--seed N] [--runs N] [--seconds S] [--trace] [--no-shrink]
 *
 * Runs three nodes over a simulated database that loses connections, delays, warns and fails over,
 * again and again, and checks what world.h lists. Each run follows from its seed. A run that fails
 * is shrunk: steps are left out as long as it still fails; then its seed, and what happens in the
 * steps that are left, are printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

enum { STEPS_MAX = 3000, RUNS_A_CHILD = 50 };

static struct shared {
    struct world_totals totals;
    uint64_t seed;
    unsigned step;
    char violation[240];
} * shared;

struct plan {
    uint64_t seed;
    unsigned count;
    uint64_t steps[STEPS_MAX];
};

static void make_plan(struct plan *plan, uint64_t seed)
{
    struct random_source random = {.state = seed * 2 + 1};
    plan->seed = seed;
    plan->count = 300 + (unsigned)random_below(&random, STEPS_MAX - 300);
    for (unsigned i = 0; i < plan->count; i++)
        plan->steps[i] = random_next(&random);
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
    default:
        node_lose_connection(node);
        break;
    }
}

/* ---- steps ---- */

/* A process that has ended, or pauses, goes on after a while. */
static void wake(int node, struct random_source *random)
{
    struct elapse__partition_figures figures;
    if (nodes[node].partition == NULL) {
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

static void run_plan(const struct plan *plan)
{
    struct random_source random = {.state = plan->seed ^ UINT64_C(0x5DEECE66D)};
    choose_habits(&random);
    world_begin(&random);
    for (unsigned i = 0; i < plan->count && world.violation[0] == '\0'; i++) {
        shared->step = i;
        step(plan->steps[i]);
    }
    if (world.violation[0] == '\0')
        world_finish(&random);
    world_end();
    world_totals->runs++;
    memcpy(shared->violation, world.violation, sizeof shared->violation);
}

/* ---- processes ---- */

/* Runs plans in a child, because an assertion may end it. Returns whether all is well. */
static bool in_child(void (*work)(void *context), void *context, bool quiet)
{
    (void)fflush(NULL);
    shared->violation[0] = '\0';
    pid_t child = fork();
    if (child == 0) {
        if (quiet && freopen("/dev/null", "w", stderr) == NULL)
            _exit(2);
        work(context);
        (void)fflush(NULL);
        _exit(shared->violation[0] == '\0' ? 0 : 1);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        exit(2);
    if (status != 0 && shared->violation[0] == '\0')
        (void)snprintf(shared->violation, sizeof shared->violation,
                       "the process ended by signal %d",
                       WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return status == 0;
}

struct batch {
    uint64_t first, count;
};

static void run_batch(void *context)
{
    static struct plan plan;
    const struct batch *batch = context;
    for (uint64_t i = 0; i < batch->count && shared->violation[0] == '\0'; i++) {
        shared->seed = batch->first + i;
        make_plan(&plan, shared->seed);
        run_plan(&plan);
    }
}

static void run_one(void *context)
{
    run_plan(context);
}

/* Returns whether a run fails as the first one did: numbers do not count. */
static bool fails_alike(struct plan *plan, const char *violation)
{
    size_t words = strcspn(violation, "0123456789");
    return !in_child(run_one, plan, true) && strncmp(shared->violation, violation, words) == 0;
}

/* Leaves out steps as long as the run still fails. */
static void shrink(struct plan *plan)
{
    char violation[sizeof shared->violation];
    memcpy(violation, shared->violation, sizeof violation);
    static struct plan shorter;
    unsigned trials = 0;
    if (shared->step + 1 < plan->count)
        plan->count = shared->step + 1;
    for (unsigned chunk = plan->count / 2; chunk > 0 && trials < 2500; chunk /= 2) {
        for (unsigned at = 0; at + chunk <= plan->count && trials < 2500; trials++) {
            shorter = *plan;
            shorter.count -= chunk;
            memmove(shorter.steps + at, shorter.steps + at + chunk,
                    (shorter.count - at) * sizeof *shorter.steps);
            if (fails_alike(&shorter, violation))
                *plan = shorter;
            else
                at += chunk;
        }
    }
}

static void report(uint64_t seed, bool shrinks)
{
    static struct plan plan;
    (void)fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, shared->violation);
    (void)fprintf(stderr, "repeat it by --seed %llu --runs 1 --trace\n", (unsigned long long)seed);
    if (!shrinks)
        return;
    make_plan(&plan, seed);
    if (in_child(run_one, &plan, true))
        return;
    unsigned before = plan.count;
    shrink(&plan);
    (void)printf("shrunk from %u to %u steps:\n", before, plan.count);
    world_trace = true;
    (void)in_child(run_one, &plan, false);
    (void)printf("%s\n", shared->violation);
}

static void print_totals(void)
{
    const struct world_totals *totals = world_totals;
    (void)printf(
        "%llu runs: %llu groups confirmed, %llu answers, %llu take-overs; %llu fail-overs, "
        "%llu of them to the wrong standby; %llu lost connections, %llu nodes fenced, "
        "%llu ended, %llu handed over, %llu rebuilt, %llu stopped\n",
        (unsigned long long)totals->runs, (unsigned long long)totals->groups,
        (unsigned long long)totals->answers, (unsigned long long)totals->take_overs,
        (unsigned long long)totals->fail_overs, (unsigned long long)totals->wrong,
        (unsigned long long)totals->losses, (unsigned long long)totals->fenced,
        (unsigned long long)totals->crashes, (unsigned long long)totals->hand_overs,
        (unsigned long long)totals->rebuilds, (unsigned long long)totals->stops);
}

int main(int argc, char **argv)
{
    /* What a child prints must not be lost when an assertion ends it. */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    uint64_t seed = 1, runs = UINT64_MAX;
    double seconds = 0;
    bool shrinks = true;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            world_trace = true;
        else if (strcmp(argv[i], "--no-shrink") == 0)
            shrinks = false;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
            runs = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = strtod(argv[++i], NULL);
        else
            return fprintf(stderr, "cluster-simulate: unknown argument: %s\n", argv[i]), 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 2;
    world_totals = &shared->totals;
    struct timespec start, now;
    (void)timespec_get(&start, TIME_UTC);
    if (runs == UINT64_MAX && seconds == 0)
        runs = 500;
    for (uint64_t done = 0; done < runs;) {
        uint64_t left = runs - done;
        struct batch batch = {seed + done, left < RUNS_A_CHILD ? left : RUNS_A_CHILD};
        if (!in_child(run_batch, &batch, false)) {
            report(shared->seed, shrinks && !world_trace);
            return 1;
        }
        done += batch.count;
        (void)timespec_get(&now, TIME_UTC);
        if (seconds > 0 && difftime(now.tv_sec, start.tv_sec) >= seconds)
            break;
    }
    print_totals();
    return 0;
}
