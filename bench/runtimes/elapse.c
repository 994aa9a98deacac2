/*
 * The contender `elapse`: the scheduler of elapse/scheduler.h, in push mode, used as its manual
 * says. There is one scheduler. Tasks are scheduled from any thread, and cancelled and
 * rescheduled by their handles. S3 runs without workers, so that actions run on the clock
 * thread; all other options have their defaults.
 *
 * Semantics: a deadline is rounded up to a tick (1 ms by default), so nothing fires early. A
 * cancel removes the task at once and frees its memory. Rescheduling is one call.
 */
#include <elapse/scheduler.h>

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>

#include "race.h"

struct facility {
    struct race_handles all; /* the struct elapse_handle of each task */
    struct elapse_scheduler *scheduler;
    struct elapse_handle *handles;
    struct race_delivery *delivery;
    sem_t all_fired;
};

static void must(enum elapse_error error)
{
    if (error != ELAPSE_OK)
        race_fail(elapse_error_text(error));
}

/*
 * Waits for a moment that is a quarter of the span of S3 before a multiple of 8192 ticks. At such
 * a multiple the wheel cascades the timers of thousands of ticks at once. So every run has one
 * in its span, and none has it by chance. Returns at once if the span is short against 8192 ticks.
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
    facility->handles = race_allocate_touched(timers, sizeof facility->handles[0]);
    facility->all = (struct race_handles){facility->handles, timers, sizeof facility->handles[0]};
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

static bool cancel_one(void *argument, size_t index)
{
    struct facility *facility = argument;
    return elapse_task_cancel(facility->scheduler, facility->handles[index]) ==
           ELAPSE_CANCEL_REMOVED;
}

static size_t cancel(void *facility)
{
    return race_cancel_each(facility, cancel_one);
}

static size_t restart(void *argument, size_t count, uint64_t delay_ns, struct generator *generator)
{
    struct facility *facility = argument;
    size_t restarted = 0;
    for (size_t i = 0; i < count; i++) {
        struct elapse_handle handle = facility->handles[below(generator, facility->all.count)];
        restarted +=
            elapse_task_reschedule_after(facility->scheduler, handle, delay_ns) == ELAPSE_OK;
    }
    return restarted;
}

/* ---- S3 ---- */

/* All actions run on one thread, so the count needs no lock. The semaphore makes it visible to
 * the thread that waits. */
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
    .cancel = cancel,
    .restart = restart,
    .deliver = deliver,
    .idle = idle,
};
