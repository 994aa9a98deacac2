/*
 * elapse serve: its options, from the command line and from a file.
 */
#include "serve_command.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#ifdef ELAPSE_HAS_CLUSTER
#include "../../cluster/serve/serve_cluster.h"
#endif
#include "../../server/serve/serve.h"
#include "../common/lacks.h"
#include "../common/options.h"
#include "../common/output.h"
#include "../common/text.h"

static const char usage[] = "Usage: elapse serve [OPTION]...\n";

static const char purpose[] =
    "Serves a durable queue to the network, on one port by two protocols: that of\n"
    "beanstalkd, and that of Redis with commands of its own. A reply comes when what\n"
    "it says is on the disk. SIGTERM ends it within a second, SIGHUP reads the files\n"
    "of passwords and certificates again, and SIGUSR1 refuses further jobs.\n";

static const char example[] = "Examples:\n"
                              "  elapse serve --data orders\n"
                              "  elapse serve --listen tls:[::]:11300 --auth passwords \\\n"
                              "      --tls-certificate cert.pem --tls-key key.pem\n";

/* What the options say, as they are read. */
struct reading {
    struct elapse__loop_options serve;
    const char *address; /* -l */
    const char *port;    /* -p */
    const char *config;
    const char *unused; /* -s */
    uint64_t segment_bits;
    bool segment_given;
    bool beanstalkd_version;
    bool never_sync;
};

enum { SEGMENT_BITS = 26, SEGMENT_BITS_IN_MEMORY = 22, SEGMENT_BITS_LEAST = 14 };

#define BODY_BYTES_MAX   33554432U
#define INTERVAL_MS_MAX  60000U
#define NEVER_SYNC_MS    50U /* -F costs no more than this, so it need not lose more */
#define CONNECTIONS_MAX  10000000U
#define SECOND_NS        UINT64_C(1000000000)
#define IDLE_SECONDS_MAX UINT64_C(4000000)

/* ---- single options ---- */

static enum exit_status add_listen(void *context, const char *value)
{
    struct reading *reading = context;
    struct elapse__loop_options *serve = &reading->serve;

    if (serve->listen_count == ELAPSE__LOOP_LISTENS_MAX)
        return usage_error("%s: there are too many addresses", options_label());
    const char *fault =
        elapse__loop_parse_listen(value, NULL, &serve->listens[serve->listen_count]);
    if (fault != NULL)
        return usage_error("%s: %s: %s", options_label(), quote_string(value).text, fault);
    serve->listen_count++;
    return STATUS_OK;
}

static enum exit_status add_http(void *context, const char *value)
{
    struct elapse__loop_options *serve = &((struct reading *)context)->serve;

    if (serve->http_count == ELAPSE__LOOP_LISTENS_MAX)
        return usage_error("%s: there are too many addresses", options_label());
    const char *fault = elapse__loop_parse_listen(value, NULL, &serve->https[serve->http_count]);
    if (fault != NULL)
        return usage_error("%s: %s: %s", options_label(), quote_string(value).text, fault);
    serve->http_count++;
    return STATUS_OK;
}

static enum exit_status add_http_host(void *context, const char *value)
{
    struct elapse__loop_options *serve = &((struct reading *)context)->serve;

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
    struct elapse__loop_options *serve = &((struct reading *)context)->serve;

    if (serve->cluster_count == ELAPSE__LOOP_CLUSTER_MAX)
        return usage_error("%s: there are too many databases", options_label());
    serve->clusters[serve->cluster_count++] = value;
    return STATUS_OK;
}

static enum exit_status read_durability(void *context, const char *value)
{
    struct elapse__loop_options *serve = &((struct reading *)context)->serve;
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

/* -f MS of beanstalkd: 0 syncs always. */
static enum exit_status read_sync_interval(void *context, const char *value)
{
    struct elapse__loop_options *serve = &((struct reading *)context)->serve;

    if (!parse_number(value, 0, INTERVAL_MS_MAX, &serve->interval_ms))
        return usage_error("%s: %s is not a whole number from 0 to 60000", options_label(),
                           quote_string(value).text);
    serve->durability = serve->interval_ms == 0 ? ELAPSE__LOOP_SYNC : ELAPSE__LOOP_INTERVAL;
    return STATUS_OK;
}

static enum exit_status read_log(void *context, const char *value)
{
    struct elapse__loop_options *serve = &((struct reading *)context)->serve;

