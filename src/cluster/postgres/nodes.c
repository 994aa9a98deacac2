/*
 * Reads and writes the tables elapse.node and elapse.place.
 */
#include "nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "codes.h"
#include "names.h"
#include "visit.h"

enum { NUMBER_BYTES = 24, LEASES_ALIVE = 2 };

struct elapse__nodes_session {
    PGconn *connection;
    struct elapse__schema_queue queue;
    char name[ELAPSE__QUEUE_NAME_BYTES];
    uint32_t limit_ms; /* for each statement */
    bool has_zones;    /* elapse.node had the column when it was looked at */
};

/* ---- the session ---- */

static bool begin(struct elapse__nodes_session *session, const char *host, const char *queue,
                  struct elapse__schema_why *why)
{
    char settings[256];
    (void)snprintf(session->name, sizeof session->name, "%s", queue);
    (void)snprintf(settings, sizeof settings,
                   "set lock_timeout = '2s'; set search_path = pg_catalog;"
                   " set synchronous_commit = off; set application_name = 'elapse/%s/nodes'",
                   elapse__database_queue_name_is_valid(queue) ? queue : "");
    session->connection =
        elapse__schema_open_within(host, queue, settings, session->limit_ms, &session->queue, why);
    return session->connection != NULL;
}

struct elapse__nodes_session *elapse__nodes_open(const char *host, const char *queue,
                                                 uint32_t limit_ms, struct elapse__schema_why *why)
{
    struct elapse__nodes_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        (void)elapse__visit_refuse(why, "no memory");
        return NULL;
    }
    session->limit_ms = limit_ms == 0 ? ELAPSE__VISIT_ANSWER_MS : limit_ms;
    if (begin(session, host, queue, why))
        return session;
    elapse__nodes_close(session);
    return NULL;
}

void elapse__nodes_close(struct elapse__nodes_session *session)
{
    if (session != NULL)
        PQfinish(session->connection);
    free(session);
}

/* ---- looking ---- */

void elapse__nodes_free(struct elapse__balance_view *view)
{
    for (size_t i = 0; i < view->node_count; i++) {
        free(view->nodes[i].ready);
        free(view->nodes[i].unready_since_ms);
    }
    free(view->nodes);
    free(view->partitions);
    *view = (struct elapse__balance_view){.nodes = NULL};
}

/* Reads an array of SQL, such as {0,2}: the partitions for which a node is ready. Ignores numbers
 * that are no partitions. */
static void take_ready(const char *text, bool *ready, uint32_t partitions)
{
    while (*text != '\0') {
        char *end = NULL;
        unsigned long number = strtoul(text + 1, &end, 10);
        if (end == text + 1)
            break;
        if (number < partitions)
            ready[number] = true;
        text = end;
    }
}

static bool take_nodes(const PGresult *rows, const struct elapse__schema_queue *queue,
                       struct elapse__balance_view *view)
{
    size_t count = (size_t)PQntuples(rows);

    ELAPSE__ASSERT_THAT(PQnfields(rows), ==, 8);
    view->nodes = calloc(count + 1, sizeof *view->nodes);
    if (view->nodes == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct elapse__balance_node *node = &view->nodes[i];
        node->ready = calloc(queue->partitions, sizeof *node->ready);
        node->unready_since_ms = calloc(queue->partitions, sizeof *node->unready_since_ms);
        view->node_count++; /* elapse__nodes_free frees both arrays */
        if (node->ready == NULL || node->unready_since_ms == NULL)
            return false;
        ELAPSE__VISIT_COPY(node->name, rows, i, 0);
        ELAPSE__VISIT_COPY(node->address, rows, i, 1);
        ELAPSE__VISIT_COPY(node->version, rows, i, 2);
        node->drains = PQgetvalue(rows, (int)i, 3)[0] == 't';
        node->ahead_ms = (int64_t)elapse__visit_number(rows, (int)i, 4);
        node->age_ms = elapse__visit_number(rows, (int)i, 5);
        node->lives = node->age_ms <= (uint64_t)LEASES_ALIVE * queue->lease_ms;
        ELAPSE__VISIT_COPY(node->zone, rows, i, 7);
        take_ready(PQgetvalue(rows, (int)i, 6), node->ready, queue->partitions);
    }
    return true;
}

