/*
 * The life of a run: how it begins, what wakes its main thread, how it ends.
 */
#include "life.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "answer.h"
#include "durable.h"
#include "exec.h"
#include "input.h"
#include "statistics.h"
#include "timers.h"

/* Any of these signals ends the run. */
#define ENDING_SIGNALS                                                           \
    (ELAPSE__OS_BIT(ELAPSE__OS_HANG_UP) | ELAPSE__OS_BIT(ELAPSE__OS_INTERRUPT) | \
     ELAPSE__OS_BIT(ELAPSE__OS_TERMINATE))

/* How long a slow reader can delay the end after a signal. */
#define FLUSH_NS UINT64_C(2000000000)

/* Why a run ends. */
enum end {
    END_NOT_YET,
    END_NOTHING_LEFT,
    END_SIGNAL,
    END_BAD_LINE, /* --strict */
    END_DATA,     /* --data: the queue has failed */
    END_OUTPUT,   /* standard output cannot be written, or nobody reads it any more */
};

struct life {
    struct run *run;
    struct run_input input;
    enum end end;
    enum elapse__os_signal signal; /* for END_SIGNAL: the signal that ended the run */
    enum exit_status status;
};

/* ---- what wakes the main thread ---- */

static void wake_for_failed_output(void *context)
{
    run_wake(context);
}

static void bad_line(struct life *life, const struct run_line_fault *fault)
{
    ELAPSE__ASSERT(fault->text[0] != '\0');
    run_report_line(life->run, life->input.number, fault->text);
    life->run->bad_lines++;
    if (life->run->options->strict) {
        life->end = END_BAD_LINE;
        life->status = STATUS_USAGE;
    }
}

static void take_line(struct life *life, const char *text, size_t length, uint64_t now_ns)
{
    struct run_line line;
    struct run_line_fault fault;

    ELAPSE__ASSERT(life->end == END_NOT_YET);
    if (!run_line_parse(&line, text, length, &fault)) {
        bad_line(life, &fault);
        return;
    }
    if (line.kind == RUN_LINE_LIST && !life->run->options->answers) {
        bad_line(life, &(struct run_line_fault){"list needs --answers"});
        return;
    }
    run_apply(life->run, &line, now_ns);
}

static void take_lines(struct life *life);

/* Reads once, and takes all complete lines. */
static void take_input(struct life *life)
{
    int error = run_input_fill(&life->input);

    ELAPSE__ASSERT(life->end == END_NOT_YET);
    if (error != 0) {
        print_error("%s: %s", life->run->input_name, elapse__os_error_text(error));
        life->status = STATUS_USAGE;
    }
    take_lines(life);
}

static void take_lines(struct life *life)
{
    enum run_input_next next;
    const char *text;
    size_t length;

    uint64_t now_ns = elapse_scheduler_now_ns(life->run->scheduler);
    while (life->end == END_NOT_YET &&
           (next = run_input_next(&life->input, &text, &length)) != RUN_INPUT_NONE) {
        life->run->lines = life->input.number;
        if (next == RUN_INPUT_LINE) {
            take_line(life, text, length, now_ns);
        } else {
            struct run_line_fault fault;
            run_line_too_long(&fault);
            bad_line(life, &fault);
        }
    }
    run_apply_rest(life->run);
    if (life->input.ended)
        run_close_one(life->run);
}

static void take_signal(struct life *life)
{
    const struct elapse__os_signals *signals = &life->run->signals;
    enum elapse__os_signal signal = life->run->options->program != NULL
                                        ? run_exec_take_signal(life->run)
                                        : elapse__os_signals_take(signals);

    if (signal == ELAPSE__OS_NO_SIGNAL)
        return;
    if (signal == ELAPSE__OS_USER) {
        run_print_statistics(life->run);
        return;
    }
    life->end = END_SIGNAL;
    life->signal = signal;
    /* A second signal has its usual effect, even if the program waits for something. */
    elapse__os_signals_release(signals, ENDING_SIGNALS);
}

static void take_wake(struct life *life)
{
    ELAPSE__ASSERT(life->end == END_NOT_YET);
    if (!elapse__os_event_reset(life->run->wake_event))
        return;
    if (run_writes(life->run) && run_writer_failed(&life->run->writer))
        life->end = END_OUTPUT;
    else if (life->run->durable != NULL && run_durable_has_failed(life->run->durable))
        life->end = END_DATA;
    else if (atomic_load(&life->run->open) == 0 &&
             (life->run->durable == NULL || run_durable_is_empty(life->run->durable)))
        life->end = END_NOTHING_LEFT;
}

