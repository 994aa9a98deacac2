/*
 * HTTP of the server, by libevent's server: the page, its events, the metrics, and the interface
 * in JSON. What requests ask for is decided in src/server/http; a request that becomes a command
 * is a connection of the core as any other, with a pipe in place of a socket:
 *
 *      request --guard--> route --translate--> pipe --> core --> pipe --answer--> reply
 *
 *      http.c           listening; who may ask; what needs no command
 *      http_call.c      a request that is a command of the core
 *      http_events.c    /events
 *      http_metrics.c   /metrics, and the forecast
 *      http_figures.c   what these show, collected once a second
 *      http_room.c      how many connections there are
 *
 * All of it runs in the thread of the loop, without the store's lock: elapse__loop_with_core takes
 * it for each look at the passwords or at figures.
 */
#ifndef ELAPSE__HTTP_H
#define ELAPSE__HTTP_H

#include <stdbool.h>

struct elapse__loop;
struct elapse__http;

/* Returns NULL if there is no memory. Requires the base of the loop's events. */
struct elapse__http *elapse__http_open(struct elapse__loop *loop);

/* Takes connections of a socket that listens, which stays the caller's. */
bool elapse__http_listen(struct elapse__http *http, int socket, bool tls);

/* Takes no connection any more; requests go on. */
void elapse__http_listen_no_more(struct elapse__http *http);

/* Finds out how many connections of HTTP there are, for peers.http, unless it has just done so. */
void elapse__http_count(struct elapse__http *http);

/* Returns whether no request waits for its answer, or its client for the rest of one. */
bool elapse__http_is_idle(const struct elapse__http *http);

/* Ends all requests, and releases it; NULL is ignored. Requires that no pipe has a peer. */
void elapse__http_close(struct elapse__http *http);

#endif
