/*
 * elapse lookup: one job; elapse stats: counts of jobs.
 */
#include "../../base/assert.h"
#include "../common/output.h"
#include "../common/text.h"
#include "client.h"
#include "client_commands.h"
#include "render.h"

/* Asks for a map, and prints it. `missing` says that there is none. */
static enum exit_status print_map(struct client *client, bool body_alone, const char *missing)
{
    enum exit_status status;
    struct buffer text = {.length = 0};
    redisReply *reply = client_ask_map(client, &status);

    if (reply == NULL)
        return status;
    if (status == STATUS_GONE) {
        print_error("%s", missing);
        freeReplyObject(reply);
        return status;
    }
    const redisReply *body = answer_member(reply, "body");
    if (body_alone && body != NULL && body->type == REDIS_REPLY_STRING) {
        output_add(body->str, body->len);
    } else if (client->json) {
        render_json(&text, reply);
        buffer_add_text(&text, "\n");
    } else {
        render_lines(&text, reply);
    }
    if (text.length > 0)
        output_add(text.bytes, text.length);
    buffer_free(&text);
    freeReplyObject(reply);
    return status;
}

/* ---- lookup ---- */

static const char lookup_usage[] = "Usage: elapse lookup TUBE KEY [OPTION]...\n"
                                   "       elapse lookup --id ID [OPTION]...\n";

static const char lookup_purpose[] =
    "Shows a job: its state, when it is due, how often it has failed, and its body.\n";

static const char lookup_example[] = "Examples:\n"
                                     "  elapse lookup orders 4711\n"
                                     "  elapse lookup --id 17 --body >body\n";

struct lookup {
    struct client *client;
    bool by_id;
    bool body;
};

static enum exit_status look_up(struct lookup *lookup, const struct command_line *line)
{
    struct request *request = &lookup->client->request;
    int wanted = lookup->by_id ? 1 : 2;

    if (lookup->body && lookup->client->json)
        return usage_error("--body and --json exclude each other");
    if (line->argument_count < wanted)
        return usage_error(lookup->by_id ? "an id is missing" : "give a tube and a key");
    if (line->argument_count > wanted)
        return usage_error("unknown argument %s", quote_string(line->arguments[wanted]).text);
    enum exit_status status = lookup->by_id ? client_check_id(line->arguments[0]) : STATUS_OK;
    if (status == STATUS_OK)
        status = client_open(lookup->client);
    if (status != STATUS_OK)
        return status;
    request_clear(request);
    request_add_text(request, lookup->by_id ? "LOOKUPID" : "LOOKUP");
    for (int i = 0; i < wanted; i++)
        request_add_text(request, line->arguments[i]);
    return print_map(lookup->client, lookup->body, "there is no such job");
}

enum exit_status lookup_command(int argc, char **argv)
{
    struct lookup lookup = {.client = client_new()};
    enum exit_status status;
    struct command_option table[8 + CLIENT_OPTION_COUNT] = {
        {.name = "id",
         .kind = OPTION_FLAG,
         .flag = &lookup.by_id,
         .help = "the argument is the id of the job"},
        {.name = "body",
         .kind = OPTION_FLAG,
         .flag = &lookup.body,
         .help = "print the body alone, as it is"},
        client_json_option(lookup.client),
    };
    size_t count = 3;

    client_settings_add(&lookup.client->settings, table, &count);
    struct command_line line = {.usage = lookup_usage,
                                .purpose = lookup_purpose,
                                .options = table,
                                .option_count = count,
                                .example = lookup_example};
    if (options_read(&line, argc, argv, &status)) {
        status = look_up(&lookup, &line);
        enum exit_status written = output_finish();
        status = status == STATUS_OK ? written : status;
    }
    client_free(lookup.client);
    return status;
}

/* ---- stats ---- */

static const char stats_usage[] = "Usage: elapse stats [TUBE] [OPTION]...\n";

static const char stats_purpose[] = "Counts the jobs of a server, or of a tube: those that are "
                                    "there, by their states,\nand what happened since the start.\n";

static const char stats_example[] = "Example:\n"
                                    "  elapse stats orders --json\n";

static enum exit_status show_stats(struct client *client, const struct command_line *line)
{
    enum exit_status status;

    if (line->argument_count > 1)
        return usage_error("unknown argument %s", quote_string(line->arguments[1]).text);
    status = client_open(client);
    if (status != STATUS_OK)
        return status;
    request_clear(&client->request);
    request_add_text(&client->request, "STATS");
    if (line->argument_count == 1)
        request_add_text(&client->request, line->arguments[0]);
    return print_map(client, false, "there is no such tube");
}

enum exit_status stats_command(int argc, char **argv)
{
    struct client *client = client_new();
    enum exit_status status;
    struct command_option table[1 + CLIENT_OPTION_COUNT] = {client_json_option(client)};
    size_t count = 1;

    client_settings_add(&client->settings, table, &count);
    struct command_line line = {.usage = stats_usage,
                                .purpose = stats_purpose,
                                .options = table,
                                .option_count = count,
                                .example = stats_example};
    if (options_read(&line, argc, argv, &status)) {
        status = show_stats(client, &line);
        enum exit_status written = output_finish();
        status = status == STATUS_OK ? written : status;
    }
    client_free(client);
    return status;
}
