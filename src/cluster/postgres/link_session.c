/*
 * Connects to the database, sends statements and receives results.
 *
 * The connection is in pipeline mode. Each statement is a query and a sync, which makes it a
 * transaction of its own (W1). A fenced write is two queries, each with its sync. libpq gets both
 * before this file waits for an answer. The database runs the second one when the first is
 * committed (W2). libpq sends the beginning of a message of more than 8 KiB at once, and keeps the
 * rest until the sync. So the first bytes of a group may leave early. They do nothing until the
 * rest comes with the sync.
 */
#include "link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "../inbox/inbox.h"
#include "hosts.h"
#include "link_results.h"
#include "names.h"

/* Notes that a notice came (W4 of statements.h). Called by libpq. */
static void take_notice(void *context, const PGresult *notice)
{
    struct elapse__database_link *link = context;
    link->noticed = true;
    elapse__database_link_note(link, PQresultErrorMessage(notice));
}

/* ---- life ---- */

static char *copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copied = malloc(bytes);
    return copied != NULL ? memcpy(copied, text, bytes) : NULL;
}

static bool copy_options(struct elapse__database_link *link,
                         const struct elapse__database_link_options *options)
{
    link->texts[0] = copy(options->queue);
    link->texts[1] = copy(options->me);
    link->texts[2] = copy(options->address);
    link->place = (struct elapse__sql_place){
        .queue = link->texts[0],
        .partition = options->partition,
        .me = link->texts[1],
        .address = link->texts[2],
        .lease_ms = options->lease_ms,
    };
    link->hosts = calloc(options->host_count, sizeof *link->hosts);
    if (link->place.queue == NULL || link->place.me == NULL || link->place.address == NULL ||
        link->hosts == NULL)
        return false;
    for (; link->host_count < options->host_count; link->host_count++) {
        link->hosts[link->host_count] = copy(options->hosts[link->host_count]);
        if (link->hosts[link->host_count] == NULL)
            return false;
    }
    return true;
}

struct elapse__database_link *
elapse__database_link_new(const struct elapse__database_link_options *options)
{
    ELAPSE__ASSERT_THAT(options->host_count, >, 0);
    ELAPSE__ASSERT(elapse__database_queue_name_is_valid(options->queue));
    ELAPSE__ASSERT(options->me[0] != '\0');
    struct elapse__database_link *link = calloc(1, sizeof *link);
    if (link == NULL)
        return NULL;
    if (!copy_options(link, options)) {
        elapse__database_link_free(link);
        return NULL;
    }
    return link;
}

static void forget_results(struct elapse__database_link *link)
{
    for (size_t i = 0; i < 2; i++) {
        PQclear(link->results[i]);
        link->results[i] = NULL;
    }
}

/* Closes the connection. This does not wait, even if a statement is half sent, because the socket
 * is non-blocking. */
static void disconnect(struct elapse__database_link *link)
{
    PQfinish(link->connection);
    link->connection = NULL;
    link->listens = false;
}

void elapse__database_link_close(struct elapse__database_link *link)
{
    forget_results(link);
    disconnect(link);
    link->state = ELAPSE__DATABASE_LINK_IS_IDLE;
}

bool elapse__database_link_is_free(const struct elapse__database_link *link)
{
    return link->connection != NULL && link->state == ELAPSE__DATABASE_LINK_IS_IDLE &&
           PQstatus(link->connection) == CONNECTION_OK;
}

void elapse__database_link_free(struct elapse__database_link *link)
{
    forget_results(link);
    disconnect(link);
    for (unsigned i = 0; i < link->host_count; i++)
        free(link->hosts[i]);
    free(link->hosts);
    for (size_t i = 0; i < 3; i++)
        free(link->texts[i]);
    free(link);
}

/* ---- connecting ---- */

static bool names_several(const PQconninfoOption *option)
{
    bool names_hosts = strcmp(option->keyword, "host") == 0 ||
                       strcmp(option->keyword, "hostaddr") == 0 ||
                       strcmp(option->keyword, "port") == 0;
    return names_hosts && option->val != NULL && strchr(option->val, ',') != NULL;
}

