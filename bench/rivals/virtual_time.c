/*
 * The clock and wait functions that the event loops call, with virtual time behind them.
 */
#include "virtual_time.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <time.h>

#include "../measure.h"

enum { TICKS_A_SECOND = 1000, NS_A_TICK = 1000000, US_A_TICK = 1000 };

/* The ticks that the clocks show at tick 0. Some libraries take 0 for unknown, so it is not 0; the
 * wall clock shows an ordinary day. */
#define MONOTONIC_START UINT64_C(1000000)
#define WALL_START      UINT64_C(1600000000000)

typedef int clock_function(clockid_t clock, struct timespec *time);
typedef int epoll_function(int descriptor, struct epoll_event *events, int most, int timeout_ms);

uint64_t virtual_tick;

static bool running;

void virtual_time_begin(void)
{
    virtual_tick = 0;
    running = true;
}

void virtual_time_end(void)
{
    running = false;
}

uint64_t virtual_monotonic_us(uint64_t tick)
{
    return (MONOTONIC_START + tick) * US_A_TICK;
}

/* Finds the C library's function with this name. dlsym returns an object pointer. ISO C has no
 * conversion to a function pointer, so the bytes are copied, which POSIX allows. */
static void find_next(const char *name, void *function, size_t function_bytes)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        fprintf(stderr, "elapse-bench: the C library has no %s\n", name);
        exit(EXIT_FAILURE);
    }
    memcpy(function, &found, function_bytes);
}

static int system_clock_gettime(clockid_t clock, struct timespec *time)
{
    static clock_function *next;
    if (next == NULL)
        find_next("clock_gettime", &next, sizeof next);
    return next(clock, time);
}

uint64_t clock_ns(void)
{
    struct timespec time;
    system_clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* ---- the replacements of the C library's functions ---- */

static bool is_wall_clock(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

static bool is_virtual_clock(clockid_t clock)
{
    return is_wall_clock(clock) || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE ||
           clock == CLOCK_BOOTTIME;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the names in the system's
 * headers are reserved. */

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!running || !is_virtual_clock(clock))
        return system_clock_gettime(clock, time);
    uint64_t ticks = virtual_tick + (is_wall_clock(clock) ? WALL_START : MONOTONIC_START);
    time->tv_sec = (time_t)(ticks / TICKS_A_SECOND);
    time->tv_nsec = (long)(ticks % TICKS_A_SECOND * NS_A_TICK);
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

static int wait_virtually(int timeout_ms)
{
    if (timeout_ms > 0)
        virtual_tick += (uint64_t)timeout_ms;
    return 0;
}

int epoll_wait(int descriptor, struct epoll_event *events, int most, int timeout_ms)
{
    static epoll_function *next;
    if (running)
        return wait_virtually(timeout_ms);
    if (next == NULL)
        find_next("epoll_wait", &next, sizeof next);
    return next(descriptor, events, most, timeout_ms);
}

int epoll_pwait(int descriptor, struct epoll_event *events, int most, int timeout_ms,
                const sigset_t *signals)
{
    static int (*next)(int, struct epoll_event *, int, int, const sigset_t *);
    if (running)
        return wait_virtually(timeout_ms);
    if (next == NULL)
        find_next("epoll_pwait", &next, sizeof next);
    return next(descriptor, events, most, timeout_ms, signals);
}

int poll(struct pollfd *descriptors, nfds_t count, int timeout_ms)
{
    static int (*next)(struct pollfd *, nfds_t, int);
    if (running)
        return wait_virtually(timeout_ms);
    if (next == NULL)
        find_next("poll", &next, sizeof next);
    return next(descriptors, count, timeout_ms);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
