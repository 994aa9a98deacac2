/*
 * The memory of the workloads, and the table of their names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "tails.h"
#include "workload.h"

#define TAIL_FIGURES_OF(kind)                                                                \
    {kind " p50", CYCLES_UNIT}, {kind " p99.9", CYCLES_UNIT}, {kind " p99.99", CYCLES_UNIT}, \
        {kind " worst", CYCLES_UNIT}, {kind " worst, raw", CYCLES_UNIT},                     \
    {                                                                                        \
        kind " moves", "most"                                                                \
    }
#define TAIL_FIGURES_ALL                                                           \
    {                                                                              \
        TAIL_FIGURES_OF("start"), TAIL_FIGURES_OF("stop"), TAIL_FIGURES_OF("tick") \
    }

#define S3_FIGURES                                                                           \
    {                                                                                        \
        {"earliest", "ms"}, {"p50", "ms"}, {"p99", "ms"}, {"p99.9", "ms"}, {"latest", "ms"}, \
            {"cpu", "s"}, {"scheduling cpu", "s"},                                           \
    }

const struct workload_description workload_descriptions[WORKLOADS] = {
    [WORKLOAD_DRAIN] = {.name = "W1",
                        .title = "fill and drain",
                        .figures = {{"start", "ns", "started timer"},
                                    {"expire", "ns", "expired timer"},
                                    {"moves", "per timer"}}},
    [WORKLOAD_DRAIN_SHUFFLED] = {.name = "W1s",
                                 .title = "fill and drain, armed in shuffled order",
                                 .figures = {{"start", "ns", "started timer"},
                                             {"expire", "ns", "expired timer"},
                                             {"moves", "per timer"}}},
    [WORKLOAD_RESTART] = {.name = "W2",
                          .title = "restart",
                          .figures = {{"restart", "ns", "restarted timer"}}},
    [WORKLOAD_RESTART_ANY] = {.name = "W2r",
                              .title = "restart, earlier or later",
                              .figures = {{"restart", "ns", "restarted timer"}}},
    [WORKLOAD_PAIR] = {.name = "W3",
                       .title = "start and stop",
                       .figures = {{"pair", "ns", "start and stop"}}},
    [WORKLOAD_SPARSE] = {.name = "W4",
                         .title = "sparse",
                         .size = SIZE_OWN,
                         .own_timers = SPARSE_TIMERS,
                         .figures = {{"fire", "ns", "timer fired"}, {"wake-ups", "per timer"}}},
    [WORKLOAD_BURST] = {.name = "W5",
                        .title = "burst",
                        .figures = {{"start", "ns", "started timer"},
                                    {"stop", "ns", "stopped timer"},
                                    {"expire", "ns", "expired timer"},
                                    {"last ticks", "ns", "expired timer"}}},
    [WORKLOAD_BURST_SHUFFLED] = {.name = "W5s",
                                 .title = "burst, armed in shuffled order",
                                 .figures = {{"start", "ns", "started timer"},
                                             {"stop", "ns", "stopped timer"},
                                             {"expire", "ns", "expired timer"},
                                             {"last ticks", "ns", "expired timer"}}},
    [WORKLOAD_ONE_TTL] = {.name = "W6",
                          .title = "restart, one TTL",
                          .figures = {{"restart", "ns", "restarted timer"}}},
    [WORKLOAD_IDLE] = {.name = "idle",
                       .title = "idle tick",
                       .figures = {{"tick", "ns", "idle tick"}}},
    [WORKLOAD_WORST] = {.name = "worst",
                        .title = "the longest single call",
                        .figures = {{"call", "ns", "call"},
                                    {"after cascade", "ns", "call"},
                                    {"shuffled call", "ns", "call"},
                                    {"shuffled cascade", "ns", "call"}}},
    [WORKLOAD_TAIL_DRAIN] = {.name = "LW1",
                             .title = "single calls, delays as in W1, shuffled",
                             .tails = true,
                             .figures = TAIL_FIGURES_ALL},
    [WORKLOAD_TAIL_BURST] = {.name = "L5k",
                             .title = "single calls, all within 5000 ticks, shuffled",
                             .tails = true,
                             .figures = TAIL_FIGURES_ALL},
    [WORKLOAD_TAIL_DRAIN_OBJECTS] = {.name = "LW1o",
                                     .title = "LW1, timers inside objects of 128 bytes",
                                     .tails = true,
                                     .figures = TAIL_FIGURES_ALL},
    [WORKLOAD_TAIL_BURST_OBJECTS] = {.name = "L5ko",
                                     .title = "L5k, timers inside objects of 128 bytes",
                                     .tails = true,
                                     .figures = TAIL_FIGURES_ALL},
    [WORKLOAD_TAIL_MIX] = {.name = "Lmix",
                           .title = "single calls, delays as in a trace, keys by Zipf's law",
                           .tails = true,
                           .figures = TAIL_FIGURES_ALL},
    [WORKLOAD_SCHEDULE] = {.name = "S1",
                           .title = "schedule",
                           .figures = {{"schedule", "ns", "scheduled task"},
                                       {"two threads", "ns", "scheduled task"},
                                       {"speed-up", "times"}}},
    [WORKLOAD_CANCEL] = {.name = "S2",
                         .title = "cancel",
                         .figures = {{"cancel", "ns", "cancelled task"}}},
    [WORKLOAD_DELIVER] = {.name = "S3",
                          .title = "come due, ticks of 1 ms, no workers",
                          .size = SIZE_LARGEST,
                          .real_time = true,
                          .figures = S3_FIGURES},
    [WORKLOAD_DELIVER_FINE] = {.name = "S3f",
                               .title = "come due, ticks of 50 us, no workers",
                               .size = SIZE_LARGEST,
                               .real_time = true,
                               .figures = S3_FIGURES},
    [WORKLOAD_DELIVER_WORKERS] = {.name = "S3w",
                                  .title = "come due, ticks of 1 ms, ten workers",
                                  .size = SIZE_LARGEST,
                                  .real_time = true,
                                  .figures = S3_FIGURES},
    [WORKLOAD_SLEEP] = {.name = "S4",
                        .title = "idle",
                        .size = SIZE_LARGEST,
                        .real_time = true,
                        .figures = {{"cpu", "ms in 5 s"}, {"wake-ups", "in 5 s"}}},
    [WORKLOAD_MEMORY] = {.name = "S5",
                         .title = "memory",
                         .figures = {{"task", "bytes"},
                                     {"resident", "bytes"},
                                     {"keyed task", "bytes"},
                                     {"keyed resident", "bytes"}}},
    [WORKLOAD_RESCHEDULE] = {.name = "S6",
                             .title = "reschedule",
                             .size = SIZE_OWN,
                             .own_timers = RESCHEDULE_TASKS,
                             .figures = {{"reschedule", "ns", "rescheduled task"}}},
};

void *workspace_allocate(size_t bytes)
{
    enum { PAGE_BYTES = 4096 };
    size_t rounded = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    void *memory = aligned_alloc(PAGE_BYTES, rounded);
    if (memory == NULL) {
        fprintf(stderr, "elapse-bench: no memory for %zu bytes\n", bytes);
        exit(EXIT_FAILURE);
    }
    memset(memory, 0, rounded);
    return memory;
}

static uint32_t *random_permutation(struct generator *generator, size_t count)
{
    uint32_t *permutation = workspace_allocate(count * sizeof *permutation);
    for (size_t i = 0; i < count; i++)
        permutation[i] = (uint32_t)i;
    for (size_t left = count; left > 1; left--) {
        size_t chosen = below(generator, left);
        uint32_t last = permutation[left - 1];
        permutation[left - 1] = permutation[chosen];
        permutation[chosen] = last;
    }
    return permutation;
}

struct workspace *workspace_new(size_t timers, double seconds)
{
    struct generator generator = {GENERATOR_SEED};
    struct workspace *workspace = workspace_allocate(sizeof *workspace);
    /* W4 has its own number of timers, in the same nodes. */
    size_t nodes = (timers > SPARSE_TIMERS ? timers : SPARSE_TIMERS) + FOREGROUND_TIMERS;
    workspace->timers = timers;
    workspace->seconds = seconds;
    workspace->node_count = nodes;
    workspace->nodes = workspace_allocate(nodes * NODE_BYTES_MOST);
    workspace->storage_bytes = nodes * 2 * sizeof(uint64_t);
    workspace->storage = workspace_allocate(workspace->storage_bytes);
    workspace->arm_order = random_permutation(&generator, timers);
    workspace->stop_order = random_permutation(&generator, timers);
    workspace->by_deadline = workspace_allocate(nodes * sizeof *workspace->by_deadline);
    /* Each tick has an advance, each timer has a pop, and a cascade may precede each. */
    workspace->calls_most = 3 * (timers + WORST_LEAD_TICKS + BURST_SPAN);
    workspace->call_ns = workspace_allocate(workspace->calls_most * sizeof *workspace->call_ns);
    return workspace;
}

void workspace_free(struct workspace *workspace)
{
    free(workspace->nodes);
    free(workspace->storage);
    free(workspace->arm_order);
    free(workspace->stop_order);
    free(workspace->by_deadline);
    free(workspace->call_ns);
    tails_free(workspace->tails);
    free(workspace);
}

void workspace_clear_nodes(struct workspace *workspace, size_t node_bytes)
{
    memset(workspace->nodes, 0, workspace->node_count * node_bytes);
}

uint64_t restart_operations(size_t timers)
{
    uint64_t operations = (uint64_t)timers * 10 / RESTARTS_A_TICK * RESTARTS_A_TICK;
    if (operations < 2000000)
        return 2000000;
    return operations > 20000000 ? 20000000 : operations;
}
