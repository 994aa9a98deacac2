/*
 * A command for the server while the client makes it. Its words may have any bytes.
 */
#ifndef ELAPSE_CLI_CLIENT_REQUEST_H
#define ELAPSE_CLI_CLIENT_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "../common/buffer.h"

/* The most words of a request. A server takes more words in one command. */
enum { REQUEST_WORDS_MAX = 1024 };

/* A request of zeros is empty. */
struct request {
    struct elapse__buffer bytes;
    size_t ends[REQUEST_WORDS_MAX]; /* where each word ends */
    size_t count;
};

/* request_clear makes the request empty. request_free frees its memory. */
void request_clear(struct request *request);
void request_free(struct request *request);

/* These functions add a word. They require that the request has fewer than REQUEST_WORDS_MAX words.
 * Otherwise they end the program with a message. */
void request_add(struct request *request, const char *bytes, size_t length);
void request_add_text(struct request *request, const char *text);
void request_add_number(struct request *request, uint64_t number);

/* Appends the request to `out` in the form that the server reads. */
void request_write(const struct request *request, struct elapse__buffer *out);

#endif
