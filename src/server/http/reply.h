/*
 * Sends replies. Each request gets one reply.
 */
#ifndef ELAPSE__HTTP_REPLY_H
#define ELAPSE__HTTP_REPLY_H

#include <event2/http.h>

#include "../../base/json_writer.h"

void elapse__http_add_header(struct evhttp_request *request, const char *name, const char *value);

/* Adds the headers that every reply has. */
void elapse__http_add_headers(struct evhttp_request *request, const char *type);

void elapse__http_send(struct evhttp_request *request, int status, const char *type,
                       const void *bytes, size_t size);

/* Writes the object that is the body of every error. */
void elapse__http_write_error(struct elapse__json *json, const char *code, const char *message);

void elapse__http_send_error(struct evhttp_request *request, int status, const char *code,
                             const char *message);

/* Replies that there is no memory. */
void elapse__http_send_no_memory(struct evhttp_request *request);

/* Sends a text with this Content-Type. If there was no memory for the text, sends an error. Frees
 * the text. */
void elapse__http_send_text(struct evhttp_request *request, int status, const char *type,
                            struct elapse__json *text);

/* Sends JSON as elapse__http_send_text sends a text. */
void elapse__http_send_json(struct evhttp_request *request, int status, struct elapse__json *json);

#endif
