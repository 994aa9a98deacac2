/*
 * The second stage of a replay, which applies operations to the structure, and the state of a
 * replay, which all stages share. replay.h explains the stages.
 */
#ifndef ELAPSE_CLI_REPLAY_APPLY_H
#define ELAPSE_CLI_REPLAY_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/structure.h>

#include "figures.h"
#include "records.h"
#include "samples.h"
#include "trace.h"
#include "turns.h"

#define REPLAY_BATCH_OPERATIONS 4096

/* An operation that has been read. */
struct replay_step {
    enum trace_kind kind;
    struct record *record;
    uint64_t time_tick;
    uint64_t deadline_tick;
    uint64_t deadline_us;
};

struct replay {
    const char *trace;
    const struct elapse_structure *structure;
    const struct elapse_shape *shape;
    void *instance;
    void *storage; /* the storage of the instance; may be NULL */
    size_t capacity;
    bool begun; /* the instance is initialised */
    uint64_t tick_us;
    uint64_t now_tick;
    uint64_t time_us; /* the time of the operation that was read last */

    struct record_table table;
    struct record *ended; /* list of the records that have fired or were stopped */

    bool takes_occupancy;
    struct turns turns;
    /* The occupancy is taken as soon as fewer timers than this are pending. 0: never. */
    uint64_t occupancy_below;
    uint64_t occupancy_ns; /* how long it took to take the occupancy in this batch */
    uint64_t apply_ns;     /* how long all batches took, without the time for the occupancy */

    struct samples *samples;
    struct replay_figures figures;
    const char *fault;

    size_t step_count;
    struct replay_step steps[REPLAY_BATCH_OPERATIONS];
};

/* Initialises the structure: virtual time begins at `now_tick`. */
void replay_begin(struct replay *replay, uint64_t now_tick);

/* Applies the steps that have been read, until the structure shows a fault. */
void replay_apply_batch(struct replay *replay);

/* Takes the last figures, after the last batch. */
void replay_apply_end(struct replay *replay);

/* Adds the firing of the record to the digest, unless that has been done. */
void replay_collect_digest(struct replay *replay, struct record *record);

#endif
