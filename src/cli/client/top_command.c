/*
 * elapse top: shows again and again, on a terminal, what a server does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "../common/command.h"
#include "../common/output.h"
#include "../common/screen.h"
#include "../common/text.h"
#include "client.h"
#include "columns.h"
#include "render.h"
#include "top_view.h"

#define SECOND_NS  UINT64_C(1000000000)
#define TIMEOUT_NS (3 * SECOND_NS) /* short, because no key is read during a wait for a reply */

enum { WIDTH_DEFAULT = 80, WIDTH_MIN = 20, WIDTH_MAX = 500 };

static const struct command_help help = {
    .usage = "Usage: elapse top [--interval DURATION] [--once] [OPTION]...\n",
    .purpose =
        "Shows what a server does: its jobs by their states, how fast they come and go, and\n"
        "its tubes, those in trouble first. q ends it; s sorts; / takes only tubes that begin\n"
        "so; Enter shows the jobs of a tube, and one job, and Escape goes back; k kicks the\n"
        "buried jobs of a tube, or the job; p pauses the tube for 10m, or ends its pause.\n",
    .example = "Examples:\n"
               "  elapse top\n"
               "  elapse top --once --server queue.example:11300\n",
};

/* The kinds of picture. */
enum top_level { LEVEL_TUBES, LEVEL_JOBS, LEVEL_JOB, LEVELS };

enum { JOBS_SHOWN = 100, FILTER_BYTES = 64 };

struct top {
    struct client *client;
    enum top_order order;
    enum top_level level;
    size_t selected[LEVELS];
    size_t lines; /* how many jobs the list has */
    char tube[TOP_NAME_BYTES];
    size_t tube_length;
    char job[24];               /* the id of the job on the picture */
    char (*job_ids)[24];        /* the ids of the jobs of the list: JOBS_SHOWN */
    struct elapse__buffer text; /* the text of the list or of the job */
    char filter[FILTER_BYTES];
    bool is_typing;  /* the user is typing the filter */
    char asks;       /* the key that the user has to confirm; 0: none */
    bool is_resume;  /* what the question of p names: to resume, not to pause */
    uint64_t kicked; /* how many jobs the question of k names */
    unsigned escape; /* how many bytes of an escape sequence have come */
    char hint[300];  /* the last line of the picture; empty: the keys */
    uint64_t interval_ns;
    bool once;

    struct top_sample *now;
    struct top_sample *before; /* the sample before; valid if `has_before` */
    bool has_now;
    bool has_before;
    struct screen screen;
    const char *fault; /* why there is no new sample */
};

/* ---- asking the server ---- */

static redisReply *ask(struct top *top, const char *verb, const redisReply *tube,
                       enum exit_status *status)
{
    struct request *request = &top->client->request;

    request_clear(request);
    request_add_text(request, verb);
    if (tube != NULL)
        request_add(request, tube->str, tube->len);
    return client_ask_map(top->client, status);
}

/* Adds the tubes of a page, each with its totals. */
static enum exit_status sample_tubes(struct top *top, struct top_sample *sample,
                                     const redisReply *page)
{
    enum exit_status status = STATUS_OK;
    bool is_page = page->type == REDIS_REPLY_ARRAY && page->elements == 2 &&
                   page->element[1]->type == REDIS_REPLY_ARRAY;

    sample->has_more_tubes = is_page && page->element[0]->integer != 0;
    for (size_t i = 0; is_page && i < page->element[1]->elements; i++) {
        if (sample->tube_count == TOP_TUBES_MAX) {
            sample->has_more_tubes = true;
            break;
        }
        size_t before = sample->tube_count;
        struct top_tube *tube = top_add_tube(sample, page->element[1]->element[i]);
        if (tube == NULL || sample->tube_count == before)
            continue; /* it is there already, among the tubes in trouble */
        const redisReply name = {
            .type = REDIS_REPLY_STRING, .str = tube->name, .len = tube->length};
        redisReply *map = ask(top, "STATS", &name, &status);
        if (map == NULL)
            return status;
        /* A tube may end between the two questions. */
        if (map->type == REDIS_REPLY_ARRAY)
            top_read_totals(tube, map);
        freeReplyObject(map);
    }
    return STATUS_OK;
}

