/*
 * The state of a partition, and small functions that all files of this room share. partition.h
 * defines the terms.
 *
 * The files, from the bottom up. A file calls only files that are listed before it. It includes the
 * header of its layer, which includes the headers of the layers before.
 *
 *      clock.h    clock.c      the cluster's time, and whose wall clock is wrong
 *      role.h     role.c       the diagram of roles as a table; the link; ends and stops
 *                 check.c      the invariants; until when answers may leave
 *      row.h      row.c        what the row says: lost groups, marks, the end of the log
 *      mark.h     mark.c       marking a database that lost groups
 *      own.h      own.c        take-overs, appends, beats, deciding after a barrier
 *      follow.h   follow.c     reading the row and the log; when to take over
 *                 next.c       which statement comes next, and when
 *                 completed.c  what each result means
 *                 life.c       the beginning and the end; what callers ask and say
 */
#ifndef ELAPSE__OWNERSHIP_STATE_H
#define ELAPSE__OWNERSHIP_STATE_H

#include "../../base/assert.h"
#include "partition.h"

enum elapse__partition_link {
    ELAPSE__LINK_DOWN,      /* CONNECT comes next */
    ELAPSE__LINK_CONNECTED, /* SESSION comes next */
    ELAPSE__LINK_UP,
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): grouped by meaning */
struct elapse__partition {
    struct elapse__partition_options options; /* `me` points to a copy */
    enum elapse__partition_role role;
    enum elapse__partition_stop stop;
    enum elapse__complaint complaint;
    unsigned complaint_host; /* the database server that `complaint` is about */
    uint64_t complaints;     /* how many complaints there have been */
    uint64_t now_ms;

    /* The statement under way, or the last one. */
    bool under_way;
    struct elapse__statement statement;
    uint64_t sent_ms;

    enum elapse__partition_link link;
    unsigned host;
    uint64_t retry_ms;     /* CONNECT comes no earlier than this */
    bool blocked;          /* another session blocks the row: TERMINATE comes next */
    bool settings_trusted; /* whether the last look at the settings found them right */
    bool is_well;          /* the host has done what it should since its last failure */

    struct elapse__partition_memory memory;
    uint64_t memory_mark, remembered_mark;

    /* The row as it was seen last, and since when its three numbers are the same. */
    bool has_row;
    struct elapse__partition_row row; /* its texts lie in the three arrays below */
    uint64_t unchanged_since_ms;
    uint64_t wary_until_ms; /* no take-over before this time, as the timeline is new (R4) */
    uint64_t poll_ms;       /* when the row is read next */
    char owner_name[ELAPSE__NODE_NAME_BYTES];
    char owner_address[ELAPSE__NODE_ADDRESS_BYTES];
    char mark[ELAPSE__MARK_BYTES];

    struct elapse__partition_log_place local;
    bool local_has_hash; /* false after a rebuild: the first group has the hash before it */
    struct elapse__partition_log_place confirmed;
    struct elapse__partition_witness witness; /* may be below `confirmed`, and is of no use then */
    bool has_met_witness;                     /* the log of this connection has the witness (R11) */
    bool lacks_witness_only; /* MARKING: nothing that this node has itself is lost */
    uint64_t witness_losses;
    bool log_is_behind; /* a follower: the log has more groups than this node */
    uint64_t missing;   /* a follower: a group that the row has and the log lacks; 0: none */
    bool knows_loss;    /* MARKING: the row or the log, read on this connection, lacks groups */

    /* The fields of the epoch: from TAKING_OVER on, until the partition is fenced. */
    uint64_t epoch;
    bool has_owned;                          /* this node has been OWNING in this epoch */
    struct elapse__partition_log_place goal; /* the group with which catching up ends */
    bool log_has_gap; /* catching up: the log lacked a group, and no beat was confirmed since */
    bool has_lease;
    uint64_t lease_from_ms; /* when the last confirmed write was sent */
    uint64_t beat_ms;       /* when the next beat is due */

    bool has_group;
    struct elapse__partition_group group; /* its number is confirmed.group + 1 */
    uint64_t group_hash;

    uint64_t tail_wanted;       /* the tail that elapse__partition_trim was told */
    uint64_t tables_made_below; /* tables of the log with lower numbers exist */
    uint64_t tables_dropped_below;
    uint64_t drop_ms; /* DROP_TABLES comes no earlier than this */

