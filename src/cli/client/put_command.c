/*
 * elapse put: puts one job, or one for each line of the input.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <elapse/cron.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "../../protocol/put_options.h"
#include "../common/command.h"
#include "../common/output.h"
#include "../common/text.h"
#include "client.h"

/* The longest body that a server takes with any settings. */
#define BODY_BYTES_MAX ((size_t)32 << 20)

enum {
    /* How many lines may wait for their replies at a time. */
    LINES_AWAITED_MAX = 1000,
    LINE_OUTPUT_MAX = 4 << 20,
    READ_BYTES = 64 << 10,
};

static const struct command_help help = {
    .usage = "Usage: elapse put TUBE [BODY | @FILE] [OPTION]...\n"
             "       elapse put TUBE --lines [OPTION]...\n",
    .purpose =
        "Puts a job on a server, and prints its id and a word: scheduled, replaced, kept,\n"
        "running, buried or known; elapse-client(1) tells what they mean. Without BODY, the\n"
        "body is standard input. A BODY that begins with @ is written with two of them.\n",
    .example = "Examples:\n"
               "  elapse put orders 'pay 4711' --in 30m --key 4711\n"
               "  elapse put reports weekly --cron '0 9 * * mon' --key weekly\n"
               "  elapse put mails --lines --attempts 5 --backoff 1s..10m <mails.txt\n",
};

struct put {
    struct client *client;
    const char *tube;
    const char *file;
    bool lines;

    struct client_time options[ELAPSE__PUT_OPTION_COUNT]; /* for each option its first value */
    struct client_time backoff_max;                       /* the second value of BACKOFF */
    char backoff[64];
    uint64_t priority, attempts, retry, await;
    bool has_priority, has_attempts, has_retry, has_await;

    struct elapse__buffer body;
    uint64_t line_sent;
    uint64_t line_answered;
    uint64_t failed;
};

/* ---- options ---- */

/* Reads the value of --backoff: MIN..MAX, or one duration for both. */
static enum exit_status read_backoff(void *context, const char *value)
{
    struct put *put = context;
    size_t length = strlen(value);

    if (length >= sizeof put->backoff)
        return usage_error("%s: %s is too long", options_label(), quote_string(value).text);
    memcpy(put->backoff, value, length + 1);
    char *dots = strstr(put->backoff, "..");
    if (dots != NULL)
        *dots = '\0';
    enum exit_status status =
        client_read_duration(&put->options[ELAPSE__PUT_BACKOFF], put->backoff);
    return status != STATUS_OK
               ? status
               : client_read_duration(&put->backoff_max, dots != NULL ? dots + 2 : put->backoff);
}

static enum exit_status read_if_key(void *context, const char *value)
{
    static const char *const words[] = {
#define WORD(NAME, word) word,
        ELAPSE__IF_KEY_WORDS(WORD)
#undef WORD
    };
    struct put *put = context;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(value, words[i]) == 0) {
            put->options[ELAPSE__PUT_IFKEY].text = words[i];
            return STATUS_OK;
        }
    }
    return usage_error("%s: %s is not replace, keep, fail or debounce", options_label(),
                       quote_string(value).text);
}

static bool has(const struct put *put, enum elapse__put_option option)
{
    return put->options[option].text != NULL;
}

/* Returns whether --ifkey has this value. */
static bool if_key_is(const struct put *put, const char *word)
{
    return has(put, ELAPSE__PUT_IFKEY) && strcmp(put->options[ELAPSE__PUT_IFKEY].text, word) == 0;
}

/* Checks --cron in the client, because the client can show where the error is. */
static enum exit_status check_cron(const char *expression)
{
    struct elapse_cron cron;
    struct elapse_cron_fault fault;

    if (elapse_cron_parse(&cron, expression, &fault) == ELAPSE_OK)
        return STATUS_OK;
    return usage_error("--cron: %s: at character %zu: %s", quote_string(expression).text,
                       fault.position + 1, fault.text);
}

/* Checks --zone, unless this machine has no zones. Then the server checks it. */
static enum exit_status check_zone(const char *name)
{
    const struct elapse_time_zone *zone;

    if (strcmp(name, "utc") == 0 || elapse_time_zone_find(name, &zone) == ELAPSE_OK ||
        elapse_time_zone_find("Europe/London", &zone) != ELAPSE_OK)
        return STATUS_OK;
    return usage_error("--zone: there is no time zone %s; a zone is a name such as Europe/Berlin",
                       quote_string(name).text);
}

