/*
 * The state of a partition, and what all files of this room may include. partition.h has the
 * definitions.
 *
 * The files, from the bottom up. A file calls only those listed before it, and includes the header
 * of its layer, which includes those of the layers before.
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
    struct elapse__partition_options options; /* `me` is a copy */
    enum elapse__partition_role role;
    enum elapse__partition_stop stop;
    enum elapse__complaint complaint;
    unsigned complaint_host; /* the server of the database that it is about */
    uint64_t complaints;     /* how many there have been */
    uint64_t now_ms;

    /* The statement under way, or the last one. */
    bool under_way;
    struct elapse__statement statement;
    uint64_t sent_ms;

    enum elapse__partition_link link;
    unsigned host;
    uint64_t retry_ms;     /* CONNECT comes no earlier than this */
    bool blocked;          /* another session holds the row: TERMINATE comes next */
    bool settings_trusted; /* as the last look at the settings found */
    bool is_well;          /* the host has done what it should since it failed last */

    struct elapse__partition_memory memory;
    uint64_t memory_mark, remembered_mark;

    /* The row as it was seen last, and since when its three numbers are the same. */
    bool has_row;
    struct elapse__partition_row row; /* its texts are those of the three arrays below */
    uint64_t unchanged_since_ms;
    uint64_t wary_until_ms; /* a take-over comes no earlier than this: the timeline is new (R4) */
    uint64_t poll_ms;       /* when the row is read next */
    char owner_name[ELAPSE__NODE_NAME_BYTES];
    char owner_address[ELAPSE__NODE_ADDRESS_BYTES];
    char mark[ELAPSE__MARK_BYTES];

    struct elapse__partition_log_place local;
    bool local_has_hash; /* false: after a rebuild, the first group says what comes before it */
    struct elapse__partition_log_place confirmed;
    bool log_is_behind; /* following: the log has more than this node */
    uint64_t missing;   /* following: a group that this row has, and the log does not; 0: none */
    bool knows_loss;    /* marking: the row or the log, read on this connection, lacks groups */

    /* The fields of the epoch: from TAKING_OVER on, until the partition is fenced. */
    uint64_t epoch;
    bool has_owned;                          /* this node has been OWNING in this epoch */
    struct elapse__partition_log_place goal; /* where catching up ends */
    bool log_has_gap; /* catching up: no group came, and no beat was confirmed since then */
    bool has_lease;
    uint64_t lease_from_ms; /* when the last confirmed write was sent */
    uint64_t beat_ms;       /* when the next beat is due */

    bool has_group;
    struct elapse__partition_group group; /* number confirmed.group + 1 */
    uint64_t group_hash;

    uint64_t tail_wanted;       /* as elapse__partition_trim was told */
    uint64_t tables_made_below; /* tables of the log with lower numbers exist */
    uint64_t tables_dropped_below;
    uint64_t drop_ms; /* DROP_TABLES comes no earlier than this */

    struct elapse__clock clock;

    bool hands_over; /* hand_over was called */
    uint64_t leave_ms;
    char me[ELAPSE__NODE_NAME_BYTES];
};

/* Lets time pass, by a clock that does not go back. */
static inline void elapse__partition_set_now(struct elapse__partition *partition, uint64_t now_ms)
{
    ELAPSE__ASSERT_THAT(now_ms, >=, partition->now_ms);
    partition->now_ms = now_ms;
}

/* Notes what is wrong with the present host, before it is left. */
static inline void elapse__partition_complain(struct elapse__partition *partition,
                                              enum elapse__complaint why)
{
    ELAPSE__ASSERT_THAT(why, !=, ELAPSE__COMPLAINT_NONE);
    partition->complaint = why;
    partition->complaint_host = partition->host;
    partition->complaints++;
}

/* Returns whether this node has to give up the partition if it owns it. */
static inline bool elapse__partition_releases(const struct elapse__partition *partition)
{
    return partition->hands_over ||
           elapse__clock_verdict(&partition->clock) == ELAPSE__CLOCK_WRONG; /* R12 */
}

/* The times that follow from the lease. */
static inline uint32_t elapse__beat_every_ms(const struct elapse__partition *partition)
{
    return partition->options.lease_ms / 4;
}

/* How long a follower is wary of a new timeline (R4). Nodes that know of lost groups may first have
 * to give up hosts that do not answer: half a lease for each. */
static inline uint32_t elapse__wary_for_ms(const struct elapse__partition *partition)
{
    return 2 * partition->options.lease_ms;
}

static inline uint32_t elapse__poll_every_ms(const struct elapse__partition *partition)
{
    return partition->options.lease_ms / 10 + 1;
}

/* How long a statement is waited for. Two things keep the limit down to half the lease:
 *  - An owner whose connection hangs shall keep the partition. It has sent its last write up to a
 *    quarter of a lease before, so a quarter is left for a new connection and a barrier.
 *  - Nodes that know of lost groups shall mark them before others take over (R11). Where two of
 *    three hosts do not answer, an owner reaches the third after three statements: after 1.5 L,
 *    and the others wait for 2 L (R4).
 *
 * A database that is busy takes up to a second for a group. So leases begin at 2 s, and
 * `elapse cluster create` warns below. */
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
