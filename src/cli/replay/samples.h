/*
 * The data of a plot: pending timers over time, and how often each delay occurred. The data take a
 * limited amount of memory.
 */
#ifndef ELAPSE_CLI_REPLAY_SAMPLES_H
#define ELAPSE_CLI_REPLAY_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most intervals of time. When more are needed, each pair of intervals becomes one. */
#define SAMPLES_INTERVALS_MAX 2000

/* Delays are counted by their decimal logarithm, in tenths: bin n begins at
 * 10^(n/10) us, and 2^64 us is below 10^20. */
#define SAMPLES_BINS_A_DECADE 10
#define SAMPLES_BINS          (20 * SAMPLES_BINS_A_DECADE)

struct samples {
    bool begun;
    uint64_t first_us;    /* time of the first sample, where interval 0 begins */
    uint64_t last_us;     /* time of the last sample */
    uint64_t interval_us; /* length of an interval */
    size_t intervals;     /* intervals up to the last sample */
    bool seen[SAMPLES_INTERVALS_MAX];
    uint64_t most[SAMPLES_INTERVALS_MAX]; /* most timers pending in the interval */
    uint64_t last[SAMPLES_INTERVALS_MAX]; /* timers pending at the end of the interval */

    uint64_t zero_delays;
    uint64_t delays[SAMPLES_BINS];
};

void samples_init(struct samples *samples);

/* Notes that `pending` timers are pending from `time_us` on. Requires that times never decrease. */
void samples_add_pending(struct samples *samples, uint64_t time_us, uint64_t pending);

/* Counts a delay. */
void samples_add_delay(struct samples *samples, uint64_t delay_us);

/* Fills the intervals in which nothing happened. Call it once, after the last sample. */
void samples_finish(struct samples *samples);

#endif
