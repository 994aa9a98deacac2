/*
 * Opens the session of a command in the database, and performs statements in it.
 */
#include "visit.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "codes.h"
#include "hosts.h"

#define NS_PER_S  UINT64_C(1000000000)
#define COMMIT_NS (10 * NS_PER_S)
#define ANSWER_NS (12 * NS_PER_S) /* longer than the server's own limit for a statement */

static void ignore_notice(void *context, const PGresult *notice)
{
    (void)context, (void)notice;
}

static void note_notice(void *context, const PGresult *notice)
{
    bool *is_noticed = context;
    (void)notice;
    *is_noticed = true;
}

bool elapse__visit_refuse(struct elapse__schema_why *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    ELAPSE__ASSERT_THAT(why->text[0], !=, '\0'); /* each refusal needs a reason */
    why->text[strcspn(why->text, "\r\n")] = '\0';
    return false;
}

/* ---- connecting ---- */

/* Returns whether no pooler is between this program and the server. Called before this program sets
 * anything in the session, because other clients of a pooler would get the settings. */
static bool is_direct(PGconn *connection, struct elapse__schema_why *why)
{
    PGresult *rows = elapse__visit_ask(connection, "select pg_backend_pid()", 0, NULL, why);
    bool is_known = PQresultStatus(rows) == PGRES_TUPLES_OK && PQntuples(rows) == 1;
    bool is_same =
        is_known && elapse__visit_number(rows, 0, 0) == (uint64_t)PQbackendPID(connection);
    PQclear(rows);
    if (is_known && !is_same)
        (void)elapse__visit_refuse(why, "%s", ELAPSE__WHY_POOLER);
    return is_same;
}

PGconn *elapse__visit_open(const char *host, const char *which, struct elapse__schema_why *why)
{
    const char *words = elapse__hosts_refuse(host);
    if (words != NULL) {
        (void)elapse__visit_refuse(why, "--cluster: %s", words);
        return NULL;
    }
    const char *const names[] = {"dbname", "client_encoding", "connect_timeout",
                                 "target_session_attrs", NULL};
    const char *const values[] = {host, "UTF8", "10", which, NULL};
    /* The client must get warnings, because the server says by a warning that it has not waited for
     * a standby. If this machine vanishes, the server ends the session after a while, which
     * releases the locks of the session. */
    static const char settings[] = "set statement_timeout = '10s';"
                                   " set client_min_messages = warning;"
                                   " set idle_in_transaction_session_timeout = '60s'";
    const int dbname_is_connection_string = 1;
    PGconn *connection = PQconnectdbParams(names, values, dbname_is_connection_string);
    why->is_connected = false;
    if (connection == NULL || PQstatus(connection) != CONNECTION_OK) {
        (void)elapse__visit_refuse(why, "%s",
                                   connection == NULL ? "no memory" : PQerrorMessage(connection));
        PQfinish(connection);
        return NULL;
    }
    (void)PQsetNoticeReceiver(connection, ignore_notice, NULL);
    (void)PQsetnonblocking(connection, 1);
    if (!is_direct(connection, why) || !elapse__visit_run(connection, settings, why)) {
        PQfinish(connection);
        return NULL;
    }
    why->is_connected = true;
    return connection;
}

/* ---- statements ---- */

/* Sends what is unsent, and waits for an answer. A lost connection counts as an answer. */
static bool await(PGconn *connection, uint64_t until_ns)
{
    for (;;) {
        int unsent = PQflush(connection);
        if (unsent < 0 || PQconsumeInput(connection) == 0 || PQisBusy(connection) == 0)
            return true;
        uint64_t now_ns = elapse__os_monotonic_ns();
        struct elapse__os_watch watch = {
            .file = PQsocket(connection), .for_data = true, .for_room = unsent > 0};
        if (now_ns >= until_ns)
            return false;
        (void)elapse__os_wait(&watch, 1, until_ns - now_ns);
    }
}

/* Returns the last result of the statements that were sent, or the first error. */
static PGresult *take_last(PGconn *connection, struct elapse__schema_why *why)
{
    uint64_t until_ns = elapse__os_monotonic_ns() + ANSWER_NS;
    PGresult *last = NULL;

    for (;;) {
        if (!await(connection, until_ns)) {
            PQclear(last);
            (void)elapse__visit_refuse(why, "the database has not answered in %u s",
                                       (unsigned)(ANSWER_NS / NS_PER_S));
            return NULL;
        }
        PGresult *next = PQgetResult(connection);
        if (next == NULL)
            break;
        PQclear(last);
        last = next;
    }
    ExecStatusType status = PQresultStatus(last);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        (void)elapse__visit_refuse(why, "%s", PQerrorMessage(connection));
    return last;
}

