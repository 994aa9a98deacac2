/*
 * The state of a link, for link_session.c and link_results.c. link.h says what a link is.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_LINK_CORE_H
#define ELAPSE__CLUSTER_POSTGRES_LINK_CORE_H

#include <libpq-fe.h>

#include "link.h"
#include "sql.h"

enum elapse__database_link_state {
    ELAPSE__DATABASE_LINK_IS_IDLE,
    ELAPSE__DATABASE_LINK_IS_CONNECTING,
    ELAPSE__DATABASE_LINK_IS_BUSY,   /* a statement was sent */
    ELAPSE__DATABASE_LINK_HAS_FAILED /* the result LOST is to be given */
};

enum { ELAPSE__DATABASE_LINK_MESSAGE_BYTES = 256 };

struct elapse__database_link {
    struct elapse__sql_place place;
    char *texts[3]; /* of it */
    char **hosts;
    unsigned host_count;

    PGconn *connection;
    enum elapse__database_link_state state;
    PostgresPollingStatusType polling; /* while it connects */
    bool wants_room;                   /* there is more to send than the socket took */

    enum elapse__statement_kind kind; /* of the statement under way, or the last one;
                                         STATEMENT_KINDS: a poll of the inbox */
    uint64_t serial;
    unsigned syncs;       /* transactions of it, ... */
    unsigned syncs_taken; /* ... and those that ended */
    bool had_none;        /* libpq had none when it was asked last */
    PGresult *results[2];
    bool noticed; /* since the last result */

    struct elapse__partition_log_row log[ELAPSE__READ_LOG_GROUPS];
    char message[ELAPSE__DATABASE_LINK_MESSAGE_BYTES];
};

/* link_session.c: remembers the first line of a message. */
void elapse__database_link_note(struct elapse__database_link *link, const char *message);

/* link_results.c: reads a field. Returns false if it is NULL, or no bigint. */
bool elapse__database_link_take_number(const PGresult *rows, int row, int column, uint64_t *number);

/* link_results.c: stores what the results of the statement say. */
void elapse__database_link_read_results(struct elapse__database_link *link,
                                        struct elapse__statement_result *result);

#endif
