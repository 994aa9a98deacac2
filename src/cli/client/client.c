#include "client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/duration.h"
#include "../common/output.h"
#include "../common/text.h"
#include "../common/timestamp.h"

struct client *client_new(void)
{
    struct client *client = allocate(sizeof *client);

    memset(client, 0, sizeof *client);
    return client;
}

void client_free(struct client *client)
{
    if (client->connection != NULL)
        connection_free(client->connection);
    request_free(&client->request);
    client_settings_free(&client->settings);
    free(client);
}

enum exit_status client_open(struct client *client)
{
    enum exit_status status = client_settings_read(&client->settings);

    ELAPSE__ASSERT(client->connection == NULL);
    if (status != STATUS_OK)
        return status;
    client->connection = connection_new(&client->settings);
    connection_open(client->connection);
    return STATUS_OK;
}

redisReply *client_ask(struct client *client, enum exit_status *status)
{
    ELAPSE__ASSERT(client->connection != NULL);
    return session_ask(client->connection, &client->settings, &client->request, status);
}

redisReply *client_ask_map(struct client *client, enum exit_status *status)
{
    redisReply *reply = client_ask(client, status);

    if (reply == NULL)
        return NULL;
    *status = reply->type == REDIS_REPLY_NIL ? STATUS_GONE : STATUS_OK;
    if (reply->type == REDIS_REPLY_NIL || reply->type == REDIS_REPLY_ARRAY)
        return reply;
    struct answer answer = answer_of_other(reply, "the reply is no map");
    *status = session_report_error(&answer, NULL);
    freeReplyObject(reply);
    return NULL;
}

enum exit_status client_run(struct client *client, const struct command_help *help,
                            client_function *run, void *context, struct command_option *table,
                            int argc, char **argv)
{
    enum exit_status status;
    size_t count = 0;

    while (table[count].name != NULL)
        count++;
    ELAPSE__ASSERT_THAT(count + CLIENT_OPTION_COUNT, <=, (size_t)OPTIONS_MAX);
    ELAPSE__ASSERT(client->connection == NULL && client->request.count == 0); /* it is new */
    client_settings_add(&client->settings, table, &count);
    struct command_line line = {.help = help, .options = table, .option_count = count};
    if (options_read(&line, argc, argv, &status)) {
        status = run(context, &line);
        enum exit_status written = output_finish();
        status = status == STATUS_OK ? written : status;
    }
    client_free(client);
    return status;
}

struct command_option client_json_option(struct client *client)
{
    return option_flag("json", &client->json, "print lines of JSON, for scripts");
}

void client_add_option(struct client *client, const char *word, const char *value)
{
    if (value == NULL)
        return;
    ELAPSE__ASSERT(word[0] >= 'A' && word[0] <= 'Z');
    request_add_text(&client->request, word);
    request_add_text(&client->request, value);
}

enum exit_status client_check_id(const char *text)
{
    const uint64_t id_max = (UINT64_C(1) << 53) - 1;
    uint64_t id;

    if (parse_number(text, 1, id_max, &id))
        return STATUS_OK;
    return usage_error("%s is not the id of a job", quote_string(text).text);
}

enum exit_status client_begin(struct client *client, const struct command_line *line, int most,
                              const char *verb)
{
    enum exit_status status = options_check_count(line, most);

    if (status == STATUS_OK)
        status = client_open(client);
    if (status != STATUS_OK)
        return status;
    ELAPSE__ASSERT(verb[0] >= 'A' && verb[0] <= 'Z');
    request_clear(&client->request);
    request_add_text(&client->request, verb);
    for (int i = 0; i < line->argument_count; i++)
        request_add_text(&client->request, line->arguments[i]);
    ELAPSE__ASSERT_THAT(client->request.count, <=, 1U + (unsigned)most);
    return STATUS_OK;
}

enum exit_status client_begin_named(struct client *client, const struct command_line *line,
                                    bool by_id, const char *verb, const char *verb_by_id)
{
    int wanted = by_id ? 1 : 2;

    if (line->argument_count < wanted)
        return usage_error(by_id ? "an id is missing" : "give a tube and a key");
    enum exit_status status = options_check_count(line, wanted);
    if (status == STATUS_OK && by_id)
        status = client_check_id(line->arguments[0]);
    if (status == STATUS_OK)
        status = client_begin(client, line, wanted, by_id ? verb_by_id : verb);
    ELAPSE__ASSERT(status != STATUS_OK || client->request.count == (by_id ? 2U : 3U));
    return status;
}

enum exit_status client_read_duration(void *context, const char *value)
{
    struct client_time *time = context;
    uint64_t duration_ns;
    const char *fault = duration_parse(value, &duration_ns);

    if (fault != NULL)
        return usage_error("%s: %s: %s", options_label(), quote_string(value).text, fault);
    time->text = value;
    return STATUS_OK;
}

static enum exit_status read_moment(void *context, const char *value)
{
    enum { NANOSECONDS_A_MILLISECOND = 1000000 };
    const uint64_t year_2001_ms = 978307200000;
    struct client_time *time = context;
    uint64_t number;

    time->text = value;
    if (parse_number(value, 0, INT64_MAX, &number)) {
        if (number >= year_2001_ms)
            return STATUS_OK;
        return usage_error("%s: %s is a number of milliseconds since 1970, and before the year "
                           "2001; seconds need 000 behind them",
                           options_label(), value);
    }
    const char *fault = timestamp_parse(value, strlen(value), &number);
    if (fault != NULL)
        return usage_error("%s: %s: %s, nor a number of milliseconds since 1970", options_label(),
                           quote_string(value).text, fault);
    /* Rounds up to a whole millisecond, so that the job is never early. */
    (void)snprintf(time->number, sizeof time->number, "%" PRIu64,
                   number / NANOSECONDS_A_MILLISECOND + (number % NANOSECONDS_A_MILLISECOND != 0));
    time->text = time->number;
    return STATUS_OK;
}

struct command_option client_duration_option(const char *name, struct client_time *time,
                                             const char *help)
{
    return option_function(name, "DURATION", client_read_duration, time, help);
}

struct command_option client_moment_option(struct client_time *time)
{
    return option_function(
        "at", "TIME", read_moment, time,
        "due at this time: 2026-11-20T18:30:00+01:00, or milliseconds since 1970");
}
