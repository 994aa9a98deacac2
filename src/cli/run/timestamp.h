/*
 * Points in wall-clock time as text: 2026-11-20T10:00:00.25+01:00 (RFC 3339).
 */
#ifndef ELAPSE_CLI_RUN_TIMESTAMP_H
#define ELAPSE_CLI_RUN_TIMESTAMP_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads a time into `*unix_ns`, in nanoseconds since 1970-01-01T00:00:00Z; an earlier time becomes
 * 0. The zone (Z or +hh:mm) is required, a fraction of the second is optional. Returns NULL; or a
 * phrase that names the error, and then leaves `*unix_ns` as it was.
 */
const char *timestamp_parse(const char *text, size_t length, uint64_t *unix_ns);

/* The length of what timestamp_write writes. */
enum { TIMESTAMP_BYTES = sizeof "2026-11-20T10:00:00.000000Z" - 1 };

/* Writes a time in UTC, with microseconds and without a NUL. */
void timestamp_write(char *out, uint64_t unix_ns);

#endif
