/*
 * The figures of a replay.
 */
#ifndef ELAPSE_CLI_REPLAY_FIGURES_H
#define ELAPSE_CLI_REPLAY_FIGURES_H

#include <stdint.h>

/* How many levels the report lists. Deeper levels are counted together with the last one. */
#define REPLAY_LEVELS 64

struct replay_figures {
    uint64_t operations;
    uint64_t started;
    uint64_t restarted;
    uint64_t stopped;
    uint64_t fired;
    uint64_t pending; /* timers pending at the end */
    uint64_t peak_pending;
    uint64_t early;          /* timers that fired before their deadline, which is a fault */
    uint64_t late_ticks_max; /* over the timers that fired, and those pending at the end */
    uint64_t wakeups;
    uint64_t moves;
    double ns_per_operation;
    uint64_t digest; /* sum of XXH3_64bits_withSeed(key, deadline_us) of timers that fired */

    /* Where the timers were, at a moment near the peak. */
    uint64_t occupancy_pending; /* how many timers were pending when the occupancy was taken */
    unsigned levels;            /* the highest occupied level, plus 1 */
    uint64_t level_timers[REPLAY_LEVELS];
    uint64_t level_slots[REPLAY_LEVELS]; /* occupied slots */
};

#endif
