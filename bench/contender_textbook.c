/*
 * The textbook wheel, as a contender. It cannot say when the next timer is due, and goes through a
 * jump of 2^32 ticks tick by tick, so W4 is infeasible.
 */
#include "textbook_wheel.h"
#include "workload.h"

#define CONTENDER_NAME       "textbook"
#define CONTENDER_IDLE_TICKS 10000000

typedef struct textbook_timer node_type;

static struct textbook_wheel wheel;

static inline void structure_reset(struct workspace *workspace)
{
    (void)workspace;
    textbook_wheel_init(&wheel);
}

static inline void structure_start(node_type *node, uint64_t deadline)
{
    textbook_wheel_start(&wheel, node, deadline);
}

static inline bool structure_stop(node_type *node)
{
    return textbook_wheel_stop(node);
}

static inline void structure_advance(uint64_t now)
{
    textbook_wheel_advance(&wheel, now);
}

static inline node_type *structure_pop(void)
{
    return textbook_wheel_pop(&wheel);
}

static inline uint64_t structure_moves(void)
{
    return wheel.moves;
}

#include "workloads.h"

const struct contender contender_textbook = {
    .name = CONTENDER_NAME,
    .title = "textbook hierarchical wheel, 4 levels of 256 slots",
    .node_bytes = sizeof(node_type),
    .run = CONTENDER_RUNS,
};
