/*
 * elapse clients: lists the connections of a server, and how many leases each of them holds.
 *
 * The server answers with a text. Each line of the text becomes a map, so that it is printed like
 * the other lists:
 *
 *      id=3 addr=127.0.0.1:5 name=a%20b leases=2 oldest=1200 tubes=mails,sms
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/command.h"
#include "../common/output.h"
#include "../common/text.h"
#include "client.h"
#include "columns.h"
#include "render.h"

static const char client_columns[] = "id,addr,name,leases,oldest,tubes";

enum { FIELDS_MAX = 16, TUBES_MAX = 8 };

/* A line of the text as a map: an array in which a name and its value alternate. The names and
 * values lie in the text. */
struct row {
    redisReply map;
    redisReply *elements[2 * FIELDS_MAX];
    redisReply parts[2 * FIELDS_MAX];
    redisReply *tubes[TUBES_MAX];
    redisReply tube_names[TUBES_MAX];
};

static void set_text(redisReply *reply, char *text, size_t length)
{
    *reply = (redisReply){.type = REDIS_REPLY_STRING, .str = text, .len = length};
}

/* Replaces each "%20" by the byte for which it stands. Returns the new length. */
static size_t decode(char *text, size_t length)
{
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        char digits[3] = "";
        char *end = digits;
        unsigned long byte = 0;
        if (text[i] == '%' && length - i > 2) {
            memcpy(digits, text + i + 1, 2);
            byte = strtoul(digits, &end, 16);
        }
        bool is_encoded = end == digits + 2;
        text[used] = text[i];
        if (is_encoded) {
            text[used] = (char)byte;
            i += 2;
        }
        used++;
    }
    ELAPSE__ASSERT_THAT(used, <=, length);
    return used;
}

/* Sets a value to an array of the names of tubes. Between the names there are commas; a comma in a
 * name is encoded. Names after the first TUBES_MAX are ignored. */
static void set_tubes(struct row *row, redisReply *reply, char *text, size_t length)
{
    const char *end = text + length;

    *reply = (redisReply){.type = REDIS_REPLY_ARRAY, .element = row->tubes};
    while (text < end && reply->elements < (size_t)TUBES_MAX) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        size_t bytes = comma == NULL ? (size_t)(end - text) : (size_t)(comma - text);
        redisReply *name = &row->tube_names[reply->elements];
        set_text(name, text, decode(text, bytes));
        row->tubes[reply->elements++] = name;
        text += bytes + 1;
    }
}

/* Sets a value. It is a number if it has only digits. A name may have only digits, too, but it is a
 * text. */
static void set_value(struct row *row, redisReply *reply, const redisReply *name, char *text,
                      size_t length)
{
    bool is_number =
        length > 0 && strspn(text, "0123456789") >= length && !answer_is_word(name, "name");

    if (answer_is_word(name, "tubes"))
        set_tubes(row, reply, text, length);
    else if (is_number)
        *reply = (redisReply){.type = REDIS_REPLY_INTEGER, .integer = strtoll(text, NULL, 10)};
    else
        set_text(reply, text, decode(text, length));
}

/* Splits a line of the text. Fields after the first FIELDS_MAX are ignored. */
static void read_row(struct row *row, char *line, size_t length)
{
    const char *end = line + length;

    row->map = (redisReply){.type = REDIS_REPLY_ARRAY, .element = row->elements};
    while (line < end && row->map.elements < 2 * (size_t)FIELDS_MAX) {
        size_t bytes = strcspn(line, " \n");
        size_t name_bytes = strcspn(line, "= \n");
        redisReply *name = &row->parts[row->map.elements];
        redisReply *value = name + 1;
        if (name_bytes < bytes) {
            line[name_bytes] = '\0'; /* the code that writes JSON needs names as strings */
            set_text(name, line, name_bytes);
            set_value(row, value, name, line + name_bytes + 1, bytes - name_bytes - 1);
            row->elements[row->map.elements++] = name;
            row->elements[row->map.elements++] = value;
        }
        line += bytes + 1;
    }
}

/* Changes a row for people: '-' stands for a missing value, and the age of the oldest lease is in
 * units. The text of the age lies in `age`. */
