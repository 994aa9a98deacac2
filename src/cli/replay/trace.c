/*
 * Splits a trace into lines, and lines into fields, and checks each field.
 */
#include "trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/text.h"

static const char header[] = "time_us,op,key,delay_us,tag";

/* A piece of the buffer. */
struct field {
    const char *text;
    size_t length;
};

void trace_reader_init(struct trace_reader *reader, trace_read_function *read, void *context)
{
    ELAPSE__ASSERT(read != NULL);
    reader->line = 0;
    reader->error[0] = '\0';
    reader->time_us = 0;
    reader->read = read;
    reader->context = context;
    reader->ended = false;
    reader->begin = 0;
    reader->end = 0;
}

enum trace_result trace_fault(struct trace_reader *reader, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reader->error, sizeof reader->error, format, arguments);
    va_end(arguments);
    return TRACE_ERROR;
}

/* Moves the unused bytes to the beginning of the buffer, and reads more. */
static enum trace_result fill(struct trace_reader *reader)
{
    const char *error = "cannot read";
    size_t kept = reader->end - reader->begin;

    memmove(reader->buffer, reader->buffer + reader->begin, kept);
    reader->begin = 0;
    reader->end = kept;
    ELAPSE__ASSERT(kept < sizeof reader->buffer);
    ptrdiff_t got =
        reader->read(reader->context, reader->buffer + kept, sizeof reader->buffer - kept, &error);
    if (got < 0)
        return trace_fault(reader, "%s", error);
    ELAPSE__ASSERT((size_t)got <= sizeof reader->buffer - kept);
    reader->ended = got == 0;
    reader->end += (size_t)got;
    return TRACE_OPERATION;
}

/* Returns whether the line has a byte that no text has. */
static bool is_binary(struct field line)
{
    for (size_t i = 0; i < line.length; i++) {
        unsigned char byte = (unsigned char)line.text[i];
        if ((byte < 0x20 && byte != '\t' && byte != '\r') || byte == 0x7f)
            return true;
    }
    return false;
}

/* Stores the next line, without its end, in `*line`. */
static enum trace_result next_line(struct trace_reader *reader, struct field *line)
{
    const char *newline;

    ELAPSE__ASSERT(reader->begin <= reader->end);
    reader->line++;
    for (;;) {
        size_t available = reader->end - reader->begin;
        line->text = reader->buffer + reader->begin;
        newline = memchr(line->text, '\n', available);
        line->length = newline != NULL ? (size_t)(newline - line->text) : available;
        /* One more byte may be the CR of the line end. */
        if (newline != NULL || reader->ended || available > TRACE_LINE_BYTES_MAX + 1)
            break;
        if (fill(reader) == TRACE_ERROR)
            return TRACE_ERROR;
    }
    if (newline == NULL && line->length == 0)
        return TRACE_END;
    reader->begin += line->length + (newline != NULL);
    ELAPSE__ASSERT(reader->begin <= reader->end);
    if (line->length > 0 && line->text[line->length - 1] == '\r')
        line->length--;
    if (reader->line == 1 && is_binary(*line))
        return trace_fault(reader, "not a trace; of compressed files only gzip is read: %s",
                           quote_text(line->text, line->length).text);
    if (line->length > TRACE_LINE_BYTES_MAX)
        return trace_fault(reader, "the line is longer than %d bytes: %s", TRACE_LINE_BYTES_MAX,
                           quote_text(line->text, line->length).text);
    if (memchr(line->text, '\0', line->length) != NULL)
        return trace_fault(reader, "the line has a NUL byte: %s",
                           quote_text(line->text, line->length).text);
    return TRACE_OPERATION;
}

static enum trace_result read_header(struct trace_reader *reader)
{
    struct field line;
    enum trace_result result = next_line(reader, &line);

    ELAPSE__ASSERT(reader->line == 1);
    if (result == TRACE_END)
        return trace_fault(reader, "the trace is empty; its first line must be '%s'", header);
    if (result == TRACE_ERROR)
        return TRACE_ERROR;
    if (line.length >= 3 && memcmp(line.text, "\xef\xbb\xbf", 3) == 0) {
        line.text += 3; /* the byte order mark of UTF-8 */
        line.length -= 3;
    }
    if (line.length != strlen(header) || memcmp(line.text, header, line.length) != 0)
        return trace_fault(reader, "the first line must be '%s', not %s", header,
                           quote_text(line.text, line.length).text);
    return TRACE_OPERATION;
}

