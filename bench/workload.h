/*
 * The workloads: their names, their figures, their constants, and the memory that
 * they run in. What each does is told in README.md; the code is in workloads.h
 * (with a structure) and floors.c (with the structure taken out), for the scheduler in
 * scheduler_contender.c, scheduler_delivery.c and scheduler_floors.c.
 */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum workload {
    WORKLOAD_DRAIN,          /* W1 */
    WORKLOAD_DRAIN_SHUFFLED, /* W1s */
    WORKLOAD_RESTART,        /* W2 */
    WORKLOAD_PAIR,           /* W3 */
    WORKLOAD_SPARSE,         /* W4 */
    WORKLOAD_BURST,          /* W5 */
    WORKLOAD_BURST_SHUFFLED, /* W5s */
    WORKLOAD_ONE_TTL,        /* W6 */
    WORKLOAD_IDLE,
    WORKLOAD_WORST,
    WORKLOAD_SCHEDULE,        /* S1: the scheduler's from here on */
    WORKLOAD_CANCEL,          /* S2 */
    WORKLOAD_DELIVER,         /* S3 */
    WORKLOAD_DELIVER_FINE,    /* S3f */
    WORKLOAD_DELIVER_WORKERS, /* S3w */
    WORKLOAD_SLEEP,           /* S4 */
    WORKLOAD_MEMORY,          /* S5 */
    WORKLOAD_RESCHEDULE,      /* S6 */
    WORKLOADS
};

enum { FIGURES_MOST = 7 };

/* The figures of a workload by number, where code has to name one. */
enum { DRAIN_START, DRAIN_EXPIRE, DRAIN_MOVES };
enum { SPARSE_FIRE, SPARSE_WAKE_UPS };
enum { BURST_START, BURST_STOP, BURST_EXPIRE, BURST_LAST_TICKS };
enum { WORST_CALL, WORST_CASCADE, WORST_SHUFFLED_CALL, WORST_SHUFFLED_CASCADE };

struct figure_description {
    const char *name; /* NULL ends the list */
    const char *unit;
};

/* With how many timers a workload is run. */
enum workload_size {
    SIZE_EACH,    /* each of those asked for */
    SIZE_LARGEST, /* the largest of those asked for */
    SIZE_OWN,     /* its own number, whatever is asked for */
};

struct workload_description {
    const char *name;
    const char *title;
    size_t own_timers; /* of SIZE_OWN */
    enum workload_size size;
    bool real_time; /* each run lasts for seconds, in which it mostly sleeps */
    struct figure_description figures[FIGURES_MOST + 1];
};

extern const struct workload_description workload_descriptions[WORKLOADS];

enum {
    DRAIN_SPAN = 1 << 20, /* delays of W1 lie below it */

    TIME_TO_LIVE = 60000, /* delay of a restart, in W2 and W6 */
    RESTARTS_A_TICK = 100,
    RAMP_TICKS = 50000, /* over which W6 starts its timers */

    FOREGROUND_TIMERS = 1000, /* in the ring of W3 */
    PAIRS = 2000000,

    SPARSE_ROUNDS = 200,
    SPARSE_TIMERS = 1000,

    BURST_DELAY = 1800000, /* half an hour at 1 ms */
    BURST_SPAN = 1000,

    IDLE_SPAN = 1 << 20,

    WORST_PASSES = 3,
    /* Ticks before the burst of which every call is timed. A wheel with 8-bit
     * digits takes the burst down a level within them. */
    WORST_LEAD_TICKS = 1 << 16,
    CASCADE_MOVES = 1000,

    RESCHEDULE_TASKS = 100000, /* of S6 */

    SCHEDULER_NODE_BYTES = 64, /* of a task, and of a node of its floors */
};

#define SPARSE_SPAN (UINT64_C(1) << 32)
#define IDLE_DELAY  (UINT64_C(1) << 30)

/* Is it one of the scheduler's, and not of the structures? */
static inline bool of_scheduler(enum workload workload)
{
    return workload >= WORKLOAD_SCHEDULE;
}

/* Operations of W2 and W6. */
uint64_t restart_operations(size_t timers);

/* Timers that W5 stops. */
static inline size_t burst_stops(size_t timers)
{
    return timers / 10 * 9;
}

/* When W6 starts the timer of this number. */
static inline uint64_t ramp_tick(size_t number, size_t timers)
{
    return (uint64_t)number * RAMP_TICKS / timers;
}

/*
 * What has fired: how many, and the sum of the ticks at which they did. A timer
 * lost, fired twice, early or late shows in one of the two.
 */
struct fired {
    uint64_t count;
    uint64_t tick_sum;
};

/*
 * The memory of all runs with one number of timers. All contenders use the same,
 * one after the other, so that they get the same pages. It is touched before
 * anything is timed. Huge pages are neither asked for nor refused: with the usual
 * setting "madvise" that means 4 KiB pages.
 */
struct workspace {
    size_t timers;
    double seconds;    /* that S3, S4 and S6 last */
    size_t node_count; /* the timers of a workload and the foreground ones of W3 */
    void *nodes;       /* of at most NODE_BYTES_MOST each */
    void *storage;
    size_t storage_bytes;  /* for a structure that wants an array of its own */
    uint32_t *arm_order;   /* a random permutation of the timers */
    uint32_t *stop_order;  /* another */
    uint32_t *by_deadline; /* for floors: timers in the order of their deadlines */
    uint32_t *call_ns;     /* what each call took, for the worst of them */
    size_t calls_most;
    struct fired expected[WORKLOADS];
    bool expected_known[WORKLOADS];
};

#ifdef BENCH_RIVALS
enum { NODE_BYTES_MOST = 160 }; /* libuv's timers are the largest */
#else
enum { NODE_BYTES_MOST = 40 };
#endif

/* Ends the program with a message if memory is short. */
struct workspace *workspace_new(size_t timers, double seconds);
void workspace_free(struct workspace *workspace);

/* Memory all zero, and touched; for free. Ends the program with a message if there is none. */
void *workspace_allocate(size_t bytes);

/* Nodes all zero, and in memory. */
void workspace_clear_nodes(struct workspace *workspace, size_t node_bytes);

/* What a workload must fire, found without any structure (expected.c). */
struct fired expected_fired(struct workspace *workspace, enum workload workload);

/* Ends the program with a message unless `fired` is what must have fired. */
void check_fired(struct workspace *workspace, enum workload workload, const char *contender,
                 struct fired fired);

/* Ends the program with a message unless `count` is `expected`. */
void check_count(const char *what, const char *contender, uint64_t count, uint64_t expected);

#endif
