/*
 * GLib as a contender. A timer is a GSource, created and attached when it is first started.
 * g_source_set_ready_time starts and restarts it and, with -1, stops it. A tick is a
 * g_main_context_iteration that may not block. Ready times are microseconds on the monotonic
 * clock, so nothing is rounded.
 *
 * An iteration looks at every source, so it is given few timers only. Each
 * g_source_set_ready_time also wakes the context by writing to an eventfd.
 */
#include <glib.h>

#include "../workload.h"

#define CONTENDER_NAME       "glib"
#define CONTENDER_IDLE_TICKS 1000

struct timer_source;

typedef struct {
    struct timer_source *source;
} node_type;

#include "rival.h"

struct timer_source {
    GSource source;
    node_type *node;
};

static GMainContext *context;

static void loop_turn(void)
{
    g_main_context_iteration(context, FALSE);
}

static void loop_wait(void)
{
    g_main_context_iteration(context, TRUE);
}

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    (void)callback;
    (void)user_data;
    g_source_set_ready_time(source, -1);
    note_fired(((struct timer_source *)source)->node);
    return G_SOURCE_CONTINUE;
}

static void make_source(node_type *node)
{
    static GSourceFuncs functions = {.dispatch = dispatch};
    node->source = (struct timer_source *)g_source_new(&functions, sizeof *node->source);
    node->source->node = node;
    g_source_attach(&node->source->source, context);
    g_source_unref(&node->source->source); /* the context holds a reference */
}

static inline void structure_reset(struct workspace *workspace)
{
    rival_begin(workspace);
    context = g_main_context_new();
}

static inline void structure_start(node_type *node, uint64_t deadline)
{
    if (node->source == NULL)
        make_source(node);
    g_source_set_ready_time(&node->source->source, (gint64)virtual_monotonic_us(deadline));
}

static inline bool structure_stop(node_type *node)
{
    bool pending = g_source_get_ready_time(&node->source->source) != -1;
    g_source_set_ready_time(&node->source->source, -1);
    return pending;
}

#include "../workloads.h"

static void end(void)
{
    g_main_context_unref(context);
    virtual_time_end();
}

const struct contender contender_glib = {
    .name = CONTENDER_NAME,
    .title = "GLib " NUMBER_TEXT(GLIB_MAJOR_VERSION) "." NUMBER_TEXT(
        GLIB_MINOR_VERSION) ", GSource: all of them are looked at in every turn",
    .node_bytes = sizeof(struct timer_source),
    .run = CONTENDER_RUNS,
    .most_timers =
        {
            [WORKLOAD_DRAIN] = 100,
            [WORKLOAD_DRAIN_SHUFFLED] = 100,
            [WORKLOAD_RESTART] = 10000,
            [WORKLOAD_RESTART_ANY] = 10000,
            [WORKLOAD_PAIR] = 10000,
            [WORKLOAD_BURST] = 100,
            [WORKLOAD_BURST_SHUFFLED] = 100,
            [WORKLOAD_ONE_TTL] = 10000,
            [WORKLOAD_IDLE] = 10000,
        },
    .end = end,
};
