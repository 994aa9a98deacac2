/*
 * The workloads: their names, figures and constants, and the memory that they run in. README.md
 * describes each of them. The code for structures is in workloads.h, and in floors.c without a
 * structure; for the scheduler it is in scheduler_contender.c, scheduler_delivery.c and
 * scheduler_floors.c.
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
    WORKLOAD_RESTART_ANY,    /* W2r */
    WORKLOAD_PAIR,           /* W3 */
    WORKLOAD_SPARSE,         /* W4 */
    WORKLOAD_BURST,          /* W5 */
    WORKLOAD_BURST_SHUFFLED, /* W5s */
    WORKLOAD_ONE_TTL,        /* W6 */
    WORKLOAD_IDLE,
    WORKLOAD_WORST,
    WORKLOAD_TAIL_DRAIN,         /* LW1 */
    WORKLOAD_TAIL_BURST,         /* L5k */
    WORKLOAD_TAIL_DRAIN_OBJECTS, /* LW1o */
    WORKLOAD_TAIL_BURST_OBJECTS, /* L5ko */
    WORKLOAD_TAIL_MIX,           /* Lmix */
    WORKLOAD_SCHEDULE,           /* S1; from here on they are the scheduler's */
    WORKLOAD_CANCEL,             /* S2 */
    WORKLOAD_DELIVER,            /* S3 */
    WORKLOAD_DELIVER_FINE,       /* S3f */
    WORKLOAD_DELIVER_WORKERS,    /* S3w */
    WORKLOAD_SLEEP,              /* S4 */
    WORKLOAD_MEMORY,             /* S5 */
    WORKLOAD_RESCHEDULE,         /* S6 */
    WORKLOADS
};

/* A tail workload has figures for each kind of call, and the points of a curve for each kind. */
enum { TAIL_START, TAIL_STOP, TAIL_TICK, TAIL_KINDS };
enum {
    TAIL_HALF,
    TAIL_3_NINES,
    TAIL_4_NINES,
    TAIL_WORST,
    TAIL_WORST_RAW,
    TAIL_MOVES,
    TAIL_FIGURES
};
enum { CURVE_POINTS = 29, CURVE_POINTS_A_DECADE = 4 };

enum {
    FIGURES_NAMED_MOST = TAIL_KINDS * TAIL_FIGURES,
    TAIL_CURVES = FIGURES_NAMED_MOST, /* the number of the first point */
    FIGURES_MOST = TAIL_CURVES + TAIL_KINDS * CURVE_POINTS
};

/* Returns the place of a point: it is the time that one call in so many exceeds. */
double curve_calls_each(size_t point);

/* The figures of a workload by number, where code has to name one. */
enum { DRAIN_START, DRAIN_EXPIRE, DRAIN_MOVES };
enum { SPARSE_FIRE, SPARSE_WAKE_UPS };
enum { BURST_START, BURST_STOP, BURST_EXPIRE, BURST_LAST_TICKS };
enum { WORST_CALL, WORST_CASCADE, WORST_SHUFFLED_CALL, WORST_SHUFFLED_CASCADE };

struct figure_description {
    const char *name; /* NULL ends the list */
    const char *unit;
    const char *per; /* what one of a figure in ns is the cost of; NULL: the plots name the unit */
};

/* The numbers of timers that a workload is run with. */
enum workload_size {
    SIZE_EACH,    /* every number of --sizes */
    SIZE_LARGEST, /* the largest number of --sizes */
    SIZE_OWN,     /* a fixed number of its own */
};

struct workload_description {
    const char *name;
    const char *title;
    size_t own_timers; /* of SIZE_OWN */
    enum workload_size size;
    bool real_time; /* each run lasts for seconds and mostly sleeps */
    bool tails;     /* each run times every call, in nine passes */
    struct figure_description figures[FIGURES_NAMED_MOST + 1];
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
    TAIL_PASSES = 9,
    TAIL_BURST_SPAN = 5000,
    /* L5k lies across a multiple of 8192, where slots of level 2 of the wheel meet. */
    TAIL_BURST_FIRST = 4 * 8192 - TAIL_BURST_SPAN / 2,
    TAIL_OBJECT_BYTES = 128, /* of LW1o, L5ko and Lmix */
    MIX_TICKS = 1 << 16,
    MIX_OPERATIONS_A_TICK = 16,
    MIX_OPERATIONS = MIX_TICKS * MIX_OPERATIONS_A_TICK,
    MIX_STOP_ONE_IN = 10,
    /* Every call is timed from so many ticks before the burst. In that time a wheel with 8-bit
     * digits cascades the burst down a level. */
    WORST_LEAD_TICKS = 1 << 16,
    CASCADE_MOVES = 1000,

    RESCHEDULE_TASKS = 100000, /* of S6 */

    SCHEDULER_NODE_BYTES = 64, /* of a task, and of a node of its floors */
};

#define SPARSE_SPAN (UINT64_C(1) << 32)
#define IDLE_DELAY  (UINT64_C(1) << 30)

/* Returns whether the workload is for the scheduler, not for structures. */
static inline bool of_scheduler(enum workload workload)
{
    return workload >= WORKLOAD_SCHEDULE;
}

/* Returns the number of operations in W2 and W6. */
uint64_t restart_operations(size_t timers);

/* Returns the number of timers that W5 stops. */
static inline size_t burst_stops(size_t timers)
{
    return timers / 10 * 9;
}

/* Returns the tick at which W6 starts the timer with this number. */
static inline uint64_t ramp_tick(size_t number, size_t timers)
{
    return (uint64_t)number * RAMP_TICKS / timers;
}

/*
 * The number of timers that have fired, and the sum of the ticks at which they fired. A timer that
 * is lost, fires twice, early or late changes one of the two.
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
    uint32_t *call_ns;     /* the time of each call, for the worst call */
    size_t calls_most;
    struct tails *tails;    /* NULL before the first workload of tails */
    const uint32_t *delays; /* of Lmix, from a trace; the caller's */
    size_t delay_count;     /* 0: no trace */
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

/* Returns memory that is zero and has been touched. Release it with free. Ends the program with a
 * message if memory is short. */
void *workspace_allocate(size_t bytes);

/* Sets all nodes to zero, which also brings them into memory. */
void workspace_clear_nodes(struct workspace *workspace, size_t node_bytes);

/* Returns what a workload must fire, computed without any structure (expected.c). */
struct fired expected_fired(struct workspace *workspace, enum workload workload);

/* Ends the program with a message unless `fired` is what the workload must fire. */
void check_fired(struct workspace *workspace, enum workload workload, const char *contender,
                 struct fired fired);

/* Ends the program with a message unless `count` is `expected`. */
void check_count(const char *what, const char *contender, uint64_t count, uint64_t expected);

#endif
