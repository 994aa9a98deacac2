/*
 * Reads the bytes of a trace from a file or from standard input, plain or compressed by gzip.
 */
#ifndef ELAPSE_CLI_REPLAY_TRACE_FILE_H
#define ELAPSE_CLI_REPLAY_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zlib.h>

#include "../../os/program.h"

enum { TRACE_FILE_BUFFER_BYTES = 128 << 10 };

/* Where in the file the next byte is. */
enum trace_file_place {
    TRACE_FILE_BEGINNING, /* nothing is known yet */
    TRACE_FILE_PLAIN,
    TRACE_FILE_MEMBER,       /* inside a member of the gzip format */
    TRACE_FILE_AFTER_MEMBER, /* another member, padding or the end may follow */
    TRACE_FILE_PADDING,      /* a zero has followed a member: only zeros may follow */
};

struct trace_file {
    int descriptor;
    struct elapse__os_status status;
    enum trace_file_place place;
    bool ended;        /* the file has no more bytes */
    bool failed;       /* reading has failed */
    uint64_t consumed; /* how many bytes of the file were used */
    z_stream stream;   /* for a compressed file */
    char error[96];
    size_t begin; /* where the unused bytes in the buffer begin */
    size_t end;
    unsigned char buffer[TRACE_FILE_BUFFER_BYTES];
};

/* Opens `path`; "-" is standard input. Returns NULL, or what went wrong. */
const char *trace_file_open(struct trace_file *file, const char *path);

/* A trace_read_function. `context` is a struct trace_file. */
ptrdiff_t trace_file_read(void *context, char *buffer, size_t bytes, const char **error);

/* Returns whether `path` names the file that is being read. */
bool trace_file_is_at(const struct trace_file *file, const char *path);

/* Reads the rest of a compressed file. Returns whether the rest is damaged. For a pipe, which may
 * never end, reads nothing and returns false. */
bool trace_file_rest_is_damaged(struct trace_file *file);

/* Returns how much of the file was read, from 0 to 1, or below 0 if it is unknown. */
double trace_file_progress(const struct trace_file *file);

void trace_file_close(struct trace_file *file);

#endif
