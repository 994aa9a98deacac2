/*
 * The workloads, as code. This file is not a header in the usual sense: each
 * contender_*.c includes it once, after it has defined
 *
 *     node_type                       the node of the structure
 *     CONTENDER_NAME                  for messages
 *     CONTENDER_IDLE_TICKS            the number of idle ticks to time
 *     structure_reset(workspace)      an empty structure at time 0
 *     structure_start(node, deadline)
 *     structure_stop(node)            true if it was pending
 *     structure_advance(now)
 *     structure_pop()                 a due node, or NULL
 *     structure_moves()               the number of moves of nodes so far; not needed with
 *                                     CONTENDER_MOVES_UNKNOWN
 *     structure_next()                only with CONTENDER_HAS_NEXT
 *     structure_cascade(most)         only with CONTENDER_HAS_CASCADE
 *
 * With CONTENDER_POPS_IN_TURN an advance fires all due nodes and pop only hands them out, so
 * there is no single call to time.
 *
 * Every contender thus gets its own copy of the loops, and the compiler inlines the inline
 * functions of its structure into them, as in a real program. An idle tick of the wheel is only a
 * comparison and a store: a table of functions would add a call or two to that.
 */
#include <string.h>

#include "contender.h"
#include "measure.h"

/* Prepares an empty structure and idle nodes. */
static node_type *begin(struct workspace *workspace)
{
    workspace_clear_nodes(workspace, sizeof(node_type));
    structure_reset(workspace);
    return workspace->nodes;
}

static inline size_t armed_at(const uint32_t *order, size_t position)
{
    return order == NULL ? position : order[position];
}

/* Advances to this tick and counts the nodes that are due. */
static inline void tick_and_count(uint64_t tick, struct fired *fired)
{
    structure_advance(tick);
    while (structure_pop() != NULL) {
        fired->count++;
        fired->tick_sum += tick;
    }
}

/* Advances tick by tick from `first` on, until `count` nodes have fired or `last` has passed. */
static void tick_until_fired(uint64_t first, uint64_t last, uint64_t count, struct fired *fired)
{
    for (uint64_t tick = first; tick <= last && fired->count < count; tick++)
        tick_and_count(tick, fired);
}

/* ---- W1 ---- */

static void fill(node_type *nodes, size_t timers, const uint32_t *order)
{
    struct generator generator = {GENERATOR_SEED};
    for (size_t i = 0; i < timers; i++)
        structure_start(&nodes[armed_at(order, i)], 1 + below(&generator, DRAIN_SPAN - 1));
}

static void drain_in_order(struct workspace *workspace, const uint32_t *order,
                           enum workload workload, double *figures)
{
    node_type *nodes = begin(workspace);
    struct fired fired = {0};

    uint64_t began = clock_ns();
    fill(nodes, workspace->timers, order);
    uint64_t started = clock_ns();
    tick_until_fired(1, DRAIN_SPAN, workspace->timers, &fired);
    uint64_t ended = clock_ns();

    check_fired(workspace, workload, CONTENDER_NAME, fired);
    figures[DRAIN_START] = ns_each(began, started, workspace->timers);
    figures[DRAIN_EXPIRE] = ns_each(started, ended, workspace->timers);
#ifndef CONTENDER_MOVES_UNKNOWN
    figures[DRAIN_MOVES] = (double)structure_moves() / (double)workspace->timers;
#endif
}

static void run_drain(struct workspace *workspace, double *figures)
{
    drain_in_order(workspace, NULL, WORKLOAD_DRAIN, figures);
}

static void run_drain_shuffled(struct workspace *workspace, double *figures)
{
    drain_in_order(workspace, workspace->arm_order, WORKLOAD_DRAIN_SHUFFLED, figures);
}

/* ---- W2 and W6 ---- */

static void restart_from(struct workspace *workspace, struct generator *generator, uint64_t tick,
                         enum workload workload, double *figures)
{
    node_type *nodes = workspace->nodes;
    node_type *node;
    size_t timers = workspace->timers;
    uint64_t operations = restart_operations(timers);
    struct fired fired = {0};

