/*
 * One node's part in one partition: who owns the log in the database, which groups are confirmed,
 * and which statement comes next. The room is pure: `now` comes in, statements go out; no clock,
 * thread or socket.
 *
 * Definitions
 *
 *   log        the groups of the partition in the database: numbers from 1, chained by hashes.
 *   epoch      counts owners. An append counts only in the epoch of the partition's row.
 *   lease L    a follower that has seen (epoch, beat, last_group) unchanged for L takes over. Where
 *              the row has no owner, it takes over at once.
 *   confirmed  a write is confirmed if its answer came, without a notice, and the settings before
 *              and after the write say that a standby (another server of the database) has it. Any
 *              other write is *unclear*: it may have happened, or may happen later.
 *   barrier    a confirmed BEAT. A standby has everything that the row in its answer says.
 *   mark       a text in the row: the database lost acknowledged groups, and no node goes on with
 *              the partition until an operator has decided what becomes of them.
 *
 * Roles (role.c has the same diagram as a table)
 *
 *   STARTING --the row was read--> FOLLOWING
 *   FOLLOWING --unchanged for L, or handed over--> TAKING_OVER
 *   TAKING_OVER --confirmed--> CATCHING_UP       --no row--> FOLLOWING      --unclear--> UNKNOWN
 *   CATCHING_UP --the end of the log--> OWNING   --no row--> FOLLOWING      --unclear--> UNKNOWN
 *   OWNING      --no row--> FENCED               --unclear--> UNKNOWN
 *               --R10--> FENCED
 *   UNKNOWN     --barrier: the row is ours--> OWNING, or CATCHING_UP if it had not owned yet
 *               --barrier: no row--> FENCED, or FOLLOWING if it had not owned yet
 *   FENCED      --the owner of this object has put the rest aside--> FOLLOWING
 *   CATCHING_UP, OWNING --hand over--> HANDING_OVER --answered, or late--> ENDED
 *               --R12--> HANDING_OVER --answered, or late--> FENCED
 *                                        (FOLLOWING if it had not owned)
 *   any but STOPPED      --hand over--> ENDED
 *   any                  --it must not go on--> STOPPED
 *   FOLLOWING to UNKNOWN --groups are lost--> MARKING
 *   MARKING --the mark is confirmed; the row has a later epoch; handed over, and late--> STOPPED
 *
 * Rules (each has a test that fails without it; tests/cluster/ownership/mutants)
 *
 *   R1  A group is confirmed only by a confirmed append, or by a barrier that shows its number and
 *       its hash as the last ones.
 *   R2  After an unclear outcome this node believes nothing before a barrier on a new connection.
 *       For R11 a read is enough: a barrier may wait long for a standby, and others would take over
 *       meanwhile.
 *   R3  The owner answers nothing later than 0.9 L after it *sent* its last confirmed write.
 *   R4  A follower measures L on its own boot-time clock, from when it received the three numbers,
 *       on one connection. The take-over requires that all three are still the same. On another
 *       connection L begins again: a beat that no standby had is lost when a standby is promoted,
 *       and the owner's next beat there has the same number. On a timeline that is higher than the
 *       one before, a follower takes over after 2 L at the earliest, also where the row has no
 *       owner: the row may be one of the past, and a node that misses groups needs time to mark it
 *       (R11).
 *   R5  An owner reads the log to its end after it took the epoch, never before.
 *   R6  A group is durable if the next one was sent. Where the log lacks a group that this node
 *       knows to be durable, acknowledged groups are lost: the node stops, loudly. The database may
 *       lose the one group above the durable ones: then this node forgets all it has, and reads
 *       again.
 *   R7  A database of a lower timeline than one seen before, or of another system, is not used.
 *       This node answers nothing before its disk has the memory of them.
 *   R8  A barrier shows this node's epoch only if the row has this node's name, too: after unclear
 *       outcomes two nodes may believe that they have taken the same epoch.
 *   R9  A table of the log is dropped only if a barrier confirmed that the tail is above it.
 *   R10 A node gives up a group that was made of rows of the inbox if the rows have gone, and acts
 *       as if another node owned the partition. Rows can go because a commit that was cancelled
 *       while it waited for a standby shows rows that a promoted standby does not have.
 *   R11 A node that finds groups lost marks the row. If that fails, it tries again as long as it
 *       runs. A node that sees a mark stops. Take-overs and appends do nothing where there is a
 *       mark. A node that never read the lost groups cannot miss them. The mark keeps it from going
 *       on without them, if a node that misses them reaches the database before the take-over (R4).
 *       The mark is for the epochs up to the last one that this node has followed, or owned after
 *       it had read the log to its end. A node may come late: after an operator accepted the loss,
 *       or after others have gone on. Then it stops only itself, and the row says in `missed` what
 *       it misses: to stop the others would bring nothing back.
 *
 *   R12 Jobs become due by the cluster's time (clock.h), which is the same at all nodes. So a new
 *       owner is early by no more than the error with which nodes know the database's clock,
 *       however wrong their own wall clocks are. A node whose wall clock is more than 5 s from the
 *       database's takes nothing over. When that has lasted for a lease, it gives up what it owns.
 *       But if no living node is near the database's clock, and more than half of the living nodes
 *       agree with this node, the database's clock is the wrong one. Then this node goes on by the
 *       time that it had.
 *   R13 Where the database refuses a statement because a table, a function or a right is missing,
 *       or its log lacks a group that its row has, the partition stops at this node, because to try
 *       again would not help.
 *
 * The caller
 *
 *      while (elapse__partition_next(partition, now, &statement))    start it
 *      elapse__partition_completed(partition, now, &result)          when its result is there
 *      elapse__partition_tick(partition, now)                        by elapse__partition_next_ms
 *
 * A statement that was given stays under way until it is completed or abandoned; CONNECT follows a
 * statement that was abandoned, and a late result is ignored by its serial number.
 */
