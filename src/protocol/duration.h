/*
 * Durations as people write them: 1us, 250ms, 1.5s, 1h15m30s.
 *
 *  * A duration has one or more parts. A part is a decimal number and a unit. The number may have a
 * fraction. The units are w (week), d (day), h (hour), m (minute), s (second), ms, us and ns. A
 * week has 7 days, and a day has 24 hours. The parts are ordered by their units, and the largest
 * unit comes first. A duration has each unit at most once. The arithmetic is exact, in whole
 * nanoseconds.
 */
#ifndef ELAPSE__DURATION_H
#define ELAPSE__DURATION_H

#include <stddef.h>
#include <stdint.h>

/* Reads a duration from the `size` bytes at `text`. Stores the duration in `*duration_ns` and
 * returns NULL. If the bytes are no duration, returns a phrase that names the error, and leaves
 * `*duration_ns` unchanged. */
const char *elapse__duration_parse(const char *text, size_t size, uint64_t *duration_ns);

/* A duration as text. The longest one is 213503d23h34m33s709ms551us615ns. */
struct elapse__duration_text {
    char text[48];
};

/* Returns the text of a duration, such as "1h15m30s" or "0s". elapse__duration_parse reads this
 * text. */
struct elapse__duration_text elapse__duration_format(uint64_t duration_ns);

#endif
