/*
 * elapse list: shows the jobs of a tube, those that recur, or the names of all tubes. elapse find:
 * shows the jobs with a key. elapse groups: shows the groups of a tube.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../protocol/reply_fields.h"
#include "../common/command.h"
#include "../common/output.h"
#include "../common/progress.h"
#include "../common/screen.h"
#include "../common/text.h"
#include "client.h"
#include "columns.h"
#include "render.h"
#include "tube.h"

enum { PAGE_JOBS = 1000, BODY_BYTES = 60, BODY_BYTES_MAX = 1024 };

#define SECOND_NS UINT64_C(1000000000)

/* The columns, unless --columns names others. */
static const char list_columns[] = "id,state,due,left,attempts,key,tag,group,error";
static const char recurring_columns[] =
    "id,tube,state,due,left,every,cron,zone,missed,failures,key,tag,error";
static const char find_columns[] = "id,tube,state,due,left,attempts";
static const char group_columns[] =
    "group,delayed,ready,running,buried,held,held_by,held_left,overdue";

struct list {
    struct client *client;
    const char *verb;
    const char *subject; /* a tube or a key; NULL: list the tubes, or the jobs of all tubes */
    const char *state;
    const char *tag;
    const char *order; /* NEWEST or SOONEST; NULL: no order */
    struct columns columns;
    bool has_columns; /* --columns was given */
    uint64_t body;    /* how many bytes of each body to show; 0: none */
    bool newest;
    bool soonest;
    bool recurring;
    bool held; /* groups that a limit holds back */
    bool watch;
    uint64_t interval_ns;
    bool lacks_job;  /* the server could not read some job; without `watch` */
    bool has_titles; /* the titles were added before */
    uint64_t limit;  /* 0: none */
    uint64_t listed;
    uint64_t replies;
    uint64_t jobs; /* jobs of the server in all tubes; 0: not asked yet */
    struct progress progress;
    struct elapse__buffer lines; /* lines for people that were not printed yet */
};

static bool lists_jobs(const struct list *list)
{
    return strcmp(list->verb, "TUBES") != 0;
}

/* Returns whether LIST or RECURRING is asked, which look at jobs and may read their texts. */
static bool looks_at_jobs(const struct list *list)
{
    return strcmp(list->verb, "LIST") == 0 || strcmp(list->verb, "RECURRING") == 0;
}

static void fill_request(struct list *list, const char *cursor)
{
    struct request *request = &list->client->request;
    uint64_t left = list->limit - list->listed;
    bool needs_keys = looks_at_jobs(list) && ((list->client->json && !list->has_columns) ||
                                              columns_need_keys(&list->columns));

    ELAPSE__ASSERT(list->limit == 0 || list->listed < list->limit);
    ELAPSE__ASSERT(list->order == NULL || list->state != NULL); /* an order is that of one state */
    request_clear(request);
    request_add_text(request, list->verb);
    if (list->subject != NULL)
        request_add_text(request, list->subject);
    client_add_option(list->client, "STATE", list->state);
    if (list->order != NULL)
        request_add_text(request, list->order);
    if (list->recurring && list->subject != NULL)
        request_add_text(request, "RECURRING");
    if (list->held)
        request_add_text(request, "HELD");
    client_add_option(list->client, "TAG", list->tag);
    client_add_option(list->client, "CURSOR", cursor);
    request_add_text(request, "COUNT");
    request_add_number(request, list->limit != 0 && left < PAGE_JOBS ? left : PAGE_JOBS);
    if (list->body > 0) {
        request_add_text(request, "BODY");
        request_add_number(request, list->body);
    } else if (needs_keys) {
        request_add_text(request, "KEYS");
    }
}

static void print_json(const struct list *list, const redisReply *entry)
{
    struct elapse__json *json = output_begin_json();

    if (entry->type == REDIS_REPLY_STRING) {
        elapse__json_open(json, '{');
        elapse__json_bytes_member(json, "tube", entry->str, entry->len);
        elapse__json_close(json, '}');
    } else if (list->has_columns) {
        columns_add_json(json, &list->columns, entry);
    } else {
        render_json(json, entry);
    }
    output_end_json();
}

/* Adds the titles of the table, once. */
static void add_titles(struct list *list)
{
    if (lists_jobs(list) && !list->has_titles)
        columns_add_titles(&list->lines, &list->columns);
    list->has_titles = true;
}

