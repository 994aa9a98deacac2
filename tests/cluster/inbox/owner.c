/*
 * owner CONNECTION PART PARTS: acts as the owner of a partition, for tests. Joins the inbox and a
 * real queue with a log in PostgreSQL, in the simplest way. It takes the partition over, reads the
 * log, and runs the inbox until its input ends and no row waits. Each line of its input is a key.
 * At the end it prints for each key which job has it.
 *
 * A test may kill this program at any time. The program ends with 3 if another owner has taken
 * over.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "../../../src/cluster/inbox/inbox.h"
#include "../../queue/log.h"

enum {
    EXIT_FENCED = 3,
    ARRAY_BYTES = ELAPSE__INBOX_ROWS_MAX * (2 * ELAPSE__INBOX_REASON_BYTES + 4),
    INPUT_BYTES = 1 << 16,
    COLUMNS = 20,
    BINARY = 1,
};

static struct {
    PGconn *connection;
    const char *partition, *partitions;
    char epoch[24];
    uint64_t group;
    struct log log;
    size_t logged; /* records that are in the log of the database */
    struct elapse__queue *queue;
    struct elapse__inbox *inbox;
    char input[INPUT_BYTES];
    size_t input_size;
    bool input_ended;
} owner;

static _Noreturn void end(const char *what, PGresult *result)
{
    fprintf(stderr, "owner: %s: %s", what,
            result != NULL ? PQresultErrorMessage(result) : PQerrorMessage(owner.connection));
    exit(EXIT_FAILURE);
}

static PGresult *run_statement(const char *text, int count, const char *const *values,
                               const int *sizes, const int *formats, int result_format)
{
    PGresult *result =
        PQexecParams(owner.connection, text, count, NULL, values, sizes, formats, result_format);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        end(text, result);
    return result;
}

static struct elapse__queue_now now(void)
{
    struct timespec boot, wall;
    (void)clock_gettime(CLOCK_BOOTTIME, &boot);
    (void)clock_gettime(CLOCK_REALTIME, &wall);
    return (struct elapse__queue_now){
        .boot_ms = (uint64_t)boot.tv_sec * 1000 + (uint64_t)boot.tv_nsec / 1000000,
        .wall_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000};
}

/* ---- the log ---- */

/* A record in a group: its struct without pointers, its fields, its body. */
struct header {
    uint32_t type, flags, fields_size, body_size;
};

static void replay(const char *bytes, size_t size)
{
    const char *last = bytes + size;
    while (bytes < last) {
        struct header header;
        memcpy(&header, bytes, sizeof header);
        struct elapse__record record = {.type = (enum elapse__record_type)header.type,
                                        .flags = (uint8_t)header.flags,
                                        .fields_size = (uint16_t)header.fields_size,
                                        .body_size = header.body_size,
                                        .fields = bytes + sizeof header,
                                        .body = bytes + sizeof header + header.fields_size};
        struct elapse__record_sink *sink = &owner.log.sink;
        (void)sink->begin(sink, elapse__record_bytes_max(record.fields_size, record.body_size),
                          ELAPSE__RECORD_FOR_GROWTH);
        uint64_t position = sink->append(sink, &record);
        (void)sink->end(sink);
        record.body = NULL;
        if (elapse__queue_replay(owner.queue, position, &record) != ELAPSE__QUEUE_OK)
            end("the log cannot be replayed", NULL);
        bytes += sizeof header + header.fields_size + header.body_size;
    }
}

static void read_log(void)
{
    PGresult *result =
        run_statement("select bytes from elapse.log where queue = 'main' and part = $1::integer"
                      " order by group_number",
                      1, &owner.partition, NULL, NULL, BINARY);
    for (int i = 0; i < PQntuples(result); i++)
        replay(PQgetvalue(result, i, 0), (size_t)PQgetlength(result, i, 0));
    PQclear(result);
    owner.logged = owner.log.count;
}

/* Returns the records that are not in the database yet. */
static char *group_bytes(size_t *size)
{
    *size = 0;
    for (size_t i = owner.logged; i < owner.log.count; i++)
        *size += sizeof(struct header) + owner.log.records[i].record.fields_size +
                 owner.log.records[i].record.body_size;
    char *bytes = malloc(*size + 1), *at = bytes;
    if (bytes == NULL)
        end("no memory", NULL);
    for (size_t i = owner.logged; i < owner.log.count; i++) {
        const struct elapse__record *record = &owner.log.records[i].record;
        struct header header = {(uint32_t)record->type, record->flags, record->fields_size,
                                record->body_size};
        memcpy(at, &header, sizeof header);
        at += sizeof header;
        if (record->fields_size > 0)
            memcpy(at, record->fields, record->fields_size);
        at += record->fields_size;
        if (record->body_size > 0)
            memcpy(at, record->body, record->body_size);
        at += record->body_size;
    }
    owner.logged = owner.log.count;
    return bytes;
}

