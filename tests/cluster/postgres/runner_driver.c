/*
 * runner_driver NAME LEASE_MS GENESIS HOST...: acts as a node with one partition and without a
 * disk. Drives a runner by lines. Prints what happens as lines of JSON. Times are those of the
 * boot-time clock.
 *
 *     submit TEXT     a group with these bytes, in the epoch that it owns
 *     trim TAIL | news | figures | handover | stop
 *     remember 0|1    whether memory can be written to the disk
 *
 * NAME may begin with a mark. With `!`, memory cannot be written at first. With `+`, the program
 * submits groups one after the other while it owns the partition. With `@`, it moves the rows of
 * the inbox into groups.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../src/cluster/inbox/inbox.h"
#include "../../../src/cluster/postgres/runner.h"

enum { TEXT_BYTES = 64, POLL_MS = 20 };

static struct elapse__runner *runner;
static const char *name;
static _Atomic bool has_disk = true;
static bool floods;
static _Atomic uint64_t epoch;
static char text[TEXT_BYTES];  /* of the group in flight */
static _Atomic bool in_flight; /* the runner's thread may read the text */
static bool holds_rows;        /* of the inbox, in that group */
static unsigned made;

/* ---- names, of those that the tests await ---- */

static const char *const roles[ELAPSE__ROLES] = {
    [ELAPSE__ROLE_FOLLOWING] = "following",
    [ELAPSE__ROLE_OWNING] = "owning",
    [ELAPSE__ROLE_UNKNOWN] = "unknown",
};

static const char *role_name(const struct elapse__runner_figures *figures)
{
    const char *role = roles[figures->partition.role];
    return role != NULL ? role : "another";
}

static const char *complaint_name(const struct elapse__runner_figures *figures)
{
    return figures->partition.complaint == ELAPSE__COMPLAINT_NO_STANDBY ? "no standby" : "another";
}

/* ---- groups ---- */

/* The line that ended the group before is printed a moment before that group is forgotten. */
static void submit(const char *bytes)
{
    while (atomic_load(&in_flight))
        ;
    (void)snprintf(text, sizeof text, "%s", bytes);
    uint64_t now = atomic_load(&epoch);
    struct elapse__partition_group group = {.bytes = text, .size = strlen(text)};
    atomic_store(&in_flight, true);
    if (now != 0 && elapse__runner_submit(runner, now, &group))
        return;
    atomic_store(&in_flight, false);
    printf("{\"event\":\"refused\",\"text\":\"%s\"}\n", bytes);
}

static void submit_next(void)
{
    char bytes[TEXT_BYTES];
    (void)snprintf(bytes, sizeof bytes, "%s.%u", name, ++made);
    submit(bytes);
}

/* ---- calls of the runner ---- */

static void on_apply(void *context, const struct elapse__partition_log_row *row, uint64_t hash)
{
    (void)context;
    printf("{\"event\":\"apply\",\"group\":%" PRIu64 ",\"hash\":%" PRIu64 ",\"text\":\"%.*s\"}\n",
           row->group, hash, (int)row->size, (const char *)row->bytes);
}

static void on_rebuild(void *context, uint64_t tail)
{
    (void)context;
    printf("{\"event\":\"rebuild\",\"tail\":%" PRIu64 "}\n", tail);
}

static void on_own(void *context, uint64_t owned)
{
    (void)context;
    atomic_store(&epoch, owned);
    printf("{\"event\":\"own\",\"epoch\":%" PRIu64 ",\"now\":%" PRIu64 "}\n", owned,
           elapse__runner_now_ms());
    if (floods)
        submit_next();
}

static void on_confirmed(void *context, uint64_t group)
{
    (void)context;
    printf("{\"event\":\"confirmed\",\"group\":%" PRIu64 ",\"text\":\"%s\",\"now\":%" PRIu64
           ",\"until\":%" PRIu64 "}\n",
           group, text, elapse__runner_now_ms(), elapse__runner_answer_until_ms(runner));
    holds_rows = false;
    atomic_store(&in_flight, false);
    if (floods)
        submit_next();
}

