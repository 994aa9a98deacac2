#include "peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"

enum { NO_SOCKET = -1 };

enum { HANDSHAKE_S = 10 }; /* a TLS session that has not begun after so many seconds is ended */

/* ---- descriptors ---- */

uint64_t elapse__peers_spare_files(const struct elapse__peers *peers)
{
    return ELAPSE__DESCRIPTORS_HELD + peers->held + peers->segments / 4;
}

uint64_t elapse__peers_most(const struct elapse__peers *peers)
{
    uint64_t others =
        peers->segments + elapse__peers_spare_files(peers) + peers->http + peers->inner;

    return peers->files > others ? peers->files - others : 1;
}

static void count_in(struct elapse__peers *peers)
{
    ELAPSE__ASSERT(peers->outer == NULL || peers->outer->outer == NULL);
    peers->count++;
    if (peers->outer != NULL)
        peers->outer->inner++;
}

static void count_out(struct elapse__peers *peers)
{
    ELAPSE__ASSERT_THAT(peers->count, >, 0);
    peers->count--;
    if (peers->outer == NULL)
        return;
    ELAPSE__ASSERT_THAT(peers->outer->inner, >, 0);
    peers->outer->inner--;
}

/* ---- rings ---- */

/* Asserts the invariants of a peer, which hold between two calls. */
static void check(const struct elapse__peer *peer)
{
    ELAPSE__ASSERT(peer->places[ELAPSE__PEER_ALL].is_in);
    ELAPSE__ASSERT(peer->socket == NO_SOCKET || peer->pipe == NULL);
    ELAPSE__ASSERT(peer->socket != NO_SOCKET || peer->pipe != NULL || peer->has_ended);
    ELAPSE__ASSERT(peer->pipe == NULL || peer->pipe->peer == peer);
    ELAPSE__ASSERT(peer->tls != NULL || peer->handshake_limit == NULL);
    ELAPSE__ASSERT(peer->has_ended || !peer->is_end_known);
    (void)peer; /* only assertions use it */
}

void elapse__peer_enter(struct elapse__peer *peer, enum elapse__peer_ring ring)
{
    struct elapse__peer_place *place = &peer->places[ring];

    ELAPSE__ASSERT(place->peer == peer);
    if (place->is_in)
        return;
    place->is_in = true;
    elapse__ring_append(&peer->peers->rings[ring], &place->ring_node);
}

void elapse__peer_leave(struct elapse__peer *peer, enum elapse__peer_ring ring)
{
    struct elapse__peer_place *place = &peer->places[ring];

    ELAPSE__ASSERT(place->peer == peer);
    if (!place->is_in)
        return;
    place->is_in = false;
    (void)elapse__ring_remove(&place->ring_node);
}

struct elapse__peer *elapse__peer_first(struct elapse__ring_node *ring)
{
    if (elapse__ring_empty(ring))
        return NULL;
    return elapse__peer_at(ring->next);
}

/* Ends a peer. It receives no more bytes, and its socket will be closed. */
static void end(struct elapse__peer *peer)
{
    check(peer);
    peer->has_ended = true;
    elapse__peer_leave(peer, ELAPSE__PEER_READY);
    elapse__peer_enter(peer, ELAPSE__PEER_ENDING);
}

/* ---- events ---- */

static void on_readable(evutil_socket_t socket, short what, void *argument)
{
    struct elapse__peer *peer = argument;

    (void)socket;
    (void)what;
    elapse__peer_enter(peer, ELAPSE__PEER_READY);
    /* A TLS session may have waited for bytes before it could write. */
    if (peer->tls != NULL && peer->is_blocked) {
        peer->is_blocked = false;
        elapse__peer_enter(peer, ELAPSE__PEER_ATTENDED);
    }
}

static void on_writable(evutil_socket_t socket, short what, void *argument)
{
    struct elapse__peer *peer = argument;

    (void)socket;
    (void)what;
    ELAPSE__ASSERT(peer->watches_write);
    peer->watches_write = false;
    peer->is_blocked = false;
    elapse__peer_enter(peer, ELAPSE__PEER_ATTENDED);
    if (peer->tls != NULL)
        elapse__peer_enter(peer, ELAPSE__PEER_READY);
}

