/*
 * All SQL of a partition's session. `@` stands for the name of the log's table.
 */
#include "sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "names.h"

#define SETTINGS                                                                           \
    "current_setting('synchronous_standby_names'), current_setting('synchronous_commit')," \
    " (extract(epoch from pg_conf_load_time()) * 1000000)::bigint,"                        \
    " (extract(epoch from clock_timestamp()) * 1000)::bigint, pg_backend_pid()::bigint"

#define ROW "epoch, beat, last_group, last_hash, tail, lease_ms::bigint, owner, address, stopped"

/* Leaves out settings that the server's version does not have. Behind a pooler nothing is set,
 * because another client would get the session with these settings (W6). The statements set the
 * isolation and the right to write, because other defaults would change what the statements below
 * mean. */
static const char begin_session[] =
    "select set_config(name, value, false)"
    " from (values ('application_name', $1), ('lock_timeout', $2), ('statement_timeout', '0'),"
    "  ('client_min_messages', 'warning'), ('synchronous_commit', 'on'),"
    "  ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0'),"
    "  ('transaction_timeout', '0'), ('default_transaction_read_only', 'off'),"
    "  ('default_transaction_isolation', 'read committed'), ('search_path', 'pg_catalog'))"
    " as wanted(name, value) join pg_settings using (name) where pg_backend_pid() = $3";

/* The inner select asks only once whether the server is in recovery, because a promotion may come
 * between two questions. */
static const char session[] =
    "select system_identifier,"
    " case when in_recovery then 0"
    "  else " ELAPSE__SQL_TIMELINE " end,"
    " in_recovery::int::bigint, " SETTINGS
    " from (select pg_is_in_recovery() as in_recovery offset 0) as role, pg_control_system()";

static const char read_row[] =
    "select " ROW ", " SETTINGS " from elapse.partition where queue = $1 and part = $2";

/* Reads a group if all groups before it together have fewer bytes than the limit. */
static const char read_log[] =
    "select group_number, epoch, hash_of_previous, bytes"
    " from (select *, sum(octet_length(bytes)) over (order by group_number"
    "   rows between unbounded preceding and 1 preceding) as bytes_before"
    "  from (select * from elapse.@ where group_number >= $1 order by group_number limit $2)"
    "   as page)"
    " as summed where bytes_before is null or bytes_before < $3 order by group_number";

static const char take_over[] =
    "update elapse.partition set epoch = epoch + 1, owner = $3, address = $4, beat = beat + 1"
    " where queue = $1 and part = $2 and epoch = $5 and beat = $6 and last_group = $7"
    " and stopped = '' returning " ROW ", " SETTINGS;

static const char beat[] =
    "update elapse.partition set beat = beat + 1, tail = greatest(tail, $5)"
    " where queue = $1 and part = $2 and epoch = $3 and owner = $4 returning " ROW ", " SETTINGS;

/* The UPDATE is the fence, which lets only the owner write. The statement locks the row, waits for
 * another statement that is changing the row, and then reads the row again. A condition alone would
 * read the old row. */
#define FENCE                                                                                     \
    "with fence as (update elapse.partition set last_group = $4, last_hash = $5, beat = beat + 1" \
    " where queue = $1 and part = $2 and epoch = $3 and last_group = $4 - 1 and stopped = ''"     \
    " returning 1)"
#define INSERT                                                             \
    " insert into elapse.@ (group_number, epoch, hash_of_previous, bytes)" \
    " select $4, $3, $6, $7 from fence"

static const char append[] = FENCE INSERT " returning " SETTINGS;

/* The function elapse.inbox_move takes rows out of the inbox, or raises EL001 if a row has gone. It
 * is not called if the fence returns no row. */
static const char append_from_inbox[] =
    FENCE ", moved as materialized"
          " (select elapse.inbox_move($1, $2::integer, $8, $9) from fence)" INSERT
          ", moved returning " SETTINGS;

static const char make_table[] = "select elapse.make_log_table($1, $2, $3)";

