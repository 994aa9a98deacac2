/*
 * Runs the commands of verbs.h: elapse kick, pause, reserve and others.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/command.h"
#include "../common/duration.h"
#include "../common/output.h"
#include "../common/text.h"
#include "client.h"
#include "handed_map.h"
#include "render.h"
#include "tube.h"
#include "verbs.h"

/* The most arguments of one command. This leaves room for its options. */
enum { ARGUMENTS_MAX = 1000 };

/* --wait may be longer than --timeout. */
#define WAIT_NS_MAX (7 * 86400 * UINT64_C(1000000000))

struct call {
    struct client *client;
    const struct verb *verb;
    struct client_time values[VERB_OPTIONS_MAX]; /* the values of the options, in their order */
    bool by_id;
    bool all;
    char count[21]; /* the argument that --all stands for */
};

/* ---- the command line ---- */

/* Returns how many arguments a list has. */
static int length_of(const enum verb_argument *list)
{
    int length = 0;

    while (length < VERB_ARGUMENTS_MAX && list[length] != VERB_NOTHING)
        length++;
    return length;
}

/* Returns what the argument at a place is. Returns VERB_NOTHING if no argument may stand there. */
static enum verb_argument kind_at(const struct verb *verb, int place)
{
    int first = length_of(verb->first);
    int repeated = length_of(verb->repeated);

    if (place < first)
        return verb->first[place];
    return repeated == 0 ? verb->optional : verb->repeated[(place - first) % repeated];
}

static enum exit_status say_missing(const struct call *call, enum verb_argument kind)
{
    static const char *const names[] = {
        [VERB_TUBE] = "a tube is missing",
        [VERB_KEY] = "a key is missing",
        [VERB_ID] = "the id of a job is missing",
        [VERB_LEASE] = "the lease is missing, such as 3-17: reserve prints it",
        [VERB_COUNT_OF_JOBS] = "a count is missing, or --all",
        [VERB_DURATION] = "a duration is missing, such as 10m",
    };

    ELAPSE__ASSERT((size_t)kind < sizeof names / sizeof names[0] && names[kind] != NULL);
    if (kind == VERB_ID && call->by_id)
        return usage_error("an id is missing");
    return usage_error("%s", names[kind]);
}

static enum exit_status check_duration(const char *text)
{
    uint64_t duration_ns;
    const char *fault = duration_parse(text, &duration_ns);

    if (fault != NULL)
        return usage_error("%s: %s", quote_string(text).text, fault);
    return STATUS_OK;
}

static enum exit_status check_lease(const char *text)
{
    if (strchr(text, '-') != NULL)
        return STATUS_OK;
    return usage_error("%s is not a lease, such as 3-17: ids and leases stand in turn",
                       quote_string(text).text);
}

static enum exit_status check_argument(enum verb_argument kind, const char *text)
{
    uint64_t number;

    switch (kind) {
    case VERB_ID:
        return client_check_id(text);
    case VERB_LEASE:
        return check_lease(text);
    case VERB_DURATION:
        return check_duration(text);
    case VERB_COUNT_OF_JOBS:
        if (parse_number(text, 1, INT64_MAX, &number))
            return STATUS_OK;
        return usage_error("%s is not a count of jobs", quote_string(text).text);
    case VERB_COUNT_OF_ARRIVALS:
        if (parse_number(text, 1, UINT32_MAX, &number))
            return STATUS_OK;
        return usage_error("%s is not a count of arrivals", quote_string(text).text);
    default:
        return STATUS_OK;
    }
}

/* Checks the arguments of a command that does not name jobs by id. */
static enum exit_status check_arguments(const struct call *call, const struct command_line *line)
{
    const struct verb *verb = call->verb;
    int least = length_of(verb->first) - call->all;
    int repeated = length_of(verb->repeated);
    enum exit_status status = STATUS_OK;

    ELAPSE__ASSERT(!call->all || (verb->has_all && least > 0));
    ELAPSE__ASSERT(repeated == 0 || verb->optional == VERB_NOTHING);
    if (repeated == 0)
        status = options_check_count(line, least + (verb->optional != VERB_NOTHING));
    if (line->argument_count > ARGUMENTS_MAX)
        return usage_error("there are too many arguments: at most %d", ARGUMENTS_MAX);
    for (int i = 0; status == STATUS_OK && i < line->argument_count; i++)
        status = check_argument(kind_at(verb, i), line->arguments[i]);
    int place = line->argument_count;
    bool is_part = place > least && repeated > 0 && (place - least) % repeated != 0;
    if (status == STATUS_OK && (place < least || is_part))
        return say_missing(call, kind_at(verb, place));
    return status;
}

