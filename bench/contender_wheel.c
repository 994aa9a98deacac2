/*
 * The wheel of the library, as a contender.
 */
#include <stdlib.h>

#include <elapse/wheel.h>

#include "workload.h"

#define CONTENDER_NAME       "wheel"
#define CONTENDER_IDLE_TICKS 10000000
#define CONTENDER_HAS_NEXT
#define CONTENDER_HAS_CASCADE

typedef struct elapse_timer node_type;

static struct elapse_wheel wheel;

static inline void structure_reset(struct workspace *workspace)
{
    (void)workspace;
    if (elapse_wheel_init(&wheel, 0) != ELAPSE_OK)
        abort();
}

static inline void structure_start(node_type *node, uint64_t deadline)
{
    elapse_wheel_start(&wheel, node, deadline);
}

static inline bool structure_stop(node_type *node)
{
    return elapse_wheel_stop(&wheel, node);
}

static inline void structure_advance(uint64_t now)
{
    elapse_wheel_advance(&wheel, now);
}

static inline node_type *structure_pop(void)
{
    return elapse_wheel_pop(&wheel);
}

static inline uint64_t structure_moves(void)
{
    return elapse_wheel_moves(&wheel);
}

static inline uint64_t structure_next(void)
{
    return elapse_wheel_next(&wheel);
}

static inline bool structure_cascade(size_t most)
{
    return elapse_wheel_cascade(&wheel, most);
}

#include "workloads.h"

const struct contender contender_wheel = {
    .name = CONTENDER_NAME,
    .title = "hierarchical timing wheel, elapse/wheel.h",
    .node_bytes = sizeof(node_type),
    .run = CONTENDER_RUNS,
};
