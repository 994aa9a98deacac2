/*
 * From replies to answers. Replies come from this process, so their form is known; only their
 * texts are anybody's.
 */
#include <string.h>

#include "../../base/assert.h"
#include "../../base/decimal.h"
#include "../../base/utf8.h"
#include "../../protocol/reply_fields.h"
#include "translate.h"

/* ---- reading RESP ---- */

struct value {
    char mark; /* + - : $ * % _ #, or 0: the value is not whole. '_' is also the null of RESP2 */
    bool negative;
    uint64_t number; /* of ':', or how many values '*' has, or how many pairs '%' */
    const uint8_t *bytes;
    size_t size;
};

struct reader {
    const uint8_t *at;
    const uint8_t *end;
};

/* Takes a line, without its end. Returns false if the line is not whole. */
static bool take_line(struct reader *reader, const uint8_t **line, size_t *size)
{
    const uint8_t *end = memchr(reader->at, '\r', (size_t)(reader->end - reader->at));

    if (end == NULL || reader->end - end < 2)
        return false;
    *line = reader->at;
    *size = (size_t)(end - reader->at);
    reader->at = end + 2;
    return true;
}

/* Takes the bytes behind the head of a string. */
static bool take_bytes(struct reader *reader, struct value *value)
{
    if ((uint64_t)(reader->end - reader->at) < value->number + 2)
        return false;
    value->bytes = reader->at;
    value->size = (size_t)value->number;
    reader->at += value->size + 2;
    return true;
}

static struct value take(struct reader *reader)
{
    const struct value none = {.mark = 0};
    struct value value = none;
    const uint8_t *line = NULL;
    size_t size = 0;

    if (reader->at == reader->end || !take_line(reader, &line, &size) || size == 0)
        return none;
    value.mark = (char)line[0];
    value.bytes = line + 1;
    value.size = size - 1;
    if (strchr("+-_#", value.mark) != NULL)
        return value;
    value.negative = value.size > 0 && value.bytes[0] == '-';
    if (!elapse__decimal_read(value.bytes + value.negative, value.size - value.negative, INT64_MAX,
                              &value.number))
        return none;
    if (value.mark == '$' && value.negative)
        value.mark = '_';
    else if (value.mark == '$' && !take_bytes(reader, &value))
        return none;
    return value;
}

bool elapse__http_scan(struct elapse__http_scan *scan, const uint8_t *bytes, size_t size)
{
    struct reader reader = {.at = bytes + scan->size, .end = bytes + size};

    ELAPSE__ASSERT_THAT(scan->size, <=, size);
    while (scan->left > 0) {
        struct value value = take(&reader);
        if (value.mark == 0)
            return false;
        scan->size = (size_t)(reader.at - bytes);
        scan->left--;
        if (value.mark == '*')
            scan->left += value.number;
        else if (value.mark == '%')
            scan->left += 2 * value.number;
    }
    return true;
}

/* ---- errors ---- */

static const struct code {
    const char *resp;
    const char *name;
    int status;
} codes[] = {
    {"ERR", "BAD_ARGUMENT", 400},    {"BUSYKEY", "BUSY_KEY", 409},
    {"DISKFULL", "DISK_FULL", 507},  {"LIMIT", "LIMIT", 429},
    {"OOM", "OUT_OF_MEMORY", 507},   {"DRAINING", "DRAINING", 503},
    {"NOAUTH", "UNAUTHORIZED", 401}, {"WRONGPASS", "UNAUTHORIZED", 401},
    {"DAMAGED", "DAMAGED", 500},
};

/* Writes {"code":...,"message":...}. Returns its status. */
static int write_error(struct elapse__json *json, const struct value *value)
{
    static const struct code unknown = {"", "FAILED", 500};
    const struct code *code = &unknown;
    const uint8_t *blank = memchr(value->bytes, ' ', value->size);
    size_t size = blank == NULL ? value->size : (size_t)(blank - value->bytes);
    size_t skipped = blank == NULL ? 0 : size + 1;

    ELAPSE__ASSERT_THAT(value->mark, ==, '-');
    ELAPSE__ASSERT_THAT(skipped, <=, value->size);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strlen(codes[i].resp) == size && memcmp(codes[i].resp, value->bytes, size) == 0)
            code = &codes[i];
    elapse__json_open(json, '{');
    elapse__json_name(json, "code");
    elapse__json_text(json, code->name);
    elapse__json_name(json, "message");
    elapse__json_string(json, value->bytes + skipped, value->size - skipped);
    elapse__json_close(json, '}');
    return code->status;
}

