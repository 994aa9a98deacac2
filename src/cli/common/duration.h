/*
 * Durations as people write them: 1us, 250ms, 1.5s, 1h15m30s.
 *
 * A duration is one part or several, each a decimal number, with or without a
 * fraction, and a unit: d h m s ms us ns (a day is 24 h). Units go from large to
 * small, each at most once. Arithmetic is exact, in whole nanoseconds.
 */
#ifndef ELAPSE_CLI_COMMON_DURATION_H
#define ELAPSE_CLI_COMMON_DURATION_H

#include <stdint.h>

/* Reads `text` into `*duration_ns` and returns NULL; or returns what is wrong
 * with it, for people, and leaves `*duration_ns` as it was. */
const char *duration_parse(const char *text, uint64_t *duration_ns);

/* Room for the longest duration, 213503d23h34m33s709ms551us615ns. */
struct duration_text {
    char text[48];
};

/* Writes a duration so that duration_parse reads it back: 1h15m30s; "0s". */
struct duration_text duration_format(uint64_t duration_ns);

#endif
