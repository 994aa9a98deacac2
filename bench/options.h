/*
 * The command line of elapse-bench.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "contender.h"
#include "delays.h"

enum { SIZES_MOST = 16, REPETITIONS_MOST = 1000, TIMERS_LEAST = 10, TIMERS_MOST = 100000000 };

struct options {
    size_t sizes[SIZES_MOST]; /* the numbers of timers, ascending */
    size_t size_count;
    bool workloads[WORKLOADS];
    bool contenders[CONTENDERS];
    unsigned repetitions;
    unsigned long_repetitions;   /* of the workloads that last for seconds, and of the tails */
    double seconds;              /* that those last */
    struct delays delays;        /* of Lmix, from the traces of --trace */
    const char *csv_path;        /* NULL: none */
    const char *plots_directory; /* NULL: none */
};

/* Reads the arguments. Ends the program after --help (status 0) and after a mistake (status 2). */
struct options options_read(int argument_count, char **arguments);

/* Writes a number as "10k", "1M" or "1234": at most 20 characters and the terminator. */
const char *count_text(size_t count, char text[21]);

#endif
