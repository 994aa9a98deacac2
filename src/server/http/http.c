#include "http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "call.h"
#include "events.h"
#include "figures.h"
#include "guard.h"
#include "guess.h"
#include "reply.h"
#include "room.h"
#include "routes.h"
#include "scrape.h"
#include "shell.h"
#include "stream.h"

enum {
    PAUSE_MS = 100,
    BODY_SPARE = 64 << 10, /* room in a request for everything but a job's body */
    BODY_FACTOR = 4,       /* how many bytes of JSON a byte of a job's body may take */
};

/* ---- requests that need no command ---- */

static void send_page(struct elapse__http *http, struct evhttp_request *request)
{
    elapse__http_add_header(request, "Content-Security-Policy", http->policy);
    elapse__http_add_header(request, "Referrer-Policy", "no-referrer");
    elapse__http_add_header(request, "X-Frame-Options", "DENY");
    elapse__http_send(request, 200, "text/html; charset=utf-8", elapse__page, elapse__page_bytes);
}

/* Says whether clients should be sent here. The loop begins to turn when all jobs are loaded. The
 * state of the disk and of the database is not looked at: workers must reach the server then, too,
 * because their ACKs make room. */
static void send_readiness(const struct elapse__http *http, struct evhttp_request *request)
{
    const char *why_not = NULL;

    if (http->loop->peers.is_stopping)
        why_not = "stopping\n";
    else if (http->loop->is_draining || http->loop->is_drained)
        why_not = "draining\n";
    const char *text = why_not == NULL ? "ready\n" : why_not;
    elapse__http_send(request, why_not == NULL ? 200 : 503, "text/plain; charset=utf-8", text,
                      strlen(text));
}

static void answer(struct elapse__http *http, struct evhttp_request *request,
                   const struct elapse__http_route *route)
{
    ELAPSE__ASSERT_THAT(route->status, ==, 200);
    switch (route->operation) {
    case ELAPSE__HTTP_PAGE:
        send_page(http, request);
        break;
    case ELAPSE__HTTP_HEALTH:
        elapse__http_send(request, 200, "text/plain; charset=utf-8", "ok\n", 3);
        break;
    case ELAPSE__HTTP_READY:
        send_readiness(http, request);
        break;
    case ELAPSE__HTTP_EVENTS:
        elapse__http_events_begin(http, request);
        break;
    case ELAPSE__HTTP_METRICS:
        elapse__http_metrics_begin(http, request);
        break;
    case ELAPSE__HTTP_FORECAST:
        elapse__http_send_forecast(http, request);
        break;
    case ELAPSE__HTTP_OPENAPI:
        elapse__http_send(request, 200, "application/json", elapse__openapi, elapse__openapi_bytes);
        break;
    default:
        elapse__http_call_begin(http, request, route);
        break;
    }
}

/* ---- who may ask ---- */

static enum elapse__http_method method_of(struct evhttp_request *request)
{
    switch (evhttp_request_get_command(request)) {
    case EVHTTP_REQ_GET:
        return ELAPSE__HTTP_GET;
    case EVHTTP_REQ_HEAD:
        return ELAPSE__HTTP_HEAD;
    case EVHTTP_REQ_POST:
        return ELAPSE__HTTP_POST;
    default:
        return ELAPSE__HTTP_OTHER;
    }
}

/* Returns whether a request has a right password, and stores who asks. */
static bool knows(struct elapse__http *http, const char *authorization,
                  struct elapse__identity *who)
{
    const struct elapse__keys keys = elapse__loop_keys(http->loop);
    const char *token = elapse__http_bearer(authorization);
    struct elapse__wire_resp_argument name, password;

    *who = (struct elapse__identity){.user = NULL};
    if (!elapse__keys_are_needed(&keys))
        return true;
    return token != NULL && elapse__admit_token(&keys, token, &name, &password, who);
}

/* Returns whether an operation needs the right to look at all tubes. For other operations, the code
 * that runs the command checks the rights. */
static bool looks_at_all(enum elapse__http_operation operation)
{
    switch (operation) {
    case ELAPSE__HTTP_PAGE:
    case ELAPSE__HTTP_HEALTH:
    case ELAPSE__HTTP_READY:
    case ELAPSE__HTTP_OPENAPI:
        return false;
    default:
        return operation < ELAPSE__HTTP_PUT;
    }
}

