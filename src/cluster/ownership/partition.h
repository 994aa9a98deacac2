/*
 * One node's part in one partition: who owns the log in the database, which groups are confirmed,
 * and which statement comes next. The room is pure: `now` comes in and statements go out. It has no
 * clock, thread or socket.
 *
 * Definitions
 *
 *   log        the groups of the partition in the database. They have numbers from 1, and each has
 *              the hash of the group before it (chain.h).
 *   epoch      a number in the row, which each take-over raises. An append is done only in the
 *              epoch of the partition's row.
 *   lease L    a follower takes over when it has seen (epoch, beat, last_group) unchanged for L.
 *              Where the row has no owner, a follower takes over at once.
 *   confirmed  a write is confirmed if its answer came without a notice, and the settings before
 *              and after the write prove that a standby (another server of the database) has the
 *              write. Any other write is *unclear*: perhaps the database has done it, or will do it
 *              later.
 *   barrier    a confirmed BEAT. A standby has everything that the row in its answer says.
 *   witness    the last place of the log that the row proved to be durable. A node has it also of a
 *              partition whose groups it has not read yet. Of two rows on one connection, the later
 *              of which has more groups, the earlier one ends with a durable group, because owners
 *              send a group only after the group before it is durable (R6).
 *   mark       a text in the row. It says that the database lost acknowledged groups. While it is
 *              there, no node goes on with the partition. An operator takes it away with his
 *              decision about the lost groups.
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
 *   OWNING      --move--> HANDING_OVER --answered, or late--> FENCED
 *   any but STOPPED      --hand over--> ENDED
 *   any                  --it must not go on--> STOPPED
 *   FOLLOWING to UNKNOWN --groups are lost--> MARKING
 *   MARKING --the mark is confirmed; the row has a later epoch; handed over, and late--> STOPPED
 *   MARKING --only the witness is lost, and the row has a later epoch--> FOLLOWING
 *
 * Rules (each has a test that fails without it; tests/cluster/ownership/mutants)
 *
 *   R1  A group is confirmed only by a confirmed append of the group, or by a barrier whose row has
 *       the group's number and hash as the last ones.
 *   R2  After an unclear outcome this node believes nothing before a barrier on a new connection.
 *       For R11 a read of the row is enough, because a barrier may wait long for a standby, and
 *       other nodes would take over meanwhile.
 *   R3  The owner answers nothing later than 0.9 L after it *sent* its last confirmed write.
 *   R4  A follower measures L by its own boot-time clock, from the time when it received the three
 *       numbers, on one connection. The take-over requires that all three are still the same. On
 *       another connection L begins again. The reason: a beat that no standby had is lost when a
 *       standby is promoted, and then the owner's next beat has the same number. On a timeline that
 *       is higher than the one before, a follower takes over after 2 L at the earliest, even where
 *       the row has no owner. The reason: the row may be an old one, and a node that misses groups
 *       needs time to mark it (R11). A follower that was told that another node is to own the
 *       partition next takes over after L also where the row has no owner. A guest, which is a node
 *       that has no copy of the partition when it begins, reads the log first: it takes over when
 *       it lacks no more than GUEST_GROUPS groups. A timeline of which it knows nothing is as a
 *       higher one to it. Until then the partition stands still, but a node with a copy may take
 *       it over.
 *   R5  An owner reads the log to its end after it took the epoch, never before.
 *   R6  A group is durable if the next one was sent. Where the log lacks a group that this node
 *       knows to be durable, acknowledged groups are lost. Then the node stops and says so. The
 *       database may lose the one group above the durable ones. Then this node forgets all groups
 *       that it has, and reads the log again.
 *   R7  This node does not use a database of a lower timeline than one that it saw before, or of
 *       another system. It answers nothing before its disk has the highest timeline and the system.
 *       The timeline and the system of its witness count, too. So a node that never followed the
 *       partition does not lose its witness to a database that was restored, or is the wrong one.
 *       Where an operator has let the node use another system, the memory has that system, and the
 *       witness of the system before is forgotten.
 *   R8  A row with this node's epoch belongs to this node only if it has this node's name, too. The
 *       reason: after unclear outcomes two nodes may believe that they have taken the same epoch.
 *   R9  A table of the log is dropped only if a barrier confirmed that the tail is above it.
 *   R10 A node that has made a group of rows of the inbox gives the group up if the rows have gone.
 *       Then the node acts as if another node owned the partition. Rows can go in this way: a
 *       commit that is cancelled while it waits for a standby shows its rows, and the standby that
 *       is promoted afterwards does not have them.
 *   R11 A node that finds groups lost marks the row. If that fails, it tries again as long as it
 *       runs. A node that sees a mark stops. Take-overs and appends do nothing where there is a
 *       mark. A node that never read the lost groups does not know that they are lost. The mark
 *       keeps that node from going on, if a node that knows of the loss reaches the database before
 *       the take-over (R4). The mark is for the epochs up to the last one that the marking node has
 *       followed, or has owned after it had read the log to its end. A marking node may come late:
 *       after an operator accepted the loss, or after other nodes have gone on. Then it stops only
 *       itself, and writes into `missed` of the row which groups it misses. To stop the other nodes
 *       would bring no group back. A node compares its witness with the row and the log, too. A
 *       node that comes late and lacks nothing of its own, but only its witness, does not stop. It
 *       writes into `missed`, forgets the witness, and follows. The reason: it has none of the lost
 *       groups, so nothing would be kept by stopping. No later place replaces a witness that was
 *       not found again on the present connection: by the log, or as the last group of its row.
 *
 *   R12 Jobs become due by the cluster's time (clock.h), which is the same at all nodes. So a new
 *       owner hands jobs out too early by no more than the error with which nodes know the
 *       database's clock, however wrong their own wall clocks are. A node whose wall clock is more
 *       than 5 s from the database's takes nothing over. When that has lasted for a lease, the node
 *       gives up what it owns. But if no living node is near the database's clock, and more than
 *       half of the living nodes agree with this node, the database's clock is the wrong one. Then
 *       this node goes on by the time that it had, in this partition or in another one.
 *   R13 The partition stops at this node where the database refuses a statement because a table, a
 *       function or a right is missing, or where the log lacks a group that the row has. To try
 *       again would not help.
 *
 * The caller
 *
 *      while (elapse__partition_next(partition, now, &statement))    start it
 *      elapse__partition_completed(partition, now, &result)          when its result is there
 *      elapse__partition_tick(partition, now)                        by elapse__partition_next_ms
 *
 * A statement that elapse__partition_next has stored stays under way until it is completed or
 * abandoned. CONNECT follows a statement that was abandoned. A late result has an old serial
 * number, and is ignored.
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
    ELAPSE__STOP_BROKEN_LOG,  /* the log contradicts itself or the row */
    ELAPSE__STOP_REFUSED,     /* a table, a function or a right is missing in the database */
};