/* Ends a client that has not begun TLS in time, because it would keep a descriptor for nothing. */
static void on_handshake_limit(evutil_socket_t socket, short what, void *argument)
{
    struct elapse__peer *peer = argument;

    (void)socket;
    (void)what;
    if (peer->has_ended || elapse__tls_is_open(peer->tls))
        return;
    elapse__logger(&peer->peers->logger, ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_TLS,
                   "a connection did not begin TLS within %d s", (int)HANDSHAKE_S);
    end(peer);
}

/* ---- life ---- */

static bool limit_handshake(struct elapse__peer *peer)
{
    const struct timeval limit = {.tv_sec = HANDSHAKE_S};

    peer->handshake_limit =
        elapse__loop_event(peer->peers->base, -1, 0, &limit, on_handshake_limit, peer);
    return peer->handshake_limit != NULL;
}

static struct elapse__peer *new_peer(struct elapse__peers *peers)
{
    struct elapse__peer *peer = calloc(1, sizeof *peer);

    if (peer == NULL)
        return NULL;
    peer->peers = peers;
    for (unsigned i = 0; i < ELAPSE__PEER_RINGS; i++)
        peer->places[i].peer = peer;
    peer->socket = NO_SOCKET;
    elapse__peer_enter(peer, ELAPSE__PEER_ALL);
    return peer;
}

static const struct elapse__wire_resp_argument *next_command(struct elapse__command_source *source,
                                                             uint32_t *count)
{
    struct elapse__peer *peer = ELAPSE__CONTAINER_OF(source, struct elapse__peer, source);

    return peer->pipe == NULL ? NULL : peer->pipe->next(peer->pipe, count);
}

static void on_ran(struct elapse__command_source *source, bool is_done)
{
    struct elapse__peer *peer = ELAPSE__CONTAINER_OF(source, struct elapse__peer, source);

    peer->pipe->ran(peer->pipe, is_done);
}

struct elapse__peer *elapse__peer_new_pipe(struct elapse__peers *peers,
                                           struct elapse__loop_pipe *pipe)
{
    struct elapse__peer *peer = new_peer(peers);

    ELAPSE__ASSERT(pipe->peer == NULL);
    if (peer == NULL)
        return NULL;
    peer->pipe = pipe;
    peer->source = (struct elapse__command_source){.next = next_command, .ran = on_ran};
    peer->is_local = true;
    pipe->peer = peer;
    check(peer);
    return peer;
}

void elapse__peer_address(void *peer, char text[ELAPSE__SERVER_ADDRESS_BYTES])
{
    const struct elapse__peer *own = peer;
    struct elapse__os_address_text words = elapse__os_place_text(own->place);
    struct elapse__os_address address;

    if (own->pipe == NULL && elapse__os_peer_address(own->socket, &address) == 0 &&
        !elapse__os_address_is_path(&address))
        words = elapse__os_address_text(&address);
    (void)snprintf(text, ELAPSE__SERVER_ADDRESS_BYTES, "%.*s", ELAPSE__SERVER_ADDRESS_BYTES - 1,
                   words.text);
}

void elapse__loop_pipe_end(struct elapse__loop_pipe *pipe, size_t sent)
{
    struct elapse__peer *peer = pipe->peer;

    if (peer == NULL)
        return;
    check(peer);
    ELAPSE__ASSERT_THAT(peer->sent_bytes, <=, sent);
    ELAPSE__ASSERT_THAT(sent, <=, peer->output_bytes);
    pipe->peer = NULL;
    peer->pipe = NULL;
    peer->has_ended = true;
    peer->is_blocked = true;
    elapse__peer_leave(peer, ELAPSE__PEER_READY);
    /* The turn that follows tells the core first what was sent, and then that the peer has ended.
     */
    peer->sent_bytes = sent;
    if (sent > 0)
        elapse__peer_enter(peer, ELAPSE__PEER_ATTENDED);
    elapse__peer_enter(peer, ELAPSE__PEER_ENDING);
}

