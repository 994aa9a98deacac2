/*
 * The types that all files of this room share, and the rules of the room. serve_cluster.h lists the
 * files. docs/glossary.md explains the words core, runner, router, link, lease and epoch. The loop
 * is the thread that has the sockets. The store is the queue and the journal of one partition
 * (src/engine/store).
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
 *   OWNED       the loop makes a core, which serves while the lease allows it
 *   RELEASED    the store takes no commands. The runner's thread waits until the loop has freed the
 *               core, and opens the store again. Then the loop starts a new runner, which begins at
 *               the last group that the files have.
 *
 *   A partition that cannot go on because of its files or the database is OUT: its runner
 * ends, and the node goes on with the others. If its files cannot be opened when the node starts,
 * it gets no store and no runner. If no partition is left the process ends.
 *
 * Rules
 *
 *   S1  Bytes of a core leave only while its runner may answer (R3 of
 *       src/cluster/ownership/partition.h). This is checked where bytes go from the core to the
 *       router or to other nodes. An answer that has passed the check was true then. It may reach
 *       the client later, as if the network had delayed it.
 *   S2  A core exists only between the runner's callbacks `own` and `fenced`. `fenced` waits until
 *       the loop has freed the core, and closes the store only then.
 *   S3  The runner of a partition begins at the last group that the files have when it starts. A
 *       store that was opened anew always gets a new runner. That runner reads again the groups
 *       that were confirmed but not written here.
 *   S4  A thread holds at most one lock at a time: that of a partition, of a store, or of a runner.
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
        20,                       /* the most descriptors of a partition, without its segments */
    ELAPSE__CLUSTER_HELD_MS = 10, /* how soon the loop looks again at bytes that may not leave */
};

struct elapse__cluster;

/* A line for the log, left by a thread other than the loop's. */
struct elapse__cluster_notice {
    enum elapse__logger_level level;
    char text[ELAPSE__CLUSTER_PARTITION_NOTICE_BYTES];
};

/* A lock, and a condition that is signalled when something that the lock guards has changed. */
struct elapse__cluster_monitor {
    struct elapse__lock lock;
    struct elapse__condition changed;
    unsigned made; /* how much was made: 1: the lock; 2: the condition, too */
};

/* A thread that may wait for the database or for a name server. */
struct elapse__cluster_errand {
    struct elapse__cluster_monitor monitor;
    struct elapse__os_thread thread;
    bool is_running; /* there is a thread */
    bool stops;      /* guarded by the lock, as is `has_ended` */
    bool has_ended;  /* the thread does nothing more */
};

/* Where the owner of a partition is. The lock of cluster->addresses guards it. */
struct elapse__cluster_way {
    char address[ELAPSE__NODE_ADDRESS_BYTES]; /* of the owner, from the partition's row */
    struct elapse__os_address found[ELAPSE__OS_ADDRESSES_MAX];
    size_t count;    /* how many addresses were found */
    size_t turn;     /* modulo `count`: the address to try next */
    bool is_digits;  /* the address has digits, and no name to look up */
    bool is_wanted;  /* the name has to be looked up */
    const char *why; /* why the owner has no address; NULL: nobody has looked yet */
};

struct elapse__cluster_partition {
    struct elapse__cluster *cluster;
    uint32_t number;
    bool gave_up; /* only for the runner's thread, which does nothing more */
    char directory[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES];
    struct elapse__journal_log log;
    struct elapse__inbox *inbox;   /* guarded by the store's lock */
    struct elapse_queue *store;    /* the runner's thread may replace it while there is no core */
    struct elapse__runner *runner; /* NULL: there is no runner */
    char me[ELAPSE__NODE_NAME_BYTES]; /* the name of the runner's life */
    _Atomic uint64_t epoch;           /* the last epoch in which this node owned the partition */
    _Atomic uint64_t tail;     /* a new tail of the log that the runner has to be told; 0: none */
    _Atomic uint64_t segments; /* files of the journal, as the runner's thread counted them */
    uint64_t waits; /* only for the runner's thread: how often in a row the disk refused */

