/*
 * Makes the tables in the database, and finds a queue in them.
 */
#include "schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "codes.h"
#include "names.h"
#include "visit.h"

/* The text of schema.sql, which CMake puts into the program. */
extern const unsigned char elapse__schema_sql[];

/* Connects to the database. The connection string says whether a standby may answer. */
static PGconn *connect_to(const char *host, struct elapse__schema_why *why)
{
    return elapse__visit_open(host, NULL, why);
}

/* ---- reading ---- */

static bool take_queue(const PGresult *rows, const char *name, struct elapse__schema_queue *queue,
                       struct elapse__schema_why *why)
{
    ELAPSE__ASSERT_THAT(PQnfields(rows), ==, 6);
    why->has_none = PQntuples(rows) == 0;
    if (why->has_none)
        return elapse__visit_refuse(why, "the database has no queue %s", name);
    const char *identity = PQgetvalue(rows, 0, 2);
    for (size_t i = 0; i < sizeof queue->identity; i++)
        if (sscanf(identity + 2 * i, "%2" SCNx8, &queue->identity[i]) != 1)
            return elapse__visit_refuse(why, "the identity of queue %s is broken", name);
    if (sscanf(PQgetvalue(rows, 0, 0), "%" SCNu32, &queue->partitions) != 1 ||
        sscanf(PQgetvalue(rows, 0, 1), "%" SCNu32, &queue->lease_ms) != 1 ||
        sscanf(PQgetvalue(rows, 0, 4), "%" SCNu32, &queue->level) != 1)
        return elapse__visit_refuse(why, "queue %s is broken", name);
    int version = 0;
    (void)sscanf(PQgetvalue(rows, 0, 3), "%d", &version);
    if (version < ELAPSE__SCHEMA_VERSION_LEAST)
        return elapse__visit_refuse(why,
                                    "the schema elapse has version %d, and this program needs %d: "
                                    "end all nodes, and run elapse cluster create again, with the "
                                    "same --partitions and --lease; the jobs stay",
                                    version, ELAPSE__SCHEMA_VERSION);
    if (version > ELAPSE__SCHEMA_VERSION)
        return elapse__visit_refuse(why,
                                    "the schema elapse has version %d, and this program knows %d",
                                    version, ELAPSE__SCHEMA_VERSION);
    if (queue->level > ELAPSE__SCHEMA_LEVEL)
        return elapse__visit_refuse(
            why, "queue %s has level %" PRIu32 ", and this program knows %d: upgrade it", name,
            queue->level, ELAPSE__SCHEMA_LEVEL);
    queue->hash_tags =
        PQgetvalue(rows, 0, 5)[0] == 't' ? ELAPSE__SCHEMA_TAGS_ON : ELAPSE__SCHEMA_TAGS_OFF;
    return true;
}

bool elapse__schema_read_in(PGconn *connection, const char *name,
                            struct elapse__schema_queue *queue, struct elapse__schema_why *why)
{
    return elapse__schema_read_in_within(connection, name, ELAPSE__VISIT_ANSWER_MS, queue, why);
}

bool elapse__schema_read_in_within(PGconn *connection, const char *name, uint32_t limit_ms,
                                   struct elapse__schema_queue *queue,
                                   struct elapse__schema_why *why)
{
    static const char text[] = "select parts, lease_ms, encode(identity, 'hex'),"
                               " (select version from elapse.version where component = 'cluster'),"
                               /* an older program may have made a table without these columns */
                               " coalesce((to_jsonb(queue) ->> 'level')::integer, 0),"
                               " coalesce((to_jsonb(queue) ->> 'hash_tags')::boolean, false)"
                               " from elapse.queue where name = $1";
    PGresult *rows =
        elapse__visit_ask_within(connection, text, 1, (const char *const[]){name}, limit_ms, why);
    why->has_none = elapse__database_has_code(rows, ELAPSE__CODE_NO_TABLE) ||
                    elapse__database_has_code(rows, ELAPSE__CODE_NO_SCHEMA);
    bool is_read = false;
    if (PQresultStatus(rows) == PGRES_TUPLES_OK)
        is_read = take_queue(rows, name, queue, why);
    else if (why->has_none)
        (void)elapse__visit_refuse(why, "the database has no tables of elapse");
    PQclear(rows);
    return is_read;
}

