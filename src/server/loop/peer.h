/*
 * A peer: one connection as the shell sees it. The core's half of a connection decides, and the
 * peer moves the bytes.
 *
 *      socket --readable--> ready --received--> core: received
 *      core: attention --> output --sent--> core: sent
 *                             \--the socket takes no more--> blocked --writable--> attended again
 *
 *   watches   what libevent waits for: bytes to read while the core has room for them; room to
 *             write while the peer is blocked
 *   pipe      in place of a socket: a command of this process, and its reply (HTTP)
 *   rings     a peer is in at most one place of each: all; ready (its socket may have bytes);
 *             attended (output, room or end may have changed); ending (its socket is to be closed)
 */
#ifndef ELAPSE__LOOP_PEER_H
#define ELAPSE__LOOP_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/ring_member.h"
#include "../../os/sockets.h"
#include "../core/core.h"
#include "event.h"
#include "logger.h"
#include "tls.h"

enum elapse__peer_ring {
    ELAPSE__PEER_ALL,
    ELAPSE__PEER_READY,
    ELAPSE__PEER_ATTENDED,
    ELAPSE__PEER_ENDING,
    ELAPSE__PEER_RINGS,
};

/* Descriptors of the rest of the process: the alarms, listeners, libevent, and files that the
 * journal opens next. */
enum { ELAPSE__DESCRIPTORS_HELD = 40 };

/* What one peer sends before the others have their turn. */
enum { ELAPSE__PEER_SEND_BYTES = 1 << 17 };

/* All peers, and what they share. */
struct elapse__peers {
    struct elapse__logger logger;
    struct event_base *base;
    struct elapse__ring_node rings[ELAPSE__PEER_RINGS];
    uint64_t count;    /* peers with a socket */
    uint64_t http;     /* the most connections of HTTP that libevent may have */
    uint64_t files;    /* how many descriptors this process may have open */
    uint64_t segments; /* descriptors of the journal; counted once a second */
    bool is_stopping;  /* no bytes are taken any more */

    /* Of a cluster: sockets count together with those of `outer`, which limits them all. */
    struct elapse__peers *outer; /* NULL: these peers have a limit of their own */
    uint64_t inner;              /* sockets of the peers whose `outer` this struct is */
    uint64_t held;               /* further descriptors that no connection gets */
};

/* Returns how many descriptors no connection gets, so that the journal can grow by a quarter. */
uint64_t elapse__peers_spare_files(const struct elapse__peers *peers);

/* Returns how many peers with a socket there may be. Returns at least 1. */
uint64_t elapse__peers_most(const struct elapse__peers *peers);

/* Where a peer is in a ring. */
struct elapse__peer_place {
    struct elapse__ring_node ring_node; /* first: a node of a ring is a place */
    struct elapse__peer *peer;
    bool is_in;
};

/* What a peer without a socket has: its bytes are in memory. */
struct elapse__loop_pipe {
    struct elapse__peer *peer; /* NULL: the pipe has ended, or has not begun */
    const uint8_t *input;      /* what the core has not got yet; stays valid */
    size_t input_bytes;
    /* In place of `input`, the functions of a source of commands: src/server/core/core.h. */
    const struct elapse__wire_resp_argument *(*next)(struct elapse__loop_pipe *pipe,
                                                     uint32_t *count);
    void (*ran)(struct elapse__loop_pipe *pipe, bool is_done);
    bool has_commands; /* the core has not heard of these commands */
    /* Takes the output of the core: all bytes that do not count as sent yet. Returns how many bytes
     * count as sent now. */
    size_t (*output)(struct elapse__loop_pipe *pipe, const uint8_t *bytes, size_t size);
    /* The core, or the end of the server, has ended the pipe; `peer` is NULL. */
    void (*ended)(struct elapse__loop_pipe *pipe);
};