/* Checks the value of an option, if it was given. */
static enum exit_status check_value(const struct put *put, enum elapse__put_option option,
                                    enum exit_status (*check_text)(const char *text))
{
    return has(put, option) ? check_text(put->options[option].text) : STATUS_OK;
}

static enum exit_status check(const struct put *put)
{
    int times = has(put, ELAPSE__PUT_IN) + has(put, ELAPSE__PUT_AT) + has(put, ELAPSE__PUT_EVERY) +
                has(put, ELAPSE__PUT_CRON);

    if (times > 1)
        return usage_error("give one of --in, --at, --every and --cron");
    if (has(put, ELAPSE__PUT_ZONE) && !has(put, ELAPSE__PUT_CRON))
        return usage_error("--zone needs --cron");
    if (has(put, ELAPSE__PUT_IFKEY) && !has(put, ELAPSE__PUT_KEY))
        return usage_error("--ifkey needs --key");
    if (put->has_await && !has(put, ELAPSE__PUT_KEY))
        return usage_error("--await needs --key");
    if (if_key_is(put, "debounce") != has(put, ELAPSE__PUT_MAX))
        return usage_error("--ifkey debounce and --max need each other");
    if (put->has_attempts && put->has_retry)
        return usage_error("--retry is the old name of --attempts: give one");
    if (has(put, ELAPSE__PUT_FOR) && !has(put, ELAPSE__PUT_TOKEN))
        return usage_error("--put-token-for needs --put-token");
    if (put->lines && (has(put, ELAPSE__PUT_KEY) || has(put, ELAPSE__PUT_TOKEN)))
        return usage_error("--lines makes many jobs, which cannot share a --key or --put-token");
    enum exit_status status = check_value(put, ELAPSE__PUT_CRON, check_cron);
    return status != STATUS_OK ? status : check_value(put, ELAPSE__PUT_ZONE, check_zone);
}

/* ---- the request ---- */

/* Makes the text of an option that was read as a number. */
static void set_number(struct client_time *option, uint64_t number)
{
    (void)snprintf(option->number, sizeof option->number, "%" PRIu64, number);
    option->text = option->number;
}

static void fill_request(struct put *put, const char *body, size_t length)
{
    struct request *request = &put->client->request;
    static const char *const words[] = {
#define WORD(NAME, json, form, values) #NAME,
        ELAPSE__PUT_OPTIONS(WORD)
#undef WORD
    };

    ELAPSE__ASSERT(has(put, ELAPSE__PUT_BACKOFF) == (put->backoff_max.text != NULL));
    request_clear(request);
    request_add_text(request, "PUT");
    request_add_text(request, put->tube);
    request_add(request, body, length);
    for (int i = 0; i < ELAPSE__PUT_OPTION_COUNT; i++) {
        client_add_option(put->client, words[i], put->options[i].text);
        if (i == ELAPSE__PUT_BACKOFF && put->backoff_max.text != NULL)
            request_add_text(request, put->backoff_max.text);
    }
}

/* Prints an answer. `line` is the number of the line of the input, or 0 if the command puts one
 * job. */
static enum exit_status print_answer(struct put *put, const redisReply *reply, uint64_t line)
{
    char part[40];
    /* A job that waits for arrivals keeps an older one with its key, unless --ifkey says
     * otherwise. */
    bool keeps = if_key_is(put, "keep") || (put->has_await && !has(put, ELAPSE__PUT_IFKEY));
    struct answer answer = answer_to_put(reply, keeps);

    ELAPSE__ASSERT((line != 0) == put->lines);
    ELAPSE__ASSERT_THAT(line, <=, put->line_sent);
    (void)snprintf(part, sizeof part, "line %" PRIu64, line);
    if (answer.error != NULL)
        return session_report_error(&answer, line == 0 ? NULL : part);
    if (put->client->json)
        output_add_format("{\"id\":%" PRIu64 ",\"result\":\"%s\"}\n", answer.id, answer.word);
    else
        output_add_format("%" PRIu64 " %s\n", answer.id, answer.word);
    return answer.status;
}

/* ---- one job ---- */

static enum exit_status too_long(const char *name)
{
    return usage_error("%s: a body has at most 32 MiB", name);
}

static enum exit_status read_body(struct put *put, int file, const char *name)
{
    size_t got = 1;
    int error = 0;

    while (error == 0 && got > 0 && elapse__buffer_size(&put->body) <= BODY_BYTES_MAX) {
        char *end = buffer_room(&put->body, READ_BYTES);
        error = elapse__os_read_waiting(file, end, READ_BYTES, &got);
        ELAPSE__ASSERT_THAT(got, <=, (size_t)READ_BYTES);
        put->body.end += got;
    }
    if (error != 0)
        return error_of(STATUS_USAGE, "%s: %s", name, elapse__os_error_text(error));
    return elapse__buffer_size(&put->body) > BODY_BYTES_MAX ? too_long(name) : STATUS_OK;
}

