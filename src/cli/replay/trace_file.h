/*
 * A trace's bytes out of a file or standard input, plain or compressed by gzip.
 */
#ifndef ELAPSE_CLI_REPLAY_TRACE_FILE_H
#define ELAPSE_CLI_REPLAY_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <zlib.h>

struct trace_file {
    gzFile stream;
    struct stat status; /* all zero: not known */
    uint64_t bytes;     /* size of the file as it lies on disk; 0: not known */
    bool failed;        /* reading has */
};

/* Opens `path`, "-" being standard input. Returns NULL, or what went wrong. */
const char *trace_file_open(struct trace_file *file, const char *path);

/* A trace_read_function; its context is a struct trace_file. */
ptrdiff_t trace_file_read(void *context, char *buffer, size_t bytes, const char **error);

/* Whether `path` names the file that is read. */
bool trace_file_is_at(const struct trace_file *file, const char *path);

/* Whether the rest of a compressed file, which is read for this, turns out to be
 * damaged, and that was not known before; always false for what is no file. */
bool trace_file_rest_is_damaged(struct trace_file *file);

/* How much of the file has been read, from 0 to 1; below 0: not known. */
double trace_file_progress(const struct trace_file *file);

void trace_file_close(struct trace_file *file);

#endif
