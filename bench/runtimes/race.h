/*
 * The common part of the C programs of the race: the options, the order of events in each
 * workload, the figures. Each contender fills in a struct race_contender, which says how its
 * facility is used, and race.c calls it. README.md describes the workloads.
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

/* The delays of a set of timers: least_ns, and a random part of span_ns more. */
struct race_delays {
    uint64_t least_ns;
    uint64_t span_ns; /* 0: all have the same delay */
};

/* One timer of S3: the deadline it was given, and when and how often it ran. */
struct race_note {
    uint64_t deadline_ns;
    uint64_t noted_ns;
    uint64_t runs;
};

/* The timers of S3, and how many of them are scheduled and have fired so far. */
struct race_delivery {
    struct race_note *notes;
    size_t count;
    uint64_t span_ns;
    struct generator generator;
    size_t scheduled;
    size_t fired;
};

/*
 * The handles of a facility. A facility begins with these, so that race.c can shuffle them
 * without knowing what a handle is.
 */
struct race_handles {
    void *first;
    size_t count;
    size_t bytes; /* of each handle */
};

struct race_contender {
    const char *name;
    bool threads_may_share; /* may several threads schedule on one facility? */
    bool cancel_unlinks;    /* does a cancel take the timer out at once, not only mark it? */
    bool has_restart;       /* is there one call that postpones a timer? */

    /* Returns a fresh facility with room for so many timers. It begins with a struct
     * race_handles. The memory of the handles has been touched; that of the timers has not. */
    void *(*open)(const struct race_options *options, size_t timers);
    void (*close)(void *facility);
    /* Schedules the timers first to first + count - 1, whose action is race_far_action. */
    void (*schedule)(void *facility, size_t first, size_t count, struct race_delays delays,
                     struct generator *generator);
    /* Returns how many timers are pending, by the facility's own count. */
    size_t (*pending)(void *facility);
    /* Cancels all timers in the order of the handles, by race_cancel_each. Returns how many it
     * removed. */
    size_t (*cancel)(void *facility);
    /* Postpones `count` random timers to delay_ns from now. Returns how many it did. */
    size_t (*restart)(void *facility, size_t count, uint64_t delay_ns, struct generator *generator);
    /* Runs S3. Returns when all timers have fired, or are overdue by a minute. */
    void (*deliver)(void *facility, struct race_delivery *delivery);
    /* Lets so much time pass. */
    void (*idle)(void *facility, uint64_t for_ns);
};

/* Each program has one. */
extern const struct race_contender race_contender;

/* The action of a far timer. Counts the call, which is a fault: no far timer may fire. */
void race_far_action(void);

/* Returns the moment at which S3 stops waiting for timers that have not fired. */
uint64_t race_overdue_ns(const struct race_delivery *delivery);

/* Sets the deadline of the next timer of S3. Returns the delay to it. */
static inline uint64_t race_next_delay_ns(struct race_delivery *delivery)
{
    uint64_t delay_ns = below(&delivery->generator, delivery->span_ns);
    delivery->notes[delivery->scheduled++].deadline_ns = clock_ns() + delay_ns;
    return delay_ns;
}

/* The action of S3: notes the time. */
static inline void race_note(struct race_note *note)
{
    note->noted_ns = clock_ns();
    note->runs++;
}

static inline uint64_t race_delay_ns(struct race_delays delays, struct generator *generator)
{
    return delays.least_ns + below(generator, delays.span_ns);
}

/* Calls `cancel` for each handle, from index 0 on. Returns how many calls returned true. It is
 * inline so that each program's timed loop calls its facility directly. */
static inline size_t race_cancel_each(void *facility, bool (*cancel)(void *facility, size_t index))
{
    const struct race_handles *handles = facility;
    const size_t count = handles->count;
    size_t removed = 0;
    for (size_t i = 0; i < count; i++)
        removed += cancel(facility, i);
    return removed;
}

/* Returns memory that is zero and has not been touched. Release it with free. */
void *race_allocate(size_t count, size_t bytes);

/* Returns memory that is zero and has been touched. Release it with free. */
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

/* Reads the arguments. Ends the program with status 2 if they are not as README.md says. */
struct race_options race_parse(int argument_count, char **arguments);

void race_print(const char *metric, double value);

/* Checks that each timer ran once. Prints how late the timers were, and writes the histogram to
 * `path` unless that is NULL. */
void race_print_lateness(const struct race_note *notes, size_t count, const char *path);

uint64_t race_process_cpu_ns(void);
uint64_t race_resident_bytes(void);

/* Puts the handles in random order, by the method of Fisher and Yates. */
void race_shuffle(const struct race_handles *handles, struct generator *generator);

/* Returns the voluntary context switches of all threads. */
uint64_t race_switches(void);

#endif
