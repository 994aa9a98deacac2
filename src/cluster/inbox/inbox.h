/*
 * The owner's side of the transactional inbox of a partition. The inbox is a table in the database:
 * a program inserts a row for a command in its own transaction, and the owner of the partition runs
 * it (sql/inbox.sql). This room decides when to poll the table, which rows to run, and which rows
 * leave with which group of the log. The room is pure: `now` and rows come in, polls and lists of
 * ids go out.
 *
 *      elapse.inbox ---poll---> rows ---run---> queue ---> group of the log
 *           ^                                                |
 *           +---------- move: ids, reasons <---attach--------+
 *
 * A row leaves the inbox in the statement that appends the group with the records of the row's
 * command. So each row is run exactly once, whatever fails. The rules for that follow. For each
 * rule tests/cluster/inbox has a test that fails without the rule:
 *
 *   I1  Only the owner of the partition runs rows. It ignores the rows of a poll from before it
 *       owned the partition.
 *   I2  There is no poll while this object keeps rows, because the poll would return the same rows
 *       again.
 *   I3  The ids of the rows that leave are listed one by one. A range of ids would also take rows
 *       that were not committed at the time of the poll, because rows do not commit in their order.
 *   I4  A row leaves with the group that makes its command durable, or with a later one.
 *   I5  Rows run in the order of their ids. The rows after a row that cannot run now wait.
 *   I6  A row that can never run is refused. It leaves with a group too, because the reason may
 *       depend on what the rows before it have done.
 *
 * States
 *
 *   OFF      --own--> RESTING        any --disown--> OFF
 *   RESTING  --poll is due--> ASKED
 *   ASKED    --rows were run--> HOLDING      --none, or failed--> RESTING
 *   HOLDING  --the groups of all its rows are confirmed--> RESTING
 *
 * The caller, under the lock of the store
 *
 *      if (elapse__inbox_ask(inbox, now, &poll))              send elapse.inbox_rows
 *      elapse__inbox_came / _failed                           when the poll's result has come
 *      elapse__inbox_attach(inbox, end)                       for each group that is submitted
 *      elapse__inbox_confirmed(inbox, now)                    when that group is confirmed
 *
 * While elapse__inbox_holds returns true, the caller has to submit a group, even an empty one. For
 * example, the cancel of a job that does not exist makes no record, but its row has to leave.
 *
 * The pause between polls is 0 after a poll that returned as many rows as a poll may return. It is
 * ELAPSE__INBOX_BUSY_MS after a poll that returned fewer. While no rows come, the pause grows to
 * ELAPSE__INBOX_QUIET_MS. After ELAPSE__INBOX_IDLE_AFTER_MS without a row it is
 * ELAPSE__INBOX_IDLE_MS. With a slow database the pause is longer, so that polls take at most a
 * fifth of the time.
 *
 * The database can tell the owner that there are rows, when a transaction with calls commits. Then
 * a poll is due as soon as the database has rested: ELAPSE__INBOX_BUSY_MS after the last poll, and
 * longer if it is slow. An owner that was told once polls less and less when no row has come for
 * ELAPSE__INBOX_AWAKE_MS: the pause doubles with each poll, up to ELAPSE__INBOX_TOLD_MS. The polls
 * go on, because the database does not tell everything: a transaction tells nothing if it has made
 * its call while rows came, or in the second afterwards. It commits later, and its row waits no
 * longer than about as long as the transaction took since then.
 */
#ifndef ELAPSE__CLUSTER_INBOX_INBOX_H
#define ELAPSE__CLUSTER_INBOX_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "row.h"

enum {
    ELAPSE__INBOX_ROWS_MAX = 500,      /* the most rows of a poll */
    ELAPSE__INBOX_BYTES_MAX = 1 << 20, /* a poll ends with the row whose body reaches this sum */
    ELAPSE__INBOX_REASON_BYTES = 96,   /* for the reason of a refusal, with its terminating zero */
    ELAPSE__INBOX_BUSY_MS = 5,
    ELAPSE__INBOX_QUIET_MS = 10,
    ELAPSE__INBOX_AWAKE_MS = 1500, /* longer than the second of elapse.inbox_rows */
    ELAPSE__INBOX_IDLE_AFTER_MS = 10000,
    ELAPSE__INBOX_IDLE_MS = 100,
    ELAPSE__INBOX_TOLD_MS = 1000,
    ELAPSE__INBOX_RETRY_MS = 50, /* the first pause after a failure, and while rows wait */
    ELAPSE__INBOX_RETRY_MS_MAX = 1000,
};