static enum exit_status check(const struct call *call, const struct command_line *line)
{
    enum exit_status status = STATUS_OK;

    if (call->all && call->by_id)
        return usage_error("--all and --id exclude each other");
    if (!call->by_id)
        return check_arguments(call, line);
    if (line->argument_count == 0)
        return say_missing(call, VERB_ID);
    for (int i = 0; status == STATUS_OK && i < line->argument_count; i++)
        status = check_argument(VERB_ID, line->arguments[i]);
    return status;
}

/* ---- replies ---- */

/* Prints the result of a part of the command: of a tube or a job. */
static void print_word(const struct call *call, enum verb_argument kind, const char *part,
                       const char *word)
{
    if (!call->client->json) {
        output_add_masked(part);
        output_add_format(" %s\n", word);
        return;
    }
    struct elapse__json *json = output_begin_json();
    elapse__json_open(json, '{');
    if (kind == VERB_ID) {
        elapse__json_name(json, "id");
        elapse__json_literal(json, part);
    } else {
        elapse__json_any_text_member(json, "tube", part);
    }
    elapse__json_text_member(json, "result", word);
    elapse__json_close(json, '}');
    output_end_json();
}

/* Prints the word for one part. */
static enum exit_status take_word(const struct call *call, const redisReply *reply,
                                  enum verb_argument kind, const char *part)
{
    struct answer answer = answer_of_word(reply, false);

    if (answer.error != NULL)
        return session_report_error(&answer, kind == VERB_ID ? part : NULL);
    if (kind == VERB_TUBE && answer.status == STATUS_GONE)
        return tube_say_gone(call->client, part);
    if (answer_is_word(reply, "cancelled") && !call->verb->may_cancel)
        answer.status = STATUS_GONE;
    print_word(call, kind, part, answer.word);
    return answer.status;
}

/* Prints the answer to a question. */
static enum exit_status take_map(const struct call *call, const redisReply *map)
{
    struct elapse__buffer text = {.bytes = NULL};

    ELAPSE__ASSERT(map->type == REDIS_REPLY_ARRAY);
    if (call->client->json) {
        render_json(output_begin_json(), map);
        output_end_json();
        return STATUS_OK;
    }
    render_lines(&text, map);
    output_add_buffer(&text);
    elapse__buffer_free(&text);
    return STATUS_OK;
}

/* Takes a word for each part of the command. One word comes alone, and several come in an array. */
static enum exit_status take_words(const struct call *call, const redisReply *reply,
                                   char *const *parts, int count)
{
    enum verb_argument kind = call->verb->first[0];
    int width = kind == VERB_ID ? length_of(call->verb->first) : count;
    enum exit_status status = STATUS_OK;

    if (reply->type == REDIS_REPLY_NIL && kind == VERB_TUBE)
        return tube_say_gone(call->client, parts[0]);
    if (reply->type != REDIS_REPLY_ARRAY)
        return take_word(call, reply, kind, parts[0]);
    if (kind == VERB_TUBE)
        return take_map(call, reply);
    ELAPSE__ASSERT(width > 0 && count % width == 0);
    if (reply->elements != (size_t)(count / width))
        return error_of(STATUS_FAILED, "the reply is not the one of this command");
    for (size_t i = 0; i < reply->elements; i++)
        status =
            answer_join(status, take_word(call, reply->element[i], kind, parts[i * (size_t)width]));
    return status;
}

static enum exit_status take_count(const struct call *call, const redisReply *reply,
                                   const char *tube)
{
    if (reply->type != REDIS_REPLY_INTEGER || reply->integer < 0) {
        struct answer answer = answer_of_other(reply, "the reply is no number");
        return session_report_error(&answer, NULL);
    }
    if (reply->integer == 0) {
        enum exit_status status = tube_check(call->client, tube);
        if (status != STATUS_OK)
            return status;
    }
    output_add_format(call->client->json ? "{\"%s\":%lld}\n" : "%s %lld\n", call->verb->counted,
                      reply->integer);
    return STATUS_OK;
}

/* Prints how many arrivals are missing. If the number is 0, does not ask whether the tube exists,
 * because its last job may have ended. */
static enum exit_status take_left(const struct call *call, const redisReply *reply)
{
    if (answer_is_word(reply, "gone"))
        return error_of(STATUS_GONE, "no job with this key waits for arrivals");
    if (reply->type != REDIS_REPLY_INTEGER || reply->integer < 0) {
        struct answer answer = answer_of_other(reply, "the reply is no number");
        return session_report_error(&answer, NULL);
    }
    output_add_format(call->client->json ? "{\"left\":%lld}\n" : "left %lld\n", reply->integer);
    return STATUS_OK;
}

static enum exit_status take_jobs(const struct call *call, const redisReply *reply)
{
    size_t shown = 0;

