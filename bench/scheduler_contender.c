/*
 * The scheduler through its public interface: S1, S2, S5 and S6. Here tasks are scheduled,
 * rescheduled and cancelled, and none comes due. scheduler_delivery.c has the workloads in which
 * time passes.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler_bench.h"

enum { DEFAULT_WORKERS = 10 };

/* ---- S1 ---- */

/* One of the threads that schedule at the same time. */
struct filler {
    struct elapse_scheduler *scheduler;
    pthread_barrier_t *barrier;
    struct elapse_handle *handles;
    struct generator generator;
    size_t count;
    uint64_t began;
    uint64_t ended;
};

static void *fill(void *argument)
{
    struct filler *filler = argument;
    (void)pthread_barrier_wait(filler->barrier);
    filler->began = clock_ns();
    schedule_far(filler->scheduler, &filler->generator, filler->count, filler->handles);
    filler->ended = clock_ns();
    return NULL;
}

static uint64_t ended_last(const struct filler *fillers, unsigned threads)
{
    uint64_t last = 0;
    for (unsigned i = 0; i < threads; i++)
        last = fillers[i].ended > last ? fillers[i].ended : last;
    return last;
}

static uint64_t began_first(const struct filler *fillers, unsigned threads)
{
    uint64_t first = UINT64_MAX;
    for (unsigned i = 0; i < threads; i++)
        first = fillers[i].began < first ? fillers[i].began : first;
    return first;
}

/* Schedules from several threads, of which the caller is one. Returns the nanoseconds of elapsed
 * time for each task. */
static double fill_from(unsigned threads, struct elapse_scheduler *scheduler, size_t count,
                        struct elapse_handle *handles)
{
    enum { THREADS_MOST = 2 };
    struct filler fillers[THREADS_MOST];
    pthread_t made[THREADS_MOST];
    pthread_barrier_t barrier;
    size_t placed = 0;
    if (pthread_barrier_init(&barrier, NULL, threads) != 0)
        must(ELAPSE_ERROR_SYSTEM, "barrier");
    for (unsigned i = 0; i < threads; i++) {
        size_t share = (count - placed) / (threads - i);
        fillers[i] = (struct filler){
            .scheduler = scheduler,
            .barrier = &barrier,
            .handles = &handles[placed],
            .generator = {GENERATOR_SEED + i},
            .count = share,
        };
        placed += share;
    }
    for (unsigned i = 1; i < threads; i++) {
        if (pthread_create(&made[i], NULL, fill, &fillers[i]) != 0)
            must(ELAPSE_ERROR_SYSTEM, "thread");
    }
    fill(&fillers[0]);
    for (unsigned i = 1; i < threads; i++)
        (void)pthread_join(made[i], NULL);
    (void)pthread_barrier_destroy(&barrier);
    return ns_each(began_first(fillers, threads), ended_last(fillers, threads), count);
}

static double time_fill(unsigned threads, size_t count, struct elapse_handle *handles)
{
    forget_free_memory();
    struct elapse_scheduler *scheduler = begin_scheduler(COARSE_TICK_NS, DEFAULT_WORKERS);
    double each_ns = fill_from(threads, scheduler, count, handles);
    check_all_pending(scheduler, "S1", count);
    end_scheduler(scheduler);
    return each_ns;
}

void run_schedule(struct workspace *workspace, double *figures)
{
    size_t count = workspace->timers;
    struct elapse_handle *handles = workspace_allocate(count * sizeof *handles);
    figures[S1_SCHEDULE] = time_fill(1, count, handles);
    figures[S1_TWO_THREADS] = time_fill(2, count, handles);
    figures[S1_SPEED_UP] = figures[S1_SCHEDULE] / figures[S1_TWO_THREADS];
    free(handles);
}

/* ---- S2 ---- */

/* Puts the handles into the order in which they will be cancelled. Finding a handle is the caller's
 * work, and is not measured. */
static struct elapse_handle *shuffle(const struct elapse_handle *handles, const uint32_t *order,
                                     size_t count)
{
    struct elapse_handle *shuffled = workspace_allocate(count * sizeof *shuffled);
    for (size_t i = 0; i < count; i++)
        shuffled[i] = handles[order[i]];
    return shuffled;
}

void run_cancel(struct workspace *workspace, double *figures)
{
    size_t count = workspace->timers;
    struct elapse_handle *handles = workspace_allocate(count * sizeof *handles);
    struct generator generator = {GENERATOR_SEED};
    size_t removed = 0;
    forget_free_memory();
    struct elapse_scheduler *scheduler = begin_scheduler(COARSE_TICK_NS, DEFAULT_WORKERS);
    schedule_far(scheduler, &generator, count, handles);
    struct elapse_handle *shuffled = shuffle(handles, workspace->stop_order, count);

    uint64_t began = clock_ns();
    for (size_t i = 0; i < count; i++)
        removed += elapse_task_cancel(scheduler, shuffled[i]) == ELAPSE_CANCEL_REMOVED;
    uint64_t ended = clock_ns();
    figures[0] = ns_each(began, ended, count);

    check_count("tasks removed in S2", "scheduler", removed, count);
    check_all_pending(scheduler, "S2", 0);
    end_scheduler(scheduler);
    free(shuffled);
    free(handles);
}

/* ---- S5 ---- */

/* The bytes that the scheduler has allocated and not freed. */
static _Atomic size_t held_bytes;

