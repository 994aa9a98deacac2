/*
 * A library that is loaded before the others (LD_PRELOAD). With it, the wall clock of the program
 * is ahead by ELAPSE_AHEAD_S seconds, or behind if that is negative.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the header's are reserved */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    const char *ahead_s = getenv("ELAPSE_AHEAD_S");
    int failed = (int)syscall(SYS_clock_gettime, clock, now);

    if (failed == 0 && clock == CLOCK_REALTIME && ahead_s != NULL)
        now->tv_sec += strtol(ahead_s, NULL, 10);
    return failed;
}
