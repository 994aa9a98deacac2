/*
 * A line on standard error that shows how far a long replay has come. It is shown only on a
 * terminal, only after a second, and is erased at the end.
 */
#ifndef ELAPSE_CLI_REPLAY_PROGRESS_H
#define ELAPSE_CLI_REPLAY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool on_terminal;
    bool shown;
    uint64_t next_ns; /* when the line may be written again */
};

void progress_begin(struct progress *progress);

/* Shows the line, if it is time. `part` is how much is done, from 0 to 1; below 0: unknown. */
void progress_update(struct progress *progress, const char *trace, uint64_t operations,
                     uint64_t pending, double part);

/* Erases the line, if there is one. */
void progress_end(struct progress *progress);

#endif