enum {
    ELAPSE__NODE_NAME_BYTES = 64,
    ELAPSE__NODE_ADDRESS_BYTES = 256,
    ELAPSE__MARK_BYTES = 256,
    ELAPSE__GUEST_GROUPS = 64,
};

/* What a node must keep of a partition on its disk for ever. */
struct elapse__partition_memory {
    uint64_t system_identifier; /* 0: no database was seen */
    uint32_t timeline;
    uint64_t epoch;      /* the highest epoch that this node has owned */
    uint64_t seen_epoch; /* the highest epoch in which the log continued what this node has */
};

/* A place in the log: the number of a group, and the hash of that group. */
struct elapse__partition_log_place {
    uint64_t group;
    uint64_t hash;
};

/* What a node has seen of the log in the partition's row (see "witness" above). It is evidence
 * only: a node that forgets it follows as well. */
struct elapse__partition_witness {
    struct elapse__partition_log_place place; /* group 0: none */
    uint64_t epoch; /* the highest epoch in which the log is known to continue the place */
    uint64_t system_identifier; /* of the database; no other system is used (R7) */
    uint32_t timeline;          /* where the place was seen; a lower one is not used (R7) */
};

/* A group as the caller submits it. The bytes must not change until the group is confirmed, or the
 * partition is fenced, ended or stopped. */