    if (reply->type != REDIS_REPLY_ARRAY) {
        struct answer answer = answer_of_other(reply, "the reply is no list of jobs");
        return session_report_error(&answer, NULL);
    }
    for (size_t i = 0; i < reply->elements; i++) {
        struct handed_map map;
        if (!handed_map_make(&map, reply->element[i]))
            return error_of(STATUS_FAILED, "the reply has something that is no job");
        if (shown++ > 0 && !call->client->json)
            output_add_text("\n");
        (void)take_map(call, &map.map);
    }
    return shown > 0 ? STATUS_OK : error_of(STATUS_GONE, "no job is ready");
}

static enum exit_status take(const struct call *call, const redisReply *reply, char *const *parts,
                             int count)
{
    switch (call->verb->reply) {
    case VERB_WORDS:
        return take_words(call, reply, parts, count);
    case VERB_COUNT:
        return take_count(call, reply, parts[0]);
    case VERB_LEFT:
        return take_left(call, reply);
    case VERB_JOBS:
        break;
    }
    return take_jobs(call, reply);
}

/* ---- requests ---- */

static void add_options(const struct call *call)
{
    for (size_t i = 0; i < VERB_OPTIONS_MAX && call->verb->options[i].name != NULL; i++)
        client_add_option(call->client, call->verb->options[i].word, call->values[i].text);
    if (call->verb->reply == VERB_JOBS)
        request_add_text(&call->client->request, "DETAILS");
}

/* Stores in `*buried` how many jobs of the tube are buried. */
static enum exit_status count_buried(struct call *call, const char *tube, uint64_t *buried)
{
    enum exit_status status;

    request_clear(&call->client->request);
    request_add_text(&call->client->request, "STATS");
    request_add_text(&call->client->request, tube);
    redisReply *reply = client_ask_map(call->client, &status);
    if (reply == NULL)
        return status;
    *buried = answer_number(reply, "buried");
    freeReplyObject(reply);
    return status == STATUS_GONE ? tube_say_gone(call->client, tube) : STATUS_OK;
}

/* Sends the command, and prints the reply. */
static enum exit_status ask(struct call *call, char *const *parts, int count)
{
    struct request *request = &call->client->request;
    enum exit_status status;
    uint64_t buried = 0;

    ELAPSE__ASSERT(!call->by_id && count > 0);
    if (call->all) {
        status = count_buried(call, parts[0], &buried);
        if (status != STATUS_OK)
            return status;
        if (buried == 0) {
            output_add_format(call->client->json ? "{\"%s\":0}\n" : "%s 0\n", call->verb->counted);
            return STATUS_OK;
        }
    }
    request_clear(request);
    request_add_text(request, call->verb->word);
    for (int i = 0; i < count; i++)
        request_add_text(request, parts[i]);
    if (call->all) {
        request_add_number(request, buried);
        /* Without this word KICK takes delayed jobs, if the last buried one has gone since. */
        request_add_text(request, "BURIED");
    }
    if (call->verb->behind != NULL)
        request_add_text(request, call->verb->behind);
    add_options(call);
    redisReply *reply = client_ask(call->client, &status);
    if (reply == NULL)
        return status;
    if (call->all && answer_is_of_older_server(reply))
        status = error_of(STATUS_FAILED, ANSWER_OLDER_SERVER);
    else
        status = take(call, reply, parts, count);
    freeReplyObject(reply);
    return status;
}

/* Sends a command for each id, and prints the replies. Ends when the connection is lost. */
static enum exit_status ask_by_id(struct call *call, char *const *ids, int count)
{
    struct client *client = call->client;
    enum exit_status status = STATUS_OK;

    ELAPSE__ASSERT(call->verb->word_by_id != NULL);
    ELAPSE__ASSERT(call->by_id && !call->all);
    for (int i = 0; i < count; i++) {
        enum exit_status own;
        if (i > 0 && connection_fault(client->connection) != CONNECTION_WORKS)
            return answer_join(
                status, session_report_unsent(client->connection, &client->settings, ids[i - 1]));
        request_clear(&client->request);
        request_add_text(&client->request, call->verb->word_by_id);
        request_add_text(&client->request, ids[i]);
        redisReply *reply = client_ask(client, &own);
        if (reply == NULL)
            return answer_join(status, own);
        status = answer_join(status, take_word(call, reply, VERB_ID, ids[i]));
        freeReplyObject(reply);
    }
    return status;
}

