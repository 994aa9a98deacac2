/*
 * A connection of HTTP, beside what libevent knows of it: what comes over it, until when it has to
 * come, and whose connection it is.
 *
 *      made --libevent has a connection for it--> bound --the connection ends--> gone
 *
 * A connection is narrow if there are too many without it, all together or of its address: it
 * gets /healthz alone, and ends when others come for whom there would be no room.
 */
#ifndef ELAPSE__HTTP_STREAM_H
#define ELAPSE__HTTP_STREAM_H

#include "intake.h"
#include "shell.h"

struct elapse__http_stream {
    struct elapse__ring_node ring_node; /* first; in the ring of all streams, the oldest first */
    struct elapse__http *http;
    struct bufferevent *bytes;
    struct evhttp_connection *connection; /* NULL: not bound yet */
    struct event *bind;
    struct event *limit;
    struct elapse__http_intake intake;
    enum elapse__http_intake_fault
        fault;        /* of the next request, which comes while one is answered */
    uint32_t guesses; /* wrong passwords */
    uint64_t place;   /* of the client's address: src/os/sockets.h */
    bool is_narrow;
    bool is_refused; /* nothing is read any more */
    /* Hears when the connection ends; NULL: no request waits for its answer. */
    void (*ended)(struct evhttp_connection *connection, void *argument);
    void *argument;
};

/* Watches what libevent is about to accept a connection for. Returns false if there is no memory.
 */
bool elapse__http_stream_new(struct elapse__http *http, struct bufferevent *bytes,
                             uint64_t body_bytes_max);

/* Returns the stream of a connection; NULL: there was no memory for one. */
struct elapse__http_stream *elapse__http_stream_of(const struct elapse__http *http,
                                                   struct evhttp_connection *connection);

/* Notes that libevent has the whole request of the stream. */
void elapse__http_stream_taken(struct elapse__http_stream *stream);

/* Hears when the connection ends; NULL: no more. */
void elapse__http_stream_on_end(const struct elapse__http *http,
                                struct evhttp_connection *connection,
                                void (*ended)(struct evhttp_connection *connection, void *argument),
                                void *argument);

/* Stores status, code and message of a fault. Returns the status. */
int elapse__http_fault_text(enum elapse__http_intake_fault fault, const char **code,
                            const char **message);

#endif
