/*
 * The arguments of the load programs, and the line of figures that they print.
 *
 *     PROGRAM ADDRESS VERB [--OPTION VALUE]...
 */
#ifndef ELAPSE_BENCH_SERVER_ARGUMENTS_H
#define ELAPSE_BENCH_SERVER_ARGUMENTS_H

#include <stdint.h>

/* Each has an option of its name, with - for _. The default is 0, or the value named here. */
struct arguments {
    const char *address, *verb;
    const char *speech;   /* how the server is spoken to: resp */
    uint64_t connections; /* 1 */
    uint64_t window;      /* commands that are under way on each: 1 */
    double seconds;       /* 300 */
    uint64_t count;       /* of jobs; 0: until the time is over */
    uint64_t first;       /* number of the first job: 1 */
    uint64_t batch;       /* jobs that are taken at once: 1000 */
    uint64_t rate;        /* a second; 0: as fast as it goes */
    uint64_t live;        /* jobs that are there while others come and go: 100000 */
    uint64_t share;       /* of a hundred jobs that are cancelled: 90 */
    uint64_t seed;        /* of random orders: 1 */
    uint64_t poll_ms;     /* between two questions whether a job is due: 1 */
    int64_t ahead_ms;     /* from a put until its job is due: 2000 */
    int64_t at_ms;        /* put-at: when the jobs come due, by the wall clock; */
    int64_t spread_ms;    /* and for how long they do: 1 */
};

/* Reads them. A wrong one ends the process with status 2. */
struct arguments arguments_read(int argc, char **argv);

/* The port that the address is. */
uint16_t arguments_port(const struct arguments *arguments);

/* ---- times that calls took, or by which jobs were late ---- */

enum { HISTOGRAM_BUCKETS = 1024 };

/* Buckets are at most a sixteenth of their upper bound wide. */
struct histogram {
    uint64_t buckets[HISTOGRAM_BUCKETS];
    uint64_t count, max_us;
};

/* Adds `count` times of so many nanoseconds. */
void histogram_add(struct histogram *histogram, uint64_t ns, uint64_t count);

/* Returns the upper bound of the bucket that has this one of a thousand. */
uint64_t histogram_quantile_us(const struct histogram *histogram, uint64_t of_thousand);

/* ---- figures ---- */

/* The line is one object of JSON: figures_begin, some figures, figures_end. */
void figures_begin(void);
void figures_number(const char *name, double value);
/* p50_us, p99_us, p999_us and max_us, if there are any times. */
void figures_times(const struct histogram *histogram);
/* The buckets that are not empty, as pairs: upper bound in microseconds, count. */
void figures_histogram(const struct histogram *histogram);
void figures_end(void);

#endif
