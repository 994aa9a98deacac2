/*
 * libFuzzer target for the lines of elapse run. Any bytes are accepted as a line or refused. The
 * key and the payload lie within the line and within their limits; the same bytes give the same
 * result again; and any bytes become JSON that is one line of printable text.
 */
#include <string.h>

#include <elapse/scheduler.h>

#include "../../src/base/json_writer.h"
#include "common/timestamp.h"
#include "fuzz.h"
#include "run/line.h"

static void check_within(const char *part, size_t bytes, const char *text, size_t length)
{
    require(part >= text && bytes <= length && (size_t)(part - text) <= length - bytes);
}

static void check_json(const char *text, size_t length)
{
    struct elapse__json writer = {.failed = false};

    elapse__json_string(&writer, text, length);
    require(!writer.failed);
    const unsigned char *json = elapse__buffer_first(&writer.text);
    size_t written = elapse__buffer_size(&writer.text);
    require(written >= length + 2 && written <= 6 * length + 2);
    require(json[0] == '"' && json[written - 1] == '"');
    for (size_t i = 1; i < written - 1; i++) {
        require(json[i] >= 0x20 && json[i] != 0x7f && json[i] != '"');
        if (json[i] == '\\')
            i += json[i + 1] == 'u' ? 5 : 1;
        require(i < written - 1);
    }
    elapse__json_free(&writer);
}

static void check_time(uint64_t unix_ns)
{
    char text[TIMESTAMP_BYTES];
    uint64_t again_ns = 0;

    timestamp_write(text, unix_ns);
    require(timestamp_parse(text, sizeof text, &again_ns) == NULL);
    require(again_ns == unix_ns / 1000 * 1000);
}

static void check_line(const struct run_line *line, const char *text, size_t length)
{
    if (line->kind == RUN_LINE_NOTHING || line->kind == RUN_LINE_LIST)
        return;
    check_within(line->key, line->key_bytes, text, length);
    check_within(line->payload, line->payload_bytes, text, length);
    require(line->key_bytes >= 1 && line->key_bytes <= RUN_KEY_BYTES_MAX);
    require(line->payload_bytes <= RUN_PAYLOAD_BYTES_MAX);
    require(memchr(line->key, ' ', line->key_bytes) == NULL);
    require(memchr(line->key, '\t', line->key_bytes) == NULL);
    require(memchr(line->payload, '\0', line->payload_bytes) == NULL);
    check_json(line->key, line->key_bytes);
    check_json(line->payload, line->payload_bytes);
    if (line->kind == RUN_LINE_AT && !line->is_local)
        check_time(line->unix_ns);
    if (line->kind == RUN_LINE_EVERY || line->kind == RUN_LINE_AFTER_EACH)
        require(line->duration_ns >= 1 && line->duration_ns <= ELAPSE_PERIOD_NS_MAX);
    if (line->kind == RUN_LINE_CANCEL)
        require(line->payload_bytes == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run_line line;
    struct run_line again;
    struct run_line_fault fault = {.text = ""};
    char *text = malloc(size > 0 ? size : 1); /* the sanitizer notices a read behind it */

    require(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    memset(&line, 0, sizeof line);
    memset(&again, 0, sizeof again);
    check_json(text, size);
    bool good = run_line_parse(&line, text, size, &fault);
    require(good == run_line_parse(&again, text, size, &fault));
    if (good) {
        check_line(&line, text, size);
        require(memcmp(&line, &again, sizeof line) == 0);
    } else {
        require(fault.text[0] != '\0' && strlen(fault.text) < sizeof fault.text);
    }
    free(text);
    return 0;
}