    uint64_t began = clock_ns();
    for (uint64_t done = 0; done < operations; done += RESTARTS_A_TICK) {
        for (unsigned i = 0; i < RESTARTS_A_TICK; i++) {
            node = &nodes[below(generator, timers)];
            structure_start(node, tick + restart_delay(workload, generator));
        }
        tick++;
        structure_advance(tick);
        while ((node = structure_pop()) != NULL) {
            fired.count++;
            fired.tick_sum += tick;
            structure_start(node, tick + TIME_TO_LIVE);
        }
    }
    uint64_t ended = clock_ns();

    check_fired(workspace, workload, CONTENDER_NAME, fired);
    figures[0] = ns_each(began, ended, operations);
}

static void restart_pending(struct workspace *workspace, enum workload workload, double *figures)
{
    node_type *nodes = begin(workspace);
    struct generator generator = {GENERATOR_SEED};
    for (size_t i = 0; i < workspace->timers; i++)
        structure_start(&nodes[i], 1 + below(&generator, TIME_TO_LIVE));
    restart_from(workspace, &generator, 0, workload, figures);
}

static void run_restart(struct workspace *workspace, double *figures)
{
    restart_pending(workspace, WORKLOAD_RESTART, figures);
}

static void run_restart_any(struct workspace *workspace, double *figures)
{
    restart_pending(workspace, WORKLOAD_RESTART_ANY, figures);
}

static void run_one_ttl(struct workspace *workspace, double *figures)
{
    node_type *nodes = begin(workspace);
    struct generator generator = {GENERATOR_SEED};
    struct fired fired = {0};
    size_t started = 0;
    for (uint64_t tick = 0; tick < RAMP_TICKS; tick++) {
        tick_and_count(tick, &fired);
        for (; started < workspace->timers && ramp_tick(started, workspace->timers) == tick;
             started++)
            structure_start(&nodes[started], tick + TIME_TO_LIVE);
    }
    check_count("timers fired in the ramp of W6", CONTENDER_NAME, fired.count, 0);
    check_count("timers started in the ramp of W6", CONTENDER_NAME, started, workspace->timers);
    restart_from(workspace, &generator, RAMP_TICKS - 1, WORKLOAD_ONE_TTL, figures);
}

/* ---- W3 ---- */

static void run_pair(struct workspace *workspace, double *figures)
{
    node_type *nodes = begin(workspace);
    node_type *foreground = nodes + workspace->timers;
    struct generator generator = {GENERATOR_SEED};
    uint64_t stopped = 0;
    fill(nodes, workspace->timers, NULL);
    for (size_t i = 0; i < FOREGROUND_TIMERS; i++)
        structure_start(&foreground[i], 1 + below(&generator, DRAIN_SPAN - 1));

    uint64_t began = clock_ns();
    for (unsigned done = 0; done < PAIRS; done += FOREGROUND_TIMERS) {
        for (size_t oldest = 0; oldest < FOREGROUND_TIMERS; oldest++) {
            stopped += structure_stop(&foreground[oldest]);
            structure_start(&foreground[oldest], 1 + below(&generator, DRAIN_SPAN - 1));
        }
    }
    uint64_t ended = clock_ns();

    check_count("timers stopped in W3", CONTENDER_NAME, stopped, PAIRS);
    figures[0] = ns_each(began, ended, PAIRS);
}

/* ---- W4 ---- */

#ifdef CONTENDER_HAS_NEXT
static void run_sparse(struct workspace *workspace, double *figures)
{
    node_type *nodes = begin(workspace);
    struct generator generator = {GENERATOR_SEED};
    struct fired fired = {0};
    uint64_t tick = 0;
    uint64_t wake_ups = 0;
    uint64_t spent_ns = 0;

    for (unsigned round = 0; round < SPARSE_ROUNDS; round++) {
        uint64_t round_start = tick;
        for (size_t i = 0; i < SPARSE_TIMERS; i++)
            structure_start(&nodes[i], round_start + 1 + below(&generator, SPARSE_SPAN - 1));
        uint64_t began = clock_ns();
        for (uint64_t next = structure_next(); next != UINT64_MAX; next = structure_next()) {
            tick = next;
            wake_ups++;
            tick_and_count(tick, &fired);
        }
        spent_ns += clock_ns() - began;
    }

    check_fired(workspace, WORKLOAD_SPARSE, CONTENDER_NAME, fired);
    figures[SPARSE_FIRE] = (double)spent_ns / (double)fired.count;
    figures[SPARSE_WAKE_UPS] = (double)wake_ups / (double)fired.count;
}
#else
#define run_sparse NULL
#endif