static void on_fenced(void *context, const struct elapse__partition_group *group)
{
    (void)context;
    atomic_store(&epoch, 0);
    printf("{\"event\":\"fenced\",\"text\":\"%.*s\",\"until\":%" PRIu64 "}\n",
           group != NULL ? (int)group->size : 0, group != NULL ? (const char *)group->bytes : "",
           elapse__runner_answer_until_ms(runner));
    holds_rows = false;
    atomic_store(&in_flight, false);
    elapse__runner_aside(runner);
}

static void on_stopped(void *context, enum elapse__partition_stop stop)
{
    (void)context;
    atomic_store(&epoch, 0);
    printf("{\"event\":\"stopped\",\"why\":\"%s\"}\n", stop == ELAPSE__STOP_LOST_GROUPS
                                                           ? "lost groups"
                                                       : stop == ELAPSE__STOP_MARKED ? "marked"
                                                                                     : "another");
    atomic_store(&in_flight, false);
}

static bool on_remember(void *context, const struct elapse__partition_memory *memory)
{
    (void)context;
    bool is_done = atomic_load(&has_disk);
    printf("{\"event\":\"remember\",\"done\":%s,\"timeline\":%" PRIu32 ",\"epoch\":%" PRIu64 "}\n",
           is_done ? "true" : "false", memory->timeline, memory->epoch);
    return is_done;
}

static void on_releasing(void *context)
{
    (void)context;
    printf("{\"event\":\"releasing\",\"until\":%" PRIu64 "}\n",
           elapse__runner_answer_until_ms(runner));
}

static void on_ended(void *context)
{
    struct elapse__runner_figures figures;
    (void)context;
    atomic_store(&epoch, 0);
    elapse__runner_figures(runner, &figures);
    printf("{\"event\":\"ended\",\"released\":%s}\n", figures.has_released ? "true" : "false");
}

static void on_changed(void *context)
{
    struct elapse__runner_figures figures;
    (void)context;
    elapse__runner_figures(runner, &figures);
    printf("{\"event\":\"changed\",\"role\":\"%s\",\"owner\":\"%s\",\"epoch\":%" PRIu64 "}\n",
           role_name(&figures), figures.partition.owner, figures.partition.epoch);
}

/* ---- the inbox ---- */

/* Of the runner's thread alone. */
static uint64_t poll_ms, polls;
static int64_t ids[ELAPSE__INBOX_ROWS_MAX];

static uint64_t on_next_ms(void *context)
{
    (void)context;
    return holds_rows ? UINT64_MAX : poll_ms;
}

static void on_told(void *context, uint64_t now_ms)
{
    (void)context;
    poll_ms = now_ms;
    printf("{\"event\":\"told\"}\n");
}

static bool on_ask(void *context, uint64_t now_ms, struct elapse__inbox_poll *poll)
{
    if (now_ms < on_next_ms(context))
        return false;
    poll_ms = now_ms + POLL_MS;
    *poll = (struct elapse__inbox_poll){++polls, ELAPSE__INBOX_ROWS_MAX, ELAPSE__INBOX_BYTES_MAX,
                                        false};
    return true;
}

static void on_came(void *context, uint64_t now_ms, uint64_t serial,
                    const struct elapse__inbox_row *rows, size_t count)
{
    (void)context, (void)now_ms;
    if (serial != polls || count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        const struct elapse__inbox_row *row = &rows[i];
        ids[i] = row->id;
        printf("{\"event\":\"row\",\"what\":\"%.*s\",\"tube\":\"%.*s\",\"key\":\"%.*s\","
               "\"body\":\"%.*s\",\"due\":\"%.*s\",\"due_ms\":%" PRId64 ",\"ttr_ms\":%" PRId64
               "}\n",
               (int)row->what.size, (const char *)row->what.bytes, (int)row->tube.size,
               (const char *)row->tube.bytes, (int)row->key.size, (const char *)row->key.bytes,
               (int)row->body.size, (const char *)row->body.bytes, (int)row->due.size,
               (const char *)row->due.bytes, row->due_ms, row->ttr_ms);
    }
    (void)snprintf(text, sizeof text, "rows");
    struct elapse__partition_group group = {
        .bytes = text, .size = strlen(text), .inbox = ids, .inbox_count = count};
    holds_rows = elapse__runner_submit(runner, atomic_load(&epoch), &group);
}

