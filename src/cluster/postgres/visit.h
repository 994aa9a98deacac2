/*
 * A visit is the session of a command in the database, or of a thread that may wait. These
 * functions wait for the database: unless they say something else, at most 10 seconds to connect to
 * each host, and 12 for each statement. "Words" are a line for people in struct elapse__schema_why
 * (why.h).
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_VISIT_H
#define ELAPSE__CLUSTER_POSTGRES_VISIT_H

#include <libpq-fe.h>
#include <stdint.h>
#include <stdio.h>

#include "sql.h"
#include "why.h"

/* Writes a reason into `why`, and cuts it to one line. Returns false. */
__attribute__((format(printf, 2, 3))) bool elapse__visit_refuse(struct elapse__schema_why *why,
                                                                const char *format, ...);

/* Connects. `which` is target_session_attrs of libpq, or NULL to leave it to the connection string.
 * Statements of the session end after 10 seconds. At most one statement may be under way. Returns
 * NULL, with words, if that fails. The words have nothing of the string in them. */
PGconn *elapse__visit_open(const char *host, const char *which, struct elapse__schema_why *why);

/* Connects as elapse__visit_open does, and gives up a host after `limit_ms`, in whole seconds, 2 at
 * least, because libpq knows no shorter time. The server ends a statement of the session after
 * `limit_ms`, 10 seconds at most, and so does elapse__visit_ask_within. */
PGconn *elapse__visit_open_within(const char *host, const char *which, uint32_t limit_ms,
                                  struct elapse__schema_why *why);

/* How long the functions below wait for a statement. Those whose names end in `within` wait for
 * `limit_ms`. If no answer has come then, the connection is of no use any more. */
enum { ELAPSE__VISIT_ANSWER_MS = 12000 };

/* Performs one statement with parameters in text. Returns the result, which the caller clears. If
 * the result is an error, `why` says it in words. Returns NULL, with words, if no result has
 * come. */
PGresult *elapse__visit_ask(PGconn *connection, const char *text, int count,
                            const char *const *values, struct elapse__schema_why *why);
PGresult *elapse__visit_ask_within(PGconn *connection, const char *text, int count,
                                   const char *const *values, uint32_t limit_ms,
                                   struct elapse__schema_why *why);

/* Asks for rows, like elapse__visit_ask. Returns NULL, with words, if an error has come instead of
 * rows. Then `why` also says whether the connection is still there. */
PGresult *elapse__visit_rows(PGconn *connection, const char *text, int count,
                             const char *const *values, struct elapse__schema_why *why);

PGresult *elapse__visit_rows_within(PGconn *connection, const char *text, int count,
                                    const char *const *values, uint32_t limit_ms,
                                    struct elapse__schema_why *why);

/* Performs a statement that sql.h has written, like elapse__visit_ask. */
PGresult *elapse__visit_perform(PGconn *connection, const struct elapse__sql *sql,
                                struct elapse__schema_why *why);

/* The settings that say whether a commit waits for a standby, and the result that has their texts,
 * which the caller clears. */
struct elapse__visit_settings {
    struct elapse__partition_settings found;
    PGresult *rows;
};

/* Reads them. Fails, with words, if that fails; then there is no result. */
bool elapse__visit_read_settings(PGconn *connection, uint32_t limit_ms,
                                 struct elapse__visit_settings *settings,
                                 struct elapse__schema_why *why);

/* Returns a bigint of a result. The bigint of a hash has the same bits as the hash. */
uint64_t elapse__visit_number(const PGresult *rows, int row, int column);

/* Copies a text of a result into an array of char. Cuts the text if there is no room. */
#define ELAPSE__VISIT_COPY(copy, rows, row, column) \
    ((void)snprintf(copy, sizeof(copy), "%s", PQgetvalue(rows, (int)(row), column)))

/* Writes the host and the port of the server. Cuts the text if there is no room. */
void elapse__visit_place(const PGconn *connection, char *text, size_t room);

/* Runs statements without parameters. Returns false, with words, if one of them fails. */
bool elapse__visit_run(PGconn *connection, const char *text, struct elapse__schema_why *why);
bool elapse__visit_run_within(PGconn *connection, const char *text, uint32_t limit_ms,
                              struct elapse__schema_why *why);

/* Commits. Fails, with words, if no standby has confirmed the transaction in 10 seconds, or if the
 * connection was lost. The transaction may be committed even if this function fails. */
bool elapse__visit_commit(PGconn *connection, struct elapse__schema_why *why);
bool elapse__visit_commit_within(PGconn *connection, uint32_t limit_ms,
                                 struct elapse__schema_why *why);

#endif
