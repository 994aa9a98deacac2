/*
 * The replay: runs a trace through a structure in virtual time.
 *
 * Operations are taken in batches, each in three stages:
 *
 *     read    parse the lines, find the record of each key              not timed
 *     apply   advance, pop and check timers, start and stop timers      timed
 *     sweep   add what fired to the digest, free unused records         not timed
 *
 * A record is one arming of one key. It begins with the start of the key, continues through
 * restarts, and ends when the timer fires or is stopped. Two stages see time differently. The stage
 * that reads checks the trace by itself, in microseconds: at time t every deadline up to t has
 * passed. The stage that applies runs the structure in ticks, which may be longer. It rounds a
 * deadline up, and the time of an operation down. So a key may have expired in the trace while its
 * timer is still pending in the structure. If the key is started again then, the new start gets a
 * record of its own.
 *
 * The memory of a replay is proportional to the pending timers, not to the length of the trace or
 * the number of its keys.
 */
#ifndef ELAPSE_CLI_REPLAY_REPLAY_H
#define ELAPSE_CLI_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include <elapse/structure.h>

#include "figures.h"
#include "samples.h"
#include "trace.h"

enum replay_status {
    REPLAY_OK,
    REPLAY_BAD_TRACE,        /* the reader has the line and the error */
    REPLAY_BROKEN_STRUCTURE, /* replay_fault() has the fault */
};

struct replay;

struct replay_plan {
    const char *trace; /* the name of the trace, for messages */
    const struct elapse_structure *structure;
    const struct elapse_shape *shape; /* may be NULL */
    uint64_t tick_us;
    struct samples *samples; /* may be NULL */
    bool takes_occupancy;    /* the occupancy needs a walk over all timers now and then */
};

/* Begins a replay. What the plan points to must not change until replay_free. */
struct replay *replay_new(const struct replay_plan *plan);

/* Reads and applies one batch. Stores in `*more` whether the trace continues. */
enum replay_status replay_batch(struct replay *replay, struct trace_reader *reader, bool *more);

/* Completes the figures. Requires that the trace has ended. */
enum replay_status replay_finish(struct replay *replay);

/* Returns the figures so far. replay_finish completes them. */
const struct replay_figures *replay_figures(const struct replay *replay);

/* Returns what the structure did wrong, or NULL. */
const char *replay_fault(const struct replay *replay);

void replay_free(struct replay *replay);

#endif
