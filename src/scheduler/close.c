/*
 * Closing a scheduler.
 */
#include "../base/assert.h"
#include "callback.h"
#include "clock_thread.h"
#include "due_search.h"
#include "lease.h"
#include "pull.h"
#include "run.h"
#include "scheduler.h"
#include "shard_run.h"
#include "step.h"
#include "workers.h"

/* How many tasks are collected before the lock is released. */
enum { COLLECTED_AT_ONCE = 64 };

/* Closes all shards: no task is scheduled from now on. */
static void close_shards(struct elapse_scheduler *scheduler)
{
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        struct elapse__shard *shard = &scheduler->shards[i];
        elapse__shard_lock(shard);
        shard->closed = true;
        elapse__shard_unlock(shard);
    }
}

/* Runs all tasks that are due now, and those that wait for their key. Requires that the clock
 * thread has left and all shards are closed; this thread does the work of the clock thread. */
static void run_due_tasks(struct elapse_scheduler *scheduler)
{
    struct elapse__ticks now = elapse__now(scheduler);
    if (atomic_load(&scheduler->worker_count) == 0) {
        (void)elapse__run_due_in_order(scheduler, now, NULL);
        return;
    }
    do {
        (void)elapse__deliver(scheduler, now);
        elapse__work_queue_wait_quiet(&scheduler->queue);
    } while (elapse__is_anything_due(scheduler, now));
}

/* What happens to the tasks that are left. */
struct collection {
    struct elapse_scheduler *scheduler;
    elapse_hand_back_function *hand_back; /* NULL: drop */
    void *hand_back_context;
};

/* A task that closing has taken out. */
struct collected {
    struct elapse_handed_back described;
    struct elapse__ended_task ended;
};

/* Takes a task out of the shard, and describes it. Requires the lock. */
static struct collected collect(struct elapse__shard *shard, struct elapse__task *task)
{
    const struct elapse__key *key = elapse__key_of(task);
    ELAPSE__ASSERT(shard->closed);
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    struct collected collected = {
        .described.task.action = task->action,
        .described.task.context = task->context,
        .described.deadline_ns = elapse__shard_deadline_ns(shard, task),
        .described.wall_clock = elapse__by_wall_clock(task),
    };
    struct elapse_task *described = &collected.described.task;
    if (task->extra != NULL) {
        described->destroy = task->extra->destructor.destroy;
        described->ended = task->extra->destructor.ended;
    }
    if (key != NULL) {
        described->key = key->data;
        described->key_bytes = key->bytes;
    }
    if (recurrence != NULL) {
        described->recurrence = recurrence->kind;
        described->period_ns = recurrence->period_ns;
        described->if_missed = recurrence->if_missed;
        described->cron = recurrence->kind == ELAPSE_RECUR_CRON ? &recurrence->cron : NULL;
        described->zone = recurrence->zone;
    }
    if (elapse__is_running(task))
        elapse__lease_remove_expired(shard, task, ELAPSE_END_CLOSED, &collected.ended);
    else
        elapse__shard_remove(shard, task, ELAPSE_END_CLOSED, &collected.ended);
    return collected;
}

/* Collects the tasks of one shard, some at a time. Requires that no thread runs or
 * holds a task: only tasks whose lease has expired are RUNNING. */
static void collect_shard(const struct collection *collection, struct elapse__shard *shard)
{
    struct collected collected[COLLECTED_AT_ONCE];
    uint32_t index = 0;
    bool more = true;
    while (more) {
        size_t count = 0;
        elapse__shard_lock(shard);
        for (int i = 0; i < ELAPSE__BLOCK_TASKS && count < COLLECTED_AT_ONCE; i++) {
            struct elapse__task *task = elapse__task_table_at(&shard->tasks, index++);
            if (task != NULL && task->state > ELAPSE__TASK_UNLINKING)
                collected[count++] = collect(shard, task);
        }
        if (collection->hand_back != NULL)
            shard->handed_back += count;
        else
            shard->dropped += count;
        more = index >> ELAPSE__BLOCK_BITS < shard->tasks.block_count;
        elapse__shard_unlock(shard);
        for (size_t i = 0; i < count; i++) {
            if (collection->hand_back != NULL) {
                collected[i].ended.destructor = (struct elapse__destructor){0};
                collection->hand_back(&collected[i].described, collection->hand_back_context);
            }
            elapse__ended_task_dispose(collection->scheduler, &collected[i].ended);
        }
    }
    ELAPSE__ASSERT_THAT(shard->pending, ==, 0);
    ELAPSE__ASSERT_THAT(shard->running, ==, 0);
    atomic_store(&shard->wake_tick, ELAPSE_NEVER);
    atomic_store(&shard->wall_clock.wake_tick, ELAPSE_NEVER);
}