/* Asks for tubes. Those in trouble come first, so that they are shown however many tubes there
 * are. */
static enum exit_status sample_names(struct top *top, struct top_sample *sample, bool in_trouble)
{
    struct request *request = &top->client->request;
    enum exit_status status;

    request_clear(request);
    request_add_text(request, "TUBES");
    if (top->filter[0] != '\0')
        client_add_option(top->client, "PREFIX", top->filter);
    if (in_trouble)
        request_add_text(request, "TROUBLE");
    request_add_text(request, "COUNTS");
    redisReply *reply = client_ask_map(top->client, &status);
    if (reply == NULL)
        return status;
    status = sample_tubes(top, sample, reply);
    freeReplyObject(reply);
    return status;
}

static enum exit_status sample_server(struct top *top, struct top_sample *sample)
{
    enum exit_status status;

    memset(sample, 0, sizeof *sample);
    redisReply *reply = ask(top, "STATS", NULL, &status);
    if (reply == NULL)
        return status;
    top_read_server(sample, reply);
    freeReplyObject(reply);
    sample->when_ns = elapse__os_monotonic_ns();
    status = sample_names(top, sample, true);
    if (status == STATUS_OK)
        status = sample_names(top, sample, false);
    top_sort(sample, top->order);
    return status;
}

/* ---- the form of the picture ---- */

static struct top_look look_of_output(const struct top *top)
{
    unsigned columns = 0;
    unsigned rows = 0;
    uint64_t wanted = 0;
    const char *variable = getenv("COLUMNS");
    const char *terminal = getenv("TERM");
    const char *no_colour = getenv("NO_COLOR");
    bool is_terminal = elapse__os_terminal_size(ELAPSE__OS_OUTPUT, &columns, &rows);

    if (columns == 0 && variable != NULL && parse_number(variable, 1, WIDTH_MAX, &wanted))
        columns = (unsigned)wanted;
    if (columns == 0)
        columns = WIDTH_DEFAULT;
    columns = columns > WIDTH_MAX ? WIDTH_MAX : columns;
    return (struct top_look){
        .columns = columns < WIDTH_MIN ? WIDTH_MIN : columns,
        .rows = top->once ? 0 : rows,
        .has_styles = is_terminal && (no_colour == NULL || *no_colour == '\0') &&
                      terminal != NULL && strcmp(terminal, "dumb") != 0,
        .is_live = !top->once,
        .server = top->client->settings.server,
        .fault = top->fault,
        .hint = top->hint[0] != '\0' ? top->hint : NULL,
        .filter = top->filter,
        .order = top->order,
        .keys = top->level == LEVEL_JOBS
                    ? "q: quit  Escape: back  Enter: the job  k: kick it  p: pause the tube"
                : top->level == LEVEL_JOB ? "q: quit  Escape: back  k: kick it  p: pause the tube"
                                          : NULL,
        .has_selected = !top->once,
        .selected = top->selected[top->level] + (top->level == LEVEL_JOBS), /* after the titles */
    };
}

/* ---- the jobs of a tube, and a job ---- */

/* Makes the lines of a list of jobs. */
static void list_lines(struct top *top, const redisReply *entries)
{
    struct columns columns;
    const redisReply *id;

    bool is_narrow = look_of_output(top).columns < WIDTH_DEFAULT;
    (void)columns_read(&columns,
                       is_narrow ? "id,state,key,error" : "id,state,left,attempts,key,error");
    columns_fit(&columns, entries);
    columns_add_titles(&top->text, &columns);
    top->lines = 0;
    for (size_t i = 0; i < entries->elements && top->lines < JOBS_SHOWN; i++) {
        const redisReply *entry = entries->element[i];
        if (entry->type != REDIS_REPLY_ARRAY || (id = answer_member(entry, "id")) == NULL)
            continue;
        (void)snprintf(top->job_ids[top->lines++], sizeof *top->job_ids, "%lld", id->integer);
        columns_add_line(&top->text, &columns, entry);
    }
    if (top->lines == 0)
        buffer_add_text(&top->text, "no jobs\n");
}

