/*
 * Writes a map of the server, such as that of LOOKUP or STATS, as JSON and as lines for people.
 * Nothing here has an effect. Members are left out if answer_is_name refuses their name.
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

/* Adds one member. Requires a name that answer_is_name takes. */
void render_json_member(struct elapse__json *out, const redisReply *name, const redisReply *value);

/* Adds a value for people, as the kind of its name says; '-' if it is nothing. */
void render_value(struct elapse__buffer *out, const char *name, const redisReply *value);

/* Adds a line for each member: its name and its value, in columns. Times stand in UTC, durations in
 * units, texts as render_text has them. */
void render_lines(struct elapse__buffer *out, const redisReply *map);

/* Adds a text of the server, made harmless for a terminal by mask_text. */
void render_text(struct elapse__buffer *out, const redisReply *text);

/* Adds a due time, in milliseconds since 1970, as 2026-11-20T17:30:00.000Z. */
void render_moment(struct elapse__buffer *out, uint64_t milliseconds);

/* Adds a duration, cut to its two largest units: "3h 12m", "250ms". */
void render_duration(struct elapse__buffer *out, uint64_t milliseconds);

#endif