static enum exit_status read_body_file(struct put *put, const char *path)
{
    int file;
    int error = elapse__os_open_to_read(path, &file);

    if (error != 0)
        return error_of(STATUS_USAGE, "%s: %s", path, elapse__os_error_text(error));
    enum exit_status status = read_body(put, file, path);
    (void)elapse__os_close(file);
    return status;
}

static enum exit_status find_body(struct put *put, const char *argument)
{
    if (put->file != NULL && argument != NULL)
        return usage_error("--file and a body exclude each other");
    if (put->file != NULL)
        return read_body_file(put, put->file);
    if (argument == NULL && elapse__os_is_terminal(ELAPSE__OS_INPUT))
        return usage_error("the body is missing");
    if (argument == NULL)
        return read_body(put, ELAPSE__OS_INPUT, "standard input");
    if (strcmp(argument, "@") == 0)
        return usage_error("'@' needs the name of a file behind it; the body '@' is written '@@'");
    if (argument[0] == '@' && argument[1] != '@')
        return read_body_file(put, argument + 1);
    buffer_add_text(&put->body, argument + (argument[0] == '@'));
    return STATUS_OK;
}

static enum exit_status put_one(struct put *put, const char *argument)
{
    enum exit_status status = find_body(put, argument);

    if (status == STATUS_OK)
        status = client_open(put->client);
    if (status != STATUS_OK)
        return status;
    fill_request(put, buffer_string(&put->body), elapse__buffer_size(&put->body));
    redisReply *reply = client_ask(put->client, &status);
    if (reply == NULL)
        return status;
    status = print_answer(put, reply, 0);
    freeReplyObject(reply);
    return status;
}

/* ---- many jobs ---- */

static bool may_add_lines(const struct connection *connection)
{
    return connection_awaited(connection) < LINES_AWAITED_MAX &&
           connection_unsent(connection) < LINE_OUTPUT_MAX;
}

/* Sends the complete lines that were read, as many as may wait. At the end of the input, the last
 * line needs no line end. Returns whether a line is too long. */
static bool send_lines(struct put *put, bool ended)
{
    struct connection *connection = put->client->connection;
    bool has_sent = false;
    size_t size;

    while ((size = elapse__buffer_size(&put->body)) > 0 && may_add_lines(connection)) {
        const char *line = (const char *)elapse__buffer_first(&put->body);
        const char *end = memchr(line, '\n', size);
        if (end == NULL && !ended)
            break;
        size_t length = end != NULL ? (size_t)(end - line) : size;
        fill_request(put, line, length);
        connection_add(connection, &put->client->request);
        put->line_sent++;
        ELAPSE__ASSERT_THAT(put->line_sent - put->line_answered, ==,
                            connection_awaited(connection));
        elapse__buffer_take(&put->body, length + (end != NULL));
        has_sent = true;
    }
    return !has_sent && elapse__buffer_size(&put->body) > BODY_BYTES_MAX &&
           may_add_lines(connection);
}

static void take_answers(struct put *put, enum exit_status *status)
{
    redisReply *reply;

    while ((reply = connection_take(put->client->connection)) != NULL) {
        enum exit_status own = print_answer(put, reply, ++put->line_answered);
        put->failed += own != STATUS_OK;
        *status = answer_join(*status, own);
        freeReplyObject(reply);
    }
    ELAPSE__ASSERT_THAT(put->line_answered, <=, put->line_sent);
}

/* Says what happened to the lines that have no answer. */
static enum exit_status report_lost_lines(const struct put *put)
{
    const struct client *client = put->client;
    enum connection_fault fault = connection_fault(client->connection);

    ELAPSE__ASSERT(fault != CONNECTION_WORKS);
    ELAPSE__ASSERT_THAT(put->line_answered, <=, put->line_sent);
    if (fault == CONNECTION_BROKEN && put->line_answered == put->line_sent)
        return error_of(
            STATUS_NO_SERVER, "%s: %s after line %" PRIu64 "; the lines behind it were not sent",
            client->settings.server, connection_fault_text(client->connection), put->line_answered);
    if (fault != CONNECTION_BROKEN)
        return session_report(client->connection, &client->settings);
    return error_of(STATUS_UNKNOWN,
                    "%s: %s; nobody knows whether lines %" PRIu64 " to %" PRIu64
                    " were put; those before have their answers, those behind were not sent",
                    client->settings.server, connection_fault_text(client->connection),
                    put->line_answered + 1, put->line_sent);
}

