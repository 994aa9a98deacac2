/*
 * Makes the names of sessions and tables in the database from the name of a queue.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_NAMES_H
#define ELAPSE__CLUSTER_POSTGRES_NAMES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ELAPSE__QUEUE_NAME_BYTES = 33, /* with the NUL at its end */
    ELAPSE__PARTS_MAX = 1024,
    ELAPSE__DATABASE_NAME_BYTES = 64, /* PostgreSQL cuts longer ones */
};

/* Returns whether a queue may have this name: a letter, then letters, digits and _, in lower case,
 * at most 32 characters. Then a name that is made from it needs no quotes, and PostgreSQL does not
 * cut it. */
bool elapse__database_queue_name_is_valid(const char *name);

/* A name that is made from the name of a queue. */
struct elapse__database_name {
    char text[ELAPSE__DATABASE_NAME_BYTES];
};

/* Returns the application_name of the sessions of a partition. */
struct elapse__database_name elapse__database_session_name(const char *queue, uint32_t partition);

/* Returns the name of a table of the partition's log. schema.sql makes the same name. */
struct elapse__database_name elapse__database_log_table_name(const char *queue, uint32_t partition,
                                                             uint64_t table);

#endif