/* Why rows have to wait. */
enum elapse__inbox_wait {
    ELAPSE__INBOX_WAITS_NOT,
    ELAPSE__INBOX_WAITS_POLL,    /* the last poll failed, or its rows were out of order */
    ELAPSE__INBOX_WAITS_JOURNAL, /* the journal takes no records at the moment */
    ELAPSE__INBOX_WAITS_DISK,    /* the disk is full */
    ELAPSE__INBOX_WAITS_LIMIT,   /* the queue has as many jobs, tubes or tokens as it may have */
    ELAPSE__INBOX_WAITS_MEMORY,
    ELAPSE__INBOX_WAITS_UPGRADE, /* the level was raised, and this node runs since before */
};

/* Runs a command, and stores its answer as elapse__engine_run does. The answer's `position` is the
 * gate: the position of the journal from which on the command is durable. The caller may answer
 * with a limit of its own. Returns false if the journal takes no records now. */
typedef bool elapse__inbox_run_function(void *context, const struct elapse__inbox_command *command,
                                        struct elapse__queue_answer *answer);

struct elapse__inbox;

/* Returns an inbox that is OFF, or NULL if there is no memory. Cost: about 60 KiB of memory. */
struct elapse__inbox *elapse__inbox_new(elapse__inbox_run_function *run, void *context);
void elapse__inbox_free(struct elapse__inbox *inbox);

/* Begins to poll. Called when this node owns the partition and has all groups of the log. */
void elapse__inbox_own(struct elapse__inbox *inbox, uint64_t now_ms);

/* Ends polls, and forgets the rows that this object keeps. Called when this node does not own the
 * partition any more, or forgets what was not confirmed. Rows that did not leave with a group are
 * still in the database, for the next owner. */
void elapse__inbox_disown(struct elapse__inbox *inbox);

/* The arguments of elapse.inbox_rows that follow the queue and the partition. */
struct elapse__inbox_poll {
    uint64_t serial; /* the caller gives it to elapse__inbox_came or _failed */
    uint32_t rows_max;
    uint32_t bytes_max;
    bool relief;
};

/* Stores the poll that is to be sent now, and returns true. Returns false if no poll is due. */
bool elapse__inbox_ask(struct elapse__inbox *inbox, uint64_t now_ms,
                       struct elapse__inbox_poll *poll);

/* Runs the rows that a poll returned. Ignores the rows of a poll from before this node owned the
 * partition. The rows must be valid during the call only. */
void elapse__inbox_came(struct elapse__inbox *inbox, uint64_t now_ms, uint64_t serial,
                        const struct elapse__inbox_row *rows, size_t count);

/* Notes that a poll has failed. */
void elapse__inbox_failed(struct elapse__inbox *inbox, uint64_t now_ms, uint64_t serial);

/* Notes that the database has told that there are rows. Does nothing while rows have to wait, or
 * while this object is OFF. */
void elapse__inbox_told(struct elapse__inbox *inbox, uint64_t now_ms);

/* Returns when elapse__inbox_ask has something to do, or UINT64_MAX if something else has to happen
 * first. */
uint64_t elapse__inbox_next_ms(const struct elapse__inbox *inbox);

/* Returns whether rows were run that are not in a group yet. */
bool elapse__inbox_holds(const struct elapse__inbox *inbox);

/* The rows that leave with a group, for struct elapse__partition_group. */
struct elapse__inbox_list {
    const int64_t *ids;
    const char *const *reasons; /* for each id why it was refused, or NULL if it was run */
    size_t count;
};

/* Returns the rows that leave with a group. The caller is about to submit that group, which makes
 * everything before the position `end` durable. The list is valid until the group is confirmed, or
 * until elapse__inbox_disown. Requires that the group before it is confirmed. */
struct elapse__inbox_list elapse__inbox_attach(struct elapse__inbox *inbox, uint64_t end);

/* Notes that the group is confirmed. Its rows have left the inbox. */
void elapse__inbox_confirmed(struct elapse__inbox *inbox, uint64_t now_ms);

struct elapse__inbox_figures {
    uint64_t polls;
    uint64_t told;  /* how often the database has told that there are rows */
    uint64_t moved; /* rows that have left since the process began, run or refused */
    uint64_t refused;
    enum elapse__inbox_wait waits;
    int64_t waits_for; /* the id of the row that cannot run now; 0: none */
};

void elapse__inbox_figures(const struct elapse__inbox *inbox,
                           struct elapse__inbox_figures *figures);

/* Tests the invariants. Returns 0, or the number of the first broken invariant (inbox.c). */
unsigned elapse__inbox_check(const struct elapse__inbox *inbox);

#endif
