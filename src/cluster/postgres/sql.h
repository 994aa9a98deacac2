/*
 * The text of each statement, with its parameters. sql.c has all SQL of a partition's session.
 * schema.sql has the tables and functions that this SQL uses.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_SQL_H
#define ELAPSE__CLUSTER_POSTGRES_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../ownership/statements.h"
#include "names.h"

enum {
    ELAPSE__SQL_PARAMETERS = 9,
    ELAPSE__SQL_TEXT_BYTES = 1200,
    ELAPSE__SQL_NUMBER_BYTES = 24,
};

/* The values that all statements of a partition share. */
struct elapse__sql_place {
    const char *queue;
    uint32_t partition;
    const char *me;
    const char *address;
    uint32_t lease_ms;
    uint32_t backend; /* the number of the server's process, as libpq got it when it connected */
};

/* A statement as libpq takes it. Parameters are texts or bytes. */
struct elapse__sql {
    char text[ELAPSE__SQL_TEXT_BYTES];
    int count;
    unsigned types[ELAPSE__SQL_PARAMETERS];
    const char *values[ELAPSE__SQL_PARAMETERS];
    int sizes[ELAPSE__SQL_PARAMETERS];
    int are_bytes[ELAPSE__SQL_PARAMETERS]; /* 1 if the parameter is bytes, 0 if it is a text */
    char numbers[ELAPSE__SQL_PARAMETERS][ELAPSE__SQL_NUMBER_BYTES];
    struct elapse__database_name session;
    char *ids, *reasons; /* ids and reasons for the inbox, as arrays of SQL */
};

/* Writes the SQL of a statement. For CONNECT, writes the SQL that begins a session (W3 of
 * statements.h). Values point into `place`, the statement and `sql`. Returns false if there is no
 * memory. */
bool elapse__sql_write(struct elapse__sql *sql, const struct elapse__sql_place *place,
                       const struct elapse__statement *statement);
void elapse__sql_free(struct elapse__sql *sql);

/* Writes the poll of the inbox. */
void elapse__sql_write_poll(struct elapse__sql *sql, const struct elapse__sql_place *place,
                            uint32_t rows_max, uint32_t bytes_max, bool relief);

/* Returns whether a second statement after this kind selects the settings again (W2). */
bool elapse__sql_is_fenced_write(enum elapse__statement_kind kind);

/* The second statement of a fenced write. */
extern const char elapse__sql_look_again[];

/* An expression for the timeline of the log that a primary writes. It fails on a server in
 * recovery. */
#define ELAPSE__SQL_TIMELINE \
    "('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint"

/* The columns of results. Numbers are bigints. */
enum {
    ELAPSE__ROW_COLUMNS = 9,      /* epoch, beat, last_group, last_hash, tail, lease_ms, owner,
                                     address, stopped */
    ELAPSE__SETTINGS_COLUMNS = 5, /* standby_names, commit, loaded_us, clock_ms, backend */
    ELAPSE__SESSION_COLUMNS = 3,  /* system_identifier, timeline, in_recovery as 0 or 1 */
    ELAPSE__LOG_COLUMNS = 4,      /* group, epoch, hash_of_previous, bytes */
    ELAPSE__CLOCKS_COLUMNS = 3,   /* living, right, agreeing */
    ELAPSE__INBOX_COLUMNS = 20,   /* the fields of struct elapse__inbox_row */
};

#endif