static const char drop_tables[] = "select elapse.drop_log_tables($1, $2, $3, $4)";

static const char release[] =
    "update elapse.partition set owner = '', address = '', beat = beat + 1"
    " where queue = $1 and part = $2 and epoch = $3 and owner = $4";

/* Expressions see the row as it was before the update. The words of the first node that writes a
 * mark stay. `beat` is raised only together with a mark, because followers measure the lease by it.
 * Nodes that come late again and again must not hide from the followers that the owner has died. */
#define WHY                                                                                     \
    "format('%s knows group %s of epoch %s, and the database ended with group %s of epoch %s'," \
    " $3, $4, $5, last_group, epoch)"
#define IS_NEW "stopped = '' and epoch <= $5"
static const char mark[] =
    "update elapse.partition set epoch = greatest(epoch, $5),"
    " beat = beat + case when " IS_NEW " then 1 else 0 end,"
    " stopped = case when " IS_NEW " then " WHY " else stopped end,"
    " missed = case when missed = '' and epoch > $5 then " WHY " else missed end"
    " where queue = $1 and part = $2 returning " ROW ", " SETTINGS;

/* Compares the database, too, because two databases of a server may have queues of the same
 * name. */
static const char terminate[] =
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1"
    " and datname = current_database() and pid <> pg_backend_pid() and backend_xid is not null";

static const char clocks[] = "select living, near, agreeing from elapse.tell_clock($1, $2, $3, $4)";

const char elapse__sql_look_again[] = "select " SETTINGS;

/* Names the columns, because a later version of the function may return more columns. */
static const char read_inbox[] =
    "select id, age_ms, what, tube, key, tag, token, body, due, due_ms, cron, zone, ifkey, max_ms,"
    " priority, ttr_ms, expire_ms, retry, backoff_min_ms, backoff_max_ms"
    " from elapse.inbox_rows($1, $2::integer, $3::integer, $4, $5 > 0)";

/* ---- the statements, and their parameters ---- */

/* Each letter stands for a parameter, from $1 on. The function `add` knows the letters. */
static const struct {
    const char *text;
    const char *parameters;
} statements[ELAPSE__STATEMENT_KINDS] = {
    [ELAPSE__STATEMENT_CONNECT] = {begin_session, "swk"},
    [ELAPSE__STATEMENT_SESSION] = {session, ""},
    [ELAPSE__STATEMENT_READ_ROW] = {read_row, "qp"},
    [ELAPSE__STATEMENT_READ_LOG] = {read_log, "gGB"},
    [ELAPSE__STATEMENT_TAKE_OVER] = {take_over, "qpmaebg"},
    [ELAPSE__STATEMENT_BEAT] = {beat, "qpeml"},
    [ELAPSE__STATEMENT_APPEND] = {append, "qpeghvd"},
    [ELAPSE__STATEMENT_MAKE_TABLE] = {make_table, "qpt"},
    [ELAPSE__STATEMENT_DROP_TABLES] = {drop_tables, "qptD"},
    [ELAPSE__STATEMENT_RELEASE] = {release, "qpem"},
    [ELAPSE__STATEMENT_MARK] = {mark, "qpmge"},
    [ELAPSE__STATEMENT_CLOCKS] = {clocks, "qaAf"},
    [ELAPSE__STATEMENT_TERMINATE] = {terminate, "s"},
};

/* Numbers of types in the table pg_type. They are part of PostgreSQL's protocol. */
enum {
    TYPE_BYTEA = 17,
    TYPE_INT8 = 20,
    TYPE_TEXT = 25,
    TYPE_TEXT_ARRAY = 1009,
    TYPE_INT8_ARRAY = 1016
};

static void add_value(struct elapse__sql *sql, unsigned type, const void *value, size_t bytes)
{
    ELAPSE__ASSERT_THAT(sql->count, <, ELAPSE__SQL_PARAMETERS);
    ELAPSE__ASSERT_THAT(bytes, <=, INT32_MAX);
    sql->types[sql->count] = type;
    sql->values[sql->count] = value;
    sql->sizes[sql->count] = (int)bytes;
    sql->are_bytes[sql->count] = type == TYPE_BYTEA;
    sql->count++;
}