/* The clock of the database may have been set back since a node told of itself. */
static bool look_at_nodes(PGconn *connection, const char *name,
                          const struct elapse__schema_queue *queue, uint32_t limit_ms,
                          struct elapse__balance_view *view, bool *has_tables,
                          struct elapse__schema_why *why)
{
    static const char text[] =
        "select name, address, version, draining, ahead_ms,"
        " abs((extract(epoch from clock_timestamp() - beat) * 1000)::bigint), ready,"
        " coalesce(to_jsonb(node) ->> 'zone', '')"
        " from elapse.node where queue = $1 order by name";
    PGresult *rows =
        elapse__visit_ask_within(connection, text, 1, (const char *const[]){name}, limit_ms, why);
    bool is_read = PQresultStatus(rows) == PGRES_TUPLES_OK;

    *has_tables = !elapse__database_has_code(rows, ELAPSE__CODE_NO_TABLE);
    if (is_read && !take_nodes(rows, queue, view))
        is_read = elapse__visit_refuse(why, "no memory");
    PQclear(rows);
    return is_read || !*has_tables;
}

/* Reads the names of a list, which newlines divide. Names that no node has become -1. */
static void take_replicas(const struct elapse__balance_view *view, const char *text,
                          struct elapse__balance_partition *row)
{
    while (*text != '\0' && row->replica_count < ELAPSE__BALANCE_REPLICAS_MAX) {
        char name[ELAPSE__NODE_NAME_BYTES];
        size_t length = strcspn(text, "\n");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, text);
        row->replicas[row->replica_count++] = elapse__balance_find(view, name);
        text += length + (text[length] == '\n');
    }
}

static void take_row(const PGresult *rows, int number, struct elapse__balance_row *row)
{
    enum { FIRST = 10 };
    row->epoch = elapse__visit_number(rows, number, FIRST);
    row->beat = elapse__visit_number(rows, number, FIRST + 1);
    row->last_group = elapse__visit_number(rows, number, FIRST + 2);
    row->last_hash = elapse__visit_number(rows, number, FIRST + 3);
    ELAPSE__VISIT_COPY(row->owner, rows, number, 1);
    ELAPSE__VISIT_COPY(row->address, rows, number, FIRST + 4);
}

static bool take_partitions(const PGresult *rows, const struct elapse__schema_queue *queue,
                            struct elapse__balance_view *view)
{
    ELAPSE__ASSERT_THAT(PQnfields(rows), ==, 17);
    if ((uint32_t)PQntuples(rows) != queue->partitions)
        return false;
    for (uint32_t i = 0; i < queue->partitions; i++) {
        struct elapse__balance_partition *row = &view->partitions[i];
        int number = (int)i;
        const char *preferred = PQgetvalue(rows, number, 3), *target = PQgetvalue(rows, number, 4);
        if (elapse__visit_number(rows, number, 0) != i)
            return false;
        row->owner = elapse__balance_node_of(view, PQgetvalue(rows, number, 1));
        row->is_stopped = PQgetvalue(rows, number, 2)[0] == 't';
        row->is_preferred = preferred[0] != '\0';
        row->preferred = elapse__balance_find(view, preferred);
        row->has_target = target[0] != '\0';
        row->target = elapse__balance_find(view, target);
        take_replicas(view, PQgetvalue(rows, number, 7), row);
        take_row(rows, number, &row->row);
        row->has_missed = PQgetvalue(rows, number, 15)[0] == 't';
    }
    view->partition_count = queue->partitions;
    view->is_paused = PQgetvalue(rows, 0, 5)[0] == 't';
    view->timeline = (uint32_t)elapse__visit_number(rows, 0, 6);
    view->has_lists = PQgetvalue(rows, 0, 8)[0] == 't';
    view->system_identifier = elapse__visit_number(rows, 0, 9);
    view->has_zones = PQgetvalue(rows, 0, 16)[0] == 't';
    return true;
}

/* The level of the queue. An older program may have made a table without that column. */
#define LEVEL "coalesce((to_jsonb(settings) ->> 'level')::integer, 0)"

