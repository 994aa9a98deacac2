/*
 * Plays pull mode while calls fail. The only thread of the program takes the due tasks, and waits
 * in take or by the descriptor.
 */
#include "scenario.h"

#include <poll.h>

enum { TAKEN_AT_ONCE = 24 };

void pull_expect_nothing(struct elapse_scheduler *scheduler, enum elapse_error error)
{
    struct elapse_taken taken;
    size_t count = SIZE_MAX;
    MUST(elapse_task_take(scheduler, ELAPSE_NEVER, &taken) == error);
    MUST(elapse_task_take_batch(scheduler, 0, &taken, 1, &count) == error);
    MUST(count == 0);
    int descriptor = elapse_scheduler_descriptor(scheduler);
    struct pollfd readable = {.fd = descriptor, .events = POLLIN};
    if (error == ELAPSE_ERROR_CLOSED && descriptor >= 0)
        MUST(poll(&readable, 1, -1) == 1);
    else
        MUST(descriptor == -1);
}

static uint64_t pending(struct elapse_scheduler *scheduler)
{
    struct elapse_statistics statistics;
    elapse_scheduler_statistics(scheduler, &statistics);
    MUST(statistics.running == 0 && statistics.workers == 0);
    return statistics.pending;
}

/* Takes tasks, and waits for them in one of three ways. If no task comes, the alarm of main.c ends
 * the waiting. */
static enum elapse_error take_some(struct elapse_scheduler *scheduler, unsigned way,
                                   struct elapse_taken *taken, size_t *count)
{
    struct pollfd readable = {.fd = elapse_scheduler_descriptor(scheduler), .events = POLLIN};
    MUST(readable.fd >= 0);
    switch (way % 3) {
    case 0:
        *count = 1;
        return elapse_task_take(scheduler, ELAPSE_NEVER, taken);
    case 1:
        return elapse_task_take_batch(scheduler, ELAPSE_MILLISECOND_NS, taken, TAKEN_AT_ONCE,
                                      count);
    default:
        /* Only a take that finds no task sets the alarm that makes the descriptor readable. */
        if (elapse_task_take(scheduler, 0, taken) == ELAPSE_OK) {
            *count = 1;
            return ELAPSE_OK;
        }
        MUST(poll(&readable, 1, -1) == 1);
        return elapse_task_take_batch(scheduler, 0, taken, TAKEN_AT_ONCE, count);
    }
}

static void run_and_end(struct play *play, const struct elapse_taken *taken)
{
    struct thing *thing = taken->context;
    struct elapse_handle handle = taken->run.handle;
    MUST(elapse_task_cancel(play->scheduler, handle) == ELAPSE_CANCEL_RUNNING);
    MUST(thing->destroyed == 0);
    taken->action(thing, &taken->run);
    MUST(elapse_task_done(play->scheduler, handle) == ELAPSE_OK);
    MUST(thing->destroyed == thing->has_destructor);
    MUST(elapse_task_done(play->scheduler, handle) == ELAPSE_ERROR_GONE);
}

void pull_take_all(struct play *play, uint64_t far)
{
    for (unsigned way = 0; pending(play->scheduler) > far; way++) {
        struct elapse_taken taken[TAKEN_AT_ONCE];
        size_t count;
        enum elapse_error error = take_some(play->scheduler, way, taken, &count);
        if (error != ELAPSE_OK) {
            MUST(error == ELAPSE_ERROR_NOTHING_DUE);
            continue;
        }
        for (size_t i = 0; i < count; i++)
            run_and_end(play, &taken[i]);
    }
}

/* ---- what goes on ---- */

static void count_run(void *context, const struct elapse_run *run)
{
    unsigned *runs = context;
    *runs += 1;
    MUST(run->number <= *runs);
}

/* Takes a task with the action count_run `times` times. */
static void take_times(struct play *play, const unsigned *runs, unsigned times)
{
    for (unsigned i = 1; i <= times; i++) {
        struct elapse_taken taken;
        MUST(elapse_task_take(play->scheduler, ELAPSE_NEVER, &taken) == ELAPSE_OK);
        MUST(taken.context == runs && taken.action == count_run);
        taken.action(taken.context, &taken.run);
        MUST(elapse_task_done(play->scheduler, taken.run.handle) == ELAPSE_OK);
        MUST(*runs == i);
    }
}

static bool is_accepted(const struct play *play, enum elapse_error error)
{
    MUST(error == ELAPSE_OK || (error == ELAPSE_ERROR_MEMORY && play->scenario->memory));
    MUST(error == ELAPSE_OK || inject_has_failed());
    return error == ELAPSE_OK;
}

void pull_take_others(struct play *play)
{
    struct elapse_scheduler *scheduler = play->scheduler;
    struct elapse_handle handle;
    unsigned runs = 0;
    struct elapse_task task = {
        .action = count_run,
        .context = &runs,
        .recurrence = ELAPSE_RECUR_AFTER_EACH,
        .period_ns = ELAPSE_MICROSECOND_NS,
    };
    if (is_accepted(play, elapse_task_schedule_after(scheduler, &task, 0, &handle))) {
        take_times(play, &runs, 3);
        MUST(elapse_task_cancel(scheduler, handle) == ELAPSE_CANCEL_REMOVED);
    }
    runs = 0;
    task.recurrence = ELAPSE_RECUR_NEVER;
    task.period_ns = 0;
    uint64_t soon_ns = elapse_scheduler_wall_clock_ns(scheduler) + ELAPSE_MILLISECOND_NS;
    if (is_accepted(play, elapse_task_schedule_at_wall_clock(scheduler, &task, soon_ns, &handle)))
        take_times(play, &runs, 1);
}