    serve->log_json = strcmp(value, "json") == 0;
    if (!serve->log_json && strcmp(value, "text") != 0)
        return usage_error("%s: %s is not text or json", options_label(), quote_string(value).text);
    return STATUS_OK;
}

/* A number of bytes: 1000, 64K, 16M, 2G. */
static bool parse_bytes(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    size_t length = strlen(text);
    char digits[24];
    unsigned shift = 0;

    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, text, length + 1);
    const char *unit = strchr(units, digits[length - 1]);
    if (unit != NULL) {
        shift = 10 * (unsigned)(unit - units + 1);
        digits[length - 1] = '\0';
    }
    if (!parse_number(digits, 1, UINT64_MAX >> shift, bytes))
        return false;
    *bytes <<= shift;
    return true;
}

static enum exit_status read_bytes(uint64_t most, const char *value, uint64_t *bytes)
{
    if (parse_bytes(value, bytes) && *bytes <= most)
        return STATUS_OK;
    return usage_error("%s: %s is not a number of bytes from 1 to %llu, or with K, M or G",
                       options_label(), quote_string(value).text, (unsigned long long)most);
}

static enum exit_status read_memory(void *context, const char *value)
{
    return read_bytes(UINT64_MAX >> 1, value, &((struct reading *)context)->serve.memory_bytes_max);
}

static enum exit_status read_body(void *context, const char *value)
{
    return read_bytes(BODY_BYTES_MAX, value, &((struct reading *)context)->serve.body_bytes_max);
}

static enum exit_status read_output(void *context, const char *value)
{
    return read_bytes(UINT32_MAX, value, &((struct reading *)context)->serve.output_bytes_max);
}

static enum exit_status read_tube_bytes(void *context, const char *value)
{
    return read_bytes(UINT64_MAX >> 1, value, &((struct reading *)context)->serve.tube_bytes_max);
}

/* ---- all of them together ---- */

/* -l and -p of beanstalkd make one address. */
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
    /* beanstalkd takes an address of IPv6 without brackets. */
    if (fault != NULL && strchr(address, ':') != strrchr(address, ':') &&
        strlen(address) < sizeof listen->host) {
        fault = elapse__loop_parse_listen("", port, listen);
        memcpy(listen->host, address, strlen(address) + 1);
    }
    if (fault != NULL)
        return usage_error("-l %s -p %s: %s", quote_string(address).text, quote_string(port).text,
                           fault);
    serve->listen_count++;
    return STATUS_OK;
}

static enum exit_status join(struct reading *reading)
{
    struct elapse__loop_options *serve = &reading->serve;
    enum exit_status status = join_address(reading);

    if (status != STATUS_OK)
        return status;
    if ((serve->tls_certificate == NULL) != (serve->tls_key == NULL))
        return usage_error("--tls-certificate and --tls-key need each other");
    for (size_t i = 0; i < serve->listen_count; i++)
        if (serve->listens[i].tls && serve->tls_certificate == NULL)
            return usage_error("an address with tls: needs --tls-certificate and --tls-key");
    for (size_t i = 0; i < serve->http_count; i++)
        if (serve->https[i].tls && serve->tls_certificate == NULL)
            return usage_error("an address with tls: needs --tls-certificate and --tls-key");
    if (reading->never_sync) {
        serve->durability = ELAPSE__LOOP_INTERVAL;
        serve->interval_ms = NEVER_SYNC_MS;
    }
    /* A file of 4 MiB holds any body of the usual limit, and memory is dearer than disk. */
    bool small = serve->durability == ELAPSE__LOOP_MEMORY && serve->body_bytes_max < 1 << 20;
    serve->segment_bits = reading->segment_given ? reading->segment_bits
                          : small                ? SEGMENT_BITS_IN_MEMORY
                                                 : SEGMENT_BITS;
    if (reading->unused != NULL)
        print_error("-s is ignored: files have the size that --segment-bits says");
    return STATUS_OK;
}

/* The file is read after the command line, and says only what that does not. */
static enum exit_status read_config(struct command_line *line, struct reading *reading)
{
    if (reading->config == NULL)
        return STATUS_OK;
    return options_read_file(line, reading->config);
}

static enum elapse__serve_end serve_options(const struct elapse__loop_options *serve)
{
#ifdef ELAPSE_HAS_CLUSTER
    if (serve->cluster_count > 0)
        return elapse__cluster_serve(serve);
#endif
    return elapse__serve(serve);
}

/* The options of a cluster mean nothing without one. */
static enum exit_status check_cluster(const struct elapse__loop_options *serve)
{
    bool is_cluster = serve->cluster_count > 0;

