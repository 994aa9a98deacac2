/*
 * Reads the rows of the inbox that a poll returned.
 */
#include "../../base/assert.h"
#include "../inbox/inbox.h"
#include "link_results.h"

/* take_number and take_text read column number `*column`, and add 1 to it. A null is read as 0, or
 * as a text without bytes. */

static bool take_number(const PGresult *rows, int row, int *column, int64_t *number)
{
    uint64_t taken = 0;
    int at = (*column)++;
    if (!PQgetisnull(rows, row, at) && !elapse__database_link_take_number(rows, row, at, &taken))
        return false;
    *number = (int64_t)taken;
    return true;
}

static bool take_text(const PGresult *rows, int row, int *column, struct elapse__queue_text *text)
{
    int at = (*column)++;
    *text =
        (struct elapse__queue_text){PQgetvalue(rows, row, at), (size_t)PQgetlength(rows, row, at)};
    return true;
}

static bool take_row(const PGresult *rows, int row, struct elapse__inbox_row *taken)
{
    int column = 0;
    bool is_taken =
        take_number(rows, row, &column, &taken->id) &&
        take_number(rows, row, &column, &taken->age_ms) &&
        take_text(rows, row, &column, &taken->what) &&
        take_text(rows, row, &column, &taken->tube) && take_text(rows, row, &column, &taken->key) &&
        take_text(rows, row, &column, &taken->tag) &&
        take_text(rows, row, &column, &taken->token) &&
        take_text(rows, row, &column, &taken->body) && take_text(rows, row, &column, &taken->due) &&
        take_number(rows, row, &column, &taken->due_ms) &&
        take_text(rows, row, &column, &taken->cron) &&
        take_text(rows, row, &column, &taken->zone) &&
        take_text(rows, row, &column, &taken->if_key) &&
        take_number(rows, row, &column, &taken->max_ms) &&
        take_number(rows, row, &column, &taken->priority) &&
        take_number(rows, row, &column, &taken->ttr_ms) &&
        take_number(rows, row, &column, &taken->expire_ms) &&
        take_number(rows, row, &column, &taken->retry) &&
        take_number(rows, row, &column, &taken->backoff_min_ms) &&
        take_number(rows, row, &column, &taken->backoff_max_ms);
    ELAPSE__ASSERT(!is_taken || column == ELAPSE__INBOX_COLUMNS);
    return is_taken;
}

bool elapse__database_link_take_inbox(const struct elapse__database_link *link,
                                      struct elapse__inbox_row *rows, size_t capacity,
                                      size_t *count)
{
    const PGresult *result = link->results[0];
    ELAPSE__ASSERT_THAT(link->kind, ==, ELAPSE__STATEMENT_KINDS);
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQnfields(result) != ELAPSE__INBOX_COLUMNS ||
        (size_t)PQntuples(result) > capacity)
        return false;
    *count = (size_t)PQntuples(result);
    for (int row = 0; row < PQntuples(result); row++)
        if (!take_row(result, row, &rows[row]))
            return false;
    return true;
}
