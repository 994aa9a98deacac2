/*
 * The tails: how long each single call takes, in cycles. Every pass makes the same calls. A call
 * counts with the least of all passes, so that what slows it down once, as an interrupt does, is
 * left out; the greatest of a single pass is reported, too.
 *
 * The code that makes the calls is in tail_workloads.h, once for each contender.
 */
#ifndef BENCH_TAILS_H
#define BENCH_TAILS_H

#include "measure.h"
#include "workload.h"

/* The calls of one kind. */
struct tail_calls {
    uint32_t *least_cycles; /* of each call, over the passes */
    size_t most;            /* room for so many */
    size_t count;           /* in this pass */
    uint32_t raw_worst;     /* the greatest of all calls of all passes */
    uint64_t moves_most;    /* the most moves of one call */
};

/* One operation of the mix: starts the timer of a key, or starts it again, or stops it. */
struct mix_operation {
    uint32_t key;
    uint32_t delay; /* 0: stop */
};

struct tails {
    struct tail_calls calls[TAIL_KINDS];
    char *objects; /* a node lies at the beginning of each */
    size_t object_bytes;
    struct mix_operation *mix; /* first one for each timer, then MIX_OPERATIONS */
};

/* Returns the tails of the workspace, with no calls yet, and nodes in objects of so many bytes. */
struct tails *tails_begin(struct workspace *workspace, size_t object_bytes);

/* Begins a pass: the nodes are zero. */
void tails_begin_pass(struct workspace *workspace);

/* Writes the figures and the points of the curves. */
void tails_figures(const struct tails *tails, double *figures);

/* Draws the operations of the mix, if that was not done before. */
const struct mix_operation *tails_mix(struct workspace *workspace);

void tails_free(struct tails *tails);

/* Notes a call that began at this count of cycles and moved so many timers. */
static inline void tails_note(struct tail_calls *calls, uint64_t began, uint64_t moves)
{
    uint64_t took = cycles_ended() - began;
    uint32_t cycles = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
    if (cycles > calls->raw_worst)
        calls->raw_worst = cycles;
    if (moves > calls->moves_most)
        calls->moves_most = moves;
    if (calls->count < calls->most && cycles < calls->least_cycles[calls->count])
        calls->least_cycles[calls->count] = cycles;
    calls->count++;
}

#endif
