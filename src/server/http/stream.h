/*
 * What the server keeps of a connection of HTTP in addition to what libevent keeps. It is how far
 * the next request has come, when the rest has to be there, and the address of the client.
 *
 *      made --libevent has a connection for it--> bound --the connection ends--> gone
 *
 * A connection is narrow if there were too many connections when it came, in total or from its
 * address. All others are wide. A narrow connection gets only /livez. When there are too many
 * narrow connections, the oldest are closed.
 */
#ifndef ELAPSE__HTTP_STREAM_H
#define ELAPSE__HTTP_STREAM_H

#include "intake.h"
#include "shell.h"

struct elapse__http_stream {
    struct elapse__ring_node ring_node; /* must be first; in the ring of all streams by age */
    struct elapse__http *http;
    struct bufferevent *bytes;
    struct evhttp_connection *connection; /* NULL: not bound yet */
    struct event *bind;                   /* fires once, and finds the connection */
    struct event *limit;                  /* fires when the request must have come */
    struct elapse__http_intake intake;
    enum elapse__http_intake_fault fault; /* of the next request, which may come during an answer */
    uint32_t guesses;                     /* how many wrong passwords have come */
    uint64_t place;                       /* the place of the client's address (src/os/sockets.h) */
    bool is_narrow;
    bool is_refused; /* the connection was refused: nothing more is read */
    /* Called when the connection ends. NULL if no request waits for its answer. */
    void (*ended)(struct evhttp_connection *connection, void *argument);
    void *argument;
};

/* Begins to watch `bytes`, of which libevent is about to make a connection. Returns false if there
 * is no memory. */
bool elapse__http_stream_new(struct elapse__http *http, struct bufferevent *bytes,
                             uint64_t body_bytes_max);

/* Returns the stream of a connection, or NULL if there was no memory for one. */
struct elapse__http_stream *elapse__http_stream_of(const struct elapse__http *http,
                                                   struct evhttp_connection *connection);

/* Notes that libevent has the whole request of the stream. */
void elapse__http_stream_taken(struct elapse__http_stream *stream);

/* Sets what is called when the connection ends. With NULL, nothing is called. */
void elapse__http_stream_on_end(const struct elapse__http *http,
                                struct evhttp_connection *connection,
                                void (*ended)(struct evhttp_connection *connection, void *argument),
                                void *argument);

/* Stores the code and the message of a fault. Returns the status of the fault. */
int elapse__http_fault_text(enum elapse__http_intake_fault fault, const char **code,
                            const char **message);

#endif
