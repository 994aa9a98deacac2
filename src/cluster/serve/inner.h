/*
 * What the files of this room share.
 *
 *      clients --front--> router --links--> core of a partition --> store --submit--> runner
 *         sockets           |             (commands, parsed once)     ^                 |
 *                           +--links--> other nodes                   +----confirmed----+
 *                                                                            database
 *
 * Life of a partition on this node
 *
 *      FOLLOWING --own--> OWNED --fenced, stopped--> RELEASED --core is gone--> opened anew
 *
 *   FOLLOWING   the runner's thread applies groups to the store
 *   OWNED       the loop makes a core when it sees that; it serves while the lease allows it
 *   RELEASED    the store takes nothing; the runner's thread waits until the loop has freed the
 *               core, and opens the store again; then the loop starts another runner, with the
 *               place that the files now have
 *
 * Rules
 *
 *   S1  Bytes of a core leave only while its runner may answer (R3 of
 *       src/cluster/ownership/partition.h). The gate stands between the core and the router, and
 *       between the core and other nodes. An answer that has passed the gate was true then, and may
 *       reach the client later, as if the network had held it up.
 *   S2  A core exists only between `own` and the end of the call `fenced`: the store is not closed
 *       before the core is gone.
 *   S3  The runner of a partition is started with what its files have at that time. It is never
 *       told to go on with a store that was opened anew: a group that was confirmed, but not
 *       written here, is read again.
 *   S4  A thread has one lock at a time: that of a partition, of a store, or of a runner.
 */
#ifndef ELAPSE__CLUSTER_SERVE_INNER_H
#define ELAPSE__CLUSTER_SERVE_INNER_H

#include <stdatomic.h>

#include "../../engine/store/log.h"
#include "../../os/lock.h"
#include "../../server/serve/service.h"
#include "../postgres/hosts.h"
#include "../postgres/runner.h"
#include "../postgres/schema.h"
#include "../router/router.h"

enum {
    ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES = 4096,
    ELAPSE__CLUSTER_PARTITION_NOTICE_BYTES = 640,
    ELAPSE__CLUSTER_PARTITION_NOTICES = 8,
    ELAPSE__CLUSTER_PARTITION_TROUBLE_BYTES = 512,
    ELAPSE__CLUSTER_PARTITION_FILES =
        20,                       /* descriptors of a partition beside its segments, at most */
    ELAPSE__CLUSTER_HELD_MS = 10, /* bytes that may not leave now are looked at again */
};

struct elapse__cluster;

/* A line for the log, from a thread that is not the loop's. */
struct elapse__cluster_notice {
    enum elapse__logger_level level;
    char text[ELAPSE__CLUSTER_PARTITION_NOTICE_BYTES];
};

/* A thread for what waits: for the database, or for names of hosts. */
struct elapse__errand {
    struct elapse__os_thread thread;
    struct elapse__lock lock;
    struct elapse__condition changed;
    unsigned made; /* of these three, the last one first */
    bool stops;    /* under the lock */
};

/* Where the owner of a partition is. Under the lock of cluster->addresses. */
struct elapse__cluster_way {
    char address[ELAPSE__NODE_ADDRESS_BYTES]; /* of the owner, as the row has it */
    struct elapse__os_address found[ELAPSE__OS_ADDRESSES_MAX];
    size_t count;    /* of them */
    size_t turn;     /* the one that is tried next, modulo `count` */
    bool is_digits;  /* there is no name to look up */
    bool is_wanted;  /* the name is to be looked up */
    const char *why; /* it has no address; NULL: nobody has looked yet */
};

struct elapse__cluster_partition {
    struct elapse__cluster *cluster;
    uint32_t number;
    char directory[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES];
    struct elapse__journal_log log;
    struct elapse__inbox *inbox;   /* under the store's lock */
    struct elapse_queue *store;    /* the runner's thread may replace it, while there is no core */
    struct elapse__runner *runner; /* NULL: there is none */
    char me[ELAPSE__NODE_NAME_BYTES]; /* the name of the runner's life */
    _Atomic uint64_t epoch;           /* in which this node owns, or did last */
    _Atomic uint64_t tail;            /* of the log, not yet told to the runner; 0: none */
    _Atomic uint64_t segments;        /* files of the journal, as the runner's thread saw them */
    bool gave_up;                     /* the runner's thread: it does nothing any more */
    uint64_t waits;                   /* the same: attempts that the disk has refused, in a row */

    struct elapse__lock lock; /* of the next ones */
    struct elapse__condition changed;
    unsigned made; /* how many of these two exist */
    bool is_owned;
    bool has_owned; /* the store has had a life */
    bool has_core;
    bool is_opened_anew; /* it needs another runner */
    bool is_opening;     /* the runner's thread closes the store, and opens it again */
    bool has_ended;      /* the runner has handed over, or stopped: it calls nothing more */
    bool has_failed;     /* the process has to end */
    bool has_lost;       /* the same, because of lost groups: the others look for theirs before */
    struct elapse__cluster_notice notices[ELAPSE__CLUSTER_PARTITION_NOTICES]; /* the oldest first */
    unsigned notice_count;
    unsigned notices_lost; /* older ones, for which there was no room */

