/*
 * Reads the results of a statement. A result of another shape than the SQL asks for counts as an
 * error. A server with other tables may send such a result.
 */
#include <string.h>

#include "../../base/assert.h"
#include "codes.h"
#include "link_results.h"

/* ---- notes ---- */

void elapse__database_link_note(struct elapse__database_link *link, const char *message)
{
    size_t length = strcspn(message, "\r\n");
    if (length >= sizeof link->message)
        length = sizeof link->message - 1;
    memcpy(link->message, message, length);
    link->message[length] = '\0';
}

const char *elapse__database_link_message(const struct elapse__database_link *link)
{
    return link->message;
}

/* ---- fields ---- */

bool elapse__database_link_take_number(const PGresult *rows, int row, int column, uint64_t *number)
{
    enum { BYTES = 8 };
    ELAPSE__ASSERT_THAT(row, <, PQntuples(rows));
    ELAPSE__ASSERT_THAT(column, <, PQnfields(rows));
    if (PQgetisnull(rows, row, column) || PQgetlength(rows, row, column) != BYTES)
        return false;
    const unsigned char *bytes = (const unsigned char *)PQgetvalue(rows, row, column);
    *number = 0;
    for (unsigned i = 0; i < BYTES; i++)
        *number = *number << 8 | bytes[i];
    return true;
}

static bool take_text(const PGresult *rows, int column, const char **text)
{
    ELAPSE__ASSERT_THAT(column, <, PQnfields(rows));
    if (PQgetisnull(rows, 0, column))
        return false;
    *text = PQgetvalue(rows, 0, column); /* libpq ends each value with a NUL */
    return true;
}

/* take_settings, take_row and take_session read the first row of a result. */

static bool take_settings(const PGresult *rows, int column,
                          struct elapse__partition_settings *settings)
{
    uint64_t loaded_us, clock_ms;
    if (!take_text(rows, column, &settings->standby_names) ||
        !take_text(rows, column + 1, &settings->commit) ||
        !elapse__database_link_take_number(rows, 0, column + 2, &loaded_us) ||
        !elapse__database_link_take_number(rows, 0, column + 3, &clock_ms) ||
        !elapse__database_link_take_number(rows, 0, column + 4, &settings->backend))
        return false;
    settings->loaded_us = (int64_t)loaded_us;
    settings->clock_ms = (int64_t)clock_ms;
    return true;
}

static bool take_row(const PGresult *rows, struct elapse__partition_row *row)
{
    uint64_t lease_ms;
    if (!elapse__database_link_take_number(rows, 0, 0, &row->epoch) ||
        !elapse__database_link_take_number(rows, 0, 1, &row->beat) ||
        !elapse__database_link_take_number(rows, 0, 2, &row->last_group) ||
        !elapse__database_link_take_number(rows, 0, 3, &row->last_hash) ||
        !elapse__database_link_take_number(rows, 0, 4, &row->tail) ||
        !elapse__database_link_take_number(rows, 0, 5, &lease_ms) ||
        !take_text(rows, 6, &row->owner) || !take_text(rows, 7, &row->address) ||
        !take_text(rows, 8, &row->stopped))
        return false;
    row->lease_ms = (uint32_t)lease_ms;
    return true;
}

static bool take_session(const PGresult *rows, struct elapse__partition_session *session)
{
    uint64_t timeline, in_recovery;
    if (!elapse__database_link_take_number(rows, 0, 0, &session->system_identifier) ||
        !elapse__database_link_take_number(rows, 0, 1, &timeline) ||
        !elapse__database_link_take_number(rows, 0, 2, &in_recovery))
        return false;
    session->timeline = (uint32_t)timeline;
    session->in_recovery = in_recovery != 0;
    return true;
}

static bool take_group(const PGresult *rows, int row, struct elapse__partition_log_row *group)
{
    if (!elapse__database_link_take_number(rows, row, 0, &group->group) ||
        !elapse__database_link_take_number(rows, row, 1, &group->epoch) ||
        !elapse__database_link_take_number(rows, row, 2, &group->hash_of_previous) ||
        PQgetisnull(rows, row, 3))
        return false;
    group->bytes = PQgetvalue(rows, row, 3);
    group->size = (size_t)PQgetlength(rows, row, 3);
    return true;
}

