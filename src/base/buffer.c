#include "buffer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "assert.h"

enum {
    CAPACITY_MIN = 512,
    POOL_BYTES_MIN = 2 * ELAPSE__BUFFER_KEPT,
    POOL_SIZES = 5, /* each size is twice the size before; the last size is 512 KiB */
};

/* The pool keeps large memory that a buffer has given back, and gives it to the next buffer.
 * Without the pool, a busy connection would take its memory from the system again and again, page
 * by page. The pool keeps one piece of each size, 1 MiB in all, however many buffers there are. All
 * threads share the pool. */
static _Atomic(uint8_t *) pool[POOL_SIZES];

/* Returns the place of the pool for memory of this size; NULL if the pool keeps no memory of this
 * size. */
static _Atomic(uint8_t *) *place_for(size_t capacity)
{
    for (unsigned i = 0; i < POOL_SIZES; i++)
        if (capacity == (size_t)POOL_BYTES_MIN << i)
            return &pool[i];
    return NULL;
}

static uint8_t *take_memory(size_t capacity)
{
    _Atomic(uint8_t *) *place = place_for(capacity);
    uint8_t *bytes = place == NULL ? NULL : atomic_exchange(place, NULL);

    return bytes != NULL ? bytes : malloc(capacity);
}

static void give_memory(uint8_t *bytes, size_t capacity)
{
    _Atomic(uint8_t *) *place = place_for(capacity);
    uint8_t *none = NULL;

    if (place == NULL || !atomic_compare_exchange_strong(place, &none, bytes))
        free(bytes);
}

static void check(const struct elapse__buffer *buffer)
{
    (void)buffer; /* only assertions use it */
    ELAPSE__ASSERT_THAT(buffer->begin, <=, buffer->end);
    ELAPSE__ASSERT_THAT(buffer->end, <=, buffer->capacity);
    ELAPSE__ASSERT((buffer->bytes == NULL) == (buffer->capacity == 0));
}

bool elapse__buffer_grow(struct elapse__buffer *buffer, size_t size)
{
    size_t used = elapse__buffer_size(buffer);
    size_t capacity = buffer->capacity < CAPACITY_MIN ? CAPACITY_MIN : buffer->capacity;

    check(buffer);
    if (size > SIZE_MAX / 4 - used)
        return false;
    while (capacity < used + size)
        capacity *= 2;
    /* If half of the memory is free, the bytes are moved to its beginning. This costs no more than
     * it has cost to append them. */
    if (capacity == buffer->capacity && used <= capacity / 2) {
        memmove(buffer->bytes, buffer->bytes + buffer->begin, used);
    } else {
        capacity = capacity == buffer->capacity ? capacity * 2 : capacity;
        uint8_t *bytes = take_memory(capacity);
        if (bytes == NULL)
            return false;
        if (used > 0)
            memcpy(bytes, buffer->bytes + buffer->begin, used);
        give_memory(buffer->bytes, buffer->capacity);
        buffer->bytes = bytes;
        buffer->capacity = capacity;
    }
    buffer->begin = 0;
    buffer->end = used;
    check(buffer);
    ELAPSE__ASSERT_THAT(buffer->capacity - buffer->end, >=, size);
    return true;
}

bool elapse__buffer_format_arguments(struct elapse__buffer *buffer, const char *format,
                                     va_list arguments)
{
    enum { USUAL_BYTES = 128 };
    va_list again;
    int length = -1;

    va_copy(again, arguments);
    if (elapse__buffer_reserve(buffer, USUAL_BYTES)) {
        length = vsnprintf((char *)buffer->bytes + buffer->end, USUAL_BYTES, format, arguments);
        ELAPSE__ASSERT(length >= 0);
    }
    if (length >= USUAL_BYTES) {
        size_t room = (size_t)length + 1;
        if (elapse__buffer_reserve(buffer, room))
            (void)vsnprintf((char *)buffer->bytes + buffer->end, room, format, again);
        else
            length = -1;
    }
    va_end(again);
    if (length < 0)
        return false;
    buffer->end += (size_t)length;
    check(buffer);
    return true;
}

bool elapse__buffer_format(struct elapse__buffer *buffer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    bool fits = elapse__buffer_format_arguments(buffer, format, arguments);
    va_end(arguments);
    return fits;
}

void elapse__buffer_take(struct elapse__buffer *buffer, size_t size)
{
    ELAPSE__ASSERT_THAT(size, <=, elapse__buffer_size(buffer));
    buffer->begin += size;
    if (buffer->begin < buffer->end)
        return;
    elapse__buffer_clear(buffer);
    if (buffer->capacity > ELAPSE__BUFFER_KEPT)
        elapse__buffer_free(buffer);
}

void elapse__buffer_free(struct elapse__buffer *buffer)
{
    give_memory(buffer->bytes, buffer->capacity);
    *buffer = (struct elapse__buffer){.bytes = NULL};
}
