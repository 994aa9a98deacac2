/*
 * A timer that fires runs a program on the worker thread, which waits until it has ended.
 */
#include "exec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/environment.h"
#include "../common/message.h"
#include "../common/text.h"
#include "timestamp.h"

/* The variables that a program gets besides those it inherits. */
static const char *const names[] = {
    "ELAPSE_KEY=", "ELAPSE_DUE=",    "ELAPSE_FIRED=",   "ELAPSE_LATE_US=",
    "ELAPSE_RUN=", "ELAPSE_MISSED=", "ELAPSE_PAYLOAD=",
};

enum { NAME_COUNT = sizeof names / sizeof names[0] };

void run_exec_init(struct run *run)
{
    size_t count;

    run->environment = environment_without(names, NAME_COUNT, 0, &count);
}

void run_exec_free(struct run *run)
{
    free(run->environment);
}

/* ---- the environment of one program ---- */

/* Writes NAME=text and a NUL. Returns where the next variable begins. */
static char *write_variable(char *out, const char *name, const char *text, size_t length)
{
    size_t name_length = strlen(name);

    ELAPSE__ASSERT(name[strlen(name) - 1] == '=');
    memcpy(out, name, name_length);
    out += name_length;
    memcpy(out, text, length);
    out[length] = '\0';
    return out + length + 1;
}

static char *write_moment(char *out, const char *name, uint64_t unix_ns)
{
    char text[TIMESTAMP_BYTES];

    timestamp_write(text, unix_ns);
    return write_variable(out, name, text, sizeof text);
}

static char *write_number(char *out, const char *name, uint64_t number)
{
    char text[21];
    int length = snprintf(text, sizeof text, "%" PRIu64, number);

    return write_variable(out, name, text, (size_t)length);
}

/* Returns the environment, in one allocation: the pointers, then the text of those variables that
 * belong to this firing. */
static char **environment_new(const struct run_timer *timer, const struct elapse_run *firing)
{
    enum { FRAME_ROOM = 512 };
    const struct run *run = timer->run;
    struct run_times times = run_times_of(timer, firing);
    size_t inherited = 0;

    ELAPSE__ASSERT(run->environment != NULL);
    while (run->environment[inherited] != NULL)
        inherited++;
    size_t pointers = inherited + NAME_COUNT + 1;
    char **environment = allocate(pointers * sizeof *environment + FRAME_ROOM + timer->key_bytes +
                                  timer->payload_bytes);
    memcpy(environment, run->environment, inherited * sizeof *environment);
    char **own = environment + inherited;
    char *out = (char *)(environment + pointers);
    own[0] = out;
    own[1] = out = write_variable(out, names[0], timer->text, timer->key_bytes);
    own[2] = out = write_moment(out, names[1], times.due_unix_ns);
    own[3] = out = write_moment(out, names[2], times.fired_unix_ns);
    own[4] = out = write_number(out, names[3], times.late_us);
    own[5] = out = write_number(out, names[4], firing->number);
    own[6] = out = write_number(out, names[5], firing->missed);
    own[NAME_COUNT] = NULL;
    out = write_variable(out, names[6], run_timer_payload(timer), timer->payload_bytes);
    ELAPSE__ASSERT((size_t)(out - own[0]) <=
                   (size_t)FRAME_ROOM + timer->key_bytes + timer->payload_bytes);
    return environment;
}

/* ---- running it ---- */

/* Reports how the program ended if it failed. Returns whether it did. */
static bool report_failure(const struct run_timer *timer, const struct elapse__os_end *end)
{
    const char *program = timer->run->options->program[0];
    struct quoted key = quote_text(timer->text, timer->key_bytes);

    ELAPSE__ASSERT(end->number >= 0);
    if (end->by_signal)
        print_error("%s: %s was ended by signal %d (%s)", key.text, program, end->number,
                    elapse__os_signal_text(end->number));
    else if (end->number != 0)
        print_error("%s: %s ended with exit status %d", key.text, program, end->number);
    return end->by_signal || end->number != 0;
}

void run_spawn(void *context, const struct elapse_run *firing)
{
    const struct run_timer *timer = context;
    struct run *run = timer->run;
    struct elapse__os_end end = {.number = 0};

    ELAPSE__ASSERT(run->options->program != NULL);
    char **environment = environment_new(timer, firing);
    const struct elapse__os_program program = {
        .arguments = run->options->program,
        .environment = environment,
        .output = ELAPSE__OS_OUTPUT,
        .signals = &run->signals,
    };
    int error = elapse__os_run(&program, &end);
    free(environment);
    if (error != 0)
        print_error("%s: cannot run %s: %s", quote_text(timer->text, timer->key_bytes).text,
                    run->options->program[0], elapse__os_error_text(error));
    if (error != 0 || report_failure(timer, &end))
        atomic_fetch_add(&run->failures, 1);
}