    if (!is_cluster && (serve->queue != NULL || serve->advertise != NULL || serve->node != NULL ||
                        serve->single_copy))
        return usage_error("--queue, --advertise, --node and --single-copy need --cluster");
#ifndef ELAPSE_HAS_CLUSTER
    if (is_cluster) {
        print_error("--cluster: %s", LACKS_CLUSTERS);
        return STATUS_USAGE;
    }
#endif
    return STATUS_OK;
}

static enum exit_status serve_reading(struct command_line *line, struct reading *reading)
{
    if (reading->beanstalkd_version)
        return options_print_version();
    if (line->argument_count != 0)
        return usage_error("unknown argument %s", quote_string(line->arguments[0]).text);
    enum exit_status status = read_config(line, reading);
    if (status == STATUS_OK)
        status = join(reading);
    if (status == STATUS_OK)
        status = check_cluster(&reading->serve);
    if (status != STATUS_OK)
        return status;
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
    const struct command_option options[] = {
        {.name = "listen",
         .value = "ADDRESS",
         .kind = OPTION_FUNCTION,
         .read = add_listen,
         .context = reading,
         .help = "host:port, [IPv6]:port, unix:PATH, or one of the first two after tls:; may be "
                 "given again; otherwise 127.0.0.1:11300"},
        {.name = "http",
         .value = "ADDRESS",
         .kind = OPTION_FUNCTION,
         .read = add_http,
         .context = reading,
         .help = "serve the page, the metrics and the JSON interface at this address; written as "
                 "for --listen; may be given again"},
        {.name = "http-host",
         .value = "NAME",
         .kind = OPTION_FUNCTION,
         .read = add_http_host,
         .context = reading,
         .help = "a name that requests over HTTP may use for this server, beside localhost and "
                 "addresses in digits; may be given again"},
        {.name = "data",
         .value = "DIRECTORY",
         .kind = OPTION_TEXT,
         .letter = 'b',
         .text = &serve->directory,
         .help = "the directory of the queue, elapse-data unless given; it is made if it does "
                 "not exist"},
        {.name = "durability",
         .value = "LEVEL",
         .kind = OPTION_FUNCTION,
         .read = read_durability,
         .context = reading,
         .help = "when a reply may leave: sync, when the disk has it (the default); interval=MS, "
                 "when the system has it, which a power cut within MS loses; memory, at once, and "
                 "nothing survives"},
        {.name = "cluster",
         .value = "CONNECTION",
         .kind = OPTION_FUNCTION,
         .read = add_cluster,
         .context = reading,
         .help =
             "be a node of the cluster whose log is in this PostgreSQL database, given as libpq "
             "takes it; may be given again for further servers of that database"},
        {.name = "queue",
         .value = "NAME",
         .kind = OPTION_TEXT,
         .text = &serve->queue,
         .help = "the queue of the cluster, main unless given"},
        {.name = "advertise",
         .value = "ADDRESS",
         .kind = OPTION_TEXT,
         .text = &serve->advertise,
         .help = "the host:port where other nodes reach this one; otherwise the first address "
                 "without tls: that it listens at"},
        {.name = "node",
         .value = "NAME",
         .kind = OPTION_TEXT,
         .text = &serve->node,
         .help = "the name of this node, as others see it; otherwise what it advertises"},
        {.name = "single-copy",
         .kind = OPTION_FLAG,
         .flag = &serve->single_copy,
         .help = "be content with a database that has no synchronous standby"},
        {.name = "config",
         .value = "FILE",
         .kind = OPTION_TEXT,
         .text = &reading->config,
         .help = "a file of these options, a line each: NAME = VALUE; the command line comes "
                 "first"},
        {.name = "auth",
         .value = "FILE",
         .kind = OPTION_TEXT,
         .text = &serve->auth,
         .help = "a file of passwords, one a line, of which a client needs one"},
        {.name = "tls-certificate",
         .value = "FILE",
         .kind = OPTION_TEXT,
         .text = &serve->tls_certificate,
         .help = "the certificate of this server with its chain, in PEM"},
        {.name = "tls-key",
         .value = "FILE",
         .kind = OPTION_TEXT,
         .text = &serve->tls_key,
         .help = "the key of the certificate, in PEM"},
        {.name = "insecure",
         .kind = OPTION_FLAG,
         .flag = &serve->insecure,
         .help = "listen where other machines can connect, also without passwords"},
        {.name = "no-beanstalkd",
         .kind = OPTION_FLAG,
         .flag = &serve->no_beanstalkd,
         .help = "do not speak beanstalkd's protocol, which has no passwords"},
        {.name = "max-memory",
         .value = "BYTES",
         .kind = OPTION_FUNCTION,
         .read = read_memory,
         .context = reading,
         .help = "refuse further jobs while the process has more memory; 2G, 500M or a number"},
        {.name = "max-body",
         .value = "BYTES",
         .kind = OPTION_FUNCTION,
         .letter = 'z',
         .read = read_body,
         .context = reading,
         .help = "the longest body of a job, 65535 unless given, up to 32M"},
        {.name = "max-connections",
         .value = "COUNT",
         .kind = OPTION_NUMBER,
         .number = &serve->connections_max,
         .least = 1,
         .most = CONNECTIONS_MAX,
         .help = "refuse further connections; 100000 unless given"},
        {.name = "max-jobs",
         .value = "COUNT",
         .kind = OPTION_NUMBER,
         .number = &serve->jobs_max,
         .least = 1,
         .most = 268435455,
         .help = "refuse further jobs; 268435455 unless given"},
        {.name = "max-tubes",
         .value = "COUNT",
         .kind = OPTION_NUMBER,
         .number = &serve->tubes_max,
         .least = 1,
         .most = 16777215,
         .help = "refuse further tubes; 16777215 unless given"},
        {.name = "max-tube-jobs",
         .value = "COUNT",
         .kind = OPTION_NUMBER,
         .number = &serve->tube_jobs_max,
         .least = 1,
         .most = 268435455,
         .help = "refuse further jobs in a tube that has so many"},
        {.name = "max-tube-bytes",
         .value = "BYTES",
         .kind = OPTION_FUNCTION,
         .read = read_tube_bytes,
         .context = reading,
         .help = "refuse further jobs in a tube whose bodies have so many bytes"},
        {.name = "max-output",
         .value = "BYTES",
         .kind = OPTION_FUNCTION,
         .read = read_output,
         .context = reading,
         .help = "run no command of a connection that has so many bytes to read, 1M unless "
                 "given"},
        {.name = "idle",
         .value = "DURATION",
         .kind = OPTION_DURATION,
         .number = &serve->idle_ns,
         .least = SECOND_NS,
         .most = IDLE_SECONDS_MAX * SECOND_NS,
         .help = "close a connection that has sent nothing for so long, has no job and does not "
                 "wait for one"},
        {.name = "log",
         .value = "FORM",
         .kind = OPTION_FUNCTION,
         .read = read_log,
         .context = reading,
         .help = "text or json: a line an event on standard error"},
        {.name = "user",
         .value = "NAME",
         .kind = OPTION_TEXT,
         .letter = 'u',
         .text = &serve->user,
         .help = "become this user once all addresses are listened at"},
        {.name = "segment-bits",
         .value = "BITS",
         .kind = OPTION_NUMBER,
         .number = &reading->segment_bits,
         .least = SEGMENT_BITS_LEAST,
         .most = SEGMENT_BITS,
         .given = &reading->segment_given,
         .help = "the files of a new queue have 2 to the power of BITS bytes, 26 unless given"},
        {.name = "verbose",
         .kind = OPTION_FLAG,
         .letter = 'V',
         .flag = &serve->verbose,
         .help = "also log each connection"},
        {.letter = 'l',
         .value = "ADDRESS",
         .kind = OPTION_TEXT,
         .text = &reading->address,
         .help = "as of beanstalkd: the address, or unix:PATH, to listen at"},
        {.letter = 'p',
         .value = "PORT",
         .kind = OPTION_TEXT,
         .text = &reading->port,
         .help = "as of beanstalkd: the port, 11300 unless given"},
        {.letter = 'f',
         .value = "MS",
         .kind = OPTION_FUNCTION,
         .read = read_sync_interval,
         .context = reading,
         .help = "as of beanstalkd: --durability interval=MS; 0: sync"},
        {.letter = 'F',
         .kind = OPTION_FLAG,
         .flag = &reading->never_sync,
         .help = "as of beanstalkd: --durability interval=50"},
        {.letter = 's',
         .value = "BYTES",
         .kind = OPTION_TEXT,
         .text = &reading->unused,
         .help = "as of beanstalkd: ignored"},
        {.letter = 'v',
         .kind = OPTION_FLAG,
         .flag = &reading->beanstalkd_version,
         .help = "as of beanstalkd: --version"},
    };
    struct command_line line = {.usage = usage,
                                .purpose = purpose,
                                .options = options,
                                .option_count = sizeof options / sizeof options[0],
                                .example = example};

    if (options_read(&line, argc, argv, &status))
        status = serve_reading(&line, reading);
    free(line.file_text);
    free(reading);
    return status;
}
