/*
 * Reads what the database says of a queue.
 */
#include "status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "names.h"
#include "nodes.h"
#include "visit.h"

struct elapse__status_session {
    PGconn *connection;
    struct elapse__schema_queue queue;
    char name[ELAPSE__QUEUE_NAME_BYTES];
};

/* ---- one look ---- */

/* Reads the rows of the partitions. The entry of a partition without a row stays as it was. */
static bool look_at_partitions(struct elapse__status_session *session,
                               struct elapse__status *status, struct elapse__schema_why *why)
{
    static const char text[] =
        "select part, epoch, beat, last_group, tail, owner, address,"
        " stopped, missed from elapse.partition where queue = $1 order by part";
    PGresult *rows =
        elapse__visit_rows(session->connection, text, 1, (const char *const[]){session->name}, why);
    if (rows == NULL)
        return false;
    ELAPSE__ASSERT_THAT(PQnfields(rows), ==, 9);
    size_t count = (size_t)PQntuples(rows);
    bool is_whole = count == session->queue.partitions;
    for (size_t i = 0; is_whole && i < count; i++) {
        struct elapse__status_partition *partition = &status->partitions[i];
        is_whole = elapse__visit_number(rows, (int)i, 0) == i;
        partition->epoch = elapse__visit_number(rows, (int)i, 1);
        partition->beat = elapse__visit_number(rows, (int)i, 2);
        partition->last_group = elapse__visit_number(rows, (int)i, 3);
        partition->tail = elapse__visit_number(rows, (int)i, 4);
        ELAPSE__VISIT_COPY(partition->owner, rows, i, 5);
        ELAPSE__VISIT_COPY(partition->address, rows, i, 6);
        ELAPSE__VISIT_COPY(partition->stopped, rows, i, 7);
        ELAPSE__VISIT_COPY(partition->missed, rows, i, 8);
    }
    PQclear(rows);
    return is_whole || elapse__visit_refuse(why, "queue %s lacks partitions", session->name);
}

static bool look_at_standbys(struct elapse__status_session *session, struct elapse__status *status,
                             struct elapse__schema_why *why)
{
    static const char text[] =
        "select coalesce(application_name, ''), coalesce(host(client_addr), ''),"
        " coalesce(state, ''), coalesce(sync_state, ''),"
        " case when flush_lsn is null then -1"
        "  else greatest(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn), 0)::bigint end"
        " from pg_stat_replication order by 1, 2";
    PGresult *rows = elapse__visit_rows(session->connection, text, 0, NULL, why);
    if (rows == NULL)
        return false;
    ELAPSE__ASSERT_THAT(PQnfields(rows), ==, 5);
    free(status->standbys);
    status->standby_count = (size_t)PQntuples(rows);
    status->standbys = calloc(status->standby_count + 1, sizeof *status->standbys);
    for (size_t i = 0; status->standbys != NULL && i < status->standby_count; i++) {
        struct elapse__status_standby *standby = &status->standbys[i];
        ELAPSE__VISIT_COPY(standby->name, rows, i, 0);
        ELAPSE__VISIT_COPY(standby->address, rows, i, 1);
        ELAPSE__VISIT_COPY(standby->state, rows, i, 2);
        ELAPSE__VISIT_COPY(standby->sync, rows, i, 3);
        standby->behind = (int64_t)elapse__visit_number(rows, (int)i, 4);
    }
    PQclear(rows);
    return status->standbys != NULL || elapse__visit_refuse(why, "no memory");
}

/* Reads the timeline of the log that the server writes now, as a node's session reads it. */
static bool look_at_server(struct elapse__status_session *session, struct elapse__status *status,
                           struct elapse__schema_why *why)
{
    static const char text[] =
        "select current_setting('synchronous_standby_names'), " ELAPSE__SQL_TIMELINE;
    PGresult *rows = elapse__visit_rows(session->connection, text, 0, NULL, why);
    if (rows == NULL)
        return false;
    ELAPSE__VISIT_COPY(status->names, rows, 0, 0);
    status->timeline = (uint32_t)elapse__visit_number(rows, 0, 1);
    PQclear(rows);
    elapse__visit_place(session->connection, status->server, sizeof status->server);
    return true;
}

const char *elapse__status_table(enum elapse__status_table table)
{
    static const char *const names[ELAPSE__STATUS_TABLES] = {
        [ELAPSE__STATUS_CLOCK] = "elapse.clock",
        [ELAPSE__STATUS_NODE] = "elapse.node",
        [ELAPSE__STATUS_PLACE] = "elapse.place",
    };
    ELAPSE__ASSERT_THAT(table, <, ELAPSE__STATUS_TABLES);
    return names[table];
}

