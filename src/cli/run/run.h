/*
 * elapse run: what its parts share, and who does what.
 *
 *     main thread                              clock thread, or workers with --exec
 *     run_command.c: options
 *     run_life.c: beginning and end, signals
 *       run_input.c: lines                       run_fire.c: one line of JSON
 *         run_line.c: what a line says             run_writer.c: to standard output, by a
 *           run_timers.c ---> scheduler ------->                 thread of its own
 *                                                run_exec.c: one program
 */
#ifndef ELAPSE_CLI_RUN_RUN_H
#define ELAPSE_CLI_RUN_RUN_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/scheduler.h>

#include "../common/message.h"
#include "line.h"
#include "writer.h"

enum { RUN_BATCH_TASKS = 64 };

struct run_options {
    const char *file; /* "-": standard input */
    char **program;   /* with its arguments, to a NULL; NULL: lines of JSON instead */
    uint64_t tick_ns;
    unsigned workers;
    bool strict;
    bool statistics;
    enum elapse_zone zone; /* of cron expressions */
};

/* Timers that are to be scheduled together. */
struct run_batch {
    struct elapse_batch_task tasks[RUN_BATCH_TASKS];
    uint64_t line_numbers[RUN_BATCH_TASKS];
    size_t count;
};

struct run {
    const struct run_options *options;
    const char *input_name; /* for messages */
    struct elapse_scheduler *scheduler;
    struct run_writer writer; /* without --exec */
    char **environment;       /* with --exec: what each program gets besides its own */
    sigset_t first_signals;   /* those that were blocked when the program began */
    /* Unix time less the scheduler's: both were read once, at the start. */
    uint64_t unix_offset_ns;
    /* Timers that have not ended, and one more until the input has. */
    _Atomic uint64_t open;
    _Atomic uint64_t failures;
    int wake_event; /* what wakes the main thread: `open` is 0, or the writer failed */

    /* The main thread's own. */
    struct run_batch batch;
    uint64_t lines;
    uint64_t bad_lines;
};

/* A timer: the context of its task. */
struct run_timer {
    struct run *run;
    uint32_t key_bytes;
    uint32_t payload_bytes;
    char text[]; /* the key, then the payload; no NUL */
};

static inline const char *run_timer_payload(const struct run_timer *timer)
{
    return timer->text + timer->key_bytes;
}

/* Prints "elapse run: ", the message and a line end on standard error: always one line. */
__attribute__((format(printf, 1, 2))) void run_message(const char *format, ...);

/* Wakes the main thread. */
void run_wake(const struct run *run);

/* ---- run_timers.c ---- */

/* Does what a line says, or at least with the next run_apply_rest. `now_ns`, of the scheduler's
 * clock, is when it was read. What cannot be scheduled is said and counts as a failure. */
void run_apply(struct run *run, const struct run_line *line, uint64_t now_ns);
void run_apply_rest(struct run *run);

/* One that counted as open has ended. */
void run_close_one(struct run *run);

/* ---- what a firing does: actions, with a struct run_timer for context ---- */

/* When it was due and when it fired, in Unix time; and how late it was. */
struct run_times {
    uint64_t due_unix_ns;
    uint64_t fired_unix_ns;
    uint64_t late_us;
};

struct run_times run_times_of(const struct run *run, const struct elapse_run *firing);

elapse_action_function run_print; /* run_fire.c */
elapse_action_function run_spawn; /* run_exec.c */

/* ---- run_exec.c ---- */

/* Makes ready for run_spawn. */
void run_exec_init(struct run *run);
void run_exec_free(struct run *run);

/* ---- run_life.c ---- */

/* Runs it all. */
enum exit_status run_file(const struct run_options *options);

/* ---- run_report.c ---- */

/* Counts and lateness, on standard error. */
void run_report(struct run *run);

#endif
