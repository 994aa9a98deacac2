/*
 * elapse serve: reads the options from the command line and from a file, and runs the server.
 */

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#ifdef ELAPSE_HAS_CLUSTER
#include "../../cluster/serve/serve_cluster.h"
#endif
#include "../../server/serve/serve.h"
#include "../common/command.h"
#include "../common/lacks.h"
#include "../common/options.h"
#include "../common/output.h"
#include "../common/text.h"

static const struct command_help help = {
    .usage = "Usage: elapse serve [OPTION]...\n",
    .purpose = "Serves a durable queue to the network, on one port by two protocols: that of\n"
               "beanstalkd, and that of Redis with commands of its own. A reply comes when what\n"
               "it says is on the disk. SIGTERM ends it within a second, SIGHUP reads the files\n"
               "of passwords, users and certificates again, and SIGUSR1 refuses further jobs.\n",
    .example = "Examples:\n"
               "  elapse serve --data orders\n"
               "  elapse serve --listen tls:[::]:11300 --auth passwords \\\n"
               "      --tls-certificate cert.pem --tls-key key.pem\n",
};

/* The values of the options while they are read. */
struct reading {
    struct elapse__loop_options serve;
    const char *address; /* the value of -l */
    const char *port;    /* the value of -p */
    const char *config;
    const char *unused; /* the value of -s, which has no effect */
    uint64_t segment_bits;
    bool segment_given;
    bool data_given;
    bool beanstalkd_version;
    bool never_sync;
};

enum { SEGMENT_BITS = 26, SEGMENT_BITS_IN_MEMORY = 22, SEGMENT_BITS_LEAST = 14 };

#define BODY_BYTES_MAX   33554432U
#define INTERVAL_MS_MAX  60000U
#define NEVER_SYNC_MS    50U /* a longer interval for -F would save nothing, and lose more */
#define CONNECTIONS_MAX  10000000U
#define SECOND_NS        UINT64_C(1000000000)
#define BALANCE_NS       (60 * SECOND_NS)
#define BALANCE_NS_MOST  (86400 * SECOND_NS)
#define REPLACE_NS       (600 * SECOND_NS)
#define FOLLOWERS        1
#define KEEP_LEFT_NS     (3600 * SECOND_NS)
#define FOLLOWERS_MOST   6 /* ELAPSE__REPLICAS_FOLLOWERS_MAX */
#define IDLE_SECONDS_MAX UINT64_C(4000000)

/* ---- single options ---- */

static enum exit_status add_address(struct elapse__loop_listen *listens, size_t *count,
                                    const char *value)
{
    ELAPSE__ASSERT_THAT(*count, <=, (size_t)ELAPSE__LOOP_LISTENS_MAX);
    if (*count == ELAPSE__LOOP_LISTENS_MAX)
        return usage_error("%s: there are too many addresses", options_label());
    const char *fault = elapse__loop_parse_listen(value, NULL, &listens[*count]);
    if (fault != NULL)
        return usage_error("%s: %s: %s", options_label(), quote_string(value).text, fault);
    ++*count;
    return STATUS_OK;
}

static enum exit_status add_listen(void *context, const char *value)
{
    struct elapse__loop_options *serve = context;

    return add_address(serve->listens, &serve->listen_count, value);
}

static enum exit_status add_http(void *context, const char *value)
{
    struct elapse__loop_options *serve = context;

    return add_address(serve->https, &serve->http_count, value);
}

static enum exit_status add_http_host(void *context, const char *value)
{
    struct elapse__loop_options *serve = context;

    ELAPSE__ASSERT_THAT(serve->http_host_count, <=, (size_t)ELAPSE__LOOP_LISTENS_MAX);
    if (serve->http_host_count == ELAPSE__LOOP_LISTENS_MAX)
        return usage_error("%s: there are too many names", options_label());
    if (*value == '\0' || strchr(value, ':') != NULL || strchr(value, '/') != NULL)
        return usage_error("%s: %s is not the name of a host", options_label(),
                           quote_string(value).text);
    serve->http_hosts[serve->http_host_count++] = value;
    return STATUS_OK;
}

static enum exit_status add_cluster(void *context, const char *value)
{
    struct elapse__loop_options *serve = context;

