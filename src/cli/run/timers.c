/*
 * Makes timers from lines. Schedules and cancels tasks of the scheduler.
 */
#include "timers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/timer.h>
#include <utlist.h>

#include "../../base/assert.h"
#include "../common/message.h"
#include "answer.h"
#include "durable.h"
#include "exec.h"
#include "print.h"

/* Adds a timer to the list of the run. */
static void link_timer(struct run *run, struct run_timer *timer)
{
    elapse__os_monitor_enter(run->timers_lock);
    DL_PREPEND(run->timers, timer);
    run->timer_count++;
    elapse__os_monitor_leave(run->timers_lock);
}

static void unlink_timer(struct run *run, struct run_timer *timer)
{
    elapse__os_monitor_enter(run->timers_lock);
    ELAPSE__ASSERT(run->timer_count > 0);
    DL_DELETE(run->timers, timer);
    run->timer_count--;
    elapse__os_monitor_leave(run->timers_lock);
}

/* The destructor of every timer's context. */
static void end_timer(void *context)
{
    struct run_timer *timer = context;
    struct run *run = timer->run;

    ELAPSE__ASSERT(timer->key_bytes >= 1);
    if (run->options->answers)
        unlink_timer(run, timer);
    free(timer);
    run_close_one(run);
}

static struct run_timer *timer_new(struct run *run, const struct run_line *line)
{
    ELAPSE__ASSERT(line->key_bytes >= 1);
    ELAPSE__ASSERT(line->key_bytes <= RUN_KEY_BYTES_MAX);
    ELAPSE__ASSERT(line->payload_bytes <= RUN_PAYLOAD_BYTES_MAX);
    struct run_timer *timer = allocate(sizeof *timer + line->key_bytes + line->payload_bytes);
    timer->run = run;
    timer->passed_unix_ns = 0;
    timer->is_durable = false;
    timer->may_repeat = false;
    timer->by_wall_clock = line->kind == RUN_LINE_AT || line->kind == RUN_LINE_CRON;
    timer->key_bytes = (uint32_t)line->key_bytes;
    timer->payload_bytes = (uint32_t)line->payload_bytes;
    memcpy(timer->text, line->key, line->key_bytes);
    memcpy(timer->text + line->key_bytes, line->payload, line->payload_bytes);
    if (run->options->answers)
        link_timer(run, timer);
    return timer;
}

/* Reports and ends a timer that could not be scheduled. */
static void give_up(struct run *run, void *timer, uint64_t line_number, enum elapse_error error)
{
    ELAPSE__ASSERT(error != ELAPSE_OK);
    char text[128];
    (void)snprintf(text, sizeof text, "cannot be scheduled: %s", elapse_error_text(error));
    run_report_line(run, line_number, text);
    atomic_fetch_add(&run->failures, 1);
    end_timer(timer);
}

void run_apply_rest(struct run *run)
{
    struct run_batch *batch = &run->batch;

    ELAPSE__ASSERT(batch->count <= RUN_BATCH_TASKS);
    if (run->durable != NULL) {
        run_durable_commit(run->durable);
        return;
    }
    if (elapse_task_schedule_batch(run->scheduler, batch->tasks, batch->count) != ELAPSE_OK) {
        for (size_t i = 0; i < batch->count; i++) {
            const struct elapse_batch_task *failed = &batch->tasks[i];
            if (failed->error != ELAPSE_OK)
                give_up(run, failed->task.context, batch->line_numbers[i], failed->error);
        }
    }
    batch->count = 0;
}

/* Schedules a timer by the monotonic clock. Such timers are scheduled in batches. A batch takes the
 * lock once, and the cache misses of its look-ups overlap. */
