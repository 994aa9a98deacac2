#include "json_writer.h"

#include <stdio.h>
#include <string.h>

#include "base64.h"
#include "decimal.h"
#include "json_escape.h"
#include "utf8.h"

void elapse__json_free(struct elapse__json *json)
{
    elapse__buffer_free(&json->text);
}

static void add(struct elapse__json *json, const void *bytes, size_t size)
{
    if (!json->failed && !elapse__buffer_append(&json->text, bytes, size))
        json->failed = true;
}

/* A value comes. */
static void begin_value(struct elapse__json *json)
{
    if (json->needs_comma)
        add(json, ",", 1);
    json->needs_comma = true;
}

void elapse__json_raw(struct elapse__json *json, const char *text)
{
    add(json, text, strlen(text));
}

void elapse__json_open(struct elapse__json *json, char bracket)
{
    begin_value(json);
    add(json, &bracket, 1);
    json->needs_comma = false;
}

void elapse__json_close(struct elapse__json *json, char bracket)
{
    add(json, &bracket, 1);
    json->needs_comma = true;
}

void elapse__json_name(struct elapse__json *json, const char *name)
{
    begin_value(json);
    add(json, "\"", 1);
    add(json, name, strlen(name));
    add(json, "\":", 2);
    json->needs_comma = false;
}

void elapse__json_unsigned(struct elapse__json *json, uint64_t number)
{
    char digits[ELAPSE__DECIMAL_BYTES];

    begin_value(json);
    add(json, digits, elapse__decimal_write(digits, number));
}

void elapse__json_signed(struct elapse__json *json, int64_t number)
{
    char digits[1 + ELAPSE__DECIMAL_BYTES] = "-";
    uint64_t size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    size_t length = elapse__decimal_write(digits + 1, size);

    begin_value(json);
    add(json, number < 0 ? digits : digits + 1, number < 0 ? length + 1 : length);
}

void elapse__json_real(struct elapse__json *json, double number)
{
    char digits[64];

    (void)snprintf(digits, sizeof digits, "%.2f", number);
    elapse__json_literal(json, digits);
}

void elapse__json_boolean(struct elapse__json *json, bool value)
{
    elapse__json_literal(json, value ? "true" : "false");
}

void elapse__json_null(struct elapse__json *json)
{
    elapse__json_literal(json, "null");
}

void elapse__json_literal(struct elapse__json *json, const char *text)
{
    begin_value(json);
    elapse__json_raw(json, text);
}

/* ---- strings ---- */

void elapse__json_string(struct elapse__json *json, const void *bytes, size_t size)
{
    const char *text = bytes;
    size_t done = 0;

    begin_value(json);
    add(json, "\"", 1);
    while (done < size) {
        struct elapse__json_piece piece = elapse__json_escape_next(text + done, size - done);
        add(json, text + done, piece.plain);
        add(json, piece.escape, piece.escape_size);
        done += piece.taken;
    }
    add(json, "\"", 1);
}

void elapse__json_text(struct elapse__json *json, const char *text)
{
    elapse__json_string(json, text, strlen(text));
}

/* ---- members ---- */

void elapse__json_unsigned_member(struct elapse__json *json, const char *name, uint64_t number)
{
    elapse__json_name(json, name);
    elapse__json_unsigned(json, number);
}

void elapse__json_real_member(struct elapse__json *json, const char *name, double number)
{
    elapse__json_name(json, name);
    elapse__json_real(json, number);
}

void elapse__json_boolean_member(struct elapse__json *json, const char *name, bool value)
{
    elapse__json_name(json, name);
    elapse__json_boolean(json, value);
}

void elapse__json_text_member(struct elapse__json *json, const char *name, const char *text)
{
    elapse__json_name(json, name);
    elapse__json_text(json, text);
}

void elapse__json_open_member(struct elapse__json *json, const char *name)
{
    elapse__json_name(json, name);
    elapse__json_open(json, '{');
}

void elapse__json_bytes_member(struct elapse__json *json, const char *name, const void *bytes,
                               size_t size)
{
    if (elapse__utf8_is(bytes, size)) {
        elapse__json_name(json, name);
        elapse__json_string(json, bytes, size);
        return;
    }
    begin_value(json);
    add(json, "\"", 1);
    elapse__json_raw(json, name);
    elapse__json_raw(json, "_base64\":\"");
    if (json->failed || !elapse__buffer_reserve(&json->text, ELAPSE__BASE64_ROOM(size))) {
        json->failed = true;
        return;
    }
    char *room = (char *)json->text.bytes + json->text.end;
    json->text.end += (size_t)(elapse__base64_write(room, bytes, size) - room);
    add(json, "\"", 1);
}
