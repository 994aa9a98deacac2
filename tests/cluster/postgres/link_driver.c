/*
 * link_driver NAME LEASE_MS HOST...: drives a link by lines. Each line on standard input is a
 * statement, which begins at once. A line that comes while a statement is under way abandons that
 * statement and begins a new one, as a partition does. Each result is a line of JSON on standard
 * output.
 *
 *     create PARTS | connect HOST | session | read_row | read_log GROUP
 *     take_over EPOCH BEAT GROUP | beat EPOCH TAIL | append EPOCH GROUP PREVIOUS_HASH SIZE [ID...]
 *     make_table TABLE | drop_tables TABLE | release EPOCH | mark EPOCH GROUP | terminate
 *
 * The bytes of a group are SIZE times the last digit of its number. An ID may be ID:REASON.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../src/cluster/ownership/chain.h"
#include "../../../src/cluster/postgres/link.h"
#include "../../../src/cluster/postgres/schema.h"
#include "../../../src/os/program.h"

enum { WORDS_MAX = 64, BYTES_MAX = 16 << 20 };

static struct elapse__database_link *opened;
static uint64_t serial;
static const char *first_host;
static uint32_t lease_ms;
static char bytes[BYTES_MAX];
static int64_t inbox[WORDS_MAX];
static const char *reasons[WORDS_MAX];

/* ---- results ---- */

/* Ends an object with a message. */
static void print_end(const char *message)
{
    printf("\"message\":\"");
    for (; *message != '\0'; message++)
        putchar(*message == '"' || *message == '\\' || *message == '\t' ? ' ' : *message);
    printf("\"}\n");
    (void)fflush(stdout);
}

static void print_settings(const char *name, const struct elapse__partition_settings *settings)
{
    if (settings->standby_names != NULL)
        printf(",\"%s\":{\"names\":\"%s\",\"commit\":\"%s\",\"loaded_us\":%" PRId64 "}", name,
               settings->standby_names, settings->commit, settings->loaded_us);
}

static void print_row(const struct elapse__partition_row *row)
{
    printf(",\"row\":{\"epoch\":%" PRIu64 ",\"beat\":%" PRIu64 ",\"last_group\":%" PRIu64
           ",\"last_hash\":%" PRIu64 ",\"tail\":%" PRIu64 ",\"lease_ms\":%" PRIu32
           ",\"owner\":\"%s\",\"address\":\"%s\",\"stopped\":\"%s\"}",
           row->epoch, row->beat, row->last_group, row->last_hash, row->tail, row->lease_ms,
           row->owner, row->address, row->stopped);
}

static void print_log(const struct elapse__statement_result *result)
{
    printf(",\"log\":[");
    for (uint64_t i = 0; i < result->count; i++) {
        const struct elapse__partition_log_row *row = &result->log[i];
        printf("%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%zu,%" PRIu64 "]", i == 0 ? "" : ",",
               row->group, row->epoch, row->hash_of_previous, row->size,
               elapse__chain_next(row->hash_of_previous, row->bytes, row->size));
    }
    printf("]");
}

static void print_result(const struct elapse__statement_result *result)
{
    static const char *const outcomes[] = {
        [ELAPSE__OUTCOME_ROWS] = "rows",   [ELAPSE__OUTCOME_LOCKED] = "locked",
        [ELAPSE__OUTCOME_MOVED] = "moved", [ELAPSE__OUTCOME_ERROR] = "error",
        [ELAPSE__OUTCOME_LOST] = "lost",   [ELAPSE__OUTCOME_REFUSED] = "refused",
    };
    const struct elapse__partition_session *session = &result->session;
    printf("{\"serial\":%" PRIu64 ",\"outcome\":\"%s\",\"noticed\":%s,\"count\":%" PRIu64,
           result->serial, outcomes[result->outcome], result->noticed ? "true" : "false",
           result->count);
    print_settings("before", &result->before);
    print_settings("after", &result->after);
    if (session->system_identifier != 0)
        printf(",\"session\":[%" PRIu64 ",%" PRIu32 ",%s]", session->system_identifier,
               session->timeline, session->in_recovery ? "true" : "false");
    if (result->row.owner != NULL)
        print_row(&result->row);
    if (result->log != NULL)
        print_log(result);
    printf(",\"pooled\":%s", result->is_pooled ? "true" : "false");
    printf(",\"others\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", result->others.living,
           result->others.right, result->others.agreeing);
    printf(",");
    print_end(elapse__database_link_message(opened));
}

/* ---- commands ---- */

static uint64_t number(const char *word)
{
    return word != NULL ? strtoull(word, NULL, 10) : 0;
}

static bool has_reasons(size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (reasons[i] != NULL)
            return true;
    return false;
}

static void fill_append(struct elapse__statement *statement, char *const *words)
{
    statement->epoch = number(words[1]);
    statement->group = number(words[2]);
    statement->previous_hash = number(words[3]);
    statement->size = (size_t)number(words[4]);
    if (statement->size > BYTES_MAX)
        exit(2);
    memset(bytes, (int)('0' + statement->group % 10), statement->size);
    statement->bytes = bytes;
    statement->hash = elapse__chain_next(statement->previous_hash, bytes, statement->size);
    for (char *const *word = words + 5; *word != NULL; word++) {
        char *reason = strchr(*word, ':');
        inbox[statement->inbox_count] = (int64_t)number(*word);
        reasons[statement->inbox_count++] = reason != NULL ? reason + 1 : NULL;
    }
    statement->inbox = inbox;
    statement->inbox_reasons = has_reasons(statement->inbox_count) ? reasons : NULL;
}

