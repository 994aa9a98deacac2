/*
 * A table of jobs or of other maps: which members are its columns, and its lines.
 */
#ifndef ELAPSE_CLI_CLIENT_COLUMNS_H
#define ELAPSE_CLI_CLIENT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include <hiredis/hiredis.h>

#include "../../base/json_writer.h"
#include "../common/buffer.h"

enum { COLUMNS_MAX = 32, COLUMN_NAME_BYTES = 24 };

/* Columns of zeros are none. */
struct columns {
    char names[COLUMNS_MAX][COLUMN_NAME_BYTES];
    size_t widths[COLUMNS_MAX]; /* of the values so far, but for the last column */
    size_t count;
};

/* Reads names with commas between them, such as "id,state,key": members of a job in LIST. Says what
 * is wrong. The context is a struct columns. */
enum exit_status columns_read(void *context, const char *names);

/* Makes these the columns: names with commas between them, of the members of any map. Requires
 * names that fit. */
void columns_set(struct columns *columns, const char *names);

/* Adds the column "body" behind the others. */
void columns_add_body(struct columns *columns);

/* Returns whether a column has this name. */
bool columns_have(const struct columns *columns, const char *name);

/* Returns whether a column is a text that the server reads from its disk: LIST needs KEYS then. */
bool columns_need_keys(const struct columns *columns);

/* Makes the columns as wide as the values of these maps need, and never narrower than before. Other
 * values of the array are ignored. */
void columns_fit(struct columns *columns, const redisReply *maps);

/* Adds the line of titles; and that of a map: times in UTC, durations in units, '-' where there is
 * no value. A value wider than its column moves those behind it. */
void columns_add_titles(struct elapse__buffer *out, const struct columns *columns);
void columns_add_line(struct elapse__buffer *out, const struct columns *columns,
                      const redisReply *map);

/* Adds the members of a map that are columns as one object of JSON. */
void columns_add_json(struct elapse__json *json, const struct columns *columns,
                      const redisReply *map);

#endif
