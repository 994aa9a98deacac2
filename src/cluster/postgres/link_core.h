/*
 * The state of a link. link.h says what a link is. A file calls only those below it:
 *
 *      link_session.c      connecting, sending and receiving
 *      link_inbox.c        the rows of the inbox
 *      link_results.c      what results say
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
    char *texts[3]; /* copies of the texts of `place`: queue, name of this life, address */
    char **hosts;
    unsigned host_count;

    PGconn *connection;
    enum elapse__database_link_state state;
    PostgresPollingStatusType polling; /* while it connects */
    bool wants_room;                   /* the socket has not taken all bytes */

    enum elapse__statement_kind kind; /* of the statement under way, or the last one;
                                         STATEMENT_KINDS: a poll of the inbox */
    uint64_t serial;
    unsigned syncs;       /* transactions of the statement */
    unsigned syncs_taken; /* transactions that have ended */
    bool had_none;        /* libpq returned NULL when it was asked last */
    PGresult *results[2];
    bool noticed; /* a notice came since the last result */

    struct elapse__partition_log_row log[ELAPSE__READ_LOG_GROUPS];
    char message[ELAPSE__DATABASE_LINK_MESSAGE_BYTES];
};

#endif