/* ---- arrays of SQL ---- */

static size_t add_text(char *array, size_t size, const char *text)
{
    if (text == NULL)
        return size + (size_t)sprintf(array + size, "NULL");
    array[size++] = '"';
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            array[size++] = '\\';
        array[size++] = *text;
    }
    array[size++] = '"';
    return size;
}

static void write_arrays(const struct elapse__inbox_list *list, char *ids, char *reasons)
{
    size_t id_size = 0, reason_size = 0;
    ids[id_size++] = reasons[reason_size++] = '{';
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            ids[id_size++] = reasons[reason_size++] = ',';
        id_size += (size_t)sprintf(ids + id_size, "%lld", (long long)list->ids[i]);
        reason_size = add_text(reasons, reason_size, list->reasons[i]);
    }
    ids[id_size++] = reasons[reason_size++] = '}';
    ids[id_size] = reasons[reason_size] = '\0';
}

/* ---- the inbox ---- */

static const char append[] =
    "with p as (update elapse.partition set last_group = $4::bigint, beat = beat + 1"
    " where queue = 'main' and part = $1::integer and epoch = $2::bigint"
    " and last_group = $4::bigint - 1 returning 1),"
    " m as materialized (select elapse.inbox_move('main', $1::integer, $5::bigint[], $6::text[])"
    " from p)"
    " insert into elapse.log select 'main', $1::integer, $4::bigint, $2::bigint, $3::bytea"
    " from p, m returning current_setting('synchronous_standby_names')";

static void submit_group(void)
{
    static char ids[ARRAY_BYTES], reasons[ARRAY_BYTES];
    struct elapse__inbox_list list = elapse__inbox_attach(owner.inbox, owner.log.next_position);
    char group[24];
    size_t size;
    char *bytes = group_bytes(&size);
    write_arrays(&list, ids, reasons);
    (void)snprintf(group, sizeof group, "%llu", (unsigned long long)owner.group + 1);
    const char *values[] = {owner.partition, owner.epoch, bytes, group, ids, reasons};
    const int sizes[] = {0, 0, (int)size, 0, 0, 0};
    const int formats[] = {0, 0, BINARY, 0, 0, 0};
    PGresult *result = run_statement(append, 6, values, sizes, formats, 0);
    if (PQntuples(result) == 0)
        exit(EXIT_FENCED);
    PQclear(result);
    free(bytes);
    owner.group++;
    elapse__inbox_confirmed(owner.inbox, now().boot_ms);
}

static struct elapse__queue_text text_at(const PGresult *result, int row, int column)
{
    return (struct elapse__queue_text){.bytes = PQgetvalue(result, row, column),
                                       .size = (size_t)PQgetlength(result, row, column)};
}

static int64_t number_at(const PGresult *result, int row, int column)
{
    const unsigned char *bytes = (const unsigned char *)PQgetvalue(result, row, column);
    uint64_t number = 0;
    for (int i = 0; i < PQgetlength(result, row, column); i++)
        number = number << 8 | bytes[i];
    return (int64_t)number;
}

static struct elapse__inbox_row row_at(const PGresult *result, int row)
{
    return (struct elapse__inbox_row){
        .id = number_at(result, row, 0),
        .age_ms = number_at(result, row, 1),
        .what = text_at(result, row, 2),
        .tube = text_at(result, row, 3),
        .key = text_at(result, row, 4),
        .tag = text_at(result, row, 5),
        .token = text_at(result, row, 6),
        .body = text_at(result, row, 7),
        .due = text_at(result, row, 8),
        .due_ms = number_at(result, row, 9),
        .cron = text_at(result, row, 10),
        .zone = text_at(result, row, 11),
        .if_key = text_at(result, row, 12),
        .max_ms = number_at(result, row, 13),
        .priority = number_at(result, row, 14),
        .ttr_ms = number_at(result, row, 15),
        .expire_ms = number_at(result, row, 16),
        .retry = number_at(result, row, 17),
        .backoff_min_ms = number_at(result, row, 18),
        .backoff_max_ms = number_at(result, row, 19),
    };
}

