/*
 * Writing JSON: strings.
 */
#ifndef ELAPSE_CLI_COMMON_JSON_H
#define ELAPSE_CLI_COMMON_JSON_H

#include <stddef.h>

/* The most bytes that a text of `bytes` bytes takes as a JSON string, quotes included. */
#define JSON_STRING_ROOM(bytes) (6 * (bytes) + 2)

/*
 * Writes text to `out` as a JSON string, quotes included and without a NUL. Returns the end of the
 * output. Requires that `out` has room for JSON_STRING_ROOM(length). The escapes
 * are those of src/base/json_escape.h.
 */
char *json_write_string(char *out, const char *text, size_t length);

#endif
