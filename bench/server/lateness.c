/*
 * How late jobs are handed out: one process puts so many a second, each due a second later by the
 * wall clock; this one reserves them, compares the clock with the due time in the reply, and
 * acknowledges.
 *
 *     elapse-bench-server-lateness PORT RATE SECONDS
 *
 * It speaks RESP. It prints percentiles in microseconds, and how many came early, which ends it
 * with an error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "stream.h"

enum { BODY_BYTES = 100, AHEAD_MS = 1000, BATCH = 500 };

static void sleep_until(uint64_t until_ns)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                             .tv_nsec = (long)(until_ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
        ;
}

static void put_all(uint16_t port, uint64_t rate, uint64_t seconds)
{
    char body[BODY_BYTES];
    uint64_t began_ns = now_ns();

    memset(body, 'x', sizeof body);
    stream_open(port);
    for (uint64_t ms = 0, put = 0; ms < seconds * 1000; ms++) {
        uint64_t due = (ms + 1) * rate / 1000, count = due - put;
        char at[24];
        size_t digits = (size_t)snprintf(at, sizeof at, "%lld", (long long)wall_ms() + AHEAD_MS);
        for (; put < due; put++) {
            append_head(5);
            APPEND("$3\r\nPUT\r\n$1\r\nl\r\n");
            append_string(body, sizeof body);
            APPEND("$2\r\nAT\r\n");
            append_string(at, digits);
        }
        flush();
        for (uint64_t i = 0; i < count; i++) {
            (void)take_number('*');
            (void)take_number(':');
            (void)take_line();
        }
        sleep_until(began_ns + (ms + 1) * 1000000);
    }
}

static int64_t wall_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
    static char ids[BATCH][24], leases[BATCH][48];

    if (argc < 4) {
        fprintf(stderr, "usage: PORT RATE SECONDS\n");
        return 2;
    }
    uint16_t port = (uint16_t)atoi(argv[1]);
    uint64_t rate = strtoull(argv[2], NULL, 10), seconds = strtoull(argv[3], NULL, 10);
    uint64_t total = rate * seconds, taken = 0, early = 0, awaited = 0;
    uint32_t *samples = calloc(total + BATCH, sizeof *samples);

    pid_t child = fork();
    if (child < 0 || samples == NULL)
        stop("fork");
    if (child == 0) {
        put_all(port, rate, seconds);
        _exit(0);
    }
    stream_open(port);
    while (taken < total) {
        APPEND("*6\r\n$7\r\nRESERVE\r\n$1\r\nl\r\n$5\r\nCOUNT\r\n$3\r\n500\r\n$4\r\nWAIT\r\n"
               "$3\r\n10s\r\n");
        if (awaited > 0)
            for ((void)take_number('*'); awaited > 0; awaited--)
                (void)take_line();
        uint64_t count = take_number('*');
        int64_t now_us = wall_us();
        if (count == 0)
            refuse("no job came within ten seconds");
        for (uint64_t i = 0; i < count; i++, taken++) {
            (void)take_number('*');
            (void)snprintf(ids[i], sizeof ids[i], "%llu", (unsigned long long)take_number(':'));
            (void)take_string(leases[i], sizeof leases[i]);
            (void)take_string(NULL, 0);
            (void)take_string(NULL, 0);
            (void)take_string(NULL, 0);
            int64_t late_us = now_us - (int64_t)take_number(':') * 1000;
            (void)take_number(':');
            (void)take_number(':');
            early += late_us < 0;
            samples[taken] = late_us < 0 ? 0 : (uint32_t)late_us;
        }
        append_head(1 + 2 * count);
        APPEND("$3\r\nACK\r\n");
        for (uint64_t i = 0; i < count; i++) {
            append_string(ids[i], strlen(ids[i]));
            append_string(leases[i], strlen(leases[i]));
        }
        awaited = count;
    }
    flush();
    (void)waitpid(child, NULL, 0);
    printf("%llu jobs, %llu early,", (unsigned long long)taken, (unsigned long long)early);
    print_percentiles(samples, taken, "us");
    printf("\n");
    return early > 0;
}
