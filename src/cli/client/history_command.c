/*
 * elapse history: shows what a server has done in each of the last minutes.
 *
 * The server answers with a map of columns: each value is an array that has a place for each
 * minute. Each minute becomes a map of its own, so that it is printed like the other lists.
 */
#include "../../base/assert.h"
#include "../../base/history.h"
#include "../common/command.h"
#include "../common/output.h"
#include "client.h"
#include "columns.h"
#include "render.h"

enum { FIELDS_MAX = 32, MINUTES = 60 };

static const char history_columns[] = "at,put,done,ready,buried,overdue,late_p99,late_max";

struct history {
    struct client *client;
    uint64_t minutes;
};

/* Makes the map of one minute. Its names and values are those of the reply. A column that lacks
 * this minute, or is no array, is left out. */
static void take_minute(const redisReply *reply, size_t minute, redisReply *map,
                        redisReply *elements[2 * FIELDS_MAX])
{
    *map = (redisReply){.type = REDIS_REPLY_ARRAY, .element = elements};
    for (size_t i = 0; i + 1 < reply->elements && map->elements < 2 * (size_t)FIELDS_MAX; i += 2) {
        const redisReply *column = reply->element[i + 1];
        if (column->type != REDIS_REPLY_ARRAY || minute >= column->elements)
            continue;
        elements[map->elements++] = reply->element[i];
        elements[map->elements++] = column->element[minute];
    }
}

static size_t minutes_of(const redisReply *reply)
{
    const redisReply *at = answer_member(reply, "at");

    return at != NULL && at->type == REDIS_REPLY_ARRAY ? at->elements : 0;
}

static void print_json(const redisReply *reply)
{
    redisReply *elements[2 * FIELDS_MAX];
    redisReply map;

    for (size_t i = 0; i < minutes_of(reply); i++) {
        take_minute(reply, i, &map, elements);
        render_json(output_begin_json(), &map);
        output_end_json();
    }
}

static void print_table(const redisReply *reply)
{
    redisReply *elements[2 * FIELDS_MAX];
    redisReply map;
    redisReply *maps[] = {&map};
    const redisReply list = {.type = REDIS_REPLY_ARRAY, .elements = 1, .element = maps};
    struct columns columns;
    struct elapse__buffer lines = {.bytes = NULL};

    columns_set(&columns, history_columns);
    for (size_t i = 0; i < minutes_of(reply); i++) {
        take_minute(reply, i, &map, elements);
        columns_fit(&columns, &list);
    }
    columns_add_titles(&lines, &columns);
    for (size_t i = 0; i < minutes_of(reply); i++) {
        take_minute(reply, i, &map, elements);
        columns_add_line(&lines, &columns, &map);
    }
    output_add_buffer(&lines);
    elapse__buffer_free(&lines);
}

static const struct command_help help = {
    .usage = "Usage: elapse history [OPTION]...\n",
    .purpose = "Shows what a server has done in each of the last minutes, the oldest first: jobs\n"
               "that were put and done, how many were ready and buried, for how long the oldest\n"
               "one had been due, and how late jobs were handed out. The server remembers a day.\n"
               "--json has more.\n",
    .example = "Example:\n"
               "  elapse history --minutes 1440 --json | jq 'select(.buried > 0)'\n",
};

static enum exit_status run(void *context, const struct command_line *line)
{
    struct history *history = context;
    struct client *client = history->client;
    enum exit_status status = client_begin(client, line, 0, "HISTORY");

    if (status != STATUS_OK)
        return status;
    request_add_text(&client->request, "COUNT");
    request_add_number(&client->request, history->minutes);
    redisReply *reply = client_ask_map(client, &status);
    if (reply == NULL)
        return status;
    if (client->json)
        print_json(reply);
    else
        print_table(reply);
    if (minutes_of(reply) == 0)
        print_error("there is nothing to show yet: the first minute of the server is not over");
    freeReplyObject(reply);
    return status;
}

enum exit_status history_command(int argc, char **argv)
{
    struct history history = {.client = client_new(), .minutes = MINUTES};
    struct command_option table[3 + CLIENT_OPTION_COUNT] = {
        option_number("minutes", "COUNT", &history.minutes, 1, ELAPSE__HISTORY_POINTS,
                      "the last so many, 1 to 1440 (default 60)"),
        client_json_option(history.client)};

    return client_run(history.client, &help, run, &history, table, argc, argv);
}
