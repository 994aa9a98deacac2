/*
 * The workloads recovery and memory. Each run is a process of its own.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../measure.h"
#include "queue_bench.h"

enum { HOUR_MS = 3600000, FIRST_JOBS = 50000 };

/* ---- recovery ---- */

static void fill_and_die(const char *path, uint64_t jobs)
{
    pid_t child = fork();
    require(child >= 0, "no process can be made");
    if (child == 0) {
        queue_fill(queue_open(path), 0, jobs, false, HOUR_MS);
        (void)kill(getpid(), SIGKILL);
    }
    int status;
    require(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
                WTERMSIG(status) == SIGKILL,
            "the process that fills the queue failed");
}

static double time_open(const char *path, uint64_t jobs)
{
    struct elapse_queue *queue;
    struct elapse_queue_fault fault;
    struct elapse_queue_counts statistics;
    uint64_t began = clock_ns();
    if (elapse_queue_open(path, NULL, &queue, &fault) != ELAPSE_OK)
        require(false, fault.text);
    double seconds = (double)(clock_ns() - began) / 1e9;
    require(elapse_queue_statistics(queue, NULL, &statistics) == ELAPSE_OK &&
                statistics.delayed == jobs,
            "jobs were lost");
    queue_close(queue);
    return seconds;
}

void bench_recovery(const struct settings *settings)
{
    char path[PATH_BYTES];
    double millions = (double)settings->jobs / 1e6;
    const char *unit = "s/million";

    place_make(settings, path);
    fill_and_die(path, settings->jobs);
    table_add("recovery", "floor", "read the files", floor_read(path) / millions, unit, NULL);
    table_add("recovery", "elapse", "open after kill -9",
              time_open(path, settings->jobs) / millions, unit, "read the files");
    place_forget(path);
    table_add("recovery", "floor", "read the files, not cached", floor_read(path) / millions, unit,
              NULL);
    place_forget(path);
    table_add("recovery", "elapse", "open, files not cached",
              time_open(path, settings->jobs) / millions, unit, "read the files, not cached");
    place_remove(path);
}

/* ---- memory ---- */

/* The buffers of the journal are there after the first jobs: they do not count. */
static struct memory measure(const char *path, uint64_t jobs, bool with_key, uint64_t delay_ms)
{
    struct elapse_queue *queue = queue_open(path);
    queue_fill(queue, jobs, FIRST_JOBS, with_key, delay_ms);
    struct memory before = memory_now();
    queue_fill(queue, 0, jobs, with_key, delay_ms);
    struct memory after = memory_now();
    queue_close(queue);
    return (struct memory){(after.allocated - before.allocated) / (double)jobs,
                           (after.resident - before.resident) / (double)jobs};
}

static struct memory measure_apart(const struct settings *settings, bool with_key,
                                   uint64_t delay_ms)
{
    char path[PATH_BYTES];
    int ends[2];
    struct memory memory = {0, 0};

    place_make(settings, path);
    require(pipe(ends) == 0, "no pipe can be made");
    pid_t child = fork();
    require(child >= 0, "no process can be made");
    if (child == 0) {
        memory = measure(path, settings->jobs, with_key, delay_ms);
        _exit(write(ends[1], &memory, sizeof memory) != (ssize_t)sizeof memory);
    }
    close(ends[1]);
    require(read(ends[0], &memory, sizeof memory) == (ssize_t)sizeof memory &&
                waitpid(child, NULL, 0) == child,
            "the process that measures memory failed");
    close(ends[0]);
    place_remove(path);
    return memory;
}

void bench_memory(const struct settings *settings)
{
    struct memory delayed = measure_apart(settings, false, HOUR_MS);
    struct memory ready = measure_apart(settings, false, 0);
    struct memory keyed = measure_apart(settings, true, HOUR_MS);
    table_add("memory", "elapse", "delayed, allocated", delayed.allocated, "bytes/job", NULL);
    table_add("memory", "elapse", "delayed, resident", delayed.resident, "bytes/job", NULL);
    table_add("memory", "elapse", "ready, allocated", ready.allocated, "bytes/job", NULL);
    table_add("memory", "elapse", "ready, resident", ready.resident, "bytes/job", NULL);
    table_add("memory", "elapse", "keyed, allocated", keyed.allocated, "bytes/job", NULL);
    table_add("memory", "elapse", "keyed, resident", keyed.resident, "bytes/job", NULL);
}
