/*
 * The state of a link. link.h says what a link is. A file calls only the files below it:
 *
 *      link_session.c      connects, sends and receives
 *      link_inbox.c        reads the rows of the inbox
 *      link_results.c      reads the results of statements
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
    ELAPSE__DATABASE_LINK_HAS_FAILED /* the next poll gives the result LOST */
};

enum { ELAPSE__DATABASE_LINK_MESSAGE_BYTES = 256 };

struct elapse__database_link {
    struct elapse__sql_place place;
    char *texts[3]; /* copies of three texts of `place`: queue, name of this life, address */
    char **hosts;
    unsigned host_count;

    PGconn *connection;
    enum elapse__database_link_state state;
    PostgresPollingStatusType polling; /* what libpq waits for while it connects */
    bool wants_room;                   /* the socket has not taken all bytes yet */

    enum elapse__statement_kind
        kind; /* of the statement, or of the last one; STATEMENT_KINDS: a poll */
    uint64_t serial;
    unsigned syncs;       /* how many transactions the statement has */
    unsigned syncs_taken; /* how many of these transactions have ended */
    bool had_none;        /* the last question to libpq for a result returned NULL */
    PGresult *results[2];
    bool noticed;  /* a notice came since the last result */
    bool asks;     /* the statement under way asks for the notifications of the inbox */
    bool listens;  /* this session gets them */
    bool was_told; /* a notification came since elapse__database_link_was_told */

    struct elapse__partition_log_row log[ELAPSE__READ_LOG_GROUPS];
    char message[ELAPSE__DATABASE_LINK_MESSAGE_BYTES];
};

#endif
