/*
 * Compresses answers for clients that accept gzip.
 */
#ifndef ELAPSE__HTTP_GZIP_H
#define ELAPSE__HTTP_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/http.h>

enum { ELAPSE__GZIP_BYTES_MIN = 1024 }; /* to compress fewer bytes is not worth it */

/* Returns whether the value of the header Accept-Encoding names gzip. `value` is NULL if there is
 * no such header. */
bool elapse__gzip_is_accepted(const char *value);

/* Returns whether the client of a request accepts gzip. */
bool elapse__gzip_is_taken(struct evhttp_request *request);

/* Adds the header to an answer which says that it is compressed. */
void elapse__gzip_add_header(struct evhttp_request *request);

/* A text that leaves in pieces. A client can read each piece as soon as it has come. The struct
 * begins as zeros. */
struct elapse__gzip {
    bool has_begun;
    uint32_t checksum;
    uint32_t size; /* modulo 2^32 */
};

/* These functions append a piece, and the end of the text. They return false and append nothing if
 * there is no memory. Cost: about 20 ns for a byte. */
bool elapse__gzip_add(struct elapse__gzip *gzip, struct evbuffer *to, const void *bytes,
                      size_t size);
bool elapse__gzip_end(const struct elapse__gzip *gzip, struct evbuffer *to);

#endif
