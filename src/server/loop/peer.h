/*
 * A peer is one connection as the shell sees it: as a socket, a session of TLS or a pipe. The core
 * decides what happens on the connection (src/server/core/core.h), and the peer moves the bytes.
 *
 *      socket --readable--> ready --received--> core: received
 *      core: attention --> output --sent--> core: sent
 *                             \--the socket takes no more--> blocked --writable--> attended again
 *
 *   watches   what libevent waits for: bytes to read, while the core has room for them; room to
 *             write, while the peer is blocked
 *   pipe      takes the place of a socket for a command of this process and its reply (HTTP)
 *   rings     a peer can be in each of these rings: `all`; `ready` (its socket may have bytes);
 *             `attended` (its output, room or end may have changed); `ending` (its socket will be
 *             closed)
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

/* How many descriptors the rest of the process needs: alarms, listeners, libevent, and files that
 * the journal opens next. */
enum { ELAPSE__DESCRIPTORS_HELD = 40 };

/* How many bytes one peer sends before the other peers have their turn. */
enum { ELAPSE__PEER_SEND_BYTES = 1 << 17 };

/* All peers of a loop, and what they share. */
struct elapse__peers {
    struct elapse__logger logger;
    struct event_base *base;
    struct elapse__ring_node rings[ELAPSE__PEER_RINGS];
    uint64_t count;    /* peers with a socket */
    uint64_t http;     /* the most connections of HTTP that libevent may have */
    uint64_t files;    /* how many descriptors this process may have open */
    uint64_t segments; /* descriptors of the journal; counted once a second */
    bool is_stopping;  /* the peers take no further bytes */

    /* On a node of a cluster, several structs of this type share one limit of sockets. The sockets
     * of these peers count with those of `outer`, which has the limit. */
    struct elapse__peers *outer; /* NULL: these peers have a limit of their own */
    uint64_t inner;              /* how many sockets the peers have whose `outer` is this struct */
    uint64_t held;               /* how many further descriptors no connection gets */
};

/* Returns how many descriptors are kept free from connections, so that the journal can grow by a
 * quarter. */
uint64_t elapse__peers_spare_files(const struct elapse__peers *peers);

/* Returns how many peers with a socket there may be. Returns at least 1. */
uint64_t elapse__peers_most(const struct elapse__peers *peers);

/* The place of a peer in one ring. */
struct elapse__peer_place {
    /* Must be the first member, because a node of a ring is cast to a place. */
    struct elapse__ring_node ring_node;
    struct elapse__peer *peer;
    bool is_in;
};

/* A pipe takes the place of a socket: a peer with a pipe has its bytes in memory. */
struct elapse__loop_pipe {
    struct elapse__peer *peer; /* NULL: the pipe has ended, or has not begun */
    const uint8_t *input;      /* the bytes that the core has not got yet; they must stay valid */
    size_t input_bytes;
    /* In place of `input`, the functions of a source of commands: src/server/core/core.h. */
    const struct elapse__wire_resp_argument *(*next)(struct elapse__loop_pipe *pipe,
                                                     uint32_t *count);
    void (*ran)(struct elapse__loop_pipe *pipe, bool is_done);
    bool has_commands; /* the pipe has commands of which the core was not told yet */
    /* Takes the output of the core: all bytes that do not count as sent yet. Returns how many of
     * these bytes count as sent now. */
    size_t (*output)(struct elapse__loop_pipe *pipe, const uint8_t *bytes, size_t size);
    /* Called when the core, or the end of the server, has ended the pipe. `peer` is NULL then. */
    void (*ended)(struct elapse__loop_pipe *pipe);
};

