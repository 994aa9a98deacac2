/*
 * What the server keeps of a connection of HTTP beside what libevent keeps: how far the next
 * request has come, until when the rest has to come, and the address of the client.
 *
 *      made --libevent has a connection for it--> bound --the connection ends--> gone
 *
 * A connection is narrow if there were too many connections when it came, in all or from its
 * address. A narrow connection gets /healthz alone. When there are too many narrow connections, the
 * oldest are closed.
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
    struct event *bind;                   /* once: finds the connection */
    struct event *limit;                  /* when the request has to be there */
    struct elapse__http_intake intake;
    enum elapse__http_intake_fault
        fault;        /* of the next request, which may come while one is being answered */
    uint32_t guesses; /* wrong passwords */
    uint64_t place;   /* of the client's address: src/os/sockets.h */
    bool is_narrow;
    bool is_refused; /* nothing is read any more */
    /* Called when the connection ends. NULL: no request waits for its answer. */
    void (*ended)(struct evhttp_connection *connection, void *argument);
    void *argument;
};

/* Begins to watch `bytes`, of which libevent is about to make a connection. Returns false if there
 * is no memory. */
bool elapse__http_stream_new(struct elapse__http *http, struct bufferevent *bytes,
                             uint64_t body_bytes_max);

/* Returns the stream of a connection; NULL: there was no memory for one. */
struct elapse__http_stream *elapse__http_stream_of(const struct elapse__http *http,
                                                   struct evhttp_connection *connection);

/* Notes that libevent has the whole request of the stream. */
void elapse__http_stream_taken(struct elapse__http_stream *stream);

/* Has `ended` called when the connection ends; NULL: has nothing called any more. */
void elapse__http_stream_on_end(const struct elapse__http *http,
                                struct evhttp_connection *connection,
                                void (*ended)(struct evhttp_connection *connection, void *argument),
                                void *argument);

/* Stores the code and the message of a fault. Returns its status. */
int elapse__http_fault_text(enum elapse__http_intake_fault fault, const char **code,
                            const char **message);

#endif
