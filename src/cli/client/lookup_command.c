/*
 * elapse lookup: shows one job. elapse stats: shows counts of jobs. elapse whoami: shows the user,
 * and what it may do.
 */
#include "../../base/assert.h"
#include "../common/command.h"
#include "../common/output.h"
#include "client.h"
#include "render.h"
#include "tube.h"

/* Asks for a map, and prints it. If there is no map, says that `tube` does not exist, or that the
 * job does not if `tube` is NULL. */
static enum exit_status print_map(struct client *client, bool body_alone, const char *tube)
{
    enum exit_status status;
    redisReply *reply = client_ask_map(client, &status);

    if (reply == NULL)
        return status;
    ELAPSE__ASSERT((status == STATUS_GONE) == (reply->type == REDIS_REPLY_NIL));
    if (status == STATUS_GONE) {
        freeReplyObject(reply);
        return tube != NULL ? tube_say_gone(client, tube)
                            : error_of(status, "there is no such job");
    }
    const redisReply *body = answer_member(reply, "body");
    if (body_alone && body != NULL && body->type == REDIS_REPLY_STRING) {
        output_add(body->str, body->len);
    } else if (client->json) {
        render_json(output_begin_json(), reply);
        output_end_json();
    } else {
        struct elapse__buffer text = {.bytes = NULL};
        render_lines(&text, reply);
        output_add_buffer(&text);
        elapse__buffer_free(&text);
    }
    freeReplyObject(reply);
    return status;
}

/* ---- lookup ---- */

static const struct command_help lookup_help = {
    .usage = "Usage: elapse lookup TUBE KEY [OPTION]...\n"
             "       elapse lookup --id ID [OPTION]...\n",
    .purpose = "Shows a job: its state, when it is due, how often it has failed, and its body.\n",
    .example = "Examples:\n"
               "  elapse lookup orders 4711\n"
               "  elapse lookup --id 17 --body >body\n",
};

struct lookup {
    struct client *client;
    bool by_id;
    bool body;
};

static enum exit_status look_up(void *context, const struct command_line *line)
{
    struct lookup *lookup = context;

    if (lookup->body && lookup->client->json)
        return usage_error("--body and --json exclude each other");
    enum exit_status status =
        client_begin_named(lookup->client, line, lookup->by_id, "LOOKUP", "LOOKUPID");
    return status != STATUS_OK ? status : print_map(lookup->client, lookup->body, NULL);
}

enum exit_status lookup_command(int argc, char **argv)
{
    struct lookup lookup = {.client = client_new()};
    struct command_option table[8 + CLIENT_OPTION_COUNT] = {
        option_flag("id", &lookup.by_id, "the argument is the id of the job"),
        option_flag("body", &lookup.body, "print the body alone, as it is"),
        client_json_option(lookup.client),
    };
    return client_run(lookup.client, &lookup_help, look_up, &lookup, table, argc, argv);
}

/* ---- stats ---- */

static const struct command_help stats_help = {
    .usage = "Usage: elapse stats [TUBE] [OPTION]...\n",
    .purpose = "Counts the jobs of a server, or of a tube: those that are "
               "there, by their states,\nand what happened since the start.\n",
    .example = "Example:\n"
               "  elapse stats orders --json\n",
};

static enum exit_status show_stats(void *context, const struct command_line *line)
{
    struct client *client = context;
    enum exit_status status = client_begin(client, line, 1, "STATS");

    if (status != STATUS_OK)
        return status;
    return print_map(client, false, line->argument_count == 1 ? line->arguments[0] : NULL);
}

enum exit_status stats_command(int argc, char **argv)
{
    struct client *client = client_new();
    struct command_option table[1 + CLIENT_OPTION_COUNT] = {client_json_option(client)};
    return client_run(client, &stats_help, show_stats, client, table, argc, argv);
}

/* ---- whoami ---- */

static const struct command_help whoami_help = {
    .usage = "Usage: elapse whoami [OPTION]...\n",
    .purpose = "Shows as whom a server knows you, which rights you have, and for which tubes: '-' "
               "is\nfor all of them. Who may do everything is the user default.\n",
    .example = "Example:\n"
               "  elapse whoami --user reader --token-file password\n",
};

static enum exit_status show_user(void *context, const struct command_line *line)
{
    struct client *client = context;
    enum exit_status status = client_begin(client, line, 0, "WHOAMI");

    return status != STATUS_OK ? status : print_map(client, false, NULL);
}

enum exit_status whoami_command(int argc, char **argv)
{
    struct client *client = client_new();
    struct command_option table[1 + CLIENT_OPTION_COUNT] = {client_json_option(client)};
    return client_run(client, &whoami_help, show_user, client, table, argc, argv);
}
