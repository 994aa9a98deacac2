/*
 * Decides which partition moves to which node. The functions are pure.
 *
 * Definitions
 *
 *   target     the node to which the owner of a partition is to hand it over now. There is none
 *              most of the time.
 *   preferred  the node that an operator has named as the owner of a partition.
 *   ready      a node is ready for a partition if it owns it, or follows it and lacks only a few
 *              groups. So it can own the partition at once.
 *   balancer   the node that owns partition 0. It alone sets targets and takes them away.
 *
 * Nothing depends on the balancer but how long commands wait. A target that is wrong, old, or seen
 * by some nodes only, costs at most a lease without service, or does nothing. Who owns a partition
 * is decided by partition.h alone.
 *
 * Rules
 *
 *   B1  At most one partition has a target. The balancer takes a target away when the target owns
 *       the partition, when it cannot own it any more, or after 3 L (L is the lease).
 *   B2  A target lives and is ready. It does not drain, unless an operator prefers it.
 *   B3  The balancer sets no target while moves are paused, while its own view is not calm, or
 *       within a second after the last target, or within 6 L after a target that was taken away
 *       although it did not own the partition. The view is calm if the database was on the same
 *       timeline for two leases, and no partition of this node has a complaint.
 *   B4  First come partitions whose preferred node is not the owner. Next come partitions of nodes
 *       that drain. Last comes the balance: when the counts of two nodes have differed by more than
 *       one for `balance_after_ms`, the node with most partitions gives one to the node with
 *       fewest.
 *   B5  For the balance, all partitions have owners that live and are ready. The balance moves no
 *       partition that an operator has placed.
 *   B6  A node whose clock differs by more than ELAPSE__BALANCE_CLOCK_MS from the database's is not
 *       chosen. It is a target only where an operator prefers it.
 *   B7  A partition whose target was taken away although it did not own the partition comes after
 *       all that B4 names: it gets a target again when no other partition is to move. So partitions
 *       that cannot move, for whatever reason, keep no other one from moving.
 *
 * Counts are not load. A partition that has more work than others is moved by an operator.
 */
#ifndef ELAPSE__OWNERSHIP_BALANCE_H
#define ELAPSE__OWNERSHIP_BALANCE_H

#include "partition.h"

enum {
    ELAPSE__BALANCE_CLOCK_MS = 50,
    ELAPSE__BALANCE_PAUSE_MS = 1000,
    ELAPSE__BALANCE_READY_GROUPS = 64, /* a node that lacks more groups is not ready */
    ELAPSE__BALANCE_VERSION_BYTES = 32,
    ELAPSE__BALANCE_REPLICAS_MAX = 8, /* in the list of a partition */
    ELAPSE__BALANCE_ZONE_BYTES = 32,
    ELAPSE__BALANCE_PARTITIONS_MAX = 1024,
};

/* A node as it has told of itself. */
struct elapse__balance_node {
    char name[ELAPSE__NODE_NAME_BYTES];
    char address[ELAPSE__NODE_ADDRESS_BYTES];
    char version[ELAPSE__BALANCE_VERSION_BYTES];
    char zone[ELAPSE__BALANCE_ZONE_BYTES]; /* where it is, as its operator says; "": unknown */
    uint64_t age_ms;                       /* how long ago it told this, by the database's clock */
    bool lives;                            /* age_ms is at most two leases */
    bool drains;                           /* an operator wants it to own nothing */
    uint32_t owns;                         /* how many partitions it owns (elapse__balance_count) */
    uint32_t copies;                       /* how many lists name it (elapse__balance_count) */
    int64_t ahead_ms;                      /* its wall clock minus the database's */
    bool *ready;                           /* an element for each partition */
    uint64_t *unready_since_ms; /* an element for each partition: since when the node has been a
                                   member that lives and is not ready (elapse__replicas_note);
                                   0: it is none */
};

