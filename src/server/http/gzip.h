/*
 * Compresses answers, for clients that say that they take gzip.
 */
#ifndef ELAPSE__HTTP_GZIP_H
#define ELAPSE__HTTP_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/http.h>

enum { ELAPSE__GZIP_BYTES_MIN = 1024 }; /* fewer bytes are not worth it */

/* Returns whether a value of the header Accept-Encoding names gzip; NULL: there is no such header.
 */
bool elapse__gzip_is_accepted(const char *value);

/* Returns whether the client of a request takes gzip. */
bool elapse__gzip_is_taken(struct evhttp_request *request);

/* Says in the head of an answer that it is compressed. */
void elapse__gzip_add_header(struct evhttp_request *request);

/* A text that leaves in pieces, each of which can be read as soon as it has come. Begins as zeros.
 */
struct elapse__gzip {
    bool has_begun;
    uint32_t checksum;
    uint32_t size; /* modulo 2^32 */
};

/* Append a piece, and the end of the text. Return false, and append nothing, if there is no memory.
 * Cost: some 20 ns a byte. */
bool elapse__gzip_add(struct elapse__gzip *gzip, struct evbuffer *to, const void *bytes,
                      size_t size);
bool elapse__gzip_end(const struct elapse__gzip *gzip, struct evbuffer *to);

#endif
