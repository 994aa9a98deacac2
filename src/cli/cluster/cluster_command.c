/*
 * elapse cluster: reads the options. A program that was built without clusters reads them too, so
 * that it has the same help. It says why the command does nothing.
 */

#include <string.h>

#include "../../base/assert.h"
#include "../common/command.h"
#include "../common/lacks.h"
#include "../common/options.h"
#include "../common/text.h"
#include "cluster.h"

static const struct command_help help = {
    .usage = "Usage: elapse cluster create --cluster CONNECTION [--queue NAME] [--partitions N]\n"
             "                             [--lease DURATION] [--hash-tags|--no-hash-tags]\n"
             "       elapse cluster upgrade --cluster CONNECTION [--queue NAME]\n"
             "       elapse cluster status --cluster CONNECTION [--queue NAME] [--json]\n"
             "       elapse cluster move PARTITION [NODE] --cluster CONNECTION [--queue NAME]\n"
             "       elapse cluster drain|undrain|may-stop|remove NODE --cluster CONNECTION\n"
             "                             [--queue NAME]\n"
             "       elapse cluster pause|resume --cluster CONNECTION [--queue NAME]\n"
             "       elapse cluster append-lost --cluster CONNECTION --data DIRECTORY\n"
             "                             [--queue NAME] [--partition N] [--single-copy]\n"
             "                             [--begin-anew]\n"
             "       elapse cluster accept-loss --cluster CONNECTION [--data DIRECTORY]\n"
             "                             [--queue NAME] [--partition N] [--single-copy] --yes\n"
             "       elapse cluster accept-database --cluster CONNECTION --data DIRECTORY\n"
             "                             [--queue NAME] [--partition N] --yes\n",
    .purpose =
        "Makes the queue of a cluster in a PostgreSQL database, or shows it. create makes\n"
        "the tables that are missing, and the queue unless it exists; it can be run again.\n"
        "upgrade lets the queue have what nodes of 0.2 cannot read, such as headers: all\n"
        "nodes have this version by then, and are restarted afterwards.\n"
        "status looks for up to a lease and a quarter, and then prints who owns each\n"
        "partition, the nodes, and the copies. Its exit status is 0 if all have an owner that\n"
        "lives, and 1 otherwise; 3: there is no such queue, 6: no server takes writes.\n"
        "move places a partition at a node, and lets it go again without NODE. drain moves\n"
        "the partitions of a node to others, until undrain. may-stop ends with 0 if another\n"
        "node can own each partition at once, and with 1 otherwise. remove forgets a node\n"
        "that has ended. pause stops planned moves, until resume.\n"
        "A partition stands still when the database lost groups that were acknowledged:\n"
        "append-lost appends them again from the directory of a node that has them;\n"
        "accept-loss goes on without them. All nodes must have ended, but for accept-loss\n"
        "where others have gone on.\n"
        "accept-database lets a node use a database that was made anew from the one that it\n"
        "used, by a major upgrade or by dump and restore, if that has all of its groups.\n",
    .example = "Examples:\n"
               "  elapse cluster create --cluster 'host=db1,db2 dbname=shop' --partitions 4\n"
               "  elapse cluster status --cluster 'host=db1,db2 dbname=shop'\n"
               "  elapse cluster move 3 node-b --cluster 'host=db1,db2 dbname=shop'\n"
               "  elapse cluster append-lost --cluster 'host=db1,db2 dbname=shop' \\\n"
               "      --data /var/lib/elapse --partition 2\n",
};

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

/* The verbs of elapse cluster, and how many words stand behind each. */
enum verb {
    CREATE,
    UPGRADE,
    STATUS,
    MOVE,
    DRAIN,
    UNDRAIN,
    MAY_STOP,
    REMOVE,
    PAUSE,
    RESUME,
    APPEND_LOST,
    ACCEPT_LOSS,
    ACCEPT_DATABASE,
    VERBS
};

