/*
 * Text that grows in memory.
 */
#ifndef ELAPSE_CLI_COMMON_BUFFER_H
#define ELAPSE_CLI_COMMON_BUFFER_H

#include <stdarg.h>
#include <stddef.h>

/* Empty when it is all zero. The functions end the program when there is no memory. */
struct buffer {
    char *bytes; /* followed by a NUL; NULL as long as nothing was added */
    size_t length;
    size_t capacity;
};

/* Returns where `bytes` more bytes can be written. They count once `length` is raised. */
char *buffer_reserve(struct buffer *buffer, size_t bytes);

void buffer_add(struct buffer *buffer, const char *bytes, size_t length);

/* Adds a string. */
void buffer_add_text(struct buffer *buffer, const char *text);

/* Adds text as printf, or vprintf, would. */
__attribute__((format(printf, 2, 3))) void buffer_add_format(struct buffer *buffer,
                                                             const char *format, ...);

void buffer_add_arguments(struct buffer *buffer, const char *format, va_list arguments);

/* Frees the text; the buffer is empty again. */
void buffer_free(struct buffer *buffer);

#endif
