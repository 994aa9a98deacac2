/*
 * Writing JSON: texts that may be any bytes.
 */
#ifndef ELAPSE_CLI_COMMON_JSON_TEXT_H
#define ELAPSE_CLI_COMMON_JSON_TEXT_H

#include <stddef.h>

#include "buffer.h"

/* Adds a member, "name":"text". A text that is not UTF-8 is written as base64, and the name then
 * has _base64 behind it. */
void json_add_text(struct buffer *buffer, const char *name, const char *text, size_t length);

#endif
