/*
 * The common part of the scheduler's workloads and their floors.
 */
#include "scheduler_bench.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

void sleep_until_ns(uint64_t time_ns)
{
    struct timespec until = {
        .tv_sec = (time_t)(time_ns / ELAPSE_SECOND_NS),
        .tv_nsec = (long)(time_ns % ELAPSE_SECOND_NS),
    };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        continue;
}

void forget_free_memory(void)
{
    (void)malloc_trim(0);
}

/* ---- S3 ---- */

static int compare_lateness(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void refuse_note(const char *contender, const char *what, uint64_t number)
{
    fprintf(stderr, "elapse-bench: %s: S3: a task %s %llu\n", contender, what,
            (unsigned long long)number);
    exit(EXIT_FAILURE);
}

static double quantile_ms(const uint64_t *sorted_ns, size_t count, size_t thousandths)
{
    size_t place = (count - 1) * thousandths / 1000;
    return (double)sorted_ns[place] / 1e6;
}

void figure_lateness(const char *contender, const struct note *notes, size_t count, double *figures)
{
    uint64_t *lateness_ns = workspace_allocate(count * sizeof *lateness_ns);
    for (size_t i = 0; i < count; i++) {
        if (notes[i].runs != 1)
            refuse_note(contender, "did not run once; it ran this often:", notes[i].runs);
        if (notes[i].noted_ns < notes[i].deadline_ns)
            refuse_note(contender,
                        "ran early, by this many ns:", notes[i].deadline_ns - notes[i].noted_ns);
        lateness_ns[i] = notes[i].noted_ns - notes[i].deadline_ns;
    }
    qsort(lateness_ns, count, sizeof *lateness_ns, compare_lateness);
    figures[S3_EARLIEST] = quantile_ms(lateness_ns, count, 0);
    figures[S3_MEDIAN] = quantile_ms(lateness_ns, count, 500);
    figures[S3_P99] = quantile_ms(lateness_ns, count, 990);
    figures[S3_P999] = quantile_ms(lateness_ns, count, 999);
    figures[S3_LATEST] = quantile_ms(lateness_ns, count, 1000);
    free(lateness_ns);
}

/* ---- S4 ---- */

static double wake_ups(void)
{
    struct rusage usage = {0};
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_nvcsw;
}

void figure_idleness(double seconds, double *figures)
{
    uint64_t began = clock_ns();
    /* Work that is left over from being filled is done now, before it is timed. */
    sleep_until_ns(began + 100 * ELAPSE_MILLISECOND_NS);

    double woken = wake_ups();
    uint64_t cpu_ns = process_cpu_ns();
    began = clock_ns();
    sleep_until_ns(began + (uint64_t)seconds_to_ns(seconds));
    double spent_ns = (double)(process_cpu_ns() - cpu_ns);
    double slept_ns = (double)(clock_ns() - began);
    figures[S4_CPU] = spent_ns / slept_ns * 5e3;
    figures[S4_WAKE_UPS] = (wake_ups() - woken) / slept_ns * 5e9;
}

/* ---- schedulers to measure ---- */

void must(enum elapse_error error, const char *what)
{
    if (error == ELAPSE_OK)
        return;
    fprintf(stderr, "elapse-bench: scheduler: %s: %s\n", what, elapse_error_text(error));
    exit(EXIT_FAILURE);
}

struct elapse_scheduler *begin_scheduler(uint64_t tick_ns, unsigned workers)
{
    struct elapse_scheduler_options options;
    struct elapse_scheduler *scheduler;
    elapse_scheduler_options_init(&options);
    options.tick_ns = tick_ns;
    options.workers = workers;
    must(elapse_scheduler_new(&options, &scheduler), "new");
    must(elapse_scheduler_start(scheduler), "start");
    return scheduler;
}

void end_scheduler(struct elapse_scheduler *scheduler)
{
    must(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL), "close");
    must(elapse_scheduler_free(scheduler), "free");
}

void never_run(void *context, const struct elapse_run *run)
{
    (void)context;
    (void)run;
}

void schedule_far(struct elapse_scheduler *scheduler, struct generator *generator, size_t count,
                  struct elapse_handle *handles)
{
    const struct elapse_task task = {.action = never_run};
    enum elapse_error error = ELAPSE_OK;
    for (size_t i = 0; i < count; i++)
        error |= elapse_task_schedule_after(scheduler, &task, far_delay_ns(generator),
                                            handles == NULL ? NULL : &handles[i]);
    if (error != ELAPSE_OK)
        must(ELAPSE_ERROR_MEMORY, "schedule");
}

void check_all_pending(struct elapse_scheduler *scheduler, const char *workload, size_t count)
{
    struct elapse_statistics statistics;
    char what[40];
    elapse_scheduler_statistics(scheduler, &statistics);
    snprintf(what, sizeof what, "tasks pending in %s", workload);
    check_count(what, "scheduler", statistics.pending, count);
    snprintf(what, sizeof what, "tasks begun in %s", workload);
    check_count(what, "scheduler", statistics.begun, 0);
}
