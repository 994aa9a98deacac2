/*
 * elapse top: what a server does now, on a terminal, again and again.
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
#include "top_view.h"

#define SECOND_NS  UINT64_C(1000000000)
#define TIMEOUT_NS (3 * SECOND_NS) /* short: no key is read while a reply is awaited */

enum { COLUMNS_DEFAULT = 80, COLUMNS_MIN = 20, COLUMNS_MAX = 500 };

static const struct command_help help = {
    .usage = "Usage: elapse top [--interval DURATION] [--once] [OPTION]...\n",
    .purpose =
        "Shows what a server does: its jobs by their states, how fast they come and go, and\n"
        "its tubes, those with the most ready jobs first. q ends it.\n",
    .example = "Examples:\n"
               "  elapse top\n"
               "  elapse top --once --server queue.example:11300\n",
};

struct top {
    struct client *client;
    uint64_t interval_ns;
    bool once;

    struct top_sample *now;
    struct top_sample *before; /* an older sample, if `has_before` */
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

/* Asks for each tube of a page of names. */
static enum exit_status sample_tubes(struct top *top, struct top_sample *sample,
                                     const redisReply *page)
{
    enum exit_status status = STATUS_OK;
    bool is_page = page->type == REDIS_REPLY_ARRAY && page->elements == 2 &&
                   page->element[1]->type == REDIS_REPLY_ARRAY;

    ELAPSE__ASSERT_THAT(sample->tube_count, ==, 0U);
    sample->has_more_tubes = is_page && page->element[0]->integer != 0;
    for (size_t i = 0; is_page && i < page->element[1]->elements && i < TOP_TUBES_MAX; i++) {
        const redisReply *name = page->element[1]->element[i];
        if (name->type != REDIS_REPLY_STRING)
            continue;
        redisReply *map = ask(top, "STATS", name, &status);
        if (map == NULL)
            return status;
        /* A tube may end between the two questions. */
        if (map->type == REDIS_REPLY_ARRAY)
            top_add_tube(sample, name->str, name->len, map);
        freeReplyObject(map);
    }
    return STATUS_OK;
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
    reply = ask(top, "TUBES", NULL, &status);
    if (reply == NULL)
        return status;
    status = sample_tubes(top, sample, reply);
    freeReplyObject(reply);
    top_sort(sample);
    return status;
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

static struct top_look look_of_output(const struct top *top)
{
    unsigned columns = 0;
    unsigned rows = 0;
    uint64_t wanted = 0;
    const char *variable = getenv("COLUMNS");
    const char *terminal = getenv("TERM");
    const char *no_colour = getenv("NO_COLOR");
    bool is_terminal = elapse__os_terminal_size(ELAPSE__OS_OUTPUT, &columns, &rows);

    if (columns == 0 && variable != NULL && parse_number(variable, 1, COLUMNS_MAX, &wanted))
        columns = (unsigned)wanted;
    if (columns == 0)
        columns = COLUMNS_DEFAULT;
    columns = columns > COLUMNS_MAX ? COLUMNS_MAX : columns;
    return (struct top_look){
        .columns = columns < COLUMNS_MIN ? COLUMNS_MIN : columns,
        .rows = top->once ? 0 : rows,
        .has_styles = is_terminal && (no_colour == NULL || *no_colour == '\0') &&
                      terminal != NULL && strcmp(terminal, "dumb") != 0,
        .is_live = !top->once,
        .server = top->client->settings.server,
        .fault = top->fault,
    };
}

/* Draws the picture over the last one. */
static enum exit_status draw(const struct top *top)
{
    struct elapse__buffer text = {.bytes = NULL};
    struct top_look look = look_of_output(top);
    const char *line;

    ELAPSE__ASSERT(top->has_now);
    top_draw(&text, &look, top->now, top->has_before ? top->before : NULL);
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

/* Waits for the time of the next sample. Returns false when the user wants to quit. */
static bool wait_for_next(struct top *top, uint64_t until_ns, enum exit_status *status)
{
    uint64_t now_ns;
    char key;

    while (*status == STATUS_OK && (now_ns = elapse__os_monotonic_ns()) < until_ns) {
        enum screen_event event = screen_wait(&top->screen, until_ns - now_ns, &key);
        if (event == SCREEN_TIMEOUT)
            break;
        if (event == SCREEN_KEY && key == 'q')
            return false;
        if (event == SCREEN_REDRAW)
            *status = draw(top);
    }
    return *status == STATUS_OK;
}

/* Takes the next sample, over a new connection if the last one was lost. Prints no message, because
 * that would spoil the picture: the picture shows the fault. */
static void sample_again(struct top *top)
{
    static char fault[200];
    struct connection *connection = top->client->connection;

    if (connection_fault(connection) != CONNECTION_WORKS)
        connection_open(connection);
    message_silence(true);
    bool is_new = take_sample(top) == STATUS_OK;
    message_silence(false);
    top->fault = NULL;
    if (is_new)
        return;
    (void)snprintf(fault, sizeof fault, "%s", connection_fault_text(connection));
    top->fault = fault[0] != '\0' ? fault : "the server refuses to answer";
}

static enum exit_status watch(struct top *top)
{
    /* The picture is drawn on the terminal's other screen, without a cursor. When that is closed,
     * the text before comes back. */
    enum exit_status status =
        screen_open(&top->screen, "\033[?1049h\033[?25l", "\033[?25h\033[?1049l");

    if (status != STATUS_OK)
        return status;
    ELAPSE__ASSERT(!top->once && top->has_now);
    uint64_t next_ns = elapse__os_monotonic_ns();
    do {
        status = draw(top);
        next_ns += top->interval_ns;
        /* After a long stop the samples that were missed are not taken. */
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
    enum exit_status status = client_run(top.client, &help, run, &top, table, argc, argv);
    free(top.now);
    free(top.before);
    return status;
}
