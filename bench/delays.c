/*
 * Reads the delays of traces.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delays.h"

/* Later delays are taken as this one: the workload ends long before. */
enum { DELAY_MOST = INT32_MAX };

static _Noreturn void refuse_line(const char *path, size_t line, const char *fault)
{
    fprintf(stderr, "elapse-bench: %s:%zu: %s\n", path, line, fault);
    exit(EXIT_FAILURE);
}

static void add(struct delays *delays, uint64_t delay_us)
{
    uint64_t ticks = delay_us / 1000 + (delay_us % 1000 != 0);
    if (delays->count == delays->room) {
        delays->room = delays->room == 0 ? 1024 : 2 * delays->room;
        delays->ticks = realloc(delays->ticks, delays->room * sizeof *delays->ticks);
        if (delays->ticks == NULL) {
            fprintf(stderr, "elapse-bench: no memory for %zu delays\n", delays->room);
            exit(EXIT_FAILURE);
        }
    }
    if (ticks == 0)
        ticks = 1;
    delays->ticks[delays->count++] = (uint32_t)(ticks < DELAY_MOST ? ticks : DELAY_MOST);
}

static void read_line(struct delays *delays, const char *path, size_t number, char *line)
{
    char *fields[4];
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        fields[i] = strsep(&line, ",\n");
    if (fields[3] == NULL)
        refuse_line(path, number, "not of the form time_us,op,key,delay_us,tag");
    if (number == 1 && strcmp(fields[0], "time_us") == 0)
        return;
    if (strcmp(fields[1], "start") != 0 && strcmp(fields[1], "restart") != 0)
        return;
    char *end;
    errno = 0;
    unsigned long long delay_us = strtoull(fields[3], &end, 10);
    if (fields[3][0] < '0' || fields[3][0] > '9' || *end != '\0' || errno != 0)
        refuse_line(path, number, "the delay is not a number");
    add(delays, delay_us);
}

void delays_read(struct delays *delays, const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t line_bytes = 0;
    size_t before = delays->count;
    if (file == NULL) {
        fprintf(stderr, "elapse-bench: %s: %s\n", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
    for (size_t number = 1; getline(&line, &line_bytes, file) >= 0; number++)
        read_line(delays, path, number, line);
    if (ferror(file) != 0 || delays->count == before) {
        fprintf(stderr, "elapse-bench: %s: no timer is started in this trace\n", path);
        exit(EXIT_FAILURE);
    }
    free(line);
    fclose(file);
}
