/*
 * The life of a run: its beginning, what wakes it, its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "../common/message.h"
#include "input.h"
#include "run.h"

/* Why a run ends. */
enum end {
    END_NOT_YET,
    END_NOTHING_LEFT,
    END_SIGNAL,
    END_BAD_LINE, /* --strict */
    END_OUTPUT,   /* nobody reads it any more, or it failed */
};

struct life {
    struct run *run;
    struct run_input input;
    int signals; /* a signalfd */
    sigset_t ending_signals;
    enum end end;
    enum exit_status status;
};

/* ---- the life of a run ---- */

void run_wake(const struct run *run)
{
    const uint64_t one = 1;
    ssize_t written = write(run->wake_event, &one, sizeof one);
    (void)written; /* it is 8 bytes: the count cannot be full */
}

static void wake_for_failed_output(void *context)
{
    run_wake(context);
}

static void bad_line(struct life *life, const struct run_line_fault *fault)
{
    run_message("%s: line %" PRIu64 ": %s", life->run->input_name, life->input.number, fault->text);
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

    if (!run_line_parse(&line, text, length, &fault)) {
        bad_line(life, &fault);
        return;
    }
    run_apply(life->run, &line, now_ns);
}

/* Reads once, and takes all lines that are there. */
static void take_input(struct life *life)
{
    enum run_input_next next;
    const char *text;
    size_t length;
    int error = run_input_fill(&life->input);

    if (error != 0) {
        run_message("%s: %s", life->run->input_name, strerror(error));
        life->status = STATUS_USAGE;
    }
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
    struct signalfd_siginfo signal;

    if (read(life->signals, &signal, sizeof signal) != (ssize_t)sizeof signal)
        return;
    if (signal.ssi_signo == SIGUSR1) {
        run_report(life->run);
        return;
    }
    life->end = END_SIGNAL;
    /* A second one ends the program as usual, whatever it waits for. */
    (void)pthread_sigmask(SIG_UNBLOCK, &life->ending_signals, NULL);
}

static void take_wake(struct life *life)
{
    uint64_t count;

    if (read(life->run->wake_event, &count, sizeof count) != (ssize_t)sizeof count)
        return;
    if (life->run->options->program == NULL && run_writer_failed(&life->run->writer))
        life->end = END_OUTPUT;
    else if (atomic_load(&life->run->open) == 0)
        life->end = END_NOTHING_LEFT;
}

