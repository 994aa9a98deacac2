/*
 * The tools of every measurement: the clock, the random generator of all workloads, and barriers
 * that keep the compiler from removing work.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdint.h>
#include <time.h>

#include "workload.h"

#ifdef BENCH_RIVALS
uint64_t clock_ns(void); /* the real clock, not the one of rivals/virtual_time.c */
#else
static inline uint64_t clock_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
#endif

/* Counts cycles of the processor's clock, which goes on at the same rate whatever the processor
 * does. The fences keep the timed call between the two. Where there is no such counter these are
 * nanoseconds. */
#if defined(__x86_64__) || defined(__i386__)
#define CYCLES_UNIT "cycles"
static inline uint64_t cycles_began(void)
{
    __builtin_ia32_lfence();
    uint64_t cycles = __builtin_ia32_rdtsc();
    __builtin_ia32_lfence();
    return cycles;
}
static inline uint64_t cycles_ended(void)
{
    return cycles_began();
}
#else
#define CYCLES_UNIT "ns"
static inline uint64_t cycles_began(void)
{
    return clock_ns();
}
static inline uint64_t cycles_ended(void)
{
    return clock_ns();
}
#endif

static inline double ns_each(uint64_t began, uint64_t ended, uint64_t operations)
{
    return (double)(ended - began) / (double)operations;
}

/* splitmix64, by Sebastiano Vigna: one addition and a mix, so that the generator
 * costs little beside the operations that are measured. */
struct generator {
    uint64_t state;
};

enum { GENERATOR_SEED = 12345 };

static inline uint64_t generator_draw(struct generator *generator)
{
    uint64_t mixed = generator->state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

__extension__ typedef unsigned __int128 uint128;

/* Returns a random number in [0, bound). */
static inline uint64_t below(struct generator *generator, uint64_t bound)
{
    return (uint64_t)((uint128)generator_draw(generator) * bound >> 64);
}

/* Returns the delay of a restart: in W2r any, so that a deadline moves earlier or later. */
static inline uint64_t restart_delay(enum workload workload, struct generator *generator)
{
    return workload == WORKLOAD_RESTART_ANY ? 1 + below(generator, TIME_TO_LIVE) : TIME_TO_LIVE;
}

/* Makes the compiler forget what it knows about memory, as other code between two calls would.
 * Costs no instruction. */
static inline void forget_memory(void)
{
    __asm__ volatile("" ::: "memory");
}

/* Makes the compiler compute `value` even if it is not used. */
static inline uint64_t keep(uint64_t value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

#endif