static void add_text(struct elapse__sql *sql, const char *text)
{
    add_value(sql, TYPE_TEXT, text, 0);
}

static const char *number_text(struct elapse__sql *sql, int64_t number)
{
    ELAPSE__ASSERT_THAT(sql->count, <, ELAPSE__SQL_PARAMETERS);
    char *text = sql->numbers[sql->count];
    (void)snprintf(text, ELAPSE__SQL_NUMBER_BYTES, "%" PRId64, number);
    return text;
}

/* Adds a number as a bigint. A hash becomes the bigint that has the same bits. */
static void add_number(struct elapse__sql *sql, uint64_t number)
{
    add_value(sql, TYPE_INT8, number_text(sql, (int64_t)number), 0);
}

/* Returns the text that a letter of `statements` stands for, or NULL if the letter stands for no
 * text. */
static const char *text_of(struct elapse__sql *sql, const struct elapse__sql_place *place,
                           char letter)
{
    switch (letter) {
    case 'q':
        return place->queue;
    case 'm':
        return place->me;
    case 'a':
        return place->address;
    case 's':
        return sql->session.text;
    case 'w':
        return number_text(sql, place->lease_ms / 4);
    default:
        return NULL;
    }
}

static uint64_t number_of(const struct elapse__sql_place *place,
                          const struct elapse__statement *statement, char letter)
{
    switch (letter) {
    case 'p':
        return place->partition;
    case 'e':
        return statement->epoch;
    case 'b':
        return statement->beat;
    case 'g':
        return statement->group;
    case 'h':
        return statement->hash;
    case 'v':
        return statement->previous_hash;
    case 'l':
        return statement->tail;
    case 't':
        return statement->table;
    case 'A':
        return (uint64_t)statement->ahead_ms;
    case 'f':
        return 2 * (uint64_t)place->lease_ms;
    case 'k':
        return place->backend;
    case 'G':
        return ELAPSE__READ_LOG_GROUPS;
    case 'B':
        return ELAPSE__READ_LOG_BYTES;
    default:
        ELAPSE__ASSERT_THAT(letter, ==, 'D');
        return ELAPSE__DROP_TABLES_AT_ONCE;
    }
}

static void add(struct elapse__sql *sql, const struct elapse__sql_place *place,
                const struct elapse__statement *statement, char letter)
{
    const char *text = text_of(sql, place, letter);
    if (text != NULL)
        add_text(sql, text);
    else if (letter == 'd')
        add_value(sql, TYPE_BYTEA, statement->bytes, statement->size);
    else
        add_number(sql, number_of(place, statement, letter));
}

static bool add_ids(struct elapse__sql *sql, const struct elapse__statement *statement)
{
    size_t room = 3 + statement->inbox_count * ELAPSE__SQL_NUMBER_BYTES, length = 0;
    sql->ids = malloc(room);
    if (sql->ids == NULL)
        return false;
    for (size_t i = 0; i < statement->inbox_count; i++)
        length += (size_t)snprintf(sql->ids + length, room - length, "%c%" PRId64,
                                   i == 0 ? '{' : ',', statement->inbox[i]);
    ELAPSE__ASSERT_THAT(length + 2, <=, room);
    (void)snprintf(sql->ids + length, room - length, "}");
    add_value(sql, TYPE_INT8_ARRAY, sql->ids, 0);
    return true;
}

/* Writes an element of an array behind `at`, and returns its end. */
static char *write_reason(char *at, const char *reason)
{
    static const char null[] = "NULL";
    if (reason == NULL)
        return (char *)memcpy(at, null, sizeof null) + sizeof null - 1;
    *at++ = '"';
    for (; *reason != '\0'; reason++) {
        if (*reason == '"' || *reason == '\\')
            *at++ = '\\';
        *at++ = *reason;
    }
    *at++ = '"';
    return at;
}

