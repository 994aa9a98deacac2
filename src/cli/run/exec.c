/*
 * Runs a program for each timer that fires. The worker thread waits until the program has ended.
 */
#include "exec.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/duration.h"
#include "../common/environment.h"
#include "../common/message.h"
#include "../common/text.h"
#include "../common/timestamp.h"

/* The variables that a program gets in addition to those that it inherits. */
static const char *const names[] = {
    "ELAPSE_KEY=", "ELAPSE_DUE=",    "ELAPSE_FIRED=",   "ELAPSE_LATE_US=",
    "ELAPSE_RUN=", "ELAPSE_MISSED=", "ELAPSE_PAYLOAD=", "ELAPSE_REPETITION=",
};

enum { NAME_COUNT = sizeof names / sizeof names[0] };

int run_exec_init(struct run *run)
{
    size_t count;

    run->environment = environment_without(names, NAME_COUNT, 0, &count);
    return elapse__os_monitor_new(&run->retry_monitor);
}

void run_exec_free(struct run *run)
{
    free(run->environment);
    elapse__os_monitor_free(run->retry_monitor);
}

static void end_in_monitor(struct run *run)
{
    run->is_ending = true;
    elapse__os_monitor_wake_all(run->retry_monitor);
}

void run_exec_end(struct run *run)
{
    elapse__os_monitor_enter(run->retry_monitor);
    end_in_monitor(run);
    elapse__os_monitor_leave(run->retry_monitor);
}

enum elapse__os_signal run_exec_take_signal(struct run *run)
{
    elapse__os_monitor_enter(run->retry_monitor);
    enum elapse__os_signal signal = elapse__os_signals_take(&run->signals);
    if (signal != ELAPSE__OS_NO_SIGNAL && signal != ELAPSE__OS_USER)
        end_in_monitor(run);
    elapse__os_monitor_leave(run->retry_monitor);
    return signal;
}

/* ---- the environment of one program ---- */

static void add_moment(struct elapse__buffer *variables, const char *name, uint64_t unix_ns)
{
    char text[TIMESTAMP_BYTES];

    timestamp_write(text, unix_ns);
    environment_add(variables, name, text, sizeof text);
}

/* Adds the variables of a firing. */
static void add_variables(struct elapse__buffer *variables, const struct run_timer *timer,
                          const struct elapse_run *firing)
{
    struct run_times times = run_times_of(timer, firing);
    const char *repetition = timer->may_repeat ? "true" : "false";

    environment_add(variables, names[0], timer->text, timer->key_bytes);
    add_moment(variables, names[1], times.due_unix_ns);
    add_moment(variables, names[2], times.fired_unix_ns);
    environment_add_number(variables, names[3], times.late_us);
    environment_add_number(variables, names[4], firing->number);
    environment_add_number(variables, names[5], firing->missed);
    environment_add(variables, names[6], run_timer_payload(timer), timer->payload_bytes);
    if (timer->is_durable)
        environment_add(variables, names[7], repetition, strlen(repetition));
}

/* ---- running the program ---- */

/* Reports how the program ended if it failed. Returns whether it failed. */
static bool report_failure(const struct run_timer *timer, const struct elapse__os_end *end)
{
    const char *program = timer->run->options->program[0];
    struct quoted key = quote_text(timer->text, timer->key_bytes);

    ELAPSE__ASSERT(end->number >= 0);
    if (end->timed_out)
        print_error("%s: %s was ended after %s", key.text, program,
                    duration_format(timer->run->options->timeout_ns).text);
    else if (end->by_signal)
        print_error("%s: %s was ended by signal %d (%s)", key.text, program, end->number,
                    elapse__os_signal_text(end->number));
    else if (end->number != 0)
        print_error("%s: %s ended with exit status %d", key.text, program, end->number);
    return end->timed_out || end->by_signal || end->number != 0;
}

/* Runs the program once. If the program fails, reports it and returns true. */
static bool run_once(const struct run_timer *timer, const struct elapse__os_program *program)
{
    struct elapse__os_end end = {.number = 0};
    int error = elapse__os_run(program, &end);

    if (error == 0)
        return report_failure(timer, &end);
    print_error("%s: cannot run %s: %s", quote_text(timer->text, timer->key_bytes).text,
                program->arguments[0], elapse__os_error_text(error));
    return true;
}

