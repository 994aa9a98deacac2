/*
 * From lines to timers.
 */
#include "timers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/timer.h>

#include "../../base/assert.h"
#include "../common/message.h"
#include "exec.h"
#include "print.h"

/* The destructor of every timer's context. */
static void end_timer(void *context)
{
    struct run_timer *timer = context;
    struct run *run = timer->run;

    ELAPSE__ASSERT(timer->key_bytes >= 1);
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
    timer->key_bytes = (uint32_t)line->key_bytes;
    timer->payload_bytes = (uint32_t)line->payload_bytes;
    memcpy(timer->text, line->key, line->key_bytes);
    memcpy(timer->text + line->key_bytes, line->payload, line->payload_bytes);
    return timer;
}

/* Reports and ends a timer that could not be scheduled. */
static void give_up(struct run *run, void *timer, uint64_t line_number, enum elapse_error error)
{
    ELAPSE__ASSERT(error != ELAPSE_OK);
    print_error("%s: line %" PRIu64 ": cannot be scheduled: %s", run->input_name, line_number,
                elapse_error_text(error));
    atomic_fetch_add(&run->failures, 1);
    end_timer(timer);
}

void run_apply_rest(struct run *run)
{
    struct run_batch *batch = &run->batch;

    ELAPSE__ASSERT(batch->count <= RUN_BATCH_TASKS);
    if (elapse_task_schedule_batch(run->scheduler, batch->tasks, batch->count) != ELAPSE_OK) {
        for (size_t i = 0; i < batch->count; i++) {
            const struct elapse_batch_task *failed = &batch->tasks[i];
            if (failed->error != ELAPSE_OK)
                give_up(run, failed->task.context, batch->line_numbers[i], failed->error);
        }
    }
    batch->count = 0;
}

/* Schedules a timer by the monotonic clock. These are scheduled in batches: a batch takes the lock
 * once, and the cache misses of its look-ups overlap. */
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

/* Schedules a timer by the wall clock, and all timers of earlier lines before it. */
static void apply_by_wall_clock(struct run *run, struct elapse_task *task,
                                const struct run_line *line)
{
    enum elapse_error error;

    ELAPSE__ASSERT(line->kind == RUN_LINE_AT || line->kind == RUN_LINE_CRON);
    run_apply_rest(run);
    if (line->kind == RUN_LINE_AT) {
        error = elapse_task_schedule_at_wall_clock(run->scheduler, task, line->unix_ns, NULL);
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

    ELAPSE__ASSERT(line->kind == RUN_LINE_CANCEL);
    run_apply_rest(run);
    /* The timer may fire between the two calls. Then there is nothing left to cancel, as if the
     * line had come a moment later. The scheduler counts those that it removes. */
    if (elapse_task_find(run->scheduler, line->key, line->key_bytes, &handle))
        (void)elapse_task_cancel(run->scheduler, handle);
}

void run_apply(struct run *run, const struct run_line *line, uint64_t now_ns)
{
    if (line->kind == RUN_LINE_NOTHING)
        return;
    if (line->kind == RUN_LINE_CANCEL) {
        cancel(run, line);
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
