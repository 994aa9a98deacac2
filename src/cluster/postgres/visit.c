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

#define NS_PER_MS UINT64_C(1000000)

/* The server's own limit for a statement. ELAPSE__VISIT_ANSWER_MS is longer. */
enum { STATEMENT_MS = 10000, COMMIT_MS = 10000, MS_PER_S = 1000, CONNECT_S = 10 };

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
static bool is_direct(PGconn *connection, uint32_t limit_ms, struct elapse__schema_why *why)
{
    PGresult *rows =
        elapse__visit_ask_within(connection, "select pg_backend_pid()", 0, NULL, limit_ms, why);
    bool is_known = PQresultStatus(rows) == PGRES_TUPLES_OK && PQntuples(rows) == 1;
    bool is_same =
        is_known && elapse__visit_number(rows, 0, 0) == (uint64_t)PQbackendPID(connection);
    PQclear(rows);
    if (is_known && !is_same)
        (void)elapse__visit_refuse(why, "%s", ELAPSE__WHY_POOLER);
    return is_same;
}

/* The client must get warnings, because the server says by a warning that it has not waited for a
 * standby. If this machine vanishes, the server ends the session after a while, which releases the
 * locks of the session. */
static bool set_up(PGconn *connection, uint32_t limit_ms, struct elapse__schema_why *why)
{
    char settings[160];

    (void)snprintf(settings, sizeof settings,
                   "set statement_timeout = %u; set client_min_messages = warning;"
                   " set idle_in_transaction_session_timeout = '60s'",
                   limit_ms < STATEMENT_MS ? (unsigned)limit_ms : (unsigned)STATEMENT_MS);
    return elapse__visit_run_within(connection, settings, limit_ms, why);
}

PGconn *elapse__visit_open(const char *host, const char *which, struct elapse__schema_why *why)
{
    return elapse__visit_open_within(host, which, ELAPSE__VISIT_ANSWER_MS, why);
}

PGconn *elapse__visit_open_within(const char *host, const char *which, uint32_t limit_ms,
                                  struct elapse__schema_why *why)
{
    const uint32_t limit_s = (limit_ms + MS_PER_S - 1) / MS_PER_S;
    char seconds[16];
    const char *words = elapse__hosts_refuse(host);
    if (words != NULL) {
        (void)elapse__visit_refuse(why, "--cluster: %s", words);
        return NULL;
    }
    const char *const names[] = {"dbname", "client_encoding", "connect_timeout",
                                 "target_session_attrs", NULL};
    const char *const values[] = {host, "UTF8", seconds, which, NULL};
    ELAPSE__ASSERT_THAT(limit_ms, >, 0);
    (void)snprintf(seconds, sizeof seconds, "%u",
                   limit_s < CONNECT_S ? (unsigned)limit_s : (unsigned)CONNECT_S);
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
    if (!is_direct(connection, limit_ms, why) || !set_up(connection, limit_ms, why)) {
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
static PGresult *take_last(PGconn *connection, uint32_t limit_ms, struct elapse__schema_why *why)
{
    uint64_t until_ns = elapse__os_monotonic_ns() + limit_ms * NS_PER_MS;
    PGresult *last = NULL;

    for (;;) {
        if (!await(connection, until_ns)) {
            PQclear(last);
            (void)elapse__visit_refuse(why, "the database has not answered in %.3g s",
                                       (double)limit_ms / MS_PER_S);
            return NULL;
        }
        PGresult *next = PQgetResult(connection);
        if (next == NULL)
            break;
        PQclear(last);
        last = next;
    }
    ExecStatusType status = PQresultStatus(last);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        (void)elapse__visit_refuse(why, "%s", PQerrorMessage(connection));
        why->lacks_right = elapse__database_has_code(last, ELAPSE__CODE_NO_RIGHT);
    }
    return last;
}

/* Returns the result of a statement. `is_sent` is the result of the libpq call that sent the
 * statement. */
static PGresult *answer(PGconn *connection, int is_sent, uint32_t limit_ms,
                        struct elapse__schema_why *why)
{
    if (is_sent == 1)
        return take_last(connection, limit_ms, why);
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
                  ELAPSE__VISIT_ANSWER_MS, why);
}

