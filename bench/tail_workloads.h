/*
 * The tail workloads, as code. workloads.h includes this file, once for each contender. tails.h
 * explains which calls are timed.
 */
#include "tails.h"

static inline node_type *tail_node(const struct tails *tails, size_t number)
{
    return (node_type *)(void *)(tails->objects + number * tails->object_bytes);
}

#ifdef CONTENDER_MOVES_UNKNOWN
#define TAIL_MOVES_SO_FAR() UINT64_C(0)
#else
#define TAIL_MOVES_SO_FAR() structure_moves()
#endif

static inline void timed_start(struct tails *tails, size_t number, uint64_t deadline)
{
    node_type *node = tail_node(tails, number);
    uint64_t moves = TAIL_MOVES_SO_FAR();
    uint64_t began = cycles_began();
    structure_start(node, deadline);
    tails_note(&tails->calls[TAIL_START], began, TAIL_MOVES_SO_FAR() - moves);
}

static inline bool timed_stop(struct tails *tails, size_t number)
{
    node_type *node = tail_node(tails, number);
    uint64_t moves = TAIL_MOVES_SO_FAR();
    uint64_t began = cycles_began();
    bool stopped = structure_stop(node);
    tails_note(&tails->calls[TAIL_STOP], began, TAIL_MOVES_SO_FAR() - moves);
    return stopped;
}

/* One advance, and pops until NULL. */
static inline void timed_tick(struct tails *tails, uint64_t tick, struct fired *fired)
{
    uint64_t count = 0;
    uint64_t moves = TAIL_MOVES_SO_FAR();
    uint64_t began = cycles_began();
    structure_advance(tick);
    while (structure_pop() != NULL)
        count++;
    tails_note(&tails->calls[TAIL_TICK], began, TAIL_MOVES_SO_FAR() - moves);
    fired->count += count;
    fired->tick_sum += count * tick;
}

/* ---- LW1 and L5k ---- */

/* Starts timers at first + below(span), in random order of the nodes; stops a tenth of them, each
 * being started again at the same deadline; and goes tick by tick until all have fired. */
static void time_each_tick(struct workspace *workspace, size_t object_bytes, uint64_t first,
                           uint64_t span, enum workload workload, double *figures)
{
    struct tails *tails = tails_begin(workspace, object_bytes);
    size_t stops = workspace->timers / 10;
    uint32_t *deadlines = workspace->nodes; /* the nodes lie elsewhere here */
    for (unsigned pass = 0; pass < TAIL_PASSES; pass++) {
        struct generator generator = {GENERATOR_SEED};
        struct fired fired = {0};
        tails_begin_pass(workspace);
        structure_reset(workspace);
        for (size_t i = 0; i < workspace->timers; i++) {
            uint64_t deadline = first + below(&generator, span);
            deadlines[workspace->arm_order[i]] = (uint32_t)deadline;
            timed_start(tails, workspace->arm_order[i], deadline);
        }
        for (size_t i = 0; i < stops; i++) {
            size_t number = workspace->stop_order[i];
            check_count("stops of a pending timer", CONTENDER_NAME, timed_stop(tails, number), 1);
            structure_start(tail_node(tails, number), deadlines[number]);
        }
        for (uint64_t tick = 1; tick < first + span; tick++)
            timed_tick(tails, tick, &fired);
        check_fired(workspace, workload, CONTENDER_NAME, fired);
    }
    tails_figures(tails, figures);
}

static void run_tail_drain(struct workspace *workspace, double *figures)
{
    time_each_tick(workspace, sizeof(node_type), 1, DRAIN_SPAN - 1, WORKLOAD_TAIL_DRAIN, figures);
}

static void run_tail_drain_objects(struct workspace *workspace, double *figures)
{
    time_each_tick(workspace, TAIL_OBJECT_BYTES, 1, DRAIN_SPAN - 1, WORKLOAD_TAIL_DRAIN, figures);
}

static void run_tail_burst(struct workspace *workspace, double *figures)
{
    time_each_tick(workspace, sizeof(node_type), TAIL_BURST_FIRST, TAIL_BURST_SPAN,
                   WORKLOAD_TAIL_BURST, figures);
}

static void run_tail_burst_objects(struct workspace *workspace, double *figures)
{
    time_each_tick(workspace, TAIL_OBJECT_BYTES, TAIL_BURST_FIRST, TAIL_BURST_SPAN,
                   WORKLOAD_TAIL_BURST, figures);
}

/* ---- Lmix ---- */

static void run_tail_mix(struct workspace *workspace, double *figures)
{
    struct tails *tails = tails_begin(workspace, TAIL_OBJECT_BYTES);
    const struct mix_operation *mix = tails_mix(workspace);
    for (unsigned pass = 0; pass < TAIL_PASSES; pass++) {
        const struct mix_operation *next = mix;
        struct fired fired = {0};
        tails_begin_pass(workspace);
        structure_reset(workspace);
        for (size_t i = 0; i < workspace->timers; i++, next++)
            structure_start(tail_node(tails, next->key), next->delay);
        for (uint64_t tick = 1; tick <= MIX_TICKS; tick++) {
            timed_tick(tails, tick, &fired);
            for (unsigned i = 0; i < MIX_OPERATIONS_A_TICK; i++, next++) {
                if (next->delay == 0)
                    (void)timed_stop(tails, next->key);
                else
                    timed_start(tails, next->key, tick + next->delay);
            }
        }
        check_fired(workspace, WORKLOAD_TAIL_MIX, CONTENDER_NAME, fired);
    }
    tails_figures(tails, figures);
}
