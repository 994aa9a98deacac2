/*
 * Makes the tables in the database, and finds a queue in them. These functions are for commands and
 * for the start of a node, because they wait for the database: 10 seconds at most to connect, and
 * 12 for each statement.
 *
 * schema.sql, which is in the program, has the tables. The schema has a version; a database that
 * has a later version is refused.
 *
 * A queue has a level: which records its log may have. Level 0: records that programs of 0.2 read.
 * Level 1: records with headers, too. elapse__schema_upgrade raises the level, and the version with
 * it, so that programs of 0.2 refuse the database instead of a record. A queue that is made where
 * the version is 3 has level 1 from the beginning. Level 2: the queue has hash tags, and a program
 * that does not know them refuses it, instead of putting jobs into other partitions.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_SCHEMA_H
#define ELAPSE__CLUSTER_POSTGRES_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "../ownership/chain.h"
#include "why.h"

struct pg_conn;

enum {
    ELAPSE__SCHEMA_VERSION_LEAST = 2,
    ELAPSE__SCHEMA_VERSION = 3,        /* where no program of 0.2 is in use any more */
    ELAPSE__SCHEMA_LEVEL = 2,          /* of a queue; a later one is refused */
    ELAPSE__SCHEMA_LEVEL_UPGRADED = 1, /* what elapse__schema_upgrade raises to */
};

/* Whether braces in the name of a tube choose its partition (src/base/braces.h). This holds for a
 * queue for ever, because the jobs lie where the rule has put them. */
enum elapse__schema_tags {
    ELAPSE__SCHEMA_TAGS_OFF,
    ELAPSE__SCHEMA_TAGS_ON,
    ELAPSE__SCHEMA_TAGS_ANY, /* a wish alone: as the queue has it; a new one has them, unless
                                programs of 0.2 may run in this database */
};

/* A queue, as the database has it. */
struct elapse__schema_queue {
    uint32_t partitions; /* from 1 to ELAPSE__PARTS_MAX */
    uint32_t lease_ms;   /* 20 or more */
    uint32_t level;      /* up to ELAPSE__SCHEMA_LEVEL */
    enum elapse__schema_tags hash_tags;
    uint8_t identity[ELAPSE__CHAIN_IDENTITY_BYTES];
};

/* Makes the tables that are missing, and the queue with its partitions, or nothing if that fails.
 * `queue->identity` is random. A queue that exists with as many partitions and the same lease is
 * not made again: its identity is stored in `queue`. Stores there the level, and whether the queue
 * has hash tags. Fails if the queue exists with another number of partitions, another lease or
 * other hash tags than wished, if hash tags are wished where programs of 0.2 may run, if the name
 * is not valid, or if the database is a standby or refuses. Fails also if no standby has confirmed
 * the queue in time, although the queue was made. `host` may name several hosts: the one that takes
 * writes is found. */
bool elapse__schema_create(const char *host, const char *name, struct elapse__schema_queue *queue,
                           struct elapse__schema_why *why);

/* Reads a queue in a session of libpq. */
bool elapse__schema_read_in(struct pg_conn *connection, const char *name,
                            struct elapse__schema_queue *queue, struct elapse__schema_why *why);

/* Reads a queue. Fails, with words, if there is none, or the tables have another version. */
bool elapse__schema_read(const char *host, const char *name, struct elapse__schema_queue *queue,
                         struct elapse__schema_why *why);

/* Raises the level of a queue to ELAPSE__SCHEMA_LEVEL_UPGRADED, unless it is higher, and stores it.
 * Nodes learn it when they start. Fails, with words, if there is no such queue, or as
 * elapse__schema_create does. */
bool elapse__schema_upgrade(const char *host, const char *name, uint32_t *level,
                            struct elapse__schema_why *why);

/* Asks a server that takes writes for the transactional inbox (sql/inbox.sql), and enters the queue
 * into it. Stores whether there is an inbox. Fails, with words, if this server takes no writes, or
 * if the queue cannot be entered: for one with hash tags the inbox must be of version 3. Then
 * `*has_inbox` means nothing. */
bool elapse__schema_open_inbox(const char *host, const char *name,
                               const struct elapse__schema_queue *queue, uint32_t body_bytes_max,
                               bool *has_inbox, struct elapse__schema_why *why);

#endif