struct elapse__partition_group {
    const void *bytes;
    size_t size;
    const int64_t *inbox; /* ids of rows that the append takes out of the inbox; or NULL */
    const char *const *inbox_reasons; /* why each id is refused, or NULL; NULL: none is refused */
    size_t inbox_count;
};

/* The partition calls these functions from within calls of its own functions. They may call
 * functions that only read the partition, and elapse__partition_remembered, but no other function
 * that changes the partition. */
struct elapse__partition_owner {
    void *context;

    /* Applies the next group of the log. Another node, or an earlier life of this node, has written
     * it. */
    void (*apply)(void *context, const struct elapse__partition_log_row *row, uint64_t hash);

    /* Forgets all groups, because what this node has is not the beginning of the log. The next
     * groups come from `tail` on. */
    void (*rebuild)(void *context, uint64_t tail);

    /* This node owns the partition, and has all of the log. */
    void (*own)(void *context, uint64_t epoch);

    /* The group that was submitted is durable. Its replies may leave until
     * elapse__partition_answer_until_ms. */
    void (*confirmed)(void *context, uint64_t group);

    /* Another node owns the partition, or this node gives it up (R10). Closes connections, answers
     * nothing from now on, and forgets all changes after the last confirmed group. A `group` that
     * is not NULL was not confirmed: puts it aside. Calls elapse__partition_aside when that is
     * done. */
    void (*fenced)(void *context, const struct elapse__partition_group *group);

    /* The partition must not go on. Closes connections, answers nothing from now on, and says why.
     * Nothing is answered in MARKING either, before this call comes. */
    void (*stopped)(void *context, enum elapse__partition_stop stop);
};

struct elapse__partition_options {
    struct elapse__partition_owner owner;
    const char *me; /* the name of this life of the node; no two processes have the same */
    unsigned hosts; /* hosts of the database; CONNECT names one by its number, from 0 */
    uint32_t lease_ms;
    bool single_copy; /* the operator accepts a database without standbys */
    bool is_guest;    /* takes over only when it has nearly all groups of the log (R4) */
    uint64_t genesis; /* elapse__chain_genesis */

    struct elapse__partition_memory memory;
    struct elapse__partition_log_place
        local; /* the last group that this node has; group 0: none yet */
    struct elapse__partition_log_place
        confirmed; /* the last group known to be durable; `local` is at most one above it */
    struct elapse__partition_witness witness; /* from an earlier life, or zeros */
    struct elapse__clock_time time; /* what other partitions of this process have, or zeros */
};

struct elapse__partition;

/* Returns a partition in the role STARTING, or NULL if there is no memory. */
struct elapse__partition *elapse__partition_new(const struct elapse__partition_options *options,
                                                uint64_t now_ms);
void elapse__partition_free(struct elapse__partition *partition);

/* Stores the statement that is to be sent now. Returns false if a statement is under way or nothing
 * is due. */
bool elapse__partition_next(struct elapse__partition *partition, uint64_t now_ms,
                            struct elapse__statement *statement);

/* Takes a result. Ignores the result of a statement that was abandoned. */
void elapse__partition_completed(struct elapse__partition *partition, uint64_t now_ms,
                                 const struct elapse__statement_result *result);

/* Lets time pass: abandons a statement that takes too long. */
void elapse__partition_tick(struct elapse__partition *partition, uint64_t now_ms);

/* Returns when elapse__partition_next or elapse__partition_tick has something to do, unless a
 * result comes before. */
uint64_t elapse__partition_next_ms(const struct elapse__partition *partition);

/* Returns whether a group can be submitted now: this node owns the partition, and no group is in
 * flight. */
bool elapse__partition_takes_group(const struct elapse__partition *partition);

/* Submits the next group. Requires elapse__partition_takes_group. Cost: one hash over the bytes. */
void elapse__partition_submit(struct elapse__partition *partition,
                              const struct elapse__partition_group *group);