static void *allocate_counted(size_t alignment, size_t bytes, void *context)
{
    (void)context;
    atomic_fetch_add(&held_bytes, bytes);
    if (alignment <= _Alignof(max_align_t))
        return malloc(bytes);
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release_counted(void *memory, size_t bytes, void *context)
{
    (void)context;
    atomic_fetch_sub(&held_bytes, bytes);
    free(memory);
}

/* Reads a number of kilobytes in /proc/self/status. Returns it in bytes; 0 if it is not there. */
static size_t status_bytes(const char *name)
{
    char line[256];
    size_t kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && kilobytes == 0 && fgets(line, sizeof line, file) != NULL) {
        size_t length = strlen(name);
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            kilobytes = strtoul(line + length + 1, NULL, 10);
    }
    if (file != NULL)
        fclose(file);
    return kilobytes * 1024;
}

/* Resets the peak of resident memory to the present amount. Returns false if the system cannot. */
static bool forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file == NULL)
        return false;
    bool written = fputs("5\n", file) >= 0;
    return fclose(file) == 0 && written;
}

static void schedule_keyed(struct elapse_scheduler *scheduler, struct generator *generator,
                           size_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const struct elapse_task task = {
            .action = never_run,
            .key = &i,
            .key_bytes = sizeof i,
        };
        must(elapse_task_schedule_after(scheduler, &task, far_delay_ns(generator), NULL),
             "schedule");
    }
}

static void weigh(size_t count, bool keyed, double *counted, double *resident)
{
    struct generator generator = {GENERATOR_SEED};
    struct elapse_scheduler_options options;
    struct elapse_scheduler *scheduler;
    elapse_scheduler_options_init(&options);
    options.allocator = (struct elapse_allocator){
        .allocate = allocate_counted,
        .release = release_counted,
    };
    forget_free_memory();
    bool peak_known = forget_peak();
    size_t before = status_bytes("VmRSS");

    must(elapse_scheduler_new(&options, &scheduler), "new");
    must(elapse_scheduler_start(scheduler), "start");
    if (keyed)
        schedule_keyed(scheduler, &generator, count);
    else
        schedule_far(scheduler, &generator, count, NULL);

    *counted = (double)atomic_load(&held_bytes) / (double)count;
    size_t peak = status_bytes("VmHWM");
    if (peak_known && peak >= before)
        *resident = (double)(peak - before) / (double)count;
    check_all_pending(scheduler, "S5", count);
    end_scheduler(scheduler);
    check_count("bytes not given back in S5", "scheduler", atomic_load(&held_bytes), 0);
}

void run_memory(struct workspace *workspace, double *figures)
{
    weigh(workspace->timers, false, &figures[S5_COUNTED], &figures[S5_RESIDENT]);
    weigh(workspace->timers, true, &figures[S5_KEYED_COUNTED], &figures[S5_KEYED_RESIDENT]);
}

/* ---- S6 ---- */

void run_reschedule(struct workspace *workspace, double *figures)
{
    struct elapse_handle *handles = workspace_allocate(RESCHEDULE_TASKS * sizeof *handles);
    struct generator generator = {GENERATOR_SEED};
    uint64_t most_ns = (uint64_t)seconds_to_ns(workspace->seconds);
    enum elapse_error error = ELAPSE_OK;
    uint64_t done = 0;
    forget_free_memory();
    struct elapse_scheduler *scheduler = begin_scheduler(COARSE_TICK_NS, DEFAULT_WORKERS);
    schedule_far(scheduler, &generator, RESCHEDULE_TASKS, handles);
    /* First move all of them down to 60 s: an earlier deadline takes another path than a later one.
     */
    for (size_t i = 0; i < RESCHEDULE_TASKS; i++)
        error |= elapse_task_reschedule_after(scheduler, handles[i], RESCHEDULE_DELAY_NS);

    uint64_t began = clock_ns();
    uint64_t ended = began;
    for (; done < RESCHEDULES_MOST && ended - began < most_ns; ended = clock_ns()) {
        for (unsigned i = 0; i < RESCHEDULES_AT_ONCE; i++)
            error |= elapse_task_reschedule_after(
                scheduler, handles[below(&generator, RESCHEDULE_TASKS)], RESCHEDULE_DELAY_NS);
        done += RESCHEDULES_AT_ONCE;
    }
    figures[0] = ns_each(began, ended, done);

    struct elapse_statistics statistics;
    if (error != ELAPSE_OK)
        must(ELAPSE_ERROR_GONE, "reschedule");
    check_all_pending(scheduler, "S6", RESCHEDULE_TASKS);
    elapse_scheduler_statistics(scheduler, &statistics);
    check_count("tasks rescheduled in S6", "scheduler", statistics.rescheduled,
                done + RESCHEDULE_TASKS);
    end_scheduler(scheduler);
    free(handles);
}

const struct contender contender_scheduler = {
    .name = "scheduler",
    .title = "the scheduler, through elapse/scheduler.h",
    .node_bytes = SCHEDULER_NODE_BYTES,
    .run =
        {
            [WORKLOAD_SCHEDULE] = run_schedule,
            [WORKLOAD_CANCEL] = run_cancel,
            [WORKLOAD_DELIVER] = run_deliver,
            [WORKLOAD_DELIVER_FINE] = run_deliver_fine,
            [WORKLOAD_DELIVER_WORKERS] = run_deliver_workers,
            [WORKLOAD_SLEEP] = run_sleep,
            [WORKLOAD_MEMORY] = run_memory,
            [WORKLOAD_RESCHEDULE] = run_reschedule,
        },
};
