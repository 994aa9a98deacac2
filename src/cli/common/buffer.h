/*
 * The buffer of src/base for this program. It ends the program when there is no memory.
 */
#ifndef ELAPSE_CLI_COMMON_BUFFER_H
#define ELAPSE_CLI_COMMON_BUFFER_H

#include <stddef.h>
#include <string.h>

#include "../../base/buffer.h"
#include "message.h"
#include "text.h"

static inline void buffer_add(struct elapse__buffer *buffer, const void *bytes, size_t size)
{
    require_memory(elapse__buffer_append(buffer, bytes, size));
}

static inline void buffer_add_text(struct elapse__buffer *buffer, const char *text)
{
    buffer_add(buffer, text, strlen(text));
}

/* Adds text of unknown origin, made harmless for a terminal (mask_text). */
static inline void buffer_add_masked(struct elapse__buffer *buffer, const char *text, size_t length)
{
    if (length == 0)
        return; /* an empty buffer may point to nothing */
    buffer_add(buffer, text, length);
    mask_text((char *)buffer->bytes + buffer->end - length, length);
}

/* Adds text as printf would: buffer_add_format(buffer, format, ...). */
#define buffer_add_format(...) require_memory(elapse__buffer_format(__VA_ARGS__))

/* Returns room for `size` more bytes. The bytes are added when the caller raises the buffer's end.
 */
static inline char *buffer_room(struct elapse__buffer *buffer, size_t size)
{
    require_memory(elapse__buffer_reserve(buffer, size));
    return (char *)buffer->bytes + buffer->end;
}

/* Returns the bytes as a string, which is valid until more bytes are added. The NUL is not counted
 * in the buffer's size. */
static inline const char *buffer_string(struct elapse__buffer *buffer)
{
    *buffer_room(buffer, 1) = '\0';
    return (const char *)elapse__buffer_first(buffer);
}

#endif
