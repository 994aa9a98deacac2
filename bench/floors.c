/*
 * The floors: the workloads without a structure. They do only what every structure on the same
 * nodes must do: run the generator, loop over the ticks, and access each node once, in the order
 * of the workload. Nodes are as large as the wheel's.
 *
 * Structures differ most in expiry. Three floors imitate it:
 *     floor    reads and writes the nodes in the order of their deadlines. Their addresses are
 *              known beforehand, so cache misses overlap
 *     chain    uses the same order, but reads the next address from the node before, as in a
 *              linked list, so it waits for each miss
 *     stream   goes through the nodes in the order of their addresses
 */
#include <stdlib.h>

#include "contender.h"
#include "measure.h"
#include "scheduler_bench.h"

struct floor_node {
    uint64_t next; /* number of the node that follows in the chain */
    uint64_t deadline;
    uint64_t touched;
    uint64_t unused;
};

static struct floor_node *begin(struct workspace *workspace)
{
    workspace_clear_nodes(workspace, sizeof(struct floor_node));
    return workspace->nodes;
}

static inline void touch(struct floor_node *node)
{
    node->touched += node->deadline;
    node->deadline = 0;
}

static void pass_ticks(uint64_t ticks)
{
    for (uint64_t tick = 0; tick < ticks; tick++)
        tick = keep(tick);
}

/* Sorts the nodes that have a deadline into workspace->by_deadline, by a counting sort. Returns
 * how many there are. */
static size_t sort_by_deadline(struct workspace *workspace, uint64_t first, size_t span)
{
    const struct floor_node *nodes = workspace->nodes;
    uint32_t *places = calloc(span + 1, sizeof *places);
    if (places == NULL)
        abort();
    for (size_t i = 0; i < workspace->timers; i++) {
        if (nodes[i].deadline != 0)
            places[nodes[i].deadline - first + 1]++;
    }
    for (size_t i = 0; i < span; i++)
        places[i + 1] += places[i];
    size_t count = places[span];
    for (size_t i = 0; i < workspace->timers; i++) {
        if (nodes[i].deadline != 0)
            workspace->by_deadline[places[nodes[i].deadline - first]++] = (uint32_t)i;
    }
    free(places);
    return count;
}

/* ---- three orders of expiry ---- */

static void touch_by_deadline(const struct workspace *workspace, size_t count)
{
    struct floor_node *nodes = workspace->nodes;
    for (size_t i = 0; i < count; i++)
        touch(&nodes[workspace->by_deadline[i]]);
}

static void link_chain(const struct workspace *workspace, size_t count)
{
    struct floor_node *nodes = workspace->nodes;
    for (size_t i = 0; i < count; i++)
        nodes[workspace->by_deadline[i]].next = workspace->by_deadline[(i + 1) % count];
}

static void touch_chain(const struct workspace *workspace, size_t count)
{
    struct floor_node *nodes = workspace->nodes;
    uint64_t number = workspace->by_deadline[0];
    for (size_t i = 0; i < count; i++) {
        touch(&nodes[number]);
        number = nodes[number].next;
    }
    (void)keep(number);
}

static void touch_stream(const struct workspace *workspace, size_t count)
{
    struct floor_node *nodes = workspace->nodes;
    for (size_t i = 0; i < count; i++)
        touch(&nodes[i]);
}

/* ---- W1 ---- */

static void fill(struct floor_node *nodes, size_t timers, const uint32_t *order)
{
    struct generator generator = {GENERATOR_SEED};
    for (size_t i = 0; i < timers; i++)
        nodes[order == NULL ? i : order[i]].deadline = 1 + below(&generator, DRAIN_SPAN - 1);
    forget_memory();
}

typedef void touch_function(const struct workspace *workspace, size_t count);

static void drain(struct workspace *workspace, const uint32_t *order, touch_function *touch_all,
                  double *figures)
{
    struct floor_node *nodes = begin(workspace);
    uint64_t began = clock_ns();
    fill(nodes, workspace->timers, order);
    uint64_t started = clock_ns();
    size_t count = sort_by_deadline(workspace, 1, DRAIN_SPAN);
    check_count("timers in W1", "floor", count, workspace->timers);
    link_chain(workspace, count);

    uint64_t sorted = clock_ns();
    pass_ticks(DRAIN_SPAN);
    touch_all(workspace, count);
    forget_memory();
    uint64_t ended = clock_ns();

    if (touch_all == touch_by_deadline)
        figures[DRAIN_START] = ns_each(began, started, count);
    figures[DRAIN_EXPIRE] = ns_each(sorted, ended, count);
}

