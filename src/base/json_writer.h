/*
 * Writes JSON as text, from front to back. The writer keeps no tree in memory, because a reply may
 * have a thousand jobs. The writer puts the commas.
 *
 * If there is no memory, the writer leaves text out, and sets `failed`.
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

/* Writes a text as it is. The text does not count as a value, so no comma comes before it. */
void elapse__json_raw(struct elapse__json *json, const char *text);

/* elapse__json_open begins an object or an array; `bracket` is '{' or '['. elapse__json_close ends
 * it; `bracket` is '}' or ']'. */
void elapse__json_open(struct elapse__json *json, char bracket);
void elapse__json_close(struct elapse__json *json, char bracket);

/* Writes the name of the next member. Requires that no character of the name has to be escaped. */
void elapse__json_name(struct elapse__json *json, const char *name);

void elapse__json_unsigned(struct elapse__json *json, uint64_t number);
void elapse__json_signed(struct elapse__json *json, int64_t number);
/* Writes a number with two digits behind the point. */
void elapse__json_real(struct elapse__json *json, double number);
void elapse__json_boolean(struct elapse__json *json, bool value);
void elapse__json_null(struct elapse__json *json);
/* Writes a value whose text is JSON already. */
void elapse__json_literal(struct elapse__json *json, const char *text);
/* Writes a string, with the escapes of src/base/json_escape.h. */
void elapse__json_string(struct elapse__json *json, const void *bytes, size_t size);
void elapse__json_text(struct elapse__json *json, const char *text);

/* Each of these functions writes a member: its name and its value. elapse__json_open_member begins
 * an object as the value. */
void elapse__json_unsigned_member(struct elapse__json *json, const char *name, uint64_t number);
void elapse__json_real_member(struct elapse__json *json, const char *name, double number);
void elapse__json_boolean_member(struct elapse__json *json, const char *name, bool value);
void elapse__json_text_member(struct elapse__json *json, const char *name, const char *text);
void elapse__json_open_member(struct elapse__json *json, const char *name);

/* Writes a member whose value is bytes. If the bytes are UTF-8, the member has the name `name`, and
 * the bytes are a string. Otherwise the member has the name `name`_base64, and the bytes are in
 * base64. */
void elapse__json_bytes_member(struct elapse__json *json, const char *name, const void *bytes,
                               size_t size);

/* The same for a text that may not be UTF-8, such as a name that a user chose. */
void elapse__json_any_text_member(struct elapse__json *json, const char *name, const char *text);

#endif
