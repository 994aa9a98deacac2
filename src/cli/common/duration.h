/*
 * Reads and writes durations as C strings. src/protocol/duration.h says what durations look like.
 */
#ifndef ELAPSE_CLI_COMMON_DURATION_H
#define ELAPSE_CLI_COMMON_DURATION_H

#include <string.h>

#include "../../protocol/duration.h"

/* Reads `text` into `*duration_ns` and returns NULL. If the text is no duration, returns a phrase
 * that names the error, and leaves `*duration_ns` unchanged. */
static inline const char *duration_parse(const char *text, uint64_t *duration_ns)
{
    return elapse__duration_parse(text, strlen(text), duration_ns);
}

/* Returns a duration in the form that duration_parse reads: "1h15m30s", or "0s". */
static inline struct elapse__duration_text duration_format(uint64_t duration_ns)
{
    return elapse__duration_format(duration_ns);
}

#endif
