#include "programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/buffer.h"
#include "../common/environment.h"
#include "headers.h"

/* The variables that a program gets in addition to those that it inherits. */
static const char *const names[] = {
    "ELAPSE_JOB_ID=",  "ELAPSE_LEASE=",  "ELAPSE_TUBE=",   "ELAPSE_KEY=",
    "ELAPSE_ATTEMPT=", "ELAPSE_DUE_MS=", "ELAPSE_MISSED=", "ELAPSE_HEADER_",
};

enum { NAME_COUNT = sizeof names / sizeof names[0] };

void programs_init(struct programs *programs, char **arguments,
                   const struct elapse__os_signals *signals)
{
    size_t count;

    *programs = (struct programs){.arguments = arguments, .signals = signals};
    programs->inherited = environment_without(names, NAME_COUNT, 0, &count);
}

void programs_free(struct programs *programs)
{
    free(programs->inherited);
}

/* Adds the variables of a job, each with its NUL. Leaves out a tube or a key that has a NUL. */
static void add_variables(struct elapse__buffer *out, const struct handed *handed)
{
    environment_add_number(out, "ELAPSE_JOB_ID=", handed->id);
    environment_add(out, "ELAPSE_LEASE=", handed->lease, strlen(handed->lease));
    environment_add_number(out, "ELAPSE_ATTEMPT=", handed->attempt);
    environment_add_number(out, "ELAPSE_DUE_MS=", handed->due_ms);
    environment_add_number(out, "ELAPSE_MISSED=", handed->missed);
    if (memchr(handed->tube, '\0', handed->tube_length) == NULL)
        environment_add(out, "ELAPSE_TUBE=", handed->tube, handed->tube_length);
    if (handed->key != NULL && memchr(handed->key, '\0', handed->key_length) == NULL)
        environment_add(out, "ELAPSE_KEY=", handed->key, handed->key_length);
    headers_add_variables(out, handed);
}

int programs_start(const struct programs *programs, const struct handed *handed,
                   struct elapse__os_process *process)
{
    struct elapse__buffer text = {.bytes = NULL};

    add_variables(&text, handed);
    char **environment = environment_with(programs->inherited, &text);
    const struct elapse__os_program program = {
        .arguments = programs->arguments,
        .environment = environment,
        .input = handed->body,
        .input_bytes = handed->body_length,
        .output = ELAPSE__OS_OUTPUT,
        .has_group = true,
        .signals = programs->signals,
    };
    int error = elapse__os_start(&program, process);
    free(environment);
    elapse__buffer_free(&text);
    return error;
}

const char *programs_failure(const struct elapse__os_end *end)
{
    static char text[80];

    ELAPSE__ASSERT(end->number >= 0);
    if (end->by_signal)
        (void)snprintf(text, sizeof text, "ended by signal %d (%s)", end->number,
                       elapse__os_signal_text(end->number));
    else
        (void)snprintf(text, sizeof text, "exit status %d", end->number);
    return end->by_signal || end->number != 0 ? text : NULL;
}