/* Waits before a retry. Returns false if the run ends. */
static bool wait_to_retry(struct run *run, uint64_t delay_ns)
{
    uint64_t when_ns = elapse__os_monotonic_ns() + delay_ns;

    ELAPSE__ASSERT(delay_ns <= run->options->backoff_max_ns);
    elapse__os_monitor_enter(run->retry_monitor);
    while (!run->is_ending && elapse__os_monotonic_ns() < when_ns)
        elapse__os_monitor_wait_until(run->retry_monitor, when_ns);
    bool goes_on = !run->is_ending;
    elapse__os_monitor_leave(run->retry_monitor);
    return goes_on;
}

/* Returns whether the run ends. A signal from the keyboard reaches the programs at the same time as
 * the main thread, so a program may end before the main thread has taken the signal. So this
 * function waits until the main thread has taken each signal that has arrived. */
static bool is_ending(struct run *run)
{
    const uint64_t look_after_ns = 5000000;
    struct elapse__os_watch watch = {.file = run->signals.file, .for_data = true};

    elapse__os_monitor_enter(run->retry_monitor);
    while (!run->is_ending && elapse__os_wait(&watch, 1, 0) == 0 && watch.ready)
        elapse__os_monitor_wait_until(run->retry_monitor,
                                      elapse__os_monotonic_ns() + look_after_ns);
    bool ends = run->is_ending;
    elapse__os_monitor_leave(run->retry_monitor);
    return ends;
}

/* How the runs of a program ended. */
enum outcome {
    SUCCEEDED,
    FAILED,
    CUT_SHORT, /* the program failed when the run ended, perhaps by the same signal */
};

/* Runs the program. If it fails, runs it up to `retries` times more. Only the program of a timer
 * that the next run can fire again is cut short; others have failed. */
static enum outcome run_with_retries(const struct run_timer *timer,
                                     const struct elapse__os_program *program)
{
    const struct run_options *options = timer->run->options;
    uint64_t delay_ns = options->backoff_min_ns;

    for (uint64_t retry = 0; run_once(timer, program); retry++) {
        if (timer->is_durable && is_ending(timer->run))
            return CUT_SHORT;
        if (retry == options->retries)
            return FAILED;
        if (!wait_to_retry(timer->run, delay_ns))
            return timer->is_durable ? CUT_SHORT : FAILED;
        delay_ns = delay_ns <= options->backoff_max_ns / 2 ? 2 * delay_ns : options->backoff_max_ns;
    }
    return SUCCEEDED;
}

static void report_wait(const struct run_timer *timer, const struct elapse_run *firing)
{
    const uint64_t reported_from_ns = 1000000000;
    uint64_t waited_ns = firing->actual_ns - firing->intended_ns;

    ELAPSE__ASSERT(firing->actual_ns >= firing->intended_ns);
    if (waited_ns >= reported_from_ns)
        print_error("%s: waited %s for a worker; --workers allows more",
                    quote_text(timer->text, timer->key_bytes).text,
                    duration_format(waited_ns - waited_ns % 1000000).text);
}

static enum outcome spawn(const struct run_timer *timer, const struct elapse_run *firing)
{
    struct run *run = timer->run;
    struct elapse__buffer variables = {.bytes = NULL};

    ELAPSE__ASSERT(run->options->program != NULL);
    ELAPSE__ASSERT(run->environment != NULL);
    report_wait(timer, firing);
    add_variables(&variables, timer, firing);
    char **environment = environment_with(run->environment, &variables);
    const struct elapse__os_program program = {
        .arguments = run->options->program,
        .environment = environment,
        .output = ELAPSE__OS_OUTPUT,
        .timeout_ns = run->options->timeout_ns,
        .signals = &run->signals,
    };
    enum outcome outcome = run_with_retries(timer, &program);
    if (outcome == FAILED)
        atomic_fetch_add(&run->failures, 1);
    free(environment);
    elapse__buffer_free(&variables);
    return outcome;
}

void run_spawn(void *context, const struct elapse_run *firing)
{
    const struct run_timer *timer = context;

    ELAPSE__ASSERT(!timer->is_durable);
    (void)spawn(timer, firing);
}

bool run_spawn_durable(const struct run_timer *timer, const struct elapse_run *firing)
{
    ELAPSE__ASSERT(timer->is_durable);
    return spawn(timer, firing) != CUT_SHORT;
}
