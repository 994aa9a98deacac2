/*
 * libevent as a contender. evtimer_add starts and restarts, evtimer_del stops, and a tick is
 * event_base_loop with EVLOOP_NONBLOCK. Delays are whole milliseconds, and so is the coarse clock
 * that a base reads by default, so nothing is rounded. The events are assigned before anything is
 * timed.
 *
 * As libevent-c it runs W2 and W6 once more, with event_base_init_common_timeout for the delay of
 * all restarts. The manual advises that for many time-outs of one length.
 */
#include <event2/event.h>
#include <event2/event_struct.h>

#include "../workload.h"

#define CONTENDER_NAME       "libevent"
#define CONTENDER_IDLE_TICKS 1000000

typedef struct event node_type;

#include "rival.h"

enum { TICKS_A_SECOND = 1000, US_A_TICK = 1000 };

static struct event_base *base;
static bool wants_common_timeout;
static const struct timeval *common_timeout; /* NULL if it is not used */

static void loop_turn(void)
{
    event_base_loop(base, EVLOOP_NONBLOCK);
}

static void loop_wait(void)
{
    event_base_loop(base, EVLOOP_ONCE);
}

static void on_timer(evutil_socket_t descriptor, short what, void *context)
{
    (void)descriptor;
    (void)what;
    note_fired(context);
}

static inline struct timeval duration(uint64_t ticks)
{
    return (struct timeval){.tv_sec = (time_t)(ticks / TICKS_A_SECOND),
                            .tv_usec = (suseconds_t)(ticks % TICKS_A_SECOND * US_A_TICK)};
}

static void make_base(struct workspace *workspace)
{
    node_type *nodes = workspace->nodes;
    rival_begin(workspace);
    base = event_base_new();
    check_count("bases made", CONTENDER_NAME, base != NULL, 1);
    for (size_t i = 0; i < workspace->node_count; i++)
        evtimer_assign(&nodes[i], base, on_timer, &nodes[i]);
}

static void find_common_timeout(void)
{
    struct timeval time_to_live = duration(TIME_TO_LIVE);
    common_timeout = event_base_init_common_timeout(base, &time_to_live);
    check_count("common time-outs", CONTENDER_NAME, common_timeout != NULL, 1);
}

static inline void structure_reset(struct workspace *workspace)
{
    make_base(workspace);
    common_timeout = NULL;
    if (wants_common_timeout)
        find_common_timeout();
}

static inline void structure_start(node_type *node, uint64_t deadline)
{
    uint64_t delay = deadline - virtual_tick;
    struct timeval own = duration(delay);
    bool common = common_timeout != NULL && delay == TIME_TO_LIVE;
    evtimer_add(node, common ? common_timeout : &own);
}

static inline bool structure_stop(node_type *node)
{
    bool pending = evtimer_pending(node, NULL) != 0;
    evtimer_del(node);
    return pending;
}

#include "../workloads.h"

static void end(void)
{
    event_base_free(base);
    wants_common_timeout = false;
    virtual_time_end();
}

const struct contender contender_libevent = {
    .name = CONTENDER_NAME,
    .title = "libevent " EVENT__VERSION ", struct event: a binary heap in an array",
    .node_bytes = sizeof(node_type),
    .run = CONTENDER_RUNS,
    .end = end,
};

/* ---- with a common time-out ---- */

static void run_restart_common(struct workspace *workspace, double *figures)
{
    wants_common_timeout = true;
    run_restart(workspace, figures);
}

static void run_one_ttl_common(struct workspace *workspace, double *figures)
{
    wants_common_timeout = true;
    run_one_ttl(workspace, figures);
}

const struct contender contender_libevent_common = {
    .name = "libevent-c",
    .title = "libevent with a common time-out for the delay that all restarts share",
    .node_bytes = sizeof(node_type),
    .variant = true,
    .run = {[WORKLOAD_RESTART] = run_restart_common, [WORKLOAD_ONE_TTL] = run_one_ttl_common},
    .end = end,
};