static void live(struct life *life)
{
    bool prints = life->run->options->program == NULL;
    struct pollfd files[] = {
        {.fd = life->input.file, .events = POLLIN},
        {.fd = life->signals, .events = POLLIN},
        {.fd = life->run->wake_event, .events = POLLIN},
        /* Only for its end: that the reader of a pipe has gone. */
        {.fd = prints ? STDOUT_FILENO : -1, .events = 0},
    };

    while (life->end == END_NOT_YET) {
        if (poll(files, sizeof files / sizeof files[0], -1) < 0)
            continue;
        if (files[1].revents != 0)
            take_signal(life);
        if (files[2].revents != 0 && life->end == END_NOT_YET)
            take_wake(life);
        if ((files[3].revents & POLLERR) != 0 && life->end == END_NOT_YET)
            life->end = END_OUTPUT;
        else if (files[3].revents != 0)
            files[3].fd = -1;
        if (files[0].revents != 0 && life->end == END_NOT_YET) {
            take_input(life);
            if (life->input.ended)
                files[0].fd = -1;
        }
    }
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Closes the scheduler, which waits for what runs, and says what there is to say. */
static enum exit_status finish(struct life *life)
{
    struct run *run = life->run;
    struct elapse_statistics statistics;
    enum exit_status status = life->status;

    if (elapse_scheduler_close(run->scheduler, ELAPSE_CLOSE_DROP, NULL, NULL) != ELAPSE_OK)
        status = STATUS_FAILED;
    if (run->options->program == NULL && run_writer_finish(&run->writer) != STATUS_OK)
        life->end = END_OUTPUT;
    elapse_scheduler_statistics(run->scheduler, &statistics);
    if (life->end == END_SIGNAL || life->end == END_BAD_LINE)
        run_message("ended with %" PRIu64 " timer%s pending", statistics.dropped,
                    plural(statistics.dropped));
    if (run->bad_lines > 0 && life->end != END_OUTPUT)
        run_message("%" PRIu64 " line%s %s bad", run->bad_lines, plural(run->bad_lines),
                    run->bad_lines == 1 ? "was" : "were");
    if (run->options->statistics)
        run_report(run);
    bool failed = life->end == END_OUTPUT || atomic_load(&run->failures) > 0;
    return failed && status == STATUS_OK ? STATUS_FAILED : status;
}

/* ---- the beginning ---- */

/* Blocks the signals that are to be read as a file, except those that are ignored, as
 * nohup and the shell's & leave them. */
static int open_signals(struct life *life)
{
    static const int wanted[] = {SIGINT, SIGTERM, SIGUSR1};
    struct sigaction before;
    sigset_t signals;

    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (sigaction(wanted[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaddset(&signals, wanted[i]);
    }
    (void)pthread_sigmask(SIG_BLOCK, &signals, &life->run->first_signals);
    life->ending_signals = signals;
    sigdelset(&life->ending_signals, SIGUSR1);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static uint64_t unix_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * ELAPSE_SECOND_NS + (uint64_t)now.tv_nsec;
}

static enum elapse_error start_scheduler(struct run *run)
{
    struct elapse_scheduler_options options;

    elapse_scheduler_options_init(&options);
    options.tick_ns = run->options->tick_ns;
    options.workers = run->options->program != NULL ? run->options->workers : 0;
    options.shards = 1; /* so that firings come in the order of their deadlines */
    enum elapse_error error = elapse_scheduler_new(&options, &run->scheduler);
    if (error != ELAPSE_OK)
        return error;
    run->unix_offset_ns = unix_now_ns() - elapse_scheduler_now_ns(run->scheduler);
    return elapse_scheduler_start(run->scheduler);
}

/* What must be there before the first line is read. Returns what is wrong, or NULL. */
static const char *begin(struct life *life)
{
    struct run *run = life->run;

    run->wake_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    life->signals = open_signals(life);
    if (run->wake_event < 0 || life->signals < 0)
        return strerror(errno);
    if (run->options->program != NULL) {
        run_exec_init(run);
    } else {
        int error = run_writer_start(&run->writer, wake_for_failed_output, run);
        if (error != 0)
            return strerror(error);
    }
    enum elapse_error error = start_scheduler(run);
    return error == ELAPSE_OK ? NULL : elapse_error_text(error);
}

enum exit_status run_file(const struct run_options *options)
{
    bool is_standard = strcmp(options->file, "-") == 0;
    const char *name = options->file[0] == '\0' ? "''" : options->file;
    struct run run = {
        .options = options, .input_name = is_standard ? "standard input" : name, .open = 1};
    struct life life = {.run = &run};

    if (options->program == NULL && fcntl(STDOUT_FILENO, F_GETFD) < 0) {
        print_error("standard output: %s", strerror(errno));
        return STATUS_FAILED;
    }
    int error = run_input_open(&life.input, options->file);
    if (error != 0) {
        run_message("%s: %s", run.input_name, strerror(error));
        return STATUS_USAGE;
    }
    const char *fault = begin(&life);
    if (fault != NULL) {
        /* The system gives it no threads or files: there is nothing to tidy up for. */
        run_message("%s", fault);
        return STATUS_FAILED;
    }
    live(&life);
    enum exit_status status = finish(&life);
    (void)elapse_scheduler_free(run.scheduler);
    run_exec_free(&run);
    run_input_close(&life.input);
    (void)close(life.signals);
    (void)close(run.wake_event);
    return status;
}