PGconn *elapse__schema_open(const char *host, const char *name, const char *settings,
                            struct elapse__schema_queue *queue, struct elapse__schema_why *why)
{
    return elapse__schema_open_within(host, name, settings, ELAPSE__VISIT_ANSWER_MS, queue, why);
}

PGconn *elapse__schema_open_within(const char *host, const char *name, const char *settings,
                                   uint32_t limit_ms, struct elapse__schema_queue *queue,
                                   struct elapse__schema_why *why)
{
    PGconn *connection = elapse__visit_open_within(host, "read-write", limit_ms, why);

    if (connection == NULL ||
        (elapse__visit_run_within(connection, settings, limit_ms, why) &&
         elapse__schema_read_in_within(connection, name, limit_ms, queue, why)))
        return connection;
    PQfinish(connection);
    return NULL;
}

bool elapse__schema_read(const char *host, const char *name, struct elapse__schema_queue *queue,
                         struct elapse__schema_why *why)
{
    PGconn *connection = connect_to(host, why);
    if (connection == NULL)
        return false;
    bool is_read = elapse__schema_read_in(connection, name, queue, why);
    PQfinish(connection);
    return is_read;
}

/* ---- making ---- */

/* Performs a statement with `count` parameters. */
static bool do_with(PGconn *connection, const char *text, int count, const char *const *values,
                    struct elapse__schema_why *why)
{
    PGresult *result = elapse__visit_ask(connection, text, count, values, why);
    bool is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return is_done;
}

/* Inserts the queue if it does not exist. */
static bool insert_queue(PGconn *connection, const char *name,
                         const struct elapse__schema_queue *queue, struct elapse__schema_why *why)
{
    static const char text[] =
        "insert into elapse.queue (name, parts, lease_ms, identity, level, hash_tags)"
        " select $1, $2::integer, $3::integer, decode($4, 'hex'),"
        " case when version < 3 then 0 when $5::boolean then 2 else 1 end,"
        " version > 2 and $5::boolean from elapse.version where component = 'cluster'"
        " on conflict (name) do nothing";
    char partitions[12], lease_ms[12], identity[2 * ELAPSE__CHAIN_IDENTITY_BYTES + 1];
    (void)snprintf(partitions, sizeof partitions, "%" PRIu32, queue->partitions);
    (void)snprintf(lease_ms, sizeof lease_ms, "%" PRIu32, queue->lease_ms);
    for (size_t i = 0; i < sizeof queue->identity; i++)
        (void)snprintf(identity + 2 * i, 3, "%02" PRIx8, queue->identity[i]);
    const char *tags = queue->hash_tags == ELAPSE__SCHEMA_TAGS_OFF ? "false" : "true";
    return do_with(connection, text, 5,
                   (const char *const[]){name, partitions, lease_ms, identity, tags}, why);
}

static bool insert_partition(PGconn *connection, const char *name,
                             const struct elapse__schema_queue *queue, uint32_t partition,
                             struct elapse__schema_why *why)
{
    static const char text[] = "insert into elapse.partition (queue, part, last_hash, lease_ms)"
                               " values ($1, $2, $3, $4) on conflict (queue, part) do nothing";
    char number[12], hash[24], lease_ms[12];
    ELAPSE__ASSERT_THAT(partition, <, queue->partitions);
    (void)snprintf(number, sizeof number, "%" PRIu32, partition);
    (void)snprintf(hash, sizeof hash, "%" PRId64,
                   (int64_t)elapse__chain_genesis(queue->identity, partition));
    (void)snprintf(lease_ms, sizeof lease_ms, "%" PRIu32, queue->lease_ms);
    return do_with(connection, text, 4, (const char *const[]){name, number, hash, lease_ms}, why);
}

