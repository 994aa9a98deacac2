/*
 * Performs what an operator has decided about lost groups.
 */
#include "repair.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "names.h"
#include "sql.h"
#include "visit.h"

enum {
    NUMBER_BYTES = 24,

    /* By how much a repair raises the epoch. A database that lost groups may have lost many
     * take-overs, too, but nodes know the epochs of these. The new epoch has to be above all of
     * them. Epochs that are left out do no harm. */
    EPOCH_LEAP = 1000000
};

struct elapse__repair {
    PGconn *connection;
    struct elapse__schema_queue queue;
    char name[ELAPSE__QUEUE_NAME_BYTES];
};

/* A number as the text of a parameter. A hash becomes the bigint that has the same bits. */
struct number {
    char text[NUMBER_BYTES];
};

static struct number number_of(uint64_t value)
{
    struct number number;
    (void)snprintf(number.text, sizeof number.text, "%" PRId64, (int64_t)value);
    return number;
}

/* ---- the session ---- */

static bool begin(struct elapse__repair *repair, const char *host, const char *queue,
                  struct elapse__schema_why *why)
{
    static const char settings[] = "set lock_timeout = '5s'; set search_path = pg_catalog;"
                                   " set synchronous_commit = on";
    (void)snprintf(repair->name, sizeof repair->name, "%s", queue);
    repair->connection = elapse__schema_open(host, queue, settings, &repair->queue, why);
    return repair->connection != NULL;
}

struct elapse__repair *elapse__repair_open(const char *host, const char *queue,
                                           struct elapse__schema_why *why)
{
    struct elapse__repair *repair = calloc(1, sizeof *repair);
    if (repair == NULL) {
        (void)elapse__visit_refuse(why, "no memory");
        return NULL;
    }
    if (begin(repair, host, queue, why))
        return repair;
    elapse__repair_close(repair);
    return NULL;
}

void elapse__repair_close(struct elapse__repair *repair)
{
    if (repair != NULL)
        PQfinish(repair->connection);
    free(repair);
}

const struct elapse__schema_queue *elapse__repair_queue(const struct elapse__repair *repair)
{
    return &repair->queue;
}

/* ---- looking ---- */

static void take_row(const PGresult *rows, struct elapse__repair_row *row)
{
    ELAPSE__ASSERT_THAT(PQnfields(rows), ==, 7);
    row->epoch = elapse__visit_number(rows, 0, 0);
    row->beat = elapse__visit_number(rows, 0, 1);
    row->last_group = elapse__visit_number(rows, 0, 2);
    row->last_hash = elapse__visit_number(rows, 0, 3);
    row->tail = elapse__visit_number(rows, 0, 4);
    (void)snprintf(row->stopped, sizeof row->stopped, "%s", PQgetvalue(rows, 0, 5));
    (void)snprintf(row->missed, sizeof row->missed, "%s", PQgetvalue(rows, 0, 6));
}

bool elapse__repair_look(struct elapse__repair *repair, uint32_t partition,
                         struct elapse__repair_row *row, struct elapse__schema_why *why)
{
    static const char text[] = "select epoch, beat, last_group, last_hash, tail, stopped, missed"
                               " from elapse.partition where queue = $1 and part = $2";
    const struct number number = number_of(partition);
    ELAPSE__ASSERT_THAT(partition, <, repair->queue.partitions);
    PGresult *rows = elapse__visit_rows(repair->connection, text, 2,
                                        (const char *const[]){repair->name, number.text}, why);
    if (rows == NULL)
        return false;
    bool is_there = PQntuples(rows) == 1;
    if (is_there)
        take_row(rows, row);
    PQclear(rows);
    return is_there ||
           elapse__visit_refuse(why, "queue %s lacks partition %" PRIu32, repair->name, partition);
}

