/*
 * The state of a partition, for the files of this room. partition.h has the definitions.
 *
 *      life.c        the beginning and the end; what callers ask and say
 *      role.c        the diagram of roles as a table; stopping
 *      next.c        which statement comes next
 *      completed.c   what each result means: the link, the settings, unclear outcomes
 *      follow.c      reading the row and the log; when to take over
 *      own.c         appends, beats, deciding after a barrier
 *      mark.c        marking a database that lost groups; seeing a mark
 *      check.c       invariants
 */
#ifndef ELAPSE__OWNERSHIP_CORE_H
#define ELAPSE__OWNERSHIP_CORE_H

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
    uint64_t now_ms;

    /* The statement under way, or the last one. */
    bool under_way;
    struct elapse__statement statement;
    uint64_t sent_ms;

    enum elapse__partition_link link;
    unsigned host;
    uint64_t retry_ms;     /* no CONNECT before */
    bool blocked;          /* another session holds the row: TERMINATE comes next */
    bool settings_trusted; /* by the last look at them */

    struct elapse__partition_memory memory;
    uint64_t memory_mark, remembered_mark;

    /* The row as it was seen last, and since when its three numbers are the same. */
    bool has_row;
    struct elapse__partition_row row; /* its texts: below */
    uint64_t unchanged_since_ms;
    uint64_t wary_until_ms; /* no take-over before: the timeline is new (R4) */
    uint64_t poll_ms;       /* the next look */
    char owner_name[ELAPSE__NODE_NAME_BYTES];
    char owner_address[ELAPSE__NODE_ADDRESS_BYTES];
    char mark[ELAPSE__MARK_BYTES];

    struct elapse__partition_log_place local;
    bool local_has_hash; /* false: after a rebuild, the first group says what comes before it */
    struct elapse__partition_log_place confirmed;
    bool log_is_behind; /* following: the log has more than this node */
    bool knows_loss;    /* marking: on this connection, and since the row was read */

    /* From TAKING_OVER on, until it is fenced. */
    uint64_t epoch;
    bool has_owned;                          /* it has reached OWNING in this epoch */
    struct elapse__partition_log_place goal; /* where catching up ends */
    bool log_has_gap; /* catching up: nothing came, and no beat was confirmed since */
    bool has_lease;
    uint64_t lease_from_ms; /* when the last confirmed write was sent */
    uint64_t beat_ms;       /* when the next beat is due */

    bool has_group;
    struct elapse__partition_group group; /* number confirmed.group + 1 */
    uint64_t group_hash;

    uint64_t tail_wanted;       /* by trim */
    uint64_t tables_made_below; /* tables of the log with lower numbers exist */
    uint64_t tables_dropped_below;
    uint64_t drop_ms; /* no DROP_TABLES before */

    bool hands_over; /* hand_over was called */
    uint64_t leave_ms;
    char me[ELAPSE__NODE_NAME_BYTES];
};

/* The times that follow from the lease. */
static inline uint32_t elapse__beat_every_ms(const struct elapse__partition *partition)
{
    return partition->options.lease_ms / 4;
}

/* Nodes that know of lost groups may first have to give up hosts that do not answer, each of which
 * takes half a lease. */
static inline uint32_t elapse__wary_for_ms(const struct elapse__partition *partition)
{
    return 2 * partition->options.lease_ms;
}

static inline uint32_t elapse__poll_every_ms(const struct elapse__partition *partition)
{
    return partition->options.lease_ms / 10 + 1;
}

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

/* role.c */
void elapse__partition_enter(struct elapse__partition *partition, enum elapse__partition_role role);

/* It must not go on. Where groups are lost, the mark comes first, and then the end. */
void elapse__partition_stop(struct elapse__partition *partition, enum elapse__partition_stop stop);

/* Returns whether this role is one that holds an epoch, for sure or perhaps. */
bool elapse__role_has_epoch(enum elapse__partition_role role);

/* Returns whether it ended or stopped: no statement comes any more. */
bool elapse__role_is_final(enum elapse__partition_role role);

/* Goes on as one of the followers; ends instead if it is to hand over. */
void elapse__partition_follow(struct elapse__partition *partition);

/* completed.c: closes the connection; the next one goes to the next host if `elsewhere`. */
void elapse__partition_drop_link(struct elapse__partition *partition, bool elsewhere);

/* Nobody knows whether the statement under way happened, or will. */
void elapse__partition_unclear(struct elapse__partition *partition, enum elapse__complaint why);

/* next.c */
uint64_t elapse__partition_due_ms(const struct elapse__partition *partition);

/* follow.c */
void elapse__follow_row(struct elapse__partition *partition,
                        const struct elapse__statement_result *result);
void elapse__follow_log(struct elapse__partition *partition,
                        const struct elapse__statement_result *result);
void elapse__follow_note_row(struct elapse__partition *partition,
                             const struct elapse__partition_row *row);
void elapse__follow_judge_end(struct elapse__partition *partition);

/* Returns whether the row lacks what this node knows to be durable. */
bool elapse__follow_has_lost(const struct elapse__partition *partition);

/* The log led on, in this epoch, from what this node has. */
void elapse__follow_see_epoch(struct elapse__partition *partition, uint64_t epoch);
void elapse__follow_poll_now(struct elapse__partition *partition);
bool elapse__follow_may_take_over(const struct elapse__partition *partition);
uint64_t elapse__follow_take_over_ms(const struct elapse__partition *partition);

/* own.c */
void elapse__own_looked(struct elapse__partition *partition,
                        const struct elapse__statement_result *result);
void elapse__own_taken(struct elapse__partition *partition,
                       const struct elapse__statement_result *result);
void elapse__own_beaten(struct elapse__partition *partition,
                        const struct elapse__statement_result *result);
void elapse__own_appended(struct elapse__partition *partition,
                          const struct elapse__statement_result *result);
void elapse__own_lost_rows(struct elapse__partition *partition);
void elapse__own_look_for_end(struct elapse__partition *partition);
void elapse__own_end(struct elapse__partition *partition);
bool elapse__own_needs_table(const struct elapse__partition *partition);
bool elapse__own_may_drop(const struct elapse__partition *partition);

/* mark.c: R11. Stops if the row has a mark, and returns whether it has. */
bool elapse__mark_is_there(struct elapse__partition *partition,
                           const struct elapse__partition_row *row);

/* In MARKING: the next statement; results; giving up. */
void elapse__mark_next(const struct elapse__partition *partition,
                       struct elapse__statement *statement);
void elapse__mark_looked(struct elapse__partition *partition,
                         const struct elapse__statement_result *result);
void elapse__mark_compared(struct elapse__partition *partition,
                           const struct elapse__statement_result *result);
void elapse__mark_written(struct elapse__partition *partition,
                          const struct elapse__statement_result *result);
void elapse__mark_end(struct elapse__partition *partition);

#endif
