/*
 * Writes JSON as text, from front to back. There is no tree in memory, because a reply may have a
 * thousand jobs. The writer puts the commas.
 *
 * If there is no memory, text is left out, and `failed` says so at the end.
 */
#ifndef ELAPSE__BASE_JSON_WRITER_H
#define ELAPSE__BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

/* A writer begins as zeros. */
struct elapse__json {
    struct elapse__buffer text;
    bool needs_comma;
    bool failed;
};

void elapse__json_free(struct elapse__json *json);

/* Text as it is, which does not count as a value: no comma comes before it. */
void elapse__json_raw(struct elapse__json *json, const char *text);

/* Begin an object or an array, by '{' or '['; end it, by '}' or ']'. */
void elapse__json_open(struct elapse__json *json, char bracket);
void elapse__json_close(struct elapse__json *json, char bracket);

/* The name of the next member. Requires that no character of the name has to be escaped. */
void elapse__json_name(struct elapse__json *json, const char *name);

void elapse__json_unsigned(struct elapse__json *json, uint64_t number);
void elapse__json_signed(struct elapse__json *json, int64_t number);
/* A number with two digits behind the point. */
void elapse__json_real(struct elapse__json *json, double number);
void elapse__json_boolean(struct elapse__json *json, bool value);
void elapse__json_null(struct elapse__json *json);
/* A value whose text is JSON already. */
void elapse__json_literal(struct elapse__json *json, const char *text);
/* A string with the escapes of src/base/json_escape.h. */
void elapse__json_string(struct elapse__json *json, const void *bytes, size_t size);
void elapse__json_text(struct elapse__json *json, const char *text);

/* A member: its name and its value. elapse__json_open_member begins an object as the value. */
void elapse__json_unsigned_member(struct elapse__json *json, const char *name, uint64_t number);
void elapse__json_real_member(struct elapse__json *json, const char *name, double number);
void elapse__json_boolean_member(struct elapse__json *json, const char *name, bool value);
void elapse__json_text_member(struct elapse__json *json, const char *name, const char *text);
void elapse__json_open_member(struct elapse__json *json, const char *name);

/* A member with bytes: as NAME if they are UTF-8, otherwise as NAME_base64. */
void elapse__json_bytes_member(struct elapse__json *json, const char *name, const void *bytes,
                               size_t size);

#endif
