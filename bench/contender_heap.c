/*
 * The heap of the library, as a contender.
 */
#include <stdlib.h>

#include <elapse/heap.h>

#include "workload.h"

#define CONTENDER_NAME       "heap"
#define CONTENDER_IDLE_TICKS 10000000
#define CONTENDER_HAS_NEXT
#define CONTENDER_HAS_CASCADE

typedef struct elapse_timer node_type;

static struct elapse_heap heap;

static inline void structure_reset(struct workspace *workspace)
{
    if (elapse_heap_init(&heap, workspace->storage, workspace->storage_bytes, 0) != ELAPSE_OK)
        abort();
}

static inline void structure_start(node_type *node, uint64_t deadline)
{
    if (elapse_heap_start(&heap, node, deadline) != ELAPSE_OK)
        abort();
}

static inline bool structure_stop(node_type *node)
{
    return elapse_heap_stop(&heap, node);
}

static inline void structure_advance(uint64_t now)
{
    elapse_heap_advance(&heap, now);
}

static inline node_type *structure_pop(void)
{
    return elapse_heap_pop(&heap);
}

static inline uint64_t structure_moves(void)
{
    return elapse_heap_moves(&heap);
}

static inline uint64_t structure_next(void)
{
    return elapse_heap_next(&heap);
}

static inline bool structure_cascade(size_t most)
{
    return elapse_heap_cascade(&heap, most);
}

#include "workloads.h"

const struct contender contender_heap = {
    .name = CONTENDER_NAME,
    .title = "4-ary heap, elapse/heap.h",
    .node_bytes = sizeof(node_type),
    .run = CONTENDER_RUNS,
};