const char *elapse__database_link_refuse_host(const char *host)
{
    const char *words = elapse__hosts_refuse(host);
    if (words != NULL)
        return words;
    PQconninfoOption *options = PQconninfoParse(host, NULL);
    if (options == NULL)
        return "there is no memory";
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++)
        if (names_several(option))
            words = "it names several hosts: give one connection string for each";
    PQconninfoFree(options);
    return words;
}

static void fail(struct elapse__database_link *link)
{
    if (link->connection != NULL)
        elapse__database_link_note(link, PQerrorMessage(link->connection));
    link->state = ELAPSE__DATABASE_LINK_HAS_FAILED;
}

static void begin_connect(struct elapse__database_link *link, unsigned host)
{
    ELAPSE__ASSERT_THAT(host, <, link->host_count);
    ELAPSE__ASSERT(link->results[0] == NULL && link->results[1] == NULL);
    const char *const names[] = {"dbname", "client_encoding", NULL};
    const char *const values[] = {link->hosts[host], "UTF8", NULL};
    const int dbname_is_connection_string = 1;

    disconnect(link);
    link->message[0] = '\0'; /* the message was that of another server */
    link->connection = PQconnectStartParams(names, values, dbname_is_connection_string);
    if (link->connection == NULL || PQstatus(link->connection) == CONNECTION_BAD) {
        fail(link);
        return;
    }
    (void)PQsetNoticeReceiver(link->connection, take_notice, link);
    link->state = ELAPSE__DATABASE_LINK_IS_CONNECTING;
    link->polling = PGRES_POLLING_WRITING;
}

/* ---- sending ---- */

static bool send_query(struct elapse__database_link *link, const struct elapse__sql *sql)
{
    const int in_binary = 1;
    ELAPSE__ASSERT_THAT(PQpipelineStatus(link->connection), ==, PQ_PIPELINE_ON); /* W1 */
    return PQsendQueryParams(link->connection, sql->text, sql->count, sql->types, sql->values,
                             sql->sizes, sql->are_bytes, in_binary) == 1;
}

/* Sends the query that asks for the notifications of the inbox. It has no parameters: the grammar
 * of LISTEN takes none. The name of a queue needs no quoting inside of quotes (names.h). */
static bool send_listen(struct elapse__database_link *link)
{
    char text[ELAPSE__DATABASE_NAME_BYTES + sizeof "listen \"\""];
    struct elapse__database_name channel =
        elapse__database_session_name(link->place.queue, link->place.partition);
    (void)snprintf(text, sizeof text, "listen \"%s\"", channel.text);
    return PQsendQueryParams(link->connection, text, 0, NULL, NULL, NULL, NULL, 0) == 1;
}

static bool send_look(struct elapse__database_link *link)
{
    const int in_binary = 1;
    ELAPSE__ASSERT(elapse__sql_is_fenced_write(link->kind)); /* W2 */
    return PQsendQueryParams(link->connection, elapse__sql_look_again, 0, NULL, NULL, NULL, NULL,
                             in_binary) == 1 &&
           PQpipelineSync(link->connection) == 1;
}

static bool flush(struct elapse__database_link *link)
{
    int left = PQflush(link->connection);
    link->wants_room = left > 0;
    return left >= 0;
}

/* Sends the rest of a transaction whose first query was sent. A poll of the inbox asks for
 * notifications until the session gets them: behind the query, because the result of the query is
 * the one that counts. What was committed before the session listens comes with one of the next
 * polls. */
static bool send_rest(struct elapse__database_link *link)
{
    link->asks = link->kind == ELAPSE__STATEMENT_KINDS && !link->listens;
    return (!link->asks || send_listen(link)) && PQpipelineSync(link->connection) == 1;
}

