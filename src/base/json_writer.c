#include "json_writer.h"

#include <stdio.h>
#include <string.h>

#include "assert.h"
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

/* Begins a value, and returns room for `size` bytes of it; NULL: there is no memory. */
static char *begin_value(struct elapse__json *json, size_t size)
{
    if (json->failed || !elapse__buffer_reserve(&json->text, size + 1)) {
        json->failed = true;
        return NULL;
    }
    if (json->needs_comma)
        json->text.bytes[json->text.end++] = ',';
    json->needs_comma = true;
    return (char *)json->text.bytes + json->text.end;
}

/* Ends a value that was written up to `end`, into the room that begin_value gave. */
static void end_value(struct elapse__json *json, const char *end)
{
    json->text.end = (size_t)((const uint8_t *)end - json->text.bytes);
    ELAPSE__ASSERT_THAT(json->text.end, <=, json->text.capacity);
}

void elapse__json_raw(struct elapse__json *json, const char *text)
{
    add(json, text, strlen(text));
}

void elapse__json_open(struct elapse__json *json, char bracket)
{
    ELAPSE__ASSERT(bracket == '{' || bracket == '[');
    (void)begin_value(json, 1);
    add(json, &bracket, 1);
    json->needs_comma = false;
}

void elapse__json_close(struct elapse__json *json, char bracket)
{
    ELAPSE__ASSERT(bracket == '}' || bracket == ']');
    add(json, &bracket, 1);
    json->needs_comma = true;
}

void elapse__json_name(struct elapse__json *json, const char *name)
{
    size_t length = strlen(name);
    char *out = begin_value(json, length + 3);

    if (out == NULL)
        return;
    *out++ = '"';
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the text goes on behind the name */
    memcpy(out, name, length);
    out += length;
    *out++ = '"';
    *out++ = ':';
    end_value(json, out);
    json->needs_comma = false;
}

void elapse__json_unsigned(struct elapse__json *json, uint64_t number)
{
    char *out = begin_value(json, ELAPSE__DECIMAL_BYTES);

    if (out != NULL)
        end_value(json, out + elapse__decimal_write(out, number));
}

void elapse__json_signed(struct elapse__json *json, int64_t number)
{
    char *out = begin_value(json, 1 + ELAPSE__DECIMAL_BYTES);

    if (out == NULL)
        return;
    if (number < 0)
        *out++ = '-';
    end_value(json, out + elapse__decimal_write(out, number < 0 ? 0 - (uint64_t)number
                                                                : (uint64_t)number));
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
    (void)begin_value(json, 0);
    elapse__json_raw(json, text);
}

/* ---- strings ---- */

void elapse__json_string(struct elapse__json *json, const void *bytes, size_t size)
{
    const char *text = bytes;
    size_t done = 0;

    (void)begin_value(json, 0);
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
    (void)begin_value(json, 1);
    add(json, "\"", 1);
    elapse__json_raw(json, name);
    elapse__json_raw(json, "_base64\":\"");
    if (json->failed || !elapse__buffer_reserve(&json->text, ELAPSE__BASE64_ROOM(size))) {
        json->failed = true;
        return;
    }
    end_value(json, elapse__base64_write((char *)json->text.bytes + json->text.end, bytes, size));
    add(json, "\"", 1);
}

void elapse__json_any_text_member(struct elapse__json *json, const char *name, const char *text)
{
    elapse__json_bytes_member(json, name, text, strlen(text));
}
