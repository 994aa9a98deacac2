/*
 * Bytes that are appended at one end and taken from the other. It begins as zeros, grows by
 * doubling, and gives large memory back when it is empty.
 */
#ifndef ELAPSE__CORE_BUFFER_H
#define ELAPSE__CORE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELAPSE__BUFFER_KEPT = 16 << 10 }; /* larger memory is given back when it is empty */

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

/* Makes room for `size` bytes at the end; its bytes may move. Returns false if there is no
 * memory. */
bool elapse__buffer_grow(struct elapse__buffer *buffer, size_t size);

static inline bool elapse__buffer_reserve(struct elapse__buffer *buffer, size_t size)
{
    return size <= buffer->capacity - buffer->end || elapse__buffer_grow(buffer, size);
}

/* Appends bytes. Returns false if there is no memory. */
bool elapse__buffer_append(struct elapse__buffer *buffer, const void *bytes, size_t size);

/* Takes bytes from the front. */
void elapse__buffer_take(struct elapse__buffer *buffer, size_t size);

void elapse__buffer_free(struct elapse__buffer *buffer);

#endif
