/*
 * The same work in SQLite, used as well as it can be: one connection, WAL, synchronous=FULL,
 * prepared statements, a large cache, few checkpoints. The key of a job's row is its due second and
 * a number, so rows lie in the order in which they come due, and no second index is needed for
 * that. A job with a key has a row in a second table.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "../measure.h"
#include "queue_bench.h"

enum { HOUR_S = 3600, NUMBER_BITS = 28 };

enum statement { BEGIN, COMMIT, PUT, NAME, FIND, UNNAME, DROP, MOVE, RENAME, TAKE, STATEMENTS };

static const char *const texts[STATEMENTS] = {
    [BEGIN] = "begin immediate",
    [COMMIT] = "commit",
    [PUT] = "insert into job(due, lease, body) values(?1, 0, ?2)",
    [NAME] = "insert into name(key, due) values(?1, ?2)",
    [FIND] = "select due from name where key = ?1",
    [UNNAME] = "delete from name where key = ?1 returning due",
    [DROP] = "delete from job where due = ?1",
    [MOVE] = "update job set due = ?2 where due = ?1",
    [RENAME] = "update name set due = ?2 where key = ?1",
    [TAKE] = "update job set lease = ?2 where due in (select due from job where due < ?1 and "
             "lease = 0 order by due limit ?3) returning due, body",
};

struct database {
    sqlite3 *sqlite;
    sqlite3_stmt *statements[STATEMENTS];
    char path[PATH_BYTES];
};

static void database_open(struct database *database, const struct settings *settings)
{
    static const char *const setup =
        "pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -262144;"
        "pragma wal_autocheckpoint = 10000; pragma temp_store = memory;"
        "create table job(due integer primary key, lease integer, body blob);"
        "create table name(key integer primary key, due integer);";
    char file[PATH_BYTES + 16];

    place_make(settings, database->path);
    snprintf(file, sizeof file, "%s/jobs", database->path);
    require(sqlite3_open(file, &database->sqlite) == SQLITE_OK &&
                sqlite3_exec(database->sqlite, setup, NULL, NULL, NULL) == SQLITE_OK,
            "SQLite cannot make its file");
    for (int i = 0; i < STATEMENTS; i++)
        require(sqlite3_prepare_v3(database->sqlite, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                   &database->statements[i], NULL) == SQLITE_OK,
                "SQLite refuses a statement");
}

static void database_close(struct database *database)
{
    for (int i = 0; i < STATEMENTS; i++)
        (void)sqlite3_finalize(database->statements[i]);
    require(sqlite3_close(database->sqlite) == SQLITE_OK, "SQLite did not close well");
    place_remove(database->path);
}

/* Runs a statement with up to two numbers. Returns the first column of its first row, or -1. */
static int64_t run(struct database *database, enum statement which, int64_t first, int64_t second)
{
    sqlite3_stmt *statement = database->statements[which];
    int64_t found = -1;
    int count = sqlite3_bind_parameter_count(statement);
    if (count > 0)
        (void)sqlite3_bind_int64(statement, 1, first);
    if (count > 1)
        (void)sqlite3_bind_int64(statement, 2, second);
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        found = sqlite3_column_int64(statement, 0);
        result = sqlite3_step(statement);
    }
    require(result == SQLITE_DONE && sqlite3_reset(statement) == SQLITE_OK,
            "a statement of SQLite failed");
    return found;
}

/* When the job with this number is due, as its row says it: within the hour after `hours`. */
static int64_t due_of(uint64_t number, unsigned hours)
{
    uint64_t second = hours * (uint64_t)HOUR_S + number * 7919 % HOUR_S;
    return (int64_t)(second << NUMBER_BITS | number);
}

static void put_one(struct database *database, uint64_t number, bool with_key, unsigned hours)
{
    sqlite3_stmt *statement = database->statements[PUT];
    struct elapse_put put = job_numbered(number, false, 0);
    (void)sqlite3_bind_blob(statement, 2, put.body, (int)put.body_bytes, SQLITE_STATIC);
    (void)sqlite3_bind_int64(statement, 1, due_of(number, hours));
    require(sqlite3_step(statement) == SQLITE_DONE && sqlite3_reset(statement) == SQLITE_OK,
            "SQLite refuses a row");
    if (with_key)
        (void)run(database, NAME, (int64_t)number, due_of(number, hours));
}

