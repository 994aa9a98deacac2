/*
 * elapse list: the jobs of a tube, or the names of all tubes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../protocol/reply_fields.h"
#include "../common/command.h"
#include "../common/output.h"
#include "../common/progress.h"
#include "../common/text.h"
#include "client.h"
#include "render.h"

enum { PAGE_JOBS = 1000 };

static const struct command_help help = {
    .usage = "Usage: elapse list [TUBE] [--state STATE] [--tag TAG] [OPTION]...\n",
    .purpose =
        "Lists the jobs of a tube, in no order, without their bodies; without TUBE, the names\n"
        "of the tubes.\n",
    .example = "Examples:\n"
               "  elapse list orders --state buried\n"
               "  elapse list orders --json | jq .id\n",
};

struct list {
    struct client *client;
    const char *tube; /* NULL: the tubes */
    const char *state;
    const char *tag;
    bool keys;
    bool lacks_job; /* the server could not read a job */
    uint64_t limit; /* 0: none */
    uint64_t listed;
    uint64_t replies;
    uint64_t jobs; /* that the server has, in all tubes; 0: not asked yet */
    struct progress progress;
};

static void fill_request(struct list *list, const char *cursor)
{
    struct request *request = &list->client->request;
    uint64_t left = list->limit - list->listed;

    ELAPSE__ASSERT(list->limit == 0 || list->listed < list->limit);
    request_clear(request);
    request_add_text(request, list->tube != NULL ? "LIST" : "TUBES");
    if (list->tube != NULL)
        request_add_text(request, list->tube);
    client_add_option(list->client, "STATE", list->state);
    client_add_option(list->client, "TAG", list->tag);
    client_add_option(list->client, "CURSOR", cursor);
    request_add_text(request, "COUNT");
    request_add_number(request, list->limit != 0 && left < PAGE_JOBS ? left : PAGE_JOBS);
    if (list->keys)
        request_add_text(request, "KEYS");
}

static void add_cell(struct elapse__buffer *line, const redisReply *job, const char *name)
{
    const redisReply *value = answer_member(job, name);

    if (value != NULL && answer_is_text(value))
        render_text(line, value);
    else
        buffer_add_format(line, "%" PRIu64, answer_number(job, name));
}

/* Adds a key, a tag, a group or an error; a dash if there is none. */
static void add_name(struct elapse__buffer *line, const redisReply *job, const char *name)
{
    const redisReply *value = answer_member(job, name);

    if (value != NULL && answer_is_text(value))
        render_text(line, value);
    else
        buffer_add_text(line, "-");
}

/* Adds blanks up to the column, and at least one. */
static void pad(struct elapse__buffer *line, size_t begin, size_t column)
{
    do
        buffer_add_text(line, " ");
    while (elapse__buffer_size(line) - begin < column);
}

static void add_job_line(struct elapse__buffer *line, const redisReply *job)
{
    enum { STATE = 12, DUE = 22, LEFT = 48, ATTEMPTS = 60, PRIORITY = 70, KEY = 81 };
    size_t begin = elapse__buffer_size(line);

    ELAPSE__ASSERT(job->type == REDIS_REPLY_ARRAY);
    add_cell(line, job, "id");
    pad(line, begin, STATE);
    add_cell(line, job, "state");
    pad(line, begin, DUE);
    render_moment(line, answer_number(job, "due"));
    pad(line, begin, LEFT);
    render_duration(line, answer_number(job, "left"));
    pad(line, begin, ATTEMPTS);
    add_cell(line, job, "attempts");
    pad(line, begin, PRIORITY);
    add_cell(line, job, "priority");
    /* The names come with --keys alone. */
    if (answer_member(job, "key") == NULL)
        return;
    pad(line, begin, KEY);
    add_name(line, job, "key");
    buffer_add_text(line, " ");
    add_name(line, job, "tag");
    buffer_add_text(line, " ");
    add_name(line, job, "group");
    buffer_add_text(line, " ");
    add_name(line, job, "error");
}

static void print_json(const redisReply *entry)
{
    struct elapse__json *json = output_begin_json();

    if (entry->type == REDIS_REPLY_STRING) {
        elapse__json_open(json, '{');
        elapse__json_bytes_member(json, "tube", entry->str, entry->len);
        elapse__json_close(json, '}');
    } else {
        render_json(json, entry);
    }
    output_end_json();
}

static void print_line(const redisReply *entry)
{
    struct elapse__buffer line = {.bytes = NULL};

    if (entry->type == REDIS_REPLY_STRING)
        render_text(&line, entry);
    else
        add_job_line(&line, entry);
    buffer_add_text(&line, "\n");
    output_add_buffer(&line);
    elapse__buffer_free(&line);
}

/* Prints a page, and stores its cursor. */
static enum exit_status print_page(struct list *list, const redisReply *reply, char cursor[21])
{
    static const redisReply no_page = {.type = REDIS_REPLY_NIL};
    const redisReply *entries = reply->elements == 2 ? reply->element[1] : &no_page;

