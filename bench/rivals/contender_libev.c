/*
 * libev as a contender. ev_timer_start starts a timer. ev_timer_again restarts a pending one, with
 * the member `repeat` set for the call; the manual recommends this over stop and start.
 * ev_timer_stop stops. A tick is ev_run with EVRUN_NOWAIT.
 *
 * libev counts in floating-point seconds and fires strictly after a deadline. The clock of this
 * benchmark shows only whole ticks. So each delay is a tenth of a tick shorter than asked for, and
 * the timer fires in the turn of its tick.
 */
#include <ev.h>

#include "../workload.h"

#define CONTENDER_NAME       "libev"
#define CONTENDER_IDLE_TICKS 1000000

typedef ev_timer node_type;

#include "rival.h"

static struct ev_loop *loop;

static void loop_turn(void)
{
    ev_run(loop, EVRUN_NOWAIT);
}

static void loop_wait(void)
{
    ev_run(loop, EVRUN_ONCE);
}

static void on_timer(struct ev_loop *its_loop, ev_timer *timer, int events)
{
    (void)its_loop;
    (void)events;
    note_fired(timer);
}

static inline void structure_reset(struct workspace *workspace)
{
    node_type *nodes = workspace->nodes;
    rival_begin(workspace);
    loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV);
    check_count("loops made", CONTENDER_NAME, loop != NULL, 1);
    for (size_t i = 0; i < workspace->node_count; i++)
        ev_timer_init(&nodes[i], on_timer, 0, 0);
}

static inline void structure_start(node_type *node, uint64_t deadline)
{
    static const double seconds_a_tick = 1e-3;
    static const double short_by_ticks = 0.1;
    double delay = ((double)(deadline - virtual_tick) - short_by_ticks) * seconds_a_tick;
    if (ev_is_active(node)) {
        node->repeat = delay;
        ev_timer_again(loop, node);
        node->repeat = 0;
    } else {
        ev_timer_set(node, delay, 0);
        ev_timer_start(loop, node);
    }
}

static inline bool structure_stop(node_type *node)
{
    bool pending = ev_is_active(node);
    ev_timer_stop(loop, node);
    return pending;
}

#include "../workloads.h"

static void end(void)
{
    ev_loop_destroy(loop);
    virtual_time_end();
}

const struct contender contender_libev = {
    .name = CONTENDER_NAME,
    .title = "libev " NUMBER_TEXT(EV_VERSION_MAJOR) "." NUMBER_TEXT(
        EV_VERSION_MINOR) ", ev_timer: a 4-ary heap in an array, deadlines beside the pointers",
    .node_bytes = sizeof(node_type),
    .run = CONTENDER_RUNS,
    .end = end,
};
