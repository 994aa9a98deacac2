/*
 * A replay from within: what replay.c, which reads and sweeps, shares with
 * replay_apply.c, which drives the structure and judges it.
 */
#ifndef ELAPSE_CLI_REPLAY_APPLY_H
#define ELAPSE_CLI_REPLAY_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "records.h"
#include "replay.h"
#include "trace.h"

#define REPLAY_BATCH_OPERATIONS 4096

/* An operation that has been read: its record is found, its times are ticks. */
struct replay_step {
    enum trace_kind kind;
    struct record *record;
    uint64_t time_tick;
    uint64_t deadline_tick;
    uint64_t deadline_us;
};

struct replay {
    const struct elapse_structure *structure;
    const struct elapse_shape *shape;
    void *instance;
    void *storage; /* the instance's, if it takes any */
    size_t capacity;
    bool begun; /* the instance has been initialised */
    uint64_t tick_us;
    uint64_t now_tick;
    uint64_t time_us; /* of the operation read last */

    struct record_table table;
    struct record *ended;

    /* The occupancy is taken again once fewer than this are pending; 0: not. */
    uint64_t occupancy_below;
    uint64_t occupancy_ns; /* spent on it in this batch */
    uint64_t apply_ns;     /* spent on all batches, without that */

    struct samples *samples;
    struct replay_figures figures;
    const char *fault;

    size_t step_count;
    struct replay_step steps[REPLAY_BATCH_OPERATIONS];
};

/* Initialises the structure: virtual time begins at `now_tick`. */
void replay_begin(struct replay *replay, uint64_t now_tick);

/* Takes the steps that have been read through the structure, as long as it has no
 * fault. */
void replay_apply_batch(struct replay *replay);

/* Adds what the record fired with to the digest, if that is still to be done. */
void replay_collect_digest(struct replay *replay, struct record *record);

#endif
