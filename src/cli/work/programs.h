/*
 * A program does the jobs. It is started for each job, and gets the body on its standard input.
 */
#ifndef ELAPSE_CLI_WORK_PROGRAMS_H
#define ELAPSE_CLI_WORK_PROGRAMS_H

#include "../../os/program.h"
#include "handed.h"

struct programs {
    char **arguments; /* ends with NULL */
    const struct elapse__os_signals *signals;
    char **inherited;
};

void programs_init(struct programs *programs, char **arguments,
                   const struct elapse__os_signals *signals);
void programs_free(struct programs *programs);

/* Starts the program for a job. Returns 0 or an error number. */
int programs_start(const struct programs *programs, const struct handed *handed,
                   struct elapse__os_process *process);

/* Returns in words how a program has failed, or NULL if it has not failed. The next call overwrites
 * the text. */
const char *programs_failure(const struct elapse__os_end *end);

#endif