/* Reads the hash of a group. The group after it has that hash as the hash of its predecessor. */
static bool read_hash(struct elapse__repair *repair, uint32_t partition, uint64_t group,
                      uint64_t *hash, bool *is_there, struct elapse__schema_why *why)
{
    const struct number number = number_of(group + 1);
    char text[128 + sizeof(struct elapse__database_name)];
    (void)snprintf(text, sizeof text,
                   "select hash_of_previous from elapse.%s where group_number = $1",
                   elapse__database_log_table_name(repair->name, partition,
                                                   (group + 1) / ELAPSE__LOG_TABLE_GROUPS)
                       .text);
    PGresult *rows =
        elapse__visit_rows(repair->connection, text, 1, (const char *const[]){number.text}, why);
    if (rows == NULL)
        return false;
    ELAPSE__ASSERT_THAT(PQntuples(rows), <=, 1);
    *is_there = PQntuples(rows) == 1;
    if (*is_there)
        *hash = elapse__visit_number(rows, 0, 0);
    PQclear(rows);
    return true;
}

bool elapse__repair_hash(struct elapse__repair *repair, uint32_t partition,
                         const struct elapse__repair_row *row, uint64_t group, uint64_t *hash,
                         bool *is_there, struct elapse__schema_why *why)
{
    ELAPSE__ASSERT_THAT(partition, <, repair->queue.partitions);
    *is_there = group == row->last_group;
    *hash = row->last_hash;
    if (group >= row->last_group || group + 1 < row->tail)
        return true;
    return read_hash(repair, partition, group, hash, is_there, why);
}

/* ---- the server ---- */

/* Performs a statement without parameters that gives one row. */
static PGresult *ask_for_row(struct elapse__repair *repair, const char *text,
                             struct elapse__schema_why *why)
{
    PGresult *rows = elapse__visit_rows(repair->connection, text, 0, NULL, why);
    if (rows == NULL || PQntuples(rows) == 1)
        return rows;
    (void)elapse__visit_refuse(why, "the database does not say what it is");
    PQclear(rows);
    return NULL;
}

bool elapse__repair_server(struct elapse__repair *repair, struct elapse__repair_server *server,
                           struct elapse__schema_why *why)
{
    static const char text[] =
        "select system_identifier, " ELAPSE__SQL_TIMELINE " from pg_control_system()";
    PGresult *rows = ask_for_row(repair, text, why);
    if (rows == NULL)
        return false;
    server->system_identifier = elapse__visit_number(rows, 0, 0);
    server->timeline = (uint32_t)elapse__visit_number(rows, 0, 1);
    PQclear(rows);
    elapse__visit_place(repair->connection, server->place, sizeof server->place);
    return true;
}

bool elapse__repair_knows(const struct elapse__repair_server *server, uint64_t system_identifier,
                          uint32_t timeline, struct elapse__schema_why *why)
{
    const struct elapse__partition_session session = {
        .system_identifier = server->system_identifier, .timeline = server->timeline};
    switch (elapse__trust_session(&session, system_identifier, timeline)) {
    case ELAPSE__COMPLAINT_NONE:
        return true;
    case ELAPSE__COMPLAINT_OLD_TIMELINE:
        return elapse__visit_refuse(why,
                                    "this server is a primary of the past: its timeline is %" PRIu32
                                    ", and the node has seen %" PRIu32
                                    ". Name the right one alone in --cluster",
                                    server->timeline, timeline);
    default:
        return elapse__visit_refuse(why, "this is not the database that the node used: it was made "
                                         "by another initdb");
    }
}

/* ---- trust ---- */

static bool read_settings(struct elapse__repair *repair, struct elapse__visit_settings *settings,
                          struct elapse__schema_why *why)
{
    return elapse__visit_read_settings(repair->connection, ELAPSE__VISIT_ANSWER_MS, settings, why);
}

static bool judge(enum elapse__complaint complaint, struct elapse__schema_why *why)
{
    switch (complaint) {
    case ELAPSE__COMPLAINT_NONE:
        return true;
    case ELAPSE__COMPLAINT_NO_STANDBY:
        return elapse__visit_refuse(why, "synchronous_standby_names is empty, so no standby would "
                                         "have the change: set it, or say --single-copy");
    case ELAPSE__COMPLAINT_RELOADED:
        return elapse__visit_refuse(why, "the settings were loaded again during the commit, so the "
                                         "change may be lost; run this again");
    default:
        return elapse__visit_refuse(why, "synchronous_commit does not wait for a disk");
    }
}

