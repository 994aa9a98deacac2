/*
 * A contender: a structure, the scheduler, or a floor, that runs the workloads.
 */
#ifndef BENCH_CONTENDER_H
#define BENCH_CONTENDER_H

#include "workload.h"

/* Runs a workload once and writes its figures. Those it does not write are NAN. */
typedef void workload_function(struct workspace *workspace, double *figures);

struct contender {
    const char *name;
    const char *title;
    size_t node_bytes;
    bool floor;                        /* it always runs; other contenders can be chosen */
    bool variant;                      /* another contender runs the rest of the workloads */
    const char *missing_package;       /* the Debian package that it needs and misses; or NULL */
    workload_function *run[WORKLOADS]; /* NULL: it cannot run this one */
    size_t most_timers[WORKLOADS];     /* with more it would take minutes; 0: no limit */
    void (*end)(void); /* called after each run, before the nodes are reused; or NULL */
};

/* The floors, the library's structures, structures to compare with, and the scheduler; in
 * elapse-bench-rivals also the packaged event loops. */
enum {
    CONTENDER_FLOOR, /* the floor that "x floor" refers to */
    CONTENDER_STORE,
    CONTENDER_CHAIN,
    CONTENDER_STREAM,
    CONTENDER_WHEEL,
    CONTENDER_HEAP,
    CONTENDER_DIALS,
    CONTENDER_HASHED,
    CONTENDER_TEXTBOOK,
    CONTENDER_LIST,
    CONTENDER_SCHEDULER,
#ifdef BENCH_RIVALS
    CONTENDER_LIBEV,
    CONTENDER_LIBEVENT,
    CONTENDER_LIBEVENT_COMMON,
    CONTENDER_LIBUV,
    CONTENDER_GLIB,
#endif
    CONTENDERS
};

extern const struct contender floor_independent;
extern const struct contender floor_store;
extern const struct contender floor_chain;
extern const struct contender floor_stream;
extern const struct contender contender_wheel;
extern const struct contender contender_heap;
extern const struct contender contender_dials;
extern const struct contender contender_hashed;
extern const struct contender contender_textbook;
extern const struct contender contender_list;
extern const struct contender contender_scheduler;
extern const struct contender contender_libev;
extern const struct contender contender_libevent;
extern const struct contender contender_libevent_common;
extern const struct contender contender_libuv;
extern const struct contender contender_glib;

extern const struct contender *const contenders[CONTENDERS];

#endif
