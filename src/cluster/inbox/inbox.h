/*
 * The owner's side of the transactional inbox of a partition: when to poll, which rows to run, and
 * which rows go with which group of the log. The room is pure: `now` and rows come in, polls and
 * lists of ids go out.
 *
 *      elapse.inbox ---poll---> rows ---run---> queue ---> group of the log
 *           ^                                                |
 *           +---------- move: ids, reasons <---attach--------+
 *
 * A row leaves the inbox in the statement that appends the group with what it did, so each row is
 * run exactly once, whatever fails, by these rules (tests/cluster/inbox has a test that
 * fails without each):
 *
 *   I1  A row is run only by the owner, and what it asked for before it owned the partition anew is
 *       ignored.
 *   I2  No poll while rows are held: it would show them again.
 *   I3  The ids that leave are those that were run, one by one. A range would take rows with it
 *       that were not committed at the time of the poll: numbers do not commit in order.
 *   I4  A row goes with the group that makes its command durable, or with a later one.
 *   I5  Rows run in the order of their numbers. Those behind a row that cannot run now wait.
 *   I6  A row that can never run is refused: it leaves with a group too, because the reason may
 *       depend on what the rows before have done.
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
 *      elapse__inbox_came / _failed                           when its result is there
 *      elapse__inbox_attach(inbox, end)                       for each group that is submitted
 *      elapse__inbox_confirmed(inbox, now)                    when that group is confirmed
 *
 * While elapse__inbox_holds, a group has to be submitted, even if it is empty: a command that
 * changed nothing (the cancel of a job that is gone) left no record to go with.
 *
 * How often it polls: after ELAPSE__INBOX_BUSY_MS while rows come; then less and less, down to
 * ELAPSE__INBOX_QUIET_MS, and after ELAPSE__INBOX_IDLE_AFTER_MS without a row to
 * ELAPSE__INBOX_IDLE_MS; at once after a poll that came back full. A slow database is asked less: a
 * poll takes at most a fifth of the time.
 */
#ifndef ELAPSE__CLUSTER_INBOX_INBOX_H
#define ELAPSE__CLUSTER_INBOX_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "row.h"

enum {
    ELAPSE__INBOX_ROWS_MAX = 500,      /* of a poll */
    ELAPSE__INBOX_BYTES_MAX = 1 << 20, /* of bodies: the row that reaches this is the last one */
    ELAPSE__INBOX_REASON_BYTES = 96,   /* of a reason, with the zero at its end */
    ELAPSE__INBOX_BUSY_MS = 5,
    ELAPSE__INBOX_QUIET_MS = 20,
    ELAPSE__INBOX_IDLE_AFTER_MS = 10000,
    ELAPSE__INBOX_IDLE_MS = 100,
    ELAPSE__INBOX_RETRY_MS = 50, /* after a failure, and while rows wait; it doubles */
    ELAPSE__INBOX_RETRY_MS_MAX = 1000,
};

/* Why rows wait. */
enum elapse__inbox_wait {
    ELAPSE__INBOX_WAITS_NOT,
    ELAPSE__INBOX_WAITS_POLL,    /* the last poll failed, or its rows were out of order */
    ELAPSE__INBOX_WAITS_JOURNAL, /* the journal takes nothing at the moment */
    ELAPSE__INBOX_WAITS_DISK,    /* the disk is full */
    ELAPSE__INBOX_WAITS_LIMIT,   /* as many jobs, tubes or tokens as there may be */
    ELAPSE__INBOX_WAITS_MEMORY,
};

/* Runs a command, and stores its answer as elapse__engine_run does: `position` is the gate. The
 * caller may answer with a limit of its own. Returns false if the journal takes nothing now. */
typedef bool elapse__inbox_run_function(void *context, const struct elapse__inbox_command *command,
                                        struct elapse__queue_answer *answer);

struct elapse__inbox;

/* Returns an inbox that is OFF, or NULL if there is no memory. Cost: some 60 KiB. */
struct elapse__inbox *elapse__inbox_new(elapse__inbox_run_function *run, void *context);
void elapse__inbox_free(struct elapse__inbox *inbox);

/* This node owns the partition, and has all of the log: polls begin. */
void elapse__inbox_own(struct elapse__inbox *inbox, uint64_t now_ms);

/* This node owns the partition no more, or forgets what was not confirmed. The rows that were not
 * moved are still in the inbox, for the next owner. */
void elapse__inbox_disown(struct elapse__inbox *inbox);

/* The arguments of elapse.inbox_rows, behind the queue and the partition. */
struct elapse__inbox_poll {
    uint64_t serial; /* the result says it again */
    uint32_t rows_max;
    uint32_t bytes_max;
    bool relief;
};

/* Stores the poll that is to be sent now, and returns true; false: none is due. */
bool elapse__inbox_ask(struct elapse__inbox *inbox, uint64_t now_ms,
                       struct elapse__inbox_poll *poll);

/* The rows of a poll: runs them. Ignores those of a poll from before the partition was owned. They
 * are valid during the call. */
void elapse__inbox_came(struct elapse__inbox *inbox, uint64_t now_ms, uint64_t serial,
                        const struct elapse__inbox_row *rows, size_t count);

/* The poll has failed. */
void elapse__inbox_failed(struct elapse__inbox *inbox, uint64_t now_ms, uint64_t serial);

/* Returns when `ask` has something to do; UINT64_MAX: not before something else has happened. */
uint64_t elapse__inbox_next_ms(const struct elapse__inbox *inbox);

/* Returns whether rows were run that are not in a group yet. */
bool elapse__inbox_holds(const struct elapse__inbox *inbox);

/* What goes into struct elapse__partition_group. */
struct elapse__inbox_list {
    const int64_t *ids;
    const char *const *reasons; /* one for each id; NULL: it was run; otherwise why it is refused */
    size_t count;
};

/* A group is submitted that makes everything before the position `end` durable: returns the rows
 * that go with the group. The list is valid until the group is confirmed, or the partition
 * disowned. Requires that the group before is confirmed. */
struct elapse__inbox_list elapse__inbox_attach(struct elapse__inbox *inbox, uint64_t end);

/* The group is durable, and its rows are gone. */
void elapse__inbox_confirmed(struct elapse__inbox *inbox, uint64_t now_ms);

struct elapse__inbox_figures {
    uint64_t polls;
    uint64_t moved; /* rows, in this life of the process; those refused count too */
    uint64_t refused;
    enum elapse__inbox_wait waits;
    int64_t waits_for; /* the row that cannot run now; 0: none */
};

void elapse__inbox_figures(const struct elapse__inbox *inbox,
                           struct elapse__inbox_figures *figures);

/* Tests the invariants. Returns 0, or the number of the first one found broken, as in inbox.c. */
unsigned elapse__inbox_check(const struct elapse__inbox *inbox);

#endif
