/*
 * Collects the samples of a plot.
 */
#include "samples.h"

#include <math.h>
#include <string.h>

#include "../../base/assert.h"

void samples_init(struct samples *samples)
{
    memset(samples, 0, sizeof *samples);
    samples->interval_us = 1;
}

/* Merges each pair of intervals into one. */
static void halve(struct samples *samples)
{
    size_t half = SAMPLES_INTERVALS_MAX / 2;

    ELAPSE__ASSERT(samples->intervals <= SAMPLES_INTERVALS_MAX);
    for (size_t i = 0; i < half; i++) {
        size_t left = 2 * i;
        size_t right = left + 1;
        uint64_t most = samples->seen[left] ? samples->most[left] : 0;

        if (samples->seen[right] && samples->most[right] > most)
            most = samples->most[right];
        samples->most[i] = most;
        samples->last[i] = samples->last[samples->seen[right] ? right : left];
        samples->seen[i] = samples->seen[left] || samples->seen[right];
    }
    memset(samples->seen + half, 0, sizeof samples->seen - half * sizeof samples->seen[0]);
    samples->intervals = (samples->intervals + 1) / 2;
    samples->interval_us *= 2;
}

void samples_add_pending(struct samples *samples, uint64_t time_us, uint64_t pending)
{
    ELAPSE__ASSERT(!samples->begun || time_us >= samples->last_us);
    if (!samples->begun) {
        samples->begun = true;
        samples->first_us = time_us;
    }
    while ((time_us - samples->first_us) / samples->interval_us >= SAMPLES_INTERVALS_MAX)
        halve(samples);

    size_t i = (size_t)((time_us - samples->first_us) / samples->interval_us);
    ELAPSE__ASSERT(i < SAMPLES_INTERVALS_MAX);
    if (!samples->seen[i] || pending > samples->most[i])
        samples->most[i] = pending;
    samples->last[i] = pending;
    samples->seen[i] = true;
    samples->last_us = time_us;
    samples->intervals = i + 1;
}

void samples_add_delay(struct samples *samples, uint64_t delay_us)
{
    if (delay_us == 0) {
        samples->zero_delays++;
        return;
    }
    size_t bin = (size_t)(log10((double)delay_us) * SAMPLES_BINS_A_DECADE);
    ELAPSE__ASSERT(bin < SAMPLES_BINS);
    samples->delays[bin]++;
}

void samples_finish(struct samples *samples)
{
    ELAPSE__ASSERT(samples->intervals <= SAMPLES_INTERVALS_MAX);
    for (size_t i = 1; i < samples->intervals; i++) {
        if (!samples->seen[i]) {
            samples->most[i] = samples->last[i - 1];
            samples->last[i] = samples->last[i - 1];
        }
    }
}
