/*
 * Virtual time for event loops that read the clock and wait by themselves. The program
 * defines clock_gettime, gettimeofday, epoll_wait, epoll_pwait and poll, so that a shared
 * library which calls them comes here. While virtual time runs, clocks show a tick, of
 * 1 ms, and waiting takes no time: it moves the tick on by as much as was to be waited at
 * most. Nothing ever becomes readable. At other times the calls go to the C library.
 */
#ifndef BENCH_RIVALS_VIRTUAL_TIME_H
#define BENCH_RIVALS_VIRTUAL_TIME_H

#include <stdint.h>

/* From here on it is virtual time, at tick 0. */
void virtual_time_begin(void);

/* The clocks are the system's again. */
void virtual_time_end(void);

/* The tick that the clocks show; to be written as well. */
extern uint64_t virtual_tick;

/* What CLOCK_MONOTONIC shows at a tick. */
uint64_t virtual_monotonic_us(uint64_t tick);

#endif
