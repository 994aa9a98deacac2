/*
 * What the files of HTTP share.
 */
#ifndef ELAPSE__HTTP_INNER_H
#define ELAPSE__HTTP_INNER_H

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "../../base/json_writer.h"
#include "../loop/loop.h"
#include "../page/page.h"
#include "figures.h"
#include "routes.h"

enum {
    ELAPSE__HTTP_HEADERS_BYTES = 32 << 10,
    ELAPSE__HTTP_BODY_SPARE = 64 << 10, /* of a request, beside a job's body in JSON */
    ELAPSE__HTTP_BODY_FACTOR = 4,
    ELAPSE__HTTP_EVENT_CLIENTS = 100,
    ELAPSE__HTTP_IDLE_S = 60,  /* a connection without a request ends */
    ELAPSE__HTTP_WRITE_S = 60, /* and one that takes nothing of its reply */
    ELAPSE__HTTP_CONNECTIONS = 1000,
};

struct elapse__http {
    struct elapse__loop *loop;
    struct evhttp *plain;
    struct evhttp *secure;
    struct evhttp_bound_socket *bound[ELAPSE__LISTENERS_MAX];
    bool is_secure[ELAPSE__LISTENERS_MAX];
    size_t bound_count;
    struct event *listen_again; /* after a pause, because this machine could take no connection */
    uint64_t own_files;         /* descriptors that are neither connections nor the journal's */
    uint64_t count_again_ns;    /* connections are not counted before this time */
    struct elapse__ring_node calls;   /* requests that are commands */
    struct elapse__ring_node scrapes; /* of the metrics */
    struct elapse__ring_node event_clients;
    uint32_t event_client_count;
    struct elapse__http_figures *figures;
    char policy[ELAPSE__PAGE_POLICY_BYTES];
};

/* ---- a request that is not answered at once (http.c) ---- */

/* It begins as zeros, and is in a ring of the server. */
struct elapse__http_wait {
    struct elapse__ring_node ring_node; /* first */
    struct elapse__http *http;
    struct evhttp_request *request; /* NULL: its client has gone */
    struct event *gone;
    /* The client has gone; `request` is NULL. */
    void (*lost)(struct elapse__http_wait *wait);
};

/* Enters the ring, and hears when the client goes. Returns false if there is no memory. */
bool elapse__http_wait_begin(struct elapse__http_wait *wait, struct elapse__http *http,
                             struct elapse__ring_node *ring, struct evhttp_request *request);

/* Leaves the ring: the request is answered, or its client has gone. */
void elapse__http_wait_end(struct elapse__http_wait *wait);

/* ---- replies (http.c) ---- */

void elapse__http_add_header(struct evhttp_request *request, const char *name, const char *value);

/* Headers that each reply has. */
void elapse__http_add_headers(struct evhttp_request *request, const char *type);

void elapse__http_send(struct evhttp_request *request, int status, const char *type,
                       const void *bytes, size_t size);
void elapse__http_send_error(struct evhttp_request *request, int status, const char *code,
                             const char *message);
/* Sends the text, or an error if there was no memory; releases it. */
void elapse__http_send_json(struct evhttp_request *request, int status, struct elapse__json *json);

/* ---- room (http_room.c) ---- */

/* Counts the descriptors that belong to no connection. Requires that there is none of HTTP. */
void elapse__http_count_own_files(struct elapse__http *http);

/* Returns whether another connection may be taken. */
bool elapse__http_has_room(struct elapse__http *http);

/* ---- the other files ---- */

/* A request whose operation becomes a command. */
void elapse__http_call_begin(struct elapse__http *http, struct evhttp_request *request,
                             const struct elapse__http_route *route);
void elapse__http_calls_close(struct elapse__http *http);

void elapse__http_metrics_begin(struct elapse__http *http, struct evhttp_request *request);
void elapse__http_metrics_close(struct elapse__http *http);
void elapse__http_send_forecast(struct elapse__http *http, struct evhttp_request *request);

void elapse__http_events_begin(struct elapse__http *http, struct evhttp_request *request);
void elapse__http_events_close(struct elapse__http *http);

#endif
