/*
 * Reads and writes points in wall-clock time: 2026-11-20T10:00:00.25+01:00 (RFC 3339).
 */
#ifndef ELAPSE_CLI_COMMON_TIMESTAMP_H
#define ELAPSE_CLI_COMMON_TIMESTAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/json_writer.h"

/*
 * Reads a time into `*unix_ns`, in nanoseconds since 1970-01-01T00:00:00Z. An earlier time becomes
 * 0. The zone (Z or +hh:mm) is required, and a fraction of the second is optional. Returns NULL. If
 * the text is no time, returns a phrase that names the error, and does not change `*unix_ns`.
 */
const char *timestamp_parse(const char *text, size_t length, uint64_t *unix_ns);

/* A time without a zone. */
struct timestamp_local {
    bool has_date; /* false: only the time of day is given */
    int month;
    int day;
    int hour;
    int minute;
    int second;
    uint64_t fraction_ns;
    int64_t as_utc_s; /* with a date: the time as if it were in UTC, in seconds since 1970 */
};

/* Reads a time without a zone: 2026-11-20T18:30:00.5 or 18:30, each with or without seconds and a
 * fraction. Returns false if the text is no such time. */
bool timestamp_parse_local(const char *text, size_t length, struct timestamp_local *local);

/* How many bytes timestamp_write writes. */
enum { TIMESTAMP_BYTES = sizeof "2026-11-20T10:00:00.000000Z" - 1 };

/* Writes a time in UTC, with microseconds and without a NUL. */
void timestamp_write(char *out, uint64_t unix_ns);

/* Adds the member NAME, whose value is a time as timestamp_write writes it. */
void timestamp_add_member(struct elapse__json *json, const char *name, uint64_t unix_ns);

#endif