static void live(struct life *life)
{
    enum { INPUT, SIGNALS, WAKE, OUTPUT, QUEUE, WATCH_COUNT };
    /* How often the loop looks whether a slow reader has made room for answers. */
    const uint64_t room_after_ns = 50000000;
    bool writes = run_writes(life->run);
    struct elapse__os_watch watches[WATCH_COUNT] = {
        [INPUT] = {.file = life->input.file, .for_data = true},
        [SIGNALS] = {.file = life->run->signals.file, .for_data = true},
        [WAKE] = {.file = life->run->wake_event, .for_data = true},
        [OUTPUT] = {.file = writes ? ELAPSE__OS_OUTPUT : -1},
        [QUEUE] = {.file =
                       life->run->durable != NULL ? run_durable_descriptor(life->run->durable) : -1,
                   .for_data = true},
    };

    ELAPSE__ASSERT(life->end == END_NOT_YET);
    while (life->end == END_NOT_YET) {
        bool is_full = life->run->options->answers && run_writer_is_full(&life->run->writer);
        watches[INPUT].file = life->input.ended || is_full ? -1 : life->input.file;
        if (elapse__os_wait(watches, WATCH_COUNT, is_full ? room_after_ns : ELAPSE__OS_FOREVER) !=
            0)
            continue;
        if (watches[SIGNALS].ready)
            take_signal(life);
        if (watches[WAKE].ready && life->end == END_NOT_YET)
            take_wake(life);
        if (watches[OUTPUT].failed && life->end == END_NOT_YET)
            life->end = END_OUTPUT;
        else if (watches[OUTPUT].ready)
            watches[OUTPUT].file = -1;
        if (watches[QUEUE].ready)
            run_durable_wake(life->run->durable);
        if (watches[INPUT].ready && life->end == END_NOT_YET)
            take_input(life);
    }
}

/* ---- the end ---- */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Returns the status of a run that lost timers because of the signal. */
static enum exit_status status_of_signal(enum elapse__os_signal signal)
{
    if (signal == ELAPSE__OS_HANG_UP)
        return STATUS_HUNG_UP;
    ELAPSE__ASSERT(signal == ELAPSE__OS_INTERRUPT || signal == ELAPSE__OS_TERMINATE);
    return signal == ELAPSE__OS_INTERRUPT ? STATUS_INTERRUPTED : STATUS_TERMINATED;
}

/* Returns the exit status. If timers were lost because of a signal, the status of the signal comes
 * before all others. */
static enum exit_status status_of_end(const struct life *life, uint64_t lost)
{
    const struct run *run = life->run;

    ELAPSE__ASSERT(life->end != END_NOT_YET);
    if (life->end == END_SIGNAL && lost > 0)
        return status_of_signal(life->signal);
    bool failed = life->end == END_OUTPUT || life->end == END_DATA ||
                  atomic_load(&run->failures) > 0 || run->bad_lines > 0;
    return failed && life->status == STATUS_OK ? STATUS_FAILED : life->status;
}

/* Ends waits that may be long: before retries, and for a slow reader. */
static void stop_waiting(struct life *life)
{
    struct run *run = life->run;

    if (run->options->program != NULL)
        run_exec_end(run);
    if (life->end != END_SIGNAL)
        elapse__os_signals_release(&run->signals,
                                   ENDING_SIGNALS); /* nobody takes these signals now */
    else if (run_writes(run))
        run_writer_stop_waiting(&run->writer);
}

/* Closes the scheduler, which waits for the actions that run. Prints how the run ended. */
static enum exit_status finish(struct life *life)
{
    struct run *run = life->run;
    struct elapse_statistics statistics;

