/*
 * The replay: takes a trace through a structure in virtual time.
 *
 * Operations go in batches, each in three stages:
 *
 *     read    parse the lines, find each key's record           not timed
 *     apply   advance, pop and judge, start and stop timers     timed
 *     sweep   digest what fired, free what nobody needs         not timed
 *
 * A record is one arming of one key: from its start, through its restarts, until
 * it fires or is stopped. The stages look at time in two ways. Reading judges
 * the trace by itself, in microseconds: at time t every deadline up to t has
 * passed. Applying lets the structure work in ticks, which may be coarser: a
 * deadline is rounded up and the time of an operation down. So a key that has
 * expired by the trace, and may be started again, can still wait in the
 * structure; the new start gets a record of its own.
 *
 * Memory is proportional to the pending timers, not to the length of the trace
 * or the number of its keys.
 */
#ifndef ELAPSE_CLI_REPLAY_REPLAY_H
#define ELAPSE_CLI_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/structure.h>

#include "samples.h"
#include "trace.h"

/* Levels that the report tells apart; deeper ones count with the last. */
#define REPLAY_LEVELS 64

struct replay_figures {
    uint64_t operations;
    uint64_t started;
    uint64_t restarted;
    uint64_t stopped;
    uint64_t fired;
    uint64_t pending; /* at the end */
    uint64_t peak_pending;
    uint64_t early;          /* fired before their deadline: a fault */
    uint64_t late_ticks_max; /* of those fired, and of those pending at the end */
    uint64_t wakeups;
    uint64_t moves;
    double ns_per_operation;
    uint64_t digest; /* sum over all fired of XXH3_64bits_withSeed(key, deadline_us) */

    /* Where the timers stood near the peak. */
    uint64_t occupancy_pending; /* how many were pending then */
    unsigned levels;            /* the highest occupied level, plus 1 */
    uint64_t level_timers[REPLAY_LEVELS];
    uint64_t level_slots[REPLAY_LEVELS]; /* occupied */
};

enum replay_status {
    REPLAY_OK,
    REPLAY_BAD_TRACE,        /* see the reader's line and error */
    REPLAY_BROKEN_STRUCTURE, /* see replay_fault() */
};

struct replay;

/* `shape` and `samples` may be NULL; both stay the caller's, and are used until replay_free. */
struct replay *replay_new(const struct elapse_structure *structure,
                          const struct elapse_shape *shape, uint64_t tick_us,
                          struct samples *samples);

/* Reads and applies one batch. `*more` tells whether the trace goes on. */
enum replay_status replay_batch(struct replay *replay, struct trace_reader *reader, bool *more);

/* The figures so far; some are set by replay_finish only. */
const struct replay_figures *replay_figures(const struct replay *replay);

/* Takes the last figures, when the trace has ended. */
enum replay_status replay_finish(struct replay *replay);

/* What the structure did wrong, after REPLAY_BROKEN_STRUCTURE; else NULL. */
const char *replay_fault(const struct replay *replay);

void replay_free(struct replay *replay);

#endif
