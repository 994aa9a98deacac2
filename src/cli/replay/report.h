/*
 * What a replay tells of one trace: for people, or as one line of JSON.
 */
#ifndef ELAPSE_CLI_REPLAY_REPORT_H
#define ELAPSE_CLI_REPLAY_REPORT_H

#include <stdint.h>

#include "replay.h"

struct report {
    const char *trace;     /* as named on the command line */
    const char *structure; /* its name */
    uint64_t tick_us;
    const struct replay_figures *figures;
};

/* Both write to standard output, and leave its errors to finish_output. */
void report_human(const struct report *report);
void report_json(const struct report *report);

#endif
