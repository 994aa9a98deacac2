/*
 * The tables in the database: making them, and finding a queue in them. For commands and for the
 * start of a node: these functions wait for the database, 10 seconds at most to connect. Making
 * them waits 10 seconds at most for each statement, and for a standby.
 *
 * schema.sql, which is a part of the program, has the tables. It has a version; a database that has
 * a later one is refused.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_SCHEMA_H
#define ELAPSE__CLUSTER_POSTGRES_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "../chain.h"
#include "why.h"

struct pg_conn;

enum { ELAPSE__SCHEMA_VERSION = 1 };

/* A queue, as the database has it. */
struct elapse__schema_queue {
    uint32_t parts;    /* from 1 to ELAPSE__PARTS_MAX */
    uint32_t lease_ms; /* 20 or more */
    uint8_t identity[ELAPSE__CHAIN_IDENTITY_BYTES];
};

/* Makes the tables that are missing, and the queue with its partitions, or nothing if that fails.
 * A queue that exists with the same parts and lease is none to be made: its identity is stored in
 * `queue`. `queue->identity` is random. Fails if it exists with others, if the name is not valid,
 * if the database is a standby, or refuses; and if no standby has confirmed it in time, but then it
 * is made. `host` may name several hosts: the one that takes writes is found. */
bool elapse__schema_create(const char *host, const char *name, struct elapse__schema_queue *queue,
                           struct elapse__schema_why *why);

/* Reads a queue in a session of libpq. */
bool elapse__schema_read_in(struct pg_conn *connection, const char *name,
                            struct elapse__schema_queue *queue, struct elapse__schema_why *why);

/* Reads a queue. Fails, with words, if there is none, or the tables have another version. */
bool elapse__schema_read(const char *host, const char *name, struct elapse__schema_queue *queue,
                         struct elapse__schema_why *why);

/* Enters the queue into the transactional inbox, if the database has one (sql/inbox.sql), which is
 * stored in `has_inbox` unless the database cannot be asked. Fails, with words, if it has one and
 * that is not possible: a standby takes no writes. */
bool elapse__schema_open_inbox(const char *host, const char *name, uint32_t parts,
                               uint32_t body_bytes_max, bool *has_inbox,
                               struct elapse__schema_why *why);

#endif