/* Adds the line of a job or a tube, or what is wrong with a job. */
static void add_line(struct list *list, const redisReply *entry)
{
    if (entry->type == REDIS_REPLY_ERROR) {
        buffer_add_text(&list->lines, "a job of the list: ");
        buffer_add_text(&list->lines, quote_text(entry->str, entry->len).text);
        buffer_add_text(&list->lines, "\n");
    } else if (entry->type == REDIS_REPLY_STRING) {
        render_text(&list->lines, entry);
        buffer_add_text(&list->lines, "\n");
    } else {
        columns_add_line(&list->lines, &list->columns, entry);
    }
}

/* Adds the entries of a page, and stores its cursor. */
static enum exit_status add_page(struct list *list, const redisReply *reply, char cursor[21])
{
    static const redisReply no_page = {.type = REDIS_REPLY_NIL};
    const redisReply *entries = reply->elements == 2 ? reply->element[1] : &no_page;
    bool is_json = list->client->json;

    if (entries->type != REDIS_REPLY_ARRAY || reply->element[0]->type != REDIS_REPLY_INTEGER)
        return error_of(STATUS_FAILED, "the reply is no list");
    if (entries->elements > 0 && !is_json) {
        columns_fit(&list->columns, entries);
        add_titles(list);
    }
    for (size_t i = 0; i < entries->elements; i++) {
        const redisReply *entry = entries->element[i];
        bool is_error = entry->type == REDIS_REPLY_ERROR;
        if (is_error && !list->watch) {
            print_error("a job of the list: %s", quote_text(entry->str, entry->len).text);
            list->lacks_job = true;
            continue;
        }
        if (entry->type != REDIS_REPLY_ARRAY && entry->type != REDIS_REPLY_STRING && !is_error)
            continue;
        if (is_json)
            print_json(list, entry);
        else
            add_line(list, entry);
    }
    list->listed += entries->elements;
    (void)snprintf(cursor, 21, "%lld", reply->element[0]->integer);
    return STATUS_OK;
}

/* Prints the lines, unless the command draws them. */
static void print_lines(struct list *list)
{
    if (list->watch)
        return;
    ELAPSE__ASSERT(!list->client->json || elapse__buffer_size(&list->lines) == 0);
    output_add_buffer(&list->lines);
    elapse__buffer_clear(&list->lines);
}

/* Asks how many jobs the server has in all tubes. LIST looks at some of them for each reply. */
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

/* Shows how far the list has come. To find one job among millions takes hundreds of replies without
 * a job. */
static void show_progress(struct list *list)
{
    char line[200];
    uint64_t looked = list->replies * ELAPSE__LIST_PLACES;

    if (!looks_at_jobs(list) || list->watch || !progress_is_due(&list->progress))
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
    enum exit_status status = add_page(list, reply, cursor);

    list->replies++;
    print_lines(list);
    if (status != STATUS_OK)
        return status;
    if (list->listed == listed) {
        show_progress(list);
        return STATUS_OK;
    }
    progress_end(&list->progress);
    return output_finish();
}

/* Lists everything once. If the list is empty, the tube may not exist. */
static enum exit_status list_pages(struct list *list)
{
    enum exit_status status = STATUS_OK;
    char cursor[21] = "";

    progress_begin(&list->progress);
    while (status == STATUS_OK && strcmp(cursor, "0") != 0 && !output_failed() &&
           (list->limit == 0 || list->listed < list->limit)) {
        fill_request(list, cursor[0] == '\0' ? NULL : cursor);
        redisReply *reply = client_ask_map(list->client, &status);
        if (reply == NULL)
            break;
        status = take_page(list, reply, cursor);
        freeReplyObject(reply);
    }
    progress_end(&list->progress);
    if (status == STATUS_OK && list->listed == 0 && strcmp(list->verb, "FIND") != 0 &&
        list->subject != NULL)
        status = tube_check(list->client, list->subject);
    if (status == STATUS_OK && list->listed == 0 && strcmp(list->verb, "FIND") == 0)
        status = error_of(STATUS_GONE, "no job has the key %s", quote_string(list->subject).text);
    if (status == STATUS_OK && !list->client->json) {
        add_titles(list);
        print_lines(list);
    }
    return status == STATUS_OK && list->lacks_job ? STATUS_FAILED : status;
}

/* ---- watching ---- */

/* Draws the lines over those that were drawn before, and says for how many there is no room. A line
 * that is cut at the right ends with '~'. */
static enum exit_status draw(struct list *list)
{
    unsigned columns = 0;
    unsigned rows = 0;
    size_t lines = 0;
    const char *line = buffer_string(&list->lines);

