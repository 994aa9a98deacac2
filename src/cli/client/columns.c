#include "columns.h"

#include <ctype.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../protocol/reply_fields.h"
#include "../common/nearest.h"
#include "../common/options.h"
#include "answer.h"
#include "render.h"

/* A value of more columns moves the columns after it. */
enum { WIDTH_MAX = 40 };

/* The members of a job, and whether LIST has them without KEYS. */
static const struct {
    const char *name;
    bool is_text;
} members[] = {
#define MEMBER(field, name, kind) {name, false},
#define TEXT(field, name, kind)   {name, true},
    ELAPSE__JOB_FIELDS(MEMBER) ELAPSE__JOB_NAMES(TEXT) ELAPSE__JOB_RULE(TEXT){"body", true},
    {"body_bytes", true},
#undef MEMBER
#undef TEXT
};

enum { MEMBERS = sizeof members / sizeof members[0] };

static void add_any(struct columns *columns, const char *name, size_t length)
{
    ELAPSE__ASSERT_THAT(length, >, 0);
    ELAPSE__ASSERT_THAT(length, <, (size_t)COLUMN_NAME_BYTES);
    ELAPSE__ASSERT_THAT(columns->count, <, (size_t)COLUMNS_MAX);
    memcpy(columns->names[columns->count], name, length);
    columns->names[columns->count][length] = '\0';
    columns->widths[columns->count] = length;
    columns->count++;
}

/* Adds a column. Returns false if jobs have no such member. */
static bool add(struct columns *columns, const char *name, size_t length)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        if (strlen(members[i].name) == length && memcmp(members[i].name, name, length) == 0) {
            add_any(columns, name, length);
            return true;
        }
    }
    return false;
}

static enum exit_status refuse(const char *name, size_t length)
{
    struct nearest nearest;

    nearest_begin(&nearest, name, length);
    for (size_t i = 0; i < MEMBERS; i++)
        nearest_offer(&nearest, members[i].name, strlen(members[i].name));
    struct nearest_question question = nearest_ask(&nearest);
    return usage_error("%s: a job has no %s%s", options_label(), quote_text(name, length).text,
                       nearest.count > 0
                           ? question.text
                           : "; id, state, due, left, attempts, key, tag, group, error and body "
                             "are columns");
}

enum exit_status columns_read(void *context, const char *names)
{
    struct columns *columns = context;

    *columns = (struct columns){.count = 0};
    for (;;) {
        size_t length = strcspn(names, ",");
        if (columns->count == COLUMNS_MAX)
            return usage_error("%s: there are more than %d columns", options_label(), COLUMNS_MAX);
        if (!add(columns, names, length))
            return refuse(names, length);
        if (names[length] == '\0')
            return STATUS_OK;
        names += length + 1;
    }
}

void columns_set(struct columns *columns, const char *names)
{
    *columns = (struct columns){.count = 0};
    while (*names != '\0') {
        size_t length = strcspn(names, ",");
        add_any(columns, names, length);
        names += length + (names[length] == ',');
    }
}

void columns_add_body(struct columns *columns)
{
    bool is_added = add(columns, "body", strlen("body"));

    ELAPSE__ASSERT(is_added);
    (void)is_added; /* used only by the assertion */
}

bool columns_have(const struct columns *columns, const char *name)
{
    for (size_t i = 0; i < columns->count; i++) {
        if (strcmp(columns->names[i], name) == 0)
            return true;
    }
    return false;
}

bool columns_need_keys(const struct columns *columns)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        if (members[i].is_text && columns_have(columns, members[i].name))
            return true;
    }
    return false;
}

/* Adds the value of a column. */
static void add_cell(struct elapse__buffer *out, const char *name, const redisReply *map)
{
    const redisReply *value = answer_member(map, name);

    if (value == NULL)
        buffer_add_text(out, "-");
    else
        render_value(out, name, value);
}

void columns_fit(struct columns *columns, const redisReply *maps)
{
    struct elapse__buffer cell = {.bytes = NULL};

    ELAPSE__ASSERT(maps->type == REDIS_REPLY_ARRAY);
    for (size_t i = 0; i < maps->elements; i++) {
        if (maps->element[i]->type != REDIS_REPLY_ARRAY)
            continue;
        for (size_t j = 0; j + 1 < columns->count; j++) {
            elapse__buffer_clear(&cell);
            add_cell(&cell, columns->names[j], maps->element[i]);
            size_t width =
                text_columns((const char *)elapse__buffer_first(&cell), elapse__buffer_size(&cell));
            if (width > columns->widths[j] && columns->widths[j] < WIDTH_MAX)
                columns->widths[j] = width < WIDTH_MAX ? width : WIDTH_MAX;
        }
    }
    elapse__buffer_free(&cell);
}

/* Adds blanks after a value that begins at `begin`, up to the next column. */
static void pad(struct elapse__buffer *out, size_t begin, size_t width)
{
    ELAPSE__ASSERT_THAT(begin, <=, elapse__buffer_size(out));
    size_t used = text_columns((const char *)elapse__buffer_first(out) + begin,
                               elapse__buffer_size(out) - begin);

    buffer_add_text(out, "  ");
    for (; used < width; used++)
        buffer_add_text(out, " ");
}

void columns_add_titles(struct elapse__buffer *out, const struct columns *columns)
{
    ELAPSE__ASSERT_THAT(columns->count, >, 0);
    for (size_t i = 0; i < columns->count; i++) {
        size_t begin = elapse__buffer_size(out);
        for (const char *at = columns->names[i]; *at != '\0'; at++) {
            char letter = (char)(*at == '_' ? ' ' : toupper((unsigned char)*at));
            buffer_add(out, &letter, 1);
        }
        if (i + 1 < columns->count)
            pad(out, begin, columns->widths[i]);
    }
    buffer_add_text(out, "\n");
}

void columns_add_line(struct elapse__buffer *out, const struct columns *columns,
                      const redisReply *map)
{
    ELAPSE__ASSERT(map->type == REDIS_REPLY_ARRAY);
    for (size_t i = 0; i < columns->count; i++) {
        size_t begin = elapse__buffer_size(out);
        add_cell(out, columns->names[i], map);
        if (i + 1 < columns->count)
            pad(out, begin, columns->widths[i]);
    }
    buffer_add_text(out, "\n");
}

void columns_add_json(struct elapse__json *json, const struct columns *columns,
                      const redisReply *map)
{
    ELAPSE__ASSERT(map->type == REDIS_REPLY_ARRAY);
    elapse__json_open(json, '{');
    for (size_t i = 0; i + 1 < map->elements; i += 2) {
        if (answer_is_name(map->element[i]) && columns_have(columns, map->element[i]->str))
            render_json_member(json, map->element[i], map->element[i + 1]);
    }
    elapse__json_close(json, '}');
}