/* Asks for the jobs of the tube. Returns how many there are, or SIZE_MAX if the server did not
 * say. */
static size_t ask_jobs(struct top *top, bool buried, enum exit_status *status)
{
    struct request *request = &top->client->request;
    size_t count = SIZE_MAX;

    ELAPSE__ASSERT_THAT(top->tube_length, <, (size_t)TOP_NAME_BYTES);
    request_clear(request);
    request_add_text(request, "LIST");
    request_add(request, top->tube, top->tube_length);
    if (buried) {
        client_add_option(top->client, "STATE", "buried");
        request_add_text(request, "NEWEST");
    }
    request_add_text(request, "COUNT");
    request_add_number(request, JOBS_SHOWN);
    request_add_text(request, "KEYS");
    redisReply *reply = client_ask_map(top->client, status);
    if (reply == NULL)
        return count;
    if (reply->elements == 2 && reply->element[1]->type == REDIS_REPLY_ARRAY) {
        count = reply->element[1]->elements;
        if (!buried || count > 0)
            list_lines(top, reply->element[1]);
    }
    freeReplyObject(reply);
    return count;
}

/* Makes the text of the list or of the job. */
static enum exit_status sample_text(struct top *top)
{
    enum exit_status status = STATUS_OK;
    const redisReply id = {.type = REDIS_REPLY_STRING, .str = top->job, .len = strlen(top->job)};

    ELAPSE__ASSERT(top->level != LEVEL_TUBES);
    elapse__buffer_clear(&top->text);
    if (top->level == LEVEL_JOBS) {
        if (ask_jobs(top, true, &status) == 0)
            (void)ask_jobs(top, false, &status);
        return status;
    }
    redisReply *map = ask(top, "LOOKUPID", &id, &status);
    if (map == NULL)
        return status;
    if (map->type == REDIS_REPLY_ARRAY)
        render_lines(&top->text, map);
    else
        buffer_add_text(&top->text, "the job has ended\n");
    freeReplyObject(map);
    return STATUS_OK;
}

/* Takes a new sample in place of the older of the two. */
static enum exit_status take_sample(struct top *top)
{
    struct top_sample *next = top->before;
    enum exit_status status = sample_server(top, next);

    if (status != STATUS_OK) {
        top->has_before = false;
        return status;
    }
    top->before = top->now;
    top->now = next;
    top->has_before = top->has_now;
    top->has_now = true;
    ELAPSE__ASSERT(top->now != top->before);
    ELAPSE__ASSERT(!top->has_before || top->now->when_ns >= top->before->when_ns);
    return STATUS_OK;
}

/* ---- the terminal ---- */

/* Draws the picture over the last one. */
static enum exit_status draw(struct top *top)
{
    char title[TOP_NAME_BYTES + 64];
    struct elapse__buffer text = {.bytes = NULL};
    struct top_look look = look_of_output(top);
    const char *line;

    ELAPSE__ASSERT(top->has_now);
    if (top->level == LEVEL_TUBES) {
        top_draw(&text, &look, top->now, top->has_before ? top->before : NULL);
    } else {
        (void)snprintf(title, sizeof title, "%s%s%s   Escape: back", top->tube,
                       top->level == LEVEL_JOB ? ", job " : "",
                       top->level == LEVEL_JOB ? top->job : "");
        mask_control_characters(title);
        top_draw_text(&text, &look, title, buffer_string(&top->text));
    }
    if (top->once) {
        output_add_buffer(&text);
        elapse__buffer_free(&text);
        return output_finish();
    }
    output_add_text("\033[H");
    for (line = buffer_string(&text); *line != '\0';) {
        size_t length = strcspn(line, "\n");
        output_add(line, length);
        output_add_text("\033[K\n");
        line += length + 1;
    }
    output_add_text("\033[J");
    elapse__buffer_free(&text);
    return output_finish();
}

/* ---- keys ---- */

/* Returns the tube that was chosen, or NULL if it is no longer shown. */
static const struct top_tube *find_tube(const struct top *top)
{
    for (size_t i = 0; i < top->now->tube_count; i++) {
        if (strcmp(top->now->tubes[i].name, top->tube) == 0)
            return &top->now->tubes[i];
    }
    return NULL;
}

