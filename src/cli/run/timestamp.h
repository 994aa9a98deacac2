/*
 * Moments as people and programs write them: 2026-11-20T10:00:00.25+01:00 (RFC 3339).
 */
#ifndef ELAPSE_CLI_RUN_TIMESTAMP_H
#define ELAPSE_CLI_RUN_TIMESTAMP_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads a moment, in nanoseconds since 1970-01-01T00:00:00Z; one before that is taken for it. A
 * zone (Z or +hh:mm) must be there, a fraction of a second may be. Returns NULL, or
 * what is wrong with it, for people; `*unix_ns` is as it was then.
 */
const char *timestamp_parse(const char *text, size_t length, uint64_t *unix_ns);

/* Length of a moment as timestamp_write writes it. */
enum { TIMESTAMP_BYTES = sizeof "2026-11-20T10:00:00.000000Z" - 1 };

/* Writes a moment, with microseconds and in UTC, without a NUL. */
void timestamp_write(char *out, uint64_t unix_ns);

#endif
