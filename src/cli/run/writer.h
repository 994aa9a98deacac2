/*
 * Standard output, written by a thread of its own. A timer that fires only leaves its line here, so
 * a slow reader does not delay timers until RUN_WRITER_BYTES_MAX bytes wait for it. Lines are
 * written as soon as the thread is free, and many at once when many wait.
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
    /* The monitor guards the members below. Who adds lines enters it, and the thread. It is woken
     * when there is something to write, when there is room again, and at the end. */
    struct elapse__os_monitor *monitor;
    struct elapse__json waiting; /* lines to be written */
    size_t line_begin;           /* of the line that is being added, in the bytes that wait */
    uint64_t added;              /* bytes, since the start */
    uint64_t written;            /* bytes of `added` */
    bool ending;
    bool ended;       /* the thread writes no more */
    bool never_waits; /* run_writer_begin */
    bool failed;      /* nothing more can be written: lines are thrown away */
    void (*when_failed)(void *context);
    void *context;
};

/* Starts the thread, which calls `when_failed` once if writing fails. Returns 0, or the number of
 * the error. */
int run_writer_start(struct run_writer *writer, void (*when_failed)(void *), void *context);

/* Locks the writer, begins a line of JSON, and opens its object. Waits while too much is to be
 * written. */
struct elapse__json *run_writer_begin(struct run_writer *writer);

/* Does the same, but never waits. For a thread that must not, and asks run_writer_is_full before.
 */
struct elapse__json *run_writer_begin_now(struct run_writer *writer);
bool run_writer_is_full(struct run_writer *writer);

/* Closes the object, ends the line, and unlocks the writer. */
void run_writer_end(struct run_writer *writer);

/* Says that run_writer_begin shall not wait any more. */
void run_writer_stop_waiting(struct run_writer *writer);

/* Writes all that waits, for at most `timeout_ns`. Returns whether that has ended. Otherwise the
 * thread still writes, and the writer must stay. */
bool run_writer_flush(struct run_writer *writer, uint64_t timeout_ns);

/* Waits until all that was added is written. Returns false if that will not be: writing has failed,
 * or run_writer_stop_waiting was called. */
bool run_writer_wait(struct run_writer *writer);

bool run_writer_failed(struct run_writer *writer);

/* Writes all lines that wait, and ends the thread. Returns STATUS_FAILED if anything could not be
 * written; that has been reported. */
enum exit_status run_writer_finish(struct run_writer *writer);

#endif