bool elapse__repair_trust(struct elapse__repair *repair, bool single_copy,
                          struct elapse__schema_why *why)
{
    struct elapse__visit_settings settings;
    bool is_trusted = read_settings(repair, &settings, why) &&
                      judge(elapse__trust_settings(&settings.found, single_copy), why);
    PQclear(settings.rows);
    return is_trusted;
}

/* ---- marks ---- */

uint64_t elapse__repair_marked_group(const char *mark)
{
    static const char before[] = " knows group ";
    const char *found = NULL;
    for (const char *at = strstr(mark, before); at != NULL; at = strstr(at + 1, before))
        found = at; /* the name of a node may have the same words before */
    return found == NULL ? 0 : strtoull(found + sizeof before - 1, NULL, 10);
}

/* ---- changing ---- */

/* Returns the epoch that the repair begins. */
static uint64_t epoch_after(const struct elapse__repair_row *row)
{
    return row->epoch + EPOCH_LEAP;
}

bool elapse__repair_begin(struct elapse__repair *repair, uint32_t partition,
                          const struct elapse__repair_row *row, struct elapse__schema_why *why)
{
    static const char text[] =
        "update elapse.partition set epoch = $7, owner = '', address = '', beat = beat + 1,"
        " stopped = '', missed = '' where queue = $1 and part = $2 and epoch = $3 and beat = $4"
        " and last_group = $5 and missed = $6 returning 1";
    const struct number numbers[] = {number_of(partition), number_of(row->epoch),
                                     number_of(row->beat), number_of(row->last_group),
                                     number_of(epoch_after(row))};
    if (!elapse__visit_run(repair->connection, "begin", why))
        return false;
    ELAPSE__ASSERT_THAT(epoch_after(row), >, row->epoch);
    ELAPSE__ASSERT_THAT(PQtransactionStatus(repair->connection), ==, PQTRANS_INTRANS);
    PGresult *rows = elapse__visit_rows(
        repair->connection, text, 7,
        (const char *const[]){repair->name, numbers[0].text, numbers[1].text, numbers[2].text,
                              numbers[3].text, row->missed, numbers[4].text},
        why);
    if (rows == NULL)
        return false;
    bool is_same = PQntuples(rows) == 1;
    PQclear(rows);
    return is_same || elapse__visit_refuse(why,
                                           "partition %" PRIu32
                                           " has changed meanwhile, by a node that lives, or by "
                                           "an earlier run of this",
                                           partition);
}

bool elapse__repair_begin_anew(struct elapse__repair *repair, uint32_t partition, uint64_t first,
                               uint64_t previous, struct elapse__repair_row *row,
                               struct elapse__schema_why *why)
{
    static const char text[] = "update elapse.partition set last_group = $3, last_hash = $4,"
                               " tail = $5 where queue = $1 and part = $2 returning 1";
    const struct number numbers[] = {number_of(partition), number_of(first - 1),
                                     number_of(previous), number_of(first)};
    ELAPSE__ASSERT_THAT(PQtransactionStatus(repair->connection), ==, PQTRANS_INTRANS);
    ELAPSE__ASSERT_THAT(first, >, row->last_group + 1);
    PGresult *rows =
        elapse__visit_rows(repair->connection, text, 5,
                           (const char *const[]){repair->name, numbers[0].text, numbers[1].text,
                                                 numbers[2].text, numbers[3].text},
                           why);
    PQclear(rows);
    row->last_group = first - 1;
    row->last_hash = previous;
    row->tail = first;
    return rows != NULL;
}

/* Begins a transaction with an update whose parameters are the queue and the partition. */
static bool begin_with(struct elapse__repair *repair, uint32_t partition, const char *text,
                       struct elapse__schema_why *why)
{
    const struct number number = number_of(partition);
    ELAPSE__ASSERT_THAT(partition, <, repair->queue.partitions);
    if (!elapse__visit_run(repair->connection, "begin", why))
        return false;
    PGresult *rows = elapse__visit_rows(repair->connection, text, 2,
                                        (const char *const[]){repair->name, number.text}, why);
    PQclear(rows);
    return rows != NULL;
}

