/*
 * The types that all files of this room share, and the rules. serve_cluster.h lists the files. The
 * words core, runner, router, link, lease and epoch are in docs/glossary.md.
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
 *   A partition that cannot go on, because of its files or of the database, is OUT: its runner
 * ends, and the node goes on with the others. If none is left the process ends.
 *
 * Rules
 *
 *   S1  Bytes of a core leave only while its runner may answer (R3 of
 *       src/cluster/ownership/partition.h). The gate stands between the core and the router, and
 *       between the core and other nodes. An answer that has passed the gate was true then, and may
 *       reach the client later, as if the network had held it up.
 *   S2  A core exists only between the calls `own` and `fenced` of the runner. `fenced` waits until
 *       the core is gone, and closes the store only then.
 *   S3  The runner of a partition is started with what its files have at that time. It
 *       never goes on with a store that was opened anew: another runner does, which reads again
 *       the groups that were confirmed but not written here.
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
    ELAPSE__CLUSTER_HELD_MS = 10, /* until bytes that may not leave now are looked at again */
};

struct elapse__cluster;

/* A line for the log that a thread other than the loop's has left. */
struct elapse__cluster_notice {
    enum elapse__logger_level level;
    char text[ELAPSE__CLUSTER_PARTITION_NOTICE_BYTES];
};

/* A lock, and a condition that is signalled when something that the lock guards has changed. */
struct elapse__cluster_monitor {
    struct elapse__lock lock;
    struct elapse__condition changed;
    unsigned made; /* 1: the lock; 2: the condition, too */
};

/* A thread that may wait: for the database, or for a name server. */
struct elapse__cluster_errand {
    struct elapse__cluster_monitor monitor;
    struct elapse__os_thread thread;
    bool is_running; /* there is a thread */
    bool stops;      /* under the lock, as `has_ended` */
    bool has_ended;  /* the thread does nothing any more */
};

/* Where the owner of a partition is. Under the lock of cluster->addresses. */
struct elapse__cluster_way {
    char address[ELAPSE__NODE_ADDRESS_BYTES]; /* of the owner, as the row has it */
    struct elapse__os_address found[ELAPSE__OS_ADDRESSES_MAX];
    size_t count;    /* of the addresses found */
    size_t turn;     /* the address that is tried next, modulo `count` */
    bool is_digits;  /* there is no name to look up */
    bool is_wanted;  /* the name is to be looked up */
    const char *why; /* why the owner has no address; NULL: nobody has looked yet */
};

struct elapse__cluster_partition {
    struct elapse__cluster *cluster;
    uint32_t number;
    bool gave_up; /* for the runner's thread alone, which does nothing any more */
    char directory[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES];
    struct elapse__journal_log log;
    struct elapse__inbox *inbox;   /* under the store's lock */
    struct elapse_queue *store;    /* the runner's thread may replace it, while there is no core */
    struct elapse__runner *runner; /* NULL: there is none */
    char me[ELAPSE__NODE_NAME_BYTES]; /* the name of the runner's life */
    _Atomic uint64_t epoch;           /* in which this node owns the partition, or owned it last */
    _Atomic uint64_t tail; /* the log's new tail, of which the runner was not told yet; 0: none */
    _Atomic uint64_t segments; /* files of the journal, as the runner's thread saw them */
    uint64_t waits; /* the runner's thread alone: attempts that the disk has refused, in a row */

    struct elapse__cluster_monitor monitor; /* guards the fields from here to those of the loop */
    bool is_owned;
    bool has_owned; /* since the store was opened */
    bool has_core;
    bool is_opened_anew; /* the store needs another runner */
    bool is_opening;     /* the runner's thread closes the store, and opens it again */
    bool has_ended;      /* the runner has handed over, or stopped: it calls nothing more */
    bool has_failed;     /* the process has to end */
    bool has_lost; /* the process has to end because of lost groups; first other partitions look */
    const char *out; /* why this node goes on without the partition, until it is started again;
                        NULL: this node does not */
    struct elapse__cluster_notice notices[ELAPSE__CLUSTER_PARTITION_NOTICES]; /* the oldest first */
    unsigned notice_count;
    unsigned notices_lost; /* older notices that were dropped, because there was no room */

    /* The fields that only the loop uses. */
    struct elapse__loop *core;             /* NULL: there is none */
    struct elapse__ring_node dirty;        /* local links with bytes for the core */
    uint64_t readied;                      /* `readied` of the core when the router was told last */
    uint64_t pushed_ms;                    /* when other nodes were told last */
    struct elapse__runner_figures figures; /* as they were logged last */
    char trouble[ELAPSE__CLUSTER_PARTITION_TROUBLE_BYTES]; /* why no link works, as it was logged
                                                              last */
    uint64_t twin_epoch, twin_ms; /* another owner has this node's address: in which epoch, and
                                     since when without a pause; epoch 0: none has */
    bool has_told_twin;
    bool has_news;        /* other nodes were not told yet that jobs are ready */
    bool is_durable;      /* the store was closed, and all that is confirmed is here */
    const char *seen_out; /* `out`, as it was last */
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
    size_t given;               /* bytes offered to the pipe that the router was not told of */
};

struct elapse__cluster {
    struct elapse__service service; /* its loop is the front, whose peers are clients */
    struct elapse__peers links;     /* peers of links to other nodes */
    struct elapse__router *router;
    struct elapse__loop_cluster shown;
    struct elapse__hosts hosts; /* of the database */
    struct elapse__guesses guesses;
    struct elapse__guesses old_names; /* clients that put with RETRY */
    struct elapse__schema_queue queue;
    struct elapse__cluster_partition *partitions; /* queue.partitions elements */
    uint32_t partition_count;                     /* how many have been opened */
    char address[ELAPSE__NODE_ADDRESS_BYTES];
    char name[ELAPSE__NODE_NAME_BYTES];
    _Atomic bool has_inbox;                  /* the database has an inbox */
    struct elapse__cluster_errand inbox;     /* looks for the inbox */
    struct elapse__cluster_errand addresses; /* looks names up */
    bool has_inbox_notice;                   /* under the lock of `inbox` */
    struct elapse__cluster_notice inbox_notice;
    int event; /* set when a partition wants something of the loop */
    struct event *on_event, *on_second;
    struct event *alarm;      /* when the router, or a held core, needs a turn */
    bool cores_close;         /* the router gives no more commands to the cores of this node */
    _Atomic bool is_stopping; /* stores are not opened anew */
    bool has_failed;
    uint64_t search_until_ms; /* until when the other partitions look for lost groups, because one
                                 has lost some; 0: none has */
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