static bool make_events(struct elapse__peer *peer)
{
    struct event_base *base = peer->peers->base;

    peer->can_read = event_new(base, peer->socket, EV_READ | EV_PERSIST, on_readable, peer);
    peer->can_write = event_new(base, peer->socket, EV_WRITE, on_writable, peer);
    return peer->can_read != NULL && peer->can_write != NULL;
}

struct elapse__peer *elapse__peer_new(struct elapse__peers *peers, int socket, bool is_local,
                                      struct elapse__tls_keys *keys)
{
    struct elapse__peer *peer = new_peer(peers);

    if (peer == NULL) {
        (void)elapse__os_close(socket);
        return NULL;
    }
    peer->socket = socket;
    count_in(peers);
    peer->is_local = is_local;
    if (keys != NULL)
        peer->tls = elapse__tls_begin(keys, socket);
    if (!make_events(peer) || (keys != NULL && (peer->tls == NULL || !limit_handshake(peer)))) {
        elapse__peer_free(peer);
        return NULL;
    }
    return peer;
}

void elapse__peer_move(struct elapse__peer *peer, struct elapse__peers *peers)
{
    ELAPSE__ASSERT(peers->base == peer->peers->base);
    ELAPSE__ASSERT(peers != peer->peers);
    ELAPSE__ASSERT(peer->socket != NO_SOCKET);
    ELAPSE__ASSERT(peer->connection == NULL);
    for (unsigned i = 0; i < ELAPSE__PEER_RINGS; i++)
        elapse__peer_leave(peer, (enum elapse__peer_ring)i);
    count_out(peer->peers);
    peer->peers = peers;
    count_in(peers);
    elapse__peer_enter(peer, ELAPSE__PEER_ALL);
}

void elapse__peer_free(struct elapse__peer *peer)
{
    struct elapse__loop_pipe *pipe = peer->pipe;

    check(peer);
    ELAPSE__ASSERT(peer->connection == NULL);
    for (unsigned i = 0; i < ELAPSE__PEER_RINGS; i++)
        elapse__peer_leave(peer, (enum elapse__peer_ring)i);
    elapse__loop_event_free(peer->can_read);
    elapse__loop_event_free(peer->can_write);
    elapse__loop_event_free(peer->handshake_limit);
    if (peer->tls != NULL)
        elapse__tls_end(peer->tls);
    if (peer->socket != NO_SOCKET) {
        (void)elapse__os_close(peer->socket);
        count_out(peer->peers);
    }
    free(peer);
    if (pipe == NULL)
        return;
    pipe->peer = NULL;
    pipe->ended(pipe);
}

/* ---- bytes ---- */

/* Ends a peer to which nothing can be sent, because its socket has failed or the other side has
 * gone. */
static void fail(struct elapse__peer *peer, const char *what, int error)
{
    if (error == EPROTO)
        elapse__logger(&peer->peers->logger, ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_TLS,
                       "a connection broke the rules of TLS");
    else
        elapse__logger(&peer->peers->logger, ELAPSE__LOGGER_DEBUG, ELAPSE__EVENT_CLOSED, "%s: %s",
                       what, elapse__os_error_text(error));
    end(peer);
}

static size_t receive_from_pipe(struct elapse__peer *peer, void *buffer, size_t bytes)
{
    struct elapse__loop_pipe *pipe = peer->pipe;
    size_t got = bytes < pipe->input_bytes ? bytes : pipe->input_bytes;

    if (got > 0) {
        memcpy(buffer, pipe->input, got);
        pipe->input += got;
        pipe->input_bytes -= got;
    }
    if (pipe->input_bytes == 0)
        elapse__peer_leave(peer, ELAPSE__PEER_READY);
    return got;
}

