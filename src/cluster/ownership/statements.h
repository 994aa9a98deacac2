/*
 * Declares what a partition asks of the database, and what it gets back. This is the contract
 * between two parts. The state machine (partition.h) decides, and knows no SQL. The shell
 * (src/cluster/postgres) has the connection and the text of each statement. So this header is the
 * seam of the log: whoever performs these statements, under these rules, can keep the log. Two
 * shells do: that of PostgreSQL, and the simulated database of tests/cluster/ownership.
 * docs/decisions/0026-another-engine.md says what another one would have to give.
 *
 *      partition ---> struct elapse__statement ---> shell: SQL, libpq
 *      partition <--- struct elapse__statement_result <---
 *
 * At most one statement is under way for each partition. The shell never cancels a statement. To
 * give a statement up, the shell closes the connection. CONNECT closes it first.
 *
 * Rules for the shell
 *
 *   W1  Each statement is a transaction of its own, without BEGIN and COMMIT. The messages Execute
 *       and Sync of libpq's protocol leave in one send.
 *   W2  A *fenced write* is a TAKE_OVER, BEAT, APPEND or MARK: a write that depends on the epoch in
 *       the row. The same send has a second statement, which selects the settings again. The
 *       database runs the second when the first is committed. If synchronous_standby_names is
 *       emptied while a commit waits for a standby, the commit ends with success, and only the
 *       second select shows why.
 *   W3  A session begins with these settings: application_name `elapse/<queue>/<partition>`,
 *       client_min_messages `warning`, synchronous_commit `on`, lock_timeout = lease / 4, no
 *       statement_timeout.
 *   W4  `noticed` is set if any notice came between the send and the last result, whatever the
 *       notice says. The reason: a commit whose wait for a standby was cancelled reports success
 *       and a warning.
 *   W5  FATAL, PANIC, a closed socket and a protocol error are LOST. ERROR is what the server calls
 *       an error. The session can be used after an ERROR.
 *   W6  `is_pooled` is set if another backend (process of the server) than that of the connection
 *       has answered, whatever the answer says. Then a pooler is between this node and the server.
 *       Through a pooler, CONNECT sets nothing in the session.
 *
 * The tables, which `elapse cluster create` makes once for each queue. The shell chooses the names.
 *
 *   partition(queue, part, epoch bigint, owner text, address text, beat bigint, last_group bigint,
 *       last_hash bigint, tail bigint, lease_ms int, stopped text, missed text), key (queue, part),
 *       fillfactor 10. A row begins as epoch 0, owner '', beat 0, last_group 0, last_hash
 *       elapse__chain_genesis(), tail 1, stopped '', missed ''. lease_ms never changes, because two
 *       nodes with different leases might answer at the same time. `stopped` is the mark of
 *       partition.h. `missed` tells operators which groups a node misses that came late (R11).
 *   log of (queue, part, table): (group_number bigint primary key, epoch bigint, hash_of_previous
 *       bigint, bytes bytea storage external); group g lies in table g / 1024.
 *
 * Numbers of 64 bits that are hashes are bigints of the same bits.
 */
#ifndef ELAPSE__OWNERSHIP_STATEMENTS_H
#define ELAPSE__OWNERSHIP_STATEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"

/* The simulation has smaller tables. */
#ifndef ELAPSE__LOG_TABLE_GROUPS
#define ELAPSE__LOG_TABLE_GROUPS 1024
#endif

enum {
    ELAPSE__READ_LOG_GROUPS = 256,    /* at most, for one READ_LOG */
    ELAPSE__READ_LOG_BYTES = 8 << 20, /* READ_LOG ends with the group that reaches this size */
    ELAPSE__DROP_TABLES_AT_ONCE = 16, /* at most, for one DROP_TABLES */
};

/* In the SQL below, `me` is the name of the node's life, from the options. No two processes ever
 * have the same name. */
enum elapse__statement_kind {
    /* Not SQL. Closes the present connection, without cancelling anything, and connects to the host
     * with the number `host`. ROWS means: the node is connected, and W3 is done. */
    ELAPSE__STATEMENT_CONNECT,

    /* select: system_identifier; the timeline of pg_walfile_name(pg_current_wal_lsn()), or 0 in
     * recovery, where that fails; pg_is_in_recovery(); settings.
     *  -> 1 row: `session`, `after` */
    ELAPSE__STATEMENT_SESSION,

    /* select everything of the partition's row, and settings. Takes no lock.
     *  -> 0 or 1 row: `row`, `after` */
    ELAPSE__STATEMENT_READ_ROW,

    /* select of the log from group `group` on, in order, at most READ_LOG_GROUPS groups or
     * READ_LOG_BYTES, and from one table at most: that of `group`. A table that does not exist
     * counts as 0 rows.
     *  -> `log`, `count` of them */
    ELAPSE__STATEMENT_READ_LOG,

    /* update partition set epoch = :epoch + 1, owner = me, address = mine, beat = beat + 1
     * where epoch = :epoch and beat = :beat and last_group = :group and stopped = ''
     * returning *, settings. A fenced write.
     *  -> 0 or 1 row: `row`, `before`; `after` */
    ELAPSE__STATEMENT_TAKE_OVER,

    /* update partition set beat = beat + 1, tail = greatest(tail, :tail) where epoch = :epoch and
     * owner = me returning *, settings. A fenced write. BEAT is the heartbeat and the barrier. The
     * condition on the owner is needed because another node may have the same epoch, where the
     * outcome of a take-over is unclear.
     *  -> 0 or 1 row: `row`, `before`; `after` */
    ELAPSE__STATEMENT_BEAT,