    if (entries->type != REDIS_REPLY_ARRAY || reply->element[0]->type != REDIS_REPLY_INTEGER)
        return error_of(STATUS_FAILED, "the reply is no list");
    for (size_t i = 0; i < entries->elements; i++) {
        const redisReply *entry = entries->element[i];
        if (entry->type == REDIS_REPLY_ERROR) {
            print_error("a job of the list: %s", quote_text(entry->str, entry->len).text);
            list->lacks_job = true;
        }
        if (entry->type != REDIS_REPLY_ARRAY && entry->type != REDIS_REPLY_STRING)
            continue;
        if (list->client->json)
            print_json(entry);
        else
            print_line(entry);
    }
    list->listed += entries->elements;
    (void)snprintf(cursor, 21, "%lld", reply->element[0]->integer);
    return STATUS_OK;
}

/* Asks how many jobs the server has in all tubes. Each reply of LIST looks at some of them. */
static void count_jobs(struct list *list)
{
    enum exit_status status = STATUS_OK;

    request_clear(&list->client->request);
    request_add_text(&list->client->request, "STATS");
    redisReply *reply = client_ask_map(list->client, &status);
    if (reply == NULL)
        return;
    list->jobs = answer_number(reply, "delayed") + answer_number(reply, "ready") +
                 answer_number(reply, "reserved") + answer_number(reply, "buried");
    freeReplyObject(reply);
}

/* Shows how far the list has come: to find one job among millions takes hundreds of replies that
 * have no job. */
static void show_progress(struct list *list)
{
    char line[200];
    uint64_t looked = list->replies * ELAPSE__LIST_PLACES;

    if (list->tube == NULL || !progress_is_due(&list->progress))
        return;
    if (list->jobs == 0)
        count_jobs(list);
    snprintf(line, sizeof line, "looked at some %s of %s jobs, listed %s",
             group_digits(looked < list->jobs ? looked : list->jobs).text,
             group_digits(list->jobs).text, group_digits(list->listed).text);
    progress_show(&list->progress, line);
}

/* Prints a page, and writes it out at once. If the page is empty, shows the progress. */
static enum exit_status take_page(struct list *list, const redisReply *reply, char cursor[21])
{
    uint64_t listed = list->listed;
    enum exit_status status = print_page(list, reply, cursor);

    list->replies++;
    if (status != STATUS_OK)
        return status;
    if (list->listed == listed) {
        show_progress(list);
        return STATUS_OK;
    }
    progress_end(&list->progress);
    return output_finish();
}

static enum exit_status list_pages(struct list *list)
{
    enum exit_status status = client_open(list->client);
    char cursor[21] = "";

    progress_begin(&list->progress);
    while (status == STATUS_OK && strcmp(cursor, "0") != 0 && !output_failed() &&
           (list->limit == 0 || list->listed < list->limit)) {
        fill_request(list, cursor[0] == '\0' ? NULL : cursor);
        redisReply *reply = client_ask_map(list->client, &status);
        if (reply == NULL)
            return status;
        if (cursor[0] == '\0' && list->tube != NULL && !list->client->json)
            output_add_format("%-11s %-9s %-25s %-11s %-9s %s\n", "ID", "STATE", "DUE", "LEFT",
                              "ATTEMPTS",
                              list->keys ? "PRIORITY   KEY TAG GROUP ERROR" : "PRIORITY");
        status = take_page(list, reply, cursor);
        freeReplyObject(reply);
    }
    progress_end(&list->progress);
    return status == STATUS_OK && list->lacks_job ? STATUS_FAILED : status;
}

static enum exit_status run(void *context, const struct command_line *line)
{
    struct list *list = context;
    enum exit_status status = options_check_count(line, 1);

    if (status != STATUS_OK)
        return status;
    list->tube = line->argument_count == 1 ? line->arguments[0] : NULL;
    if (list->tube == NULL && (list->state != NULL || list->tag != NULL))
        return usage_error("--state and --tag need a tube");
    if (list->tube == NULL && list->keys)
        return usage_error("--keys needs a tube");
    return list_pages(list);
}

enum exit_status list_command(int argc, char **argv)
{
    struct list list = {.client = client_new()};
    struct command_option table[9 + CLIENT_OPTION_COUNT] = {
        option_text("state", "STATE", &list.state,
                    "only those that are delayed, ready, reserved or buried"),
        option_text("tag", "TAG", &list.tag, "only those with this tag"),
        option_flag("keys", &list.keys,
                    "with key, tag, group and last error, which the server reads from its disk"),
        option_number("limit", "COUNT", &list.limit, 1, UINT32_MAX,
                      "at most so many; all of them without it"),
        client_json_option(list.client),
    };
    return client_run(list.client, &help, run, &list, table, argc, argv);
}