/* Returns whether the queue is as the caller wants it. An older queue may differ. */
static bool is_as_wished(const char *name, const struct elapse__schema_queue *queue,
                         const struct elapse__schema_queue *wished, struct elapse__schema_why *why)
{
    bool is_new = memcmp(queue->identity, wished->identity, sizeof queue->identity) == 0;

    if (queue->partitions != wished->partitions || queue->lease_ms != wished->lease_ms)
        return elapse__visit_refuse(
            why, "queue %s exists, with %" PRIu32 " partitions and a lease of %" PRIu32 " ms", name,
            queue->partitions, queue->lease_ms);
    if (wished->hash_tags == ELAPSE__SCHEMA_TAGS_ANY || queue->hash_tags == wished->hash_tags)
        return true;
    return elapse__visit_refuse(
        why,
        is_new ? "queue %s can have no hash tags while nodes of 0.2 may run in this database: "
                 "elapse cluster upgrade says of any of its queues that there are none"
        : queue->hash_tags == ELAPSE__SCHEMA_TAGS_ON ? "queue %s exists, with hash tags"
                                                     : "queue %s exists, without hash tags",
        name);
}

/* Makes the tables and the queue. Requires that a transaction is open. */
static bool make(PGconn *connection, const char *name, struct elapse__schema_queue *queue,
                 struct elapse__schema_why *why)
{
    const struct elapse__schema_queue wished = *queue;
    const uint32_t partitions = queue->partitions;
    ELAPSE__ASSERT_THAT(PQtransactionStatus(connection), ==, PQTRANS_INTRANS);
    if (!elapse__visit_run(connection, (const char *)elapse__schema_sql, why) ||
        !insert_queue(connection, name, queue, why) ||
        !elapse__schema_read_in(connection, name, queue, why))
        return false;
    if (!is_as_wished(name, queue, &wished, why))
        return false;
    for (uint32_t partition = 0; partition < partitions; partition++)
        if (!insert_partition(connection, name, queue, partition, why))
            return false;
    return true;
}

bool elapse__schema_create(const char *host, const char *name, struct elapse__schema_queue *queue,
                           struct elapse__schema_why *why)
{
    ELAPSE__ASSERT(queue->partitions > 0 && queue->partitions <= ELAPSE__PARTS_MAX);
    ELAPSE__ASSERT_THAT(queue->lease_ms, >=, 20);
    if (!elapse__database_queue_name_is_valid(name))
        return elapse__visit_refuse(why, "the name of a queue has letters a to z, digits and _,"
                                         " 32 at most, and begins with a letter");
    PGconn *connection = elapse__visit_open(host, "read-write", why);
    if (connection == NULL)
        return false;
    bool is_made = elapse__visit_run(connection, "set synchronous_commit = on", why) &&
                   elapse__visit_run(connection, "begin", why) &&
                   make(connection, name, queue, why) && elapse__visit_commit(connection, why);
    PQfinish(connection); /* nothing is done without a commit */
    return is_made;
}

/* Raises the level. Requires that a transaction is open. */
static bool raise_level(PGconn *connection, const char *name, uint32_t *level,
                        struct elapse__schema_why *why)
{
    struct elapse__schema_queue queue = {.level = 0};
    ELAPSE__ASSERT_THAT(PQtransactionStatus(connection), ==, PQTRANS_INTRANS);
    if (!elapse__schema_read_in(connection, name, &queue, why))
        return false;
    *level = queue.level > ELAPSE__SCHEMA_LEVEL_UPGRADED ? queue.level
                                                         : (uint32_t)ELAPSE__SCHEMA_LEVEL_UPGRADED;
    return elapse__visit_run(connection, (const char *)elapse__schema_sql, why) &&
           do_with(connection, "update elapse.queue set level = greatest(level, 1) where name = $1",
                   1, (const char *const[]){name}, why) &&
           elapse__visit_run(connection,
                             "update elapse.version set version = greatest(version, 3)"
                             " where component = 'cluster'",
                             why);
}

