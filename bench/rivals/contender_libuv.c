/*
 * libuv as a contender. uv_timer_start starts and restarts, uv_timer_stop stops, and a tick is
 * uv_run with UV_RUN_NOWAIT. Delays are whole milliseconds from the loop's own time, so nothing is
 * rounded. The handles are initialised before anything is timed.
 */
#include <uv.h>

#include "../workload.h"

#define CONTENDER_NAME       "libuv"
#define CONTENDER_IDLE_TICKS 1000000

typedef uv_timer_t node_type;

#include "rival.h"

static uv_loop_t loop;

static void loop_turn(void)
{
    uv_run(&loop, UV_RUN_NOWAIT);
}

static void loop_wait(void)
{
    uv_run(&loop, UV_RUN_ONCE);
}

static void on_timer(uv_timer_t *timer)
{
    note_fired(timer);
}

static inline void structure_reset(struct workspace *workspace)
{
    node_type *nodes = workspace->nodes;
    rival_begin(workspace);
    check_count("error making the loop", CONTENDER_NAME, (uint64_t)-uv_loop_init(&loop), 0);
    for (size_t i = 0; i < workspace->node_count; i++)
        uv_timer_init(&loop, &nodes[i]);
}

static inline void structure_start(node_type *node, uint64_t deadline)
{
    uv_timer_start(node, on_timer, deadline - virtual_tick, 0);
}

static inline bool structure_stop(node_type *node)
{
    bool pending = uv_is_active((const uv_handle_t *)node);
    uv_timer_stop(node);
    return pending;
}

#include "../workloads.h"

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    uv_close(handle, NULL);
}

static void end(void)
{
    uv_walk(&loop, close_handle, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    check_count("error closing the loop", CONTENDER_NAME, (uint64_t)-uv_loop_close(&loop), 0);
    virtual_time_end();
}

const struct contender contender_libuv = {
    .name = CONTENDER_NAME,
    .title = "libuv " NUMBER_TEXT(UV_VERSION_MAJOR) "." NUMBER_TEXT(
        UV_VERSION_MINOR) ", uv_timer_t: a binary heap linked by pointers",
    .node_bytes = sizeof(node_type),
    .run = CONTENDER_RUNS,
    .end = end,
};