/* ---- rows ---- */

static bool has_shape(const PGresult *rows, int most, int columns)
{
    return PQresultStatus(rows) == PGRES_TUPLES_OK && PQntuples(rows) <= most &&
           PQnfields(rows) == columns;
}

static bool take_log(struct elapse__database_link *link, const PGresult *rows,
                     struct elapse__statement_result *result)
{
    if (!has_shape(rows, ELAPSE__READ_LOG_GROUPS, ELAPSE__LOG_COLUMNS))
        return false;
    for (int i = 0; i < PQntuples(rows); i++)
        if (!take_group(rows, i, &link->log[i]))
            return false;
    result->log = link->log;
    result->count = (uint64_t)PQntuples(rows);
    return true;
}

/* Takes one row or none. The row has `columns` columns, and then the columns of the settings. */
static bool take_one(const PGresult *rows, int columns, struct elapse__partition_settings *settings,
                     struct elapse__statement_result *result)
{
    if (!has_shape(rows, 1, columns + ELAPSE__SETTINGS_COLUMNS))
        return false;
    result->count = (uint64_t)PQntuples(rows);
    return result->count == 0 || take_settings(rows, columns, settings);
}

static bool take_clocks(const PGresult *rows, struct elapse__clock_others *others)
{
    return has_shape(rows, 1, ELAPSE__CLOCKS_COLUMNS) && PQntuples(rows) == 1 &&
           elapse__database_link_take_number(rows, 0, 0, &others->living) &&
           elapse__database_link_take_number(rows, 0, 1, &others->right) &&
           elapse__database_link_take_number(rows, 0, 2, &others->agreeing);
}

static bool take_first(struct elapse__database_link *link, const PGresult *rows,
                       struct elapse__statement_result *result)
{
    switch (link->kind) {
    case ELAPSE__STATEMENT_SESSION:
        return take_one(rows, ELAPSE__SESSION_COLUMNS, &result->after, result) &&
               result->count == 1 && take_session(rows, &result->session);
    case ELAPSE__STATEMENT_READ_ROW:
        return take_one(rows, ELAPSE__ROW_COLUMNS, &result->after, result) &&
               (result->count == 0 || take_row(rows, &result->row));
    case ELAPSE__STATEMENT_TAKE_OVER:
    case ELAPSE__STATEMENT_BEAT:
    case ELAPSE__STATEMENT_MARK:
        return take_one(rows, ELAPSE__ROW_COLUMNS, &result->before, result) &&
               (result->count == 0 || take_row(rows, &result->row));
    case ELAPSE__STATEMENT_APPEND:
        return take_one(rows, 0, &result->before, result);
    case ELAPSE__STATEMENT_READ_LOG:
        return take_log(link, rows, result);
    case ELAPSE__STATEMENT_CLOCKS:
        return take_clocks(rows, &result->others);
    case ELAPSE__STATEMENT_DROP_TABLES:
        return has_shape(rows, 1, 1) &&
               elapse__database_link_take_number(rows, 0, 0, &result->count);
    default: /* results of other statements have nothing to read */
        return true;
    }
}

/* ---- outcomes ---- */

/* Returns whether the error means that a table, a function or a right is missing (R13 of
 * src/cluster/ownership/partition.h). */
static bool is_refusal(const PGresult *result)
{
    static const char *const codes[] = {ELAPSE__CODE_NO_TABLE, ELAPSE__CODE_NO_SCHEMA,
                                        ELAPSE__CODE_NO_FUNCTION, ELAPSE__CODE_NO_COLUMN,
                                        ELAPSE__CODE_NO_RIGHT};
    bool is_one = false;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        is_one = is_one || elapse__database_has_code(result, codes[i]);
    return is_one;
}

/* Returns the outcome of a result (W5 of statements.h). The outcome is ERROR only if the server
 * calls it an error, because then the session can be used afterwards. */
