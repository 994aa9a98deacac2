/*
 * elapse reschedule: gives a job another due time.
 */
#include "../common/command.h"
#include "../common/output.h"
#include "client.h"

static const struct command_help help = {
    .usage = "Usage: elapse reschedule TUBE KEY --in DURATION | --at TIME [OPTION]...\n"
             "       elapse reschedule --id ID --in DURATION | --at TIME [OPTION]...\n",
    .purpose =
        "Gives a job another due time, and prints a word: rescheduled; running, if a worker\n"
        "has it and nothing has changed; or gone, if there is no such job.\n",
    .example = "Examples:\n"
               "  elapse reschedule orders 4711 --in 45m\n"
               "  elapse reschedule --id 17 --at 2026-12-24T18:00:00+01:00\n",
};

struct reschedule {
    struct client *client;
    struct client_time in;
    struct client_time at;
    bool by_id;
};

static enum exit_status run(void *context, const struct command_line *line)
{
    struct reschedule *reschedule = context;
    struct client *client = reschedule->client;

    if ((reschedule->in.text != NULL) == (reschedule->at.text != NULL))
        return usage_error("give one of --in and --at");
    enum exit_status status =
        client_begin_named(client, line, reschedule->by_id, "RESCHEDULE", "RESCHEDULEID");
    if (status != STATUS_OK)
        return status;
    client_add_option(client, "IN", reschedule->in.text);
    client_add_option(client, "AT", reschedule->at.text);
    redisReply *reply = client_ask(client, &status);
    if (reply == NULL)
        return status;
    struct answer answer = answer_of_word(reply, false);
    if (answer.error != NULL)
        (void)session_report_error(&answer, NULL);
    else
        output_add_format(client->json ? "{\"result\":\"%s\"}\n" : "%s\n", answer.word);
    status = answer.status;
    freeReplyObject(reply);
    return status;
}

enum exit_status reschedule_command(int argc, char **argv)
{
    struct reschedule reschedule = {.client = client_new()};
    struct command_option table[8 + CLIENT_OPTION_COUNT] = {
        client_duration_option("in", &reschedule.in, "due after this time, such as 45m"),
        client_moment_option(&reschedule.at),
        option_flag("id", &reschedule.by_id, "the argument is the id of the job"),
        client_json_option(reschedule.client),
    };
    return client_run(reschedule.client, &help, run, &reschedule, table, argc, argv);
}