static int answer_error(struct elapse__json *json, const struct value *value)
{
    elapse__json_open(json, '{');
    elapse__json_name(json, "error");
    int status = write_error(json, value);
    elapse__json_close(json, '}');
    return status;
}

static int answer_gone(struct elapse__json *json, const char *message)
{
    elapse__json_open(json, '{');
    elapse__json_name(json, "error");
    elapse__json_open(json, '{');
    elapse__json_name(json, "code");
    elapse__json_text(json, "GONE");
    elapse__json_name(json, "message");
    elapse__json_text(json, message);
    elapse__json_close(json, '}');
    elapse__json_close(json, '}');
    return 404;
}

/* ---- values ---- */

static void write_value(struct elapse__json *json, struct reader *reader, struct value value);

/* An id is a string: a reader of JSON may take numbers for floating point. */
static void write_id(struct elapse__json *json, uint64_t id)
{
    char digits[ELAPSE__DECIMAL_BYTES];

    elapse__json_string(json, digits, elapse__decimal_write(digits, id));
}

/* Values that are times or durations say so by their name. */
static const char *name_of(const struct value *name, char room[32])
{
    enum elapse__field_kind kind = elapse__field_kind_of(name->bytes, name->size);
    bool is_time = kind == ELAPSE__FIELD_MOMENT || kind == ELAPSE__FIELD_DURATION;
    const char *unit = is_time ? "_ms" : "";

    ELAPSE__ASSERT_THAT(name->size, <, 28);
    memcpy(room, name->bytes, name->size);
    memcpy(room + name->size, unit, strlen(unit) + 1);
    return room;
}

static void write_members(struct elapse__json *json, struct reader *reader, uint64_t pairs)
{
    char room[32];

    for (; pairs > 0; pairs--) {
        struct value key = take(reader);
        struct value value = take(reader);
        ELAPSE__ASSERT(key.mark == '$' || key.mark == '+');
        ELAPSE__ASSERT(value.mark != 0);
        const char *name = name_of(&key, room);
        if (value.mark == '$') {
            elapse__json_bytes_member(json, name, value.bytes, value.size);
            continue;
        }
        elapse__json_name(json, name);
        if (value.mark == ':' && elapse__field_kind_of(key.bytes, key.size) == ELAPSE__FIELD_ID)
            write_id(json, value.number);
        else
            write_value(json, reader, value);
    }
}

static void write_integer(struct elapse__json *json, const struct value *value)
{
    ELAPSE__ASSERT_THAT(value->number, <=, INT64_MAX);
    if (value->negative)
        elapse__json_signed(json, -(int64_t)value->number);
    else
        elapse__json_unsigned(json, value->number);
}

/* NOLINTNEXTLINE(misc-no-recursion): a reply is three deep */
static void write_value(struct elapse__json *json, struct reader *reader, struct value value)
{
    switch (value.mark) {
    case '+':
    case '$':
        elapse__json_string(json, value.bytes, value.size);
        break;
    case ':':
        write_integer(json, &value);
        break;
    case '#':
        elapse__json_boolean(json, value.bytes[0] == 't');
        break;
    case '-':
        elapse__json_open(json, '{');
        elapse__json_name(json, "error");
        (void)write_error(json, &value);
        elapse__json_close(json, '}');
        break;
    case '*':
        elapse__json_open(json, '[');
        for (; value.number > 0; value.number--)
            write_value(json, reader, take(reader));
        elapse__json_close(json, ']');
        break;
    case '%':
        elapse__json_open(json, '{');
        write_members(json, reader, value.number);
        elapse__json_close(json, '}');
        break;
    default:
        elapse__json_null(json);
        break;
    }
}

/* ---- answers with a form of their own ---- */

static void write_bytes(struct elapse__json *json, const char *name, const struct value *value)
{
    if (value->mark == '$') {
        elapse__json_bytes_member(json, name, value->bytes, value->size);
        return;
    }
    elapse__json_name(json, name);
    elapse__json_null(json);
}