size_t elapse__peer_receive(struct elapse__peer *peer, void *buffer, size_t bytes)
{
    size_t got = 0;

    ELAPSE__ASSERT_THAT(bytes, >, 0);
    ELAPSE__ASSERT(peer->places[ELAPSE__PEER_READY].is_in);
    if (peer->pipe != NULL)
        return receive_from_pipe(peer, buffer, bytes);
    int error = peer->tls != NULL ? elapse__tls_receive(peer->tls, buffer, bytes, &got)
                                  : elapse__os_receive(peer->socket, buffer, bytes, &got);

    ELAPSE__ASSERT(!peer->has_ended);
    if (error == EAGAIN) {
        elapse__peer_leave(peer, ELAPSE__PEER_READY);
        if (peer->tls != NULL && elapse__tls_wants_to_write(peer->tls))
            peer->is_blocked = true;
        return 0;
    }
    if (error != 0) {
        fail(peer, "receiving failed", error);
        return 0;
    }
    ELAPSE__ASSERT_THAT(got, <=, bytes);
    if (got == 0)
        peer->has_ended = true;
    /* If fewer bytes came than the buffer takes, the socket is empty. */
    if (got == 0 || (peer->tls == NULL && got < bytes) ||
        (peer->tls != NULL && !elapse__tls_has_more(peer->tls)))
        elapse__peer_leave(peer, ELAPSE__PEER_READY);
    return got;
}

void elapse__peer_send(struct elapse__peer *peer)
{
    size_t most =
        peer->output_bytes < ELAPSE__PEER_SEND_BYTES ? peer->output_bytes : ELAPSE__PEER_SEND_BYTES;
    size_t sent = 0;

    check(peer);
    ELAPSE__ASSERT(!peer->is_blocked);
    ELAPSE__ASSERT_THAT(peer->sent_bytes, ==, 0);
    ELAPSE__ASSERT_THAT(peer->output_bytes, >, 0);
    if (peer->pipe != NULL) {
        sent = peer->pipe->output(peer->pipe, peer->output, peer->output_bytes);
        ELAPSE__ASSERT_THAT(sent, <=, peer->output_bytes);
        if (peer->pipe != NULL)
            peer->sent_bytes = sent;
        return;
    }
    int error = peer->tls != NULL ? elapse__tls_send(peer->tls, peer->output, most, &sent)
                                  : elapse__os_send(peer->socket, peer->output, most, &sent);
    if (error == EAGAIN) {
        peer->is_blocked = true;
        return;
    }
    if (error != 0) {
        fail(peer, "sending failed", error);
        return;
    }
    ELAPSE__ASSERT_THAT(sent, <=, most);
    peer->sent_bytes = sent;
    /* A session of TLS sends at most 16 KiB at a time. If it sends less than all bytes, its socket
     * may still take more, and the next round sends the rest. */
    peer->is_blocked = peer->tls == NULL && sent < most;
}

/* ---- waiting ---- */

static void watch(struct event *event, bool *watches, bool wanted)
{
    if (*watches == wanted)
        return;
    /* libevent refuses only if there is no memory. Then the peer waits for its other events. */
    *watches = (wanted ? event_add(event, NULL) : event_del(event)) == 0 ? wanted : *watches;
}

void elapse__peer_watch(struct elapse__peer *peer)
{
    bool may_read = peer->room > 0 && !peer->has_ended && !peer->peers->is_stopping;

    check(peer);
    if (peer->socket == NO_SOCKET) {
        if (may_read && (peer->pipe->input_bytes > 0 || peer->pipe->has_commands))
            elapse__peer_enter(peer, ELAPSE__PEER_READY);
        return;
    }
    watch(peer->can_read, &peer->watches_read,
          may_read || (peer->tls != NULL && peer->is_blocked && !peer->has_ended));
    watch(peer->can_write, &peer->watches_write, peer->is_blocked);
    if (peer->tls != NULL && may_read && elapse__tls_has_more(peer->tls))
        elapse__peer_enter(peer, ELAPSE__PEER_READY);
}
