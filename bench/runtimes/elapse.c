/*
 * Raced here: the scheduler of elapse/scheduler.h, in push mode. As its manual says: one
 * scheduler, tasks scheduled from any thread, cancelled and rescheduled by their handles. In S3
 * there are no workers, so that actions run on the thread that waits for time to pass; else all
 * is as the defaults have it.
 *
 * Semantics: a deadline is rounded up to a tick (1 ms if nothing else is asked for), so nothing
 * is early; a cancel removes the task at once and frees its memory; rescheduling is one call.
 */
#include <elapse/scheduler.h>

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>

#include "race.h"

struct facility {
    struct elapse_scheduler *scheduler;
    struct elapse_handle *handles;
    size_t count;
    struct race_delivery *delivery;
    sem_t all_fired;
};

static void must(enum elapse_error error)
{
    if (error != ELAPSE_OK)
        race_fail(elapse_error_text(error));
}

/*
 * S3: waits for a moment from which a quarter of the span leads to a multiple of 8192 ticks: there
 * the wheel distributes the timers of thousands of ticks at once, and whether that falls into
 * the span is not left to chance. A span that is short beside it does not wait.
 */
static void wait_for_phase(const struct race_options *options)
{
    uint64_t span_ns = (uint64_t)(options->seconds * 1e9);
    uint64_t period_ns = 8192 * options->tick_ns;
    if (span_ns < period_ns / 4)
        return;
    uint64_t past_ns = (clock_ns() + span_ns / 4) % period_ns;
    race_sleep_until(clock_ns() + period_ns - past_ns);
}

static void *open_scheduler(const struct race_options *options, size_t timers)
{
    struct facility *facility = race_allocate_touched(1, sizeof *facility);
    struct elapse_scheduler_options settings;
    elapse_scheduler_options_init(&settings);
    settings.tick_ns = options->tick_ns;
    if (options->workload == RACE_S3)
        settings.workers = 0;
    facility->count = timers;
    facility->handles = race_allocate_touched(timers, sizeof facility->handles[0]);
    race_must(sem_init(&facility->all_fired, 0, 0) == 0, "no semaphore");
    must(elapse_scheduler_new(&settings, &facility->scheduler));
    must(elapse_scheduler_start(facility->scheduler));
    if (options->workload == RACE_S3)
        wait_for_phase(options);
    return facility;
}

static void close_scheduler(void *argument)
{
    struct facility *facility = argument;
    must(elapse_scheduler_close(facility->scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    must(elapse_scheduler_free(facility->scheduler));
    (void)sem_destroy(&facility->all_fired);
    free(facility->handles);
    free(facility);
}

static void run_far(void *context, const struct elapse_run *run)
{
    (void)context;
    (void)run;
    race_far_action();
}

static void schedule(void *argument, size_t first, size_t count, struct race_delays delays,
                     struct generator *generator)
{
    struct facility *facility = argument;
    struct elapse_task task = {.action = run_far};
    for (size_t i = first; i < first + count; i++) {
        task.context = &facility->handles[i];
        must(elapse_task_schedule_after(facility->scheduler, &task,
                                        race_delay_ns(delays, generator), &facility->handles[i]));
    }
}

static size_t pending(void *argument)
{
    struct facility *facility = argument;
    struct elapse_statistics statistics;
    elapse_scheduler_statistics(facility->scheduler, &statistics);
    return statistics.pending;
}

static void shuffle(void *argument, struct generator *generator)
{
    struct facility *facility = argument;
    race_shuffle(facility->handles, facility->count, sizeof facility->handles[0], generator);
}

static size_t cancel(void *argument)
{
    struct facility *facility = argument;
    size_t removed = 0;
    for (size_t i = 0; i < facility->count; i++)
        removed +=
            elapse_task_cancel(facility->scheduler, facility->handles[i]) == ELAPSE_CANCEL_REMOVED;
    return removed;
}

static size_t restart(void *argument, size_t count, uint64_t delay_ns, struct generator *generator)
{
    struct facility *facility = argument;
    size_t restarted = 0;
    for (size_t i = 0; i < count; i++) {
        struct elapse_handle handle = facility->handles[below(generator, facility->count)];
        restarted +=
            elapse_task_reschedule_after(facility->scheduler, handle, delay_ns) == ELAPSE_OK;
    }
    return restarted;
}

/* ---- S3 ---- */

/* All actions run on one thread, so the count needs no lock; the semaphore hands it over. */
static struct facility *delivering;

static void run_note(void *context, const struct elapse_run *run)
{
    (void)run;
    race_note(context);
    if (++delivering->delivery->fired == delivering->delivery->count)
        (void)sem_post(&delivering->all_fired);
}

static void wait_until_fired(struct facility *facility, uint64_t overdue_ns)
{
    struct timespec overdue = {
        .tv_sec = (time_t)(overdue_ns / ELAPSE_SECOND_NS),
        .tv_nsec = (long)(overdue_ns % ELAPSE_SECOND_NS),
    };
    while (sem_clockwait(&facility->all_fired, CLOCK_MONOTONIC, &overdue) != 0 && errno == EINTR)
        continue;
}

static void deliver(void *argument, struct race_delivery *delivery)
{
    struct facility *facility = argument;
    struct elapse_task task = {.action = run_note};
    facility->delivery = delivery;
    delivering = facility;
    while (delivery->scheduled < delivery->count) {
        struct race_note *note = &delivery->notes[delivery->scheduled];
        task.context = note;
        (void)race_next_delay_ns(delivery);
        must(elapse_task_schedule_at(facility->scheduler, &task, note->deadline_ns, NULL));
    }
    wait_until_fired(facility, race_overdue_ns(delivery));
}

static void idle(void *argument, uint64_t for_ns)
{
    (void)argument;
    race_sleep_until(clock_ns() + for_ns);
}

const struct race_contender race_contender = {
    .name = "elapse",
    .threads_may_share = true,
    .cancel_unlinks = true,
    .has_restart = true,
    .open = open_scheduler,
    .close = close_scheduler,
    .schedule = schedule,
    .pending = pending,
    .shuffle = shuffle,
    .cancel = cancel,
    .restart = restart,
    .deliver = deliver,
    .idle = idle,
};
