/*
 * The loop moves bytes between sockets and the core, in turns. A turn has these steps:
 *
 *      wait (libevent)      sockets, signals, due times, the store's news, the reader, timers
 *      receive              bytes of all ready peers into one batch, without the lock
 *      under the lock       sent, received, closed, readings; the core's turn; what needs attention
 *      send                 without the lock
 *
 * In a turn, the lock is taken once, the clocks are read once, and the commit thread is woken once,
 * for all peers together. A peer is one connection as the loop sees it: peer.h.
 */
#ifndef ELAPSE__LOOP_LOOP_H
#define ELAPSE__LOOP_LOOP_H

#include "../../engine/store/store.h"
#include "body_reader.h"
#include "cluster.h"
#include "logger.h"
#include "peer.h"
#include "settings.h"
#include "tokens.h"
#include "users_file.h"

enum {
    ELAPSE__BATCH_BYTES = 1 << 17, /* about as many bytes as the core can run in a round */
    /* At most so many bytes of one peer, while other peers are ready. */
    ELAPSE__BATCH_PEER_BYTES = 1 << 15,
    /* At least so many bytes of one peer, however many peers are ready. */
    ELAPSE__BATCH_PEER_LEAST = 1 << 12,
    /* The core gets pieces up to this length before longer pieces. */
    ELAPSE__BATCH_SHORT_BYTES = 1 << 10,
    ELAPSE__BATCH_PIECES = 1024,
    ELAPSE__SEND_BYTES = 1 << 18, /* bytes that are sent to all peers together in a turn */
    /* A peer may send so many bytes even if the bytes of the turn are used up. */
    ELAPSE__SEND_SHORT_BYTES = 1 << 12,
    ELAPSE__LISTENERS_MAX = 2 * ELAPSE__LOOP_LISTENS_MAX * ELAPSE__OS_ADDRESSES_MAX,
};

/* A piece of the batch: what one peer has sent. */
struct elapse__loop_piece {
    struct elapse__peer *peer;
    size_t offset;
    size_t size;
};

struct elapse__listener {
    struct elapse__loop *loop;
    struct event *can_accept;
    struct elapse__os_address address;
    int socket;
    bool tls;
    bool is_http;
    bool is_passed; /* the service manager has passed the socket, and keeps its path */
};

struct elapse__http;

struct elapse__loop {
    const struct elapse__loop_options *options;
    struct elapse__peers peers;
    struct elapse_queue *store;
    struct elapse__server *server;
    /* Only of a server, or of the front of a node; NULL: none. */
    struct elapse__ended_log *ended_log;
    struct elapse__ended_source *ended;      /* NULL: the jobs that end are not logged */
    struct elapse__body_thread *body_thread; /* only of a server, or of the front of a node */
    struct elapse__body_reader *reader;
    struct elapse__tls_keys *keys;     /* NULL: no TLS */
    struct elapse__tls_keys *trust;    /* of --node-ca; NULL: no TLS to other nodes */
    struct elapse__tokens tokens;      /* the passwords of --auth */
    struct elapse__tokens node_tokens; /* the passwords of --node-password */
    /* The users of --users; a reload reads the file into the same struct. */
    struct elapse__users_file users_file;
    struct elapse__http *http; /* NULL: the server speaks no HTTP */

    struct elapse__listener *listeners[ELAPSE__LISTENERS_MAX];
    size_t listener_count;
    struct event *accept_again; /* accepts again after a pause, because this machine could take no
                                   connection */

    struct elapse__buffer batch; /* what was received in this turn */
    struct elapse__loop_piece pieces[ELAPSE__BATCH_PIECES];
    size_t piece_count;
    struct elapse__os_alarm alarm; /* goes off when the core needs a turn */
    uint64_t alarm_ms;        /* the time that the alarm is set to; UINT64_MAX: it is not set */
    uint64_t next_ms;         /* when the core needs the next turn */
    struct event *watched[5]; /* the store's news, the reader, the alarm, due times */
    bool is_due[2];           /* whether each of the two alarms of the store went off */
    bool is_draining; /* since SIGUSR1 cores refuse puts; only of a server, or of the front of
                         a node */
    bool is_drained;  /* an operator wants the node to own nothing; only of the front of a node */
    bool is_broken;   /* the journal has failed, or the store takes nothing more */
    uint64_t readied; /* how many jobs had become ready at the last turn */
    struct elapse__journal_troubles troubles; /* the troubles that were logged */

    /* Only a node of a cluster (src/cluster/serve) uses the members below; in other servers they
     * are NULL. The front of the node, which has no store and no core, has `cluster` and `welcome`.
     * A partition has `may_answer`, which returns whether bytes may leave now. */
    const struct elapse__loop_cluster *cluster;
    void (*welcome)(struct elapse__loop *loop, struct elapse__peer *peer);
    bool (*may_answer)(struct elapse__loop *loop);
    void *context;
    bool is_held; /* bytes have waited until may_answer returned true */
};

/* Makes the events, alarms and buffers that the turns need. Requires that the store and the core
 * exist. Returns false if the system refuses. */
bool elapse__loop_open(struct elapse__loop *loop);

/* Releases what elapse__loop_open has made, and all peers. Does not tell the core that these peers
 * end. */
void elapse__loop_close(struct elapse__loop *loop);

/* Gives the core a connection for a new peer. */
void elapse__loop_welcome(struct elapse__loop *loop, struct elapse__peer *peer);

/* Gives the core a connection with these facts for a new peer. Requires that there is a core, and
 * that `shell` of the facts is the peer. */
void elapse__loop_connect(struct elapse__loop *loop, struct elapse__peer *peer,
                          const struct elapse__connection_facts *facts);

/* Takes no further byte of a peer. The core runs the commands that it has, and ends the peer when
 * their replies were sent. */
void elapse__loop_end_input(struct elapse__loop *loop, struct elapse__peer *peer);

/* Does some turns, until there is nothing to do now. Returns whether there is more to do. */
bool elapse__loop_turn(struct elapse__loop *loop);

/* Returns the passwords that AUTH is compared with. The tables in the result stay valid until the
 * files are read again. Only the thread of the loop may call this. */
struct elapse__keys elapse__loop_keys(const struct elapse__loop *loop);

/* Calls `call`. If there is a store, holds its lock meanwhile. */
void elapse__loop_with_core(struct elapse__loop *loop,
                            void (*call)(struct elapse__loop *loop, void *argument),
                            void *argument);

#endif