    /* The loop's. */
    struct elapse__loop *core;             /* NULL: there is none */
    struct elapse__ring_node dirty;        /* local links with bytes for the core */
    uint64_t readied;                      /* of the core, when the router heard last */
    bool has_news;                         /* other nodes have not heard of it */
    uint64_t pushed_ms;                    /* when they heard last */
    struct elapse__runner_figures figures; /* as the log told them last */
    char trouble[ELAPSE__CLUSTER_PARTITION_TROUBLE_BYTES]; /* of links, as the log told it last */
    uint64_t twin_epoch, twin_ms; /* another owner has this node's address: in which epoch, and
                                     since when without a pause; epoch 0: none has */
    bool has_told_twin;
    struct elapse__cluster_way way;
};

/* A link of the router. */
struct elapse__cluster_link {
    struct elapse__ring_node dirty; /* first; in no ring: `next` is NULL */
    struct elapse__loop_pipe pipe;  /* to a core of this node */
    struct elapse__peer *peer;      /* to another node; NULL: it is local */
    struct elapse__router_link *link;
    struct elapse__cluster_partition *partition;
    bool is_opening, has_ended; /* the pipe */
    int error;                  /* why there is no connection to the other node; 0: there is */
    size_t given; /* bytes that the pipe has got in this turn, and the router has not heard of */
};

struct elapse__cluster {
    struct elapse__service service; /* its loop is the front, whose peers are clients */
    struct elapse__peers links;     /* peers of links to other nodes */
    struct elapse__router *router;
    struct elapse__loop_cluster shown;
    struct elapse__hosts hosts; /* of the database */
    struct elapse__schema_queue queue;
    struct elapse__cluster_partition *partitions; /* queue.parts of them */
    uint32_t partition_count;                     /* how many of them have been opened */
    char address[ELAPSE__NODE_ADDRESS_BYTES];
    char name[ELAPSE__NODE_NAME_BYTES];
    _Atomic bool has_inbox;          /* the database has one */
    struct elapse__errand inbox;     /* looks for it */
    struct elapse__errand addresses; /* looks names up */
    bool has_inbox_notice;           /* under the lock of `inbox` */
    struct elapse__cluster_notice inbox_notice;
    int event; /* set when a partition wants something of the loop */
    struct event *on_event, *on_second;
    struct event *alarm;      /* when the router, or a held core, needs a turn */
    bool cores_close;         /* the router gets no more for the cores of this node */
    _Atomic bool is_stopping; /* stores are not opened anew */
    bool has_failed;
    uint64_t search_until_ms; /* a partition has lost groups; 0: none has */
    bool is_refused;          /* because of the options, or of what the directory has */
    unsigned char *batch;
};

static inline const struct elapse__loop_options *
elapse__cluster_options(const struct elapse__cluster *cluster)
{
    return cluster->service.loop.options;
}

static inline struct elapse__logger *elapse__cluster_logger(struct elapse__cluster *cluster)
{
    return &cluster->service.loop.peers.logger;
}

/* ---- options.c ---- */

/* Returns false after a line in the log. */
bool elapse__cluster_check_options(struct elapse__cluster *cluster);

/* Chooses where other nodes reach this one, and its name. Requires that the listeners are open.
 * Returns false after a line in the log. */
bool elapse__cluster_choose_address(struct elapse__cluster *cluster);

/* ---- errand.c ---- */

/* Starts a thread. Returns false if the system refuses; elapse__errand_stop is to be called then,
 * too. */
bool elapse__errand_start(struct elapse__errand *errand, void *(*main)(void *argument),
                          struct elapse__cluster *cluster);

/* Ends the thread, when what it waits for has an end, and frees what there is of it. */
void elapse__errand_stop(struct elapse__errand *errand);

/* ---- inbox_errand.c ---- */

/* Asks one database after the other for the queue, until one of them tells. Returns false if a
 * signal asks to end. */
bool elapse__cluster_read_queue(struct elapse__cluster *cluster);

/* The thread that looks for the inbox of the database, again and again. */
void *elapse__errand_inbox(void *argument);

/* On the thread of the loop: logs what the thread has found, and wakes the runners if it has. */
void elapse__errand_inbox_look(struct elapse__cluster *cluster);

/* ---- addresses.c ---- */

/* The thread that looks up the names of hosts. */
void *elapse__addresses_errand(void *argument);

/* On the thread of the loop: stores an address of the owner of a partition. Returns whether it is
 * known; otherwise `*why` says why not, or is NULL: it is being looked up. */
bool elapse__addresses_find(struct elapse__cluster_partition *partition,
                            struct elapse__os_address *found, const char **why);

/* No node was reached there: the next time it is another address, if there is one. */
void elapse__addresses_failed(struct elapse__cluster_partition *partition);

/* ---- notices.c ---- */

/* The loop has something to look at. */
static inline void elapse__cluster_partition_wake_loop(struct elapse__cluster_partition *partition)
{
    elapse__os_event_set(partition->cluster->event);
}