/* Says how far the lines were put when nobody reads the answers any more. */
static enum exit_status report_unwritten_answers(const struct put *put)
{
    ELAPSE__ASSERT_THAT(put->line_answered, <=, put->line_sent);
    if (put->line_answered == put->line_sent)
        return error_of(STATUS_FAILED,
                        "the answers cannot be written: %" PRIu64
                        " lines were answered; those behind were not sent",
                        put->line_answered);
    return error_of(STATUS_FAILED,
                    "the answers cannot be written: %" PRIu64
                    " lines were answered; nobody knows whether lines %" PRIu64 " to %" PRIu64
                    " were put; those behind were not sent",
                    put->line_answered, put->line_answered + 1, put->line_sent);
}

/* Reads some of the input. Returns false at its end. */
static bool read_some(struct put *put, enum exit_status *status)
{
    size_t got = 0;
    char *end = buffer_room(&put->body, READ_BYTES);
    int error = elapse__os_read(ELAPSE__OS_INPUT, end, READ_BYTES, &got);

    if (error == EAGAIN) /* another process has read the bytes, or there were none */
        return true;
    if (error != 0) {
        print_error("standard input: %s", elapse__os_error_text(error));
        *status = answer_join(*status, STATUS_USAGE);
        return false;
    }
    ELAPSE__ASSERT_THAT(got, <=, (size_t)READ_BYTES);
    put->body.end += got;
    return got > 0;
}

static enum exit_status put_lines(struct put *put)
{
    struct connection *connection = put->client->connection;
    enum exit_status status = STATUS_OK;
    bool ended = false;
    uint64_t since_ns = elapse__os_monotonic_ns();

    while (connection_fault(connection) == CONNECTION_WORKS) {
        uint64_t answered = put->line_answered;
        if (send_lines(put, ended)) {
            status = answer_join(status, too_long("standard input"));
            ended = true;
            elapse__buffer_clear(&put->body);
        }
        if (ended && elapse__buffer_size(&put->body) == 0 && connection_awaited(connection) == 0)
            return status;
        bool has_room = !ended && elapse__buffer_size(&put->body) <= BODY_BYTES_MAX &&
                        may_add_lines(connection);
        struct elapse__os_watch input = {.file = has_room ? ELAPSE__OS_INPUT : -1,
                                         .for_data = true};
        session_wait(connection, &put->client->settings, &input, since_ns);
        if (input.ready && has_room)
            ended = !read_some(put, &status);
        take_answers(put, &status);
        if (output_finish() != STATUS_OK)
            return answer_join(status, report_unwritten_answers(put));
        /* The output may have waited for a slow reader. That time does not count as the
         * server's. */
        if (put->line_answered > answered || connection_awaited(connection) == 0)
            since_ns = elapse__os_monotonic_ns();
    }
    take_answers(put, &status);
    /* The last answers may have come with the end of the connection. */
    if (ended && elapse__buffer_size(&put->body) == 0 && put->line_answered == put->line_sent)
        return status;
    return answer_join(status, report_lost_lines(put));
}

static enum exit_status run(void *context, const struct command_line *line)
{
    struct put *put = context;
    enum exit_status status = check(put);

    if (status != STATUS_OK)
        return status;
    if (line->argument_count == 0)
        return usage_error("a tube is missing");
    status = options_check_count(line, put->lines ? 1 : 2);
    if (status != STATUS_OK)
        return status;
    put->tube = line->arguments[0];
    if (put->has_priority)
        set_number(&put->options[ELAPSE__PUT_PRIORITY], put->priority);
    if (put->has_attempts)
        set_number(&put->options[ELAPSE__PUT_ATTEMPTS], put->attempts);
    if (put->has_await)
        set_number(&put->options[ELAPSE__PUT_AWAIT], put->await);
    if (put->has_retry) /* a server of version 0.2 knows only this name */
        set_number(&put->options[ELAPSE__PUT_RETRY], put->retry);
    if (!put->lines)
        return put_one(put, line->argument_count > 1 ? line->arguments[1] : NULL);
    if (put->file != NULL)
        return usage_error("--lines reads standard input: --file and --lines exclude each other");
    status = client_open(put->client);
    return status != STATUS_OK ? status : put_lines(put);
}