    stop_waiting(life);
    if (run->durable != NULL && !run_durable_finish(run->durable))
        life->status = STATUS_FAILED;
    if (elapse_scheduler_close(run->scheduler, ELAPSE_CLOSE_DROP, NULL, NULL) != ELAPSE_OK)
        life->status = STATUS_FAILED;
    bool is_flushed =
        !run_writes(run) ||
        run_writer_flush(&run->writer, life->end == END_SIGNAL ? FLUSH_NS : UINT64_MAX / 2);
    if (!is_flushed)
        print_error("the reader was too slow: lines that had fired are lost");
    else if (run_writes(run) && run_writer_finish(&run->writer) != STATUS_OK)
        life->end = END_OUTPUT;
    elapse_scheduler_statistics(run->scheduler, &statistics);
    if (run->durable != NULL)
        run_durable_report(run->durable);
    else if (life->end == END_SIGNAL || life->end == END_BAD_LINE)
        print_error("ended with %" PRIu64 " timer%s pending", statistics.dropped,
                    plural(statistics.dropped));
    if (run->bad_lines > 0 && life->end != END_OUTPUT)
        print_error("%" PRIu64 " line%s %s bad", run->bad_lines, plural(run->bad_lines),
                    run->bad_lines == 1 ? "was" : "were");
    if (run->options->statistics)
        run_print_statistics(run);
    if (!is_flushed && life->status == STATUS_OK)
        life->status = STATUS_FAILED;
    enum exit_status status = status_of_end(life, statistics.dropped);
    if (!is_flushed)
        exit((int)status); /* a thread still writes, so its memory must stay */
    return status;
}

/* ---- the beginning ---- */

static enum elapse_error start_scheduler(struct run *run)
{
    struct elapse_scheduler_options options;

    elapse_scheduler_options_init(&options);
    options.clock = ELAPSE_CLOCK_BOOTTIME; /* delays continue while the machine is suspended */
    options.tick_ns = run->options->tick_ns;
    options.workers = run->options->program != NULL ? (unsigned)run->options->workers : 0;
    options.shards = 1; /* so that timers fire in the order of their deadlines */
    enum elapse_error error = elapse_scheduler_new(&options, &run->scheduler);
    if (error != ELAPSE_OK)
        return error;
    run->unix_offset_ns = elapse__os_wall_clock_ns() - elapse_scheduler_now_ns(run->scheduler);
    return elapse_scheduler_start(run->scheduler);
}

/* Opens what wakes the main thread, and what timers need when they fire. Returns 0 or an error
 * number. */
static int open_signals_and_output(struct life *life)
{
    struct run *run = life->run;

    int error = elapse__os_event_open(&run->wake_event);
    if (error == 0)
        error = elapse__os_signals_open(&run->signals,
                                        ENDING_SIGNALS | ELAPSE__OS_BIT(ELAPSE__OS_USER));
    if (error == 0 && run->options->answers)
        error = elapse__os_monitor_new(&run->timers_lock);
    if (error == 0 && run_writes(run))
        error = run_writer_start(&run->writer, wake_for_failed_output, run);
    if (error == 0 && run->options->program != NULL)
        error = run_exec_init(run);
    return error;
}

/* Prepares everything that the first line needs. Prints what is wrong, and returns the status for
 * it. */
static enum exit_status begin(struct life *life)
{
    int failure = open_signals_and_output(life);

    if (failure != 0)
        return error_of(STATUS_FAILED, "%s", elapse__os_error_text(failure));
    enum elapse_error error = start_scheduler(life->run);
    if (error != ELAPSE_OK)
        return error_of(STATUS_FAILED, "%s", elapse_error_text(error));
    return life->run->options->data != NULL ? run_durable_open(life->run, ENDING_SIGNALS)
                                            : STATUS_OK;
}

enum exit_status run_file(const struct run_options *options)
{
    bool is_standard = strcmp(options->file, "-") == 0;
    const char *name = options->file[0] == '\0' ? "''" : options->file;
    struct run run = {
        .options = options, .input_name = is_standard ? "standard input" : name, .open = 1};
    struct life life = {.run = &run};

    ELAPSE__ASSERT(options->tick_ns > 0);
    int error = run_writes(&run) ? elapse__os_check_open(ELAPSE__OS_OUTPUT) : 0;
    if (error != 0)
        return error_of(STATUS_FAILED, "standard output: %s", elapse__os_error_text(error));
    if (options->line != NULL)
        run_input_of_line(&life.input, options->line);
    else
        error = run_input_open(&life.input, options->file);
    if (error != 0)
        return error_of(STATUS_USAGE, "%s: %s", run.input_name, elapse__os_error_text(error));
    enum exit_status status = begin(&life);
    if (status != STATUS_OK) {
        run_input_close(&life.input);
        return status; /* the exit of the program frees everything else */
    }
    if (options->line != NULL)
        take_lines(&life);
    live(&life);
    status = finish(&life);
    (void)elapse_scheduler_free(run.scheduler);
    run_durable_free(run.durable);
    if (options->program != NULL)
        run_exec_free(&run);
    if (options->answers)
        elapse__os_monitor_free(run.timers_lock);
    run_input_close(&life.input);
    elapse__os_signals_close(&run.signals);
    (void)elapse__os_close(run.wake_event);
    return status;
}
