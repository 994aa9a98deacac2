/*
 * Reads replies in RESP2 and RESP3.
 */
#include "resp_value.h"

#include <string.h>

#include "../base/assert.h"

enum {
    DIGITS_MAX = 18,            /* the most digits: every number that Elapse writes has fewer */
    LINE_BYTES_MAX = 16 << 10,  /* the longest line of a word or an error */
    BULK_BYTES_MAX = 512 << 20, /* the longest string; the parser of commands has the same limit */
};

/* Reads the number of a line. Returns false if the line is no number. */
static bool read_number(const unsigned char *line, size_t size, int64_t *number)
{
    bool negative = size > 0 && line[0] == '-';
    size_t at = negative;

    if (size == at || size - at > DIGITS_MAX)
        return false;
    *number = 0;
    for (; at < size; at++) {
        if (line[at] < '0' || line[at] > '9')
            return false;
        *number = *number * 10 + (line[at] - '0');
    }
    if (negative)
        *number = -*number;
    return true;
}

/* Finds the end of the line that begins at `at`. If the whole line is there, returns WHOLE and
 * stores the bytes of the line. */
static enum elapse__wire_resp_scanned find_line(const unsigned char *bytes, size_t size, size_t at,
                                                size_t *line_size)
{
    size_t there = size - at;
    size_t looked = there < LINE_BYTES_MAX ? there : LINE_BYTES_MAX;
    const unsigned char *end = looked == 0 ? NULL : memchr(bytes + at, '\r', looked);

    if (end == NULL)
        return looked == LINE_BYTES_MAX ? ELAPSE__WIRE_RESP_SCAN_BROKEN
                                        : ELAPSE__WIRE_RESP_SCAN_MORE;
    *line_size = (size_t)(end - (bytes + at));
    if (*line_size + 1 == there)
        return ELAPSE__WIRE_RESP_SCAN_MORE;
    return end[1] == '\n' ? ELAPSE__WIRE_RESP_SCAN_WHOLE : ELAPSE__WIRE_RESP_SCAN_BROKEN;
}

/* Reads the bytes of a string whose head was read. `*at` is the place after the head. */
static enum elapse__wire_resp_scanned read_bytes(const unsigned char *bytes, size_t size,
                                                 size_t *at, struct elapse__wire_resp_item *item)
{
    size_t bulk = (size_t)item->integer;

    if (size - *at < bulk + 2)
        return ELAPSE__WIRE_RESP_SCAN_MORE;
    item->kind = ELAPSE__WIRE_RESP_BYTES;
    item->bytes = bytes + *at;
    item->size = bulk;
    *at += bulk + 2;
    return item->bytes[bulk] == '\r' && item->bytes[bulk + 1] == '\n'
               ? ELAPSE__WIRE_RESP_SCAN_WHOLE
               : ELAPSE__WIRE_RESP_SCAN_BROKEN;
}

/* Reads an item that has a count in its head: an array, a map, a push, or bytes. The count was read
 * before. */
static enum elapse__wire_resp_scanned read_counted(unsigned char mark, const unsigned char *bytes,
                                                   size_t size, size_t *at,
                                                   struct elapse__wire_resp_item *item)
{
    bool may_be_null = mark == '$' || mark == '*';
    int64_t most = mark == '$'   ? BULK_BYTES_MAX
                   : mark == '%' ? ELAPSE__WIRE_RESP_ELEMENTS_MAX / 2
                                 : ELAPSE__WIRE_RESP_ELEMENTS_MAX;

    if (item->integer == -1 && may_be_null) {
        item->kind = ELAPSE__WIRE_RESP_NULL;
        return ELAPSE__WIRE_RESP_SCAN_WHOLE;
    }
    if (item->integer < 0 || item->integer > most)
        return ELAPSE__WIRE_RESP_SCAN_BROKEN;
    if (mark == '$')
        return read_bytes(bytes, size, at, item);
    item->kind = mark == '*'   ? ELAPSE__WIRE_RESP_ARRAY
                 : mark == '%' ? ELAPSE__WIRE_RESP_MAP
                               : ELAPSE__WIRE_RESP_PUSH;
    return ELAPSE__WIRE_RESP_SCAN_WHOLE;
}

