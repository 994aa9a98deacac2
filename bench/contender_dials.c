/*
 * The dials of the library, as a contender: 512 slots a level. A level is added when a deadline
 * needs it.
 */
#include <stdlib.h>

#include <elapse/dials.h>

#include "workload.h"

#define CONTENDER_NAME       "dials"
#define CONTENDER_IDLE_TICKS 10000000
#define CONTENDER_HAS_NEXT
#define CONTENDER_HAS_CASCADE

typedef struct elapse_timer node_type;

static struct elapse_dials dials;
static void *storage;

static void *allocate_level(size_t alignment, size_t bytes, void *context)
{
    (void)context;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release_level(void *level, size_t bytes, void *context)
{
    (void)bytes;
    (void)context;
    free(level);
}

static const uint32_t slots[] = {512};
static const struct elapse_allocator growth = {.allocate = allocate_level,
                                               .release = release_level};
static const struct elapse_shape shape = {.slots = slots, .levels = 1, .growth = &growth};

static inline void structure_reset(struct workspace *workspace)
{
    size_t bytes = elapse_dials_storage_bytes(&shape);

    (void)workspace;
    if (storage == NULL)
        storage = malloc(bytes);
    else
        elapse_dials_finish(&dials);
    if (elapse_dials_init(&dials, &shape, storage, bytes, 0) != ELAPSE_OK)
        abort();
}

static inline void structure_start(node_type *node, uint64_t deadline)
{
    if (elapse_dials_start(&dials, node, deadline) != ELAPSE_OK)
        abort();
}

static inline bool structure_stop(node_type *node)
{
    return elapse_dials_stop(&dials, node);
}

static inline void structure_advance(uint64_t now)
{
    elapse_dials_advance(&dials, now);
}

static inline node_type *structure_pop(void)
{
    return elapse_dials_pop(&dials);
}

static inline uint64_t structure_moves(void)
{
    return elapse_dials_moves(&dials);
}

static inline uint64_t structure_next(void)
{
    return elapse_dials_next(&dials);
}

static inline bool structure_cascade(size_t most)
{
    return elapse_dials_cascade(&dials, most);
}

#include "workloads.h"

const struct contender contender_dials = {
    .name = CONTENDER_NAME,
    .title = "dials of 512 slots a level, elapse/dials.h",
    .node_bytes = sizeof(node_type),
    .run = CONTENDER_RUNS,
};
