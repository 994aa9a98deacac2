#include "stream.h"

#include <stdlib.h>

#include "../../base/assert.h"
#include "../../os/sockets.h"
#include "reply.h"
#include "room.h"

/* How long a client may take to read why its connection was refused. */
enum { LINGER_S = 2, MS_PER_S = 1000, US_PER_MS = 1000 };

static struct elapse__http_stream *stream_at(struct elapse__ring_node *ring_node)
{
    return (struct elapse__http_stream *)(void *)ring_node;
}

/* ---- the end ---- */

static void on_input(struct evbuffer *buffer, const struct evbuffer_cb_info *change,
                     void *argument);

/* Frees a stream whose connection ends or was never made. */
static void forget(struct elapse__http_stream *stream)
{
    struct elapse__peers *peers = &stream->http->loop->peers;

    (void)evbuffer_remove_cb(bufferevent_get_input(stream->bytes), on_input, stream);
    (void)elapse__ring_remove(&stream->ring_node);
    elapse__loop_event_free(stream->bind);
    elapse__loop_event_free(stream->limit);
    elapse__http_intake_free(&stream->intake);
    (void)bufferevent_decref(stream->bytes);
    if (peers->http > 0)
        peers->http--;
    free(stream);
}

/* Called when libevent ends the connection. */
static void on_closed(struct evhttp_connection *connection, void *argument)
{
    struct elapse__http_stream *stream = argument;

    ELAPSE__ASSERT(stream->connection == connection);
    evhttp_connection_set_closecb(connection, NULL, NULL);
    if (stream->ended != NULL)
        stream->ended(connection, stream->argument);
    forget(stream);
}

/* ---- refusing ---- */

int elapse__http_fault_text(enum elapse__http_intake_fault fault, const char **code,
                            const char **message)
{
    ELAPSE__ASSERT(fault != ELAPSE__HTTP_WELL);
    switch (fault) {
    case ELAPSE__HTTP_TOO_LONG:
        *code = "TOO_BIG";
        *message = "the request is too long: see --max-body";
        return 413;
    case ELAPSE__HTTP_NO_SPACE:
        *code = "OUT_OF_MEMORY";
        *message = "there is no memory";
        return 507;
    default:
        *code = "BAD_REQUEST";
        *message = "the headers of the request can be read in more than one way";
        return 400;
    }
}

static void set_limit(const struct elapse__http_stream *stream, uint64_t ms)
{
    const struct timeval limit = {.tv_sec = (time_t)(ms / MS_PER_S),
                                  .tv_usec = (suseconds_t)(ms % MS_PER_S * US_PER_MS)};

    ELAPSE__ASSERT_THAT(ms, >, 0);
    (void)event_add(stream->limit, &limit);
}

static void on_refused_event(struct bufferevent *bytes, short what, void *argument)
{
    struct elapse__http_stream *stream = argument;

    (void)bytes;
    (void)what;
    evhttp_connection_free(stream->connection);
}

/* Called when the answer was sent. Sends nothing more, but reads for a while what the client still
 * sends. If the socket were closed at once, the client's system would drop the answer. */
static void on_refusal_sent(struct bufferevent *bytes, void *argument)
{
    (void)argument;
    elapse__os_send_no_more(bufferevent_getfd(bytes));
}

/* Answers a request that libevent does not have yet, and takes the connection from libevent. Bytes
 * that still come are dropped. */
