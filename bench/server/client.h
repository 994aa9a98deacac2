/*
 * What the programs of this directory share: a clock, a connection, the end after a failure.
 */
#ifndef ELAPSE_BENCH_SERVER_CLIENT_H
#define ELAPSE_BENCH_SERVER_CLIENT_H

#include <stddef.h>
#include <stdint.h>

/* Monotonic nanoseconds. */
uint64_t now_ns(void);

/* Milliseconds of the wall clock. */
int64_t wall_ms(void);

/* Says why, and ends the process. */
_Noreturn void stop(const char *what);

/* Returns a socket that is connected to a port of this machine, which sends at once. */
int connect_to(uint16_t port);

/* Prints p50, p99, the 99.9th of a hundred and the greatest of samples, which it sorts. */
void print_percentiles(uint32_t *samples, size_t count, const char *unit);

#endif
