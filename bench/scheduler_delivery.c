/*
 * The scheduler while time passes: tasks come due in S3, and none in S4.
 */
#include <stdlib.h>

#include "scheduler_bench.h"

/* The time to wait for tasks that are late. */
#define PATIENCE_NS (60 * ELAPSE_SECOND_NS)

/* ---- S3 ---- */

/* Reads the clock itself, and does not rely on the time that the scheduler passes. */
static void note_lateness(void *context, const struct elapse_run *run)
{
    struct note *note = context;
    (void)run;
    note->noted_ns = clock_ns();
    note->runs++;
}

/* Schedules all tasks. Returns the last deadline. The clock is read here, so that each deadline is
 * known to the nanosecond. */
static uint64_t schedule_notes(struct elapse_scheduler *scheduler, struct note *notes, size_t count,
                               uint64_t span_ns)
{
    struct generator generator = {GENERATOR_SEED};
    struct elapse_task task = {.action = note_lateness};
    uint64_t last_ns = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t deadline_ns = clock_ns() + below(&generator, span_ns);
        notes[i].deadline_ns = deadline_ns;
        task.context = &notes[i];
        must(elapse_task_schedule_at(scheduler, &task, deadline_ns, NULL), "schedule");
        last_ns = deadline_ns > last_ns ? deadline_ns : last_ns;
    }
    return last_ns;
}

/*
 * Waits for a moment that is a quarter of the span before a multiple of so many ticks. At such a
 * multiple a wheel cascades the timers of thousands of ticks at once. So every run has one in its
 * span, and none has it by chance. Returns at once if the span is short against these ticks.
 */
static void wait_for_phase(uint64_t span_ns, uint64_t tick_ns)
{
    enum { PERIOD_TICKS = 8192 };
    uint64_t period_ns = PERIOD_TICKS * tick_ns;
    if (span_ns < period_ns / 4)
        return;
    uint64_t lead_ns = span_ns / 4 % period_ns;
    uint64_t past_ns = (clock_ns() + lead_ns) % period_ns;
    sleep_until_ns(clock_ns() + period_ns - past_ns);
}

static void wait_until_done(struct elapse_scheduler *scheduler, uint64_t last_ns)
{
    struct elapse_statistics statistics;
    uint64_t look_ns = last_ns;
    do {
        look_ns += 20 * ELAPSE_MILLISECOND_NS;
        sleep_until_ns(look_ns);
        elapse_scheduler_statistics(scheduler, &statistics);
    } while (statistics.pending + statistics.running > 0 && look_ns < last_ns + PATIENCE_NS);
}

/* Returns the processor time of scheduling alone: these tasks do not come due. */
static double scheduling_cpu_s(size_t count, uint64_t tick_ns, unsigned workers)
{
    struct generator generator = {GENERATOR_SEED};
    forget_free_memory();
    struct elapse_scheduler *scheduler = begin_scheduler(tick_ns, workers);
    uint64_t cpu_ns = process_cpu_ns();
    schedule_far(scheduler, &generator, count, NULL);
    cpu_ns = process_cpu_ns() - cpu_ns;
    end_scheduler(scheduler);
    return (double)cpu_ns / 1e9;
}

static void deliver(struct workspace *workspace, uint64_t tick_ns, unsigned workers,
                    double *figures)
{
    size_t count = workspace->timers;
    uint64_t span_ns = (uint64_t)seconds_to_ns(workspace->seconds);
    struct note *notes = workspace_allocate(count * sizeof *notes);
    figures[S3_SCHEDULING_CPU] = scheduling_cpu_s(count, tick_ns, workers);

    forget_free_memory();
    wait_for_phase(span_ns, tick_ns);
    struct elapse_scheduler *scheduler = begin_scheduler(tick_ns, workers);
    uint64_t cpu_ns = process_cpu_ns();
    uint64_t last_ns = schedule_notes(scheduler, notes, count, span_ns);
    wait_until_done(scheduler, last_ns);
    cpu_ns = process_cpu_ns() - cpu_ns;
    end_scheduler(scheduler);

    figures[S3_CPU] = (double)cpu_ns / 1e9;
    figure_lateness("scheduler", notes, count, figures);
    free(notes);
}

void run_deliver(struct workspace *workspace, double *figures)
{
    deliver(workspace, COARSE_TICK_NS, 0, figures);
}

void run_deliver_fine(struct workspace *workspace, double *figures)
{
    deliver(workspace, FINE_TICK_NS, 0, figures);
}

void run_deliver_workers(struct workspace *workspace, double *figures)
{
    deliver(workspace, COARSE_TICK_NS, 10, figures);
}

/* ---- S4 ---- */

void run_sleep(struct workspace *workspace, double *figures)
{
    struct generator generator = {GENERATOR_SEED};
    struct elapse_scheduler *scheduler = begin_scheduler(COARSE_TICK_NS, 10);
    schedule_far(scheduler, &generator, workspace->timers, NULL);
    figure_idleness(workspace->seconds, figures);
    check_all_pending(scheduler, "S4", workspace->timers);
    end_scheduler(scheduler);
}