static bool look_at_partitions(PGconn *connection, const char *name,
                               const struct elapse__schema_queue *queue, uint32_t limit_ms,
                               struct elapse__balance_view *view, struct elapse__schema_why *why)
{
    static const char text[] =
        "select part, owner, stopped <> '', coalesce(preferred, ''), coalesce(target, ''),"
        " moves_paused, " ELAPSE__SQL_TIMELINE ","
        /* ELAPSE__SCHEMA_LEVEL_LISTS */
        " case when " LEVEL " >= 1 then coalesce(to_jsonb(place) ->> 'replicas', '') else '' end,"
        " " LEVEL " >= 1 and exists (select from pg_attribute"
        "  where attrelid = 'elapse.place'::regclass and attname = 'replicas'),"
        " (select system_identifier from pg_control_system()),"
        " epoch, beat, last_group, last_hash, address, missed <> '',"
        " exists (select from pg_attribute where attrelid = 'elapse.node'::regclass"
        "  and attname = 'zone')"
        " from elapse.partition join elapse.queue as settings on name = queue"
        " left join elapse.place as place using (queue, part) where queue = $1 order by part";
    PGresult *rows =
        elapse__visit_rows_within(connection, text, 1, (const char *const[]){name}, limit_ms, why);
    if (rows == NULL)
        return false;
    view->partitions = calloc(queue->partitions, sizeof *view->partitions);
    bool is_read = view->partitions != NULL && take_partitions(rows, queue, view);
    PQclear(rows);
    if (is_read)
        elapse__balance_count(view);
    return is_read ||
           elapse__visit_refuse(why, "queue %s lacks partitions, or there is no memory", name);
}

static bool look(PGconn *connection, const char *name, const struct elapse__schema_queue *queue,
                 uint32_t limit_ms, struct elapse__balance_view *view, bool *has_tables,
                 struct elapse__schema_why *why)
{
    struct elapse__balance_view seen = {.nodes = NULL};

    ELAPSE__ASSERT_THAT(queue->partitions, >, 0);
    if (!look_at_nodes(connection, name, queue, limit_ms, &seen, has_tables, why) ||
        (*has_tables && !look_at_partitions(connection, name, queue, limit_ms, &seen, why))) {
        elapse__nodes_free(&seen);
        return false;
    }
    elapse__nodes_free(view);
    *view = seen;
    return true;
}

bool elapse__nodes_look_in(PGconn *connection, const char *name,
                           const struct elapse__schema_queue *queue,
                           struct elapse__balance_view *view, bool *has_tables,
                           struct elapse__schema_why *why)
{
    return look(connection, name, queue, ELAPSE__VISIT_ANSWER_MS, view, has_tables, why);
}

bool elapse__nodes_look(struct elapse__nodes_session *session, struct elapse__balance_view *view,
                        bool *has_tables, struct elapse__schema_why *why)
{
    if (!look(session->connection, session->name, &session->queue, session->limit_ms, view,
              has_tables, why))
        return false;
    session->has_zones = view->has_zones;
    return true;
}

/* ---- what nodes write ---- */

static bool do_with(struct elapse__nodes_session *session, const char *text, int count,
                    const char *const *values, struct elapse__schema_why *why)
{
    PGresult *result =
        elapse__visit_ask_within(session->connection, text, count, values, session->limit_ms, why);
    bool is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return is_done;
}

/* Returns an array of SQL with the partitions for which the node is ready, or NULL if there is no
 * memory. The caller frees it. */
static char *ready_text(const bool *ready, uint32_t partitions)
{
    const size_t room = 3 + (size_t)partitions * NUMBER_BYTES;
    char *text = malloc(room);
    size_t length = 1;

    if (text == NULL)
        return NULL;
    text[0] = '{';
    for (uint32_t i = 0; i < partitions; i++)
        if (ready[i])
            length += (size_t)snprintf(text + length, room - length, "%s%" PRIu32,
                                       length == 1 ? "" : ",", i);
    ELAPSE__ASSERT_THAT(length + 2, <=, room);
    (void)snprintf(text + length, room - length, "}");
    return text;
}

