/*
 * Reads what the database says of a queue, for people: the queue's partitions, and the standbys of
 * the server. These functions wait for the database: at most 10 seconds to connect, and 12 for each
 * statement of a look. "Words" are a line for people in struct elapse__schema_why (why.h).
 *
 *      elapse__status_open(...)
 *      elapse__status_look(...) repeat: the changes of a row show who owns a partition
 *      elapse__status_close(...)
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_STATUS_H
#define ELAPSE__CLUSTER_POSTGRES_STATUS_H

#include <stddef.h>

#include "../ownership/balance.h"
#include "schema.h"

enum { ELAPSE__STATUS_TEXT_BYTES = 256 };

/* Tables that a role may lack the right to read. Then a look has all that is in other tables. */
enum elapse__status_table {
    ELAPSE__STATUS_CLOCK,
    ELAPSE__STATUS_NODE,
    ELAPSE__STATUS_PLACE,
    ELAPSE__STATUS_TABLES /* how many there are */
};

/* Returns the name of a table with its schema, such as elapse.node. */
const char *elapse__status_table(enum elapse__status_table table);

/* A row of elapse.partition. */
struct elapse__status_partition {
    uint64_t epoch, beat, last_group, tail;
    char owner[ELAPSE__NODE_NAME_BYTES]; /* "": nobody */
    char address[ELAPSE__NODE_ADDRESS_BYTES];
    char stopped[ELAPSE__STATUS_TEXT_BYTES]; /* why no node may own the partition; "": a node may */
    char missed[ELAPSE__STATUS_TEXT_BYTES];  /* the groups that a late node misses; "": none */
};

/* A row of pg_stat_replication. Without the rights of the role pg_monitor only the name is
 * known. */
struct elapse__status_standby {
    char name[64];
    char address[64]; /* "": a socket of the server's machine */
    char state[16];   /* "": unknown */
    char sync[16];    /* async, potential, sync, quorum; "": unknown */
    int64_t behind; /* how many bytes of the database's log the standby has not got; -1: unknown */
};

struct elapse__status {
    struct elapse__schema_queue queue;
    struct elapse__status_partition *partitions; /* an array of queue.partitions elements */
    struct elapse__status_standby *standbys;
    size_t standby_count;
    char role[64];                               /* the role of the session */
    bool lacks_select[ELAPSE__STATUS_TABLES];    /* whether the role may not read the table */
    bool has_nodes;                              /* `view` is known: the database has the tables of
                                                    nodes and places, and the role may read both */
    struct elapse__balance_view view;            /* the nodes, and where partitions should be */
    char clock_node[ELAPSE__NODE_ADDRESS_BYTES]; /* of the node with the worst clock; "": none */
    int64_t clock_ahead_ms;                      /* the clock of that node minus the database's */
    uint32_t timeline;
    char server[ELAPSE__STATUS_TEXT_BYTES]; /* host and port */
    char names[ELAPSE__STATUS_TEXT_BYTES];  /* synchronous_standby_names, cut if it is too long */
};

struct elapse__status_session;

/* Connects to that server of `host` which takes writes, and finds the queue. Returns NULL, with
 * words, if that fails. */
struct elapse__status_session *elapse__status_open(const char *host, const char *name,
                                                   struct elapse__schema_why *why);

/* Looks at the database, and stores what it says in `status`, which begins as zeros. Returns false,
 * with words, if that fails. */
bool elapse__status_look(struct elapse__status_session *session, struct elapse__status *status,
                         struct elapse__schema_why *why);

void elapse__status_close(struct elapse__status_session *session);

/* Frees what looks have stored. */
void elapse__status_free(struct elapse__status *status);

#endif