/* ---- W5 ---- */

static void start_burst(node_type *nodes, size_t timers, const uint32_t *order)
{
    struct generator generator = {GENERATOR_SEED};
    for (size_t i = 0; i < timers; i++)
        structure_start(&nodes[armed_at(order, i)], BURST_DELAY + below(&generator, BURST_SPAN));
}

static void burst_in_order(struct workspace *workspace, const uint32_t *order,
                           enum workload workload, double *figures)
{
    node_type *nodes = begin(workspace);
    size_t timers = workspace->timers;
    size_t stops = burst_stops(timers);
    struct fired fired = {0};
    uint64_t stopped = 0;

    uint64_t began = clock_ns();
    start_burst(nodes, timers, order);
    uint64_t started = clock_ns();
    for (size_t i = 0; i < stops; i++)
        stopped += structure_stop(&nodes[workspace->stop_order[i]]);
    uint64_t cleared = clock_ns();
    tick_until_fired(1, BURST_DELAY - 1, timers - stops, &fired);
    uint64_t reached = clock_ns();
    tick_until_fired(BURST_DELAY, BURST_DELAY + BURST_SPAN, timers - stops, &fired);
    uint64_t ended = clock_ns();

    check_count("timers stopped in W5", CONTENDER_NAME, stopped, stops);
    check_fired(workspace, workload, CONTENDER_NAME, fired);
    figures[BURST_START] = ns_each(began, started, timers);
    figures[BURST_STOP] = ns_each(started, cleared, stops);
    figures[BURST_EXPIRE] = ns_each(cleared, ended, timers - stops);
    figures[BURST_LAST_TICKS] = ns_each(reached, ended, timers - stops);
}

static void run_burst(struct workspace *workspace, double *figures)
{
    burst_in_order(workspace, NULL, WORKLOAD_BURST, figures);
}

static void run_burst_shuffled(struct workspace *workspace, double *figures)
{
    burst_in_order(workspace, workspace->arm_order, WORKLOAD_BURST_SHUFFLED, figures);
}

/* ---- idle ---- */

static void run_idle(struct workspace *workspace, double *figures)
{
    node_type *nodes = begin(workspace);
    struct generator generator = {GENERATOR_SEED};
    for (size_t i = 0; i < workspace->timers; i++)
        structure_start(&nodes[i], IDLE_DELAY + below(&generator, IDLE_SPAN));

    uint64_t due = 0;
    uint64_t began = clock_ns();
    for (uint64_t tick = 1; tick <= CONTENDER_IDLE_TICKS; tick++) {
        /* Otherwise the compiler would keep the wheel in registers. */
        forget_memory();
        structure_advance(tick);
        due += structure_pop() != NULL;
    }
    uint64_t ended = clock_ns();

    check_count("timers fired in idle ticks", CONTENDER_NAME, due, 0);
    figures[0] = ns_each(began, ended, CONTENDER_IDLE_TICKS);
}

/* ---- the worst single call ---- */

#ifndef CONTENDER_POPS_IN_TURN
/* Notes the time of the call with this number, from `began` to now, unless an earlier pass was
 * faster. Every pass makes the same calls. So a call that is slow in one pass only was slowed down
 * by the machine, not by the structure. */
static inline void note_call(struct workspace *workspace, size_t number, uint64_t began)
{
    uint64_t took_ns = clock_ns() - began;
    if (number < workspace->calls_most && took_ns < workspace->call_ns[number])
        workspace->call_ns[number] = (uint32_t)took_ns;
}