    struct elapse__clock clock;

    bool hands_over; /* elapse__partition_hand_over was called */
    uint64_t leave_ms;
    bool moves; /* elapse__partition_move was called in this epoch */
    enum elapse__partition_next_owner next_owner;
    char me[ELAPSE__NODE_NAME_BYTES];
};

/* Sets the time of the partition. Time does not go back. */
static inline void elapse__partition_set_now(struct elapse__partition *partition, uint64_t now_ms)
{
    ELAPSE__ASSERT_THAT(now_ms, >=, partition->now_ms);
    partition->now_ms = now_ms;
}

/* Notes what is wrong with the present host, before this node leaves the host. */
static inline void elapse__partition_complain(struct elapse__partition *partition,
                                              enum elapse__complaint why)
{
    ELAPSE__ASSERT_THAT(why, !=, ELAPSE__COMPLAINT_NONE);
    partition->complaint = why;
    partition->complaint_host = partition->host;
    partition->complaints++;
}

/* Returns the last place that this node knows to be durable: the last confirmed one, or the witness
 * (R11). */
static inline struct elapse__partition_log_place
elapse__known_place(const struct elapse__partition *partition)
{
    return partition->witness.place.group > partition->confirmed.group ? partition->witness.place
                                                                       : partition->confirmed;
}

/* Returns the highest epoch in which the log is known to continue that place. */
static inline uint64_t elapse__known_epoch(const struct elapse__partition *partition)
{
    bool by_witness = partition->witness.place.group > partition->confirmed.group &&
                      partition->witness.epoch > partition->memory.seen_epoch;
    return by_witness ? partition->witness.epoch : partition->memory.seen_epoch;
}

/* Returns whether this node has to give up the partition if it owns it. */
static inline bool elapse__partition_releases(const struct elapse__partition *partition)
{
    return partition->hands_over || partition->moves ||
           elapse__clock_verdict(&partition->clock) == ELAPSE__CLOCK_WRONG; /* R12 */
}

/* The next functions return the times that follow from the lease. */
static inline uint32_t elapse__beat_every_ms(const struct elapse__partition *partition)
{
    return partition->options.lease_ms / 4;
}

/* Returns how long a follower does not take over on a new timeline (R4). Nodes that know of lost
 * groups may first have to give up hosts that do not answer, which takes half a lease for each. */
static inline uint32_t elapse__wary_for_ms(const struct elapse__partition *partition)
{
    return 2 * partition->options.lease_ms;
}

/* Returns how often a follower reads the row. During a planned move the next owner reads it more
 * often, because nobody serves the partition meanwhile. */
static inline uint32_t elapse__poll_every_ms(const struct elapse__partition *partition)
{
    bool is_awaited = partition->next_owner == ELAPSE__NEXT_OWNER_HERE;
    return partition->options.lease_ms / (is_awaited ? 100 : 10) + 1;
}

/* Returns how long this node waits for a statement. There are two reasons why the limit is as small
 * as half the lease:
 *  - An owner whose connection hangs should keep the partition. It sent its last write up to a
 *    quarter of a lease before the statement. So a quarter is left for a new connection and a
 *    barrier.
 *  - Nodes that know of lost groups should mark the row before other nodes take over (R11). Where
 *    two of three hosts do not answer, an owner reaches the third host after three statements,
 *    which is after 1.5 L. The other nodes wait for 2 L (R4).
 *
 * A database that is busy takes up to a second for a group. So `elapse cluster create` warns of a
 * lease below 2 s. */
static inline uint32_t elapse__statement_limit_ms(const struct elapse__partition *partition)
{
    return partition->options.lease_ms / 2;
}

static inline uint32_t elapse__retry_after_ms(const struct elapse__partition *partition)
{
    return partition->options.lease_ms / 20 + 1;
}

static inline uint32_t elapse__answer_for_ms(const struct elapse__partition *partition)
{
    return partition->options.lease_ms - partition->options.lease_ms / 10;
}

static inline uint64_t elapse__table_of(uint64_t group)
{
    return group / ELAPSE__LOG_TABLE_GROUPS;
}

#endif
