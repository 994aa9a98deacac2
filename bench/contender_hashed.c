/*
 * The hashed wheel of the library, as a contender. Its `next` goes at most one turn ahead, so W4,
 * with its jumps of 2^32 ticks, is infeasible.
 */
#include <stdlib.h>

#include <elapse/hashed.h>

#include "workload.h"

#define CONTENDER_NAME       "hashed"
#define CONTENDER_IDLE_TICKS 10000
#define CONTENDER_HAS_CASCADE

enum { SLOTS = 512 };

typedef struct elapse_timer node_type;

static struct elapse_hashed hashed;
static uint64_t storage[SLOTS * sizeof(struct elapse__ring_node) / sizeof(uint64_t) + SLOTS / 64];

static inline void structure_reset(struct workspace *workspace)
{
    (void)workspace;
    if (elapse_hashed_init(&hashed, SLOTS, storage, sizeof storage, 0) != ELAPSE_OK)
        abort();
}

static inline void structure_start(node_type *node, uint64_t deadline)
{
    elapse_hashed_start(&hashed, node, deadline);
}

static inline bool structure_stop(node_type *node)
{
    return elapse_hashed_stop(&hashed, node);
}

static inline void structure_advance(uint64_t now)
{
    elapse_hashed_advance(&hashed, now);
}

static inline node_type *structure_pop(void)
{
    return elapse_hashed_pop(&hashed);
}

static inline uint64_t structure_moves(void)
{
    return elapse_hashed_moves(&hashed);
}

static inline bool structure_cascade(size_t most)
{
    return elapse_hashed_cascade(&hashed, most);
}

#include "workloads.h"

/* Each turn of 512 ticks visits every timer. */
const struct contender contender_hashed = {
    .name = CONTENDER_NAME,
    .title = "hashed wheel of 512 slots, elapse/hashed.h",
    .node_bytes = sizeof(node_type),
    .run = CONTENDER_RUNS,
    .most_timers =
        {
            [WORKLOAD_DRAIN] = 100000,
            [WORKLOAD_DRAIN_SHUFFLED] = 100000,
            [WORKLOAD_RESTART] = 1000000,
            [WORKLOAD_RESTART_ANY] = 1000000,
            [WORKLOAD_BURST] = 100000,
            [WORKLOAD_BURST_SHUFFLED] = 100000,
            [WORKLOAD_ONE_TTL] = 1000000,
            [WORKLOAD_IDLE] = 1000000,
            [WORKLOAD_WORST] = 10000,
            [WORKLOAD_TAIL_DRAIN] = 10000,
            [WORKLOAD_TAIL_BURST] = 10000,
            [WORKLOAD_TAIL_DRAIN_OBJECTS] = 10000,
            [WORKLOAD_TAIL_BURST_OBJECTS] = 10000,
            [WORKLOAD_TAIL_MIX] = 10000,
        },
};
