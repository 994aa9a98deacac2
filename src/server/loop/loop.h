/*
 * The loop: turns around the core.
 *
 *      wait (libevent)      sockets, signals, due times, the store's news, the reader, timers
 *      receive              bytes of all ready peers into one batch, without the lock
 *      under the lock       sent, received, closed, readings; the core's turn; what needs attention
 *      send                 without the lock
 *
 * One taking of the lock, one reading of the clocks and one waking of the commit thread serve all
 * peers of a turn.
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
    ELAPSE__BATCH_BYTES = 1 << 17,       /* about what the core can run in a round */
    ELAPSE__BATCH_PEER_BYTES = 1 << 15,  /* of one peer, while others are ready */
    ELAPSE__BATCH_PEER_LEAST = 1 << 12,  /* of one peer, while many others are ready */
    ELAPSE__BATCH_SHORT_BYTES = 1 << 10, /* a piece that is heard before the longer ones */
    ELAPSE__BATCH_PIECES = 1024,
    ELAPSE__SEND_BYTES = 1 << 18,       /* of all peers together, in a turn */
    ELAPSE__SEND_SHORT_BYTES = 1 << 12, /* of a peer that sends them in any case */
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
    bool is_passed; /* by the service manager, which keeps the path */
};

struct elapse__http;

struct elapse__loop {
    const struct elapse__loop_options *options;
    struct elapse__peers peers;
    struct elapse_queue *store;
    struct elapse__server *server;
    struct elapse__ended_log *ended_log; /* of a server, or of the front of a node; NULL: none */
    struct elapse__ended_source *ended;  /* NULL: the jobs that end are not logged */
    struct elapse__body_thread *body_thread; /* of a server, or of the front of a node */
    struct elapse__body_reader *reader;
    struct elapse__tls_keys *keys;        /* NULL: no TLS */
    struct elapse__tokens tokens;         /* of --auth */
    struct elapse__tokens node_tokens;    /* of --node-password */
    struct elapse__users_file users_file; /* of --users; read again in its place */
    struct elapse__http *http;            /* NULL: the server speaks no HTTP */

    struct elapse__listener *listeners[ELAPSE__LISTENERS_MAX];
    size_t listener_count;
    struct event *accept_again; /* after a pause, because this machine could take no connection */

    unsigned char *batch;
    struct elapse__loop_piece pieces[ELAPSE__BATCH_PIECES];
    size_t piece_count;
    struct elapse__os_alarm alarm; /* when the core needs a turn */
    uint64_t alarm_ms;             /* what the alarm is set to; UINT64_MAX: nothing */
    uint64_t next_ms;              /* when the core needs the next turn */
    struct event *watched[5];      /* the store's news, the reader, the alarm, due times */
    bool is_due[2];                /* this alarm of the store went off */
    bool is_broken;                /* the journal has failed, or the store takes nothing more */
    uint64_t readied;              /* of the queue, at the last turn */
    struct elapse__journal_troubles troubles; /* that were logged */

    /* Of a cluster (src/cluster/serve); otherwise NULL. */
    const struct elapse__loop_cluster *cluster; /* of the front, which has no store and no core */
    void (*welcome)(struct elapse__loop *loop, struct elapse__peer *peer); /* of the front */
    bool (*may_answer)(struct elapse__loop *loop); /* of a partition: bytes may leave now */
    void *context;
    bool is_held; /* bytes waited for may_answer */
};

/* Makes what the turns need. Requires the store, and the core. Returns false if the system refuses.
 */
bool elapse__loop_open(struct elapse__loop *loop);

/* Releases what the turns needed, and all peers. The core does not hear of these peers any more. */
void elapse__loop_close(struct elapse__loop *loop);

/* Gives the core a connection for a new peer. */
void elapse__loop_welcome(struct elapse__loop *loop, struct elapse__peer *peer);

/* Gives the core a connection with these facts for a new peer. Requires a core, and that `shell` of
 * the facts is the peer. */
void elapse__loop_connect(struct elapse__loop *loop, struct elapse__peer *peer,
                          const struct elapse__connection_facts *facts);

/* Does turns until there is nothing to do now. Returns whether there is more. */
bool elapse__loop_turn(struct elapse__loop *loop);

/* Returns what AUTH is compared with. The tables that it names stay valid until the files are read
 * again. Requires the thread of the loop. */
struct elapse__keys elapse__loop_keys(const struct elapse__loop *loop);

/* Runs `call` with the store's lock, if there is a store. */
void elapse__loop_with_core(struct elapse__loop *loop,
                            void (*call)(struct elapse__loop *loop, void *argument),
                            void *argument);

#endif