/* Finds the tables that the role may not read. A role that only watches may have got its rights
 * before `elapse cluster upgrade` made these tables. A table that does not exist needs no right. */
static bool look_at_rights(struct elapse__status_session *session, struct elapse__status *status,
                           struct elapse__schema_why *why)
{
    static const char text[] = "select not has_table_privilege(to_regclass($1), 'select'),"
                               " current_user";

    for (enum elapse__status_table i = 0; i < ELAPSE__STATUS_TABLES; i++) {
        const char *const name = elapse__status_table(i);
        PGresult *rows = elapse__visit_rows(session->connection, text, 1, &name, why);
        if (rows == NULL)
            return false;
        status->lacks_select[i] = PQgetvalue(rows, 0, 0)[0] == 't';
        ELAPSE__VISIT_COPY(status->role, rows, 0, 1);
        PQclear(rows);
    }
    return true;
}

/* Looks at the nodes, if the role may. A right may also be taken away meanwhile: then this fails,
 * with words. */
static bool look_at_nodes(struct elapse__status_session *session, struct elapse__status *status,
                          struct elapse__schema_why *why)
{
    status->has_nodes = false;
    if (status->lacks_select[ELAPSE__STATUS_NODE] || status->lacks_select[ELAPSE__STATUS_PLACE])
        return true;
    return elapse__nodes_look_in(session->connection, session->name, &session->queue, &status->view,
                                 &status->has_nodes, why);
}

/* Finds the node whose wall clock is the most wrong. Nodes write how wrong their clocks are every
 * half of a lease. */
static bool look_at_clocks(struct elapse__status_session *session, struct elapse__status *status,
                           struct elapse__schema_why *why)
{
    static const char text[] =
        "select node, ahead_ms from elapse.clock join elapse.queue on name = queue"
        " where queue = $1 and abs(ahead_ms) > 500"
        " and seen between clock_timestamp() - 2 * lease_ms * interval '1 ms' and clock_timestamp()"
        " order by abs(ahead_ms) desc, node limit 1";
    status->clock_node[0] = '\0';
    if (status->lacks_select[ELAPSE__STATUS_CLOCK])
        return true;
    PGresult *rows =
        elapse__visit_rows(session->connection, text, 1, (const char *const[]){session->name}, why);
    if (rows == NULL)
        return false;
    if (PQntuples(rows) == 1) {
        ELAPSE__VISIT_COPY(status->clock_node, rows, 0, 0);
        status->clock_ahead_ms = (int64_t)elapse__visit_number(rows, 0, 1);
    }
    PQclear(rows);
    return true;
}

bool elapse__status_look(struct elapse__status_session *session, struct elapse__status *status,
                         struct elapse__schema_why *why)
{
    status->queue = session->queue;
    if (status->partitions == NULL)
        status->partitions = calloc(session->queue.partitions, sizeof *status->partitions);
    if (status->partitions == NULL)
        return elapse__visit_refuse(why, "no memory");
    return look_at_partitions(session, status, why) && look_at_standbys(session, status, why) &&
           look_at_server(session, status, why) && look_at_rights(session, status, why) &&
           look_at_clocks(session, status, why) && look_at_nodes(session, status, why);
}

void elapse__status_free(struct elapse__status *status)
{
    free(status->partitions);
    free(status->standbys);
    elapse__nodes_free(&status->view);
    status->partitions = NULL;
    status->standbys = NULL;
}

/* ---- the session ---- */

static bool begin(struct elapse__status_session *session, const char *host, const char *name,
                  struct elapse__schema_why *why)
{
    static const char settings[] = "set search_path = pg_catalog;"
                                   " set default_transaction_read_only = on";
    (void)snprintf(session->name, sizeof session->name, "%s", name);
    session->connection = elapse__schema_open(host, name, settings, &session->queue, why);
    return session->connection != NULL;
}

struct elapse__status_session *elapse__status_open(const char *host, const char *name,
                                                   struct elapse__schema_why *why)
{
    struct elapse__status_session *session = calloc(1, sizeof *session);
    if (session == NULL || !begin(session, host, name, why)) {
        if (session == NULL)
            (void)elapse__visit_refuse(why, "no memory");
        elapse__status_close(session);
        return NULL;
    }
    ELAPSE__ASSERT_THAT(session->queue.partitions, >, 0);
    return session;
}

void elapse__status_close(struct elapse__status_session *session)
{
    if (session != NULL)
        PQfinish(session->connection);
    free(session);
}
