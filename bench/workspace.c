/*
 * The memory that the workloads run in, and the table of their names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "workload.h"

const struct workload_description workload_descriptions[WORKLOADS] = {
    [WORKLOAD_DRAIN] = {"W1",
                        "fill and drain",
                        false,
                        {{"start", "ns"}, {"expire", "ns"}, {"moves", "per timer"}, {0}}},
    [WORKLOAD_DRAIN_SHUFFLED] = {"W1s",
                                 "fill and drain, armed in shuffled order",
                                 false,
                                 {{"start", "ns"}, {"expire", "ns"}, {"moves", "per timer"}, {0}}},
    [WORKLOAD_RESTART] = {"W2", "restart", false, {{"restart", "ns"}, {0}}},
    [WORKLOAD_PAIR] = {"W3", "start and stop", false, {{"pair", "ns"}, {0}}},
    [WORKLOAD_SPARSE] = {"W4", "sparse", true, {{"fire", "ns"}, {"wake-ups", "per timer"}, {0}}},
    [WORKLOAD_BURST] =
        {"W5",
         "burst",
         false,
         {{"start", "ns"}, {"stop", "ns"}, {"expire", "ns"}, {"last ticks", "ns"}, {0}}},
    [WORKLOAD_BURST_SHUFFLED] =
        {"W5s",
         "burst, armed in shuffled order",
         false,
         {{"start", "ns"}, {"stop", "ns"}, {"expire", "ns"}, {"last ticks", "ns"}, {0}}},
    [WORKLOAD_ONE_TTL] = {"W6", "restart, one TTL", false, {{"restart", "ns"}, {0}}},
    [WORKLOAD_IDLE] = {"idle", "idle tick", false, {{"tick", "ns"}, {0}}},
    [WORKLOAD_WORST] = {"worst",
                        "the longest single call",
                        false,
                        {{"call", "ns"},
                         {"after settle", "ns"},
                         {"shuffled call", "ns"},
                         {"shuffled settle", "ns"},
                         {0}}},
};

static void *allocate(size_t bytes)
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
    uint32_t *permutation = allocate(count * sizeof *permutation);
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

struct workspace *workspace_new(size_t timers)
{
    struct generator generator = {GENERATOR_SEED};
    struct workspace *workspace = allocate(sizeof *workspace);
    /* W4 has its own number of timers, all of them in the same nodes. */
    size_t nodes = (timers > SPARSE_TIMERS ? timers : SPARSE_TIMERS) + FOREGROUND_TIMERS;
    workspace->timers = timers;
    workspace->node_count = nodes;
    workspace->nodes = allocate(nodes * NODE_BYTES_MOST);
    workspace->storage_bytes = nodes * 2 * sizeof(uint64_t);
    workspace->storage = allocate(workspace->storage_bytes);
    workspace->arm_order = random_permutation(&generator, timers);
    workspace->stop_order = random_permutation(&generator, timers);
    workspace->by_deadline = allocate(nodes * sizeof *workspace->by_deadline);
    /* Each tick and each timer: an advance or a pop, and a settle before it. */
    workspace->calls_most = 3 * (timers + WORST_LEAD_TICKS + BURST_SPAN);
    workspace->call_ns = allocate(workspace->calls_most * sizeof *workspace->call_ns);
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