/* Sends the SQL. `is_written` says whether there was memory for the SQL. */
static void send_sql(struct elapse__database_link *link, struct elapse__sql *sql, bool is_written,
                     bool has_look)
{
    bool is_sent = is_written && send_query(link, sql) && send_rest(link) &&
                   (!has_look || send_look(link)) && flush(link);
    elapse__sql_free(sql);
    link->syncs = has_look ? 2 : 1;
    link->syncs_taken = 0;
    link->had_none = false;
    link->state = ELAPSE__DATABASE_LINK_IS_BUSY;
    if (!is_sent)
        fail(link);
}

static void send_statement(struct elapse__database_link *link,
                           const struct elapse__statement *statement)
{
    struct elapse__sql sql;
    bool is_written = elapse__sql_write(&sql, &link->place, statement);
    send_sql(link, &sql, is_written, elapse__sql_is_fenced_write(statement->kind));
}

void elapse__database_link_begin(struct elapse__database_link *link,
                                 const struct elapse__statement *statement)
{
    bool connects = statement->kind == ELAPSE__STATEMENT_CONNECT;
    ELAPSE__ASSERT_THAT(statement->kind, <, ELAPSE__STATEMENT_KINDS);
    ELAPSE__ASSERT(connects || link->state == ELAPSE__DATABASE_LINK_IS_IDLE);
    forget_results(link);
    link->kind = statement->kind;
    link->serial = statement->serial;
    if (connects)
        begin_connect(link, statement->host);
    else if (!elapse__database_link_is_free(link))
        fail(link);
    else
        send_statement(link, statement);
}

void elapse__database_link_begin_inbox(struct elapse__database_link *link,
                                       const struct elapse__inbox_poll *poll)
{
    struct elapse__sql sql;
    ELAPSE__ASSERT(link->state == ELAPSE__DATABASE_LINK_IS_IDLE);
    ELAPSE__ASSERT(elapse__database_link_is_free(link));
    forget_results(link);
    link->kind = ELAPSE__STATEMENT_KINDS;
    link->serial = poll->serial;
    elapse__sql_write_poll(&sql, &link->place, poll->rows_max, poll->bytes_max, poll->relief);
    send_sql(link, &sql, true, false);
}

/* Sends the SQL that begins the session (W3). Notices of the login are ignored, because they say
 * nothing about a commit. */
static void begin_session(struct elapse__database_link *link)
{
    ELAPSE__ASSERT_THAT(link->kind, ==, ELAPSE__STATEMENT_CONNECT);
    link->noticed = false;
    link->place.backend = (uint32_t)PQbackendPID(link->connection);
    if (PQsetnonblocking(link->connection, 1) != 0 || PQenterPipelineMode(link->connection) != 1) {
        fail(link);
        return;
    }
    send_statement(link, &(struct elapse__statement){.kind = ELAPSE__STATEMENT_CONNECT});
}

/* ---- receiving ---- */

void elapse__database_link_watch(const struct elapse__database_link *link,
                                 struct elapse__os_watch *watch)
{
    bool connects = link->state == ELAPSE__DATABASE_LINK_IS_CONNECTING;
    bool is_busy = link->state == ELAPSE__DATABASE_LINK_IS_BUSY;
    ELAPSE__ASSERT(!is_busy || link->syncs > 0);
    bool listens = link->listens && elapse__database_link_is_free(link);
    *watch = (struct elapse__os_watch){.file = -1};
    if (!connects && !is_busy && !listens)
        return;
    watch->file = PQsocket(link->connection);
    watch->for_data = is_busy || listens || link->polling == PGRES_POLLING_READING;
    watch->for_room =
        (is_busy && link->wants_room) || (connects && link->polling == PGRES_POLLING_WRITING);
}

static void go_on_connecting(struct elapse__database_link *link)
{
    ELAPSE__ASSERT_THAT(link->kind, ==, ELAPSE__STATEMENT_CONNECT);
    link->polling = PQconnectPoll(link->connection);
    if (link->polling == PGRES_POLLING_FAILED)
        fail(link);
    else if (link->polling == PGRES_POLLING_OK)
        begin_session(link);
}

