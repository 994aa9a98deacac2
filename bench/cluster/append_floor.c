/*
 * The floor of a cluster: what each owner of a partition has to do in PostgreSQL, and nothing else.
 * For each partition a thread with a connection of libpq, which appends groups of the same size to
 * the same tables by the same statements as a node does, one in flight.
 *
 *     elapse-bench-cluster-floor CONNINFO PARTITIONS GROUP_BYTES SECONDS
 *
 * It makes a queue named `floor` with its tables, and leaves them there. It prints one object of
 * JSON: groups and bytes a second, over all partitions, and how long an append took.
 */
#include <inttypes.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../src/cluster/ownership/chain.h"
#include "../../src/cluster/postgres/schema.h"
#include "../../src/cluster/postgres/sql.h"

enum { PARTS_MAX = 64, LEASE_MS = 10000, TIMES_MAX = 1 << 20, GROUP_BYTES_MAX = 16 << 20 };

static const char queue_name[] = "floor";

static struct {
    const char *host;
    uint32_t partitions;
    size_t group_bytes;
    double seconds;
} given;

struct owner {
    uint32_t partition;
    PGconn *connection;
    pthread_t thread;
    uint64_t epoch, group, hash;
    uint64_t *times_us;
    size_t count;
    double seconds;
};

static _Noreturn void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(stderr, "elapse-bench-cluster-floor: ");
    (void)vfprintf(stderr, format, arguments);
    (void)fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- statements ---- */

static void send(const struct owner *owner, const struct elapse__sql *sql)
{
    if (PQsendQueryParams(owner->connection, sql->text, sql->count, sql->types, sql->values,
                          sql->sizes, sql->are_bytes, 0) != 1 ||
        PQpipelineSync(owner->connection) != 1)
        fail("sending: %s", PQerrorMessage(owner->connection));
}

/* Returns the rows of the next statement; the caller clears them. */
static PGresult *receive(const struct owner *owner)
{
    PGresult *rows = PQgetResult(owner->connection);
    if (PQresultStatus(rows) != PGRES_TUPLES_OK)
        fail("partition %" PRIu32 ": %s", owner->partition, PQerrorMessage(owner->connection));
    PGresult *next;
    while ((next = PQgetResult(owner->connection)) != NULL)
        PQclear(next); /* none: the end of the statement */
    PGresult *sync = PQgetResult(owner->connection);
    if (PQresultStatus(sync) != PGRES_PIPELINE_SYNC)
        fail("partition %" PRIu32 ": %s", owner->partition, PQerrorMessage(owner->connection));
    PQclear(sync);
    return rows;
}

/* Runs a statement as a node does: behind one that writes to the partition's row, the settings are
 * selected again. Requires that it gives a row. Returns the rows; the caller clears them. */
static PGresult *run(const struct owner *owner, const struct elapse__statement *statement)
{
    const struct elapse__sql_place place = {queue_name, owner->partition, "floor", "", LEASE_MS};
    struct elapse__sql sql;
    bool is_fenced_write = elapse__sql_is_fenced_write(statement->kind);

    if (!elapse__sql_write(&sql, &place, statement))
        fail("no memory");
    send(owner, &sql);
    if (is_fenced_write) {
        struct elapse__sql again = {.count = 0};
        (void)snprintf(again.text, sizeof again.text, "%s", elapse__sql_look_again);
        send(owner, &again);
    }
    PGresult *rows = receive(owner);
    if (is_fenced_write)
        PQclear(receive(owner));
    if (PQntuples(rows) != 1)
        fail("partition %" PRIu32 ": another one owns it", owner->partition);
    elapse__sql_free(&sql);
    return rows;
}

static uint64_t number_in(const PGresult *rows, int column)
{
    return (uint64_t)strtoll(PQgetvalue(rows, 0, column), NULL, 10);
}

static void make_table(const struct owner *owner, uint64_t group)
{
    PQclear(run(owner, &(struct elapse__statement){.kind = ELAPSE__STATEMENT_MAKE_TABLE,
                                                   .table = group / ELAPSE__LOG_TABLE_GROUPS}));
}

/* ---- an owner ---- */