bool elapse__nodes_beat(struct elapse__nodes_session *session,
                        const struct elapse__balance_node *node, struct elapse__schema_why *why)
{
    static const char text[] =
        "insert into elapse.node (queue, name, address, version, ready, ahead_ms, beat)"
        " values ($1, $2, $3, $4, $5::integer[], $6::bigint, clock_timestamp())"
        " on conflict (queue, name) do update set address = excluded.address,"
        " version = excluded.version, ready = excluded.ready, ahead_ms = excluded.ahead_ms,"
        " beat = excluded.beat";
    static const char with_zone[] =
        "insert into elapse.node (queue, name, address, version, ready, ahead_ms, zone, beat)"
        " values ($1, $2, $3, $4, $5::integer[], $6::bigint, $7, clock_timestamp())"
        " on conflict (queue, name) do update set address = excluded.address,"
        " version = excluded.version, ready = excluded.ready, ahead_ms = excluded.ahead_ms,"
        " zone = excluded.zone, beat = excluded.beat";
    char ahead[NUMBER_BYTES];
    ELAPSE__ASSERT(node->name[0] != '\0');
    char *ready = ready_text(node->ready, session->queue.partitions);
    if (ready == NULL)
        return elapse__visit_refuse(why, "no memory");
    (void)snprintf(ahead, sizeof ahead, "%" PRId64, node->ahead_ms);
    bool is_done =
        do_with(session, session->has_zones ? with_zone : text, session->has_zones ? 7 : 6,
                (const char *const[]){session->name, node->name, node->address, node->version,
                                      ready, ahead, node->zone},
                why);
    free(ready);
    return is_done;
}

static bool write_place(struct elapse__nodes_session *session, const char *text, uint32_t partition,
                        const char *name, struct elapse__schema_why *why)
{
    char number[NUMBER_BYTES];

    ELAPSE__ASSERT_THAT(partition, <, session->queue.partitions);
    (void)snprintf(number, sizeof number, "%" PRIu32, partition);
    return do_with(session, text, 3, (const char *const[]){session->name, number, name}, why);
}

bool elapse__nodes_set_target(struct elapse__nodes_session *session, uint32_t partition,
                              const char *name, struct elapse__schema_why *why)
{
    static const char text[] = "insert into elapse.place (queue, part, target)"
                               " values ($1, $2::integer, $3) on conflict (queue, part)"
                               " do update set target = excluded.target";
    return write_place(session, text, partition, name, why);
}

bool elapse__nodes_set_replicas(struct elapse__nodes_session *session, uint32_t partition,
                                const char *const *names, uint32_t count,
                                struct elapse__schema_why *why)
{
    static const char text[] = "insert into elapse.place (queue, part, replicas)"
                               " values ($1, $2::integer, $3) on conflict (queue, part)"
                               " do update set replicas = excluded.replicas";
    char list[ELAPSE__BALANCE_REPLICAS_MAX * ELAPSE__NODE_NAME_BYTES] = "";
    size_t length = 0;

    ELAPSE__ASSERT_THAT(count, <=, ELAPSE__BALANCE_REPLICAS_MAX);
    for (uint32_t i = 0; i < count; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i == 0 ? "" : "\n",
                                   names[i]);
    ELAPSE__ASSERT_THAT(length, <, sizeof list);
    return write_place(session, text, partition, list, why);
}

bool elapse__nodes_read_hash(struct elapse__nodes_session *session, uint32_t partition,
                             uint64_t group, bool *has_group, uint64_t *hash,
                             struct elapse__schema_why *why)
{
    char text[256], number[NUMBER_BYTES];

    (void)snprintf(
        text, sizeof text, "select hash_of_previous from elapse.%s where group_number = $1::bigint",
        elapse__database_log_table_name(session->name, partition, group / ELAPSE__LOG_TABLE_GROUPS)
            .text);
    (void)snprintf(number, sizeof number, "%" PRIu64, group);
    PGresult *rows = elapse__visit_ask_within(
        session->connection, text, 1, (const char *const[]){number}, session->limit_ms, why);
    bool is_read = PQresultStatus(rows) == PGRES_TUPLES_OK;
    *has_group = is_read && PQntuples(rows) == 1;
    if (*has_group)
        *hash = elapse__visit_number(rows, 0, 0);
    is_read = is_read || elapse__database_has_code(rows, ELAPSE__CODE_NO_TABLE);
    PQclear(rows);
    return is_read;
}

