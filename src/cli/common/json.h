/*
 * Writing JSON: strings.
 */
#ifndef ELAPSE_CLI_COMMON_JSON_H
#define ELAPSE_CLI_COMMON_JSON_H

#include <stddef.h>

/* Room that a text of so many bytes takes at most as a JSON string, quotes included. */
#define JSON_STRING_ROOM(bytes) (6 * (bytes) + 2)

/*
 * Writes UTF-8 text as a JSON string, quotes included, and returns where it ends; no NUL is
 * added. `out` has room for JSON_STRING_ROOM(length). Control characters, and the line and
 * paragraph separators of Unicode, are escaped: whatever the text, it remains one line.
 */
char *json_write_string(char *out, const char *text, size_t length);

#endif