bool elapse__repair_forget(struct elapse__repair *repair, uint32_t partition,
                           struct elapse__schema_why *why)
{
    static const char text[] = "update elapse.partition set missed = ''"
                               " where queue = $1 and part = $2 returning 1";
    return begin_with(repair, partition, text, why);
}

bool elapse__repair_write_again(struct elapse__repair *repair, uint32_t partition,
                                struct elapse__schema_why *why)
{
    static const char text[] = "update elapse.partition set beat = beat"
                               " where queue = $1 and part = $2 returning 1";
    return begin_with(repair, partition, text, why);
}

bool elapse__repair_keep_marks(struct elapse__repair *repair, uint32_t partition,
                               const char *stopped, const char *missed,
                               struct elapse__schema_why *why)
{
    static const char text[] = "update elapse.partition set stopped = $3, missed = $4"
                               " where queue = $1 and part = $2 returning 1";
    const struct number number = number_of(partition);
    ELAPSE__ASSERT_THAT(PQtransactionStatus(repair->connection), !=, PQTRANS_IDLE);
    PGresult *rows =
        elapse__visit_rows(repair->connection, text, 4,
                           (const char *const[]){repair->name, number.text, stopped, missed}, why);
    PQclear(rows);
    return rows != NULL;
}

static bool run(struct elapse__repair *repair, const struct elapse__sql_place *place,
                const struct elapse__statement *statement, struct elapse__schema_why *why)
{
    struct elapse__sql sql;
    PGresult *rows = NULL;
    if (elapse__sql_write(&sql, place, statement))
        rows = elapse__visit_perform(repair->connection, &sql, why);
    else
        (void)elapse__visit_refuse(why, "no memory");
    elapse__sql_free(&sql);
    bool is_done = PQresultStatus(rows) == PGRES_TUPLES_OK && PQntuples(rows) == 1;
    if (PQresultStatus(rows) == PGRES_TUPLES_OK && !is_done)
        (void)elapse__visit_refuse(why, "the database refuses group %" PRIu64, statement->group);
    PQclear(rows);
    return is_done;
}

bool elapse__repair_append(struct elapse__repair *repair, uint32_t partition,
                           const struct elapse__repair_row *row,
                           const struct elapse__statement *group, struct elapse__schema_why *why)
{
    const struct elapse__sql_place place = {
        .queue = repair->name, .partition = partition, .lease_ms = repair->queue.lease_ms};
    const uint64_t table = group->group / ELAPSE__LOG_TABLE_GROUPS;
    struct elapse__statement append = *group;
    const struct elapse__statement make = {.kind = ELAPSE__STATEMENT_MAKE_TABLE, .table = table};
    bool is_first =
        group->group == row->last_group + 1 || group->group % ELAPSE__LOG_TABLE_GROUPS == 0;
    append.kind = ELAPSE__STATEMENT_APPEND;
    append.epoch = epoch_after(row);
    ELAPSE__ASSERT_THAT(group->group, >, row->last_group);
    ELAPSE__ASSERT_THAT(PQtransactionStatus(repair->connection), !=, PQTRANS_IDLE);
    ELAPSE__ASSERT_THAT(group->inbox_count, ==, 0);
    return (!is_first || run(repair, &place, &make, why)) && run(repair, &place, &append, why);
}

bool elapse__repair_commit(struct elapse__repair *repair, bool single_copy,
                           struct elapse__schema_why *why)
{
    struct elapse__visit_settings before, after = {.rows = NULL};
    bool is_done = read_settings(repair, &before, why) &&
                   judge(elapse__trust_settings(&before.found, single_copy), why) &&
                   elapse__visit_commit(repair->connection, why) &&
                   read_settings(repair, &after, why) &&
                   judge(elapse__trust_commit(&before.found, &after.found, single_copy), why);
    PQclear(before.rows);
    PQclear(after.rows);
    return is_done;
}
