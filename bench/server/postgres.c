/*
 * A load for PostgreSQL as a queue of jobs. It prints one line of JSON.
 *
 *     elapse-bench-server-postgres DIRECTORY VERB [OPTION]...
 *
 * DIRECTORY holds the socket of the server. A statement changes up to --batch jobs and is one
 * transaction, so that its answer says that they are durable; a connection has --window / --batch
 * of them under way. The verbs of this program alone: `setup` makes the table, `warm-up` writes
 * --count megabytes to the log, `ready` waits until the server answers.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "peer.h"
#include "postgres_link.h"
#include "postgres_loads.h"
#include "postgres_sql.h"

/* Runs a text on a connection of its own. Returns whether it succeeded. */
static bool run_text(const char *directory, const char *text, bool must)
{
    const char *const names[] = {"host", "user", "dbname", NULL};
    const char *const values[] = {directory, "elapse", "postgres", NULL};
    PGconn *connection = PQconnectdbParams(names, values, 0);
    PGresult *result = PQexec(connection, text);
    ExecStatusType status = PQresultStatus(result);
    bool is_done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

    if (must && !is_done)
        peer_fail("%s", PQerrorMessage(connection));
    PQclear(result);
    PQfinish(connection);
    return is_done;
}

static void set_up(struct arguments *arguments)
{
    (void)run_text(arguments->address, schema_text, true);
}

/* Writes so many megabytes to the log, and makes its files free to be used again. */
static void warm_up(struct arguments *arguments)
{
    char text[256];

    (void)snprintf(text, sizeof text,
                   "select count(pg_logical_emit_message(false, 'race', repeat('x', 1000000)))"
                   " from generate_series(1, %llu)",
                   (unsigned long long)arguments->count);
    (void)run_text(arguments->address, text, true);
    (void)run_text(arguments->address, "checkpoint", true);
}

static void wait_until_ready(struct arguments *arguments)
{
    const struct timespec pause = {.tv_nsec = 2 * 1000 * 1000};
    uint64_t until_ns = now_ns() + (uint64_t)(arguments->seconds * 1e9);

    while (!run_text(arguments->address, "select 1", now_ns() > until_ns))
        (void)nanosleep(&pause, NULL);
}

static const struct {
    const char *name;
    void (*run)(struct arguments *arguments);
} verbs[] = {
    {"setup", set_up},       {"warm-up", warm_up},          {"ready", wait_until_ready},
    {"put", load_put},       {"put-key", load_put_key},     {"put-now", load_put_now},
    {"delete", load_delete}, {"cancel", load_cancel},       {"reschedule", load_reschedule},
    {"story", load_story},   {"heartbeat", load_heartbeat}, {"churn", load_churn},
    {"drain", load_drain},   {"timers", load_timers},
};

int main(int argc, char **argv)
{
    struct arguments arguments = arguments_read(argc, argv);

    /* The window of the other verbs says how many jobs a client has at hand. */
    if (strcmp(arguments.verb, "timers") == 0)
        arguments.window = arguments.batch;
    if (arguments.batch > arguments.window)
        arguments.batch = arguments.window;

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, arguments.verb) == 0) {
            verbs[i].run(&arguments);
            return 0;
        }
    fprintf(stderr, "no such verb: %s\n", arguments.verb);
    return 2;
}
