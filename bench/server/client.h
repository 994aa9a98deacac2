/*
 * What the programs of this directory share: a clock, a connection, the end after a failure.
 */
#ifndef ELAPSE_BENCH_SERVER_CLIENT_H
#define ELAPSE_BENCH_SERVER_CLIENT_H

#include <stddef.h>
#include <stdint.h>

/* Monotonic nanoseconds. */
uint64_t now_ns(void);

/* The wall clock. */
int64_t wall_ms(void);
int64_t wall_ns(void);

/* Says why, and ends the process with status 1. */
_Noreturn void stop(const char *what);

/* Says in which thing the fault is, and how it begins, and ends the process with status 1. */
_Noreturn void fail(const char *what, const char *text);

/* Returns a socket that is connected to a port of this machine, which sends at once. */
int connect_to(uint16_t port);

/* Returns a number that looks random, the same for the same number. */
uint64_t mix(uint64_t number);

/* Returns the numbers from `first` on in random order. The caller frees them. */
uint64_t *shuffled(uint64_t first, uint64_t count, uint64_t seed);

#endif