/* Stores which tube is selected. */
static const struct top_tube *choose_tube(struct top *top)
{
    size_t place = top->selected[LEVEL_TUBES];

    if (top->level == LEVEL_TUBES && place < top->now->tube_count) {
        memcpy(top->tube, top->now->tubes[place].name, TOP_NAME_BYTES);
        top->tube_length = top->now->tubes[place].length;
    }
    return find_tube(top);
}

/* Sends the request that was made, and says in the last line what the server answered. */
static void act(struct top *top, const char *what)
{
    enum exit_status status;

    (void)message_silence(true);
    redisReply *reply = client_ask(top->client, &status);
    (void)message_silence(false);
    if (reply == NULL)
        (void)snprintf(top->hint, sizeof top->hint, "%s: no answer", what);
    else if (answer_is_of_older_server(reply))
        (void)snprintf(top->hint, sizeof top->hint, "%s: %s", what, ANSWER_OLDER_SERVER);
    else if (reply->type == REDIS_REPLY_INTEGER)
        (void)snprintf(top->hint, sizeof top->hint, "%s: %lld jobs", what, reply->integer);
    else
        (void)snprintf(top->hint, sizeof top->hint, "%s: %.200s", what,
                       reply->str != NULL ? reply->str : "done");
    mask_control_characters(top->hint);
    if (reply != NULL)
        freeReplyObject(reply);
}

/* Does what the user has confirmed: k or p, as the question named it. While it stood, the tubes may
 * have been sorted anew, so the selected place may have another tube. */
static void confirm(struct top *top)
{
    struct request *request = &top->client->request;
    char key = top->asks;

    ELAPSE__ASSERT(key == 'k' || key == 'p');
    top->asks = 0;
    top->hint[0] = '\0';
    request_clear(request);
    if (key == 'k' && top->level != LEVEL_TUBES) {
        request_add_text(request, "KICKID");
        request_add_text(request, top->job);
        act(top, "kick");
        return;
    }
    if (find_tube(top) == NULL) {
        (void)snprintf(top->hint, sizeof top->hint, "%s is no longer shown", top->tube);
        mask_control_characters(top->hint);
        return;
    }
    request_add_text(request, key == 'k' ? "KICK" : "PAUSE");
    request_add(request, top->tube, top->tube_length);
    if (key == 'k') {
        request_add_number(request, top->kicked);
        /* The jobs may have gone since, and without this word KICK would take delayed ones. */
        request_add_text(request, "BURIED");
    } else {
        request_add_text(request, top->is_resume ? "0s" : "10m");
    }
    if (key != 'k' || top->kicked > 0)
        act(top, key == 'k' ? "kick" : top->is_resume ? "resume" : "pause");
}

/* Asks the user whether to do what a key stands for. */
static void ask_whether(struct top *top, char key)
{
    const struct top_tube *tube = choose_tube(top);
    size_t place = top->selected[LEVEL_JOBS];

    ELAPSE__ASSERT(top->asks == 0); /* the user has answered the question before */
    if (tube == NULL)
        return;
    if (key == 'k' && top->level == LEVEL_JOBS && place >= top->lines)
        return; /* no job is selected, and `job` is one that was chosen before */
    if (top->level == LEVEL_JOBS && place < top->lines)
        memcpy(top->job, top->job_ids[place], sizeof top->job);
    top->asks = key;
    top->is_resume = tube->counts.pause_left_ms > 0;
    top->kicked = tube->counts.buried;
    if (key == 'p' && top->is_resume)
        (void)snprintf(top->hint, sizeof top->hint, "resume %s? y/n", tube->name);
    else if (key == 'p')
        (void)snprintf(top->hint, sizeof top->hint, "pause %s for 10m? y/n", tube->name);
    else if (top->level != LEVEL_TUBES)
        (void)snprintf(top->hint, sizeof top->hint, "kick job %s? y/n", top->job);
    else
        (void)snprintf(top->hint, sizeof top->hint, "kick %llu buried jobs of %s? y/n",
                       (unsigned long long)top->kicked, tube->name);
    mask_control_characters(top->hint);
}

