/*
 * The buffer holds the longest line, its end, and what is read at once:
 *
 *     | given out | begin ... a line without its end yet ... | scanned, end | room |
 */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/message.h"
#include "line.h"

enum {
    READ_BYTES = 256 << 10,
    /* A line with CR and LF. */
    LINE_ROOM = RUN_LINE_BYTES_MAX + 2,
};

int run_input_open(struct run_input *input, const char *path)
{
    bool is_standard = strcmp(path, "-") == 0;

    *input = (struct run_input){.file = STDIN_FILENO};
    if (!is_standard)
        input->file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    /* A standard input that is closed must not turn out to be a file opened later. */
    if (input->file < 0 || fcntl(input->file, F_GETFD) < 0)
        return errno;
    input->buffer = allocate(LINE_ROOM + READ_BYTES);
    return 0;
}

void run_input_close(struct run_input *input)
{
    if (input->file != STDIN_FILENO)
        (void)close(input->file);
    free(input->buffer);
}

int run_input_fill(struct run_input *input)
{
    if (input->begin > 0) {
        memmove(input->buffer, input->buffer + input->begin, input->end - input->begin);
        input->scanned -= input->begin;
        input->end -= input->begin;
        input->begin = 0;
    }
    ssize_t bytes = read(input->file, input->buffer + input->end, READ_BYTES);
    if (bytes > 0) {
        input->end += (size_t)bytes;
        return 0;
    }
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    input->ended = true;
    return bytes < 0 ? errno : 0;
}

/* What is left holds no end of a line. */
static enum run_input_next next_of_rest(struct run_input *input, const char **text, size_t *length)
{
    size_t bytes = input->end - input->begin;
    bool is_last = input->ended && bytes > 0;
    bool is_too_long = bytes > RUN_LINE_BYTES_MAX + 1;

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
    return is_too_long ? RUN_INPUT_TOO_LONG : RUN_INPUT_LINE;
}

enum run_input_next run_input_next(struct run_input *input, const char **text, size_t *length)
{
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
    return RUN_INPUT_LINE;
}