static struct elapse__statement statement_of(char *const *words)
{
    static const char *const kinds[ELAPSE__STATEMENT_KINDS] = {
        "connect",    "session",     "read_row", "read_log", "take_over", "beat",     "append",
        "make_table", "drop_tables", "release",  "mark",     "clocks",    "terminate"};
    struct elapse__statement statement = {.serial = ++serial};
    while (strcmp(words[0], kinds[statement.kind]) != 0)
        if (++statement.kind == ELAPSE__STATEMENT_KINDS)
            exit(2);
    uint64_t first = number(words[1]);
    switch (statement.kind) {
    case ELAPSE__STATEMENT_CONNECT:
        statement.host = (unsigned)first;
        break;
    case ELAPSE__STATEMENT_READ_LOG:
        statement.group = first;
        break;
    case ELAPSE__STATEMENT_TAKE_OVER:
        statement.epoch = first;
        statement.beat = number(words[2]);
        statement.group = number(words[3]);
        break;
    case ELAPSE__STATEMENT_BEAT:
        statement.epoch = first;
        statement.tail = number(words[2]);
        break;
    case ELAPSE__STATEMENT_APPEND:
        fill_append(&statement, words);
        break;
    case ELAPSE__STATEMENT_CLOCKS:
        statement.ahead_ms = (int64_t)first;
        break;
    case ELAPSE__STATEMENT_RELEASE:
        statement.epoch = first;
        break;
    case ELAPSE__STATEMENT_MARK:
        statement.epoch = first;
        statement.group = number(words[2]);
        break;
    default:
        statement.table = first;
        break;
    }
    return statement;
}

static void create(uint32_t partitions)
{
    struct elapse__schema_queue queue = {
        .partitions = partitions, .lease_ms = lease_ms, .hash_tags = ELAPSE__SCHEMA_TAGS_ANY};
    struct elapse__schema_queue read = {0};
    struct elapse__schema_why why = {.text = ""};
    memcpy(queue.identity, "sixteen bytes ..", sizeof queue.identity);
    bool is_made = elapse__schema_create(first_host, "test", &queue, &why) &&
                   elapse__schema_read(first_host, "test", &read, &why);
    printf("{\"made\":%s,\"same\":%s,\"genesis\":%" PRIu64 ",", is_made ? "true" : "false",
           memcmp(&queue, &read, sizeof queue) == 0 ? "true" : "false",
           elapse__chain_genesis(queue.identity, 0));
    print_end(why.text);
}

/* Returns whether a statement is under way. */
static bool obey(char *line, bool is_busy)
{
    char *words[WORDS_MAX + 1] = {NULL};
    size_t count = 0;
    struct elapse__statement_result result;
    for (char *word = strtok(line, " "); word != NULL && count < WORDS_MAX - 1;
         word = strtok(NULL, " "))
        words[count++] = word;
    if (count == 0)
        return is_busy;
    if (strcmp(words[0], "create") == 0) {
        create((uint32_t)number(words[1]));
        return is_busy;
    }
    struct elapse__statement statement = statement_of(words);
    elapse__database_link_begin(opened, &statement);
    if (!elapse__database_link_poll(opened, false, &result))
        return true;
    print_result(&result);
    return false;
}

/* ---- the loop ---- */

static char input[4096];
static size_t input_bytes;

/* Returns false at the end of the input. */
static bool read_lines(bool *is_busy)
{
    ssize_t got = read(STDIN_FILENO, input + input_bytes, sizeof input - input_bytes);
    if (got <= 0)
        return false;
    input_bytes += (size_t)got;
    char *end;
    while ((end = memchr(input, '\n', input_bytes)) != NULL) {
        size_t taken = (size_t)(end - input) + 1;
        *end = '\0';
        *is_busy = obey(input, *is_busy);
        input_bytes -= taken;
        memmove(input, input + taken, input_bytes);
    }
    return true;
}

static void turn(bool *is_busy)
{
    struct elapse__os_watch watch;
    struct elapse__statement_result result;
    elapse__database_link_watch(opened, &watch);
    int events = (watch.for_data ? POLLIN : 0) | (watch.for_room ? POLLOUT : 0);
    struct pollfd files[] = {{STDIN_FILENO, POLLIN, 0}, {watch.file, (short)events, 0}};
    if (poll(files, 2, -1) < 0)
        exit(1);
    if (files[0].revents != 0 && !read_lines(is_busy))
        exit(0);
    else if (files[0].revents == 0 &&
             elapse__database_link_poll(opened, files[1].revents != 0, &result)) {
        print_result(&result);
        *is_busy = false;
    }
}

int main(int count, char **arguments)
{
    if (count < 4)
        return 2;
    lease_ms = (uint32_t)number(arguments[2]);
    first_host = arguments[3];
    for (int i = 3; i < count; i++)
        if (elapse__database_link_refuse_host(arguments[i]) != NULL) {
            printf("{\"refused\":true,");
            print_end(elapse__database_link_refuse_host(arguments[i]));
            return 0;
        }
    opened = elapse__database_link_new(&(struct elapse__database_link_options){
        .hosts = (const char *const *)&arguments[3],
        .host_count = (unsigned)count - 3,
        .queue = "test",
        .me = arguments[1],
        .address = "127.0.0.1:11300",
        .lease_ms = lease_ms,
    });
    if (opened == NULL)
        return 1;
    for (bool is_busy = false;;)
        turn(&is_busy);
}
