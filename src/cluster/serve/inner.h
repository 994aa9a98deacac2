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
 *   OWNED       a thread brings the store into service. Then the loop makes a core, which serves
 *               while the lease allows it
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
 *   S5  To bring a store into service takes as long as it has jobs, and holds the lock of the store
 *       meanwhile. So a thread of its own does that, and the runner's thread does not touch the
 *       store until it is done. Otherwise the runner's beats would come too late, and one new owner
 *       after the other would lose a partition with many jobs.
 */
#ifndef ELAPSE__CLUSTER_SERVE_INNER_H
#define ELAPSE__CLUSTER_SERVE_INNER_H

#include <stdatomic.h>

#include "../../engine/store/left.h"
#include "../../engine/store/log.h"
#include "../../engine/store/witness.h"
#include "../../os/lock.h"
#include "../../server/serve/service.h"
#include "../ownership/balance.h"
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
    bool has_notice; /* guarded by the lock, as is `notice`: the last line for the log */
    struct elapse__cluster_notice notice;
};

/* How far a planned move of a partition has come (move.c). */
enum elapse__cluster_moving {
    ELAPSE__CLUSTER_STAYS,
    ELAPSE__CLUSTER_LEAVES,
    ELAPSE__CLUSTER_SETTLES,
    ELAPSE__CLUSTER_RELEASES,
};

/* Whether this node has a copy of a partition (copies.c). */
enum elapse__cluster_copy {
    ELAPSE__CLUSTER_HAS_COPY, /* also where the copy cannot be used (OUT) */
    ELAPSE__CLUSTER_LEAVES_COPY,
    ELAPSE__CLUSTER_CLOSES_COPY,
    ELAPSE__CLUSTER_HAS_NO_COPY,
    ELAPSE__CLUSTER_OPENS_COPY,
    ELAPSE__CLUSTER_SETS_ASIDE, /* it has none, and renames the files that it has left */
};

static inline bool elapse__cluster_has_copy(enum elapse__cluster_copy copy)
{
    return copy != ELAPSE__CLUSTER_HAS_NO_COPY && copy != ELAPSE__CLUSTER_SETS_ASIDE;
}

/* Files of a partition of which this node has no copy (src/cluster/ownership/give_up.h). */
enum {
    ELAPSE__CLUSTER_FILES_LEFT,
    ELAPSE__CLUSTER_FILES_ASIDE,
    ELAPSE__CLUSTER_FILES, /* how many kinds there are */
};

struct elapse__cluster_files {
    bool has_files;
    uint64_t number;                      /* another one whenever the files may have been opened */
    struct elapse__partition_witness end; /* their end, or a place that continues it */
};

static inline bool elapse__cluster_are_same_files(const struct elapse__cluster_files *a,
                                                  const struct elapse__cluster_files *b)
{
    return a->has_files == b->has_files && a->number == b->number &&
           a->end.place.group == b->end.place.group && a->end.place.hash == b->end.place.hash;
}

/* What is known of them by the database. */
struct elapse__cluster_seen_files {
    struct elapse__cluster_files files; /* the ones that were looked at */
    bool is_given_up;                   /* they are to be set aside, or removed */
    bool stays;                         /* they never are, so an operator has to remove them */
    bool is_continued;
    struct elapse__partition_witness continued; /* if so: a place that continues their end */
};

/* What the loop and the thread that knows the other nodes (nodes_errand.c) tell each other. The
 * lock of `errand` guards the fields after it. Arrays have an element for each partition. */
struct elapse__cluster_nodes {
    struct elapse__cluster_errand errand;

    /* Written by the loop. */
    bool *ready;      /* this node owns the partition, or could own it at once */
    int64_t ahead_ms; /* this node's wall clock minus the database's */
    bool is_calm;     /* no partition of this node has a complaint */
    bool balances;    /* this node owns partition 0 */
    bool *has_copy;   /* this node has a runner for the partition, or is about to start one */
    struct elapse__cluster_files *files; /* ELAPSE__CLUSTER_FILES for each partition */

