/*
 * The state of the server of HTTP, which the files of the shell (http.h) share.
 */
#ifndef ELAPSE__HTTP_SHELL_H
#define ELAPSE__HTTP_SHELL_H

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>

#include "../loop/loop.h"
#include "../page/page.h"

enum {
    ELAPSE__HTTP_EVENT_CLIENTS = 100,
    ELAPSE__HTTP_IDLE_S = 60,        /* how long a connection may be without a request */
    ELAPSE__HTTP_WRITE_S = 60,       /* how long a client may receive nothing of its reply */
    ELAPSE__HTTP_CONNECTIONS = 1000, /* the most connections, without the narrow ones */
    ELAPSE__HTTP_SHARE = 2,          /* one address has at most this fraction of them: a half */
    ELAPSE__HTTP_NARROW = 32,        /* the most narrow connections (stream.h) */
};

struct elapse__http {
    struct elapse__loop *loop;
    struct evhttp *plain;
    struct evhttp *secure;
    struct evhttp_bound_socket *bound[ELAPSE__LISTENERS_MAX];
    bool is_secure[ELAPSE__LISTENERS_MAX];
    size_t bound_count;
    struct event *listen_again;       /* set while no connection can be taken; it ends the pause */
    uint64_t own_files;               /* descriptors of neither connections nor the journal */
    uint64_t count_again_ns;          /* no count of connections before this time */
    struct elapse__ring_node streams; /* all connections */
    struct elapse__ring_node calls;   /* requests that are commands of the core */
    struct elapse__ring_node waiting_guesses; /* requests with wrong passwords */
    struct elapse__ring_node scrapes;         /* requests for the metrics */
    struct elapse__ring_node event_clients;   /* requests for events */
    uint32_t event_client_count;
    struct elapse__http_figures *figures;
    char policy[ELAPSE__PAGE_POLICY_BYTES];
};

#endif
