/*
 * A session of a command.
 */
#include "visit.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../../os/program.h"

#define COMMIT_NS UINT64_C(10000000000)

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
    why->text[strcspn(why->text, "\r\n")] = '\0';
    return false;
}

PGconn *elapse__visit_open(const char *host, const char *which, struct elapse__schema_why *why)
{
    const char *const names[] = {"dbname", "client_encoding", "connect_timeout",
                                 "target_session_attrs", NULL};
    const char *const values[] = {host, "UTF8", "10", which, NULL};
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
    why->is_connected = true;
    return connection;
}

bool elapse__visit_run(PGconn *connection, const char *text, struct elapse__schema_why *why)
{
    PGresult *result = PQexec(connection, text);
    ExecStatusType status = PQresultStatus(result);
    bool is_done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    PQclear(result);
    return is_done || elapse__visit_refuse(why, "%s", PQerrorMessage(connection));
}

/* ---- commits ---- */

/* Waits for the answer to what was sent. The database itself has no limit for a commit's wait. */
static bool await(PGconn *connection, uint64_t until_ns)
{
    while (PQconsumeInput(connection) == 1 && PQisBusy(connection) == 1) {
        uint64_t now_ns = elapse__os_monotonic_ns();
        struct elapse__os_watch watch = {.file = PQsocket(connection), .for_data = true};
        if (now_ns >= until_ns)
            return false;
        (void)elapse__os_wait(&watch, 1, until_ns - now_ns);
    }
    return true;
}

/* With a notice that came with it, the wait for a standby was cut short. */
bool elapse__visit_commit(PGconn *connection, struct elapse__schema_why *why)
{
    bool is_noticed = false;
    (void)PQsetNoticeReceiver(connection, note_notice, &is_noticed);
    bool is_answered = PQsendQuery(connection, "commit") == 1 &&
                       await(connection, elapse__os_monotonic_ns() + COMMIT_NS);
    PGresult *result = is_answered ? PQgetResult(connection) : NULL;
    bool is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    if (!is_answered || (is_done && is_noticed))
        return elapse__visit_refuse(why,
                                    "no synchronous standby has confirmed the tables in %u s,"
                                    " so they may be lost; run this again when there is one",
                                    (unsigned)(COMMIT_NS / 1000000000));
    return is_done || elapse__visit_refuse(why, "%s", PQerrorMessage(connection));
}