    /* Written by runners: the cluster's time. One that is borrowed replaces no other. */
    struct elapse__clock_time time;

    /* Written by the thread, and only by it. It reads `view` without the lock. */
    struct elapse__balance_view view; /* without nodes: the database has not told them */
    uint64_t seen_ms;                 /* when the database told the view */
    enum elapse__partition_next_owner *next_owners;
    bool *leaves; /* the partition is to be handed over */
    bool *wants;  /* this node is to have a copy of the partition (replicas.h) */
    bool *calls;  /* somebody has to look after the partition (guests.h) */
    uint32_t
        marked; /* 1 + the number of a partition with a mark and without a copy here; 0: none */
    struct elapse__balance_row *rows;              /* of each partition, as they were seen last */
    bool is_drained;                               /* an operator wants this node to own nothing */
    struct elapse__cluster_seen_files *seen_files; /* ELAPSE__CLUSTER_FILES for each partition */
};

/* The witnesses of all partitions (R11 of src/cluster/ownership/partition.h), and the thread that
 * writes them to the disk. The lock of `errand` guards the fields after it. */
struct elapse__cluster_witnesses {
    struct elapse__cluster_errand errand;
    struct elapse__store_witness *seen; /* an element for each partition */
    bool has_changed;                   /* the disk does not have `seen` yet */
};

/* Where the owner of a partition is. The lock of cluster->addresses guards it. */
struct elapse__cluster_way {
    char address[ELAPSE__NODE_ADDRESS_BYTES]; /* of the owner, from the partition's row */
    struct elapse__os_address found[ELAPSE__OS_ADDRESSES_MAX];
    size_t count;                       /* how many addresses were found */
    size_t turn;                        /* modulo `count`: the address to try next */
    char host[ELAPSE__LOOP_HOST_BYTES]; /* whose certificate the owner has; "": no TLS */
    bool is_digits;                     /* the address has digits, and no name to look up */
    bool is_wanted;                     /* the name has to be looked up */
    const char *why; /* why the owner has no address; NULL: nobody has looked yet */
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): grouped by meaning */
struct elapse__cluster_partition {
    struct elapse__cluster *cluster;
    uint32_t number;
    _Atomic bool gave_up; /* the runner's thread does nothing more */
    char directory[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES];
    struct elapse__journal_log log;
    struct elapse__inbox *inbox;   /* guarded by the store's lock */
    struct elapse_queue *store;    /* the runner's thread may replace it while there is no core */
    struct elapse__runner *runner; /* NULL: there is no runner */
    char me[ELAPSE__NODE_NAME_BYTES]; /* the name of the runner's life */
    _Atomic uint64_t epoch;           /* the last epoch in which this node owned the partition */
    _Atomic uint64_t tail;       /* a new tail of the log that the runner has to be told; 0: none */
    _Atomic bool is_moving;      /* the loop is handing the partition over; no rows of the inbox are
                                    asked for */
    _Atomic uint64_t segments;   /* files of the journal, as the runner's thread counted them */
    _Atomic uint64_t waits;      /* how often in a row the disk refused */
    _Atomic bool is_beginning;   /* the store is brought into service, with its lock held (S5) */
    _Atomic bool ends_beginning; /* this node has lost the partition meanwhile */
    _Atomic uint64_t no_room_until_ms; /* this node takes the partition from no other node before,
                                          because there was no room for its service; 0: there was */
    bool has_beginner; /* the thread that does that was started, and was not joined */
    struct elapse__os_thread beginner;

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
    char said[ELAPSE__RUNNER_MESSAGE_BYTES]; /* the message of the database that was last logged */
    uint64_t said_ms;                        /* when that was */
    char trouble[ELAPSE__CLUSTER_PARTITION_TROUBLE_BYTES]; /* the last logged reason why no link
                                                              works */
    uint64_t confirmed_ms; /* when the last confirmed write was sent; 0: there is no core */
    uint64_t twin_epoch,
        twin_ms; /* of another owner with this node's address: epoch, or 0; since when */
    bool has_told_twin;
    bool has_news;        /* the other nodes do not know yet that jobs are ready */
    bool is_durable;      /* the store was closed, and has all confirmed groups */
    const char *seen_out; /* the last value of `out` */
    struct elapse__cluster_way way;
    enum elapse__partition_next_owner wanted_owner, told_owner; /* what the runner is to expect, and
                                                                   what it was told */
    uint64_t near_until_ms; /* this node was near the end of the log half of a lease before */
    bool is_to_move;        /* the balancer wants another node to own the partition */
    bool is_wanted;         /* this node is to have a copy */
    bool is_called;         /* somebody has to look after the partition */
    enum elapse__cluster_moving moving;
    enum elapse__cluster_copy copy;
    bool is_guest;                   /* the copy was made while the node ran */
    struct elapse__os_thread copier; /* opens or closes the files */
    bool has_copier;
    _Atomic bool is_copied; /* the copier is done */
    uint64_t unwanted_ms;   /* since when no copy is wanted here; 0: one is wanted */
    uint64_t opened_group;  /* the last group of the files when they were opened; 0: none */
    bool has_compared;      /* the log was seen to continue the files as they were opened */
    bool leaves_compared;   /* the copier has to write `left` when it has closed the files */
    bool is_left;           /* there are files, which nobody has to open: the next field says why.
                               The copier changes both while it runs */
    struct elapse__store_left left;
    bool is_aside; /* there are files that were set aside, in the next directory. The copier sets
                      it, and the remover takes it away */
    char aside[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES];
    struct elapse__store_left aside_left; /* what that directory says */
    uint64_t aside_number;                /* the next one when they were set aside; 0: before */
    uint64_t files_number;                /* how often a copier began that changes them */
    struct elapse__cluster_seen_files seen_files[ELAPSE__CLUSTER_FILES];
    struct elapse__os_thread remover; /* removes the files that were set aside */
    bool has_remover;
    _Atomic bool is_removed; /* the remover is done */
    uint64_t shown_files; /* for a metric: 0: it has none of both; 1: it is_left; 2: it is_aside */
    uint64_t next_give_up_ms; /* nothing is given up before, because the last attempt may fail */
    uint64_t next_copy_ms;    /* no copy is opened before, because the last attempt failed */
    uint64_t move_until_ms;   /* when this step of a move is given up */
    uint64_t settled;         /* while SETTLES: what the log has to have at least: a position */
    uint64_t rests_until_ms;  /* no move begins before, because one was given up */
};