/* What the row of a partition says. */
struct elapse__balance_row {
    uint64_t epoch, beat, last_group, last_hash;
    char owner[ELAPSE__NODE_NAME_BYTES]; /* the name of a life; "": nobody */
    char address[ELAPSE__NODE_ADDRESS_BYTES];
};

/* A partition. Nodes are numbers of nodes of the view, or -1. */
struct elapse__balance_partition {
    int owner;     /* -1: nobody, or a node that has told nothing of itself */
    int preferred; /* -1: none, or a node that has told nothing of itself */
    int target;    /* -1: none, or a node that has told nothing of itself */
    bool is_stopped;
    bool is_preferred; /* an operator has placed the partition */
    bool has_target;
    bool has_missed; /* a node that came late misses groups that the others went on without */
    uint32_t replica_count; /* how many nodes the list of replicas has; 0: all nodes follow */
    int replicas[ELAPSE__BALANCE_REPLICAS_MAX];
    struct elapse__balance_row row;
};

/* What a node has seen in the database. */
struct elapse__balance_view {
    struct elapse__balance_node *nodes;
    size_t node_count;
    struct elapse__balance_partition *partitions;
    uint32_t partition_count;
    bool is_paused;    /* an operator has paused moves */
    uint32_t timeline; /* of the server that has answered */
    uint64_t system_identifier;
    bool has_zones; /* the database has a column for the zones of nodes */
    bool has_lists; /* partitions may have lists of replicas, because no node of 0.2 runs */
};

/* What a balancer remembers. Begins as zeros. */
struct elapse__balance {
    bool is_uneven;
    uint64_t uneven_since_ms;
    uint64_t next_ms; /* no target is set before this time */
    bool has_target;  /* a partition has the target below */
    uint32_t partition;
    uint64_t target_since_ms;
    bool has_failed[ELAPSE__BALANCE_PARTITIONS_MAX]; /* for each partition: its last target did not
                                                        come true (B7) */
};

/* A change of one target. */
struct elapse__balance_move {
    uint32_t partition;
    int target; /* -1: the target is taken away */
};

struct elapse__balance_options {
    uint32_t lease_ms;
    uint64_t balance_after_ms;
    bool is_calm; /* B3 */
};

/* Returns whether a target has to change now, and stores the change. Only the balancer calls this.
 * Requires at most ELAPSE__BALANCE_PARTITIONS_MAX partitions. `now_ms` does not go back. Cost:
 * nodes times partitions. */
bool elapse__balance_next(struct elapse__balance *balance, const struct elapse__balance_view *view,
                          const struct elapse__balance_options *options, uint64_t now_ms,
                          struct elapse__balance_move *move);

/* Counts for each node how many partitions it owns, and how many lists name it. Called when the
 * view has its owners and lists. */
void elapse__balance_count(const struct elapse__balance_view *view);

/* Returns the number of the node that this life belongs to, or -1. The name of a life is that of
 * the node, a slash, and a random number. */
int elapse__balance_node_of(const struct elapse__balance_view *view, const char *life);

/* Returns whether the node is one that lives. `node` may be -1. */
bool elapse__balance_lives(const struct elapse__balance_view *view, int node);

/* Returns whether the node lives and is ready for the partition. `node` may be -1. */
bool elapse__balance_is_ready(const struct elapse__balance_view *view, uint32_t partition,
                              int node);

/* Returns the number of the node with this name, or -1. */
int elapse__balance_find(const struct elapse__balance_view *view, const char *name);

/* Returns whether a node that lives, other than `node`, is ready for the partition. */
bool elapse__balance_has_other(const struct elapse__balance_view *view, uint32_t partition,
                               int node);

/* Returns which node this one, `me`, has to expect as the next owner of a partition
 * (elapse__partition_expect). A node that drains leaves partitions without an owner to others. */
enum elapse__partition_next_owner elapse__balance_expect(const struct elapse__balance_view *view,
                                                         uint32_t partition, int me);

#endif