    ELAPSE__ASSERT_THAT(serve->cluster_count, <=, (size_t)ELAPSE__LOOP_CLUSTER_MAX);
    if (serve->cluster_count == ELAPSE__LOOP_CLUSTER_MAX)
        return usage_error("%s: there are too many databases", options_label());
    serve->clusters[serve->cluster_count++] = value;
    return STATUS_OK;
}

static enum exit_status read_durability(void *context, const char *value)
{
    struct elapse__loop_options *serve = context;
    const char interval[] = "interval=";

    if (strcmp(value, "sync") == 0) {
        serve->durability = ELAPSE__LOOP_SYNC;
    } else if (strcmp(value, "memory") == 0) {
        serve->durability = ELAPSE__LOOP_MEMORY;
    } else if (strncmp(value, interval, strlen(interval)) == 0 &&
               parse_number(value + strlen(interval), 1, INTERVAL_MS_MAX, &serve->interval_ms)) {
        serve->durability = ELAPSE__LOOP_INTERVAL;
    } else {
        return usage_error("%s: %s is not sync, interval=MS (1 to 60000) or memory",
                           options_label(), quote_string(value).text);
    }
    return STATUS_OK;
}

/* Reads -f MS, an option of beanstalkd: 0 means to sync always. */
static enum exit_status read_sync_interval(void *context, const char *value)
{
    struct elapse__loop_options *serve = context;

    if (!parse_number(value, 0, INTERVAL_MS_MAX, &serve->interval_ms))
        return usage_error("%s: %s is not a whole number from 0 to 60000", options_label(),
                           quote_string(value).text);
    serve->durability = serve->interval_ms == 0 ? ELAPSE__LOOP_SYNC : ELAPSE__LOOP_INTERVAL;
    return STATUS_OK;
}

static enum exit_status read_followers(void *context, const char *value)
{
    struct elapse__loop_options *serve = context;

    if (strcmp(value, "all") == 0)
        serve->followers = 0;
    else if (!parse_number(value, 1, FOLLOWERS_MOST, &serve->followers))
        return usage_error("%s: %s is not a whole number from 1 to 6, or all", options_label(),
                           quote_string(value).text);
    return STATUS_OK;
}

static enum exit_status read_log(void *context, const char *value)
{
    struct elapse__loop_options *serve = context;

    serve->log_json = strcmp(value, "json") == 0;
    if (!serve->log_json && strcmp(value, "text") != 0)
        return usage_error("%s: %s is not text or json", options_label(), quote_string(value).text);
    return STATUS_OK;
}

/* ---- all options together ---- */

/* Makes one address of -l and -p, which are options of beanstalkd. */
static enum exit_status join_address(struct reading *reading)
{
    struct elapse__loop_options *serve = &reading->serve;
    const char *port = reading->port == NULL ? "11300" : reading->port;

    if (reading->address == NULL && reading->port == NULL)
        return STATUS_OK;
    if (serve->listen_count == ELAPSE__LOOP_LISTENS_MAX)
        return usage_error("-l: there are too many addresses");
    struct elapse__loop_listen *listen = &serve->listens[serve->listen_count];
    const char *address = reading->address == NULL ? "127.0.0.1" : reading->address;
    const char *fault = elapse__loop_parse_listen(address, port, listen);
    /* beanstalkd accepts an address of IPv6 without brackets. */
    if (fault != NULL && strchr(address, ':') != strrchr(address, ':') &&
        strlen(address) < sizeof listen->host) {
        fault = elapse__loop_parse_listen("", port, listen);
        memcpy(listen->host, address, strlen(address) + 1);
    }
    if (fault != NULL)
        return usage_error("-l %s -p %s: %s", quote_string(address).text, quote_string(port).text,
                           fault);
    serve->listen_count++;
    ELAPSE__ASSERT_THAT(serve->listen_count, <=, (size_t)ELAPSE__LOOP_LISTENS_MAX);
    return STATUS_OK;
}

static bool has_tls(const struct elapse__loop_listen *listens, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (listens[i].tls)
            return true;
    }
    return false;
}

static enum exit_status join(struct reading *reading)
{
    struct elapse__loop_options *serve = &reading->serve;
    enum exit_status status = join_address(reading);

