/*
 * Writes replies in RESP2 and RESP3.
 */
#include "resp_write.h"

#include <string.h>

#include "../base/assert.h"
#include "../base/decimal.h"

static void append(struct elapse__wire_resp_writer *writer, const void *bytes, size_t size)
{
    ELAPSE__ASSERT_THAT(writer->size, <=, writer->capacity);
    if (size > writer->capacity - writer->size) {
        writer->too_small = true;
        return;
    }
    if (size > 0)
        memcpy(writer->bytes + writer->size, bytes, size);
    writer->size += size;
}

static void append_line_end(struct elapse__wire_resp_writer *writer)
{
    append(writer, "\r\n", 2);
}

/* Writes a mark, a number and the end of the line. Returns how many bytes it has written, at most
 * ELAPSE__WIRE_RESP_FRAME_MAX. */
static size_t write_number(char *text, char mark, bool negative, uint64_t magnitude)
{
    size_t size = 0;

    text[size++] = mark;
    if (negative)
        text[size++] = '-';
    size += elapse__decimal_write(text + size, magnitude);
    text[size++] = '\r';
    text[size++] = '\n';
    ELAPSE__ASSERT_THAT(size, <=, (size_t)ELAPSE__WIRE_RESP_FRAME_MAX);
    return size;
}

/* Appends a mark, a number and the end of the line. Writes them at their place if there is room for
 * the longest number, which saves a copy. The sizes of arrays mostly have one digit, and need
 * neither a count of their digits nor a loop. */
static void append_number(struct elapse__wire_resp_writer *writer, char mark, bool negative,
                          uint64_t magnitude)
{
    char text[ELAPSE__WIRE_RESP_FRAME_MAX];

    ELAPSE__ASSERT_THAT(writer->size, <=, writer->capacity);
    if (magnitude <= 9 && !negative) {
        const char line[] = {mark, (char)('0' + magnitude), '\r', '\n'};
        append(writer, line, sizeof line);
    } else if (writer->capacity - writer->size >= sizeof text)
        writer->size +=
            write_number((char *)writer->bytes + writer->size, mark, negative, magnitude);
    else
        append(writer, text, write_number(text, mark, negative, magnitude));
}

void elapse__wire_resp_write_word(struct elapse__wire_resp_writer *writer, const char *word)
{
    ELAPSE__ASSERT(strpbrk(word, "\r\n") == NULL);
    size_t size = strlen(word);
    if (writer->capacity - writer->size < size + 3) {
        writer->too_small = true;
        return;
    }
    unsigned char *at = writer->bytes + writer->size;
    at[0] = '+';
    memcpy(at + 1, word, size); /* NOLINT(bugprone-not-null-terminated-result): it is no string */
    at[1 + size] = '\r';
    at[2 + size] = '\n';
    writer->size += size + 3;
}

void elapse__wire_resp_write_error(struct elapse__wire_resp_writer *writer, const char *text)
{
    append(writer, "-", 1);
    for (; *text != '\0'; text++) {
        bool printable = *text >= ' ' && *text <= '~';
        append(writer, printable ? text : "?", 1);
    }
    append_line_end(writer);
}

void elapse__wire_resp_write_integer(struct elapse__wire_resp_writer *writer, int64_t value)
{
    uint64_t magnitude = value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value;
    append_number(writer, ':', value < 0, magnitude);
}

void elapse__wire_resp_write_bytes_begin(struct elapse__wire_resp_writer *writer, size_t size)
{
    append_number(writer, '$', false, size);
}

void elapse__wire_resp_write_bytes_end(struct elapse__wire_resp_writer *writer)
{
    append_line_end(writer);
}

void elapse__wire_resp_write_bytes(struct elapse__wire_resp_writer *writer, const void *bytes,
                                   size_t size)
{
    elapse__wire_resp_write_bytes_begin(writer, size);
    append(writer, bytes, size);
    elapse__wire_resp_write_bytes_end(writer);
}

void elapse__wire_resp_write_text(struct elapse__wire_resp_writer *writer, const char *text)
{
    elapse__wire_resp_write_bytes(writer, text, strlen(text));
}

void elapse__wire_resp_write_null(struct elapse__wire_resp_writer *writer)
{
    if (writer->resp3)
        append(writer, "_\r\n", 3);
    else
        append(writer, "$-1\r\n", 5);
}

void elapse__wire_resp_write_no_array(struct elapse__wire_resp_writer *writer)
{
    if (writer->resp3)
        append(writer, "_\r\n", 3);
    else
        append(writer, "*-1\r\n", 5);
}

void elapse__wire_resp_write_boolean(struct elapse__wire_resp_writer *writer, bool value)
{
    if (writer->resp3)
        append(writer, value ? "#t\r\n" : "#f\r\n", 4);
    else
        append_number(writer, ':', false, value);
}

void elapse__wire_resp_write_array(struct elapse__wire_resp_writer *writer, size_t count)
{
    append_number(writer, '*', false, count);
}

void elapse__wire_resp_write_map(struct elapse__wire_resp_writer *writer, size_t pairs)
{
    append_number(writer, writer->resp3 ? '%' : '*', false, writer->resp3 ? pairs : 2 * pairs);
}