static const struct {
    const char *name;
    int words_least, words_most;
} verbs[VERBS] = {
    [CREATE] = {"create", 0, 0},
    [UPGRADE] = {"upgrade", 0, 0},
    [STATUS] = {"status", 0, 0},
    [MOVE] = {"move", 1, 2},
    [DRAIN] = {"drain", 1, 1},
    [UNDRAIN] = {"undrain", 1, 1},
    [MAY_STOP] = {"may-stop", 1, 1},
    [REMOVE] = {"remove", 1, 1},
    [PAUSE] = {"pause", 0, 0},
    [RESUME] = {"resume", 0, 0},
    [APPEND_LOST] = {"append-lost", 0, 0},
    [ACCEPT_LOSS] = {"accept-loss", 0, 0},
    [ACCEPT_DATABASE] = {"accept-database", 0, 0},
};

static const char say[] = "say create, upgrade, status, move, drain, undrain, may-stop, remove, "
                          "pause, resume, append-lost, accept-loss or accept-database";

/* Whether an option was given that only some verbs have. */
struct given {
    bool of_create, of_repair;
};

static enum exit_status check_options(enum verb verb, const struct cluster_options *options,
                                      const struct given *given)
{
    bool takes_data = verb == APPEND_LOST || verb == ACCEPT_LOSS || verb == ACCEPT_DATABASE;
    bool repairs = verb == APPEND_LOST || verb == ACCEPT_LOSS;

    if (verb != CREATE && given->of_create)
        return usage_error(
            "--partitions, --lease, --hash-tags and --no-hash-tags belong to create");
    if (options->with_tags && options->without_tags)
        return usage_error("either --hash-tags or --no-hash-tags");
    if (verb != STATUS && options->json)
        return usage_error("--json belongs to status");
    if (!takes_data && (given->of_repair || options->data != NULL))
        return usage_error(
            "--data and --partition belong to append-lost, accept-loss and accept-database");
    if (!repairs && options->single_copy)
        return usage_error("--single-copy belongs to append-lost and accept-loss");
    if (verb != ACCEPT_LOSS && verb != ACCEPT_DATABASE && options->yes)
        return usage_error("--yes belongs to accept-loss and accept-database");
    if (options->host_count == 0)
        return usage_error("--cluster is missing: the database, as libpq takes it");
    if (verb != APPEND_LOST && options->begin_anew)
        return usage_error("--begin-anew belongs to append-lost");
    if (verb == APPEND_LOST && options->data == NULL)
        return usage_error("--data is missing: the directory of a node that has the lost groups");
    if (verb == ACCEPT_DATABASE && options->data == NULL)
        return usage_error("--data is missing: the directory of the node that is to use the "
                           "database");
    if (options->lease_ns % NS_PER_MS != 0)
        return usage_error("--lease: whole milliseconds");
    return STATUS_OK;
}

static enum exit_status run_verb(enum verb verb, const struct cluster_options *options)
{
#ifdef ELAPSE_HAS_CLUSTER
    static enum exit_status (*const commands[VERBS])(const struct cluster_options *) = {
        [CREATE] = cluster_create,
        [UPGRADE] = cluster_upgrade,
        [STATUS] = cluster_status,
        [MOVE] = cluster_move,
        [DRAIN] = cluster_drain,
        [UNDRAIN] = cluster_undrain,
        [MAY_STOP] = cluster_may_stop,
        [REMOVE] = cluster_remove,
        [PAUSE] = cluster_pause,
        [RESUME] = cluster_resume,
        [APPEND_LOST] = cluster_append_lost,
        [ACCEPT_LOSS] = cluster_accept_loss,
        [ACCEPT_DATABASE] = cluster_accept_database,
    };

    ELAPSE__ASSERT_THAT(verb, <, VERBS);
    ELAPSE__ASSERT_THAT(options->host_count, <=, (size_t)CLUSTER_HOSTS_MAX);
    return commands[verb](options);
#else
    (void)verb;
    (void)options;
    print_error("%s", LACKS_CLUSTERS);
    return STATUS_USAGE;
#endif
}

