/*
 * A command for the server, as it is put together: words of any bytes.
 */
#ifndef ELAPSE_CLI_CLIENT_REQUEST_H
#define ELAPSE_CLI_CLIENT_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "../common/buffer.h"

/* Fewer than the server takes in one command. */
enum { REQUEST_WORDS_MAX = 1024 };

/* A request of zeros is empty. */
struct request {
    struct elapse__buffer bytes;
    size_t ends[REQUEST_WORDS_MAX]; /* of each word */
    size_t count;
};

/* Make the request empty; release its memory. */
void request_clear(struct request *request);
void request_free(struct request *request);

/* Add a word. Require that the request has fewer than REQUEST_WORDS_MAX words. */
void request_add(struct request *request, const char *bytes, size_t length);
void request_add_text(struct request *request, const char *text);
void request_add_number(struct request *request, uint64_t number);

/* Appends the request to `out` as the server reads it. */
void request_write(const struct request *request, struct elapse__buffer *out);

#endif