static void run_drain(struct workspace *workspace, double *figures)
{
    drain(workspace, NULL, touch_by_deadline, figures);
}

static void run_drain_shuffled(struct workspace *workspace, double *figures)
{
    drain(workspace, workspace->arm_order, touch_by_deadline, figures);
}

static void run_drain_chain(struct workspace *workspace, double *figures)
{
    drain(workspace, NULL, touch_chain, figures);
}

static void run_drain_chain_shuffled(struct workspace *workspace, double *figures)
{
    drain(workspace, workspace->arm_order, touch_chain, figures);
}

static void run_drain_stream(struct workspace *workspace, double *figures)
{
    drain(workspace, NULL, touch_stream, figures);
}

static void run_drain_stream_shuffled(struct workspace *workspace, double *figures)
{
    drain(workspace, workspace->arm_order, touch_stream, figures);
}

/* ---- W2 and W6 ---- */

/* A restart has to check whether its timer is pending. So the floor reads a node before it writes
 * it, and writes only if the value read allows it. */
static void restart_node(struct floor_node *node, uint64_t deadline)
{
    if (node->touched == 0)
        node->deadline = deadline;
}

/* Overwrites the deadline without reading it first. */
static void store_node(struct floor_node *node, uint64_t deadline)
{
    node->deadline = deadline;
}

static inline void restart(struct workspace *workspace, double *figures,
                           void (*restart_one)(struct floor_node *, uint64_t))
{
    struct floor_node *nodes = begin(workspace);
    struct generator generator = {GENERATOR_SEED};
    uint64_t operations = restart_operations(workspace->timers);
    uint64_t tick = 0;

    uint64_t began = clock_ns();
    for (uint64_t done = 0; done < operations; done += RESTARTS_A_TICK) {
        for (unsigned i = 0; i < RESTARTS_A_TICK; i++)
            restart_one(&nodes[below(&generator, workspace->timers)], tick + TIME_TO_LIVE);
        tick = keep(tick + 1);
    }
    forget_memory();
    uint64_t ended = clock_ns();
    figures[0] = ns_each(began, ended, operations);
}

static void run_restart(struct workspace *workspace, double *figures)
{
    restart(workspace, figures, restart_node);
}

static void run_restart_store(struct workspace *workspace, double *figures)
{
    restart(workspace, figures, store_node);
}

/* ---- W3 ---- */

static void run_pair(struct workspace *workspace, double *figures)
{
    struct floor_node *foreground = begin(workspace) + workspace->timers;
    struct generator generator = {GENERATOR_SEED};

    uint64_t began = clock_ns();
    for (unsigned done = 0; done < PAIRS; done += FOREGROUND_TIMERS) {
        for (size_t oldest = 0; oldest < FOREGROUND_TIMERS; oldest++) {
            touch(&foreground[oldest]);
            forget_memory();
            foreground[oldest].deadline = 1 + below(&generator, DRAIN_SPAN - 1);
        }
    }
    forget_memory();
    uint64_t ended = clock_ns();
    figures[0] = ns_each(began, ended, PAIRS);
}

/* ---- W4 ---- */

static const struct floor_node *compared_nodes;

static int compare_deadlines(const void *left, const void *right)
{
    uint64_t a = compared_nodes[*(const uint32_t *)left].deadline;
    uint64_t b = compared_nodes[*(const uint32_t *)right].deadline;
    return (a > b) - (a < b);
}

static void run_sparse(struct workspace *workspace, double *figures)
{
    struct floor_node *nodes = begin(workspace);
    struct generator generator = {GENERATOR_SEED};
    uint64_t spent_ns = 0;
    compared_nodes = nodes;

    for (unsigned round = 0; round < SPARSE_ROUNDS; round++) {
        for (uint32_t i = 0; i < SPARSE_TIMERS; i++) {
            nodes[i].deadline = 1 + below(&generator, SPARSE_SPAN - 1);
            workspace->by_deadline[i] = i;
        }
        qsort(workspace->by_deadline, SPARSE_TIMERS, sizeof *workspace->by_deadline,
              compare_deadlines);
        uint64_t began = clock_ns();
        touch_by_deadline(workspace, SPARSE_TIMERS);
        forget_memory();
        spent_ns += clock_ns() - began;
    }
    figures[SPARSE_FIRE] = (double)spent_ns / (double)SPARSE_ROUNDS / (double)SPARSE_TIMERS;
}

