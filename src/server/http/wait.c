#include "wait.h"

#include "../../base/assert.h"
#include "stream.h"

static void lose(struct elapse__http_wait *wait)
{
    ELAPSE__ASSERT(elapse__ring_has_node(&wait->ring_node) && wait->request != NULL);
    wait->request = NULL;
    wait->lost(wait);
}

/* Called when libevent ends the connection of a request, because writing has failed or took too
 * long. Ends the request. */
static void on_closed(struct evhttp_connection *connection, void *argument)
{
    struct elapse__http_wait *wait = argument;
    struct evhttp_request *request = wait->request;

    (void)connection;
    /* If libevent has taken the connection away from the request, this server has to free the
     * request. */
    bool is_own = evhttp_request_get_connection(request) == NULL;
    lose(wait);
    if (is_own)
        evhttp_request_free(request);
}

/* Called when a client has closed its side. Ends the request. libevent would not notice it, because
 * it reads nothing while a request is being answered. */
static void on_gone(evutil_socket_t socket, short what, void *argument)
{
    struct elapse__http_wait *wait = argument;
    struct evhttp_connection *connection = evhttp_request_get_connection(wait->request);

    (void)socket;
    (void)what;
    elapse__http_stream_on_end(wait->http, connection, NULL, NULL);
    lose(wait);
    evhttp_connection_free(connection);
}

bool elapse__http_wait_begin(struct elapse__http_wait *wait, struct elapse__http *http,
                             struct elapse__ring_node *ring, struct evhttp_request *request)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    struct bufferevent *stream = evhttp_connection_get_bufferevent(connection);
    const struct timeval write_limit = {.tv_sec = ELAPSE__HTTP_WRITE_S};

    ELAPSE__ASSERT(!elapse__ring_has_node(&wait->ring_node));
    ELAPSE__ASSERT(wait->request == NULL && wait->gone == NULL);
    ELAPSE__ASSERT(ring == &http->calls || ring == &http->scrapes || ring == &http->event_clients ||
                   ring == &http->waiting_guesses);
    wait->gone = elapse__loop_event(http->loop->peers.base, bufferevent_getfd(stream), EV_CLOSED,
                                    NULL, on_gone, wait);
    if (wait->gone == NULL)
        return false;
    wait->http = http;
    wait->request = request;
    elapse__ring_append(ring, &wait->ring_node);
    elapse__http_stream_on_end(http, connection, on_closed, wait);
    /* An answer may take long. Meanwhile the client has nothing to send. */
    (void)bufferevent_set_timeouts(stream, NULL, &write_limit);
    return true;
}

void elapse__http_wait_end(struct elapse__http_wait *wait)
{
    const struct timeval limit = {.tv_sec = ELAPSE__HTTP_IDLE_S};
    struct evhttp_connection *connection =
        wait->request == NULL ? NULL : evhttp_request_get_connection(wait->request);

    ELAPSE__ASSERT(elapse__ring_has_node(&wait->ring_node));
    if (connection != NULL) {
        elapse__http_stream_on_end(wait->http, connection, NULL, NULL);
        (void)bufferevent_set_timeouts(evhttp_connection_get_bufferevent(connection), &limit,
                                       &limit);
    }
    event_free(wait->gone);
    (void)elapse__ring_remove(&wait->ring_node);
}

struct elapse__http_wait *elapse__http_wait_first(struct elapse__ring_node *ring)
{
    return elapse__ring_empty(ring) ? NULL : (struct elapse__http_wait *)(void *)ring->next;
}