static enum exit_status find_verb(const struct command_line *line, enum verb *verb)
{
    if (line->argument_count == 0)
        return usage_error("%s", say);
    const char *word = line->arguments[0];
    for (*verb = CREATE; *verb < VERBS && strcmp(word, verbs[*verb].name) != 0;)
        ++*verb;
    if (*verb == VERBS)
        return usage_error("%s, not %s", say, quote_string(word).text);
    int most = verbs[*verb].words_most;
    if (line->argument_count > 1 + most)
        return usage_error("too many arguments: %s", quote_string(line->arguments[1 + most]).text);
    if (line->argument_count <= verbs[*verb].words_least)
        return usage_error("%s: say which %s", word, *verb == MOVE ? "partition" : "node");
    return STATUS_OK;
}

static enum exit_status read_and_run(struct command_line *line, int argc, char **argv,
                                     struct cluster_options *options, const struct given *given)
{
    enum exit_status status;
    enum verb verb = CREATE;

    if (!options_read(line, argc, argv, &status))
        return status;
    options->has_partition = given->of_repair;
    status = find_verb(line, &verb);
    if (status == STATUS_OK) {
        options->words = line->arguments + 1;
        options->word_count = line->argument_count - 1;
    }
    if (status == STATUS_OK)
        status = check_options(verb, options, given);
    return status == STATUS_OK ? run_verb(verb, options) : status;
}

enum exit_status cluster_command(int argc, char **argv)
{
    struct cluster_options options = {.queue = "main", .partitions = 1, .lease_ns = LEASE_NS};
    struct given given = {.of_create = false};
    const struct command_option table[] = {
        option_function(
            "cluster", "CONNECTION", add_host, &options,
            "the database, as libpq takes it: host=db1 dbname=shop, or postgresql://db1/shop; "
            "it may name several hosts, and may be given again for further servers"),
        option_text("queue", "NAME", &options.queue, "the queue, main unless given"),
        option_noting(&given.of_create,
                      option_number("partitions", "N", &options.partitions, 1, PARTITIONS_MAX,
                                    "how many partitions it has for ever, 1 to 1024 (default 1)")),
        option_noting(
            &given.of_create,
            option_duration(
                "lease", &options.lease_ns, LEASE_NS_LEAST, LEASE_NS_MOST,
                "after how long without a sign of life another node takes over, 100ms to 1h "
                "(default 10s); for ever, too")),
        option_noting(
            &given.of_create,
            option_flag("hash-tags", &options.with_tags,
                        "tubes with the same part in braces, such as mails{eu}, lie in one "
                        "partition, so that they may have groups and limits; for ever, too "
                        "(default, unless nodes of 0.2 may run in the database)")),
        option_noting(&given.of_create, option_flag("no-hash-tags", &options.without_tags,
                                                    "braces in the name of a tube mean nothing")),
        option_flag("json", &options.json, "print JSON"),
        option_text("data", "DIRECTORY", &options.data,
                    "the directory of a node, as its --data had it"),
        option_noting(
            &given.of_repair,
            option_number("partition", "N", &options.partition, 0, PARTITIONS_MAX - 1,
                          "which one, from 0; needed if there are several; accept-database takes "
                          "all of them unless given")),
        option_flag("single-copy", &options.single_copy,
                    "the database has no synchronous standby, and none is waited for, as the nodes "
                    "have it"),
        option_flag("yes", &options.yes,
                    "the lost groups may stay lost; the other database never comes back"),
        option_flag("begin-anew", &options.begin_anew,
                    "a directory that begins behind the lost groups becomes the whole log"),
    };
    struct command_line line = COMMAND_LINE(help, table);
    return read_and_run(&line, argc, argv, &options, &given);
}
