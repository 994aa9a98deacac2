/*
 * The report of the replay of one trace: as text, or as one line of JSON.
 */
#ifndef ELAPSE_CLI_REPLAY_REPORT_H
#define ELAPSE_CLI_REPLAY_REPORT_H

#include <stdint.h>

#include "figures.h"

struct report {
    const char *trace;     /* the name of the trace on the command line */
    const char *structure; /* the name of the structure */
    uint64_t tick_us;
    const struct replay_figures *figures;
};

/* These functions add the report to the output. output_finish returns errors. */
void report_text(const struct report *report);
void report_json(const struct report *report);

#endif