/* Splits the line at its first four commas. Returns the number of fields. */
static size_t split(struct field line, struct field fields[5])
{
    size_t count = 0;

    while (count < 4) {
        const char *comma = memchr(line.text, ',', line.length);
        if (comma == NULL)
            break;
        fields[count].text = line.text;
        fields[count].length = (size_t)(comma - line.text);
        line.length -= fields[count].length + 1;
        line.text = comma + 1;
        count++;
    }
    fields[count] = line;
    return count + 1;
}

static enum trace_result parse_microseconds(struct trace_reader *reader, const char *name,
                                            struct field field, uint64_t *number)
{
    uint64_t value = 0;
    bool fits = true;

    if (field.length == 0)
        return trace_fault(reader, "%s is empty", name);
    if (field.text[0] == '-')
        return trace_fault(reader, "%s is negative: %s", name,
                           quote_text(field.text, field.length).text);
    for (size_t i = 0; i < field.length; i++) {
        unsigned digit = (unsigned)(unsigned char)field.text[i] - '0';
        if (digit > 9)
            return trace_fault(reader, "%s is not a whole number: %s", name,
                               quote_text(field.text, field.length).text);
        fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_add_overflow(value, digit, &value);
    }
    if (!fits || value > TRACE_TIME_US_MAX)
        return trace_fault(reader, "%s is above %" PRIu64 ": %s", name, TRACE_TIME_US_MAX,
                           quote_text(field.text, field.length).text);
    *number = value;
    return TRACE_OPERATION;
}

static bool field_is(struct field field, const char *word)
{
    return field.length == strlen(word) && memcmp(field.text, word, field.length) == 0;
}

static enum trace_result parse_kind(struct trace_reader *reader, struct field field,
                                    enum trace_kind *kind)
{
    if (field_is(field, "start"))
        *kind = TRACE_START;
    else if (field_is(field, "restart"))
        *kind = TRACE_RESTART;
    else if (field_is(field, "cancel"))
        *kind = TRACE_CANCEL;
    else
        return trace_fault(reader, "op is not start, restart or cancel: %s",
                           quote_text(field.text, field.length).text);
    return TRACE_OPERATION;
}

static enum trace_result parse_delay(struct trace_reader *reader, struct field field,
                                     struct trace_operation *operation)
{
    ELAPSE__ASSERT(operation->time_us <= TRACE_TIME_US_MAX);
    operation->delay_us = 0;
    operation->deadline_us = operation->time_us;
    if (operation->kind == TRACE_CANCEL && field.length == 0)
        return TRACE_OPERATION;
    if (parse_microseconds(reader, "delay_us", field, &operation->delay_us) == TRACE_ERROR)
        return TRACE_ERROR;
    if (operation->kind == TRACE_CANCEL)
        return TRACE_OPERATION;
    if (operation->delay_us > TRACE_TIME_US_MAX - operation->time_us)
        return trace_fault(
            reader, "the deadline time_us + delay_us is above %" PRIu64 ": %" PRIu64 " + %" PRIu64,
            TRACE_TIME_US_MAX, operation->time_us, operation->delay_us);
    operation->deadline_us = operation->time_us + operation->delay_us;
    return TRACE_OPERATION;
}

enum trace_result trace_next(struct trace_reader *reader, struct trace_operation *operation)
{
    struct field line;
    struct field fields[5];

    if (reader->line == 0 && read_header(reader) == TRACE_ERROR)
        return TRACE_ERROR;
    enum trace_result result = next_line(reader, &line);
    if (result != TRACE_OPERATION)
        return result;
    if (line.length == 0)
        return trace_fault(reader, "the line is empty");
    size_t count = split(line, fields);
    if (count != 5)
        return trace_fault(reader, "the line has %zu of the 5 fields %s: %s", count, header,
                           quote_text(line.text, line.length).text);
    if (parse_microseconds(reader, "time_us", fields[0], &operation->time_us) == TRACE_ERROR ||
        parse_kind(reader, fields[1], &operation->kind) == TRACE_ERROR)
        return TRACE_ERROR;
    if (fields[2].length == 0)
        return trace_fault(reader, "the key is empty: %s", quote_text(line.text, line.length).text);
    if (parse_delay(reader, fields[3], operation) == TRACE_ERROR)
        return TRACE_ERROR;
    if (operation->time_us < reader->time_us)
        return trace_fault(reader, "time goes backwards: %" PRIu64 " after %" PRIu64,
                           operation->time_us, reader->time_us);
    ELAPSE__ASSERT(operation->deadline_us >= operation->time_us);
    reader->time_us = operation->time_us;
    operation->key = fields[2].text;
    operation->key_length = fields[2].length;
    return TRACE_OPERATION;
}