/* ---- W5 ---- */

static void burst(struct workspace *workspace, const uint32_t *order, double *figures)
{
    struct floor_node *nodes = begin(workspace);
    struct generator generator = {GENERATOR_SEED};
    size_t timers = workspace->timers;
    size_t stops = burst_stops(timers);

    uint64_t began = clock_ns();
    for (size_t i = 0; i < timers; i++)
        nodes[order == NULL ? i : order[i]].deadline = BURST_DELAY + below(&generator, BURST_SPAN);
    forget_memory();
    uint64_t started = clock_ns();
    for (size_t i = 0; i < stops; i++)
        touch(&nodes[workspace->stop_order[i]]);
    forget_memory();
    uint64_t cleared = clock_ns();
    size_t count = sort_by_deadline(workspace, BURST_DELAY, BURST_SPAN);
    check_count("timers left in W5", "floor", count, timers - stops);

    uint64_t sorted = clock_ns();
    pass_ticks(BURST_DELAY);
    uint64_t reached = clock_ns();
    pass_ticks(BURST_SPAN);
    touch_by_deadline(workspace, count);
    forget_memory();
    uint64_t ended = clock_ns();
    figures[BURST_START] = ns_each(began, started, timers);
    figures[BURST_STOP] = ns_each(started, cleared, stops);
    figures[BURST_EXPIRE] = ns_each(sorted, ended, count);
    figures[BURST_LAST_TICKS] = ns_each(reached, ended, count);
}

static void run_burst(struct workspace *workspace, double *figures)
{
    burst(workspace, NULL, figures);
}

static void run_burst_shuffled(struct workspace *workspace, double *figures)
{
    burst(workspace, workspace->arm_order, figures);
}

/* ---- idle ---- */

static void run_idle(struct workspace *workspace, double *figures)
{
    enum { IDLE_TICKS = 10000000 };
    (void)workspace;
    uint64_t began = clock_ns();
    pass_ticks(IDLE_TICKS);
    uint64_t ended = clock_ns();
    figures[0] = ns_each(began, ended, IDLE_TICKS);
}

const struct contender floor_independent = {
    .name = "floor",
    .title = "no structure: every node accessed, independently of the one before",
    .node_bytes = sizeof(struct floor_node),
    .floor = true,
    .run =
        {
            [WORKLOAD_DRAIN] = run_drain,
            [WORKLOAD_DRAIN_SHUFFLED] = run_drain_shuffled,
            [WORKLOAD_RESTART] = run_restart,
            [WORKLOAD_PAIR] = run_pair,
            [WORKLOAD_SPARSE] = run_sparse,
            [WORKLOAD_BURST] = run_burst,
            [WORKLOAD_BURST_SHUFFLED] = run_burst_shuffled,
            [WORKLOAD_ONE_TTL] = run_restart,
            [WORKLOAD_IDLE] = run_idle,
            [WORKLOAD_SCHEDULE] = run_floor_schedule,
            [WORKLOAD_CANCEL] = run_floor_cancel,
            [WORKLOAD_DELIVER] = run_floor_deliver,
            [WORKLOAD_DELIVER_FINE] = run_floor_deliver_fine,
            [WORKLOAD_SLEEP] = run_floor_sleep,
            [WORKLOAD_RESCHEDULE] = run_floor_reschedule,
        },
};

const struct contender floor_store = {
    .name = "store",
    .title = "no structure: the deadline stored, the node not looked at",
    .node_bytes = sizeof(struct floor_node),
    .floor = true,
    .run =
        {
            [WORKLOAD_RESTART] = run_restart_store,
            [WORKLOAD_ONE_TTL] = run_restart_store,
        },
};

const struct contender floor_chain = {
    .name = "chain",
    .title = "no structure: the next node's address is read from the one before",
    .node_bytes = sizeof(struct floor_node),
    .floor = true,
    .run =
        {
            [WORKLOAD_DRAIN] = run_drain_chain,
            [WORKLOAD_DRAIN_SHUFFLED] = run_drain_chain_shuffled,
        },
};

const struct contender floor_stream = {
    .name = "stream",
    .title = "no structure: the nodes in the order of their addresses",
    .node_bytes = sizeof(struct floor_node),
    .floor = true,
    .run =
        {
            [WORKLOAD_DRAIN] = run_drain_stream,
            [WORKLOAD_DRAIN_SHUFFLED] = run_drain_stream_shuffled,
        },
};