    if (status != STATUS_OK)
        return status;
    if ((serve->tls_certificate == NULL) != (serve->tls_key == NULL))
        return usage_error("--tls-certificate and --tls-key need each other");
    bool needs_certificate =
        has_tls(serve->listens, serve->listen_count) || has_tls(serve->https, serve->http_count);
    if (needs_certificate && serve->tls_certificate == NULL)
        return usage_error("an address with tls: needs --tls-certificate and --tls-key");
    if (reading->never_sync) {
        serve->durability = ELAPSE__LOOP_INTERVAL;
        serve->interval_ms = NEVER_SYNC_MS;
    }
    /* In memory, segments are small, because memory costs more than a disk. A segment of 4 MiB has
     * room for any body up to the usual limit. */
    bool small = serve->durability == ELAPSE__LOOP_MEMORY && serve->body_bytes_max < 1 << 20;
    serve->segment_bits = reading->segment_given ? reading->segment_bits
                          : small                ? SEGMENT_BITS_IN_MEMORY
                                                 : SEGMENT_BITS;
    ELAPSE__ASSERT_THAT(serve->segment_bits, >=, SEGMENT_BITS_LEAST);
    ELAPSE__ASSERT_THAT(serve->segment_bits, <=, SEGMENT_BITS);
    ELAPSE__ASSERT(serve->durability != ELAPSE__LOOP_INTERVAL || serve->interval_ms > 0);
    if (reading->unused != NULL)
        print_error("-s is ignored: files have the size that --segment-bits says");
    return STATUS_OK;
}

static enum elapse__serve_end serve_options(const struct elapse__loop_options *serve)
{
#ifdef ELAPSE_HAS_CLUSTER
    if (serve->cluster_count > 0)
        return elapse__cluster_serve(serve);
#endif
    return elapse__serve(serve);
}

/* Refuses options that need another option which was not given. */
static enum exit_status check_needs(const struct reading *reading)
{
    const struct elapse__loop_options *serve = &reading->serve;
    bool is_cluster = serve->cluster_count > 0;

    if (serve->test_clock && serve->durability != ELAPSE__LOOP_MEMORY)
        return usage_error("--test-clock needs --durability memory");
    if (serve->test_clock && (reading->data_given || is_cluster))
        return usage_error("--test-clock is for tests of programs: it goes with neither --data "
                           "nor --cluster");
    if (serve->beanstalkd_user != NULL && serve->users == NULL)
        return usage_error("--beanstalkd-user needs --users");
    if (!is_cluster && serve->node_password != NULL)
        return usage_error("--node-password needs --cluster");
    if (!is_cluster && serve->node_ca != NULL)
        return usage_error("--node-ca needs --cluster");
    if (!is_cluster && (serve->queue != NULL || serve->advertise != NULL || serve->node != NULL ||
                        serve->single_copy))
        return usage_error("--queue, --advertise, --node and --single-copy need --cluster");
#ifndef ELAPSE_HAS_CLUSTER
    if (is_cluster)
        return error_of(STATUS_USAGE, "--cluster: %s", LACKS_CLUSTERS);
#endif
    return STATUS_OK;
}

static enum exit_status serve_reading(struct command_line *line, struct reading *reading)
{
    if (reading->beanstalkd_version)
        return options_print_version();
    enum exit_status status = options_check_count(line, 0);
    /* Reads the file after the command line. The file sets only options that the command line does
     * not set. */
    if (status == STATUS_OK && reading->config != NULL)
        status = options_read_file(line, reading->config);
    if (status == STATUS_OK)
        status = join(reading);
    if (status == STATUS_OK)
        status = check_needs(reading);
    if (status != STATUS_OK)
        return status;
    ELAPSE__ASSERT(reading->serve.cluster_count > 0 || reading->serve.queue == NULL);
    if (reading->serve.queue == NULL)
        reading->serve.queue = "main";
    reading->serve.hints = elapse__os_is_terminal(ELAPSE__OS_ERRORS) && !reading->serve.log_json;
#ifdef ELAPSE_HAS_CLIENT
    reading->serve.client = message_program();
#endif
    switch (serve_options(&reading->serve)) {
    case ELAPSE__SERVE_STOPPED:
        return STATUS_OK;
    case ELAPSE__SERVE_REFUSED:
        return STATUS_USAGE;
    default:
        return STATUS_FAILED;
    }
}