/* Reads the item that begins with this line, which is whole. */
static enum elapse__wire_resp_scanned read_line(const unsigned char *line, size_t line_size,
                                                const unsigned char *bytes, size_t size, size_t *at,
                                                struct elapse__wire_resp_item *item)
{
    switch (line[0]) {
    case '+':
    case '-':
        item->kind = line[0] == '+' ? ELAPSE__WIRE_RESP_WORD : ELAPSE__WIRE_RESP_ERROR;
        item->bytes = line + 1;
        item->size = line_size - 1;
        return ELAPSE__WIRE_RESP_SCAN_WHOLE;
    case ':':
        item->kind = ELAPSE__WIRE_RESP_INTEGER;
        return read_number(line + 1, line_size - 1, &item->integer) ? ELAPSE__WIRE_RESP_SCAN_WHOLE
                                                                    : ELAPSE__WIRE_RESP_SCAN_BROKEN;
    case '_':
        item->kind = ELAPSE__WIRE_RESP_NULL;
        return line_size == 1 ? ELAPSE__WIRE_RESP_SCAN_WHOLE : ELAPSE__WIRE_RESP_SCAN_BROKEN;
    case '#':
        if (line_size != 2 || (line[1] != 't' && line[1] != 'f'))
            return ELAPSE__WIRE_RESP_SCAN_BROKEN;
        item->kind = line[1] == 't' ? ELAPSE__WIRE_RESP_TRUE : ELAPSE__WIRE_RESP_FALSE;
        return ELAPSE__WIRE_RESP_SCAN_WHOLE;
    case '$':
    case '*':
    case '%':
    case '>':
        if (!read_number(line + 1, line_size - 1, &item->integer))
            return ELAPSE__WIRE_RESP_SCAN_BROKEN;
        return read_counted(line[0], bytes, size, at, item);
    default:
        return ELAPSE__WIRE_RESP_SCAN_BROKEN;
    }
}

/* Reads the item at `*at`. Moves `*at` only if it is whole. */
static enum elapse__wire_resp_scanned read_item(const unsigned char *bytes, size_t size, size_t *at,
                                                struct elapse__wire_resp_item *item)
{
    size_t line_size = 0;
    enum elapse__wire_resp_scanned scanned = find_line(bytes, size, *at, &line_size);

    *item = (struct elapse__wire_resp_item){.kind = ELAPSE__WIRE_RESP_NULL};
    if (scanned != ELAPSE__WIRE_RESP_SCAN_WHOLE)
        return scanned;
    size_t behind = *at + line_size + 2;
    if (line_size == 0)
        return ELAPSE__WIRE_RESP_SCAN_BROKEN;
    scanned = read_line(bytes + *at, line_size, bytes, size, &behind, item);
    if (scanned == ELAPSE__WIRE_RESP_SCAN_WHOLE)
        *at = behind;
    return scanned;
}

/* Returns how many values follow an item as its parts; 0 for an item that is no head. */
static uint32_t elements_of(const struct elapse__wire_resp_item *item)
{
    switch (item->kind) {
    case ELAPSE__WIRE_RESP_ARRAY:
    case ELAPSE__WIRE_RESP_PUSH:
        return (uint32_t)item->integer;
    case ELAPSE__WIRE_RESP_MAP:
        return (uint32_t)item->integer * 2;
    default:
        return 0;
    }
}