static void collect_all(const struct collection *collection)
{
    struct elapse_scheduler *scheduler = collection->scheduler;
    struct elapse__callback callback;
    elapse__callback_enter(&callback, scheduler, (struct elapse_handle){0});
    for (unsigned i = 0; i < scheduler->options.shards; i++)
        collect_shard(collection, &scheduler->shards[i]);
    elapse__callback_leave(&callback);
}

/* Begins to close. Returns OK if this thread closes, and an error if another thread does or has. */
static enum elapse_error begin_closing(struct elapse_scheduler *scheduler, bool *started)
{
    *started = elapse__change_life(scheduler, ELAPSE__LIFE_STARTED, ELAPSE__LIFE_CLOSING);
    if (*started || elapse__change_life(scheduler, ELAPSE__LIFE_NEW, ELAPSE__LIFE_CLOSING))
        return ELAPSE_OK;
    bool closed = atomic_load(&scheduler->life) == (int)ELAPSE__LIFE_CLOSED;
    return closed ? ELAPSE_ERROR_CLOSED : ELAPSE_ERROR_BUSY;
}

/* Closes. Requires that begin_closing has returned OK. */
static void close_as(struct elapse_scheduler *scheduler, const struct collection *collection,
                     enum elapse_close how, bool started)
{
    bool pull = scheduler->options.pull;
    bool has_threads = started && scheduler->options.clock != ELAPSE_CLOCK_MANUAL && !pull;
    if (how != ELAPSE_CLOSE_RUN_DUE)
        elapse__work_queue_end(&scheduler->queue, true); /* no worker takes another */
    close_shards(scheduler);
    elapse__step_wait(scheduler);
    if (pull)
        elapse__pull_end(scheduler);
    if (has_threads)
        elapse__clock_thread_end(scheduler);
    if (how == ELAPSE_CLOSE_RUN_DUE)
        run_due_tasks(scheduler);
    if (has_threads)
        elapse__workers_end(scheduler);
    collect_all(collection);
    if (!pull) /* in pull mode the descriptor stays readable */
        elapse__sleeper_close(&scheduler->sleeper);
    atomic_store(&scheduler->life, (int)ELAPSE__LIFE_CLOSED);
}

enum elapse_error elapse_scheduler_close(struct elapse_scheduler *scheduler, enum elapse_close how,
                                         elapse_hand_back_function *hand_back,
                                         void *hand_back_context)
{
    bool hands_back = how == ELAPSE_CLOSE_HAND_BACK;
    bool started;
    const struct collection collection = {
        .scheduler = scheduler,
        .hand_back = hands_back ? hand_back : NULL,
        .hand_back_context = hand_back_context,
    };
    if (how != ELAPSE_CLOSE_DROP && how != ELAPSE_CLOSE_RUN_DUE && !hands_back)
        return ELAPSE_ERROR_ARGUMENT;
    if (hands_back && hand_back == NULL)
        return ELAPSE_ERROR_ARGUMENT;
    if (how == ELAPSE_CLOSE_RUN_DUE && scheduler->options.pull)
        return ELAPSE_ERROR_ARGUMENT;
    if (elapse__in_callback(scheduler))
        return ELAPSE_ERROR_IN_ACTION;
    enum elapse_error error = begin_closing(scheduler, &started);
    if (error == ELAPSE_OK)
        close_as(scheduler, &collection, how, started);
    return error;
}
