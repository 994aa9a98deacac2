/*
 * Showing what was measured: as a table, as CSV, as plots.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "results.h"

void report_table(const struct results *results, FILE *out);

/* What the scheduler is to reach, and what it did reach, as far as it was measured. */
void report_aims(const struct results *results, FILE *out);

/* False, with a message on stderr, if the file could not be written. */
bool report_csv(const struct results *results, const char *path);

/* False, with a message on stderr, if gnuplot could not draw. */
bool report_plots(const struct results *results, const char *directory);

/* What the figures were measured on: for the head of the table and captions. */
struct machine {
    char processor[128]; /* "AMD EPYC, 2 processors" */
    char system[256];    /* "Linux 6.1.0 x86_64" */
    char compiler[128];  /* "GNU 12.2.0" */
    char flags[256];     /* "-O3 -DNDEBUG" */
};

void machine_describe(struct machine *machine);

#endif