    struct elapse__cluster_monitor monitor; /* guards the fields from here to those of the loop */
    bool is_owned;
    bool has_owned; /* since the store was opened */
    bool has_core;
    bool is_opened_anew; /* the store needs a new runner */
    bool is_opening;     /* the runner's thread is closing the store and opening it again */
    bool has_ended;      /* the runner has handed over or stopped: no more callbacks */
    bool has_failed;     /* the process has to end */
    bool has_lost;       /* the process ends because of lost groups, after a search */
    const char *out;     /* why this node has given the partition up; NULL: it has not */
    struct elapse__cluster_notice notices[ELAPSE__CLUSTER_PARTITION_NOTICES]; /* the oldest first */
    unsigned notice_count;
    unsigned notices_lost; /* how many older notices were dropped for lack of room */

    /* The fields that only the loop uses. */
    struct elapse__loop *core;             /* NULL: there is no core */
    struct elapse__ring_node dirty;        /* links in this process with bytes for the core */
    uint64_t readied;                      /* the core's `readied` when the router was last told */
    uint64_t pushed_ms;                    /* when the other nodes were last told */
    struct elapse__runner_figures figures; /* the figures that were last logged */
    char trouble[ELAPSE__CLUSTER_PARTITION_TROUBLE_BYTES]; /* the last logged reason why no link
                                                              works */
    uint64_t twin_epoch,
        twin_ms; /* of another owner with this node's address: epoch, or 0; since when */
    bool has_told_twin;
    bool has_news;        /* the other nodes do not know yet that jobs are ready */
    bool is_durable;      /* the store was closed, and has all confirmed groups */
    const char *seen_out; /* the last value of `out` */
    struct elapse__cluster_way way;
};

/* A link of the router, as this room has it. */
struct elapse__cluster_link {
    struct elapse__ring_node dirty; /* must be first; `next` is NULL if it is in no ring */
    struct elapse__loop_pipe pipe;  /* of a link to a core of this node */
    struct elapse__peer *peer;      /* of a link to another node; NULL: the core is here */
    struct elapse__router_link *link;
    struct elapse__cluster_partition *partition;
    bool is_opening, has_ended; /* states of `pipe` */
    int error;                  /* why the other node was not reached; 0: it was, or may be */
    size_t given;               /* bytes offered to `pipe` that the router does not know of yet */
};

struct elapse__cluster {
    struct elapse__service service; /* its loop is the front, and its peers are clients */
    struct elapse__peers links;     /* the peers of links to other nodes */
    struct elapse__router *router;
    struct elapse__loop_cluster shown;
    struct elapse__hosts hosts; /* the servers of the database */
    struct elapse__guesses guesses;
    struct elapse__guesses old_names; /* clients that use RETRY, the old name of ATTEMPTS */
    struct elapse__schema_queue queue;
    struct elapse__cluster_partition *partitions; /* an array of queue.partitions elements */
    uint32_t partition_count;                     /* how many partitions were opened */
    char address[ELAPSE__NODE_ADDRESS_BYTES];
    char name[ELAPSE__NODE_NAME_BYTES];
    _Atomic bool has_inbox;                  /* the database has an inbox */
    struct elapse__cluster_errand inbox;     /* the thread that looks for the inbox */
    struct elapse__cluster_errand addresses; /* the thread that looks names up */
    bool has_inbox_notice;                   /* guarded by the lock of `inbox` */
    struct elapse__cluster_notice inbox_notice;
    int event; /* a file that is ready when a partition wants the loop */
    struct event *on_event, *on_second;
    struct event *alarm;      /* wakes the loop when the router or a core needs a turn */
    bool cores_close;         /* the router gives the cores of this node no more commands */
    _Atomic bool is_stopping; /* stores are not opened anew any more */
    bool has_failed;
    uint64_t search_until_ms; /* until then other partitions look for lost groups; 0: no loss */
    _Atomic bool is_refused;  /* because of the options, or of what the directory has */
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

#endif