/* Runs W5 without stops, and times every call by itself. Returns the number of calls. */
static size_t time_each_call(struct workspace *workspace, const uint32_t *order, bool cascade_first)
{
    node_type *nodes = begin(workspace);
    struct fired fired = {0};
    size_t calls = 0;
    start_burst(nodes, workspace->timers, order);
    tick_until_fired(1, BURST_DELAY - WORST_LEAD_TICKS, workspace->timers, &fired);

    for (uint64_t tick = BURST_DELAY - WORST_LEAD_TICKS; tick < BURST_DELAY + BURST_SPAN; tick++) {
        uint64_t began = clock_ns();
        structure_advance(tick);
        note_call(workspace, calls++, began);
        for (bool due = true; due;) {
#ifdef CONTENDER_HAS_CASCADE
            for (bool cascaded = !cascade_first; !cascaded;) {
                began = clock_ns();
                cascaded = structure_cascade(CASCADE_MOVES);
                note_call(workspace, calls++, began);
            }
#endif
            began = clock_ns();
            due = structure_pop() != NULL;
            note_call(workspace, calls++, began);
            fired.count += due;
        }
    }
    (void)cascade_first;
    check_count("timers fired, call by call", CONTENDER_NAME, fired.count, workspace->timers);
    check_count("room for calls, call by call", CONTENDER_NAME, calls > workspace->calls_most, 0);
    return calls;
}

static double worst_call_ns(struct workspace *workspace, const uint32_t *order, bool cascade_first)
{
    memset(workspace->call_ns, 0xff, workspace->calls_most * sizeof *workspace->call_ns);
    size_t calls = 0;
    for (unsigned pass = 0; pass < WORST_PASSES; pass++)
        calls = time_each_call(workspace, order, cascade_first);
    uint32_t worst_ns = 0;
    for (size_t call = 0; call < calls; call++) {
        if (workspace->call_ns[call] > worst_ns)
            worst_ns = workspace->call_ns[call];
    }
    return worst_ns;
}

static void run_worst(struct workspace *workspace, double *figures)
{
    figures[WORST_CALL] = worst_call_ns(workspace, NULL, false);
    figures[WORST_SHUFFLED_CALL] = worst_call_ns(workspace, workspace->arm_order, false);
#ifdef CONTENDER_HAS_CASCADE
    figures[WORST_CASCADE] = worst_call_ns(workspace, NULL, true);
    figures[WORST_SHUFFLED_CASCADE] = worst_call_ns(workspace, workspace->arm_order, true);
#endif
}

/* ---- the tails ---- */

#include "tail_workloads.h"
#else
#define run_worst              NULL
#define run_tail_drain         NULL
#define run_tail_burst         NULL
#define run_tail_drain_objects NULL
#define run_tail_burst_objects NULL
#define run_tail_mix           NULL
#endif

/* The initialiser of `run` in the contender's struct. */
#define CONTENDER_RUNS                                                                            \
    {                                                                                             \
        [WORKLOAD_DRAIN] = run_drain, [WORKLOAD_DRAIN_SHUFFLED] = run_drain_shuffled,             \
        [WORKLOAD_RESTART] = run_restart, [WORKLOAD_RESTART_ANY] = run_restart_any,               \
        [WORKLOAD_PAIR] = run_pair, [WORKLOAD_SPARSE] = run_sparse, [WORKLOAD_BURST] = run_burst, \
        [WORKLOAD_BURST_SHUFFLED] = run_burst_shuffled, [WORKLOAD_ONE_TTL] = run_one_ttl,         \
        [WORKLOAD_IDLE] = run_idle, [WORKLOAD_WORST] = run_worst,                                 \
        [WORKLOAD_TAIL_DRAIN] = run_tail_drain, [WORKLOAD_TAIL_BURST] = run_tail_burst,           \
        [WORKLOAD_TAIL_DRAIN_OBJECTS] = run_tail_drain_objects,                                   \
        [WORKLOAD_TAIL_BURST_OBJECTS] = run_tail_burst_objects,                                   \
        [WORKLOAD_TAIL_MIX] = run_tail_mix,                                                       \
    }
