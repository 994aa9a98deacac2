/*
 * Sends the state of the server once a second to each client of /events.
 */
#include "events.h"

#include <stdlib.h>

#include "../../base/assert.h"
#include "figures.h"
#include "gzip.h"
#include "reply.h"
#include "wait.h"

enum {
    QUIET_S = 15, /* after so long without an event, a comment shows that the server lives */
    LONG_FORECAST_S = 60,
};

struct event_client {
    struct elapse__http_wait wait; /* must be first */
    /* The timer of this client. Each client has its own, so that the events of many clients are
     * spread over a second. */
    struct event *second;
    unsigned quiet_s; /* seconds since something was sent */
    unsigned long_s;  /* seconds since the long forecast was sent */
    bool has_begun;   /* something was sent before */
    bool takes_gzip;
    struct elapse__gzip gzip;
};

static void release(struct event_client *client)
{
    struct elapse__http *http = client->wait.http;

    ELAPSE__ASSERT_THAT(http->event_client_count, >, 0);
    http->event_client_count--;
    elapse__http_figures_set_watched(http->figures, http->event_client_count > 0);
    event_free(client->second);
    elapse__http_wait_end(&client->wait);
    free(client);
}

static void on_lost(struct elapse__http_wait *wait)
{
    release((struct event_client *)(void *)wait);
}

/* ---- sending ---- */

static struct elapse__json make_event(struct elapse__http *http, bool is_long)
{
    struct elapse__json json = {.failed = false};
    struct elapse__http_status status;

    elapse__http_figures_look(http->figures, is_long, &status);
    elapse__json_raw(&json, "event: status\ndata: ");
    elapse__http_write_status(&json, &status);
    elapse__json_raw(&json, "\n\n");
    return json;
}

static void send_to(struct event_client *client, const void *bytes, size_t size)
{
    struct evbuffer *chunk = evbuffer_new();

    ELAPSE__ASSERT_THAT(size, >, 2);
    if (chunk == NULL)
        return;
    if (client->takes_gzip ? elapse__gzip_add(&client->gzip, chunk, bytes, size)
                           : evbuffer_add(chunk, bytes, size) == 0)
        evhttp_send_reply_chunk(client->wait.request, chunk);
    evbuffer_free(chunk);
    client->quiet_s = 0;
    client->has_begun = true;
}

static bool is_behind(const struct event_client *client)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(client->wait.request);
    struct bufferevent *stream = evhttp_connection_get_bufferevent(connection);

    return evbuffer_get_length(bufferevent_get_output(stream)) > 0;
}

/* Sends the state to one client. Does nothing if the client has not received the previous event. */
static void send_event(struct elapse__http *http, struct event_client *client)
{
    bool is_long = client->long_s == 0;

    ELAPSE__ASSERT_THAT(client->long_s, <, LONG_FORECAST_S);
    /* Before the first event, the client may still have to receive the headers. */
    if (client->has_begun && is_behind(client)) {
        client->quiet_s++;
        return;
    }
    struct elapse__json json = make_event(http, is_long);
    if (!json.failed)
        send_to(client, elapse__buffer_first(&json.text), elapse__buffer_size(&json.text));
    else if (++client->quiet_s >= QUIET_S)
        send_to(client, ":\n\n", 3);
    client->long_s = (client->long_s + 1) % LONG_FORECAST_S;
    elapse__json_free(&json);
}

static void on_second(evutil_socket_t descriptor, short what, void *argument)
{
    struct event_client *client = argument;

    (void)descriptor;
    (void)what;
    send_event(client->wait.http, client);
}

/* ---- life ---- */

/* Returns a client with a timer that fires each second, or NULL if there is no memory. */
static struct event_client *new_client(struct elapse__http *http)
{
    const struct timeval second = {.tv_sec = 1};
    struct event_client *client = calloc(1, sizeof *client);

    if (client == NULL)
        return NULL;
    client->wait.lost = on_lost;
    client->second =
        elapse__loop_event(http->loop->peers.base, -1, EV_PERSIST, &second, on_second, client);
    if (client->second != NULL)
        return client;
    free(client);
    return NULL;
}

void elapse__http_events_begin(struct elapse__http *http, struct evhttp_request *request)
{
    if (evhttp_request_get_command(request) == EVHTTP_REQ_HEAD) {
        elapse__http_add_headers(request, "text/event-stream");
        evhttp_send_reply(request, 200, NULL, NULL);
        return;
    }
    if (http->event_client_count >= ELAPSE__HTTP_EVENT_CLIENTS) {
        elapse__http_send_error(request, 503, "FULL", "too many clients read events");
        return;
    }
    struct event_client *client = new_client(http);
    if (client == NULL ||
        !elapse__http_wait_begin(&client->wait, http, &http->event_clients, request)) {
        if (client != NULL)
            event_free(client->second);
        free(client);
        elapse__http_send_no_memory(request);
        return;
    }
    http->event_client_count++;
    ELAPSE__ASSERT_THAT(http->event_client_count, <=, ELAPSE__HTTP_EVENT_CLIENTS);
    elapse__http_figures_set_watched(http->figures, true);
    elapse__http_add_headers(request, "text/event-stream");
    client->takes_gzip = elapse__gzip_is_taken(request);
    elapse__http_add_header(request, "Vary", "Accept-Encoding");
    if (client->takes_gzip)
        elapse__gzip_add_header(request);
    evhttp_send_reply_start(request, 200, NULL);
    send_event(http, client);
}

void elapse__http_events_close(struct elapse__http *http)
{
    struct elapse__http_wait *wait;

    while ((wait = elapse__http_wait_first(&http->event_clients)) != NULL) {
        struct evhttp_request *request = wait->request;
        release((struct event_client *)(void *)wait);
        evhttp_send_reply_end(request);
    }
    ELAPSE__ASSERT_THAT(http->event_client_count, ==, 0);
}
