/*
 * elapse cluster: its options. A program that was built without clusters has them too, so that
 * its help is the same, and it says why it does nothing.
 */
#include "cluster_command.h"

#include <string.h>

#include "../common/options.h"
#include "../common/text.h"
#include "cluster.h"

static const char usage[] =
    "Usage: elapse cluster create --cluster CONNECTION [--queue NAME] [--partitions N]\n"
    "                             [--lease DURATION]\n"
    "       elapse cluster status --cluster CONNECTION [--queue NAME] [--json]\n";

static const char purpose[] =
    "Makes the queue of a cluster in a PostgreSQL database, or shows it. create makes\n"
    "the tables that are missing, and the queue unless it exists; it can be run again.\n"
    "status looks for up to a lease, and then prints who owns each partition. Its exit\n"
    "status is 0 if all have an owner that lives, and 1 otherwise; 3: there is no such\n"
    "queue, 6: no server takes writes.\n";

static const char example[] =
    "Examples:\n"
    "  elapse cluster create --cluster 'host=db1,db2 dbname=shop' --partitions 4\n"
    "  elapse cluster status --cluster 'host=db1,db2 dbname=shop'\n";

#define LEASE_NS       UINT64_C(10000000000)
#define LEASE_NS_LEAST UINT64_C(100000000)
#define LEASE_NS_MOST  UINT64_C(3600000000000)

enum { PARTITIONS_MAX = 1024, NS_PER_MS = 1000000 };

static enum exit_status add_host(void *context, const char *value)
{
    struct cluster_options *options = context;

    if (options->host_count == CLUSTER_HOSTS_MAX)
        return usage_error("%s: there are too many", options_label());
    options->hosts[options->host_count++] = value;
    return STATUS_OK;
}

/* `create_only` and `status_only`: an option of that verb was given. */
static enum exit_status run_verb(const struct command_line *line,
                                 const struct cluster_options *options, bool create_only,
                                 bool status_only)
{
    if (line->argument_count == 0)
        return usage_error("say create or status");
    const char *verb = line->arguments[0];
    bool is_create = strcmp(verb, "create") == 0;
    if (!is_create && strcmp(verb, "status") != 0)
        return usage_error("say create or status, not %s", quote_string(verb).text);
    if (line->argument_count > 1)
        return usage_error("too many arguments: %s", quote_string(line->arguments[1]).text);
    if (is_create ? status_only : create_only)
        return usage_error(is_create ? "--json belongs to status"
                                     : "--partitions and --lease belong to create");
    if (options->host_count == 0)
        return usage_error("--cluster is missing: the database, as libpq takes it");
    if (options->lease_ns % NS_PER_MS != 0)
        return usage_error("--lease: whole milliseconds");
#ifdef ELAPSE_HAS_CLUSTER
    return is_create ? cluster_create(options) : cluster_status(options);
#else
    print_error("this program was built without clusters, which need the server and libpq");
    return STATUS_USAGE;
#endif
}

enum exit_status cluster_command(int argc, char **argv)
{
    struct cluster_options options = {.queue = "main", .partitions = 1, .lease_ns = LEASE_NS};
    bool create_only = false;
    const struct command_option table[] = {
        {.name = "cluster",
         .value = "CONNECTION",
         .kind = OPTION_FUNCTION,
         .read = add_host,
         .context = &options,
         .help = "the database, as libpq takes it: host=db1 dbname=shop, or postgresql://db1/shop; "
                 "it may name several hosts, and may be given again for further servers"},
        {.name = "queue",
         .value = "NAME",
         .kind = OPTION_TEXT,
         .text = &options.queue,
         .help = "the queue, main unless given"},
        {.name = "partitions",
         .value = "N",
         .kind = OPTION_NUMBER,
         .number = &options.partitions,
         .least = 1,
         .most = PARTITIONS_MAX,
         .given = &create_only,
         .help = "how many partitions it has for ever, 1 to 1024 (default 1)"},
        {.name = "lease",
         .value = "DURATION",
         .kind = OPTION_DURATION,
         .number = &options.lease_ns,
         .least = LEASE_NS_LEAST,
         .most = LEASE_NS_MOST,
         .given = &create_only,
         .help = "after how long without a sign of life another node takes over, 100ms to 1h "
                 "(default 10s); for ever, too"},
        {.name = "json", .kind = OPTION_FLAG, .flag = &options.json, .help = "print JSON"},
    };
    struct command_line line = {
        .usage = usage,
        .purpose = purpose,
        .options = table,
        .option_count = sizeof table / sizeof table[0],
        .example = example,
    };
    enum exit_status status;

    if (!options_read(&line, argc, argv, &status))
        return status;
    return run_verb(&line, &options, create_only, options.json);
}
