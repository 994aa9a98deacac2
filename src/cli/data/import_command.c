/*
 * elapse import: adds jobs to a queue from lines of JSON.
 */
#include <inttypes.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../engine/upkeep/upkeep.h"
#include "../../os/program.h"
#include "../common/buffer.h"
#include "../common/command.h"
#include "../common/options.h"
#include "../common/output.h"
#include "job_json.h"

/* The longest line has room for a body of 32 MiB in which each byte is escaped, which takes six
 * times as many bytes. As base64 the same body is shorter. */
enum { LINE_BYTES_MAX = 256 << 20, READ_BYTES = 1 << 16 };

static const struct command_help help = {
    .usage = "Usage: elapse import [OPTION]... DIRECTORY\n",
    .purpose = "Reads lines of JSON from standard input, as 'elapse export' prints them, and\n"
               "adds each as a job, or as the settings of a tube, to the directory of a durable\n"
               "queue, which is made if it does not exist. No process may have the directory\n"
               "open. A bad line is reported with its number and left out; the others are added.\n"
               "All are on the disk at the end.\n",
    .example = "Example:\n"
               "  elapse export orders-data | elapse import copy-data\n",
};

struct importing {
    struct elapse__upkeep_data *data;
    struct elapse__buffer text;
    uint64_t line_number;
    uint64_t added;
    uint64_t bad;
    bool failed;
};

static void report(struct importing *importing, const char *text)
{
    print_error("standard input: line %" PRIu64 ": %s", importing->line_number, text);
    importing->bad++;
    ELAPSE__ASSERT_THAT(importing->bad + importing->added, <=, importing->line_number);
}

static void take_line(struct importing *importing, const char *text, size_t length)
{
    struct job_json line;
    struct elapse__upkeep_fault fault;
    char words[256];

    importing->line_number++;
    ELAPSE__ASSERT(memchr(text, '\n', length) == NULL);
    if (length > 0 && text[length - 1] == '\r')
        length--;
    if (length == 0)
        return;
    if (!job_json_read(&line, text, length, words, sizeof words)) {
        report(importing, words);
        return;
    }
    switch (line.is_tube ? elapse__upkeep_add_tube(importing->data, &line.tube, &fault)
                         : elapse__upkeep_add(importing->data, &line.job, &fault)) {
    case ELAPSE__UPKEEP_ADDED:
        importing->added += !line.is_tube;
        break;
    case ELAPSE__UPKEEP_REFUSED:
        report(importing, fault.text);
        break;
    default:
        print_error("%s", fault.text);
        importing->failed = true;
        break;
    }
    job_json_free(&line);
}

/* Takes the complete lines. */
static void take_lines(struct importing *importing, bool is_end)
{
    struct elapse__buffer *text = &importing->text;
    size_t size;

    while ((size = elapse__buffer_size(text)) > 0 && !importing->failed) {
        const char *line = (const char *)elapse__buffer_first(text);
        const char *end = memchr(line, '\n', size);
        if (end == NULL && !is_end)
            break;
        size_t length = end == NULL ? size : (size_t)(end - line);
        if (length > LINE_BYTES_MAX)
            break;
        take_line(importing, line, length);
        elapse__buffer_take(text, length + (end != NULL));
    }
    if (size > LINE_BYTES_MAX) {
        importing->line_number++;
        report(importing, "the line is longer than 268435456 bytes");
        importing->failed = true;
    }
}

static void take_input(struct importing *importing)
{
    size_t got = 1;

    while (got > 0 && !importing->failed) {
        char *place = buffer_room(&importing->text, READ_BYTES);
        int error = elapse__os_read_waiting(ELAPSE__OS_INPUT, place, READ_BYTES, &got);
        if (error != 0) {
            print_error("standard input: %s", elapse__os_error_text(error));
            importing->failed = true;
            return;
        }
        ELAPSE__ASSERT_THAT(got, <=, (size_t)READ_BYTES);
        importing->text.end += got;
        bool is_too_long = elapse__buffer_size(&importing->text) > LINE_BYTES_MAX;
        if (got == 0 || is_too_long || memchr(place, '\n', got) != NULL)
            take_lines(importing, got == 0);
    }
}

static enum exit_status import(const char *directory, uint32_t segment_bytes)
{
    struct importing importing = {.added = 0};
    struct elapse__upkeep_fault fault;

    importing.data = elapse__upkeep_open(directory, true, segment_bytes, &fault);
    if (importing.data == NULL)
        return error_of(STATUS_USAGE, "%s", fault.text);
    take_input(&importing);
    elapse__buffer_free(&importing.text);
    if (!elapse__upkeep_close(importing.data, &fault)) {
        print_error("%s", fault.text);
        importing.failed = true;
    }
    ELAPSE__ASSERT_THAT(importing.bad + importing.added, <=, importing.line_number);
    output_add_format("%" PRIu64 " jobs added\n", importing.added);
    enum exit_status status = output_finish();
    if (importing.failed)
        return STATUS_FAILED;
    return importing.bad > 0 ? STATUS_USAGE : status;
}

enum exit_status import_command(int argc, char **argv)
{
    uint64_t segment_bits = 26;
    const struct command_option options[] = {
        option_number("segment-bits", "N", &segment_bits, 14, 26,
                      "each file of a new directory has 2^N bytes (default 26, 64 MiB)"),
    };
    struct command_line line = COMMAND_LINE(help, options);
    enum exit_status status;

    if (!options_read(&line, argc, argv, &status))
        return status;
    if (line.argument_count != 1)
        return usage_error("give one directory");
    return import(line.arguments[0], UINT32_C(1) << segment_bits);
}
