/*
 * A visit is a session that a command has in the database. These functions wait for the database:
 * 10 seconds at most to connect to each host, and 12 for each statement.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_VISIT_H
#define ELAPSE__CLUSTER_POSTGRES_VISIT_H

#include <libpq-fe.h>

#include "sql.h"
#include "why.h"

/* Writes a reason into `why`, cut to one line. Returns false. */
__attribute__((format(printf, 2, 3))) bool elapse__visit_refuse(struct elapse__schema_why *why,
                                                                const char *format, ...);

/* Connects. `which`: target_session_attrs of libpq; NULL leaves it to the connection string.
 * Statements of the session end after 10 seconds. Only one may be under way. Returns NULL, with
 * words, which have nothing of the string in them, if that fails. */
PGconn *elapse__visit_open(const char *host, const char *which, struct elapse__schema_why *why);

/* Performs one statement with parameters in text. Returns the result, which the caller clears. If
 * the result is an error, `why` says so in words. Returns NULL, with words, if no result has come.
 */
PGresult *elapse__visit_ask(PGconn *connection, const char *text, int count,
                            const char *const *values, struct elapse__schema_why *why);

/* Asks for rows, like elapse__visit_ask. Returns NULL, with words, if there are none because of an
 * error; then `why` says, too, whether the connection is still there. */
PGresult *elapse__visit_rows(PGconn *connection, const char *text, int count,
                             const char *const *values, struct elapse__schema_why *why);

/* Performs a statement that sql.h has written, like elapse__visit_ask. */
PGresult *elapse__visit_perform(PGconn *connection, const struct elapse__sql *sql,
                                struct elapse__schema_why *why);

/* Returns a bigint of a result. A hash is stored as the bigint of the same bits. */
uint64_t elapse__visit_number(const PGresult *rows, int row, int column);

/* Writes host and port of the server, cut if there is no room. */
void elapse__visit_place(const PGconn *connection, char *text, size_t room);

/* Runs statements, without parameters. Returns false, with words, if one of them fails. */
bool elapse__visit_run(PGconn *connection, const char *text, struct elapse__schema_why *why);

/* Commits. Fails, with words, if no standby has confirmed the transaction in 10 seconds, or if the
 * connection was lost; the transaction may be committed all the same. */
bool elapse__visit_commit(PGconn *connection, struct elapse__schema_why *why);

#endif