/* Returns whether the settings of the session let a commit wait for a standby. Reads them. */
static bool read_settings(struct elapse__nodes_session *session,
                          struct elapse__visit_settings *settings, struct elapse__schema_why *why)
{
    return elapse__visit_read_settings(session->connection, session->limit_ms, settings, why);
}

/* Writes the node's row, as it is, with a commit that waits for a standby. */
static bool write_again(struct elapse__nodes_session *session, const char *name,
                        struct elapse__schema_why *why)
{
    static const char text[] = "update elapse.node set beat = beat where queue = $1 and name = $2";
    PGconn *connection = session->connection;

    return elapse__visit_run_within(connection, "begin", session->limit_ms, why) &&
           do_with(session, text, 2, (const char *const[]){session->name, name}, why) &&
           elapse__visit_commit_within(connection, session->limit_ms, why);
}

bool elapse__nodes_confirm(struct elapse__nodes_session *session, const char *name,
                           bool single_copy, bool *is_confirmed, struct elapse__schema_why *why)
{
    static const char wait[] = "set synchronous_commit = on",
                      go_on[] = "set synchronous_commit = off";
    struct elapse__visit_settings before = {.rows = NULL}, after = {.rows = NULL};

    *is_confirmed = false;
    bool is_done = elapse__visit_run_within(session->connection, wait, session->limit_ms, why) &&
                   read_settings(session, &before, why) &&
                   (elapse__trust_settings(&before.found, single_copy) != ELAPSE__COMPLAINT_NONE ||
                    (write_again(session, name, why) && read_settings(session, &after, why))) &&
                   elapse__visit_run_within(session->connection, go_on, session->limit_ms, why);
    if (is_done && after.rows != NULL)
        *is_confirmed = elapse__trust_commit(&before.found, &after.found, single_copy) ==
                        ELAPSE__COMPLAINT_NONE;
    PQclear(before.rows);
    PQclear(after.rows);
    return is_done;
}

/* ---- what operators write ---- */

static bool begin_change(struct elapse__nodes_session *session, struct elapse__schema_why *why)
{
    return elapse__visit_run(session->connection, "set synchronous_commit = on", why) &&
           elapse__visit_run(session->connection, "begin", why);
}

/* Ends the transaction. After a failure nothing is committed, because the session ends with the
 * command. */
static bool end_change(struct elapse__nodes_session *session, bool is_done,
                       struct elapse__schema_why *why)
{
    return is_done && elapse__visit_commit(session->connection, why);
}

bool elapse__nodes_prefer(struct elapse__nodes_session *session, uint32_t partition,
                          const char *name, struct elapse__schema_why *why)
{
    static const char text[] = "insert into elapse.place (queue, part, preferred)"
                               " values ($1, $2::integer, $3) on conflict (queue, part)"
                               " do update set preferred = excluded.preferred";
    return begin_change(session, why) &&
           end_change(session, write_place(session, text, partition, name, why), why);
}

bool elapse__nodes_drain(struct elapse__nodes_session *session, const char *name, bool drains,
                         struct elapse__schema_why *why)
{
    static const char text[] =
        "update elapse.node set draining = $3::boolean where queue = $1 and name = $2";
    return begin_change(session, why) &&
           end_change(session,
                      do_with(session, text, 3,
                              (const char *const[]){session->name, name, drains ? "true" : "false"},
                              why),
                      why);
}

bool elapse__nodes_pause(struct elapse__nodes_session *session, bool is_paused,
                         struct elapse__schema_why *why)
{
    static const char text[] = "update elapse.queue set moves_paused = $2::boolean where name = $1";
    return begin_change(session, why) &&
           end_change(session,
                      do_with(session, text, 2,
                              (const char *const[]){session->name, is_paused ? "true" : "false"},
                              why),
                      why);
}

bool elapse__nodes_remove(struct elapse__nodes_session *session, const char *name,
                          struct elapse__schema_why *why)
{
    static const char forget[] = "delete from elapse.node where queue = $1 and name = $2";
    static const char unplace[] = "update elapse.place set preferred = ''"
                                  " where queue = $1 and preferred = $2";
    const char *const values[] = {session->name, name};

    return begin_change(session, why) && end_change(session,
                                                    do_with(session, unplace, 2, values, why) &&
                                                        do_with(session, forget, 2, values, why),
                                                    why);
}
