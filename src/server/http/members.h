/*
 * Reads a request as an object of JSON. The members come from its body or from its query. All
 * values of a query are strings.
 */
#ifndef ELAPSE__HTTP_MEMBERS_H
#define ELAPSE__HTTP_MEMBERS_H

#include <stddef.h>

#include <jansson.h>

#include "request.h"

enum { ELAPSE__HTTP_TEXT_BYTES_MAX = 4096 }; /* for a pair of a query, or a name in a path */

/* How many opening brackets and commas a body may have. An ACK has three for each job. A command of
 * a transaction has one for each of its members. */
enum {
    ELAPSE__HTTP_MARKS_MAX = 4 * ELAPSE__HTTP_ITEMS_MAX,
    ELAPSE__HTTP_TRANSACTION_MARKS_MAX = 24 * ELAPSE__HTTP_ITEMS_MAX,
};

/* These functions return the members, which the caller frees by json_decref. On failure they fill
 * the fault and return NULL. `query` has no '?', and may be NULL. */
json_t *elapse__http_members_of_query(const char *query, struct elapse__http_fault *fault);
json_t *elapse__http_members_of_body(const char *body, size_t size, size_t marks_max,
                                     struct elapse__http_fault *fault);

/* Decodes the escapes of a URI into `out`, which has room for `size` bytes. Returns how many bytes
 * it has stored, or SIZE_MAX if an escape is wrong. */
size_t elapse__http_decode(const char *text, size_t size, bool plus_is_blank, char *out);

#endif
