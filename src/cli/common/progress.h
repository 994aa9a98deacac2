/*
 * The progress line shows on standard error how far a long task has come. It appears only on a
 * terminal, and only if the task takes more than a second. It is erased at the end.
 */
#ifndef ELAPSE_CLI_COMMON_PROGRESS_H
#define ELAPSE_CLI_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool on_terminal;
    bool shown;
    uint64_t next_ns; /* when the line may be written again */
};

void progress_begin(struct progress *progress);

/* Returns whether it is time to show the line again. */
bool progress_is_due(const struct progress *progress);

/* Shows the line, cut to the width of the terminal. Requires that the line is ASCII without control
 * characters. */
void progress_show(struct progress *progress, char *line);

/* Erases the line, if there is one. */
void progress_end(struct progress *progress);

#endif
