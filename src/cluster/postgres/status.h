/*
 * Reads what the database says of a queue, for people: the queue's partitions, and the standbys of
 * the server. These functions wait for the database, 10 seconds at most to connect, and 12 for each
 * statement of a look.
 *
 *      elapse__status_open(...)
 *      elapse__status_look(...)     again and again: who owns a partition is seen by what changes
 *      elapse__status_close(...)
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_STATUS_H
#define ELAPSE__CLUSTER_POSTGRES_STATUS_H

#include <stddef.h>

#include "../ownership/partition.h"
#include "schema.h"

enum { ELAPSE__STATUS_TEXT_BYTES = 256 };

/* A row of elapse.partition. */
struct elapse__status_partition {
    uint64_t epoch, beat, last_group, tail;
    char owner[ELAPSE__NODE_NAME_BYTES]; /* "": nobody */
    char address[ELAPSE__NODE_ADDRESS_BYTES];
    char stopped[ELAPSE__STATUS_TEXT_BYTES]; /* why no node may own it; "": one may */
    char missed[ELAPSE__STATUS_TEXT_BYTES];  /* what a node that came late misses; "": nothing */
};

/* A row of pg_stat_replication. Without the rights of pg_monitor only the name is known. */
struct elapse__status_standby {
    char name[64];
    char address[64]; /* "": a socket of the same machine */
    char state[16];   /* "": unknown */
    char sync[16];    /* async, potential, sync, quorum; "": unknown */
    int64_t behind; /* bytes of the log of the database that the standby has not got; -1: unknown */
};

struct elapse__status {
    struct elapse__schema_queue queue;
    struct elapse__status_partition *partitions; /* queue.partitions elements */
    struct elapse__status_standby *standbys;
    size_t standby_count;
    char clock_node[ELAPSE__NODE_ADDRESS_BYTES]; /* the node whose wall clock is the most wrong;
                                                    "": none is ELAPSE__CLOCK_WARN_MS off */
    int64_t clock_ahead_ms;                      /* that clock minus the database's */
    uint32_t timeline;
    char server[ELAPSE__STATUS_TEXT_BYTES]; /* host and port */
    char names[ELAPSE__STATUS_TEXT_BYTES];  /* synchronous_standby_names, cut */
};

struct elapse__status_session;

/* Connects to the server that takes writes, of those that `host` names, and finds the queue.
 * Returns NULL, with words, if that fails. */
struct elapse__status_session *elapse__status_open(const char *host, const char *name,
                                                   struct elapse__schema_why *why);

/* Looks, and stores what it has seen in `status`, which begins as zeros. Returns false, with words,
 * if that fails. */
bool elapse__status_look(struct elapse__status_session *session, struct elapse__status *status,
                         struct elapse__schema_why *why);

void elapse__status_close(struct elapse__status_session *session);

/* Releases what looks have stored. */
void elapse__status_free(struct elapse__status *status);

#endif