/* Returns the result of a statement. `is_sent` is the result of the libpq call that sent the
 * statement. */
static PGresult *answer(PGconn *connection, int is_sent, struct elapse__schema_why *why)
{
    if (is_sent == 1)
        return take_last(connection, why);
    (void)elapse__visit_refuse(why, "%s", PQerrorMessage(connection));
    return NULL;
}

PGresult *elapse__visit_perform(PGconn *connection, const struct elapse__sql *sql,
                                struct elapse__schema_why *why)
{
    const int as_text = 0;
    ELAPSE__ASSERT_THAT(sql->count, <=, ELAPSE__SQL_PARAMETERS);

    return answer(connection,
                  PQsendQueryParams(connection, sql->text, sql->count, sql->types, sql->values,
                                    sql->sizes, sql->are_bytes, as_text),
                  why);
}

PGresult *elapse__visit_ask(PGconn *connection, const char *text, int count,
                            const char *const *values, struct elapse__schema_why *why)
{
    const int as_text = 0;
    ELAPSE__ASSERT(count == 0 || values != NULL);

    return answer(connection,
                  PQsendQueryParams(connection, text, count, NULL, values, NULL, NULL, as_text),
                  why);
}

PGresult *elapse__visit_rows(PGconn *connection, const char *text, int count,
                             const char *const *values, struct elapse__schema_why *why)
{
    PGresult *rows = elapse__visit_ask(connection, text, count, values, why);
    if (PQresultStatus(rows) == PGRES_TUPLES_OK)
        return rows;
    if (elapse__database_has_code(rows, ELAPSE__CODE_LOCKED))
        (void)elapse__visit_refuse(why, "another session holds the row: it may be an earlier run "
                                        "of this, which waits until a standby has its change");
    why->is_connected = PQstatus(connection) == CONNECTION_OK;
    PQclear(rows);
    return NULL;
}

bool elapse__visit_run(PGconn *connection, const char *text, struct elapse__schema_why *why)
{
    PGresult *result = answer(connection, PQsendQuery(connection, text), why);
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* ---- what results say ---- */

uint64_t elapse__visit_number(const PGresult *rows, int row, int column)
{
    ELAPSE__ASSERT_THAT(row, <, PQntuples(rows));
    ELAPSE__ASSERT_THAT(column, <, PQnfields(rows));
    return (uint64_t)strtoll(PQgetvalue(rows, row, column), NULL, 10);
}

void elapse__visit_place(const PGconn *connection, char *text, size_t room)
{
    ELAPSE__ASSERT_THAT(room, >, 0);
    (void)snprintf(text, room, "%s, port %s", PQhost(connection), PQport(connection));
}

/* ---- commits ---- */

/* Sends COMMIT. Returns whether the answer came in time. */
static bool commit(PGconn *connection, bool *is_done)
{
    if (PQsendQuery(connection, "commit") == 1 &&
        !await(connection, elapse__os_monotonic_ns() + COMMIT_NS))
        return false;
    PGresult *result = PQgetResult(connection);
    *is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    PQclear(*is_done ? PQgetResult(connection) : NULL); /* NULL, which ends the statement */
    return true;
}

/* A notice that comes with the commit says that the server stopped waiting for a standby. The
 * database has no time limit for that wait, so this function has one. */
bool elapse__visit_commit(PGconn *connection, struct elapse__schema_why *why)
{
    bool is_noticed = false, is_done = false;
    ELAPSE__ASSERT_THAT(PQtransactionStatus(connection), !=, PQTRANS_IDLE);
    (void)PQsetNoticeReceiver(connection, note_notice, &is_noticed);
    bool is_answered = commit(connection, &is_done);
    (void)PQsetNoticeReceiver(connection, ignore_notice, NULL);
    if (is_answered && PQstatus(connection) != CONNECTION_OK)
        return elapse__visit_refuse(why, "the connection was lost during the commit, so nobody "
                                         "knows whether the change was made; run this again");
    if (!is_answered || (is_done && is_noticed))
        return elapse__visit_refuse(why,
                                    "no synchronous standby has confirmed the change in %u s,"
                                    " so it may be lost; run this again when there is one",
                                    (unsigned)(COMMIT_NS / NS_PER_S));
    return is_done || elapse__visit_refuse(why, "%s", PQerrorMessage(connection));
}
