/*
 * elapse cancel: cancels jobs by key or by id, or all jobs of a tube.
 */
#include <inttypes.h>

#include "../../base/assert.h"
#include "../common/command.h"
#include "../common/output.h"
#include "client.h"

/* The most keys or ids of one request. */
enum { PARTS_MAX = 1000 };

static const struct command_help help = {
    .usage = "Usage: elapse cancel TUBE KEY... [OPTION]...\n"
             "       elapse cancel --id ID... [OPTION]...\n"
             "       elapse cancel TUBE --all [--state STATE] [--tag TAG] [OPTION]...\n",
    .purpose =
        "Cancels jobs, and prints a word for each: removed; running, if a worker has it and\n"
        "goes on, but nobody gets it again; or gone, if there is no such job.\n",
    .example = "Examples:\n"
               "  elapse cancel orders 4711 4712\n"
               "  elapse cancel orders --all --tag spring\n",
};

struct cancel {
    struct client *client;
    const char *state;
    const char *tag;
    bool by_id;
    bool all;
};

static void print_word(const struct cancel *cancel, const char *name, const struct answer *answer)
{
    if (!cancel->client->json) {
        output_add_format("%s %s\n", name, answer->word);
        return;
    }
    struct elapse__json *json = output_begin_json();
    elapse__json_open(json, '{');
    if (cancel->by_id) {
        elapse__json_name(json, "id");
        elapse__json_literal(json, name);
    } else {
        elapse__json_any_text_member(json, "key", name);
    }
    elapse__json_text_member(json, "result", answer->word);
    elapse__json_close(json, '}');
    output_end_json();
}

/* Prints the reply to one request. */
static enum exit_status print_words(const struct cancel *cancel, const redisReply *reply,
                                    char **names, size_t count)
{
    enum exit_status status = STATUS_OK;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != count) {
        struct answer answer = answer_of_other(reply, "the reply is no list");
        return session_report_error(&answer, NULL);
    }
    for (size_t i = 0; i < count; i++) {
        struct answer answer = answer_of_word(reply->element[i], true);
        if (answer.error != NULL)
            status = answer_join(status, session_report_error(&answer, names[i]));
        else
            print_word(cancel, names[i], &answer);
        status = answer_join(status, answer.status);
    }
    return status;
}

/* Cancels the jobs of one request. Returns whether there was a reply. */
static bool cancel_some(struct cancel *cancel, const char *tube, char **names, size_t count,
                        enum exit_status *status)
{
    struct request *request = &cancel->client->request;

    ELAPSE__ASSERT_THAT(count, <=, (size_t)PARTS_MAX);
    ELAPSE__ASSERT_THAT(count, >, 0U);
    ELAPSE__ASSERT((tube == NULL) == cancel->by_id);
    request_clear(request);
    request_add_text(request, cancel->by_id ? "CANCELID" : "CANCEL");
    if (!cancel->by_id)
        request_add_text(request, tube);
    for (size_t i = 0; i < count; i++)
        request_add_text(request, names[i]);
    ELAPSE__ASSERT_THAT(request->count, ==, count + (cancel->by_id ? 1U : 2U));
    redisReply *reply = client_ask(cancel->client, status);
    if (reply == NULL)
        return false;
    *status = print_words(cancel, reply, names, count);
    freeReplyObject(reply);
    return true;
}

static enum exit_status cancel_each(struct cancel *cancel, const char *tube, char **names,
                                    size_t count)
{
    struct client *client = cancel->client;
    enum exit_status status = client_open(client);
    bool goes_on = status == STATUS_OK;
    size_t some;

    for (size_t done = 0; goes_on && done < count; done += some) {
        enum exit_status own = STATUS_OK;
        if (done > 0 && connection_fault(client->connection) != CONNECTION_WORKS)
            return answer_join(status, session_report_unsent(client->connection, &client->settings,
                                                             names[done - 1]));
        some = count - done < PARTS_MAX ? count - done : PARTS_MAX;
        goes_on = cancel_some(cancel, tube, names + done, some, &own);
        status = answer_join(status, own);
    }
    return status;
}

static enum exit_status cancel_all(struct cancel *cancel, const char *tube)
{
    struct client *client = cancel->client;
    enum exit_status status = client_open(client);

    if (status != STATUS_OK)
        return status;
    request_clear(&client->request);
    ELAPSE__ASSERT(cancel->all && !cancel->by_id);
    request_add_text(&client->request, "CANCELALL");
    request_add_text(&client->request, tube);
    client_add_option(client, "STATE", cancel->state);
    client_add_option(client, "TAG", cancel->tag);
    redisReply *reply = client_ask_map(client, &status);
    if (reply == NULL)
        return status;
    uint64_t removed = answer_number(reply, "removed");
    uint64_t running = answer_number(reply, "running");
    output_add_format(client->json ? "{\"removed\":%" PRIu64 ",\"running\":%" PRIu64 "}\n"
                                   : "removed %" PRIu64 ", running %" PRIu64 "\n",
                      removed, running);
    freeReplyObject(reply);
    return status;
}

static enum exit_status run(void *context, const struct command_line *line)
{
    struct cancel *cancel = context;
    size_t count = (size_t)line->argument_count;
    char **words = line->arguments;

    if ((cancel->state != NULL || cancel->tag != NULL) && !cancel->all)
        return usage_error("--state and --tag need --all");
    if (cancel->all && cancel->by_id)
        return usage_error("--all and --id exclude each other");
    if (count == 0)
        return usage_error(cancel->by_id ? "an id is missing" : "a tube is missing");
    if (cancel->all && count > 1)
        return options_check_count(line, 1);
    if (cancel->all)
        return cancel_all(cancel, words[0]);
    if (cancel->by_id) {
        for (size_t i = 0; i < count; i++) {
            enum exit_status status = client_check_id(words[i]);
            if (status != STATUS_OK)
                return status;
        }
        return cancel_each(cancel, NULL, words, count);
    }
    if (count == 1)
        return usage_error("a key is missing; --all cancels all jobs of the tube");
    return cancel_each(cancel, words[0], words + 1, count - 1);
}

enum exit_status cancel_command(int argc, char **argv)
{
    struct cancel cancel = {.client = client_new()};
    struct command_option table[8 + CLIENT_OPTION_COUNT] = {
        option_flag("id", &cancel.by_id, "the arguments are ids of jobs"),
        option_flag("all", &cancel.all, "cancel all jobs of the tube"),
        option_words("delayed ready reserved buried",
                     option_text("state", "STATE", &cancel.state,
                                 "with --all: only those that are delayed, ready, reserved or "
                                 "buried")),
        option_text("tag", "TAG", &cancel.tag, "with --all: only those with this tag"),
        client_json_option(cancel.client),
    };
    return client_run(cancel.client, &help, run, &cancel, table, argc, argv);
}
