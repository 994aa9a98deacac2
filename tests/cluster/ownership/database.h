/*
 * The simulated database has a primary and synchronous standbys, with streaming replication. It
 * does what PostgreSQL does, as far as partitions can see:
 *
 *   - A write locks the row. Its commit is in the log of the primary at once, and waits until a
 *     standby has it. Until then nobody sees the write, and other writes wait or give up (LOCKED).
 *   - The wait ends with success when a standby has the commit. It also ends with success when the
 *     names of synchronous standbys are emptied. A cancelled wait answers success with a notice. A
 *     terminated session, or a primary that starts again, leaves the write visible, although no
 *     standby has it.
 *   - A closed connection stops nothing: a statement that was sent may run later.
 *   - A promoted standby has the writes that it has received, a new timeline, and perhaps no names
 *     of standbys.
 *   - The old primary may continue: isolated, or with a standby that follows it again.
 *
 * Each function is one step. The caller decides when a step comes, and chooses what PostgreSQL
 * leaves to chance.
 */
#ifndef ELAPSE_TESTS_DATABASE_H
#define ELAPSE_TESTS_DATABASE_H

#include "../../../src/cluster/ownership/chain.h"
#include "../../../src/cluster/ownership/partition.h"
#include "random.h"

enum {
    SERVERS = 3,
    NODES = 3,
    GROUPS_MAX = 1200,
    GROUP_BYTES = 24,
    TABLES_MAX = GROUPS_MAX / ELAPSE__LOG_TABLE_GROUPS + 2,
    WRITES_MAX = 6000,
    SESSIONS = 24,
    LEASE_MS = 3000,
    HOUR_MS = 3600 * 1000,
};

/* What right wall clocks show when the true time of the simulation is 0. */
#define SIM_EPOCH_MS INT64_C(1700000000000)

struct sim_row {
    uint64_t epoch, beat, last_group, last_hash, tail;
    char owner[ELAPSE__NODE_NAME_BYTES];
    bool is_marked; /* the column `stopped` is not empty */
    bool is_missed; /* the column `missed` is not empty */
};

struct sim_group {
    bool is_there;
    uint64_t epoch, hash_of_previous;
    uint8_t bytes[GROUP_BYTES];
};

/* The contents of the tables. */
struct sim_state {
    struct sim_row row;
    struct sim_group groups[GROUPS_MAX];
    bool tables[TABLES_MAX];
};

/* A transaction, in the log of the database. */
struct sim_write {
    struct sim_row row; /* the row after the transaction */
    uint64_t group;     /* the group that it appended; 0: none */
    struct sim_group content;
    uint64_t made;    /* a table, + 1; 0: none */
    uint64_t dropped; /* tables below are dropped; 0: none */
};

struct sim_server {
    struct sim_state state; /* what readers see */
    struct sim_write *writes;
    unsigned written; /* writes that this server has */
    unsigned safe;    /* writes that a standby had, or that were there at the promotion */
    unsigned branch;  /* where its timeline begins: older timelines have the same writes before */
    int upstream;     /* the server that it follows; -1: none */
    bool is_up;
    bool is_primary; /* it takes writes */
    uint32_t timeline;
    bool has_names;
    int64_t loaded_us;
    int64_t ahead_ms; /* by how much its clock is ahead of the true time */
    int holder; /* the session whose commit waits; -1: none waits, -2: its connection is lost */
    bool is_pending;
};

enum sim_session_state {
    SIM_FREE,
    SIM_IDLE,
    SIM_SENT,     /* the statement is on its way, or waits for the row's lock */
    SIM_WAITING,  /* its commit waits for a standby */
    SIM_ANSWERED, /* the result is on its way */
};

struct sim_session {
    enum sim_session_state state;
    int server;
    int node;         /* -1: its connection is lost */
    bool is_dead;     /* the connection is lost once the answer on its way has come */
    uint64_t sent_at; /* true time */
    struct elapse__statement statement;
    char me[ELAPSE__NODE_NAME_BYTES];
    uint8_t bytes[GROUP_BYTES];
    struct elapse__statement_result result;
    struct sim_row row; /* the row of the result */
    struct elapse__partition_log_row log[ELAPSE__LOG_TABLE_GROUPS];
    uint8_t log_bytes[ELAPSE__LOG_TABLE_GROUPS][GROUP_BYTES];
};

extern struct sim_server servers[SERVERS];
extern struct sim_session sessions[SESSIONS];

/* What a node has said of its clock. All servers have this. */
struct sim_clock {
    int64_t ahead_ms;
    int64_t seen_ms; /* by the clock of the server; 0: never */
};
extern struct sim_clock clocks[NODES];
extern int primary; /* the server that is the true primary */

/* Is called when nodes do something that the database finds wrong. */
extern void (*sim_violate)(const char *what);

void database_begin(uint64_t genesis);
void database_end(void);

/* Returns the number of a new session of a node on a server; -1: the server cannot be reached. */
int database_connect(int node, int server);

/* The node closes or loses the connection of a session. A statement that was sent may still run. */
void database_detach(int number);

/* The node sends a statement. */
void database_send(int number, const struct elapse__statement *statement, const char *me,
                   uint64_t at);

/* Steps. Each returns whether there was anything to do. */
bool database_run(int number, uint64_t at);
bool database_replicate(int server, unsigned count);
bool database_release(int number); /* answers a commit that a standby has */
bool database_cancel(int number);  /* the wait of a commit is cancelled: a notice */
bool database_terminate(int number);
void database_set_names(int number, bool has_names);
void database_flap_names(int number); /* empties the names, and sets them again at once */
void database_crash(int number, bool keeps_pending);

/* The primary goes away, or is isolated if `lives_on`. Promotes the standby that has the most
 * writes, or, if `wrong`, one that has fewer. Returns false if there is no such standby. */
bool database_fail_over(bool wrong, bool lives_on);

/* A standby begins to follow a server. If their logs differ, it begins with a copy of the server.
 */
void database_follow(int number, int upstream);

/* Returns the highest number of writes that a standby of this server has. */
unsigned database_replicated(int server);

/* Returns whether the server has this group with this hash, in its log of writes or visible. */
bool database_has(int server, unsigned writes, uint64_t group, uint64_t hash);

#endif
