/*
 * The memory of the tails, the operations of the mix, and the figures.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tails.h"

static struct tails *tails_new(size_t timers)
{
    struct tails *tails = workspace_allocate(sizeof *tails);
    size_t starts = timers > MIX_OPERATIONS ? timers : MIX_OPERATIONS;
    tails->calls[TAIL_START].most = starts;
    tails->calls[TAIL_STOP].most = starts;
    tails->calls[TAIL_TICK].most = DRAIN_SPAN;
    for (size_t kind = 0; kind < TAIL_KINDS; kind++) {
        struct tail_calls *calls = &tails->calls[kind];
        calls->least_cycles = workspace_allocate(calls->most * sizeof *calls->least_cycles);
    }
    tails->objects = workspace_allocate(timers * TAIL_OBJECT_BYTES);
    return tails;
}

void tails_free(struct tails *tails)
{
    if (tails == NULL)
        return;
    for (size_t kind = 0; kind < TAIL_KINDS; kind++)
        free(tails->calls[kind].least_cycles);
    free(tails->objects);
    free(tails->mix);
    free(tails);
}

struct tails *tails_begin(struct workspace *workspace, size_t object_bytes)
{
    if (workspace->tails == NULL)
        workspace->tails = tails_new(workspace->timers);
    struct tails *tails = workspace->tails;
    tails->object_bytes = object_bytes;
    for (size_t kind = 0; kind < TAIL_KINDS; kind++) {
        struct tail_calls *calls = &tails->calls[kind];
        memset(calls->least_cycles, 0xff, calls->most * sizeof *calls->least_cycles);
        calls->raw_worst = 0;
        calls->moves_most = 0;
    }
    return tails;
}

void tails_begin_pass(struct workspace *workspace)
{
    struct tails *tails = workspace->tails;
    memset(tails->objects, 0, workspace->timers * tails->object_bytes);
    for (size_t kind = 0; kind < TAIL_KINDS; kind++)
        tails->calls[kind].count = 0;
}

/* ---- the mix ---- */

/* A random number in (0, 1]. */
static double fraction(struct generator *generator)
{
    return (double)(1 + below(generator, UINT64_C(1) << 53)) / (double)(UINT64_C(1) << 53);
}

/* A delay in ticks of 1 ms. Without a trace: six in ten are one of four idle times, three in ten
 * lie anywhere between a tick and an hour, one in ten between a tick and 30 days; on a logarithmic
 * scale, each length is as likely as another. */
static uint32_t draw_delay(const struct workspace *workspace, struct generator *generator)
{
    static const uint32_t idle_times[] = {5000, 30000, 60000, 300000};
    if (workspace->delay_count != 0)
        return workspace->delays[below(generator, workspace->delay_count)];
    uint64_t tenth = below(generator, 10);
    if (tenth < 6)
        return idle_times[below(generator, sizeof idle_times / sizeof *idle_times)];
    double longest = tenth < 9 ? 3600e3 : 30 * 24 * 3600e3;
    return (uint32_t)exp(fraction(generator) * log(longest));
}

/* A key by Zipf's law with the exponent 1: the key of rank r comes 1 / r as often as the first. The
 * ranks are scattered over the nodes. */
static uint32_t draw_key(const struct workspace *workspace, struct generator *generator)
{
    size_t rank = (size_t)exp(fraction(generator) * log((double)workspace->timers + 1));
    return workspace->arm_order[(rank - 1) % workspace->timers];
}

/* A delay of a timer that is pending at the beginning. Of those that are pending at any moment most
 * are long ones: a delay is taken in proportion to its length, up to a minute. */
static uint32_t draw_pending_delay(const struct workspace *workspace, struct generator *generator)
{
    enum { MINUTE = 60000, TRIES = 100 };
    uint32_t delay = draw_delay(workspace, generator);
    for (unsigned try = 1; try < TRIES && below(generator, MINUTE) >= delay; try++)
        delay = draw_delay(workspace, generator);
    return delay;
}

const struct mix_operation *tails_mix(struct workspace *workspace)
{
    struct tails *tails = workspace->tails;
    struct generator generator = {GENERATOR_SEED};
    size_t count = workspace->timers + MIX_OPERATIONS;
    if (tails->mix != NULL)
        return tails->mix;
    tails->mix = workspace_allocate(count * sizeof *tails->mix);
    for (size_t i = 0; i < count; i++) {
        struct mix_operation *operation = &tails->mix[i];
        if (i < workspace->timers) {
            /* The mix begins in the middle of things: a part of each delay has passed. */
            uint32_t delay = draw_pending_delay(workspace, &generator);
            operation->key = (uint32_t)i;
            operation->delay = 1 + (uint32_t)below(&generator, delay);
        } else {
            operation->key = draw_key(workspace, &generator);
            operation->delay = draw_delay(workspace, &generator);
            if (below(&generator, MIX_STOP_ONE_IN) == 0)
                operation->delay = 0;
        }
    }
    return tails->mix;
}

/* ---- the figures ---- */

static int compare_cycles(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

double curve_calls_each(size_t point)
{
    return pow(10, (double)point / CURVE_POINTS_A_DECADE);
}

/* The time that all calls but one in `calls_each` stay within. */
static double beyond(const struct tail_calls *calls, double calls_each)
{
    size_t slower = (size_t)((double)calls->count / calls_each);
    return calls->least_cycles[slower < calls->count ? calls->count - 1 - slower : 0];
}

void tails_figures(const struct tails *tails, double *figures)
{
    for (size_t kind = 0; kind < TAIL_KINDS; kind++) {
        const struct tail_calls *calls = &tails->calls[kind];
        double *named = &figures[kind * TAIL_FIGURES];
        double *curve = &figures[TAIL_CURVES + kind * CURVE_POINTS];
        if (calls->count == 0 || calls->count > calls->most)
            continue;
        qsort(calls->least_cycles, calls->count, sizeof *calls->least_cycles, compare_cycles);
        named[TAIL_HALF] = beyond(calls, 2);
        named[TAIL_3_NINES] = beyond(calls, 1e3);
        named[TAIL_4_NINES] = beyond(calls, 1e4);
        named[TAIL_WORST] = calls->least_cycles[calls->count - 1];
        named[TAIL_WORST_RAW] = calls->raw_worst;
        if (calls->moves_most != UINT64_MAX)
            named[TAIL_MOVES] = (double)calls->moves_most;
        for (size_t point = 0; point < CURVE_POINTS; point++) {
            if (curve_calls_each(point) <= (double)calls->count)
                curve[point] = beyond(calls, curve_calls_each(point));
        }
    }
}
