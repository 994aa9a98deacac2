/*
 * elapse run: the state that its parts share, and which part does what.
 *
 *     main thread                              clock thread, or the workers with --exec
 *     run_command.c: options
 *     life.c: beginning and end, signals
 *       input.c: lines                           print.c: one line of JSON
 *         answer.c: --answers
 *         line.c: what a line says                 writer.c: to standard output, in a
 *           durable.c -------> elapse_queue, with --data: its own threads fire
 *           timers.c -----> scheduler --------->             thread of its own
 *                                                exec.c: runs a program
 */
#ifndef ELAPSE_CLI_RUN_RUN_H
#define ELAPSE_CLI_RUN_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/scheduler.h>

#include "../../os/program.h"
#include "../common/timestamp.h"
#include "writer.h"

enum { RUN_BATCH_TASKS = 64 };

struct run_options {
    const char *file; /* "-": standard input */
    const char *line; /* the only line, from --in or --at; NULL: read the file */
    const char *data; /* the directory of the durable queue; NULL: no queue */
    char **program;   /* the program and its arguments, then NULL; NULL: print lines of JSON */
    uint64_t tick_ns;
    uint64_t workers;        /* 0: the default */
    uint64_t timeout_ns;     /* how long a program may run; 0: without a limit */
    uint64_t retries;        /* for a program that fails */
    uint64_t backoff_min_ns; /* before the first retry; each wait is twice the one before */
    uint64_t backoff_max_ns;
    bool answers;
    bool strict;
    bool statistics;
    enum elapse_zone zone; /* the zone of cron expressions */
};

struct run_durable;

/* Timers that are scheduled together. */
struct run_batch {
    struct elapse_batch_task tasks[RUN_BATCH_TASKS];
    uint64_t line_numbers[RUN_BATCH_TASKS];
    size_t count;
};

struct run {
    const struct run_options *options;
    const char *input_name; /* for messages */
    struct elapse_scheduler *scheduler;
    struct run_durable *durable; /* with --data: keeps the timers instead of the scheduler */
    struct run_writer writer;    /* valid if run_writes() */
    char **environment;          /* with --exec: what each program inherits */
    struct elapse__os_monitor
        *retry_monitor; /* with --exec: guards `is_ending`, and ends waits for retries */
    bool is_ending;
    struct elapse__os_signals signals; /* the signals that the main thread takes */
    /* The wall-clock time minus the scheduler's time. Both were read once, at the start. */
    uint64_t unix_offset_ns;
    /* The number of timers that have not ended, plus one until the input has ended. */
    _Atomic uint64_t open;
    _Atomic uint64_t failures;
    /* With --answers: the timers that have not ended, the newest first. The lock guards `timers`,
     * `timer_count` and the links of the timers. */
    struct elapse__os_monitor *timers_lock;
    struct run_timer *timers;
    size_t timer_count;
    int wake_event; /* wakes the main thread when `open` is 0 or the writer has failed */

    /* Only the main thread uses the fields below. */
    struct run_batch batch;
    uint64_t lines;
    uint64_t bad_lines;
};

/* A timer: the context of its task. */
struct run_timer {
    struct run *run;
    struct run_timer *prev; /* with --answers: the neighbours in the list of the run */
    struct run_timer *next;
    uint64_t passed_unix_ns; /* for a line `at` whose time had passed: that time; else 0 */
    bool is_durable;         /* with --data */
    bool may_repeat;         /* with --data: the timer may have fired in an earlier life */
    bool by_wall_clock;      /* the deadline is by the wall clock */
    uint32_t key_bytes;
    uint32_t payload_bytes;
    char text[]; /* the key, then the payload, without a NUL */
};

/* Returns whether lines are written to standard output. */
static inline bool run_writes(const struct run *run)
{
    return run->options->program == NULL || run->options->answers;
}

static inline const char *run_timer_payload(const struct run_timer *timer)
{
    return timer->text + timer->key_bytes;
}

/* When a timer was due and when it fired, by the wall clock, and how late it was, by the clock of
 * its deadline. Somebody may have set the wall clock meanwhile, so the three need not fit
 * together. */
struct run_times {
    uint64_t due_unix_ns;
    uint64_t fired_unix_ns;
    uint64_t late_us;
};

struct run_times run_times_of(const struct run_timer *timer, const struct elapse_run *firing);

/* Returns the moment of a time without a zone, by the rules of the zone of the run. */
uint64_t run_moment_of_local(const struct run *run, const struct timestamp_local *local);

/* Wakes the main thread. */
void run_wake(const struct run *run);

/* Counts the end of a timer or of the input. The last end wakes the main thread. */
void run_close_one(struct run *run);

#endif
