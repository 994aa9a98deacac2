/*
 * Durations as people write them: 1us, 250ms, 1.5s, 1h15m30s.
 *
 * A duration has one or more parts. Each is a decimal number, with or without a fraction, and a
 * unit: w d h m s ms us ns (a week has 7 d, a day 24 h). The units go from large to small, each at
 * most once. Arithmetic is exact, in whole nanoseconds.
 */
#ifndef ELAPSE__DURATION_H
#define ELAPSE__DURATION_H

#include <stddef.h>
#include <stdint.h>

/* Reads the `size` bytes of `text` into `*duration_ns` and returns NULL. If they are no duration,
 * returns a phrase that names the error, and leaves `*duration_ns` unchanged. */
const char *elapse__duration_parse(const char *text, size_t size, uint64_t *duration_ns);

/* Room for the longest duration, 213503d23h34m33s709ms551us615ns. */
struct elapse__duration_text {
    char text[48];
};

/* Returns a duration in the form that elapse__duration_parse reads: "1h15m30s", or "0s". */
struct elapse__duration_text elapse__duration_format(uint64_t duration_ns);

#endif
