#include "render.h"

#include <inttypes.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/utf8.h"
#include "../../protocol/reply_fields.h"
#include "../common/text.h"
#include "../common/timestamp.h"
#include "answer.h"

static enum elapse__field_kind kind_of(const char *name)
{
    return elapse__field_kind_of(name, strlen(name));
}

/* Adds a value without a name. Text that is not UTF-8 is an object with `name_base64`, so that it
 * can be told from a text that looks the same. */
static void add_json_element(struct elapse__json *out, const redisReply *value)
{
    if (!answer_is_text(value)) {
        if (value->type == REDIS_REPLY_INTEGER)
            elapse__json_signed(out, value->integer);
        else
            elapse__json_null(out);
        return;
    }
    if (elapse__utf8_is(value->str, value->len)) {
        elapse__json_string(out, value->str, value->len);
        return;
    }
    elapse__json_open(out, '{');
    elapse__json_bytes_member(out, "name", value->str, value->len);
    elapse__json_close(out, '}');
}

static void add_json_array(struct elapse__json *out, const redisReply *array)
{
    elapse__json_open(out, '[');
    for (size_t i = 0; i < array->elements; i++)
        add_json_element(out, array->element[i]);
    elapse__json_close(out, ']');
}

void render_json_member(struct elapse__json *out, const redisReply *name, const redisReply *value)
{
    ELAPSE__ASSERT(answer_is_name(name));
    if (answer_is_text(value)) {
        elapse__json_bytes_member(out, name->str, value->str, value->len);
        return;
    }
    elapse__json_name(out, name->str);
    if (value->type == REDIS_REPLY_ARRAY)
        add_json_array(out, value);
    else if (value->type != REDIS_REPLY_INTEGER)
        elapse__json_null(out);
    else if (kind_of(name->str) == ELAPSE__FIELD_YES_OR_NO)
        elapse__json_boolean(out, value->integer != 0);
    else
        elapse__json_signed(out, value->integer);
}

void render_json(struct elapse__json *out, const redisReply *map)
{
    ELAPSE__ASSERT(map->type == REDIS_REPLY_ARRAY);
    elapse__json_open(out, '{');
    for (size_t i = 0; i + 1 < map->elements; i += 2) {
        if (answer_is_name(map->element[i]))
            render_json_member(out, map->element[i], map->element[i + 1]);
    }
    elapse__json_close(out, '}');
}

void render_text(struct elapse__buffer *out, const redisReply *text)
{
    ELAPSE__ASSERT(answer_is_text(text));
    buffer_add_masked(out, text->str, text->len);
}

void render_moment(struct elapse__buffer *out, uint64_t milliseconds)
{
    const uint64_t nanoseconds = 1000000;
    char text[TIMESTAMP_BYTES];

    if (milliseconds > UINT64_MAX / nanoseconds) {
        buffer_add_format(out, "%" PRIu64, milliseconds);
        return;
    }
    timestamp_write(text, milliseconds * nanoseconds);
    /* The time is in whole milliseconds, so the digits of the microseconds are left out. */
    buffer_add(out, text, TIMESTAMP_BYTES - 4);
    buffer_add_text(out, "Z");
}

void render_duration(struct elapse__buffer *out, uint64_t milliseconds)
{
    static const struct {
        const char *name;
        uint64_t milliseconds;
    } units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    unsigned shown = 0;

    for (size_t i = 0; i < sizeof units / sizeof units[0] && shown < 2; i++) {
        uint64_t count = milliseconds / units[i].milliseconds;
        /* Shows the first unit that is not zero, and the next one unless it is zero. */
        if (count == 0 && shown == 0)
            continue;
        shown++;
        if (count > 0)
            buffer_add_format(out, "%s%" PRIu64 "%s", shown > 1 ? " " : "", count, units[i].name);
        milliseconds %= units[i].milliseconds;
    }
    if (shown == 0)
        buffer_add_text(out, "0");
}

/* Adds the texts of an array, with commas between them. */
static void add_texts(struct elapse__buffer *out, const redisReply *array)
{
    for (size_t i = 0; i < array->elements; i++) {
        if (i > 0)
            buffer_add_text(out, ",");
        if (answer_is_text(array->element[i]))
            render_text(out, array->element[i]);
    }
    if (array->elements == 0)
        buffer_add_text(out, "-");
}

void render_value(struct elapse__buffer *out, const char *name, const redisReply *value)
{
    if (value->type == REDIS_REPLY_ARRAY) {
        add_texts(out, value);
        return;
    }
    if (answer_is_text(value)) {
        render_text(out, value);
        return;
    }
    if (value->type != REDIS_REPLY_INTEGER) {
        buffer_add_text(out, "-");
        return;
    }
    uint64_t number = value->integer > 0 ? (uint64_t)value->integer : 0;
    switch (kind_of(name)) {
    case ELAPSE__FIELD_ID: /* the digits of an id have no commas */
        buffer_add_format(out, "%" PRIu64, number);
        break;
    case ELAPSE__FIELD_YES_OR_NO:
        buffer_add_text(out, number != 0 ? "yes" : "no");
        break;
    case ELAPSE__FIELD_MOMENT:
    case ELAPSE__FIELD_INSTANT:
    case ELAPSE__FIELD_DUE:
        render_moment(out, number);
        break;
    case ELAPSE__FIELD_DURATION:
    case ELAPSE__FIELD_LEFT:
        render_duration(out, number);
        break;
    default:
        buffer_add_text(out, group_digits(number).text);
        break;
    }
}

void render_lines(struct elapse__buffer *out, const redisReply *map)
{
    size_t widest = 0;

    ELAPSE__ASSERT(map->type == REDIS_REPLY_ARRAY);
    for (size_t i = 0; i + 1 < map->elements; i += 2) {
        if (answer_is_name(map->element[i]) && map->element[i]->len > widest)
            widest = map->element[i]->len;
    }
    for (size_t i = 0; i + 1 < map->elements; i += 2) {
        const redisReply *name = map->element[i];
        const redisReply *value = map->element[i + 1];
        if (!answer_is_name(name))
            continue;
        buffer_add_format(out, "%-*s  ", (int)widest, name->str);
        render_value(out, name->str, value);
        buffer_add_text(out, "\n");
    }
}
