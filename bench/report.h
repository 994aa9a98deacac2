/*
 * Shows the results: as a table, as CSV, as plots.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "results.h"

void report_table(const struct results *results, FILE *out);

/* Prints the scheduler's aims, and whether those that were measured are reached. */
void report_aims(const struct results *results, FILE *out);

/* Writes the CSV file. Returns false, with a message on stderr, if it cannot be written. */
bool report_csv(const struct results *results, const char *path);

/* Draws the plots. Returns false, with a message on stderr, if gnuplot fails. */
bool report_plots(const struct results *results, const char *directory);

/* The machine of the figures, for the head of the table and for captions. */
struct machine {
    char processor[128]; /* "AMD EPYC, 2 processors" */
    char system[256];    /* "Linux 6.1.0 x86_64" */
    char compiler[128];  /* "GNU 12.2.0" */
    char flags[256];     /* "-O3 -DNDEBUG" */
};

void machine_describe(struct machine *machine);

#endif