static void fit_for_people(struct row *row, struct elapse__buffer *age)
{
    bool holds_leases = answer_number(&row->map, "leases") > 0;

    ELAPSE__ASSERT_THAT(row->map.elements % 2, ==, 0); /* each name has its value behind it */
    for (size_t i = 0; i < row->map.elements; i += 2) {
        redisReply *value = row->elements[i + 1];
        bool is_age = answer_is_word(row->elements[i], "oldest");
        if (is_age && holds_leases && value->type == REDIS_REPLY_INTEGER) {
            elapse__buffer_clear(age);
            render_duration(age, (uint64_t)value->integer);
            set_text(value, (char *)elapse__buffer_first(age), elapse__buffer_size(age));
        } else if (is_age || (value->type == REDIS_REPLY_STRING && value->len == 0)) {
            *value = (redisReply){.type = REDIS_REPLY_NIL};
        }
    }
}

/* Calls `add` for each line of the text, with the line as a map. */
static void each_row(const redisReply *text, void *context,
                     void (*add)(void *context, struct row *row))
{
    char *line = text->str;

    while (*line != '\0') {
        size_t length = strcspn(line, "\n");
        struct row row;
        read_row(&row, line, length);
        add(context, &row);
        line += length + (line[length] == '\n');
    }
}

static void print_json(void *context, struct row *row)
{
    (void)context;
    render_json(output_begin_json(), &row->map);
    output_end_json();
}

struct table {
    struct columns columns;
    struct elapse__buffer lines;
    struct elapse__buffer age;
    bool only_fits; /* only makes the columns wide enough for the values, and adds no line */
};

static void add_to_table(void *context, struct row *row)
{
    struct table *table = context;
    redisReply *maps[] = {&row->map};
    const redisReply list = {.type = REDIS_REPLY_ARRAY, .elements = 1, .element = maps};

    fit_for_people(row, &table->age);
    if (table->only_fits)
        columns_fit(&table->columns, &list);
    else
        columns_add_line(&table->lines, &table->columns, &row->map);
}

static void print_table(const redisReply *text)
{
    struct table table = {.only_fits = true};
    redisReply copy = *text;

    ELAPSE__ASSERT(text->str[text->len] == '\0');
    columns_set(&table.columns, client_columns);
    /* A row changes the text in which it lies, so this is a copy. */
    copy.str = memcpy(allocate(text->len + 1), text->str, text->len + 1);
    each_row(&copy, &table, add_to_table);
    free(copy.str);
    table.only_fits = false;
    columns_add_titles(&table.lines, &table.columns);
    each_row(text, &table, add_to_table);
    output_add_buffer(&table.lines);
    elapse__buffer_free(&table.lines);
    elapse__buffer_free(&table.age);
}

static const struct command_help help = {
    .usage = "Usage: elapse clients [OPTION]...\n",
    .purpose = "Lists the connections of a server: address, name, how many leases the client "
               "holds,\nhow long the oldest has lasted, and up to four tubes. Who holds leases "
               "without a\nconnection stands behind them, with the id 0. Needs the right admin on "
               "all tubes.\n",
    .example = "Example:\n"
               "  elapse clients --json | jq 'select(.leases > 0)'\n",
};

static enum exit_status run(void *context, const struct command_line *line)
{
    struct client *client = context;
    enum exit_status status = client_begin(client, line, 0, "CLIENT");

    if (status != STATUS_OK)
        return status;
    request_add_text(&client->request, "LIST");
    redisReply *reply = client_ask(client, &status);
    if (reply == NULL)
        return status;
    if (!answer_is_text(reply)) {
        struct answer answer = answer_of_other(reply, "the reply is no text");
        status = session_report_error(&answer, NULL);
    } else if (client->json) {
        each_row(reply, NULL, print_json);
    } else {
        print_table(reply);
    }
    freeReplyObject(reply);
    return status;
}

enum exit_status clients_command(int argc, char **argv)
{
    struct client *client = client_new();
    struct command_option table[2 + CLIENT_OPTION_COUNT] = {client_json_option(client)};

    return client_run(client, &help, run, client, table, argc, argv);
}