    (void)elapse__os_terminal_size(ELAPSE__OS_OUTPUT, &columns, &rows);
    columns = columns == 0 ? 80 : columns;
    rows = rows < 3 ? 3 : rows;
    output_add_text("\033[H");
    for (; *line != '\0'; lines++) {
        size_t length = strcspn(line, "\n");
        size_t used;
        size_t bytes = text_fitting(line, length, columns, &used);
        if (bytes < length)
            bytes = text_fitting(line, length, columns - 1, &used);
        if (lines + 2 < rows) {
            output_add(line, bytes);
            output_add_format("%s\033[K\n", bytes < length ? "~" : "");
        }
        line += length + (line[length] == '\n');
    }
    size_t shown = lines + 2 < rows ? lines : rows - 2;
    if (lines > shown)
        output_add_format("and %zu more\033[K\n", lines - shown);
    output_add_text("q: quit\033[K\033[J");
    return output_finish();
}

/* Lists into `lines`. Prints no message, because a message would spoil the picture. If the list
 * fails, stores the message in `*why`. */
static enum exit_status list_silently(struct list *list, const char **why)
{
    elapse__buffer_clear(&list->lines);
    list->listed = 0;
    list->has_titles = false;
    bool was_silent = message_silence(true);
    enum exit_status status = list_pages(list);
    (void)message_silence(was_silent);
    if (status == STATUS_GONE) {
        buffer_add_text(&list->lines, "there is nothing now\n");
        return STATUS_OK;
    }
    *why = status == STATUS_OK ? NULL : message_left_out();
    return status;
}

/* Lists and draws again and again, until the user presses q. */
static enum exit_status watch(struct list *list)
{
    struct screen screen;
    const char *why = NULL;
    char key = ' ';
    enum exit_status status = screen_open(&screen, "\033[?1049h\033[?25l", "\033[?25h\033[?1049l");

    while (status == STATUS_OK && key != 'q') {
        status = list_silently(list, &why);
        if (status == STATUS_OK)
            status = draw(list);
        uint64_t until_ns = elapse__os_monotonic_ns() + list->interval_ns;
        uint64_t now_ns;
        while (status == STATUS_OK && key != 'q' &&
               (now_ns = elapse__os_monotonic_ns()) < until_ns) {
            if (screen_wait(&screen, until_ns - now_ns, &key) == SCREEN_REDRAW)
                status = draw(list);
        }
    }
    screen_close(&screen);
    if (why != NULL)
        print_error("%s", why);
    return status;
}

/* ---- the command line ---- */

static enum exit_status start(struct list *list)
{
    if (list->watch && list->client->json)
        return usage_error("--watch and --json exclude each other");
    if (list->watch && !elapse__os_is_terminal(ELAPSE__OS_OUTPUT))
        return usage_error("--watch needs a terminal");
    if (list->watch && list->limit == 0)
        list->limit = PAGE_JOBS;
    enum exit_status status = client_open(list->client);
    if (status == STATUS_OK)
        status = list->watch ? watch(list) : list_pages(list);
    elapse__buffer_free(&list->lines);
    return status;
}

/* Finds the state and the word of the protocol for --newest or --soonest. */
static enum exit_status read_order(struct list *list)
{
    const char *needed = list->newest ? "buried" : "delayed";

    if (list->newest && list->soonest)
        return usage_error("--newest is for buried jobs, --soonest for delayed ones: give one");
    if (!list->newest && !list->soonest)
        return STATUS_OK;
    if (list->state != NULL && strcmp(list->state, needed) != 0)
        return usage_error("--%s lists %s jobs alone: leave --state out",
                           list->newest ? "newest" : "soonest", needed);
    list->state = needed;
    list->order = list->newest ? "NEWEST" : "SOONEST";
    return STATUS_OK;
}

static enum exit_status run(void *context, const struct command_line *line)
{
    struct list *list = context;
    enum exit_status status = options_check_count(line, 1);
    bool body_column = columns_have(&list->columns, "body");

    if (status != STATUS_OK)
        return status;
    list->subject = line->argument_count == 1 ? line->arguments[0] : NULL;
    list->verb = list->subject != NULL ? "LIST" : list->recurring ? "RECURRING" : "TUBES";
    if (list->subject == NULL && (list->state != NULL || list->tag != NULL))
        return usage_error("--state and --tag need a tube");
    if (list->recurring && (list->newest || list->soonest))
        return usage_error("--recurring goes with neither --newest nor --soonest");
    if (list->subject == NULL && !list->recurring &&
        (list->has_columns || list->newest || list->soonest || list->body > 0))
        return usage_error("--columns, --newest, --soonest and --body need a tube or --recurring");
    status = read_order(list);
    if (status != STATUS_OK)
        return status;
    if (!list->has_columns)
        columns_set(&list->columns, list->recurring ? recurring_columns : list_columns);
    if (list->body > 0 && !body_column && !list->has_columns)
        columns_add_body(&list->columns);
    if (body_column && list->body == 0)
        list->body = BODY_BYTES;
    return start(list);
}