bool elapse__schema_upgrade(const char *host, const char *name, uint32_t *level,
                            struct elapse__schema_why *why)
{
    PGconn *connection = elapse__visit_open(host, "read-write", why);
    if (connection == NULL)
        return false;
    bool is_done = elapse__visit_run(connection, "set synchronous_commit = on", why) &&
                   elapse__visit_run(connection, "begin", why) &&
                   raise_level(connection, name, level, why) &&
                   elapse__visit_commit(connection, why);
    PQfinish(connection); /* nothing is done without a commit */
    return is_done;
}

/* ---- the inbox ---- */

static bool look_for_inbox(PGconn *connection, bool *has_inbox, struct elapse__schema_why *why)
{
    PGresult *rows = elapse__visit_ask(
        connection, "select to_regproc('elapse.inbox_open') is not null", 0, NULL, why);
    bool is_known = PQresultStatus(rows) == PGRES_TUPLES_OK && PQntuples(rows) == 1;

    *has_inbox = is_known && PQgetvalue(rows, 0, 0)[0] == 't';
    PQclear(rows);
    return is_known;
}

static bool enter_queue(PGconn *connection, const char *name,
                        const struct elapse__schema_queue *queue, uint32_t body_bytes_max,
                        struct elapse__schema_why *why)
{
    /* An inbox of version 2 takes three arguments, and knows no hash tags. It would choose other
     * partitions than the nodes do. */
    bool has_tags = queue->hash_tags == ELAPSE__SCHEMA_TAGS_ON;
    char count[12], bytes[12];

    (void)snprintf(count, sizeof count, "%" PRIu32, queue->partitions);
    (void)snprintf(bytes, sizeof bytes, "%" PRIu32, body_bytes_max);
    PGresult *result =
        elapse__visit_ask(connection,
                          has_tags ? "select elapse.inbox_open($1, $2::integer, $3::integer, true)"
                                   : "select elapse.inbox_open($1, $2::integer, $3::integer)",
                          3, (const char *const[]){name, count, bytes}, why);
    bool is_done = PQresultStatus(result) == PGRES_TUPLES_OK;
    if (elapse__database_has_code(result, ELAPSE__CODE_NO_FUNCTION))
        (void)elapse__visit_refuse(
            why,
            "queue %s has hash tags, and the inbox is of a version that knows none: run "
            "inbox.sql of this version",
            name);
    PQclear(result);
    return is_done;
}

bool elapse__schema_open_inbox(const char *host, const char *name,
                               const struct elapse__schema_queue *queue, uint32_t body_bytes_max,
                               bool *has_inbox, struct elapse__schema_why *why)
{
    ELAPSE__ASSERT(queue->partitions > 0 && queue->partitions <= ELAPSE__PARTS_MAX);
    ELAPSE__ASSERT_THAT(body_bytes_max, <=, INT32_MAX);
    *has_inbox = false;
    /* A standby will not do, because the inbox may reach it later than the server that takes
     * writes. */
    PGconn *connection = elapse__visit_open(host, "read-write", why);

    if (connection == NULL)
        return false;
    /* Each start of a node enters the queue again. So the commit need not wait for a standby, which
     * may be down. */
    bool is_open =
        look_for_inbox(connection, has_inbox, why) &&
        (!*has_inbox || (elapse__visit_run(connection, "set synchronous_commit = local", why) &&
                         enter_queue(connection, name, queue, body_bytes_max, why)));
    PQfinish(connection);
    return is_open;
}