/* Shows the tube or the job that is selected. */
static void enter(struct top *top)
{
    if (top->level == LEVEL_TUBES && choose_tube(top) != NULL) {
        top->level = LEVEL_JOBS;
        top->selected[LEVEL_JOBS] = 0;
    } else if (top->level == LEVEL_JOBS && top->selected[LEVEL_JOBS] < top->lines) {
        memcpy(top->job, top->job_ids[top->selected[LEVEL_JOBS]], sizeof top->job);
        top->level = LEVEL_JOB;
        top->selected[LEVEL_JOB] = 0;
    }
}

static void type(struct top *top, char key)
{
    enum { BACKSPACE = 0x7f };
    size_t length = strlen(top->filter);

    if (key == '\n' || key == '\r')
        top->is_typing = false;
    else if ((key == BACKSPACE || key == '\b') && length > 0)
        top->filter[length - 1] = '\0';
    else if ((unsigned char)key >= ' ' && key != BACKSPACE && length + 1 < FILTER_BYTES)
        top->filter[length] = key, top->filter[length + 1] = '\0';
    top->hint[0] = '\0';
    if (top->is_typing)
        (void)snprintf(top->hint, sizeof top->hint, "begins with: %s_  Enter: done", top->filter);
    top->selected[LEVEL_TUBES] = 0;
}

static size_t count_lines(struct elapse__buffer *text)
{
    size_t count = 0;

    for (const char *at = buffer_string(text); *at != '\0'; at++)
        count += *at == '\n';
    return count;
}

static void move(struct top *top, bool down)
{
    size_t count = top->level == LEVEL_TUBES ? top->now->tube_count
                   : top->level == LEVEL_JOB ? count_lines(&top->text)
                                             : top->lines;
    size_t *place = &top->selected[top->level];

    if (down && *place + 1 < count)
        ++*place;
    else if (!down && *place > 0)
        --*place;
}

/* Answers the question with no. If there is none, goes back to the picture before, or forgets the
 * filter. */
static void go_back(struct top *top)
{
    if (top->asks != 0)
        top->asks = 0;
    else if (top->level != LEVEL_TUBES)
        top->level = top->level == LEVEL_JOB ? LEVEL_JOBS : LEVEL_TUBES;
    else
        top->filter[0] = '\0';
    top->is_typing = false;
    top->hint[0] = '\0';
}

/* Takes a key. Returns false for the key that ends the program. An arrow key is three bytes, such
 * as ESC [ A. A single Escape is recognised when the next key comes, or when nothing has come for a
 * while. */
static bool take_key(struct top *top, char key)
{
    ELAPSE__ASSERT(!top->is_typing || top->asks == 0); /* a key is for one of the two */
    if (!top->is_typing && top->asks == 0)
        top->hint[0] = '\0';
    if (key == '\033') {
        top->escape = 1;
    } else if (top->escape == 1 && (key == '[' || key == 'O')) {
        top->escape = 2;
    } else if (top->escape == 2) {
        top->escape = 0;
        if (key == 'A' || key == 'B')
            move(top, key == 'B');
    } else if (top->is_typing) {
        type(top, key);
    } else if (top->asks != 0) {
        if (key == 'y')
            confirm(top);
        else
            top->asks = 0, top->hint[0] = '\0';
    } else if (key == 'q') {
        return false;
    } else if (key == 's' && top->level == LEVEL_TUBES) {
        top->order = (enum top_order)((top->order + 1) % TOP_ORDERS);
        (void)snprintf(top->hint, sizeof top->hint, "sorted by %s", top_order_name(top->order));
    } else if (key == '/' && top->level == LEVEL_TUBES) {
        top->is_typing = true;
        type(top, '\0');
    } else if (key == '\n' || key == '\r') {
        enter(top);
    } else if (key == 'k' || key == 'p') {
        ask_whether(top, key);
    }
    return true;
}