/* NOLINTNEXTLINE(readability-function-size): a table of options */
enum exit_status serve_command(int argc, char **argv)
{
    struct reading *reading = allocate(sizeof *reading);
    struct elapse__loop_options *serve = &reading->serve;
    enum exit_status status;

    memset(reading, 0, sizeof *reading);
    serve->directory = "elapse-data";
    serve->balance_after_ns = BALANCE_NS;
    serve->replace_after_ns = REPLACE_NS;
    serve->followers = FOLLOWERS;
    serve->keep_left_ns = KEEP_LEFT_NS;
    const struct command_option options[] = {
        option_function(
            "listen", "ADDRESS", add_listen, serve,
            "host:port, [IPv6]:port, unix:PATH, or one of the first two after tls:; may be "
            "given again; otherwise 127.0.0.1:11300"),
        option_function(
            "http", "ADDRESS", add_http, serve,
            "serve the page, the metrics and the JSON interface at this address; written as "
            "for --listen; may be given again"),
        option_function(
            "http-host", "NAME", add_http_host, serve,
            "a name that requests over HTTP may use for this server, beside localhost and "
            "addresses in digits; may be given again"),
        option_letter(
            'b', option_noting(
                     &reading->data_given,
                     option_text("data", "DIRECTORY", &serve->directory,
                                 "the directory of the queue, elapse-data unless given; it is made "
                                 "if it does not exist"))),
        option_words(
            "sync interval= memory",
            option_function(
                "durability", "LEVEL", read_durability, serve,
                "when a reply may leave: sync, when the disk has it (the default); interval=MS, "
                "when the system has it, which a power cut within MS loses; memory, at once, and "
                "nothing survives")),
        option_function(
            "cluster", "CONNECTION", add_cluster, serve,
            "be a node of the cluster whose log is in this PostgreSQL database, given as libpq "
            "takes it; may be given again for further servers of that database"),
        option_text("queue", "NAME", &serve->queue, "the queue of the cluster, main unless given"),
        option_text("advertise", "ADDRESS", &serve->advertise,
                    "the host:port, or tls:host:port, where other nodes reach this one; needed if "
                    "this node listens at 0.0.0.0, [::] or a unix socket alone; otherwise the "
                    "first address without tls:, with --node-ca also one with it"),
        option_text("node", "NAME", &serve->node,
                    "the name of this node, as others see it; otherwise what it advertises"),
        option_text("zone", "NAME", &serve->zone,
                    "where this node is, such as a data centre: the copies of a partition are in "
                    "different zones where that can be"),
        option_flag("single-copy", &serve->single_copy,
                    "be content with a database that has no synchronous standby"),
        option_duration("balance-after", &serve->balance_after_ns, 0, BALANCE_NS_MOST,
                        "for how long the nodes of the cluster own uneven numbers of partitions, "
                        "until one of these moves (default 60s)"),
        option_words("all",
                     option_function("followers", "COUNT", read_followers, serve,
                                     "how many nodes of the cluster follow a partition beside its "
                                     "owner: 1 to 6, or all (default 1)")),
        option_duration("replace-after", &serve->replace_after_ns, SECOND_NS, BALANCE_NS_MOST,
                        "when other nodes get the copies of one that tells nothing of itself "
                        "(default 10m)"),
        option_duration("keep-left", &serve->keep_left_ns, SECOND_NS, BALANCE_NS_MOST,
                        "how long the files of a copy that this node has left are kept, when the "
                        "log has all of them and other nodes have copies (default 1h)"),
        option_text("config", "FILE", &reading->config,
                    "a file of these options, a line each: NAME = VALUE; the command line comes "
                    "first"),
        option_text("auth", "FILE", &serve->auth,
                    "a file of passwords, one a line, of which a client needs one"),
        option_text("users", "FILE", &serve->users,
                    "a file of users, one a line, with what each may do: NAME #SHA256 RIGHTS "
                    "[TUBES]; 'elapse password' writes a line"),
        option_text("node-password", "FILE", &serve->node_password,
                    "a file of passwords with which the nodes of the cluster greet each other; "
                    "otherwise they use those of --auth"),
        option_text("node-ca", "FILE", &serve->node_ca,
                    "the certificates to trust, in PEM, when this node connects to other nodes by "
                    "TLS"),
        option_text("beanstalkd-user", "NAME", &serve->beanstalkd_user,
                    "with --users, speak beanstalkd's protocol, with the rights of this user"),
        option_text("tls-certificate", "FILE", &serve->tls_certificate,
                    "the certificate of this server with its chain, in PEM"),
        option_text("tls-key", "FILE", &serve->tls_key, "the key of the certificate, in PEM"),
        option_flag("insecure", &serve->insecure,
                    "listen where other machines can connect, also without passwords"),
        option_flag("no-beanstalkd", &serve->no_beanstalkd,
                    "do not speak beanstalkd's protocol, which has no passwords"),
        option_bytes("max-memory", &serve->memory_bytes_max, UINT64_MAX >> 1,
                     "refuse further jobs while the process has more memory; 2G, 500M or a number"),
        option_letter('z',
                      option_bytes("max-body", &serve->body_bytes_max, BODY_BYTES_MAX,
                                   "the longest body of a job, 65535 unless given, up to 32M")),
        option_number("max-connections", "COUNT", &serve->connections_max, 1, CONNECTIONS_MAX,
                      "refuse further connections; 100000 unless given"),
        option_number("max-jobs", "COUNT", &serve->jobs_max, 1, 268435455,
                      "refuse further jobs; 268435455 unless given"),
        option_number("max-tubes", "COUNT", &serve->tubes_max, 1, 16777215,
                      "refuse further tubes; 16777215 unless given"),
        option_number("max-groups", "COUNT", &serve->groups_max, 1, 16777215,
                      "refuse further groups of jobs; 16777215 unless given"),
        option_number("max-tube-jobs", "COUNT", &serve->tube_jobs_max, 1, 268435455,
                      "refuse further jobs in a tube that has so many"),
        option_bytes("max-tube-bytes", &serve->tube_bytes_max, UINT64_MAX >> 1,
                     "refuse further jobs in a tube whose bodies have so many bytes"),
        option_bytes("max-output", &serve->output_bytes_max, UINT32_MAX,
                     "run no command of a connection that has so many bytes to read, 1M unless "
                     "given"),
        option_duration(
            "idle", &serve->idle_ns, SECOND_NS, IDLE_SECONDS_MAX * SECOND_NS,
            "close a connection over which nothing came or left for so long, unless it waits for "
            "an answer or, in beanstalkd's protocol, has a job"),
        option_flag("test-clock", &serve->test_clock,
                    "for tests of programs: let clients move the clock forward by CLOCK ADVANCE; "
                    "needs --durability memory"),
        option_function("log", "FORM", read_log, serve,
                        "text or json: a line an event on standard error"),
        option_text("ended", "FILE", &serve->ended,
                    "append a line of JSON to this file for each job that has ended"),
        option_bytes("max-ended", &serve->ended_bytes_max, UINT64_MAX >> 1,
                     "the size at which that file gets the name FILE.1, 64M unless given"),
        option_letter('u', option_text("user", "NAME", &serve->user,
                                       "become this user once all addresses are listened at")),
        option_noting(
            &reading->segment_given,
            option_number(
                "segment-bits", "BITS", &reading->segment_bits, SEGMENT_BITS_LEAST, SEGMENT_BITS,
                "the files of a new queue have 2 to the power of BITS bytes, 26 unless given, in "
                "memory 22")),
        option_letter('V', option_flag("verbose", &serve->verbose, "also log each connection")),
        option_letter('l',
                      option_text(NULL, "ADDRESS", &reading->address,
                                  "as of beanstalkd: the address, or unix:PATH, to listen at")),
        option_letter('p', option_text(NULL, "PORT", &reading->port,
                                       "as of beanstalkd: the port, 11300 unless given")),
        option_letter('f', option_function(NULL, "MS", read_sync_interval, serve,
                                           "as of beanstalkd: --durability interval=MS; 0: sync")),
        option_letter('F', option_flag(NULL, &reading->never_sync,
                                       "as of beanstalkd: --durability interval=50")),
        option_letter('s',
                      option_text(NULL, "BYTES", &reading->unused, "as of beanstalkd: ignored")),
        option_letter(
            'v', option_flag(NULL, &reading->beanstalkd_version, "as of beanstalkd: --version")),
    };
    struct command_line line = COMMAND_LINE(help, options);

    if (options_read(&line, argc, argv, &status))
        status = serve_reading(&line, reading);
    free(line.file_text);
    free(reading);
    return status;
}
