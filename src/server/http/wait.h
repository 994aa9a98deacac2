/*
 * A request that is not answered at once. The owner of the wait learns it when the client has gone.
 *
 *      begun --> in one ring of the server --the owner answers, or the client goes--> ended
 */
#ifndef ELAPSE__HTTP_WAIT_H
#define ELAPSE__HTTP_WAIT_H

#include "shell.h"

/* A wait begins as zeros, and is in exactly one ring of the server. */
struct elapse__http_wait {
    struct elapse__ring_node ring_node; /* must be first */
    struct elapse__http *http;
    struct evhttp_request *request; /* NULL: its client has gone */
    struct event *gone;
    /* Called when the client has gone. `request` is NULL then. The owner has to end the wait. */
    void (*lost)(struct elapse__http_wait *wait);
};

/* Puts the wait into the ring, and watches whether the client goes. Returns false if there is no
 * memory. */
bool elapse__http_wait_begin(struct elapse__http_wait *wait, struct elapse__http *http,
                             struct elapse__ring_node *ring, struct evhttp_request *request);

/* Takes the wait out of its ring, and stops watching the client. Called when the request is
 * answered, or when its client has gone. */
void elapse__http_wait_end(struct elapse__http_wait *wait);

/* Returns the oldest wait of a ring, or NULL if there is none. */
struct elapse__http_wait *elapse__http_wait_first(struct elapse__ring_node *ring);

#endif
