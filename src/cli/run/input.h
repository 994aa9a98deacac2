/*
 * Reads the input of elapse run in large pieces, and gives it out line by line.
 */
#ifndef ELAPSE_CLI_RUN_INPUT_H
#define ELAPSE_CLI_RUN_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_input {
    int file;
    char *buffer;
    size_t begin;    /* where the first line begins that was not given out yet */
    size_t scanned;  /* there is no line end between `begin` and this place */
    size_t end;      /* where the bytes that were read end */
    uint64_t number; /* the number of the line that was given out last; the first is 1 */
    bool skipping;   /* the bytes belong to a line that is too long */
    bool ended;
};

/* Opens a file. "-" stands for standard input. Returns 0 or an error number. */
int run_input_open(struct run_input *input, const char *path);

/* Makes an input that has only one line. */
void run_input_of_line(struct run_input *input, const char *line);
void run_input_close(struct run_input *input);

/* Reads once, and may wait for bytes. Requires that run_input_next has given out all lines. Returns
 * 0, or the number of an error that has ended the input. */
int run_input_fill(struct run_input *input);

enum run_input_next {
    RUN_INPUT_NONE, /* more has to be read before there is a complete line */
    RUN_INPUT_LINE,
    RUN_INPUT_TOO_LONG, /* the line is too long, and its rest is skipped */
};

/* Gives out the next line without its end (LF or CRLF). The line is valid until the next
 * run_input_fill. */
enum run_input_next run_input_next(struct run_input *input, const char **text, size_t *length);

#endif
