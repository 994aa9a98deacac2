/*
 * Text that grows in memory: twice as much room each time that it is full.
 */
#include "buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "message.h"

enum { FIRST_CAPACITY = 1024 };

char *buffer_reserve(struct buffer *buffer, size_t bytes)
{
    size_t capacity = buffer->capacity > 0 ? buffer->capacity : FIRST_CAPACITY;

    ELAPSE__ASSERT(buffer->length <= buffer->capacity);
    while (capacity - buffer->length <= bytes)
        capacity *= 2;
    if (capacity > buffer->capacity) {
        buffer->bytes = reallocate(buffer->bytes, capacity);
        buffer->capacity = capacity;
    }
    return buffer->bytes + buffer->length;
}

void buffer_add(struct buffer *buffer, const char *bytes, size_t length)
{
    char *end = buffer_reserve(buffer, length);

    memcpy(end, bytes, length);
    end[length] = '\0';
    buffer->length += length;
    ELAPSE__ASSERT(buffer->length < buffer->capacity);
}

void buffer_add_text(struct buffer *buffer, const char *text)
{
    buffer_add(buffer, text, strlen(text));
}

void buffer_add_arguments(struct buffer *buffer, const char *format, va_list arguments)
{
    enum { USUAL_BYTES = 128 };
    char *end = buffer_reserve(buffer, USUAL_BYTES);
    va_list again;

    va_copy(again, arguments);
    int length = vsnprintf(end, USUAL_BYTES + 1, format, arguments);
    ELAPSE__ASSERT(length >= 0);
    if (length > USUAL_BYTES) {
        end = buffer_reserve(buffer, (size_t)length);
        (void)vsnprintf(end, (size_t)length + 1, format, again);
    }
    va_end(again);
    buffer->length += (size_t)length;
    ELAPSE__ASSERT(buffer->length < buffer->capacity);
}

void buffer_add_format(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    buffer_add_arguments(buffer, format, arguments);
    va_end(arguments);
}

void buffer_free(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){.bytes = NULL};
}
