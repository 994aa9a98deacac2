#include "buffer.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"

enum { CAPACITY_MIN = 512 };

bool elapse__buffer_grow(struct elapse__buffer *buffer, size_t size)
{
    size_t used = elapse__buffer_size(buffer);
    size_t capacity = buffer->capacity < CAPACITY_MIN ? CAPACITY_MIN : buffer->capacity;

    if (size > SIZE_MAX / 4 - used)
        return false;
    while (capacity < used + size)
        capacity *= 2;
    /* Moving the bytes costs no more than they did, if half of the memory is free. */
    if (capacity == buffer->capacity && used <= capacity / 2) {
        memmove(buffer->bytes, buffer->bytes + buffer->begin, used);
    } else {
        capacity = capacity == buffer->capacity ? capacity * 2 : capacity;
        uint8_t *bytes = malloc(capacity);
        if (bytes == NULL)
            return false;
        if (used > 0)
            memcpy(bytes, buffer->bytes + buffer->begin, used);
        free(buffer->bytes);
        buffer->bytes = bytes;
        buffer->capacity = capacity;
    }
    buffer->begin = 0;
    buffer->end = used;
    return true;
}

bool elapse__buffer_append(struct elapse__buffer *buffer, const void *bytes, size_t size)
{
    if (!elapse__buffer_reserve(buffer, size))
        return false;
    if (size > 0)
        memcpy(buffer->bytes + buffer->end, bytes, size);
    buffer->end += size;
    return true;
}

void elapse__buffer_take(struct elapse__buffer *buffer, size_t size)
{
    ELAPSE__ASSERT_THAT(size, <=, elapse__buffer_size(buffer));
    buffer->begin += size;
    if (buffer->begin < buffer->end)
        return;
    buffer->begin = 0;
    buffer->end = 0;
    if (buffer->capacity > ELAPSE__BUFFER_KEPT)
        elapse__buffer_free(buffer);
}

void elapse__buffer_free(struct elapse__buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct elapse__buffer){.bytes = NULL};
}
