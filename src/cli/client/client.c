#include "client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/duration.h"
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
    struct answer answer = answer_of_word(reply, true);
    if (answer.error == NULL)
        answer = (struct answer){.status = STATUS_FAILED, .error = "the reply is no map"};
    *status = session_report_error(&answer, NULL);
    freeReplyObject(reply);
    return NULL;
}

struct command_option client_json_option(struct client *client)
{
    return (struct command_option){.name = "json",
                                   .kind = OPTION_FLAG,
                                   .flag = &client->json,
                                   .help = "print lines of JSON, for scripts"};
}

void client_add_option(struct client *client, const char *word, const char *value)
{
    if (value == NULL)
        return;
    request_add_text(&client->request, word);
    request_add_text(&client->request, value);
}

enum exit_status client_check_id(const char *text)
{
    const uint64_t id_max = (UINT64_C(1) << 53) - 1;
    uint64_t id;

    if (parse_number(text, 1, id_max, &id))
        return STATUS_OK;
    return usage_error("%s is no number of a job", quote_string(text).text);
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

enum exit_status client_read_moment(void *context, const char *value)
{
    enum { NANOSECONDS_A_MILLISECOND = 1000000 };
    struct client_time *time = context;
    uint64_t number;

    time->text = value;
    if (parse_number(value, 0, INT64_MAX, &number))
        return STATUS_OK;
    const char *fault = timestamp_parse(value, strlen(value), &number);
    if (fault != NULL)
        return usage_error("%s: %s: %s, nor a number of milliseconds since 1970", options_label(),
                           quote_string(value).text, fault);
    /* Never early: a part of a millisecond counts as one. */
    (void)snprintf(time->number, sizeof time->number, "%" PRIu64,
                   number / NANOSECONDS_A_MILLISECOND + (number % NANOSECONDS_A_MILLISECOND != 0));
    time->text = time->number;
    return STATUS_OK;
}
