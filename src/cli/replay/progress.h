/*
 * A line on standard error that tells how far a long replay is. It is shown only
 * on a terminal, only after a second, and wiped away at the end.
 */
#ifndef ELAPSE_CLI_REPLAY_PROGRESS_H
#define ELAPSE_CLI_REPLAY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool on_terminal;
    bool shown;
    uint64_t next_ns; /* not before this is the line written again */
};

void progress_begin(struct progress *progress);

/* `part` is how much is done, from 0 to 1; below 0: not known. */
void progress_update(struct progress *progress, const char *trace, uint64_t operations,
                     uint64_t pending, double part);

/* Wipes the line away, if there is one. */
void progress_end(struct progress *progress);

#endif