static void on_failed(void *context, uint64_t now_ms, uint64_t serial)
{
    (void)context;
    poll_ms = now_ms + POLL_MS;
    printf("{\"event\":\"poll failed\",\"serial\":%" PRIu64 "}\n", serial);
}

/* ---- lines ---- */

static void print_figures(void)
{
    struct elapse__runner_figures figures;
    elapse__runner_figures(runner, &figures);
    for (char *at = figures.message; *at != '\0'; at++)
        if (*at == '"' || *at == '\t')
            *at = ' ';
    printf(
        "{\"event\":\"figures\",\"role\":\"%s\",\"complaint\":\"%s\",\"host\":%u,\"owner\":\"%s\","
        "\"address\":\"%s\",\"message\":\"%s\",\"epoch\":%" PRIu64 ",\"last_group\":%" PRIu64
        ",\"tail\":%" PRIu64 ",\"now\":%" PRIu64 ",\"until\":%" PRIu64 ",\"polls_lost\":%" PRIu64
        "}\n",
        role_name(&figures), complaint_name(&figures), figures.partition.host,
        figures.partition.owner, figures.partition.address, figures.message,
        figures.partition.epoch, figures.partition.last_group, figures.partition.tail,
        elapse__runner_now_ms(), elapse__runner_answer_until_ms(runner), figures.polls_lost);
}

/* Returns false if it is to end. */
static bool obey(const char *verb, const char *word)
{
    if (strcmp(verb, "submit") == 0) {
        submit(word);
    } else if (strcmp(verb, "trim") == 0) {
        elapse__runner_trim(runner, atomic_load(&epoch), strtoull(word, NULL, 10));
    } else if (strcmp(verb, "news") == 0) {
        elapse__runner_news(runner);
    } else if (strcmp(verb, "figures") == 0) {
        print_figures();
    } else if (strcmp(verb, "handover") == 0) {
        elapse__runner_hand_over(runner);
    } else if (strcmp(verb, "remember") == 0) {
        atomic_store(&has_disk, word[0] == '1');
    } else {
        return false;
    }
    return true;
}

int main(int count, char **arguments)
{
    char line[256], verb[32], word[TEXT_BYTES];
    if (count < 5)
        return 2;
    (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    name = arguments[1];
    atomic_store(&has_disk, name[0] != '!');
    floods = name[0] == '+';
    struct elapse__runner_options options = {
        .partition = {.owner = {NULL, on_apply, on_rebuild, on_own, on_confirmed, on_fenced,
                                on_stopped},
                      .me = name,
                      .hosts = (unsigned)count - 4,
                      .lease_ms = (uint32_t)strtoul(arguments[2], NULL, 10),
                      .genesis = strtoull(arguments[3], NULL, 10)},
        .calls = {on_remember, on_releasing, on_ended, NULL, on_changed},
        .hosts = (const char *const *)&arguments[4],
        .queue = "test",
        .number = 0,
        .address = "127.0.0.1:11300",
    };
    if (name[0] == '@')
        options.inbox =
            (struct elapse__runner_inbox){on_ask, on_came, on_failed, on_told, on_next_ms};
    int error = elapse__runner_start(&runner, &options);
    if (error != 0) {
        (void)fprintf(stderr, "the runner does not start: error %d\n", error);
        return 1;
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        word[0] = '\0';
        if (sscanf(line, "%31s %63s", verb, word) < 1 || !obey(verb, word))
            break;
    }
    elapse__runner_stop(runner);
    printf("{\"event\":\"end\"}\n");
    return 0;
}