static enum elapse__statement_outcome judge(const PGresult *result)
{
    switch (PQresultStatus(result)) {
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
        return ELAPSE__OUTCOME_ROWS;
    case PGRES_FATAL_ERROR:
        break;
    default:
        return ELAPSE__OUTCOME_LOST;
    }
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity == NULL || strcmp(severity, "ERROR") != 0)
        return ELAPSE__OUTCOME_LOST;
    if (elapse__database_has_code(result, ELAPSE__CODE_LOCKED))
        return ELAPSE__OUTCOME_LOCKED;
    if (is_refusal(result))
        return ELAPSE__OUTCOME_REFUSED;
    return elapse__database_has_code(result, ELAPSE__CODE_MOVED) ? ELAPSE__OUTCOME_MOVED
                                                                 : ELAPSE__OUTCOME_ERROR;
}

/* Returns whether READ_LOG failed because the table does not exist. That counts as no groups. */
static bool lacks_table(const struct elapse__database_link *link)
{
    return link->kind == ELAPSE__STATEMENT_READ_LOG &&
           elapse__database_has_code(link->results[0], ELAPSE__CODE_NO_TABLE);
}

/* Judges the second statement of a fenced write, which only reads the settings. If that statement
 * fails, the outcome is an error, because the write before it may have been done. */
static enum elapse__statement_outcome judge_look(struct elapse__database_link *link,
                                                 struct elapse__statement_result *result)
{
    const PGresult *look = link->results[1];
    ELAPSE__ASSERT(elapse__sql_is_fenced_write(link->kind)); /* W2 */
    enum elapse__statement_outcome outcome = judge(look);
    if (outcome == ELAPSE__OUTCOME_LOST)
        return outcome;
    bool is_good = outcome == ELAPSE__OUTCOME_ROWS && PQntuples(look) == 1 &&
                   has_shape(look, 1, ELAPSE__SETTINGS_COLUMNS) &&
                   take_settings(look, 0, &result->after);
    return is_good ? result->outcome : ELAPSE__OUTCOME_ERROR;
}

static void note_error(struct elapse__database_link *link)
{
    for (size_t i = 0; i < link->syncs; i++)
        if (PQresultStatus(link->results[i]) == PGRES_FATAL_ERROR) {
            elapse__database_link_note(link, PQresultErrorMessage(link->results[i]));
            return;
        }
}

static enum elapse__statement_outcome judge_first(struct elapse__database_link *link,
                                                  struct elapse__statement_result *result)
{
    const PGresult *first = link->results[0];
    enum elapse__statement_outcome outcome = judge(first);
    if (lacks_table(link))
        return ELAPSE__OUTCOME_ROWS;
    bool is_odd = outcome == ELAPSE__OUTCOME_MOVED && link->kind != ELAPSE__STATEMENT_APPEND;
    if (is_odd || (outcome == ELAPSE__OUTCOME_ROWS && !take_first(link, first, result)))
        return ELAPSE__OUTCOME_ERROR;
    return outcome;
}

/* Returns whether another backend (process of the server) than that of the connection has answered
 * (W6 of statements.h). */
static bool is_pooled(const struct elapse__database_link *link,
                      const struct elapse__statement_result *result)
{
    uint64_t mine = link->place.backend, before = result->before.backend,
             after = result->after.backend;
    if (link->kind == ELAPSE__STATEMENT_CONNECT && result->outcome == ELAPSE__OUTCOME_ROWS)
        return PQntuples(link->results[0]) == 0;
    return (before != 0 && before != mine) || (after != 0 && after != mine);
}

void elapse__database_link_read_results(struct elapse__database_link *link,
                                        struct elapse__statement_result *result)
{
    ELAPSE__ASSERT_THAT(link->syncs_taken, ==, link->syncs);
    ELAPSE__ASSERT_THAT(link->syncs, ==, elapse__sql_is_fenced_write(link->kind) ? 2U : 1U);
    result->outcome = judge_first(link, result);
    if (link->syncs == 2 && result->outcome != ELAPSE__OUTCOME_LOST)
        result->outcome = judge_look(link, result);
    result->is_pooled = is_pooled(link, result);
    if (result->outcome != ELAPSE__OUTCOME_ROWS)
        note_error(link);
    /* A session that could not be begun cannot be used: the outcome is LOST. */
    if (link->kind == ELAPSE__STATEMENT_CONNECT && result->outcome != ELAPSE__OUTCOME_ROWS)
        result->outcome = ELAPSE__OUTCOME_LOST;
}