/* Says that groups below `tail` are needed no more. Requires tail <= the last confirmed group. If a
 * whole table becomes useless by that, a beat writes the tail into the row at once. If not, the
 * next beat writes it. */
void elapse__partition_trim(struct elapse__partition *partition, uint64_t tail);

/* Called when the owner has sent word of a new group: reads the row at once. */
void elapse__partition_news(struct elapse__partition *partition);

/* Called when the disk has the memory that elapse__partition_memory returned with this mark. */
void elapse__partition_remembered(struct elapse__partition *partition, uint64_t mark);

/* Called after `fenced`, when the caller has put aside and forgotten what was not confirmed. */
void elapse__partition_aside(struct elapse__partition *partition);

/* Called when the process is about to end. Takes no further group, waits for the one in flight, and
 * hands over. Then the role becomes ENDED, or STOPPED after MARKING. If the database does not
 * answer, that takes a third of the lease, or half a second if this node has not owned the
 * partition yet in its epoch. */
void elapse__partition_hand_over(struct elapse__partition *partition, uint64_t now_ms);

/* Hands the partition over to another node, and goes on as a follower: `fenced` comes. Called by an
 * owner that has answered all commands, and whose groups are confirmed. Takes no further group,
 * and waits for the one in flight. Does nothing if this node does not own the partition. */
void elapse__partition_move(struct elapse__partition *partition);

/* Which node is to own a partition next, where the row has no owner. */
enum elapse__partition_next_owner {
    ELAPSE__NEXT_OWNER_ANY,
    ELAPSE__NEXT_OWNER_HERE,  /* this node: it reads the row ten times as often */
    ELAPSE__NEXT_OWNER_THERE, /* another node: this one takes over after L at the earliest (R4) */
};

/* Says which node is to own the partition next. At the beginning it is any node. If no node knows
 * better, nothing is lost: another node owns the partition, or a lease passes until one does. */
void elapse__partition_expect(struct elapse__partition *partition,
                              enum elapse__partition_next_owner next_owner);

/* Returns until when answers that follow from confirmed groups may leave, those to reads included.
 * They must leave before that time, by the clock of `now_ms`. Returns 0 if no answer may leave. */
uint64_t elapse__partition_answer_until_ms(const struct elapse__partition *partition);

/* Returns what has to be remembered. `*mark` is another number whenever the memory has changed. */
struct elapse__partition_memory elapse__partition_memory(const struct elapse__partition *partition,
                                                         uint64_t *mark);

struct elapse__partition_figures {
    enum elapse__partition_role role;
    enum elapse__partition_stop stop; /* from MARKING on */
    enum elapse__complaint complaint; /* the last complaint since the database was last in order */
    unsigned complaint_host;          /* which server of the database `complaint` is about */
    uint64_t complaints;              /* how many complaints there have been */
    uint64_t epoch;                   /* the epoch of the row when this node saw it last */
    struct elapse__partition_log_place local, confirmed;
    bool local_has_hash; /* false after a rebuild, until the first group has come */
    struct elapse__partition_witness witness; /* what another life has to know */
    struct elapse__partition_witness known;   /* what it has to know if it does not get the files */
    uint64_t witness_losses;   /* how often this node has forgotten a witness that was lost */
    uint64_t last_group, tail; /* from the row; last_group - local.group is the lag */
    unsigned host;
    uint32_t timeline; /* of the database where the row was seen; 0: the row was not seen since */
    char owner[ELAPSE__NODE_NAME_BYTES]; /* cut if it is too long */
    char address[ELAPSE__NODE_ADDRESS_BYTES];
    char mark[ELAPSE__MARK_BYTES]; /* the mark in the row, cut if it is too long; "": none */
    enum elapse__clock_verdict clock;
    int64_t ahead_ms;               /* this node's wall clock minus the database's */
    struct elapse__clock_time time; /* the cluster's time is `now_ms` plus time.offset_ms */
};

void elapse__partition_figures(const struct elapse__partition *partition,
                               struct elapse__partition_figures *figures);

/* Tests the invariants. Returns 0, or the number of the first broken invariant (check.c). */
unsigned elapse__partition_check(const struct elapse__partition *partition);

#endif