/* Leaves a line for the log, from any thread. */
__attribute__((format(printf, 3, 4))) void
elapse__cluster_partition_say(struct elapse__cluster_partition *partition,
                              enum elapse__logger_level level, const char *format, ...);

/* On the thread of the loop: logs what was left. */
void elapse__cluster_partition_log(struct elapse__cluster_partition *partition);

/* ---- part.c ---- */

/* The calls of the store and of the runner. */
bool elapse__cluster_partition_submit(void *context, const void *bytes, size_t size,
                                      uint64_t position);
void elapse__cluster_partition_trim(void *context, uint64_t tail);
struct elapse__partition_owner
elapse__cluster_partition_owner(struct elapse__cluster_partition *partition);
extern const struct elapse__runner_calls elapse__part_calls;

/* ---- part_life.c ---- */

/* Opens the store of a partition: on any thread, while there is no runner or it waits in a call. */
enum elapse_error elapse__cluster_partition_open_store(struct elapse__cluster_partition *partition,
                                                       struct elapse_queue_fault *fault);

/* The same: counts the files of the journal. */
void elapse__cluster_partition_count_files(struct elapse__cluster_partition *partition);

/* Opens the store of a partition, if its files belong to that partition. Returns false after a line
 * in the log. */
bool elapse__cluster_partition_open(struct elapse__cluster *cluster, uint32_t partition);

/* Starts the runner. Requires a store. Returns false after a line in the log. */
bool elapse__cluster_partition_start(struct elapse__cluster_partition *partition);

/* Ends the runner, and closes the store. Requires that there is no core. Returns false if not
 * everything that is confirmed became durable here. */
bool elapse__cluster_partition_close(struct elapse__cluster_partition *partition);

/* ---- inbox.c ---- */

extern const struct elapse__runner_inbox elapse__part_inbox;

/* Returns false if there is no memory. */
bool elapse__cluster_partition_make_inbox(struct elapse__cluster_partition *partition);
void elapse__cluster_partition_free_inbox(struct elapse__cluster_partition *partition);

/* These take the store's lock. */
void elapse__cluster_partition_own_inbox(struct elapse__cluster_partition *partition);
void elapse__cluster_partition_disown_inbox(struct elapse__cluster_partition *partition);
void elapse__cluster_partition_confirm_inbox(struct elapse__cluster_partition *partition);

/* Adds the rows that leave with this group, which makes durable what lies before `position`. */
void elapse__cluster_partition_attach_inbox(struct elapse__cluster_partition *partition,
                                            uint64_t position,
                                            struct elapse__partition_group *group);

/* ---- core.c ---- */

/* Counts the descriptors that no client gets. */
void elapse__cluster_count_files(struct elapse__cluster *cluster);

/* Does what the runner's thread has asked for: makes or frees the core, starts another runner, logs
 * what has changed, and tells the router who owns the partition. */
void elapse__cluster_partition_look(struct elapse__cluster_partition *partition);

/* Frees the core, if there is one. */
void elapse__cluster_partition_release(struct elapse__cluster_partition *partition);

/* ---- front.c ---- */

/* Takes a new client; `loop` is the front. */
void elapse__front_welcome(struct elapse__loop *loop, struct elapse__peer *peer);

/* Receives from the clients whose sockets have bytes. */
void elapse__front_receive(struct elapse__cluster *cluster);

/* Sends to clients; gives nodes to the cores that they ask for; ends those that have ended. Returns
 * whether anything has happened. */
bool elapse__front_send(struct elapse__cluster *cluster);

/* ---- links.c ---- */

/* Opens the links that the router wants. */
void elapse__links_open(struct elapse__cluster *cluster);

/* Receives from other nodes. */
void elapse__links_receive(struct elapse__cluster *cluster);

/* Sends to other nodes, and marks the local links that have bytes. Returns whether anything has
 * happened. */
bool elapse__links_send(struct elapse__cluster *cluster);

/* Tells the other nodes that jobs of this partition have become ready. */
void elapse__links_push_ready(struct elapse__cluster_partition *partition);

/* Tells them, once, that this node is about to hand over. Returns whether any node, or the router
 * of this one, still has a connection to the core. */
bool elapse__links_push_leaving(struct elapse__cluster_partition *partition);

/* Passes the bytes of local links to the core, by a turn of it. Returns whether there is more. */
bool elapse__links_turn(struct elapse__cluster_partition *partition);

/* ---- turn.c ---- */

/* Receives from a peer that is ready, up to `room` bytes. Returns how many came. */
size_t elapse__cluster_receive(struct elapse__cluster *cluster, struct elapse__peer *peer,
                               size_t room);

/* Does turns until there is nothing to do now. Returns whether there is more. */
bool elapse__cluster_turn(struct elapse__cluster *cluster);

/* ---- figures.c ---- */

/* Makes `cluster->shown`. */
void elapse__cluster_show(struct elapse__cluster *cluster);

/* Returns a word for a role, or for a complaint. */
const char *elapse__cluster_role(enum elapse__partition_role role);
const char *elapse__cluster_complaint(enum elapse__complaint complaint);

/* Returns why a partition must not go on, in words. */
const char *elapse__cluster_stop(enum elapse__partition_stop stop);

#endif