#ifndef ELAPSE__OWNERSHIP_PARTITION_H
#define ELAPSE__OWNERSHIP_PARTITION_H

#include "statements.h"
#include "trust.h"

enum elapse__partition_role {
    ELAPSE__ROLE_STARTING,
    ELAPSE__ROLE_FOLLOWING,
    ELAPSE__ROLE_TAKING_OVER,
    ELAPSE__ROLE_CATCHING_UP,
    ELAPSE__ROLE_OWNING,
    ELAPSE__ROLE_UNKNOWN,
    ELAPSE__ROLE_FENCED,
    ELAPSE__ROLE_HANDING_OVER,
    ELAPSE__ROLE_MARKING,
    ELAPSE__ROLE_ENDED,
    ELAPSE__ROLE_STOPPED,
    ELAPSE__ROLES,
};

/* Why a partition stopped. */
enum elapse__partition_stop {
    ELAPSE__STOP_NONE,
    ELAPSE__STOP_NO_ROW,      /* the database has no such partition */
    ELAPSE__STOP_LEASE,       /* the row has another lease_ms than this node */
    ELAPSE__STOP_LOST_GROUPS, /* the database lacks groups that were acknowledged, or an epoch */
    ELAPSE__STOP_MARKED,      /* another node has found lost groups, and marked the row */
    ELAPSE__STOP_BROKEN_LOG,  /* the log contradicts itself, or the row */
    ELAPSE__STOP_REFUSED,     /* a table, a function or a right is missing in the database */
};

enum {
    ELAPSE__NODE_NAME_BYTES = 64,
    ELAPSE__NODE_ADDRESS_BYTES = 256,
    ELAPSE__MARK_BYTES = 256,
};

/* What a node must never forget of a partition, on its disk. */
struct elapse__partition_memory {
    uint64_t system_identifier; /* 0: no database was seen */
    uint32_t timeline;
    uint64_t epoch;      /* the highest that this node has owned */
    uint64_t seen_epoch; /* the highest in which the log led on from what this node has */
};

/* A place in the log: a group, and the chain's hash there. */
struct elapse__partition_log_place {
    uint64_t group;
    uint64_t hash;
};

/* A group as its owner gives it. The bytes stay as they are until the group is confirmed, or the
 * partition fenced, ended or stopped. */
struct elapse__partition_group {
    const void *bytes;
    size_t size;
    const int64_t *inbox;             /* ids that the append takes out of the inbox; NULL: none */
    const char *const *inbox_reasons; /* NULL, or for each id why it is refused; NULL: it was run */
    size_t inbox_count;
};

/* Callbacks come from within the calls of the partition's functions. A callback may call functions
 * that only read the partition. Of those that change it, it may call elapse__partition_remembered
 * alone. */
struct elapse__partition_owner {
    void *context;

    /* The next group of the log: apply it. Another node, or an earlier life of this one, has
     * written it. */
    void (*apply)(void *context, const struct elapse__partition_log_row *row, uint64_t hash);

    /* What this node has is not the beginning of the log: forget all of it. Groups come from `tail`
     * on. */
    void (*rebuild)(void *context, uint64_t tail);

    /* This node owns the partition, and has all of the log. */
    void (*own)(void *context, uint64_t epoch);

    /* The group that was submitted is durable: its replies may leave, until
     * elapse__partition_answer_until_ms. */
    void (*confirmed)(void *context, uint64_t group);

    /* Another node owns the partition, or R10: close connections, answer nothing, forget all
     * changes after the last confirmed group. `group`, if not NULL, was not confirmed: put it
     * aside. Then call elapse__partition_aside. */
    void (*fenced)(void *context, const struct elapse__partition_group *group);

    /* The partition must not go on. Close connections, answer nothing, and say why. In MARKING,
     * before this call comes, nothing is answered either. */
    void (*stopped)(void *context, enum elapse__partition_stop stop);
};

