/*
 * Translates replies of RESP to answers in JSON. The replies come from this process, so their form
 * is known. Only the texts in them may have any bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/decimal.h"
#include "../../base/utf8.h"
#include "../../protocol/reply_fields.h"
#include "translate.h"

/* ---- reading RESP ---- */

struct reader {
    const uint8_t *bytes;
    size_t size;
    size_t at;
};

static struct elapse__wire_resp_item take(struct reader *reader)
{
    ELAPSE__ASSERT_THAT(reader->at, <, reader->size); /* the reply has another item */
    return elapse__wire_resp_next(reader->bytes, reader->size, &reader->at);
}

/* Takes a number that is never negative. */
static uint64_t take_number(struct reader *reader)
{
    struct elapse__wire_resp_item item = take(reader);

    ELAPSE__ASSERT(item.kind == ELAPSE__WIRE_RESP_INTEGER || item.kind == ELAPSE__WIRE_RESP_ARRAY);
    ELAPSE__ASSERT_THAT(item.integer, >=, 0);
    return (uint64_t)item.integer;
}

bool elapse__http_scan(struct elapse__http_scan *scan, const uint8_t *bytes, size_t size)
{
    size_t end = 0;

    ELAPSE__ASSERT_THAT(scan->size, <=, size);
    for (; scan->left > 0; scan->left--) {
        if (elapse__wire_resp_scan(&scan->scanner, bytes + scan->size, size - scan->size, &end) !=
            ELAPSE__WIRE_RESP_SCAN_WHOLE)
            return false;
        scan->size += end;
    }
    ELAPSE__ASSERT_THAT(scan->size, <=, size);
    return true;
}

/* ---- errors ---- */

static const struct code {
    const char *resp;
    const char *name;
    int status;
} codes[] = {
    {"ERR", "BAD_ARGUMENT", 400},     {"BUSYKEY", "BUSY_KEY", 409},
    {"DISKFULL", "DISK_FULL", 507},   {"LIMIT", "LIMIT", 429},
    {"OOM", "OUT_OF_MEMORY", 507},    {"DRAINING", "DRAINING", 503},
    {"NOAUTH", "UNAUTHORIZED", 401},  {"WRONGPASS", "UNAUTHORIZED", 401},
    {"NOPERM", "NO_PERMISSION", 403}, {"DAMAGED", "DAMAGED", 500},
    {"DISKERROR", "DISK_ERROR", 503}, {"EXECABORT", "BAD_ARGUMENT", 400},
    {"TRYAGAIN", "TRY_AGAIN", 503},   {"UNKNOWN", "UNKNOWN", 504},
    {"CROSSSLOT", "CROSS_SLOT", 400},
};