/* Refuses a user who may not do what a path says. Returns whether the request may continue. */
static bool has_right(struct evhttp_request *request, const struct elapse__http_route *route,
                      const struct elapse__identity *who)
{
    const struct elapse__refusal refusal = {.right = ELAPSE__RIGHT_LOOK, .of_all = true};
    char text[ELAPSE__REFUSAL_BYTES];

    if (who->user == NULL || !looks_at_all(route->operation) ||
        elapse__user_may_all(who->user, ELAPSE__RIGHT_LOOK))
        return true;
    elapse__refusal_write(text, who->user, &refusal);
    elapse__http_send_error(request, 403, "NO_PERMISSION", text + strlen("NOPERM "));
    return false;
}

/* Refuses a request with another host name than this server's, or from a page of another server.
 * Returns whether the request may continue. */
static bool guard(struct elapse__http *http, struct evhttp_request *request)
{
    const struct elapse__loop_options *options = http->loop->options;
    struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
    const char *host = evhttp_find_header(headers, "Host");

    if (!elapse__http_host_is_own(host, options->http_hosts, options->http_host_count)) {
        elapse__http_send_error(request, 421, "UNKNOWN_HOST",
                                "this server does not know itself by this name: see --http-host");
        return false;
    }
    if (!elapse__http_origin_is_own(evhttp_find_header(headers, "Origin"), host)) {
        elapse__http_send_error(request, 403, "FOREIGN_ORIGIN",
                                "the request comes from a page of another server");
        return false;
    }
    return true;
}

/* Returns whether the request may do what its path says. */
static bool admit(struct elapse__http *http, struct evhttp_request *request,
                  const struct elapse__http_route *route)
{
    struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
    const char *authorization = evhttp_find_header(headers, "Authorization");

    ELAPSE__ASSERT(route->status == 200 || route->status == 404 || route->status == 405);
    struct elapse__identity who = {.user = NULL};
    ELAPSE__ASSERT(!route->is_open || route->operation < ELAPSE__HTTP_PUT);
    if (!route->is_open && !knows(http, authorization, &who)) {
        elapse__http_refuse_stranger(http, request, elapse__http_bearer(authorization) != NULL);
        return false;
    }
    if (route->status == 404) {
        elapse__http_send_error(request, 404, "NO_SUCH_PATH", "there is nothing at this path");
        return false;
    }
    if (route->status == 405) {
        elapse__http_add_header(request, "Allow", route->allow);
        elapse__http_send_error(request, 405, "METHOD", "this path has other methods");
        return false;
    }
    if (!has_right(request, route, &who))
        return false;
    if (evhttp_request_get_command(request) == EVHTTP_REQ_POST &&
        !elapse__http_is_json(evhttp_find_header(headers, "Content-Type"))) {
        elapse__http_send_error(request, 415, "NOT_JSON",
                                "a header 'Content-Type: application/json' is needed");
        return false;
    }
    return true;
}

static void refuse_and_close(struct evhttp_request *request, int status, const char *code,
                             const char *message)
{
    elapse__http_add_header(request, "Connection", "close");
    elapse__http_send_error(request, status, code, message);
}

/* Refuses a request whose head is wrong. On a narrow connection (stream.h), refuses each request
 * except /livez and /healthz. Returns whether the request may continue. */
static bool take(struct elapse__http *http, struct evhttp_request *request,
                 const struct elapse__http_route *route)
{
    struct elapse__http_stream *stream =
        elapse__http_stream_of(http, evhttp_request_get_connection(request));
    const char *code, *message;

    if (stream == NULL) {
        refuse_and_close(request, 507, "OUT_OF_MEMORY", "there is no memory");
        return false;
    }
    enum elapse__http_intake_fault fault = stream->fault;
    bool is_narrow = stream->is_narrow;
    elapse__http_stream_taken(stream);
    if (fault != ELAPSE__HTTP_WELL) {
        int status = elapse__http_fault_text(fault, &code, &message);
        refuse_and_close(request, status, code, message);
        return false;
    }
    if (is_narrow && route->operation != ELAPSE__HTTP_HEALTH) {
        refuse_and_close(request, 503, "TOO_MANY_CONNECTIONS",
                         "there are too many connections, all together or of this address");
        return false;
    }
    if (is_narrow)
        elapse__http_add_header(request, "Connection", "close");
    return true;
}