/* NOLINTNEXTLINE(readability-function-size): a table of options */
enum exit_status put_command(int argc, char **argv)
{
    struct put put = {.client = client_new()};
    struct command_option table[OPTIONS_MAX] = {
        client_duration_option("in", &put.options[ELAPSE__PUT_IN],
                               "due after this time, such as 30m; due at once without it"),
        client_moment_option(&put.options[ELAPSE__PUT_AT]),
        client_duration_option("every", &put.options[ELAPSE__PUT_EVERY],
                               "due at this interval, the first time after one interval"),
        {.name = "cron",
         .value = "EXPRESSION",
         .kind = OPTION_TEXT,
         .text = &put.options[ELAPSE__PUT_CRON].text,
         .help = "due when the expression says"},
        {.name = "zone",
         .value = "ZONE",
         .kind = OPTION_TEXT,
         .text = &put.options[ELAPSE__PUT_ZONE].text,
         .help = "the time zone of --cron, such as Europe/Berlin; UTC without it"},
        {.name = "key",
         .value = "KEY",
         .kind = OPTION_TEXT,
         .text = &put.options[ELAPSE__PUT_KEY].text,
         .help = "a name for the job, unique in its tube"},
        {.name = "ifkey",
         .value = "WORD",
         .kind = OPTION_FUNCTION,
         .words = "replace keep fail debounce",
         .read = read_if_key,
         .context = &put,
         .help = "if the key is taken: replace (the default), keep, fail or debounce"},
        {.name = "await",
         .value = "COUNT",
         .kind = OPTION_NUMBER,
         .number = &put.await,
         .least = 1,
         .most = UINT32_MAX,
         .given = &put.has_await,
         .help = "due when so many have arrived (elapse arrive), or at --in or --at; keeps a job "
                 "that waits"},
        client_duration_option("max", &put.options[ELAPSE__PUT_MAX],
                               "with debounce: due no later than so long after the first put"),
        {.name = "tag",
         .value = "TAG",
         .kind = OPTION_TEXT,
         .text = &put.options[ELAPSE__PUT_TAG].text,
         .help = "a name for many jobs, for list and cancel"},
        {.name = "group",
         .value = "GROUP",
         .kind = OPTION_TEXT,
         .text = &put.options[ELAPSE__PUT_GROUP].text,
         .help = "for whom the job is: the groups of a tube take turns"},
        {.name = "priority",
         .value = "NUMBER",
         .kind = OPTION_NUMBER,
         .number = &put.priority,
         .most = UINT32_MAX,
         .given = &put.has_priority,
         .help = "among ready jobs, smaller numbers come first (default 1024)"},
        client_duration_option(
            "ttr", &put.options[ELAPSE__PUT_TTR],
            "how long a worker has the job until another one gets it (default 60s)"),
        client_duration_option("expire", &put.options[ELAPSE__PUT_EXPIRE],
                               "dropped if nobody took it so long after it was due"),
        {.name = "attempts",
         .value = "COUNT",
         .kind = OPTION_NUMBER,
         .number = &put.attempts,
         .most = UINT32_MAX,
         .given = &put.has_attempts,
         .help = "how many hand-outs may fail before it is buried (default 20); 0: no limit"},
        {.name = "retry",
         .value = "COUNT",
         .kind = OPTION_NUMBER,
         .number = &put.retry,
         .most = UINT32_MAX,
         .given = &put.has_retry,
         .help = "the old name of --attempts"},
        {.name = "backoff",
         .value = "MIN..MAX",
         .kind = OPTION_FUNCTION,
         .read = read_backoff,
         .context = &put,
         .help = "the wait before the first retry, and the longest; it doubles each time (default "
                 "1s..10m)"},
        {.name = "put-token",
         .value = "TOKEN",
         .kind = OPTION_TEXT,
         .text = &put.options[ELAPSE__PUT_TOKEN].text,
         .help = "the same token, while it lives, stores nothing, and answers known"},
        client_duration_option("put-token-for", &put.options[ELAPSE__PUT_FOR],
                               "how long the token lives: 1s to 10m, the default"),
        {.name = "headers",
         .value = "JSON",
         .kind = OPTION_TEXT,
         .text = &put.options[ELAPSE__PUT_HEADERS].text,
         .help = "data beside the body, by convention an object of texts; at most 4096 bytes"},
        {.name = "file",
         .value = "FILE",
         .kind = OPTION_TEXT,
         .text = &put.file,
         .help =
             "the body is this file; a server takes 65,535 bytes unless its --max-body says more"},
        {.name = "lines",
         .kind = OPTION_FLAG,
         .flag = &put.lines,
         .help = "make each line of standard input a job, many at once"},
        client_json_option(put.client),
    };
    enum exit_status status = client_run(put.client, &help, run, &put, table, argc, argv);
    elapse__buffer_free(&put.body);
    return status;
}
