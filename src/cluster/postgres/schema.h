/*
 * Makes the tables in the database, and finds a queue in them. These functions wait for the
 * database: at most 10 seconds to connect, and 12 for each statement. So only commands and the
 * start of a node may call them. "Words" are a line for people in struct elapse__schema_why
 * (why.h).
 *
 * The tables are in schema.sql, whose text is built into the program. The schema has a version. The
 * program refuses a database that has a later version.
 *
 * A queue has a level, which says what its log may have. Level 0: records that programs of version
 * 0.2 can read. Level 1: also records with headers, and partitions may have lists of replicas,
 * because all nodes know lists. Level 2: the queue has hash tags.
 * elapse__schema_upgrade raises the level to 1, and the version of the schema to 3. So programs of
 * 0.2 refuse the database at their start, and not later at a record. A queue that is made where the
 * version is 3 has level 1 from the beginning. A program that does not know hash tags refuses level
 * 2, because it would put jobs into other partitions.
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
    ELAPSE__SCHEMA_VERSION = 3,        /* in use where no program of 0.2 runs any more */
    ELAPSE__SCHEMA_LEVEL = 2,          /* the highest level that this program accepts */
    ELAPSE__SCHEMA_LEVEL_UPGRADED = 1, /* elapse__schema_upgrade raises a queue to this level */
    ELAPSE__SCHEMA_LEVEL_LISTS = 1, /* from this level on partitions may have lists of replicas */
};

/* Whether braces in the name of a tube choose its partition (src/base/braces.h). The choice never
 * changes for a queue, because the jobs lie where the rule has put them. */
enum elapse__schema_tags {
    ELAPSE__SCHEMA_TAGS_OFF,
    ELAPSE__SCHEMA_TAGS_ON,
    ELAPSE__SCHEMA_TAGS_ANY, /* only a wish: new queues have tags if no program of 0.2 may run */
};

/* A queue as the database has it. */
struct elapse__schema_queue {
    uint32_t partitions; /* from 1 to ELAPSE__PARTS_MAX */
    uint32_t lease_ms;   /* 20 or more */
    uint32_t level;      /* up to ELAPSE__SCHEMA_LEVEL */
    enum elapse__schema_tags hash_tags;
    uint8_t identity[ELAPSE__CHAIN_IDENTITY_BYTES];
};

/* Makes the tables that are missing, and the queue with its partitions. Makes nothing if one part
 * fails. `queue->identity` is random. A queue that exists with as many partitions and the same
 * lease is not made again: its identity is stored in `queue`. Stores the level in `queue`, and
 * whether the queue has hash tags. Fails if the queue exists with another number of partitions,
 * another lease or other hash tags than `queue` says. Fails if hash tags are wanted where programs
 * of 0.2 may run, if the name is not valid, or if the database is a standby or refuses a statement.
 * Fails also if no standby has confirmed the queue in time, although the queue was made. `host` may
 * name several hosts: this function finds the one that takes writes. */
bool elapse__schema_create(const char *host, const char *name, struct elapse__schema_queue *queue,
                           struct elapse__schema_why *why);

/* Reads a queue in a session of libpq. */
bool elapse__schema_read_in(struct pg_conn *connection, const char *name,
                            struct elapse__schema_queue *queue, struct elapse__schema_why *why);
bool elapse__schema_read_in_within(struct pg_conn *connection, const char *name, uint32_t limit_ms,
                                   struct elapse__schema_queue *queue,
                                   struct elapse__schema_why *why);

/* Connects to the server that takes writes, performs the statements of `settings`, and reads a
 * queue. Returns the session of libpq, which the caller ends. Returns NULL, with words, if any of
 * that fails. */
struct pg_conn *elapse__schema_open(const char *host, const char *name, const char *settings,
                                    struct elapse__schema_queue *queue,
                                    struct elapse__schema_why *why);
struct pg_conn *elapse__schema_open_within(const char *host, const char *name, const char *settings,
                                           uint32_t limit_ms, struct elapse__schema_queue *queue,
                                           struct elapse__schema_why *why);

/* Reads a queue. Fails, with words, if there is no such queue, or if the tables have another
 * version. */
bool elapse__schema_read(const char *host, const char *name, struct elapse__schema_queue *queue,
                         struct elapse__schema_why *why);

/* Raises the level of a queue to ELAPSE__SCHEMA_LEVEL_UPGRADED, unless it is higher, and stores the
 * level. Nodes read the level when they start. Fails, with words, if there is no such queue, or for
 * the reasons of elapse__schema_create. */
bool elapse__schema_upgrade(const char *host, const char *name, uint32_t *level,
                            struct elapse__schema_why *why);

/* Asks a server that takes writes whether it has the transactional inbox (sql/inbox.sql), and
 * enters the queue into the inbox. Stores whether there is an inbox. Fails, with words, if this
 * server takes no writes, or if the queue cannot be entered. For a queue with hash tags the inbox
 * must be of version 3. After a failure `*has_inbox` is not valid. */
bool elapse__schema_open_inbox(const char *host, const char *name,
                               const struct elapse__schema_queue *queue, uint32_t body_bytes_max,
                               bool *has_inbox, struct elapse__schema_why *why);

#endif
