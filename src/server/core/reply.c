/*
 * Appends to replies.
 */
#include <string.h>

#include "inner.h"

/* Counts bytes that were appended. Bytes of `out` count at once. Bytes of `held` count when their
 * reply is closed. */
static void count_bytes(struct elapse__connection *connection, size_t size)
{
    if (connection->writing == &connection->out)
        connection->out_end += size;
}

void elapse__reply_bytes(struct elapse__connection *connection, const void *bytes, size_t size)
{
    if (elapse__buffer_append(connection->writing, bytes, size))
        count_bytes(connection, size);
    else
        elapse__connection_fail(connection);
}

void elapse__reply_text(struct elapse__connection *connection, const char *text)
{
    elapse__reply_bytes(connection, text, strlen(text));
}

char *elapse__reply_begin(struct elapse__connection *connection, size_t size)
{
    struct elapse__buffer *buffer = connection->writing;

    if (elapse__buffer_reserve(buffer, size))
        return (char *)buffer->bytes + buffer->end;
    elapse__connection_fail(connection);
    return NULL;
}

void elapse__reply_end(struct elapse__connection *connection, size_t size)
{
    struct elapse__buffer *buffer = connection->writing;

    ELAPSE__ASSERT_THAT(size, <=, buffer->capacity - buffer->end);
    buffer->end += size;
    count_bytes(connection, size);
}

size_t elapse__reply_size(const struct elapse__connection *connection)
{
    ELAPSE__ASSERT(connection->writing == &connection->held);
    return elapse__buffer_size(&connection->held) - connection->reply_begin;
}

void elapse__reply_cut(struct elapse__connection *connection, size_t size)
{
    ELAPSE__ASSERT_THAT(size, <=, elapse__reply_size(connection));
    connection->held.end = connection->held.begin + connection->reply_begin + size;
}

char *elapse__reply_at(struct elapse__connection *connection)
{
    ELAPSE__ASSERT(connection->writing == &connection->held);
    char *first = (char *)elapse__buffer_first(&connection->held);
    return connection->reply_begin == 0 ? first : first + connection->reply_begin;
}
