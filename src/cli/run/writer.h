/*
 * Standard output, written by a thread of its own: a firing only leaves its line here. So lines
 * go out as soon as the thread is free, many at once when many come, and a slow reader
 * holds no timer up before RUN_WRITER_BYTES_MAX wait for it.
 */
#ifndef ELAPSE_CLI_RUN_WRITER_H
#define ELAPSE_CLI_RUN_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "../common/message.h"

enum { RUN_WRITER_BYTES_MAX = 4 << 20 };

struct run_writer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled; /* there is something to write, or it is to end */
    pthread_cond_t taken;  /* there is room again */
    char *bytes;           /* what waits to be written */
    size_t length;
    size_t capacity;
    bool ending;
    bool failed; /* nothing more can be written: what comes is thrown away */
    void (*when_failed)(void *context);
    void *context;
};

/* Begins. `when_failed` is called once, by the thread, when the output failed. Returns an error
 * number, or 0. */
int run_writer_start(struct run_writer *writer, void (*when_failed)(void *), void *context);

/* Locks the writer and returns room for `bytes` bytes, behind those that wait. */
char *run_writer_reserve(struct run_writer *writer, size_t bytes);

/* Adds the first `bytes` bytes of that room to those that wait, and unlocks. */
void run_writer_commit(struct run_writer *writer, size_t bytes);

bool run_writer_failed(struct run_writer *writer);

/* Writes all that waits and ends the thread. What was wrong has been said. */
enum exit_status run_writer_finish(struct run_writer *writer);

#endif
