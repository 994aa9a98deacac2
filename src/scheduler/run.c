#include "run.h"

#include "../base/assert.h"
#include "callback.h"
#include "due_list.h"
#include "due_search.h"
#include "now.h"
#include "recurrence.h"
#include "shard_change.h"
#include "shard_run.h"

/* How many tasks of one shard run before the tasks of the next shard. */
enum { RUN_AT_ONCE = 64 };

struct elapse_run elapse__run_of(struct elapse_scheduler *scheduler,
                                 const struct elapse__begun *begun)
{
    return (struct elapse_run){
        .scheduler = scheduler,
        .handle = begun->handle,
        .intended_ns = begun->intended_ns,
        .actual_ns = begun->actual_ns,
        .wall_clock = begun->wall_clock,
        .number = begun->number,
        .missed = begun->missed,
        .attempt = begun->attempt,
    };
}

/* Calls the action. Requires that no lock is held. */
static void perform(struct elapse_scheduler *scheduler, const struct elapse__begun *begun)
{
    struct elapse__callback callback;
    struct elapse_run run = elapse__run_of(scheduler, begun);
    ELAPSE__ASSERT(begun->action != NULL);
    const struct elapse_scheduler_options *options = &scheduler->options;
    ELAPSE__ASSERT(!options->pull);
    elapse__callback_enter(&callback, scheduler, begun->handle);
    if (options->action_begins != NULL)
        options->action_begins(options->trace_context, &run, begun->action, begun->context);
    begun->action(begun->context, &run);
    if (options->action_ends != NULL)
        options->action_ends(options->trace_context, &run, begun->action, begun->context);
    elapse__callback_leave(&callback);
}

bool elapse__next_occurrence_and_lock(struct elapse_scheduler *scheduler,
                                      struct elapse__shard *shard, struct elapse__task *task,
                                      const struct elapse__recurrence *recurrence,
                                      struct elapse__occurrence *next)
{
    bool recurs;
    ELAPSE__ASSERT_NO_LOCK_HELD();
    for (;;) {
        recurs = recurrence != NULL &&
                 elapse__recurrence_next(recurrence,
                                         elapse__time_for(scheduler, recurrence->wall_clock), next);
        elapse__shard_lock(shard);
        if (!elapse__shard_apply_change(shard, task))
            return recurs;
        elapse__shard_unlock(shard);
    }
}

void elapse__finish(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                    struct elapse__task *task, const struct elapse__occurrence *next_occurrence)
{
    struct elapse__ended_task ended;
    elapse__ended_task_init(&ended);
    struct elapse__ticks started = elapse__shard_finish(shard, task, next_occurrence, &ended);
    if (ended.extra == NULL && started.monotonic == ELAPSE_NEVER &&
        started.wall_clock == ELAPSE_NEVER)
        return;
    elapse__shard_unlock(shard);
    elapse__scheduler_wake_at(scheduler, started); /* before the destructor, which may take long */
    elapse__ended_task_dispose(scheduler, &ended);
    elapse__shard_lock(shard);
}

/*
 * Begins a QUEUED task (task.h), calls its action and finishes the task. Requires the lock of the
 * shard; releases it and takes it again.
 */
static void run(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                struct elapse__task *task)
{
    struct elapse__occurrence next;
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_QUEUED);
    uint64_t actual_ns = elapse__time_for(scheduler, elapse__by_wall_clock(task));
    struct elapse__begun begun = elapse__shard_begin(shard, task, actual_ns);
    elapse__shard_unlock(shard);
    perform(scheduler, &begun);
    bool recurs = elapse__next_occurrence_and_lock(scheduler, shard, task, begun.recurrence, &next);
    elapse__finish(scheduler, shard, task, recurs ? &next : NULL);
}

void elapse__run_queued(struct elapse_scheduler *scheduler, struct elapse__queued queued)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, queued.handle);
    ELAPSE__ASSERT(shard != NULL);
    elapse__shard_lock(shard);
    struct elapse__task *task = elapse__shard_find(shard, queued.handle);
    /* A task that was moved while it was in the work queue has an older place there as well. An
     * older place does not count. */
    if (task != NULL && task->state == ELAPSE__TASK_QUEUED &&
        *elapse__work_queue_number_of(task) == queued.number) {
        elapse__due_list_remove(shard, task);
        run(scheduler, shard, task);
    }
    elapse__shard_unlock(shard);
}

/* Returns whether `*ending` is true; `ending` may be NULL. */
static bool is_ending(const _Atomic bool *ending)
{
    return ending != NULL && atomic_load(ending);
}

/* Runs up to `most` tasks of a shard that are due at `until`. Requires that no lock is held. */
static size_t run_some(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                       struct elapse__ticks now, struct elapse__ticks until, size_t most,
                       const _Atomic bool *ending)
{
    size_t ran = 0;
    enum elapse__due due;
    elapse__shard_lock(shard);
    do {
        struct elapse__task *task;
        now = elapse__now_in_shard(scheduler, shard, now);
        if (until.wall_clock != ELAPSE_NEVER && until.wall_clock > now.wall_clock)
            until.wall_clock = now.wall_clock; /* the wall clock was set back */
        due = elapse__shard_take_due(shard, now, until, &task);
        ELAPSE__ASSERT_THAT(due, !=, ELAPSE__DUE_EXPIRED);
        if (due == ELAPSE__DUE_TASK) {
            run(scheduler, shard, task);
            ran++;
        } else if (due == ELAPSE__DUE_MORE) {
            elapse__shard_unlock(shard);
            elapse__shard_lock(shard);
        }
    } while (due != ELAPSE__DUE_NONE && ran < most && !is_ending(ending));
    elapse__shard_unlock(shard);
    return ran;
}

size_t elapse__run_due(struct elapse_scheduler *scheduler, struct elapse__ticks now,
                       const _Atomic bool *ending)
{
    size_t ran = 0;
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        if (elapse__may_be_due(&scheduler->shards[i], now))
            ran += run_some(scheduler, &scheduler->shards[i], now, now, RUN_AT_ONCE, ending);
    }
    return ran;
}

size_t elapse__run_due_in_order(struct elapse_scheduler *scheduler, struct elapse__ticks now,
                                const _Atomic bool *ending)
{
    size_t ran = 0;
    struct elapse__ticks until;
    while (!is_ending(ending)) {
        now = elapse__now_if_set_back(scheduler, now); /* an action may have set the wall clock */
        struct elapse__shard *first = elapse__first_due(scheduler, now, &until);
        if (first == NULL)
            break;
        ran += run_some(scheduler, first, now, until, 1, ending);
    }
    return ran;
}
