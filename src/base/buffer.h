/*
 * A buffer holds bytes that are appended at one end and taken from the other. A buffer begins as
 * zeros, and grows by doubling. When the last byte is taken, the buffer gives large memory back.
 * The next buffer that grows gets this memory: see buffer.c.
 */
#ifndef ELAPSE__BASE_BUFFER_H
#define ELAPSE__BASE_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ELAPSE__BUFFER_KEPT = 16 << 10 }; /* larger memory is given back when the buffer is empty */

struct elapse__buffer {
    uint8_t *bytes;
    size_t begin;
    size_t end;
    size_t capacity;
};

static inline size_t elapse__buffer_size(const struct elapse__buffer *buffer)
{
    return buffer->end - buffer->begin;
}

static inline uint8_t *elapse__buffer_first(const struct elapse__buffer *buffer)
{
    return buffer->begin == 0 ? buffer->bytes : buffer->bytes + buffer->begin;
}

/* Makes room for `size` bytes at the end. The bytes of the buffer may move. Returns false if there
 * is no memory. */
bool elapse__buffer_grow(struct elapse__buffer *buffer, size_t size);

/* Makes room as elapse__buffer_grow does, if there is too little room. */
static inline bool elapse__buffer_reserve(struct elapse__buffer *buffer, size_t size)
{
    return size <= buffer->capacity - buffer->end || elapse__buffer_grow(buffer, size);
}

/* Appends bytes. Returns false if there is no memory. */
static inline bool elapse__buffer_append(struct elapse__buffer *buffer, const void *bytes,
                                         size_t size)
{
    if (!elapse__buffer_reserve(buffer, size))
        return false;
    if (size > 0)
        memcpy(buffer->bytes + buffer->end, bytes, size);
    buffer->end += size;
    return true;
}

/* Appends text as printf, or vprintf, would. The NUL behind the text does not count. Returns false
 * if there is no memory. */
__attribute__((format(printf, 2, 3))) bool elapse__buffer_format(struct elapse__buffer *buffer,
                                                                 const char *format, ...);
bool elapse__buffer_format_arguments(struct elapse__buffer *buffer, const char *format,
                                     va_list arguments);

/* Takes `size` bytes from the front. Requires that the buffer has so many bytes. */
void elapse__buffer_take(struct elapse__buffer *buffer, size_t size);

/* Takes all bytes. The buffer keeps its memory. */
static inline void elapse__buffer_clear(struct elapse__buffer *buffer)
{
    buffer->begin = 0;
    buffer->end = 0;
}

/* Releases the memory. Afterwards the buffer is empty, and can be used again. */
void elapse__buffer_free(struct elapse__buffer *buffer);

#endif