/* Allows more time for the reply to a command that waits. */
static void allow_for_wait(struct call *call)
{
    for (size_t i = 0; i < VERB_OPTIONS_MAX && call->verb->options[i].name != NULL; i++) {
        uint64_t wait_ns;
        if (strcmp(call->verb->options[i].word, "WAIT") != 0 || call->values[i].text == NULL ||
            duration_parse(call->values[i].text, &wait_ns) != NULL)
            continue;
        call->client->settings.timeout_ns += wait_ns < WAIT_NS_MAX ? wait_ns : WAIT_NS_MAX;
    }
}

static enum exit_status run(void *context, const struct command_line *line)
{
    struct call *call = context;
    enum exit_status status = check(call, line);

    if (status != STATUS_OK)
        return status;
    allow_for_wait(call);
    status = client_open(call->client);
    if (status != STATUS_OK)
        return status;
    return call->by_id ? ask_by_id(call, line->arguments, line->argument_count)
                       : ask(call, line->arguments, line->argument_count);
}

/* ---- options ---- */

static enum exit_status read_text(void *context, const char *value)
{
    struct client_time *time = context;

    time->text = value;
    return STATUS_OK;
}

/* Adds the options of the verb to the table. */
static void fill_table(struct call *call, struct command_option *table)
{
    const struct verb *verb = call->verb;
    size_t count = 0;

    for (size_t i = 0; i < VERB_OPTIONS_MAX && verb->options[i].name != NULL; i++) {
        const struct verb_option *option = &verb->options[i];
        ELAPSE__ASSERT(option->value != NULL && option->help != NULL);
        table[count++] = option_function(option->name, option->value,
                                         option->is_duration ? client_read_duration : read_text,
                                         &call->values[i], option->help);
    }
    if (verb->word_by_id != NULL)
        table[count++] = option_flag("id", &call->by_id, "the arguments are ids of jobs");
    if (verb->has_all)
        table[count++] = option_flag("all", &call->all, "all buried jobs of the tube");
    table[count] = client_json_option(call->client);
}

/* Returns whether a word is an option of the client itself. */
static bool is_own(const struct command_option *table, const char *name, size_t length)
{
    static const char *const others[] = {"help",  "version", "server", "token-file", "user",
                                         "token", "ca",      "cert",   "cert-key",   "timeout"};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strlen(others[i]) == length && memcmp(others[i], name, length) == 0)
            return true;
    }
    for (; table->name != NULL; table++) {
        if (strlen(table->name) == length && memcmp(table->name, name, length) == 0)
            return true;
    }
    return false;
}

/* Makes a word of the protocol from the name of an option: capital letters without hyphens. */
static void make_word(char *name)
{
    char *end = name;
    for (const char *at = name; *at != '\0'; at++) {
        if (*at != '-')
            *end++ = (char)toupper((unsigned char)*at);
    }
    *end = '\0';
}

/* Replaces "--concurrency=4" by the words CONCURRENCY and 4. So the client need not know the
 * options of the server. BURIED AGE is the only option of two words. Returns how many words there
 * are now. `words` has room for three times as many. */
static int hand_on(const struct command_option *table, char **words, int argc, char **argv)
{
    int count = 0;

    for (int i = 0; i < argc; i++) {
        char *name = argv[i] + 2;
        size_t length = i == 0 || strncmp(argv[i], "--", 2) != 0 ? 0 : strcspn(name, "=");
        if (length == 0 || is_own(table, name, length)) {
            words[count++] = argv[i];
            continue;
        }
        bool has_value = name[length] == '=';
        name[length] = '\0';
        words[count++] = name;
        if (strcmp(name, "buried-age") == 0) {
            char *age = strchr(name, '-');
            *age = '\0';
            words[count++] = age + 1;
            make_word(age + 1);
        }
        make_word(name);
        if (has_value)
            words[count++] = name + length + 1;
    }
    words[count] = NULL;
    ELAPSE__ASSERT_THAT(count, <=, 3 * argc);
    return count;
}

enum exit_status verb_command(int argc, char **argv)
{
    static const char before[] = "elapse ";
    struct command_option table[VERB_OPTIONS_MAX + 4 + CLIENT_OPTION_COUNT] = {{.name = NULL}};

    ELAPSE__ASSERT(argc >= 1 && strncmp(argv[0], before, sizeof before - 1) == 0);
    struct call call = {.client = client_new(), .verb = verb_find(argv[0] + sizeof before - 1)};
    ELAPSE__ASSERT(call.verb != NULL);
    fill_table(&call, table);
    if (!call.verb->hands_on)
        return client_run(call.client, &call.verb->help, run, &call, table, argc, argv);
    char **words = allocate((3 * (size_t)argc + 1) * sizeof *words);
    argc = hand_on(table, words, argc, argv);
    enum exit_status status =
        client_run(call.client, &call.verb->help, run, &call, table, argc, words);
    free(words);
    return status;
}
