/*
 * What the C programs of the race share: the options, the order of events in each workload, the
 * figures. A contender says how its facility is used, in a struct race_contender; race.c calls
 * it. What each workload is, is told in README.md.
 */
#ifndef BENCH_RUNTIMES_RACE_H
#define BENCH_RUNTIMES_RACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../measure.h"

enum race_workload { RACE_S1, RACE_S2, RACE_S3, RACE_S4, RACE_S5, RACE_S6, RACE_WORKLOADS };

enum { RACE_THREADS_MOST = 64 };

struct race_options {
    enum race_workload workload;
    size_t timers;
    unsigned threads;
    unsigned rounds;
    double seconds;
    uint64_t tick_ns;
    const char *lateness_path; /* NULL: none is written */
};

/* From when to when timers are due: least_ns and a random part of span_ns from now. */
struct race_delays {
    uint64_t least_ns;
    uint64_t span_ns; /* 0: all have the same delay */
};

/* One timer of S3: what was asked for, and what came of it. */
struct race_note {
    uint64_t deadline_ns;
    uint64_t noted_ns;
    uint64_t runs;
};

/* What S3 is about. */
struct race_delivery {
    struct race_note *notes;
    size_t count;
    uint64_t span_ns;
    struct generator generator;
    size_t scheduled; /* how many are, for a facility that schedules bit by bit */
    size_t fired;
};

struct race_contender {
    const char *name;
    bool threads_may_share; /* may several threads schedule on one facility? */
    bool cancel_unlinks;    /* at once, or does it only mark? */
    bool has_restart;       /* is there one call for it? */

    /* A fresh facility with room for so many timers. The array of the handles, if they lie
     * beside the timers, has been touched; the timers themselves have not. */
    void *(*open)(const struct race_options *options, size_t timers);
    void (*close)(void *facility);
    /* Schedules the timers first to first + count - 1, whose action is race_far_action. */
    void (*schedule)(void *facility, size_t first, size_t count, struct race_delays delays,
                     struct generator *generator);
    /* How many timers are pending, by the facility's own count. */
    size_t (*pending)(void *facility);
    /* Puts the handles in random order. */
    void (*shuffle)(void *facility, struct generator *generator);
    /* Cancels all in the order of the handles. Returns how many it removed. */
    size_t (*cancel)(void *facility);
    /* Puts so many random timers off to delay_ns from now. Returns how many it did. */
    size_t (*restart)(void *facility, size_t count, uint64_t delay_ns, struct generator *generator);
    /* S3. Returns when all have fired, or are overdue by a minute. */
    void (*deliver)(void *facility, struct race_delivery *delivery);
    /* Lets so much time pass. */
    void (*idle)(void *facility, uint64_t for_ns);
};

/* Each program has one. */
extern const struct race_contender race_contender;

/* What the action of a far timer does: it tells on itself, for it must not run. */
void race_far_action(void);

/* A moment from which nothing of S3 is waited for any more. */
uint64_t race_overdue_ns(const struct race_delivery *delivery);

/* Sets the deadline of the next timer of S3. Returns the delay to it. */
static inline uint64_t race_next_delay_ns(struct race_delivery *delivery)
{
    uint64_t delay_ns = below(&delivery->generator, delivery->span_ns);
    delivery->notes[delivery->scheduled++].deadline_ns = clock_ns() + delay_ns;
    return delay_ns;
}

/* The action of S3. */
static inline void race_note(struct race_note *note)
{
    note->noted_ns = clock_ns();
    note->runs++;
}

static inline uint64_t race_delay_ns(struct race_delays delays, struct generator *generator)
{
    return delays.least_ns + below(generator, delays.span_ns);
}

/* Fisher and Yates. */
void race_shuffle(void *handles, size_t count, size_t handle_bytes, struct generator *generator);

/* Memory all zero, which nothing has touched; for free. */
void *race_allocate(size_t count, size_t bytes);

/* The same, but touched. */
void *race_allocate_touched(size_t count, size_t bytes);

void race_sleep_until(uint64_t time_ns);

/* Ends the program with a line on standard error and status 1. */
_Noreturn void race_fail(const char *what);

static inline void race_must(bool held, const char *what)
{
    if (!held)
        race_fail(what);
}

/* ---- for race.c alone ---- */

/* Ends the program with status 2 if the arguments are not as README.md says. */
struct race_options race_parse(int argument_count, char **arguments);

void race_print(const char *metric, double value);

/* Checks that each ran once. Prints how late they were, and writes the histogram to `path`
 * unless that is NULL. */
void race_print_lateness(const struct race_note *notes, size_t count, const char *path);

uint64_t race_process_cpu_ns(void);
uint64_t race_resident_bytes(void);

/* Voluntary context switches of all threads. */
uint64_t race_switches(void);

#endif