PGresult *elapse__visit_ask_within(PGconn *connection, const char *text, int count,
                                   const char *const *values, uint32_t limit_ms,
                                   struct elapse__schema_why *why)
{
    const int as_text = 0;
    ELAPSE__ASSERT(count == 0 || values != NULL);

    return answer(connection,
                  PQsendQueryParams(connection, text, count, NULL, values, NULL, NULL, as_text),
                  limit_ms, why);
}

PGresult *elapse__visit_ask(PGconn *connection, const char *text, int count,
                            const char *const *values, struct elapse__schema_why *why)
{
    return elapse__visit_ask_within(connection, text, count, values, ELAPSE__VISIT_ANSWER_MS, why);
}

PGresult *elapse__visit_rows(PGconn *connection, const char *text, int count,
                             const char *const *values, struct elapse__schema_why *why)
{
    return elapse__visit_rows_within(connection, text, count, values, ELAPSE__VISIT_ANSWER_MS, why);
}

PGresult *elapse__visit_rows_within(PGconn *connection, const char *text, int count,
                                    const char *const *values, uint32_t limit_ms,
                                    struct elapse__schema_why *why)
{
    PGresult *rows = elapse__visit_ask_within(connection, text, count, values, limit_ms, why);
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
    return elapse__visit_run_within(connection, text, ELAPSE__VISIT_ANSWER_MS, why);
}

bool elapse__visit_run_within(PGconn *connection, const char *text, uint32_t limit_ms,
                              struct elapse__schema_why *why)
{
    PGresult *result = answer(connection, PQsendQuery(connection, text), limit_ms, why);
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

bool elapse__visit_read_settings(PGconn *connection, uint32_t limit_ms,
                                 struct elapse__visit_settings *settings,
                                 struct elapse__schema_why *why)
{
    settings->rows =
        elapse__visit_rows_within(connection, elapse__sql_look_again, 0, NULL, limit_ms, why);
    if (settings->rows != NULL && PQntuples(settings->rows) != 1) {
        (void)elapse__visit_refuse(why, "the database does not say what it is");
        PQclear(settings->rows);
        settings->rows = NULL;
    }
    if (settings->rows == NULL)
        return false;
    settings->found = (struct elapse__partition_settings){
        .standby_names = PQgetvalue(settings->rows, 0, 0),
        .commit = PQgetvalue(settings->rows, 0, 1),
        .loaded_us = (int64_t)elapse__visit_number(settings->rows, 0, 2),
    };
    return true;
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
static bool commit(PGconn *connection, uint32_t limit_ms, bool *is_done)
{
    if (PQsendQuery(connection, "commit") == 1 &&
        !await(connection, elapse__os_monotonic_ns() + limit_ms * NS_PER_MS))
        return false;
    PGresult *result = PQgetResult(connection);
    *is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    PQclear(*is_done ? PQgetResult(connection) : NULL); /* NULL, which ends the statement */
    return true;
}

bool elapse__visit_commit(PGconn *connection, struct elapse__schema_why *why)
{
    return elapse__visit_commit_within(connection, COMMIT_MS, why);
}

/* A notice that comes with the commit says that the server stopped waiting for a standby. The
 * database has no time limit for that wait, so this function has one. */
bool elapse__visit_commit_within(PGconn *connection, uint32_t limit_ms,
                                 struct elapse__schema_why *why)
{
    bool is_noticed = false, is_done = false;
    ELAPSE__ASSERT_THAT(PQtransactionStatus(connection), !=, PQTRANS_IDLE);
    (void)PQsetNoticeReceiver(connection, note_notice, &is_noticed);
    bool is_answered = commit(connection, limit_ms, &is_done);
    (void)PQsetNoticeReceiver(connection, ignore_notice, NULL);
    if (is_answered && PQstatus(connection) != CONNECTION_OK)
        return elapse__visit_refuse(why, "the connection was lost during the commit, so nobody "
                                         "knows whether the change was made; run this again");
    if (!is_answered || (is_done && is_noticed))
        return elapse__visit_refuse(why,
                                    "no synchronous standby has confirmed the change in %.3g s,"
                                    " so it may be lost; run this again when there is one",
                                    (double)limit_ms / MS_PER_S);
    return is_done || elapse__visit_refuse(why, "%s", PQerrorMessage(connection));
}
