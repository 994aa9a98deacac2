/*
 * Reads the input. The buffer has room for the longest line, its end, and the bytes of one read:
 *
 *     | given out | a line that has no end yet | not searched for an end | room |
 *                 begin                        scanned                   end
 */
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "../common/message.h"
#include "line.h"

enum {
    READ_BYTES = 256 << 10,
    /* The longest line with CR and LF. */
    LINE_ROOM = RUN_LINE_BYTES_MAX + 2,
};

int run_input_open(struct run_input *input, const char *path)
{
    bool is_standard = strcmp(path, "-") == 0;

    *input = (struct run_input){.file = ELAPSE__OS_INPUT};
    /* If standard input is closed, the next file to be opened would become standard input. */
    int error = is_standard ? elapse__os_check_open(input->file)
                            : elapse__os_open_to_read(path, &input->file);
    if (error != 0)
        return error;
    input->buffer = allocate(LINE_ROOM + READ_BYTES);
    return 0;
}

void run_input_close(struct run_input *input)
{
    ELAPSE__ASSERT(input->file >= 0);
    if (input->file != ELAPSE__OS_INPUT)
        (void)elapse__os_close(input->file);
    free(input->buffer);
}

void run_input_of_line(struct run_input *input, const char *line)
{
    size_t length = strlen(line);

    *input = (struct run_input){.file = ELAPSE__OS_INPUT, .end = length, .ended = true};
    input->buffer = allocate(length + 1);
    memcpy(input->buffer, line, length + 1);
}

int run_input_fill(struct run_input *input)
{
    if (input->begin > 0) {
        memmove(input->buffer, input->buffer + input->begin, input->end - input->begin);
        input->scanned -= input->begin;
        input->end -= input->begin;
        input->begin = 0;
    }
    ELAPSE__ASSERT(input->scanned <= input->end);
    ELAPSE__ASSERT(input->end <= LINE_ROOM);
    size_t got;
    int error = elapse__os_read(input->file, input->buffer + input->end, READ_BYTES, &got);
    if (error == EAGAIN)
        return 0;
    input->end += got;
    input->ended = got == 0;
    return error;
}

/* Skips the mark that editors of Windows write before the first line. */
static void skip_byte_order_mark(const struct run_input *input, const char **text, size_t *length)
{
    static const char mark[] = {'\xef', '\xbb', '\xbf'};

    ELAPSE__ASSERT(input->number > 0);
    if (input->number == 1 && *length >= sizeof mark && memcmp(*text, mark, sizeof mark) == 0) {
        *text += sizeof mark;
        *length -= sizeof mark;
    }
}

/* Decides about the bytes from `begin` on, which have no line end. */
static enum run_input_next next_of_rest(struct run_input *input, const char **text, size_t *length)
{
    size_t bytes = input->end - input->begin;
    bool is_last = input->ended && bytes > 0;
    bool is_too_long = bytes > RUN_LINE_BYTES_MAX + 1;

    ELAPSE__ASSERT(input->begin <= input->end);
    ELAPSE__ASSERT(input->scanned <= input->end);
    input->scanned = input->end;
    if (!input->skipping && !is_last && !is_too_long)
        return RUN_INPUT_NONE;
    *text = input->buffer + input->begin;
    *length = bytes;
    input->begin = input->end;
    if (input->skipping)
        return RUN_INPUT_NONE;
    input->number++;
    input->skipping = is_too_long;
    skip_byte_order_mark(input, text, length);
    return is_too_long ? RUN_INPUT_TOO_LONG : RUN_INPUT_LINE;
}

enum run_input_next run_input_next(struct run_input *input, const char **text, size_t *length)
{
    ELAPSE__ASSERT(input->begin <= input->scanned);
    while (true) {
        char *from = input->buffer + input->scanned;
        const char *newline = memchr(from, '\n', input->end - input->scanned);
        if (newline == NULL)
            return next_of_rest(input, text, length);
        *text = input->buffer + input->begin;
        *length = (size_t)(newline - *text);
        input->begin += *length + 1;
        input->scanned = input->begin;
        if (!input->skipping)
            break;
        input->skipping = false;
    }
    if (*length > 0 && (*text)[*length - 1] == '\r')
        --*length;
    input->number++;
    skip_byte_order_mark(input, text, length);
    return RUN_INPUT_LINE;
}