static void on_request(struct evhttp_request *request, void *argument)
{
    struct elapse__http *http = argument;
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri == NULL ? NULL : evhttp_uri_get_path(uri);
    struct elapse__http_route route =
        elapse__http_find_route(method_of(request), path == NULL ? "" : path);

    ELAPSE__ASSERT_THAT(evhttp_request_get_response_code(request), ==, 0);
    if (take(http, request, &route) && guard(http, request) && admit(http, request, &route))
        answer(http, request, &route);
}

/* Answers a request over TLS. If there is no memory for a session of TLS, libevent makes a stream
 * without TLS by itself. A request on such a stream is refused. */
static void on_secure_request(struct evhttp_request *request, void *argument)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(request);

    if (bufferevent_openssl_get_ssl(evhttp_connection_get_bufferevent(connection)) != NULL) {
        on_request(request, argument);
        return;
    }
    refuse_and_close(request, 507, "OUT_OF_MEMORY", "there is no memory for TLS");
}

/* ---- listening ---- */

static void set_listening(struct elapse__http *http, bool wanted)
{
    for (size_t i = 0; i < http->bound_count; i++) {
        struct evconnlistener *listener = evhttp_bound_socket_get_listener(http->bound[i]);
        (void)(wanted ? evconnlistener_enable(listener) : evconnlistener_disable(listener));
    }
}

static bool wait_to_listen(struct elapse__http *http)
{
    const struct timeval pause = {.tv_usec = PAUSE_MS * 1000};

    return event_add(http->listen_again, &pause) == 0;
}

static void on_listen_again(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    if (elapse__http_has_room(argument) || !wait_to_listen(argument))
        set_listening(argument, true);
}

/* Takes no connections for a while. Meanwhile they wait in the queue of the system. */
static void pause_listening(struct elapse__http *http, const char *why)
{
    elapse__logger(&http->loop->peers.logger, ELAPSE__LOGGER_WARNING, ELAPSE__EVENT_ACCEPT,
                   "no connection of HTTP can be taken now: %s", why);
    if (wait_to_listen(http))
        set_listening(http, false);
}

static void on_listen_error(struct evconnlistener *listener, void *argument)
{
    (void)listener;
    pause_listening(argument, elapse__os_error_text(errno));
}

/* Returns how many bytes a request may have after its headers. */
static size_t request_bytes_max(const struct elapse__http *http)
{
    uint64_t body_bytes_max = http->loop->options->body_bytes_max;

    if (body_bytes_max == 0)
        body_bytes_max = ELAPSE__SERVER_BODY_BYTES;
    ELAPSE__ASSERT_THAT(body_bytes_max, <=, (SIZE_MAX - BODY_SPARE) / BODY_FACTOR);
    return (size_t)body_bytes_max * BODY_FACTOR + BODY_SPARE;
}

/* Limits the buffer of a stream. libevent reads while it sends a reply, and keeps these bytes in
 * the buffer. A body stays in the buffer, too, until it has come completely. */
static struct bufferevent *limit_input(struct elapse__http *http, struct bufferevent *stream)
{
    size_t most = request_bytes_max(http);

    if (stream != NULL)
        bufferevent_setwatermark(stream, EV_READ, 0, most + ELAPSE__HTTP_HEAD_BYTES);
    /* Without memory nobody watches the stream, and each of its requests is refused. */
    if (stream != NULL)
        (void)elapse__http_stream_new(http, stream, most);
    return stream;
}

/* Counts a connection that libevent has accepted. If there is no room for another one, pauses
 * listening. */
static void count_one_more(struct elapse__http *http)
{
    ELAPSE__ASSERT_THAT(http->bound_count, >, 0);
    http->loop->peers.http++;
    if (!elapse__http_has_room(http))
        pause_listening(http, "there are too many connections");
}

static struct bufferevent *make_stream(struct event_base *base, void *argument)
{
    struct elapse__http *http = argument;

    count_one_more(http);
    return limit_input(http, bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE));
}

static struct bufferevent *make_secure_stream(struct event_base *base, void *argument)
{
    struct elapse__http *http = argument;

    ELAPSE__ASSERT(http->secure != NULL && http->loop->keys != NULL);
    struct ssl_st *session = elapse__tls_session_new(http->loop->keys);

