/*
 * The input of elapse run, line by line, read in large pieces.
 */
#ifndef ELAPSE_CLI_RUN_INPUT_H
#define ELAPSE_CLI_RUN_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_input {
    int file;
    char *buffer;
    size_t begin;   /* of the first line that was not given out */
    size_t scanned; /* no line ends before this */
    size_t end;
    uint64_t number; /* of the line that was given out last, from 1 */
    bool skipping;   /* in a line that is too long */
    bool ended;
};

/* Opens a file; "-" is standard input. Returns an error number, or 0. */
int run_input_open(struct run_input *input, const char *path);
void run_input_close(struct run_input *input);

/* Reads once, when run_input_next has no more; may wait. Returns an error number, after which the
 * input has ended, or 0. */
int run_input_fill(struct run_input *input);

enum run_input_next {
    RUN_INPUT_NONE, /* not until more is read */
    RUN_INPUT_LINE,
    RUN_INPUT_TOO_LONG, /* a line that does not fit; the next is the one after it */
};

/* The next line, without its end (LF or CRLF). It stays until the next fill. */
enum run_input_next run_input_next(struct run_input *input, const char **text, size_t *length);

#endif
