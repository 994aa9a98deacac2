/*
 * elapse-bench-scale: what its files share. scale.c has main and tells how they work together.
 */
#ifndef BENCH_SCALE_H
#define BENCH_SCALE_H

#include <stdio.h>

#include "../../src/base/histogram.h"
#include "queue_bench.h"

enum {
    WINDOWS = 100,     /* parts of the filling, each with its own figures */
    HAND_OUTS = 20000, /* jobs that are handed out from the disk, of large queues */
};

struct scale {
    const char *directory;
    uint64_t jobs;
    bool with_keys;
    uint64_t least, most; /* how many jobs are there after kill -9; then exactly `least` */
};

/* Prints a figure as a line of CSV: stage, figure, at, value, unit. `at` is how many jobs there
 * were, or 0. */
void scale_print(const char *stage, const char *figure, uint64_t at, double value,
                 const char *unit);

/* ---- the stages; each runs in a process of its own ---- */

/* Puts the jobs, cancels most of them, replaces some, and ends the process by kill -9. */
void scale_fill(const struct scale *scale);

/* Opens the queue after that, and closes it. */
void scale_recover(const struct scale *scale);

/* Opens it again, with its files out of the page cache, and hands out some jobs. */
void scale_reopen(const struct scale *scale);

/* ---- the jobs ---- */

/* The job number `number`, due in 4 to 24 hours. Its body can be checked. Valid until the next
 * call.
 */
struct elapse_put scale_job(const struct scale *scale, uint64_t number);

/* Whether a body is one of these. */
bool scale_body_is_whole(const void *body, size_t body_bytes);

struct elapse_queue_counts scale_look(struct elapse_queue *queue);

/* ---- time ---- */

/* How long calls took, in nanoseconds. Begins as zeros. */
struct lengths {
    struct elapse__histogram histogram;
    uint64_t most;
};

static inline void lengths_add(struct lengths *lengths, uint64_t ns)
{
    elapse__histogram_add(&lengths->histogram, ns);
    lengths->most = ns > lengths->most ? ns : lengths->most;
}

/* Prints the median, the 99.9th and 99.99th percentile, and the longest. `figure` is what the
 * calls are. */
void lengths_print(const struct lengths *lengths, const char *stage, const char *figure,
                   uint64_t at);

/* Processor time: of this thread, and of all threads of the process. */
uint64_t thread_ns(void);
uint64_t process_ns(void);

#endif
