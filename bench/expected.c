/*
 * Computes what every workload must fire, and checks what has fired. No structure is used here,
 * only the deadlines and the rules of the workload.
 */
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "tails.h"
#include "workload.h"

static void fire(struct fired *fired, uint64_t tick)
{
    fired->count++;
    fired->tick_sum += tick;
}

static struct fired expect_drain(size_t timers)
{
    struct generator generator = {GENERATOR_SEED};
    struct fired fired = {0};
    for (size_t i = 0; i < timers; i++)
        fire(&fired, 1 + below(&generator, DRAIN_SPAN - 1));
    return fired;
}

/* Counts the firings of a timer up to `now`. After each it is armed again. */
static void fire_and_rearm(struct fired *fired, uint64_t *deadline, uint64_t now)
{
    for (; *deadline <= now; *deadline += TIME_TO_LIVE)
        fire(fired, *deadline);
}

/* The deadlines lie in workspace->nodes. */
static struct fired expect_restarts(struct workspace *workspace, struct generator *generator,
                                    uint64_t tick, enum workload workload)
{
    uint64_t *deadlines = workspace->nodes;
    uint64_t operations = restart_operations(workspace->timers);
    struct fired fired = {0};
    for (uint64_t done = 0; done < operations; done++) {
        uint64_t *deadline = &deadlines[below(generator, workspace->timers)];
        uint64_t now = tick + done / RESTARTS_A_TICK;
        fire_and_rearm(&fired, deadline, now);
        *deadline = now + restart_delay(workload, generator);
    }
    uint64_t last = tick + (operations + RESTARTS_A_TICK - 1) / RESTARTS_A_TICK;
    for (size_t i = 0; i < workspace->timers; i++)
        fire_and_rearm(&fired, &deadlines[i], last);
    return fired;
}

static struct fired expect_restart(struct workspace *workspace, enum workload workload)
{
    struct generator generator = {GENERATOR_SEED};
    uint64_t *deadlines = workspace->nodes;
    for (size_t i = 0; i < workspace->timers; i++)
        deadlines[i] = 1 + below(&generator, TIME_TO_LIVE);
    return expect_restarts(workspace, &generator, 0, workload);
}

static struct fired expect_one_ttl(struct workspace *workspace)
{
    struct generator generator = {GENERATOR_SEED};
    uint64_t *deadlines = workspace->nodes;
    for (size_t i = 0; i < workspace->timers; i++)
        deadlines[i] = ramp_tick(i, workspace->timers) + TIME_TO_LIVE;
    return expect_restarts(workspace, &generator, RAMP_TICKS - 1, WORKLOAD_ONE_TTL);
}

static struct fired expect_sparse(void)
{
    struct generator generator = {GENERATOR_SEED};
    struct fired fired = {0};
    uint64_t round_start = 0;
    for (unsigned round = 0; round < SPARSE_ROUNDS; round++) {
        uint64_t last = 0;
        for (unsigned i = 0; i < SPARSE_TIMERS; i++) {
            uint64_t deadline = round_start + 1 + below(&generator, SPARSE_SPAN - 1);
            fire(&fired, deadline);
            last = deadline > last ? deadline : last;
        }
        round_start = last;
    }
    return fired;
}

static struct fired expect_burst(struct workspace *workspace, const uint32_t *order)
{
    struct generator generator = {GENERATOR_SEED};
    uint64_t *deadlines = workspace->nodes;
    for (size_t i = 0; i < workspace->timers; i++)
        deadlines[order == NULL ? i : order[i]] = BURST_DELAY + below(&generator, BURST_SPAN);
    struct fired fired = {0};
    for (size_t i = burst_stops(workspace->timers); i < workspace->timers; i++)
        fire(&fired, deadlines[workspace->stop_order[i]]);
    return fired;
}

static struct fired expect_tail_burst(size_t timers)
{
    struct generator generator = {GENERATOR_SEED};
    struct fired fired = {0};
    for (size_t i = 0; i < timers; i++)
        fire(&fired, TAIL_BURST_FIRST + below(&generator, TAIL_BURST_SPAN));
    return fired;
}

/* Fires a timer of the mix if its deadline has come; one that is idle has the deadline 0. */
static void fire_if_due(struct fired *fired, uint64_t deadline, uint64_t now)
{
    if (deadline != 0 && deadline <= now)
        fire(fired, deadline);
}

static struct fired expect_mix(struct workspace *workspace)
{
    const struct mix_operation *next = tails_mix(workspace);
    uint64_t *deadlines = workspace->nodes;
    struct fired fired = {0};
    for (size_t i = 0; i < workspace->timers; i++, next++)
        deadlines[next->key] = next->delay;
    for (uint64_t tick = 1; tick <= MIX_TICKS; tick++) {
        for (unsigned i = 0; i < MIX_OPERATIONS_A_TICK; i++, next++) {
            fire_if_due(&fired, deadlines[next->key], tick);
            deadlines[next->key] = next->delay == 0 ? 0 : tick + next->delay;
        }
    }
    for (size_t i = 0; i < workspace->timers; i++)
        fire_if_due(&fired, deadlines[i], MIX_TICKS);
    return fired;
}

struct fired expected_fired(struct workspace *workspace, enum workload workload)
{
    switch (workload) {
    case WORKLOAD_DRAIN:
    case WORKLOAD_DRAIN_SHUFFLED:
    case WORKLOAD_TAIL_DRAIN:
        return expect_drain(workspace->timers);
    case WORKLOAD_RESTART:
    case WORKLOAD_RESTART_ANY:
        return expect_restart(workspace, workload);
    case WORKLOAD_ONE_TTL:
        return expect_one_ttl(workspace);
    case WORKLOAD_SPARSE:
        return expect_sparse();
    case WORKLOAD_BURST:
        return expect_burst(workspace, NULL);
    case WORKLOAD_BURST_SHUFFLED:
        return expect_burst(workspace, workspace->arm_order);
    case WORKLOAD_TAIL_BURST:
        return expect_tail_burst(workspace->timers);
    case WORKLOAD_TAIL_MIX:
        return expect_mix(workspace);
    case WORKLOAD_PAIR:
    case WORKLOAD_IDLE:
    case WORKLOAD_WORST:
    case WORKLOAD_TAIL_DRAIN_OBJECTS:
    case WORKLOAD_TAIL_BURST_OBJECTS: /* they ask for what LW1 and L5k must fire */
    default:                          /* the scheduler's workloads have their own checks */
        break;
    }
    return (struct fired){0};
}

void check_count(const char *what, const char *contender, uint64_t count, uint64_t expected)
{
    if (count == expected)
        return;
    fprintf(stderr, "elapse-bench: %s: %s: %llu, expected %llu\n", contender, what,
            (unsigned long long)count, (unsigned long long)expected);
    exit(EXIT_FAILURE);
}

void check_fired(struct workspace *workspace, enum workload workload, const char *contender,
                 struct fired fired)
{
    if (!workspace->expected_known[workload]) {
        workspace->expected[workload] = expected_fired(workspace, workload);
        workspace->expected_known[workload] = true;
    }
    struct fired expected = workspace->expected[workload];
    const char *name = workload_descriptions[workload].name;
    char what[80];
    snprintf(what, sizeof what, "timers fired in %s", name);
    check_count(what, contender, fired.count, expected.count);
    snprintf(what, sizeof what, "sum of the ticks at which timers fired in %s", name);
    check_count(what, contender, fired.tick_sum, expected.tick_sum);
}