struct elapse__peer {
    struct elapse__peer_place places[ELAPSE__PEER_RINGS];
    struct elapse__peers *peers;
    struct elapse__connection *connection; /* NULL: the core does not know the peer */
    struct elapse__loop_pipe *pipe;        /* NULL: the peer has a socket, or its pipe has ended */
    struct elapse__command_source source;  /* the commands of the pipe, until it has ended */
    struct elapse__tls_session *tls;       /* NULL: plain */
    struct event *can_read;
    struct event *can_write;
    struct event *handshake_limit; /* NULL: plain */
    const uint8_t *output;         /* of this turn */
    size_t output_bytes;
    size_t sent_bytes; /* not yet said to the core */
    size_t room;       /* as the core said last */
    uint64_t place;    /* of the client's address: src/os/sockets.h */
    int socket;
    bool is_local;
    bool watches_read;
    bool watches_write;
    bool is_blocked;    /* the socket takes nothing until it can be written */
    bool has_ended;     /* the other side sends no more, or the socket has failed */
    bool is_end_known;  /* the core knows that the peer has ended */
    bool wants_end;     /* the core has nothing more to say */
    bool awaits_sent;   /* the core has to know at once what was sent */
    bool is_link;       /* the other side is a node, which understands push messages */
    bool is_connecting; /* its socket is not known to be connected yet */
    void *user;         /* for an owner of peers without a core */
};

/* Takes over an accepted socket. Returns NULL if there is no memory; the socket is then closed. */
struct elapse__peer *elapse__peer_new(struct elapse__peers *peers, int socket, bool is_local,
                                      struct elapse__tls_keys *keys);

/* Makes a peer without a socket, for elapse__loop_welcome. Returns NULL if there is no memory. */
struct elapse__peer *elapse__peer_new_pipe(struct elapse__peers *peers,
                                           struct elapse__loop_pipe *pipe);

/* Stores the address of the client of a peer in words: with the port if the peer has a socket. Its
 * type is that of `address` in src/server/core/core.h. */
void elapse__peer_address(void *peer, char text[ELAPSE__SERVER_ADDRESS_BYTES]);

/* Ends a pipe for its owner. The first `sent` bytes of the output have reached the
 * client; hand-outs behind them are undone. */
void elapse__loop_pipe_end(struct elapse__loop_pipe *pipe, size_t sent);

/* Moves a peer to other peers. Afterwards the peer is in no ring but ALL. Requires the same base, a
 * socket, and that no core knows the peer. */
void elapse__peer_move(struct elapse__peer *peer, struct elapse__peers *peers);

/* Closes the socket, and releases the peer. Requires that the core does not know the peer.
 */
void elapse__peer_free(struct elapse__peer *peer);

/* Enters or leaves a ring. Nothing happens if the peer is in the ring already, or is not. */
void elapse__peer_enter(struct elapse__peer *peer, enum elapse__peer_ring ring);
void elapse__peer_leave(struct elapse__peer *peer, enum elapse__peer_ring ring);

/* Returns the peer whose place in a ring this is. */
static inline struct elapse__peer *elapse__peer_at(struct elapse__ring_node *ring_node)
{
    return ((struct elapse__peer_place *)(void *)ring_node)->peer;
}

/* Returns the oldest peer of a ring; NULL: the ring is empty. */
struct elapse__peer *elapse__peer_first(struct elapse__ring_node *ring);

/* Receives up to `bytes` bytes into `buffer`; returns how many. Leaves the ring `ready` unless
 * there may be more. */
size_t elapse__peer_receive(struct elapse__peer *peer, void *buffer, size_t bytes);

/* Sends the output of this turn: as many bytes as the socket takes, and at most
 * ELAPSE__PEER_SEND_BYTES. */
void elapse__peer_send(struct elapse__peer *peer);

/* Waits for what the peer needs: for bytes, if there is room; for room in the socket, if it is
 * blocked. */
void elapse__peer_watch(struct elapse__peer *peer);

#endif