static void refuse(struct elapse__http_stream *stream, enum elapse__http_intake_fault fault)
{
    struct elapse__json json = {.failed = false};
    struct evbuffer *output = bufferevent_get_output(stream->bytes);
    const char *code, *message;
    int status = elapse__http_fault_text(fault, &code, &message);

    ELAPSE__ASSERT(stream->ended == NULL && !stream->is_refused);
    stream->is_refused = true;
    elapse__http_write_error(&json, code, message);
    bufferevent_setcb(stream->bytes, NULL, on_refusal_sent, on_refused_event, stream);
    if (!json.failed)
        (void)evbuffer_add_printf(output,
                                  "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n"
                                  "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                                  status, code, elapse__buffer_size(&json.text));
    if (!json.failed)
        (void)evbuffer_add(output, elapse__buffer_first(&json.text),
                           elapse__buffer_size(&json.text));
    elapse__json_free(&json);
    (void)bufferevent_enable(stream->bytes, EV_WRITE);
    set_limit(stream, (uint64_t)LINGER_S * MS_PER_S);
}

/* ---- bytes that come ---- */

/* Gives the bytes of the input from `from` on to the intake. Returns the fault of the request. */
static enum elapse__http_intake_fault note(struct elapse__http_stream *stream, size_t from)
{
    struct evbuffer *input = bufferevent_get_input(stream->bytes);
    enum elapse__http_intake_fault fault = ELAPSE__HTTP_WELL;
    struct evbuffer_ptr at;
    size_t size = evbuffer_get_length(input) - from;

    ELAPSE__ASSERT_THAT(from, <=, evbuffer_get_length(input));
    while (size > 0 && fault == ELAPSE__HTTP_WELL) {
        struct evbuffer_iovec piece;
        if (evbuffer_ptr_set(input, &at, from, EVBUFFER_PTR_SET) != 0 ||
            evbuffer_peek(input, (ev_ssize_t)size, &at, &piece, 1) < 1)
            return ELAPSE__HTTP_NO_SPACE;
        size_t part = piece.iov_len < size ? piece.iov_len : size;
        fault = elapse__http_intake_bytes(&stream->intake, piece.iov_base, part);
        from += part;
        size -= part;
    }
    return fault;
}

/* Sets the alarm for the phase of the request, unless the request was in this phase before
 * (`before`). */
static void arm(const struct elapse__http_stream *stream, enum elapse__http_phase before)
{
    enum elapse__http_phase phase = stream->intake.phase;

    if (phase == before)
        return;
    ELAPSE__ASSERT(phase != ELAPSE__HTTP_IDLE);
    set_limit(stream,
              phase == ELAPSE__HTTP_HEAD_COMES ? ELAPSE__HTTP_HEAD_MS : ELAPSE__HTTP_BODY_MS);
}

/* Called before libevent looks at bytes that have come, and after libevent has taken bytes. */
static void on_input(struct evbuffer *buffer, const struct evbuffer_cb_info *change, void *argument)
{
    struct elapse__http_stream *stream = argument;
    enum elapse__http_phase before = stream->intake.phase;

    if (change->n_added == 0 || stream->connection == NULL)
        return;
    if (stream->is_refused) {
        (void)evbuffer_drain(buffer, evbuffer_get_length(buffer));
        return;
    }
    if (stream->fault != ELAPSE__HTTP_WELL)
        return;
    stream->fault = note(stream, evbuffer_get_length(buffer) - change->n_added);
    arm(stream, before);
    /* While the previous request is being answered, the fault has to wait. */
    if (stream->fault != ELAPSE__HTTP_WELL && stream->ended == NULL) {
        refuse(stream, stream->fault);
        (void)evbuffer_drain(buffer, evbuffer_get_length(buffer));
    }
}

void elapse__http_stream_taken(struct elapse__http_stream *stream)
{
    elapse__http_intake_next(&stream->intake);
    (void)event_del(stream->limit);
    /* The next request may have come already, up to its body. Its limits begin now. */
    stream->fault = note(stream, 0);
    arm(stream, ELAPSE__HTTP_IDLE);
}

/* Called when a request has taken too long, or when a refused client has had time to read why. */
static void on_limit(evutil_socket_t descriptor, short what, void *argument)
{
    struct elapse__http_stream *stream = argument;

    (void)descriptor;
    (void)what;
    /* While the previous request is being answered, the next one may take longer. */
    if (stream->ended != NULL) {
        set_limit(stream, ELAPSE__HTTP_HEAD_MS);
        return;
    }
    if (!stream->is_refused)
        elapse__logger(&stream->http->loop->peers.logger, ELAPSE__LOGGER_NOTICE,
                       ELAPSE__EVENT_CLOSED, "a request of HTTP has taken too long to come");
    evhttp_connection_free(stream->connection);
}

/* ---- life ---- */

/* Returns whether this stream is narrow, because there are too many others. */
static bool is_one_too_many(const struct elapse__http_stream *stream)
{
    struct elapse__ring_node *ring = &stream->http->streams;
    uint64_t wide = 0, same = 0;
    uint64_t most = elapse__http_wide_max(stream->http);

    for (struct elapse__ring_node *i = ring->next; i != ring; i = i->next) {
        const struct elapse__http_stream *other = stream_at(i);
        if (other == stream || other->is_narrow || other->connection == NULL)
            continue;
        wide++;
        same += other->place == stream->place;
    }
    return wide >= most || (same >= most / ELAPSE__HTTP_SHARE && same > 0);
}

/* Ends the oldest narrow connections until there are few enough. */
static void displace(struct elapse__http *http)
{
    uint64_t narrow = 0;
    struct elapse__ring_node *next;

    for (struct elapse__ring_node *i = http->streams.next; i != &http->streams; i = i->next)
        narrow += stream_at(i)->is_narrow;
    for (struct elapse__ring_node *i = http->streams.next;
         i != &http->streams && narrow > elapse__http_narrow_max(http); i = next) {
        struct elapse__http_stream *stream = stream_at(i);
        next = i->next;
        if (!stream->is_narrow || stream->connection == NULL)
            continue;
        narrow--;
        evhttp_connection_free(stream->connection);
    }
}

/* Called when libevent has made a connection of the stream, or has failed to do so. No byte has
 * come yet. */
static void on_bind(evutil_socket_t descriptor, short what, void *argument)
{
    struct elapse__http_stream *stream = argument;
    struct elapse__http *http = stream->http;
    struct elapse__os_address address;
    void *connection = NULL;

    (void)descriptor;
    (void)what;
    bufferevent_getcb(stream->bytes, NULL, NULL, NULL, &connection);
    if (connection == NULL) {
        forget(stream);
        return;
    }
    stream->connection = connection;
    evhttp_connection_set_closecb(stream->connection, on_closed, stream);
    evhttp_connection_set_max_body_size(stream->connection, EV_SSIZE_MAX);
    if (elapse__os_peer_address(bufferevent_getfd(stream->bytes), &address) == 0)
        stream->place = elapse__os_address_place(&address);
    stream->is_narrow = is_one_too_many(stream);
    if (stream->is_narrow)
        elapse__logger(&http->loop->peers.logger, ELAPSE__LOGGER_WARNING, ELAPSE__EVENT_ACCEPT,
                       "a connection of HTTP gets /livez alone: there are too many");
    displace(http);
}

bool elapse__http_stream_new(struct elapse__http *http, struct bufferevent *bytes,
                             uint64_t body_bytes_max)
{
    struct elapse__http_stream *stream = calloc(1, sizeof *stream);
    struct event_base *base = http->loop->peers.base;

    if (stream == NULL)
        return false;
    stream->bind = event_new(base, -1, 0, on_bind, stream);
    stream->limit = event_new(base, -1, 0, on_limit, stream);
    if (stream->bind == NULL || stream->limit == NULL ||
        evbuffer_add_cb(bufferevent_get_input(bytes), on_input, stream) == NULL) {
        elapse__loop_event_free(stream->bind);
        elapse__loop_event_free(stream->limit);
        free(stream);
        return false;
    }
    stream->http = http;
    stream->intake.body_bytes_max = body_bytes_max;
    stream->bytes = bytes;
    bufferevent_incref(bytes);
    elapse__ring_append(&http->streams, &stream->ring_node);
    /* libevent makes the connection when this function has returned, before it waits for bytes. */
    event_active(stream->bind, EV_TIMEOUT, 0);
    return true;
}

struct elapse__http_stream *elapse__http_stream_of(const struct elapse__http *http,
                                                   struct evhttp_connection *connection)
{
    for (struct elapse__ring_node *i = http->streams.next; i != &http->streams; i = i->next)
        if (stream_at(i)->connection == connection)
            return stream_at(i);
    return NULL;
}

void elapse__http_stream_on_end(const struct elapse__http *http,
                                struct evhttp_connection *connection,
                                void (*ended)(struct evhttp_connection *connection, void *argument),
                                void *argument)
{
    struct elapse__http_stream *stream = elapse__http_stream_of(http, connection);

    ELAPSE__ASSERT(stream != NULL && (ended == NULL) != (stream->ended == NULL));
    stream->ended = ended;
    stream->argument = argument;
    /* Nothing of the next request was read while this one was answered. Its limits begin now. */
    if (ended == NULL)
        arm(stream, ELAPSE__HTTP_IDLE);
}