struct elapse__peer {
    struct elapse__peer_place places[ELAPSE__PEER_RINGS];
    struct elapse__peers *peers;
    struct elapse__connection *connection; /* NULL: the core does not know the peer */
    struct elapse__loop_pipe *pipe;        /* NULL: the peer has a socket, or its pipe has ended */
    /* Gives the core the commands of the pipe, until the pipe has ended. */
    struct elapse__command_source source;
    struct elapse__tls_session *tls; /* NULL: the peer does not use TLS */
    struct event *can_read;
    struct event *can_write;
    struct event *handshake_limit; /* NULL: the peer does not use TLS */
    const uint8_t *output;         /* the bytes that are sent in this turn */
    size_t output_bytes;
    size_t sent_bytes; /* bytes that were sent, and of which the core was not told yet */
    size_t room;       /* how many bytes may be received, as the core said last */
    uint64_t place;    /* a number for the client's address: src/os/sockets.h */
    int socket;
    bool is_local;
    bool watches_read;
    bool watches_write;
    bool is_blocked;    /* the socket takes no bytes until libevent says that it can be written */
    bool has_ended;     /* the other side sends no more, or the socket has failed */
    bool is_end_known;  /* the core knows that the peer has ended */
    bool wants_end;     /* the core has nothing more to send, or the connection has failed */
    bool awaits_sent;   /* the core must know at once what was sent */
    bool is_link;       /* the other side is a node, which understands push messages */
    bool is_for_client; /* a router passes the bytes of one client on unchanged, because they are
                           not RESP */
    bool is_connecting; /* the socket is being connected */
    void *user;         /* for the owner of a peer that no core knows */
};

/* Takes over an accepted socket. Returns NULL if there is no memory; the socket is then closed. */
struct elapse__peer *elapse__peer_new(struct elapse__peers *peers, int socket, bool is_local,
                                      struct elapse__tls_keys *keys);

/* Makes a peer without a socket, for elapse__loop_welcome. Returns NULL if there is no memory. */
struct elapse__peer *elapse__peer_new_pipe(struct elapse__peers *peers,
                                           struct elapse__loop_pipe *pipe);

/* Stores the address of a peer's client as text, with the port if the peer has a socket. This
 * function serves as `address` in src/server/core/core.h. */
void elapse__peer_address(void *peer, char text[ELAPSE__SERVER_ADDRESS_BYTES]);

/* Ends a pipe; the owner of the pipe calls this. The first `sent` bytes of the output have reached
 * the client. Hand-outs behind these bytes are undone. */
void elapse__loop_pipe_end(struct elapse__loop_pipe *pipe, size_t sent);

/* Moves a peer to another struct elapse__peers. Afterwards the peer is only in the ring ALL.
 * Requires that both structs have the same `base`, that the peer has a socket, and that no core
 * knows the peer. */
void elapse__peer_move(struct elapse__peer *peer, struct elapse__peers *peers);

/* Closes the socket, and releases the peer. Requires that the core does not know the peer.
 */
void elapse__peer_free(struct elapse__peer *peer);

/* elapse__peer_enter puts a peer into a ring, unless it is in the ring. elapse__peer_leave takes a
 * peer out of a ring, if it is in the ring. */
void elapse__peer_enter(struct elapse__peer *peer, enum elapse__peer_ring ring);
void elapse__peer_leave(struct elapse__peer *peer, enum elapse__peer_ring ring);

/* Returns the peer whose place in a ring this is. */
static inline struct elapse__peer *elapse__peer_at(struct elapse__ring_node *ring_node)
{
    return ((struct elapse__peer_place *)(void *)ring_node)->peer;
}

/* Returns the oldest peer of a ring; NULL if the ring is empty. */
struct elapse__peer *elapse__peer_first(struct elapse__ring_node *ring);

/* Receives up to `bytes` bytes into `buffer`. Returns how many bytes it has received. Takes the
 * peer out of the ring `ready`, unless there may be more bytes. */
size_t elapse__peer_receive(struct elapse__peer *peer, void *buffer, size_t bytes);

/* Sends the output of this turn: as many bytes as the socket takes, but at most
 * ELAPSE__PEER_SEND_BYTES. */
void elapse__peer_send(struct elapse__peer *peer);

/* Tells libevent what the peer waits for: for bytes, if the core has room for them; for room in the
 * socket, if the peer is blocked. */
void elapse__peer_watch(struct elapse__peer *peer);

#endif