    /* with p as (update partition set last_group = :group, last_hash = :hash, beat = beat + 1
     *            where epoch = :epoch and last_group = :group - 1 and stopped = '' returning 1)
     * insert into log select :group, :epoch, :previous_hash, :bytes from p returning settings.
     * A fenced write. The UPDATE in the same statement is the fence: a condition without it would
     * look at an old row. With `inbox_count` > 0 the statement also calls elapse.inbox_move
     * (sql/inbox.sql) from p. That function deletes the rows of the inbox whose ids are in `inbox`,
     * and keeps those that have a reason as refused. If it does not find all of them, it raises
     * EL001, so that nothing is done.
     *  -> 0 or 1 row: `before`; `after`; or MOVED */
    ELAPSE__STATEMENT_APPEND,

    /* create the log's table number `table` if there is none: columns as above, and autovacuum off.
     *  -> ROWS */
    ELAPSE__STATEMENT_MAKE_TABLE,

    /* drop the tables of the log with numbers below `table`, at most DROP_TABLES_AT_ONCE, with a
     * lock_timeout of 50 ms, because a follower may be reading.
     *  -> ROWS, `count` of them dropped */
    ELAPSE__STATEMENT_DROP_TABLES,

    /* update partition set owner = '', address = '', beat = beat + 1 where epoch = :epoch and owner
     * = me. Another node may take over at once.
     *  -> ROWS */
    ELAPSE__STATEMENT_RELEASE,

    /* update partition set stopped = (what it says already; or me, :group and :epoch, and the row's
     * last_group and epoch, in words), epoch = :epoch, beat = beat + 1 (if there was no mark)
     * returning *, settings; but where epoch > :epoch these words go into `missed`, and epoch, beat
     * and `stopped` stay. A fenced write. MARK raises the epoch, so that all epochs that nodes know
     * are below the epoch that an operator begins.
     *  -> 0 or 1 row: `row`, `before`; `after` */
    ELAPSE__STATEMENT_MARK,

    /* Stores :ahead for the other nodes: this node's wall clock minus the database's. Counts the
     * other nodes of the queue that have stored theirs within the last two leases. CLOCKS is no
     * fenced write, and waits for no disk.
     *  -> 1 row: `others` */
    ELAPSE__STATEMENT_CLOCKS,

    /* pg_terminate_backend of other sessions with this application_name that hold a transaction
     * number (backend_xid), because one of them blocks the row.
     *  -> ROWS */
    ELAPSE__STATEMENT_TERMINATE,

    ELAPSE__STATEMENT_KINDS,
};

/* The comment of each kind says which fields it uses. The shell itself has the queue, the
 * partition, `me` and the address, because these never change. Pointers are valid until the
 * statement is completed or abandoned. A shell that keeps bytes until a socket takes them must copy
 * them, or close the socket. */
struct elapse__statement {
    enum elapse__statement_kind kind;
    uint64_t serial; /* its result has the same number */
    unsigned host;
    uint64_t epoch, beat, group, tail, table;
    uint64_t hash, previous_hash;
    int64_t ahead_ms;
    const void *bytes;
    size_t size;
    const int64_t *inbox;
    const char *const *inbox_reasons; /* why each id is refused, or NULL; NULL: none is refused */
    size_t inbox_count;
};

enum elapse__statement_outcome {
    ELAPSE__OUTCOME_ROWS,
    ELAPSE__OUTCOME_LOCKED,  /* the error lock_not_available (55P03): nothing was done */
    ELAPSE__OUTCOME_MOVED,   /* the error EL001 of an APPEND: rows of the inbox have gone */
    ELAPSE__OUTCOME_REFUSED, /* a table, a function or a right is missing: nothing was done */
    ELAPSE__OUTCOME_ERROR,   /* any other error */
    ELAPSE__OUTCOME_LOST,    /* the connection is lost, or could not be made */
};

/* The settings that make a commit wait for a standby. */
struct elapse__partition_settings {
    const char *standby_names; /* current_setting('synchronous_standby_names') */
    const char *commit;        /* current_setting('synchronous_commit') */
    int64_t loaded_us;         /* pg_conf_load_time(): differs after a reload */
    uint64_t backend;          /* pg_backend_pid() (W6); 0: unknown */
    int64_t clock_ms;          /* clock_timestamp(), since 1970; 0: unknown */
};

struct elapse__partition_session {
    uint64_t system_identifier;
    uint32_t timeline;
    bool in_recovery;
};

struct elapse__partition_row {
    uint64_t epoch, beat, last_group, last_hash, tail;
    uint32_t lease_ms;
    const char *owner; /* "": nobody, because the owner handed over */
    const char *address;
    const char *stopped; /* "": there is no mark */
};

/* A group as it lies in the log. */
struct elapse__partition_log_row {
    uint64_t group, epoch, hash_of_previous;
    const void *bytes;
    size_t size;
};

/* A result is valid during the call of elapse__partition_completed. */
struct elapse__statement_result {
    uint64_t serial;
    enum elapse__statement_outcome outcome;
    bool noticed;
    bool is_pooled;
    uint64_t count; /* rows of the first result; DROP_TABLES: tables */
    struct elapse__partition_settings before, after;
    struct elapse__partition_session session;
    struct elapse__partition_row row;
    const struct elapse__partition_log_row *log;
    struct elapse__clock_others others;
    int64_t wall_ms; /* this node's wall clock, since 1970, when the result came */
};

#endif
