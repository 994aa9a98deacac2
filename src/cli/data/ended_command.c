/*
 * elapse ended: finds jobs in the file of `elapse serve --ended`.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../../base/assert.h"
#include "../../base/base64.h"
#include "../../os/program.h"
#include "../common/buffer.h"
#include "../common/command.h"
#include "../common/options.h"
#include "../common/output.h"
#include "../common/text.h"
#include "../common/timestamp.h"

enum { READ_BYTES = 1 << 16, LINE_BYTES_MAX = 1 << 20, NS_PER_MS = 1000000 };

static const struct command_help help = {
    .usage = "Usage: elapse ended FILE [OPTION]...\n",
    .purpose = "Prints jobs that have ended, from the file of 'elapse serve --ended FILE', and\n"
               "from FILE.1, which it has filled before: when each ended, how, its id, tube,\n"
               "key and attempts. The status is 3 if there is none.\n",
    .example = "Examples:\n"
               "  elapse ended ended.jsonl --key 4711\n"
               "  elapse ended ended.jsonl --tube reports --since 24h --json\n",
};

struct ended {
    const char *path;
    const char *key;
    const char *tube;
    uint64_t since_ns;
    bool has_since;
    bool json;
    int64_t from_ms; /* earlier jobs are left out */
    uint64_t found;
    uint64_t broken; /* how many lines cannot be read */
};

/* ---- a line ---- */

/* Returns the bytes of a text of the line, which the caller frees, or NULL if there is none. A text
 * that is not UTF-8 is base64, in a member whose name ends with _base64. */
static char *text_of(const json_t *line, const char *name, size_t *length)
{
    char base64_name[32];
    const json_t *value = json_object_get(line, name);
    bool is_base64 = value == NULL;

    if (is_base64) {
        (void)snprintf(base64_name, sizeof base64_name, "%s_base64", name);
        value = json_object_get(line, base64_name);
    }
    if (!json_is_string(value))
        return NULL;
    *length = json_string_length(value);
    char *text = allocate(*length + 1);
    memcpy(text, json_string_value(value), *length);
    if (is_base64 &&
        !elapse__base64_read(json_string_value(value), *length, (unsigned char *)text, length)) {
        free(text);
        return NULL;
    }
    return text;
}

static bool is_equal(const json_t *line, const char *name, const char *wanted)
{
    size_t length;

    if (wanted == NULL)
        return true;
    char *text = text_of(line, name, &length);
    bool is_same = text != NULL && strlen(wanted) == length && memcmp(wanted, text, length) == 0;
    free(text);
    return is_same;
}

static void add_text(const json_t *line, const char *name)
{
    size_t length;
    char *text = text_of(line, name, &length);

    if (text != NULL)
        output_add_format(" %s", quote_text(text, length).text);
    free(text);
}

static void print_line(const json_t *line)
{
    char time[TIMESTAMP_BYTES + 1] = "";
    json_int_t ended_ms = json_integer_value(json_object_get(line, "ended_ms"));
    const char *outcome = json_string_value(json_object_get(line, "outcome"));

    timestamp_write(time, (uint64_t)(ended_ms < 0 ? 0 : ended_ms) * NS_PER_MS);
    output_add_format("%s %-9s %" JSON_INTEGER_FORMAT, time, outcome == NULL ? "?" : outcome,
                      json_integer_value(json_object_get(line, "id")));
    add_text(line, "tube");
    add_text(line, "key");
    output_add_format(" attempts=%" JSON_INTEGER_FORMAT "\n",
                      json_integer_value(json_object_get(line, "attempts")));
}

static void take_line(struct ended *ended, const char *text, size_t length)
{
    ELAPSE__ASSERT(length > 0 && memchr(text, '\n', length) == NULL);
    json_error_t error;
    json_t *line = json_loadb(text, length, JSON_ALLOW_NUL, &error);

    if (!json_is_object(line)) {
        ended->broken++;
    } else if (is_equal(line, "key", ended->key) && is_equal(line, "tube", ended->tube) &&
               json_integer_value(json_object_get(line, "ended_ms")) >= ended->from_ms) {
        ended->found++;
        if (ended->json) {
            output_add(text, length);
            output_add_text("\n");
        } else {
            print_line(line);
        }
    }
    json_decref(line);
}

/* ---- a file ---- */

/* Takes the complete lines. The last line may be incomplete, because the server is writing it. */
static void take_lines(struct ended *ended, struct elapse__buffer *text)
{
    const char *line;
    const char *end;

    while ((line = (const char *)elapse__buffer_first(text)) != NULL &&
           (end = memchr(line, '\n', elapse__buffer_size(text))) != NULL) {
        if (end > line)
            take_line(ended, line, (size_t)(end - line));
        elapse__buffer_take(text, (size_t)(end - line) + 1);
    }
}

static int read_file(struct ended *ended, const char *path)
{
    struct elapse__buffer text = {.bytes = NULL};
    size_t got = 1;
    int file;
    int error = elapse__os_open_to_read(path, &file);

    if (error != 0)
        return error;
    while (error == 0 && got > 0 && elapse__buffer_size(&text) <= LINE_BYTES_MAX) {
        error = elapse__os_read(file, buffer_room(&text, READ_BYTES), READ_BYTES, &got);
        ELAPSE__ASSERT_THAT(got, <=, (size_t)READ_BYTES);
        text.end += error == 0 ? got : 0;
        take_lines(ended, &text);
    }
    ended->broken += elapse__buffer_size(&text) > LINE_BYTES_MAX;
    elapse__buffer_free(&text);
    (void)elapse__os_close(file);
    return error;
}

static enum exit_status search(struct ended *ended)
{
    size_t size = strlen(ended->path) + sizeof ".1";
    char *older = allocate(size);

    if (ended->has_since)
        ended->from_ms =
            (int64_t)((elapse__os_wall_clock_ns() - ended->since_ns) / (uint64_t)NS_PER_MS);
    (void)snprintf(older, size, "%s.1", ended->path);
    int error = read_file(ended, older);
    free(older);
    if (error == 0 || error == ENOENT)
        error = read_file(ended, ended->path);
    if (error != 0)
        return error_of(STATUS_USAGE, "%s: %s", ended->path, elapse__os_error_text(error));
    if (ended->broken > 0)
        print_error("%s: %" PRIu64 " lines are no JSON", ended->path, ended->broken);
    enum exit_status status = output_finish();
    return status == STATUS_OK && ended->found == 0 ? STATUS_GONE : status;
}

enum exit_status ended_command(int argc, char **argv)
{
    struct ended ended = {.from_ms = INT64_MIN};
    const struct command_option table[] = {
        option_text("key", "KEY", &ended.key, "jobs with this key"),
        option_text("tube", "TUBE", &ended.tube, "jobs of this tube"),
        option_noting(&ended.has_since,
                      option_duration("since", &ended.since_ns, 0, elapse__os_wall_clock_ns(),
                                      "jobs that ended at most so long ago, such as 24h")),
        option_flag("json", &ended.json, "print the lines as they are in the file"),
    };
    struct command_line line = COMMAND_LINE(help, table);
    enum exit_status status;

    if (!options_read(&line, argc, argv, &status))
        return status;
    if (line.argument_count != 1)
        return usage_error("give one file, that of 'elapse serve --ended'");
    ended.path = line.arguments[0];
    return search(&ended);
}
