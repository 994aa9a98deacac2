/*
 * Writes standard output on a thread of its own. A timer that fires only adds its line to a buffer.
 * So a slow reader does not delay timers until RUN_WRITER_BYTES_MAX bytes wait. The thread writes
 * all waiting lines at once.
 */
#ifndef ELAPSE_CLI_RUN_WRITER_H
#define ELAPSE_CLI_RUN_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/json_writer.h"
#include "../../os/program.h"
#include "../common/message.h"

enum { RUN_WRITER_BYTES_MAX = 4 << 20 };

struct run_writer {
    struct elapse__os_background *thread;
    /* The monitor guards the fields below. Threads that wait on it are woken when there is
     * something to write, when there is room again, and at the end. */
    struct elapse__os_monitor *monitor;
    struct elapse__json waiting; /* lines that wait to be written */
    size_t line_begin;           /* where the line that is being added begins */
    uint64_t added;              /* how many bytes were added since the start */
    uint64_t written;            /* how many of the `added` bytes were written */
    bool ending;
    bool ended;       /* the thread does not write any more */
    bool never_waits; /* run_writer_begin does not wait any more */
    bool failed;      /* writing has failed: lines are thrown away */
    void (*when_failed)(void *context);
    void *context;
};

/* Starts the thread, which calls `when_failed` once if writing fails. Returns 0 or an error
 * number. */
int run_writer_start(struct run_writer *writer, void (*when_failed)(void *), void *context);

/* Locks the writer, begins a line of JSON, and opens its object. Waits first while too many bytes
 * wait to be written. */
struct elapse__json *run_writer_begin(struct run_writer *writer);

/* Begins a line as run_writer_begin does, but never waits. It is for a thread that must not wait.
 * Such a thread calls run_writer_is_full before. */
struct elapse__json *run_writer_begin_now(struct run_writer *writer);
bool run_writer_is_full(struct run_writer *writer);

/* Closes the object, ends the line, and unlocks the writer. */
void run_writer_end(struct run_writer *writer);

/* Makes run_writer_begin return without waiting from now on. */
void run_writer_stop_waiting(struct run_writer *writer);

/* Waits until all lines are written, for at most `timeout_ns`. Returns whether they are written. If
 * not, the thread still writes, and the writer must not be freed. */
bool run_writer_flush(struct run_writer *writer, uint64_t timeout_ns);

/* Waits until all added lines are written. Returns false if writing has failed, or if
 * run_writer_stop_waiting was called. */
bool run_writer_wait(struct run_writer *writer);

bool run_writer_failed(struct run_writer *writer);

/* Writes all waiting lines, and ends the thread. Returns STATUS_OK, or STATUS_FAILED if a line
 * could not be written, which was reported. */
enum exit_status run_writer_finish(struct run_writer *writer);

#endif