enum elapse__wire_resp_scanned elapse__wire_resp_scan(struct elapse__wire_resp_scanner *scanner,
                                                      const unsigned char *bytes, size_t size,
                                                      size_t *end)
{
    struct elapse__wire_resp_item item;

    ELAPSE__ASSERT_THAT(scanner->at, <=, size);
    for (;;) {
        size_t at = scanner->at;
        enum elapse__wire_resp_scanned scanned = read_item(bytes, size, &at, &item);
        if (scanned != ELAPSE__WIRE_RESP_SCAN_WHOLE)
            return scanned;
        uint32_t elements = elements_of(&item);
        ELAPSE__ASSERT_THAT(at, <=, size);
        ELAPSE__ASSERT_THAT(scanner->depth, <=, (uint32_t)ELAPSE__WIRE_RESP_DEPTH_MAX);
        ELAPSE__ASSERT(scanner->depth == 0 || scanner->left[scanner->depth - 1] > 0);
        if (elements > 0 && scanner->depth == ELAPSE__WIRE_RESP_DEPTH_MAX)
            return ELAPSE__WIRE_RESP_SCAN_BROKEN;
        scanner->at = at; /* after BROKEN, the next scan returns BROKEN again */
        if (elements > 0) {
            scanner->left[scanner->depth++] = elements;
            continue;
        }
        while (scanner->depth > 0 && --scanner->left[scanner->depth - 1] == 0)
            scanner->depth--;
        if (scanner->depth == 0)
            break;
    }
    *end = scanner->at;
    *scanner = (struct elapse__wire_resp_scanner){.at = 0};
    return ELAPSE__WIRE_RESP_SCAN_WHOLE;
}

struct elapse__wire_resp_item elapse__wire_resp_next(const unsigned char *bytes, size_t size,
                                                     size_t *at)
{
    struct elapse__wire_resp_item item;
    enum elapse__wire_resp_scanned scanned = read_item(bytes, size, at, &item);

    ELAPSE__ASSERT(scanned == ELAPSE__WIRE_RESP_SCAN_WHOLE);
    (void)scanned;
    return item;
}

void elapse__wire_resp_skip(const unsigned char *bytes, size_t size, size_t *at)
{
    uint64_t left = 1;

    for (; left > 0; left--) {
        struct elapse__wire_resp_item item = elapse__wire_resp_next(bytes, size, at);
        left += elements_of(&item);
    }
}

size_t elapse__wire_resp_converted_max(size_t size)
{
    /* The null "_\r\n" becomes "$-1\r\n", and so grows by two thirds. No other item grows by a
     * larger part. */
    return size + size / 3 * 2 + 1;
}

/* Writes the line of a word or an error without a change. */
static void write_line(struct elapse__wire_resp_writer *writer, char mark,
                       const struct elapse__wire_resp_item *item)
{
    ELAPSE__ASSERT_THAT(writer->size + item->size + 3, <=, writer->capacity);
    writer->bytes[writer->size++] = (unsigned char)mark;
    if (item->size > 0)
        memcpy(writer->bytes + writer->size, item->bytes, item->size);
    writer->size += item->size;
    writer->bytes[writer->size++] = '\r';
    writer->bytes[writer->size++] = '\n';
}

static void write_item(struct elapse__wire_resp_writer *writer,
                       const struct elapse__wire_resp_item *item)
{
    switch (item->kind) {
    case ELAPSE__WIRE_RESP_WORD:
        write_line(writer, '+', item);
        break;
    case ELAPSE__WIRE_RESP_ERROR:
        write_line(writer, '-', item);
        break;
    case ELAPSE__WIRE_RESP_INTEGER:
        elapse__wire_resp_write_integer(writer, item->integer);
        break;
    case ELAPSE__WIRE_RESP_BYTES:
        elapse__wire_resp_write_bytes(writer, item->bytes, item->size);
        break;
    case ELAPSE__WIRE_RESP_NULL:
        elapse__wire_resp_write_null(writer);
        break;
    case ELAPSE__WIRE_RESP_FALSE:
    case ELAPSE__WIRE_RESP_TRUE:
        elapse__wire_resp_write_boolean(writer, item->kind == ELAPSE__WIRE_RESP_TRUE);
        break;
    case ELAPSE__WIRE_RESP_MAP:
        elapse__wire_resp_write_map(writer, (size_t)item->integer);
        break;
    case ELAPSE__WIRE_RESP_ARRAY:
    case ELAPSE__WIRE_RESP_PUSH:
        elapse__wire_resp_write_array(writer, (size_t)item->integer);
        break;
    }
}

void elapse__wire_resp_convert(struct elapse__wire_resp_writer *writer, const unsigned char *bytes,
                               size_t size)
{
    size_t at = 0;

    while (at < size) {
        struct elapse__wire_resp_item item = elapse__wire_resp_next(bytes, size, &at);
        write_item(writer, &item);
    }
    ELAPSE__ASSERT(!writer->too_small);
}
