/*
 * Virtual time for event loops that read the clock and wait by themselves. The program defines
 * clock_gettime, gettimeofday, epoll_wait, epoll_pwait and poll, and shared libraries call these
 * definitions. While virtual time runs, clocks show a tick of 1 ms. Waiting takes no time: it
 * advances the tick by the whole time-out, and nothing becomes readable. At other times the calls
 * go to the C library.
 */
#ifndef BENCH_RIVALS_VIRTUAL_TIME_H
#define BENCH_RIVALS_VIRTUAL_TIME_H

#include <stdint.h>

/* Starts virtual time, at tick 0. */
void virtual_time_begin(void);

/* Ends virtual time: the clocks are the system's again. */
void virtual_time_end(void);

/* The tick that the clocks show. It may also be written. */
extern uint64_t virtual_tick;

/* Returns the time that CLOCK_MONOTONIC shows at a tick. */
uint64_t virtual_monotonic_us(uint64_t tick);

#endif