static bool add_reasons(struct elapse__sql *sql, const struct elapse__statement *statement)
{
    const char *const *reasons = statement->inbox_reasons;
    size_t room = 3;
    for (size_t i = 0; reasons != NULL && i < statement->inbox_count; i++)
        room += 5 + (reasons[i] != NULL ? 2 * strlen(reasons[i]) : 0);
    add_value(sql, TYPE_TEXT_ARRAY, NULL, 0);
    if (reasons == NULL)
        return true;
    char *at = sql->reasons = malloc(room);
    if (at == NULL)
        return false;
    for (size_t i = 0; i < statement->inbox_count; i++) {
        *at++ = i == 0 ? '{' : ',';
        at = write_reason(at, reasons[i]);
    }
    ELAPSE__ASSERT_THAT((size_t)(at - sql->reasons) + 2, <=, room);
    (void)snprintf(at, 2, "}");
    sql->values[sql->count - 1] = sql->reasons;
    return true;
}

/* Copies the text, and writes the name of the table in place of `@`. */
static void copy_text(struct elapse__sql *sql, const char *text, const char *table)
{
    size_t length = 0;
    for (; *text != '\0'; text++) {
        size_t count = *text == '@' ? strlen(table) : 1;
        ELAPSE__ASSERT_THAT(length + count, <, sizeof sql->text);
        memcpy(sql->text + length, *text == '@' ? table : text, count);
        length += count;
    }
    sql->text[length] = '\0';
}

bool elapse__sql_write(struct elapse__sql *sql, const struct elapse__sql_place *place,
                       const struct elapse__statement *statement)
{
    ELAPSE__ASSERT_THAT(statement->kind, <, ELAPSE__STATEMENT_KINDS);
    bool has_inbox = statement->inbox_count > 0;
    const char *text = has_inbox ? append_from_inbox : statements[statement->kind].text;
    const char *letters = statements[statement->kind].parameters;
    ELAPSE__ASSERT(!has_inbox || statement->kind == ELAPSE__STATEMENT_APPEND);

    sql->count = 0;
    sql->ids = NULL;
    sql->reasons = NULL;
    sql->session = elapse__database_session_name(place->queue, place->partition);
    copy_text(sql, text,
              elapse__database_log_table_name(place->queue, place->partition,
                                              statement->group / ELAPSE__LOG_TABLE_GROUPS)
                  .text);
    for (; *letters != '\0'; letters++)
        add(sql, place, statement, *letters);
    ELAPSE__ASSERT_THAT((size_t)sql->count, ==, strlen(statements[statement->kind].parameters));
    return !has_inbox || (add_ids(sql, statement) && add_reasons(sql, statement));
}

void elapse__sql_write_poll(struct elapse__sql *sql, const struct elapse__sql_place *place,
                            uint32_t rows_max, uint32_t bytes_max, bool relief)
{
    ELAPSE__ASSERT_THAT(rows_max, >, 0);
    ELAPSE__ASSERT_THAT(bytes_max, >, 0);
    sql->count = 0;
    sql->ids = NULL;
    sql->reasons = NULL;
    copy_text(sql, read_inbox, "");
    add_text(sql, place->queue);
    add_number(sql, place->partition);
    add_number(sql, rows_max);
    add_number(sql, bytes_max);
    add_number(sql, relief ? 1 : 0);
}

void elapse__sql_free(struct elapse__sql *sql)
{
    free(sql->ids);
    free(sql->reasons);
    sql->ids = NULL;
    sql->reasons = NULL;
}

bool elapse__sql_is_fenced_write(enum elapse__statement_kind kind)
{
    return kind == ELAPSE__STATEMENT_TAKE_OVER || kind == ELAPSE__STATEMENT_BEAT ||
           kind == ELAPSE__STATEMENT_APPEND || kind == ELAPSE__STATEMENT_MARK;
}
