/*
 * The server's HTTP: the page, its events, the metrics, and the interface in JSON. It uses the HTTP
 * server of libevent. A request that becomes a command is a connection of the core like any other.
 * It has a pipe instead of a socket:
 *
 *      request --guard--> route --translate--> pipe --> core --> pipe --answer--> reply
 *
 * The files of the shell use libevent, the loop and the store. A file uses only files below it:
 *
 *      http.c      listening; who may ask; what needs no command
 *      call.c      a request that is a command of the core
 *      events.c    /events
 *      scrape.c    /metrics, and the forecast
 *      figures.c   what the page and the forecast show, collected once a second
 *      cores.c     the cores that figures come from
 *      guess.c     wrong passwords
 *      stream.c    what comes over a connection, and how long it may take
 *      room.c      how many connections there are
 *      wait.c      a request that is not answered at once
 *      reply.c     replies
 *
 * The pure files decide. They have neither sockets nor clocks. They are a library of their own,
 * elapse-server-http, which tests and fuzzers use:
 *
 *      intake.c       heads, and how long a request may be
 *      guard.c        headers for which a request is refused
 *      routes.c       paths, and what they do
 *      translate.c    a request -> a command; building.c and members.c are its pieces
 *      request.c      why a request is refused
 *      answer.c       the reply of the core -> the answer
 *      status.c       the state of the server as JSON; cluster.c adds the cluster
 *      metrics.c      the metrics; metric_text.c has the pieces of one
 *      sum.c          sums over the partitions of a node
 *      window.c       what a histogram has counted in the last minute
 *
 * The shell runs in the thread of the loop, without the store's lock. For each look at passwords or
 * figures, elapse__loop_with_core takes the lock.
 */
#ifndef ELAPSE__HTTP_H
#define ELAPSE__HTTP_H

#include <stdbool.h>

struct elapse__loop;
struct elapse__http;

/* Makes the server of HTTP. Returns NULL if there is no memory. Requires that the loop has its base
 * of events. */
struct elapse__http *elapse__http_open(struct elapse__loop *loop);

/* Begins to take connections from a listening socket. The caller closes the socket. */
bool elapse__http_listen(struct elapse__http *http, int socket, bool tls);

/* Takes no new connections any more. Requests continue. */
void elapse__http_listen_no_more(struct elapse__http *http);

/* Returns whether no command of a request is running, and no client is waiting for the rest of an
 * answer. */
bool elapse__http_is_idle(const struct elapse__http *http);

/* Ends all requests, and frees the server of HTTP. Ignores NULL. Requires that no pipe has a
 * peer. */
void elapse__http_close(struct elapse__http *http);

#endif