/* Waits for the time of the next sample. Returns false when the user wants to quit. */
static bool wait_for_next(struct top *top, uint64_t until_ns, enum exit_status *status)
{
    uint64_t now_ns;
    char key;

    while (*status == STATUS_OK && (now_ns = elapse__os_monotonic_ns()) < until_ns) {
        uint64_t left_ns = until_ns - now_ns;
        if (top->escape > 0 && left_ns > SECOND_NS / 20)
            left_ns = SECOND_NS / 20;
        enum screen_event event = screen_wait(&top->screen, left_ns, &key);
        if (event == SCREEN_TIMEOUT && top->escape > 0) {
            top->escape = 0;
            go_back(top);
            break;
        }
        if (event == SCREEN_TIMEOUT)
            break;
        if (event == SCREEN_KEY && !take_key(top, key))
            return false;
        if (event == SCREEN_KEY && top->escape == 0)
            break; /* the result of the key is asked for and drawn at once */
        if (event == SCREEN_REDRAW)
            *status = draw(top);
    }
    return *status == STATUS_OK;
}

/* Takes the next sample. If the last connection was lost, makes a new one. Prints no message,
 * because a message would spoil the picture. The picture shows the fault. */
static void sample_again(struct top *top)
{
    static char fault[200];
    struct connection *connection = top->client->connection;

    ELAPSE__ASSERT(top->has_now);
    if (connection_fault(connection) != CONNECTION_WORKS)
        connection_open(connection);
    (void)message_silence(true);
    bool is_new = take_sample(top) == STATUS_OK;
    if (is_new && top->level != LEVEL_TUBES)
        is_new = sample_text(top) == STATUS_OK;
    if (top->selected[LEVEL_TUBES] >= top->now->tube_count)
        top->selected[LEVEL_TUBES] = top->now->tube_count > 0 ? top->now->tube_count - 1 : 0;
    (void)message_silence(false);
    top->fault = NULL;
    if (is_new)
        return;
    (void)snprintf(fault, sizeof fault, "%s", connection_fault_text(connection));
    top->fault = fault[0] != '\0' ? fault : "the server refuses to answer";
}

static enum exit_status watch(struct top *top)
{
    /* The picture is drawn on the terminal's other screen, without a cursor. At the end the first
     * screen comes back with its text. */
    enum exit_status status =
        screen_open(&top->screen, "\033[?1049h\033[?25l", "\033[?25h\033[?1049l");

    if (status != STATUS_OK)
        return status;
    ELAPSE__ASSERT(!top->once && top->has_now);
    uint64_t next_ns = elapse__os_monotonic_ns();
    do {
        status = draw(top);
        next_ns += top->interval_ns;
        /* After a long stop, samples that are overdue are left out. */
        if (next_ns < elapse__os_monotonic_ns())
            next_ns = elapse__os_monotonic_ns() + top->interval_ns;
        if (!wait_for_next(top, next_ns, &status))
            break;
        sample_again(top);
    } while (status == STATUS_OK);
    screen_close(&top->screen);
    return status;
}

static enum exit_status run(void *context, const struct command_line *line)
{
    struct top *top = context;

    enum exit_status status = options_check_count(line, 0);

    if (status != STATUS_OK)
        return status;
    if (!top->once && !elapse__os_is_terminal(ELAPSE__OS_OUTPUT))
        return usage_error("standard output is no terminal: --once prints one picture");
    status = client_open(top->client);
    if (status == STATUS_OK)
        status = take_sample(top);
    if (status != STATUS_OK)
        return status;
    return top->once ? draw(top) : watch(top);
}

enum exit_status top_command(int argc, char **argv)
{
    struct top top = {.client = client_new(), .interval_ns = SECOND_NS};
    struct command_option table[8 + CLIENT_OPTION_COUNT] = {
        option_duration("interval", &top.interval_ns, SECOND_NS / 10, 3600 * SECOND_NS,
                        "ask the server at this interval (default 1s)"),
        option_flag("once", &top.once, "print one picture, and end"),
    };

    top.client->settings.timeout_ns = TIMEOUT_NS;
    top.now = allocate(sizeof *top.now);
    top.before = allocate(sizeof *top.before);
    memset(top.now, 0, sizeof *top.now);
    top.job_ids = allocate(JOBS_SHOWN * sizeof *top.job_ids);
    enum exit_status status = client_run(top.client, &help, run, &top, table, argc, argv);
    free(top.now);
    free(top.before);
    free(top.job_ids);
    elapse__buffer_free(&top.text);
    return status;
}