static void apply_later(struct run *run, const struct elapse_task *task,
                        const struct run_line *line, uint64_t now_ns)
{
    struct run_batch *batch = &run->batch;
    ELAPSE__ASSERT(batch->count < RUN_BATCH_TASKS);
    struct elapse_batch_task *added = &batch->tasks[batch->count];

    ELAPSE__ASSERT(task->key_bytes >= 1);
    *added = (struct elapse_batch_task){
        .task = *task,
        .deadline_ns = elapse_deadline_after(now_ns, line->duration_ns),
    };
    if (line->kind == RUN_LINE_EVERY)
        added->task.recurrence = ELAPSE_RECUR_PERIOD;
    else if (line->kind == RUN_LINE_AFTER_EACH)
        added->task.recurrence = ELAPSE_RECUR_AFTER_EACH;
    if (line->kind != RUN_LINE_IN)
        added->task.period_ns = line->duration_ns;
    batch->line_numbers[batch->count] = run->lines;
    if (++batch->count == RUN_BATCH_TASKS)
        run_apply_rest(run);
}

/* Schedules a timer by the wall clock. Schedules all timers of earlier lines first. */
static void apply_by_wall_clock(struct run *run, struct elapse_task *task,
                                const struct run_line *line)
{
    enum elapse_error error;

    ELAPSE__ASSERT(line->kind == RUN_LINE_AT || line->kind == RUN_LINE_CRON);
    run_apply_rest(run);
    if (line->kind == RUN_LINE_AT) {
        /* The scheduler measures lateness from the deadline. A time that had passed before the line
         * came must not count as lateness. So the deadline is now. */
        uint64_t now_unix_ns = elapse_scheduler_wall_clock_ns(run->scheduler);
        struct run_timer *timer = task->context;
        uint64_t unix_ns = line->is_local ? run_moment_of_local(run, &line->local) : line->unix_ns;
        if (unix_ns < now_unix_ns) {
            timer->passed_unix_ns = unix_ns > 0 ? unix_ns : 1;
            unix_ns = now_unix_ns;
        }
        error = elapse_task_schedule_at_wall_clock(run->scheduler, task, unix_ns, NULL);
    } else {
        task->recurrence = ELAPSE_RECUR_CRON;
        task->cron = &line->cron;
        task->zone = run->options->zone;
        error = elapse_task_schedule_cron(run->scheduler, task, NULL);
    }
    if (error != ELAPSE_OK)
        give_up(run, task->context, run->lines, error);
}

static void cancel(struct run *run, const struct run_line *line)
{
    struct elapse_handle handle;
    enum elapse_cancel answer = ELAPSE_CANCEL_GONE;

    ELAPSE__ASSERT(line->kind == RUN_LINE_CANCEL);
    run_apply_rest(run);
    /* The timer may fire between the two calls. Then there is nothing to cancel, as if the line had
     * come a moment later. The scheduler counts the timers that it removes. */
    if (elapse_task_find(run->scheduler, line->key, line->key_bytes, &handle))
        answer = elapse_task_cancel(run->scheduler, handle);
    if (run->options->answers)
        run_answer_cancel(run, line, answer);
}

void run_apply(struct run *run, const struct run_line *line, uint64_t now_ns)
{
    if (line->kind == RUN_LINE_NOTHING)
        return;
    if (run->durable != NULL) {
        run_durable_apply(run, line);
        return;
    }
    if (line->kind == RUN_LINE_CANCEL) {
        cancel(run, line);
        return;
    }
    if (line->kind == RUN_LINE_LIST) {
        run_apply_rest(run);
        run_answer_list(run);
        return;
    }
    struct run_timer *timer = timer_new(run, line);
    struct elapse_task task = {
        .action = run->options->program != NULL ? run_spawn : run_print,
        .context = timer,
        .destroy = end_timer,
        .key = timer->text,
        .key_bytes = timer->key_bytes,
        .if_key_pending = ELAPSE_KEY_REPLACE,
    };
    atomic_fetch_add(&run->open, 1);
    if (line->kind == RUN_LINE_AT || line->kind == RUN_LINE_CRON)
        apply_by_wall_clock(run, &task, line);
    else
        apply_later(run, &task, line, now_ns);
}