static void fill(struct database *database, uint64_t count, unsigned group, bool with_key,
                 unsigned hours)
{
    for (uint64_t i = 0; i < count; i++) {
        if (i % group == 0)
            (void)run(database, BEGIN, 0, 0);
        put_one(database, i, with_key, hours);
        if (i % group == group - 1 || i == count - 1)
            (void)run(database, COMMIT, 0, 0);
    }
}

static void add(const char *workload, const char *figure, uint64_t count, uint64_t began,
                const char *floor)
{
    double seconds = (double)(clock_ns() - began) / 1e9;
    table_add(workload, "sqlite", figure, (double)count / seconds, "/s", floor);
}

void sqlite_put(const struct settings *settings, unsigned group, const char *figure,
                const char *floor)
{
    struct database database;
    uint64_t share = group == 1 ? 100 : group < GROUP ? 4 : 1;
    uint64_t count = settings->jobs / share;
    if (settings->without_sqlite)
        return;
    database_open(&database, settings);
    uint64_t began = clock_ns();
    fill(&database, count, group, false, 1);
    add("put", figure, count, began, floor);
    database_close(&database);
}

static void cancel_one(struct database *database, uint64_t key)
{
    int64_t due = run(database, UNNAME, (int64_t)key, 0);
    require(due >= 0, "SQLite lost a key");
    (void)run(database, DROP, due, 0);
    require(sqlite3_changes(database->sqlite) == 1, "SQLite lost a row");
}

static void reschedule_one(struct database *database, uint64_t key)
{
    int64_t due = run(database, FIND, (int64_t)key, 0);
    require(due >= 0, "SQLite lost a key");
    (void)run(database, MOVE, due, due_of(key, 2));
    require(sqlite3_changes(database->sqlite) == 1, "SQLite lost a row");
    (void)run(database, RENAME, (int64_t)key, due_of(key, 2));
}

static void change(const struct settings *settings, const char *workload, const char *floor,
                   void (*change_one)(struct database *database, uint64_t key))
{
    struct database database;
    if (settings->without_sqlite)
        return;
    uint32_t *keys = numbers_shuffled(settings->jobs);
    database_open(&database, settings);
    fill(&database, settings->jobs, GROUP, true, 1);
    uint64_t began = clock_ns();
    for (uint64_t i = 0; i < settings->jobs; i++) {
        if (i % GROUP == 0)
            (void)run(&database, BEGIN, 0, 0);
        change_one(&database, keys[i]);
        if (i % GROUP == GROUP - 1 || i == settings->jobs - 1)
            (void)run(&database, COMMIT, 0, 0);
    }
    add(workload, "by key, groups of 1000", settings->jobs, began, floor);
    database_close(&database);
    free(keys);
}

void sqlite_cancel(const struct settings *settings, const char *floor)
{
    change(settings, "cancel", floor, cancel_one);
}

void sqlite_reschedule(const struct settings *settings, const char *floor)
{
    change(settings, "reschedule", floor, reschedule_one);
}

/* Hands out up to a group of jobs: their leases are durable before they are acknowledged. */
static unsigned take(struct database *database, int64_t *dues)
{
    sqlite3_stmt *statement = database->statements[TAKE];
    unsigned count = 0;
    (void)run(database, BEGIN, 0, 0);
    (void)sqlite3_bind_int64(statement, 1, due_of(0, 1));
    (void)sqlite3_bind_int64(statement, 2, 1);
    (void)sqlite3_bind_int64(statement, 3, GROUP);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        require(count < GROUP && sqlite3_column_bytes(statement, 1) == BODY_BYTES,
                "SQLite hands out something else");
        dues[count++] = sqlite3_column_int64(statement, 0);
    }
    require(sqlite3_reset(statement) == SQLITE_OK, "SQLite hands out nothing");
    (void)run(database, COMMIT, 0, 0);
    return count;
}

void sqlite_work(const struct settings *settings)
{
    struct database database;
    int64_t dues[GROUP];
    uint64_t done = 0;
    unsigned count;

    if (settings->without_sqlite)
        return;
    database_open(&database, settings);
    fill(&database, settings->jobs, GROUP, false, 0);
    uint64_t began = clock_ns();
    while ((count = take(&database, dues)) > 0) {
        (void)run(&database, BEGIN, 0, 0);
        for (unsigned i = 0; i < count; i++)
            (void)run(&database, DROP, dues[i], 0);
        (void)run(&database, COMMIT, 0, 0);
        done += count;
    }
    require(done == settings->jobs, "SQLite lost jobs");
    add("work", "1 worker, 1000 at once", done, began, NULL);
    database_close(&database);
}