    count_one_more(http);
    if (session == NULL)
        return NULL;
    return limit_input(http,
                       bufferevent_openssl_socket_new(base, -1, session, BUFFEREVENT_SSL_ACCEPTING,
                                                      BEV_OPT_CLOSE_ON_FREE));
}

static struct evhttp *make_server(struct elapse__http *http, bool tls)
{
    struct evhttp *server = evhttp_new(http->loop->peers.base);

    ELAPSE__ASSERT(!tls || http->loop->keys != NULL);
    if (server == NULL)
        return NULL;
    evhttp_set_allowed_methods(server, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD |
                                           EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS |
                                           EVHTTP_REQ_PATCH);
    evhttp_set_max_headers_size(server, ELAPSE__HTTP_HEAD_BYTES);
    evhttp_set_max_body_size(server, (ev_ssize_t)request_bytes_max(http));
    evhttp_set_timeout(server, ELAPSE__HTTP_IDLE_S);
    evhttp_set_default_content_type(server, NULL);
    (void)evhttp_set_flags(server, EVHTTP_SERVER_LINGERING_CLOSE);
    evhttp_set_bevcb(server, tls ? make_secure_stream : make_stream, http);
    evhttp_set_gencb(server, tls ? on_secure_request : on_request, http);
    return server;
}

struct elapse__http *elapse__http_open(struct elapse__loop *loop)
{
    struct elapse__http *http = calloc(1, sizeof *http);

    if (http == NULL)
        return NULL;
    http->loop = loop;
    elapse__ring_init(&http->streams);
    elapse__ring_init(&http->calls);
    elapse__ring_init(&http->waiting_guesses);
    elapse__ring_init(&http->scrapes);
    elapse__ring_init(&http->event_clients);
    http->figures = elapse__http_figures_open(loop);
    http->plain = make_server(http, false);
    http->listen_again = event_new(loop->peers.base, -1, 0, on_listen_again, http);
    if (loop->keys != NULL)
        http->secure = make_server(http, true);
    if (http->figures != NULL && http->plain != NULL &&
        (loop->keys == NULL || http->secure != NULL) && http->listen_again != NULL &&
        elapse__page_policy((const char *)elapse__page, http->policy))
        return http;
    elapse__http_close(http);
    return NULL;
}

bool elapse__http_listen(struct elapse__http *http, int socket, bool tls)
{
    struct evconnlistener *listener =
        evconnlistener_new(http->loop->peers.base, NULL, NULL, LEV_OPT_CLOSE_ON_EXEC, 0, socket);
    struct evhttp_bound_socket *bound = NULL;

    ELAPSE__ASSERT_THAT(http->bound_count, <, ELAPSE__LISTENERS_MAX);
    ELAPSE__ASSERT(!tls || http->secure != NULL);
    if (http->bound_count == 0)
        elapse__http_count_own_files(http);
    if (listener != NULL)
        bound = evhttp_bind_listener(tls ? http->secure : http->plain, listener);
    if (bound == NULL) {
        if (listener != NULL)
            evconnlistener_free(listener);
        return false;
    }
    evconnlistener_set_error_cb(listener, on_listen_error);
    http->is_secure[http->bound_count] = tls;
    http->bound[http->bound_count++] = bound;
    return true;
}

void elapse__http_listen_no_more(struct elapse__http *http)
{
    for (size_t i = 0; i < http->bound_count; i++)
        evhttp_del_accept_socket(http->is_secure[i] ? http->secure : http->plain, http->bound[i]);
    http->bound_count = 0;
}

void elapse__http_close(struct elapse__http *http)
{
    if (http == NULL)
        return;
    elapse__http_listen_no_more(http);
    elapse__http_events_close(http);
    elapse__http_calls_close(http);
    elapse__http_metrics_close(http);
    elapse__http_guesses_close(http);
    ELAPSE__ASSERT(elapse__ring_empty(&http->calls) && elapse__ring_empty(&http->scrapes));
    ELAPSE__ASSERT(elapse__ring_empty(&http->event_clients));
    elapse__http_figures_close(http->figures);
    if (http->plain != NULL)
        evhttp_free(http->plain);
    if (http->secure != NULL)
        evhttp_free(http->secure);
    ELAPSE__ASSERT(elapse__ring_empty(&http->streams));
    elapse__loop_event_free(http->listen_again);
    free(http);
}

bool elapse__http_is_idle(const struct elapse__http *http)
{
    return http == NULL || elapse__ring_empty(&http->calls);
}