/* Returns how many rows there were. */
static int poll_inbox(const struct elapse__inbox_poll *poll)
{
    static struct elapse__inbox_row rows[ELAPSE__INBOX_ROWS_MAX];
    char rows_max[24], bytes_max[24];
    (void)snprintf(rows_max, sizeof rows_max, "%u", poll->rows_max);
    (void)snprintf(bytes_max, sizeof bytes_max, "%u", poll->bytes_max);
    const char *values[] = {owner.partition, rows_max, bytes_max, poll->relief ? "true" : "false"};
    PGresult *result = run_statement("select * from elapse.inbox_rows('main', $1::integer, "
                                     "$2::integer, $3::bigint, $4::boolean)",
                                     4, values, NULL, NULL, BINARY);
    if (PQnfields(result) != COLUMNS)
        end("elapse.inbox_rows has other columns", NULL);
    int count = PQntuples(result);
    for (int i = 0; i < count; i++)
        rows[i] = row_at(result, i);
    elapse__inbox_came(owner.inbox, now().boot_ms, poll->serial, rows, (size_t)count);
    PQclear(result);
    return count;
}

static bool run(void *context, const struct elapse__inbox_command *command,
                struct elapse__queue_answer *answer)
{
    (void)context;
    *answer = elapse__inbox_run(owner.queue, now(), command);
    answer->position = owner.log.next_position;
    return true;
}

/* ---- life ---- */

static void take_over(const char *connection)
{
    owner.connection = PQconnectdb(connection);
    if (PQstatus(owner.connection) != CONNECTION_OK)
        end("no connection", NULL);
    PGresult *result = run_statement(
        "update elapse.partition set epoch = epoch + 1, beat = beat + 1 where queue = 'main' and"
        " part = $1::integer returning epoch, last_group",
        1, &owner.partition, NULL, NULL, 0);
    (void)snprintf(owner.epoch, sizeof owner.epoch, "%s", PQgetvalue(result, 0, 0));
    owner.group = strtoull(PQgetvalue(result, 0, 1), NULL, 10);
    PQclear(result);
    log_init(&owner.log);
    struct elapse__queue_options options = {
        .sink = &owner.log.sink,
        .secret = {1, 2},
        .partitions = (uint32_t)strtoul(owner.partitions, NULL, 10),
        .partition = (uint32_t)strtoul(owner.partition, NULL, 10),
    };
    owner.queue = elapse__queue_new(&options);
    if (owner.queue == NULL)
        end("no memory", NULL);
    read_log();
    uint32_t life = (uint32_t)strtoul(owner.epoch, NULL, 10);
    if (elapse__queue_replay_done(owner.queue, now(), life) != ELAPSE__QUEUE_OK)
        end("the queue cannot be opened", NULL);
    owner.inbox = elapse__inbox_new(run, NULL);
    if (owner.inbox == NULL)
        end("no memory", NULL);
    elapse__inbox_own(owner.inbox, now().boot_ms);
}

/* Waits until the next poll, and takes input meanwhile. */
static void wait_for_next(void)
{
    uint64_t next_ms = elapse__inbox_next_ms(owner.inbox), now_ms = now().boot_ms;
    struct pollfd input = {.fd = owner.input_ended ? -1 : STDIN_FILENO, .events = POLLIN};
    if (poll(&input, 1, next_ms > now_ms ? (int)(next_ms - now_ms) : 0) <= 0)
        return;
    ssize_t size = read(STDIN_FILENO, owner.input + owner.input_size,
                        sizeof owner.input - owner.input_size - 1);
    if (size <= 0)
        owner.input_ended = true;
    else
        owner.input_size += (size_t)size;
}

static void work(void)
{
    struct elapse__inbox_poll poll;
    bool is_empty = false;
    while (!owner.input_ended || !is_empty) {
        wait_for_next();
        if (!elapse__inbox_ask(owner.inbox, now().boot_ms, &poll))
            continue;
        bool was_ended = owner.input_ended;
        is_empty = poll_inbox(&poll) == 0 && was_ended;
        if (elapse__inbox_holds(owner.inbox))
            submit_group();
    }
}

static void tell(const char *key)
{
    struct elapse__queue_view view;
    struct elapse__queue_text tube = {"t", 1}, name = {key, strlen(key)};
    if (elapse__queue_look_up_key(owner.queue, now(), tube, name, &view) != ELAPSE__QUEUE_OK) {
        printf("%s none\n", key);
        return;
    }
    struct elapse__queue_text body = log_body(&owner.log, view.position);
    printf("%s %.*s %llu\n", key, (int)body.size, (const char *)body.bytes,
           (unsigned long long)view.left_ms);
}

int main(int count, char **arguments)
{
    if (count != 4)
        return EXIT_FAILURE;
    owner.partition = arguments[2];
    owner.partitions = arguments[3];
    take_over(arguments[1]);
    printf("owns\n");
    (void)fflush(stdout);
    work();
    for (char *key = strtok(owner.input, "\n"); key != NULL; key = strtok(NULL, "\n"))
        tell(key);
    elapse__inbox_free(owner.inbox);
    elapse__queue_free(owner.queue);
    log_free(&owner.log);
    PQfinish(owner.connection);
    return EXIT_SUCCESS;
}
