/*
 * elapse reschedule: gives a job another due time.
 */
#include "../../base/assert.h"
#include "../common/output.h"
#include "../common/text.h"
#include "client.h"
#include "client_commands.h"

static const char usage[] =
    "Usage: elapse reschedule TUBE KEY --in DURATION | --at TIME [OPTION]...\n"
    "       elapse reschedule --id ID --in DURATION | --at TIME [OPTION]...\n";

static const char purpose[] =
    "Gives a job another due time, and prints a word: rescheduled; running, if a worker\n"
    "has it and nothing has changed; or gone, if there is no such job.\n";

static const char example[] = "Examples:\n"
                              "  elapse reschedule orders 4711 --in 45m\n"
                              "  elapse reschedule --id 17 --at 2026-12-24T18:00:00+01:00\n";

struct reschedule {
    struct client *client;
    struct client_time in;
    struct client_time at;
    bool by_id;
};

static enum exit_status ask(struct reschedule *reschedule, char **words)
{
    struct client *client = reschedule->client;
    struct request *request = &client->request;
    enum exit_status status = client_open(client);

    if (status != STATUS_OK)
        return status;
    request_clear(request);
    request_add_text(request, reschedule->by_id ? "RESCHEDULEID" : "RESCHEDULE");
    request_add_text(request, words[0]);
    if (!reschedule->by_id)
        request_add_text(request, words[1]);
    client_add_option(client, "IN", reschedule->in.text);
    client_add_option(client, "AT", reschedule->at.text);
    redisReply *reply = client_ask(client, &status);
    if (reply == NULL)
        return status;
    struct answer answer = answer_of_word(reply, false);
    if (answer.error != NULL)
        (void)session_report_error(&answer, NULL);
    else
        output_add_format(client->json ? "{\"result\":\"%.*s\"}\n" : "%.*s\n",
                          (int)answer.word_length, answer.word);
    status = answer.status;
    freeReplyObject(reply);
    return status;
}

static enum exit_status run(struct reschedule *reschedule, const struct command_line *line)
{
    int wanted = reschedule->by_id ? 1 : 2;

    if ((reschedule->in.text != NULL) == (reschedule->at.text != NULL))
        return usage_error("give --in or --at");
    if (line->argument_count < wanted)
        return usage_error(reschedule->by_id ? "an id is missing" : "give a tube and a key");
    if (line->argument_count > wanted)
        return usage_error("unknown argument %s", quote_string(line->arguments[wanted]).text);
    enum exit_status status = reschedule->by_id ? client_check_id(line->arguments[0]) : STATUS_OK;
    return status != STATUS_OK ? status : ask(reschedule, line->arguments);
}

enum exit_status reschedule_command(int argc, char **argv)
{
    struct reschedule reschedule = {.client = client_new()};
    enum exit_status status;
    struct command_option table[8 + CLIENT_OPTION_COUNT] = {
        {.name = "in",
         .value = "DURATION",
         .kind = OPTION_FUNCTION,
         .read = client_read_duration,
         .context = &reschedule.in,
         .help = "due after this time, such as 45m"},
        {.name = "at",
         .value = "TIME",
         .kind = OPTION_FUNCTION,
         .read = client_read_moment,
         .context = &reschedule.at,
         .help = "due at this time: 2026-11-20T18:30:00+01:00, or milliseconds since 1970"},
        {.name = "id",
         .kind = OPTION_FLAG,
         .flag = &reschedule.by_id,
         .help = "the argument is the id of the job"},
        client_json_option(reschedule.client),
    };
    size_t count = 4;

    client_settings_add(&reschedule.client->settings, table, &count);
    struct command_line line = {.usage = usage,
                                .purpose = purpose,
                                .options = table,
                                .option_count = count,
                                .example = example};
    if (options_read(&line, argc, argv, &status)) {
        status = run(&reschedule, &line);
        enum exit_status written = output_finish();
        status = status == STATUS_OK ? written : status;
    }
    client_free(reschedule.client);
    return status;
}