static void connect_owner(struct owner *owner)
{
    enum { EPOCH, BEAT, LAST_GROUP, LAST_HASH };

    owner->connection = PQconnectdb(given.host);
    if (PQstatus(owner->connection) != CONNECTION_OK)
        fail("%s", PQerrorMessage(owner->connection));
    if (PQenterPipelineMode(owner->connection) != 1)
        fail("no pipeline");
    PGresult *session = run(owner, &(struct elapse__statement){.kind = ELAPSE__STATEMENT_READ_ROW});
    struct elapse__statement take_over = {.kind = ELAPSE__STATEMENT_TAKE_OVER,
                                          .epoch = number_in(session, EPOCH),
                                          .beat = number_in(session, BEAT),
                                          .group = number_in(session, LAST_GROUP)};
    PQclear(session);
    PGresult *row = run(owner, &take_over);
    owner->epoch = number_in(row, EPOCH);
    owner->group = number_in(row, LAST_GROUP);
    owner->hash = number_in(row, LAST_HASH);
    PQclear(row);
    make_table(owner, owner->group);
}

static void append(struct owner *owner, const char *bytes)
{
    struct elapse__statement statement = {
        .kind = ELAPSE__STATEMENT_APPEND,
        .epoch = owner->epoch,
        .group = owner->group + 1,
        .previous_hash = owner->hash,
        .hash = elapse__chain_next(owner->hash, bytes, given.group_bytes),
        .bytes = bytes,
        .size = given.group_bytes,
    };
    if (statement.group % ELAPSE__LOG_TABLE_GROUPS == 0)
        make_table(owner, statement.group);
    PQclear(run(owner, &statement));
    owner->group = statement.group;
    owner->hash = statement.hash;
}

static void *own(void *argument)
{
    struct owner *owner = argument;
    char *bytes = malloc(given.group_bytes);
    owner->times_us = malloc(TIMES_MAX * sizeof *owner->times_us);
    if (bytes == NULL || owner->times_us == NULL)
        fail("no memory");
    uint64_t random = owner->partition + 1;
    for (size_t i = 0; i < given.group_bytes; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        bytes[i] = (char)(random >> 56);
    }
    double begin = now_s(), now = begin;
    while (now - begin < given.seconds && owner->count < TIMES_MAX) {
        append(owner, bytes);
        double before = now;
        now = now_s();
        owner->times_us[owner->count++] = (uint64_t)((now - before) * 1e6);
    }
    owner->seconds = now - begin;
    free(bytes);
    return NULL;
}

/* ---- figures ---- */

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void print(const struct owner *owners)
{
    size_t count = 0;
    double rate = 0;
    for (uint32_t i = 0; i < given.partitions; i++) {
        count += owners[i].count;
        rate += (double)owners[i].count / owners[i].seconds;
    }
    uint64_t *all = malloc((count + 1) * sizeof *all);
    if (all == NULL || count == 0)
        fail("no group was appended");
    size_t at = 0;
    for (uint32_t i = 0; i < given.partitions; i++) {
        memcpy(all + at, owners[i].times_us, owners[i].count * sizeof *all);
        at += owners[i].count;
    }
    qsort(all, count, sizeof *all, compare);
    printf("{\"groups\": %zu, \"groups_a_second\": %.1f, \"bytes_a_second\": %.0f,"
           " \"p50_us\": %" PRIu64 ", \"p99_us\": %" PRIu64 "}\n",
           count, rate, rate * (double)given.group_bytes, all[count / 2], all[count * 99 / 100]);
    free(all);
}

static uint64_t whole_number(const char *text, uint64_t most)
{
    char *end;
    uint64_t number = strtoull(text, &end, 10);
    if (*end != '\0' || number == 0 || number > most)
        fail("not a number from 1 to %" PRIu64 ": %s", most, text);
    return number;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        fail("usage: elapse-bench-cluster-floor CONNINFO PARTITIONS GROUP_BYTES SECONDS");
    given.host = argv[1];
    given.partitions = (uint32_t)whole_number(argv[2], PARTS_MAX);
    given.group_bytes = whole_number(argv[3], GROUP_BYTES_MAX);
    given.seconds = strtod(argv[4], NULL);
    if (!(given.seconds > 0))
        fail("not a time: %s", argv[4]);

    struct elapse__schema_queue queue = {.partitions = given.partitions, .lease_ms = LEASE_MS};
    struct elapse__schema_why why;
    if (!elapse__schema_create(given.host, queue_name, &queue, &why))
        fail("%s", why.text);
    struct owner owners[PARTS_MAX] = {{0}};
    for (uint32_t i = 0; i < given.partitions; i++) {
        owners[i].partition = i;
        connect_owner(&owners[i]);
    }
    for (uint32_t i = 0; i < given.partitions; i++)
        if (pthread_create(&owners[i].thread, NULL, own, &owners[i]) != 0)
            fail("no thread");
    for (uint32_t i = 0; i < given.partitions; i++)
        (void)pthread_join(owners[i].thread, NULL);
    print(owners);
    for (uint32_t i = 0; i < given.partitions; i++) {
        PQfinish(owners[i].connection);
        free(owners[i].times_us);
    }
    return 0;
}