struct elapse__partition_options {
    struct elapse__partition_owner owner;
    const char *me; /* the name of this life of the node; no two processes ever have the same */
    unsigned hosts; /* hosts of the database; CONNECT names one by its number, from 0 */
    uint32_t lease_ms;
    bool single_copy; /* the operator accepts a database without standbys */
    uint64_t genesis; /* elapse__chain_genesis */

    struct elapse__partition_memory memory;
    struct elapse__partition_log_place
        local; /* the end of what this node has; group 0: nothing yet */
    struct elapse__partition_log_place
        confirmed; /* known to be durable; `local` is at most one above it */
};

struct elapse__partition;

/* Returns a partition in the role STARTING, or NULL if there is no memory. */
struct elapse__partition *elapse__partition_new(const struct elapse__partition_options *options,
                                                uint64_t now_ms);
void elapse__partition_free(struct elapse__partition *partition);

/* Stores the statement that is to be sent now. Returns false if there is none, because a statement
 * is under way, or nothing is due. */
bool elapse__partition_next(struct elapse__partition *partition, uint64_t now_ms,
                            struct elapse__statement *statement);

/* Takes a result; ignores that of a statement that was abandoned. */
void elapse__partition_completed(struct elapse__partition *partition, uint64_t now_ms,
                                 const struct elapse__statement_result *result);

/* Lets time pass: abandons a statement that takes too long. */
void elapse__partition_tick(struct elapse__partition *partition, uint64_t now_ms);

/* Returns when next or tick has something to do, unless a result comes before. */
uint64_t elapse__partition_next_ms(const struct elapse__partition *partition);

/* Returns whether a group can be submitted now: this node owns the partition, and no group is in
 * flight. */
bool elapse__partition_takes_group(const struct elapse__partition *partition);

/* Submits the next group. Requires takes_group. Cost: the hash of the bytes. */
void elapse__partition_submit(struct elapse__partition *partition,
                              const struct elapse__partition_group *group);

/* Groups below `tail` are needed no more. Requires tail <= the last confirmed group. When that
 * makes a whole table useless, the row hears of it at once; otherwise with the next beat. */
void elapse__partition_trim(struct elapse__partition *partition, uint64_t tail);

/* The owner says that there is news: reads the row at once. */
void elapse__partition_news(struct elapse__partition *partition);

/* The memory is on the disk, as elapse__partition_memory returned it with this mark. */
void elapse__partition_remembered(struct elapse__partition *partition, uint64_t mark);

/* After `fenced`: what was not confirmed is put aside, and forgotten. */
void elapse__partition_aside(struct elapse__partition *partition);

/* The process is about to end: takes no further group, waits for the one in flight, hands over. The
 * role becomes ENDED, or STOPPED after MARKING; within a third of the lease, if the database does
 * not answer; within half a second, if this node has not owned the partition yet in its epoch. */
void elapse__partition_hand_over(struct elapse__partition *partition, uint64_t now_ms);

/* Returns until when answers that follow from confirmed groups may leave, reads included: strictly
 * before that time, on the clock of `now_ms`. 0: not at all. */
uint64_t elapse__partition_answer_until_ms(const struct elapse__partition *partition);

/* Returns what has to be remembered. `*mark` differs whenever the memory does. */
struct elapse__partition_memory elapse__partition_memory(const struct elapse__partition *partition,
                                                         uint64_t *mark);

struct elapse__partition_figures {
    enum elapse__partition_role role;
    enum elapse__partition_stop stop; /* from MARKING on */
    enum elapse__complaint complaint; /* the last complaint since all was well */
    unsigned complaint_host;          /* which server of the database it is about */
    uint64_t complaints;              /* how many there have been */
    uint64_t epoch;                   /* of the row when it was seen last */
    struct elapse__partition_log_place local, confirmed;
    uint64_t last_group, tail; /* of the row; last_group - local.group is the lag */
    unsigned host;
    uint32_t timeline; /* of the database where the row was seen; 0: the row was not seen since */
    char owner[ELAPSE__NODE_NAME_BYTES]; /* cut if it is longer */
    char address[ELAPSE__NODE_ADDRESS_BYTES];
    char mark[ELAPSE__MARK_BYTES]; /* of the row, cut if it is longer; "": none */
    enum elapse__clock_verdict clock;
    int64_t ahead_ms; /* the wall clock of this node, before that of the database */
    bool has_offset;
    int64_t offset_ms; /* the cluster's time minus `now_ms`; has_offset: it is known */
};

void elapse__partition_figures(const struct elapse__partition *partition,
                               struct elapse__partition_figures *figures);

/* Tests the invariants. Returns 0, or the number of the first one found broken, as in check.c. */
unsigned elapse__partition_check(const struct elapse__partition *partition);

#endif