/* Writes {"code":...,"message":...}. Returns the status that belongs to the code. */
static int write_error(struct elapse__json *json, const struct elapse__wire_resp_item *value)
{
    static const struct code unknown = {"", "FAILED", 500};
    const struct code *code = &unknown;
    const uint8_t *blank = memchr(value->bytes, ' ', value->size);
    size_t size = blank == NULL ? value->size : (size_t)(blank - value->bytes);
    size_t skipped = blank == NULL ? 0 : size + 1;

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

static int answer_error(struct elapse__json *json, const struct elapse__wire_resp_item *value)
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

static void write_value(struct elapse__json *json, struct reader *reader,
                        struct elapse__wire_resp_item value);

/* Writes an id as a string, because a reader of JSON may read numbers as floating point. */
static void write_id(struct elapse__json *json, uint64_t id)
{
    char digits[ELAPSE__DECIMAL_BYTES];

    elapse__json_string(json, digits, elapse__decimal_write(digits, id));
}

/* Returns the name of a value. The name of a time or a duration gets its unit. */
static const char *name_of(const struct elapse__wire_resp_item *name, char room[32])
{
    enum elapse__field_kind kind = elapse__field_kind_of(name->bytes, name->size);
    bool is_time = kind == ELAPSE__FIELD_MOMENT || kind == ELAPSE__FIELD_INSTANT ||
                   kind == ELAPSE__FIELD_DUE || kind == ELAPSE__FIELD_LEFT ||
                   kind == ELAPSE__FIELD_DURATION;
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
        struct elapse__wire_resp_item key = take(reader);
        struct elapse__wire_resp_item value = take(reader);
        const char *name = name_of(&key, room);
        if (value.kind == ELAPSE__WIRE_RESP_BYTES) {
            elapse__json_bytes_member(json, name, value.bytes, value.size);
            continue;
        }
        elapse__json_name(json, name);
        if (value.kind == ELAPSE__WIRE_RESP_INTEGER &&
            elapse__field_kind_of(key.bytes, key.size) == ELAPSE__FIELD_ID)
            write_id(json, (uint64_t)value.integer);
        else
            write_value(json, reader, value);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): a reply is three deep */
static void write_value(struct elapse__json *json, struct reader *reader,
                        struct elapse__wire_resp_item value)
{
    switch (value.kind) {
    case ELAPSE__WIRE_RESP_WORD:
    case ELAPSE__WIRE_RESP_BYTES:
        elapse__json_string(json, value.bytes, value.size);
        break;
    case ELAPSE__WIRE_RESP_INTEGER:
        elapse__json_signed(json, value.integer);
        break;
    case ELAPSE__WIRE_RESP_FALSE:
    case ELAPSE__WIRE_RESP_TRUE:
        elapse__json_boolean(json, value.kind == ELAPSE__WIRE_RESP_TRUE);
        break;
    case ELAPSE__WIRE_RESP_ERROR:
        elapse__json_open(json, '{');
        elapse__json_name(json, "error");
        (void)write_error(json, &value);
        elapse__json_close(json, '}');
        break;
    case ELAPSE__WIRE_RESP_ARRAY:
        elapse__json_open(json, '[');
        for (; value.integer > 0; value.integer--)
            write_value(json, reader, take(reader));
        elapse__json_close(json, ']');
        break;
    case ELAPSE__WIRE_RESP_MAP:
        elapse__json_open(json, '{');
        write_members(json, reader, (uint64_t)value.integer);
        elapse__json_close(json, '}');
        break;
    default:
        elapse__json_null(json);
        break;
    }
}

/* ---- answers with a form of their own ---- */

static void write_bytes(struct elapse__json *json, const char *name,
                        const struct elapse__wire_resp_item *value)
{
    if (value->kind == ELAPSE__WIRE_RESP_BYTES) {
        elapse__json_bytes_member(json, name, value->bytes, value->size);
        return;
    }
    elapse__json_name(json, name);
    elapse__json_null(json);
}

/* Writes a job that is handed out. It is an array, and each place in the array has a name here. */
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

    int64_t places = take(reader).integer;
    ELAPSE__ASSERT_THAT((size_t)places, >=, sizeof fields / sizeof *fields);
    elapse__json_open(json, '{');
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++, places--) {
        struct elapse__wire_resp_item value = take(reader);
        if (value.kind != ELAPSE__WIRE_RESP_INTEGER) {
            write_bytes(json, fields[i].name, &value);
            continue;
        }
        elapse__json_name(json, fields[i].name);
        if (fields[i].kind == ELAPSE__FIELD_ID)
            write_id(json, (uint64_t)value.integer);
        else
            elapse__json_signed(json, value.integer);
    }
    if (places > 0) {
        elapse__json_name(json, "details");
        write_value(json, reader, take(reader));
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

/* Writes [name, ...]. A name that is not UTF-8 is written as an object, because a string cannot
 * hold it. */
static void write_names(struct elapse__json *json, struct reader *reader)
{
    elapse__json_open(json, '[');
    for (uint64_t left = take_number(reader); left > 0; left--) {
        struct elapse__wire_resp_item name = take(reader);
        if (name.kind == ELAPSE__WIRE_RESP_MAP) { /* the request had COUNTS */
            write_value(json, reader, name);
            continue;
        }
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

/* Writes the page of a list from [cursor, [item, ...]]. */
static void write_page(struct elapse__json *json, struct reader *reader, const char *name,
                       bool has_names)
{
    struct elapse__wire_resp_item cursor = take(reader);

    ELAPSE__ASSERT(cursor.kind == ELAPSE__WIRE_RESP_INTEGER);
    elapse__json_name(json, name);
    if (has_names)
        write_names(json, reader);
    else
        write_value(json, reader, take(reader));
    elapse__json_name(json, "cursor");
    if (cursor.integer == 0)
        elapse__json_null(json);
    else
        write_id(json, (uint64_t)cursor.integer);
}

/* Writes a word for each job. The replies to NACK, EXTEND and BURY about one job are no arrays. */
static void write_results(struct elapse__json *json, struct reader *reader,
                          struct elapse__wire_resp_item value)
{
    bool is_one = value.kind != ELAPSE__WIRE_RESP_ARRAY;

    if (is_one)
        elapse__json_open(json, '[');
    write_value(json, reader, value);
    if (is_one)
        elapse__json_close(json, ']');
}

/* ---- CLIENT LIST: lines of name=value ---- */

/* Decodes a name in which %XX stands for a byte. Returns the size of the decoded name. */
static size_t decode_name(const uint8_t *from, size_t size, unsigned char *room)
{
    size_t written = 0;

    for (size_t i = 0; i < size; i++, written++) {
        unsigned value = from[i];
        if (value == '%' && i + 2 < size) {
            char digits[3] = {(char)from[i + 1], (char)from[i + 2], 0};
            value = (unsigned)strtoul(digits, NULL, 16);
            i += 2;
        }
        room[written] = (unsigned char)value;
    }
    return written;
}

enum { NAME_BYTES = 256 }; /* for the name of a tube or of a client */

static void write_tubes(struct elapse__json *json, const uint8_t *from, size_t size)
{
    unsigned char name[NAME_BYTES];

    elapse__json_name(json, "tubes");
    elapse__json_open(json, '[');
    for (size_t end; size > 0; from += end, size -= end) {
        const uint8_t *comma = memchr(from, ',', size);
        end = comma == NULL ? size : (size_t)(comma - from);
        ELAPSE__ASSERT_THAT(end, <=, (size_t)3 * NAME_BYTES);
        size_t decoded = decode_name(from, end, name);
        if (elapse__utf8_is(name, decoded)) {
            elapse__json_string(json, name, decoded);
        } else {
            elapse__json_open(json, '{');
            elapse__json_bytes_member(json, "name", name, decoded);
            elapse__json_close(json, '}');
        }
        end += comma != NULL;
    }
    elapse__json_close(json, ']');
}

static bool is_field(const uint8_t *name, size_t size, const char *text)
{
    return strlen(text) == size && memcmp(name, text, size) == 0;
}

/* Writes a member for a field of a line. Writes nothing for a field that it does not know. */
static void write_field(struct elapse__json *json, const uint8_t *name, size_t name_size,
                        const uint8_t *value, size_t size)
{
    unsigned char text[NAME_BYTES];

    if (is_field(name, name_size, "tubes"))
        write_tubes(json, value, size);
    else if (is_field(name, name_size, "id")) {
        elapse__json_name(json, "id");
        elapse__json_string(json, value, size);
    } else if (is_field(name, name_size, "addr") || is_field(name, name_size, "name"))
        elapse__json_bytes_member(json, name[0] == 'a' ? "address" : "name", text,
                                  decode_name(value, size, text));
    else if (is_field(name, name_size, "leases"))
        elapse__json_unsigned_member(json, "leases", strtoull((const char *)value, NULL, 10));
    else if (is_field(name, name_size, "oldest"))
        elapse__json_unsigned_member(json, "oldest_ms", strtoull((const char *)value, NULL, 10));
}

static void write_clients(struct elapse__json *json, const uint8_t *from, size_t size)
{
    const uint8_t *end = from + size;

    elapse__json_name(json, "clients");
    elapse__json_open(json, '[');
    while (from < end) {
        const uint8_t *line = memchr(from, '\n', (size_t)(end - from));
        line = line == NULL ? end : line;
        elapse__json_open(json, '{');
        while (from < line) {
            const uint8_t *blank = memchr(from, ' ', (size_t)(line - from));
            blank = blank == NULL ? line : blank;
            const uint8_t *equals = memchr(from, '=', (size_t)(blank - from));
            if (equals != NULL)
                write_field(json, from, (size_t)(equals - from), equals + 1,
                            (size_t)(blank - equals - 1));
            from = blank + (blank < line);
        }
        elapse__json_close(json, '}');
        from = line + 1;
    }
    elapse__json_close(json, ']');
}

static void write_answer(enum elapse__http_operation operation, struct elapse__json *json,
                         struct reader *reader, struct elapse__wire_resp_item value)
{
    switch (operation) {
    case ELAPSE__HTTP_PUT:
        elapse__json_name(json, "id");
        write_id(json, take_number(reader));
        elapse__json_name(json, "result");
        write_value(json, reader, take(reader));
        break;
    case ELAPSE__HTTP_CANCEL:
    case ELAPSE__HTTP_ACK:
        elapse__json_name(json, "results");
        write_results(json, reader, value);
        break;
    case ELAPSE__HTTP_RESERVE:
        write_jobs(json, reader, (uint64_t)value.integer);
        break;
    case ELAPSE__HTTP_LIST:
    case ELAPSE__HTTP_FIND:
    case ELAPSE__HTTP_RECURRING:
        write_page(json, reader, "jobs", false);
        break;
    case ELAPSE__HTTP_CLIENTS:
        write_clients(json, value.bytes, value.size);
        break;
    case ELAPSE__HTTP_GROUPS:
        write_page(json, reader, "groups", false);
        break;
    case ELAPSE__HTTP_TUBES:
        write_page(json, reader, "tubes", true);
        break;
    default:
        if (value.kind == ELAPSE__WIRE_RESP_MAP) {
            write_members(json, reader, (uint64_t)value.integer);
        } else {
            bool is_number = value.kind == ELAPSE__WIRE_RESP_INTEGER;
            const char *number = operation == ELAPSE__HTTP_ARRIVE ? "left" : "kicked";
            elapse__json_name(json, is_number ? number : "result");
            write_value(json, reader, value);
        }
        break;
    }
}

int elapse__http_answer(enum elapse__http_operation operation, const uint8_t *bytes, size_t size,
                        struct elapse__json *json)
{
    struct reader reader = {.bytes = bytes, .size = size};
    struct elapse__wire_resp_item value = take(&reader);

    if (value.kind == ELAPSE__WIRE_RESP_ERROR)
        return answer_error(json, &value);
    if (value.kind == ELAPSE__WIRE_RESP_NULL)
        return answer_gone(json,
                           operation == ELAPSE__HTTP_TUBE || operation == ELAPSE__HTTP_LIMIT_OF
                               ? "there is no such tube"
                               : "there is no such job");
    elapse__json_open(json, '{');
    write_answer(operation, json, &reader, value);
    ELAPSE__ASSERT_THAT(reader.at, ==, reader.size); /* nothing of the reply is left out */
    elapse__json_close(json, '}');
    return 200;
}