/* A link of the router, as this room has it. */
struct elapse__cluster_link {
    struct elapse__ring_node dirty; /* must be first; `next` is NULL if it is in no ring */
    struct elapse__loop_pipe pipe;  /* of a link to a core of this node */
    struct elapse__peer *peer;      /* of a link to another node; NULL: the core is here */
    struct elapse__router_link *link;
    struct elapse__cluster_partition *partition;
    bool is_opening, has_ended;         /* states of `pipe` */
    char host[ELAPSE__LOOP_HOST_BYTES]; /* whose certificate the other node has; "": no TLS */
    bool is_shaking;                    /* the handshake of TLS has begun, and is not over */
    const char *distrust; /* why the other node is not trusted; a static text; NULL: it is */
    int error;            /* why the other node was not reached; 0: it was, or may be */
    size_t given;         /* bytes offered to `pipe` that the router does not know of yet */
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
    struct elapse__cluster_nodes nodes;      /* the thread that knows the other nodes */
    struct elapse__cluster_witnesses witnesses;
    int event; /* a file that is ready when a partition wants the loop */
    struct event *on_event, *on_second;
    struct event *alarm;      /* wakes the loop when the router or a core needs a turn */
    bool cores_close;         /* the router gives the cores of this node no more commands */
    _Atomic bool is_stopping; /* stores are not opened anew any more */
    bool has_failed;
    uint32_t marked;          /* what the thread of `nodes` said last */
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
