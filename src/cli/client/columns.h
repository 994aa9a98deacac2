/*
 * A table of jobs or of other maps. The struct says which members are columns, and the functions
 * write the lines.
 */
#ifndef ELAPSE_CLI_CLIENT_COLUMNS_H
#define ELAPSE_CLI_CLIENT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include <hiredis/hiredis.h>

#include "../../base/json_writer.h"
#include "../common/buffer.h"

enum { COLUMNS_MAX = 32, COLUMN_NAME_BYTES = 24 };

/* A struct of zeros has no columns. */
struct columns {
    char names[COLUMNS_MAX][COLUMN_NAME_BYTES];
    size_t widths[COLUMNS_MAX]; /* the widest value so far of each column but the last */
    size_t count;
};

/* Reads names with commas between them, such as "id,state,key". They are members of a job in LIST.
 * Prints what is wrong, and returns the status for it. `context` is a struct columns. */
enum exit_status columns_read(void *context, const char *names);

/* Takes these names as the columns, in place of others. Commas stand between the names. */
void columns_set(struct columns *columns, const char *names);

/* Adds the column "body" after the others. */
void columns_add_body(struct columns *columns);

/* Returns whether there is a column of this name. */
bool columns_have(const struct columns *columns, const char *name);

/* Returns whether a column is a text that the server reads from its disk. LIST needs KEYS for such
 * a column. */
bool columns_need_keys(const struct columns *columns);

/* Makes the columns as wide as the values of these maps. */
void columns_fit(struct columns *columns, const redisReply *maps);

/* columns_add_titles adds the line of titles. columns_add_line adds the line of a map: times in
 * UTC, durations in units, and '-' where there is no value. A value that is wider than its column
 * moves the columns after it. */
void columns_add_titles(struct elapse__buffer *out, const struct columns *columns);
void columns_add_line(struct elapse__buffer *out, const struct columns *columns,
                      const redisReply *map);

/* Adds the members of a map that are columns as one object of JSON. */
void columns_add_json(struct elapse__json *json, const struct columns *columns,
                      const redisReply *map);

#endif
