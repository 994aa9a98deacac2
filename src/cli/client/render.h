/*
 * Writes a map of the server, such as that of LOOKUP or STATS, as JSON or as lines for people. No
 * function here has an effect. Leaves members out whose name is no name for answer_is_name.
 */
#ifndef ELAPSE_CLI_CLIENT_RENDER_H
#define ELAPSE_CLI_CLIENT_RENDER_H

#include <stdint.h>

#include <hiredis/hiredis.h>

#include "../../base/json_writer.h"
#include "../common/buffer.h"

/* Adds the map as one object of JSON, without a line end. Texts that are not UTF-8 become base64.
 */
void render_json(struct elapse__json *out, const redisReply *map);

/* Adds one member. An array becomes an array: of its texts those that are not UTF-8 are objects
 * with the member name_base64. Requires that answer_is_name accepts the name. */
void render_json_member(struct elapse__json *out, const redisReply *name, const redisReply *value);

/* Adds a value for people. The kind that belongs to the name decides its form. Adds '-' if there is
 * no value. Texts of an array have commas between them. */
void render_value(struct elapse__buffer *out, const char *name, const redisReply *value);

/* Adds a line for each member, with its name and its value in columns. Times are in UTC, durations
 * are in units, and texts are written as by render_text. */
void render_lines(struct elapse__buffer *out, const redisReply *map);

/* Adds a text of the server, made harmless for a terminal by mask_text. */
void render_text(struct elapse__buffer *out, const redisReply *text);

/* Adds a due time, in milliseconds since 1970, as 2026-11-20T17:30:00.000Z. */
void render_moment(struct elapse__buffer *out, uint64_t milliseconds);

/* Adds a duration, cut to its two largest units: "3h 12m", "250ms". */
void render_duration(struct elapse__buffer *out, uint64_t milliseconds);

#endif
