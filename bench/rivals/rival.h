/*
 * The common part of the contenders that are packaged event loops. An advance is a turn of the
 * loop without waiting. The callbacks note which nodes have fired, and pop hands those out.
 *
 * Each contender includes this file once, after it has defined `node_type` and before
 * workloads.h. The contender defines
 *
 *     loop_turn()       a turn that does not wait
 *     loop_wait()       a turn that waits until the loop itself wakes up
 *
 * and calls note_fired(node) in its callback.
 */
#include "../workload.h"
#include "virtual_time.h"

#define CONTENDER_HAS_NEXT
#define CONTENDER_MOVES_UNKNOWN
#define CONTENDER_POPS_IN_TURN

/* Turns the value of a macro into text. */
#define NUMBER_TEXT(number)  NUMBER_TEXT_(number)
#define NUMBER_TEXT_(number) #number

static void loop_turn(void);
static void loop_wait(void);

/* The nodes that have fired and have not been popped. */
static node_type **fired_nodes;
static size_t fired_count;
static size_t fired_popped;

/* Starts virtual time, with no fired nodes. */
static void rival_begin(struct workspace *workspace)
{
    virtual_time_begin();
    fired_nodes = workspace->storage; /* there is room for two pointers a node */
    fired_count = 0;
    fired_popped = 0;
}

static inline void note_fired(node_type *node)
{
    fired_nodes[fired_count++] = node;
}

/* structure_next has already run the turn of its tick. */
static inline void structure_advance(uint64_t now)
{
    if (now == virtual_tick)
        return;
    virtual_tick = now;
    loop_turn();
}

static inline node_type *structure_pop(void)
{
    if (fired_popped < fired_count)
        return fired_nodes[fired_popped++];
    fired_count = 0;
    fired_popped = 0;
    return NULL;
}

/* Lets the loop wait and wake up by itself, and run that turn. Returns the tick. */
static inline uint64_t structure_next(void)
{
    uint64_t before = virtual_tick;
    loop_wait();
    return virtual_tick == before && fired_count == 0 ? UINT64_MAX : virtual_tick;
}