/* Writes a job that is handed out: an array, each of whose places has a name here. */
static void write_handed_out(struct elapse__json *json, struct reader *reader)
{
    static const struct {
        const char *name;
        enum elapse__field_kind kind;
    } fields[] = {
#define FIELD(field, kind) {#field, ELAPSE__FIELD_##kind},
        ELAPSE__HANDED_FIELDS(FIELD)
#undef FIELD
    };

    struct value head = take(reader);

    ELAPSE__ASSERT_THAT(head.mark, ==, '*');
    ELAPSE__ASSERT_THAT(head.number, ==, 8);
    (void)head; /* used by assertions alone */
    elapse__json_open(json, '{');
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct value value = take(reader);
        if (value.mark != ':') {
            write_bytes(json, fields[i].name, &value);
            continue;
        }
        elapse__json_name(json, fields[i].name);
        if (fields[i].kind == ELAPSE__FIELD_ID)
            write_id(json, value.number);
        else
            write_integer(json, &value);
    }
    elapse__json_close(json, '}');
}

static void write_jobs(struct elapse__json *json, struct reader *reader, uint64_t count)
{
    elapse__json_name(json, "jobs");
    elapse__json_open(json, '[');
    for (; count > 0; count--)
        write_handed_out(json, reader);
    elapse__json_close(json, ']');
}

/* [name, ...]; a name that is not UTF-8 is an object, because a string cannot hold it. */
static void write_names(struct elapse__json *json, struct reader *reader)
{
    elapse__json_open(json, '[');
    for (uint64_t left = take(reader).number; left > 0; left--) {
        struct value name = take(reader);
        if (elapse__utf8_is(name.bytes, name.size)) {
            elapse__json_string(json, name.bytes, name.size);
            continue;
        }
        elapse__json_open(json, '{');
        elapse__json_bytes_member(json, "name", name.bytes, name.size);
        elapse__json_close(json, '}');
    }
    elapse__json_close(json, ']');
}

/* [cursor, [item, ...]] */
static void write_page(struct elapse__json *json, struct reader *reader, const char *name,
                       bool has_names)
{
    struct value cursor = take(reader);

    ELAPSE__ASSERT(cursor.mark == '$' || cursor.mark == ':' || cursor.mark == '_');
    elapse__json_name(json, name);
    if (has_names)
        write_names(json, reader);
    else
        write_value(json, reader, take(reader));
    elapse__json_name(json, "cursor");
    if (cursor.number == 0)
        elapse__json_null(json);
    else
        write_id(json, cursor.number);
}

static void write_answer(enum elapse__http_operation operation, struct elapse__json *json,
                         struct reader *reader, struct value value)
{
    switch (operation) {
    case ELAPSE__HTTP_PUT:
        elapse__json_name(json, "id");
        write_id(json, take(reader).number);
        elapse__json_name(json, "result");
        write_value(json, reader, take(reader));
        break;
    case ELAPSE__HTTP_CANCEL:
    case ELAPSE__HTTP_ACK:
        elapse__json_name(json, "results");
        write_value(json, reader, value);
        break;
    case ELAPSE__HTTP_RESERVE:
        write_jobs(json, reader, value.number);
        break;
    case ELAPSE__HTTP_LIST:
        write_page(json, reader, "jobs", false);
        break;
    case ELAPSE__HTTP_TUBES:
        write_page(json, reader, "tubes", true);
        break;
    default:
        if (value.mark == '%') {
            write_members(json, reader, value.number);
        } else {
            elapse__json_name(json, value.mark == ':' ? "kicked" : "result");
            write_value(json, reader, value);
        }
        break;
    }
}

int elapse__http_answer(enum elapse__http_operation operation, const uint8_t *bytes, size_t size,
                        struct elapse__json *json)
{
    struct reader reader = {.at = bytes, .end = bytes + size};
    struct value value = take(&reader);

    ELAPSE__ASSERT(value.mark != 0);
    if (value.mark == '-')
        return answer_error(json, &value);
    if (value.mark == '_')
        return answer_gone(json, operation == ELAPSE__HTTP_TUBE ? "there is no such tube"
                                                                : "there is no such job");
    elapse__json_open(json, '{');
    write_answer(operation, json, &reader, value);
    elapse__json_close(json, '}');
    ELAPSE__ASSERT(reader.at == reader.end);
    return 200;
}