static const struct command_help help = {
    .usage = "Usage: elapse list [TUBE] [--state STATE] [--tag TAG] [OPTION]...\n",
    .purpose = "Lists the jobs of a tube, in no order unless it is asked for; without TUBE, the "
               "names\nof the tubes, or with --recurring the jobs of all tubes that recur.\n",
    .example = "Examples:\n"
               "  elapse list orders --state buried --newest\n"
               "  elapse list orders --soonest --limit 10 --watch\n"
               "  elapse list --recurring\n"
               "  elapse list orders --columns id,error,body\n"
               "  elapse list orders --json | jq .id\n",
};

/* NOLINTNEXTLINE(readability-function-size): a table of options */
enum exit_status list_command(int argc, char **argv)
{
    struct list list = {.client = client_new(), .interval_ns = 2 * SECOND_NS};
    struct command_option table[17 + CLIENT_OPTION_COUNT] = {
        option_words("delayed ready reserved buried",
                     option_text("state", "STATE", &list.state,
                                 "only those that are delayed, ready, reserved or buried")),
        option_text("tag", "TAG", &list.tag, "only those with this tag"),
        option_flag("newest", &list.newest,
                    "buried jobs, the one that was buried last first; at most 1000"),
        option_flag("soonest", &list.soonest,
                    "delayed jobs, the one that is due first at the front; at most 1000"),
        option_flag("recurring", &list.recurring,
                    "only those that come again and again, put with --every or --cron"),
        option_noting(&list.has_columns,
                      option_function("columns", "NAMES", columns_read, &list.columns,
                                      "these columns, such as id,due,key,error; otherwise id, "
                                      "state, due, left, attempts, key, tag, group, error")),
        option_number("body", "BYTES", &list.body, 1, BODY_BYTES_MAX,
                      "with the first bytes of each body, 1 to 1024"),
        option_number("limit", "COUNT", &list.limit, 1, UINT32_MAX,
                      "at most so many; all of them without it"),
        option_flag("watch", &list.watch, "draw the list again and again, until the key q"),
        option_duration("interval", &list.interval_ns, SECOND_NS / 10, 3600 * SECOND_NS,
                        "with --watch: so often (default 2s)"),
        client_json_option(list.client),
    };
    return client_run(list.client, &help, run, &list, table, argc, argv);
}

/* ---- find ---- */

static const struct command_help find_help = {
    .usage = "Usage: elapse find KEY [OPTION]...\n",
    .purpose = "Finds the jobs that have a key, in all tubes.\n",
    .example = "Example:\n"
               "  elapse find 4711\n",
};

/* Lists by a verb that has one argument; `missing` is the message if it is not there. */
static enum exit_status list_subject(struct list *list, const struct command_line *line,
                                     const char *verb, const char *missing, const char *columns)
{
    enum exit_status status = options_check_count(line, 1);

    if (status != STATUS_OK)
        return status;
    if (line->argument_count == 0)
        return usage_error("%s", missing);
    list->verb = verb;
    list->subject = line->arguments[0];
    columns_set(&list->columns, columns);
    return start(list);
}

static enum exit_status find(void *context, const struct command_line *line)
{
    return list_subject(context, line, "FIND", "a key is missing", find_columns);
}

enum exit_status find_command(int argc, char **argv)
{
    struct list list = {.client = client_new()};
    struct command_option table[2 + CLIENT_OPTION_COUNT] = {client_json_option(list.client)};
    return client_run(list.client, &find_help, find, &list, table, argc, argv);
}

/* ---- groups ---- */

static const struct command_help groups_help = {
    .usage = "Usage: elapse groups TUBE [OPTION]...\n",
    .purpose =
        "Lists the groups of a tube that have jobs, in no order, and how many of their jobs are\n"
        "delayed, ready, running with a worker, and buried; how many of the ready ones a limit of\n"
        "each group holds back, by which limit, in what time its rate lets the next one run (0: "
        "it\n"
        "does not wait for its rate), and for how long the first one has been due.\n",
    .example = "Example:\n"
               "  elapse groups mails --held\n",
};

static enum exit_status groups(void *context, const struct command_line *line)
{
    return list_subject(context, line, "GROUPS", "a tube is missing", group_columns);
}

enum exit_status groups_command(int argc, char **argv)
{
    struct list list = {.client = client_new()};
    struct command_option table[4 + CLIENT_OPTION_COUNT] = {
        option_flag("held", &list.held, "only those that a limit holds back"),
        option_number("limit", "COUNT", &list.limit, 1, UINT32_MAX,
                      "at most so many; all of them without it"),
        client_json_option(list.client)};
    return client_run(list.client, &groups_help, groups, &list, table, argc, argv);
}