/* Takes one result. Returns false if libpq has no more results although some are missing. */
static bool take_one(struct elapse__database_link *link)
{
    ELAPSE__ASSERT_THAT(link->syncs_taken, <, link->syncs);
    PGresult *result = PQgetResult(link->connection);
    PGresult **place = &link->results[link->syncs_taken];
    if (result == NULL) {
        /* libpq returns NULL once between the results of two statements. */
        bool is_first = !link->had_none;
        link->had_none = true;
        return is_first;
    }
    link->had_none = false;
    if (PQresultStatus(result) == PGRES_PIPELINE_SYNC)
        link->syncs_taken++;
    /* An error of the query before undoes LISTEN: then its result is another one. */
    if (*place != NULL && link->asks && PQresultStatus(result) == PGRES_COMMAND_OK)
        link->listens = true;
    if (PQresultStatus(result) == PGRES_PIPELINE_SYNC || *place != NULL)
        PQclear(result);
    else
        *place = result;
    return true;
}

/* Takes the results that have come. Returns false if the connection is lost. libpq then makes
 * results of its own, which must not count as results of the server. */
static bool take_results(struct elapse__database_link *link)
{
    while (link->syncs_taken < link->syncs && !PQisBusy(link->connection))
        if (PQstatus(link->connection) != CONNECTION_OK || !take_one(link))
            return false;
    return true;
}

/* Takes the notifications that libpq has read. */
static void take_notifications(struct elapse__database_link *link)
{
    for (;;) {
        PGnotify *notification = PQnotifies(link->connection);
        if (notification == NULL)
            return;
        link->was_told = true;
        PQfreemem(notification);
    }
}

/* Reads what comes while no statement is under way. If the connection is lost, it is not free any
 * more: this thread does not wait for it then, and the next statement is LOST. */
static void hear(struct elapse__database_link *link)
{
    ELAPSE__ASSERT(link->listens);
    if (PQconsumeInput(link->connection) == 1)
        take_notifications(link);
}

bool elapse__database_link_was_told(struct elapse__database_link *link)
{
    bool was_told = link->was_told;
    link->was_told = false;
    return was_told;
}

/* Sends what is unsent, then takes what has come. The order matters: libpq may read while it sends,
 * and bytes that libpq has read do not make the socket ready again. */
static void receive(struct elapse__database_link *link)
{
    bool is_whole = flush(link) && PQconsumeInput(link->connection) == 1;
    if (!take_results(link) || !is_whole)
        fail(link);
    else
        take_notifications(link);
}

/* Stores the result of the statement. Requires that the result has come. */
static void give(struct elapse__database_link *link, struct elapse__statement_result *result)
{
    ELAPSE__ASSERT_THAT(link->state, !=, ELAPSE__DATABASE_LINK_IS_IDLE);
    *result = (struct elapse__statement_result){.serial = link->serial};
    if (link->state == ELAPSE__DATABASE_LINK_HAS_FAILED)
        result->outcome = ELAPSE__OUTCOME_LOST;
    else
        elapse__database_link_read_results(link, result);
    result->noticed = link->noticed;
    link->noticed = false;
    link->state = ELAPSE__DATABASE_LINK_IS_IDLE;
}

bool elapse__database_link_poll(struct elapse__database_link *link, bool is_ready,
                                struct elapse__statement_result *result)
{
    if (is_ready && link->state == ELAPSE__DATABASE_LINK_IS_CONNECTING)
        go_on_connecting(link);
    else if (is_ready && link->state == ELAPSE__DATABASE_LINK_IS_BUSY)
        receive(link);
    else if (is_ready && link->listens && elapse__database_link_is_free(link))
        hear(link);
    bool has_all = link->state == ELAPSE__DATABASE_LINK_IS_BUSY && link->syncs_taken == link->syncs;
    if (link->state != ELAPSE__DATABASE_LINK_HAS_FAILED && !has_all)
        return false;
    give(link, result);
    return true;
}
