/*
 * Closes a scheduler.
 */
#include "../base/assert.h"
#include "callback.h"
#include "clock_thread.h"
#include "due_list.h"
#include "due_search.h"
#include "lease.h"
#include "now.h"
#include "pull.h"
#include "run.h"
#include "scheduler.h"
#include "shard_change.h"
#include "shard_run.h"
#include "step.h"
#include "workers.h"

/* How many tasks are collected before the lock is released. */
enum { COLLECTED_AT_ONCE = 64 };

/* Returns whether closing in this way runs pending tasks at once. */
static bool runs_tasks(enum elapse_close how)
{
    return how == ELAPSE_CLOSE_RUN_DUE || how == ELAPSE_CLOSE_RUN_ALL;
}

/* Closes all shards: no task is scheduled from now on. If `runs_all` is true, all pending tasks
 * run. */
static void close_shards(struct elapse_scheduler *scheduler, bool runs_all)
{
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        struct elapse__shard *shard = &scheduler->shards[i];
        elapse__shard_lock(shard);
        /* `runs_all` is never cleared, because a worker may be about to begin a task that is not
         * due yet. */
        ELAPSE__ASSERT(runs_all || !shard->runs_all);
        shard->closed = true;
        shard->runs_all = runs_all;
        elapse__shard_unlock(shard);
    }
}

/* Returns whether a task is due and waits for its key. Requires that no task is QUEUED, and that no
 * action runs. So the key is in use because a thread of the user is inside a destructor. */
static bool any_waits_for_key(struct elapse_scheduler *scheduler)
{
    bool waits = false;
    for (unsigned i = 0; i < scheduler->options.shards && !waits; i++) {
        struct elapse__shard *shard = &scheduler->shards[i];
        elapse__shard_lock(shard);
        waits = elapse__due_list_any(shard);
        ELAPSE__ASSERT(shard->closed);
        ELAPSE__ASSERT_THAT(shard->running, ==, 0);
        ELAPSE__ASSERT(!waits || shard->destroying > 0);
        elapse__shard_unlock(shard);
    }
    return waits;
}

/* Waits until a task is due at `now`, or no task waits for its key, but no longer than until
 * `until_ns`. Returns false if that time came first. Looks again after each destructor that has
 * released its key, because another destructor may wait for the task that is due now. */
static bool wait_for_keys(struct elapse_scheduler *scheduler, struct elapse__ticks now,
                          uint64_t until_ns)
{
    for (;;) {
        uint64_t released = elapse__keys_released(scheduler);
        if (elapse__is_anything_due(scheduler, now) || !any_waits_for_key(scheduler))
            return true;
        if (!elapse__wait_for_released_key(scheduler, released, until_ns))
            return false;
    }
}

/* Runs all tasks that are due at `now`, and the tasks that wait for their key. Waits no longer than
 * until `until_ns`. Returns whether all of these tasks have run. Requires that the clock thread has
 * left and all shards are closed: this thread does the work of the clock thread. */
static bool run_tasks(struct elapse_scheduler *scheduler, struct elapse__ticks now,
                      uint64_t until_ns)
{
    bool has_workers = elapse__work_queue_workers(&scheduler->queue) > 0;
    do {
        if (has_workers)
            (void)elapse__deliver(scheduler, now);
        else
            (void)elapse__run_due_in_order(scheduler, now, NULL);
        if (!elapse__work_queue_wait_quiet(&scheduler->queue, until_ns) ||
            !wait_for_keys(scheduler, now, until_ns))
            return false;
        now = elapse__now_if_set_back(scheduler, now);
    } while (elapse__is_anything_due(scheduler, now));
    return true;
}

/* What happens to the tasks that are left when the scheduler closes. */
struct collection {
    struct elapse_scheduler *scheduler;
    elapse_hand_back_function *hand_back; /* NULL: the tasks are dropped */
    void *hand_back_context;
    bool leaves_delayed; /* delayed tasks stay: see is_delayed */
};

/* Returns whether a task runs once, at a deadline that is not ELAPSE_NEVER. */
static bool is_delayed(const struct elapse__shard *shard, const struct elapse__task *task)
{
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    return (recurrence == NULL || recurrence->kind == ELAPSE_RECUR_NEVER) &&
           elapse__shard_deadline_ns(shard, task) != ELAPSE_NEVER;
}

/* A task that closing has taken out of its shard. */
struct collected {
    struct elapse_handed_back described;
    struct elapse__ended_task ended;
};

/* Takes a task out of the shard, and describes it. `*collected` must stay where it is. Requires the
 * lock. Requires that no thread runs or holds the task: it is RUNNING only if its lease has
 * expired. */
static void collect(struct elapse__shard *shard, struct elapse__task *task,
                    struct collected *collected)
{
    const struct elapse__key *key = elapse__key_of(task);
    ELAPSE__ASSERT(shard->closed);
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    *collected = (struct collected){
        .described.task.action = task->action,
        .described.task.context = task->context,
        .described.deadline_ns = elapse__shard_deadline_ns(shard, task),
        .described.wall_clock = elapse__by_wall_clock(task),
    };
    /* The lease has expired before a change of the recurrence could be applied. The run that was
     * not done is still due at its own deadline. */
    if (elapse__is_running(task))
        (void)elapse__shard_apply_change(shard, task);
    struct elapse_task *described = &collected->described.task;
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
        elapse__lease_remove_expired(shard, task, ELAPSE_END_CLOSED, &collected->ended);
    else
        elapse__shard_remove(shard, task, ELAPSE_END_CLOSED, &collected->ended);
}

/* Collects some tasks of one shard, from `*index` on. Returns how many tasks it collected. Requires
 * the lock. */
static size_t collect_some(const struct collection *collection, struct elapse__shard *shard,
                           uint32_t *index, struct collected *collected)
{
    size_t count = 0;
    for (int i = 0; i < ELAPSE__BLOCK_TASKS && count < COLLECTED_AT_ONCE; i++) {
        struct elapse__task *task = elapse__task_table_at(&shard->tasks, (*index)++);
        if (task == NULL || task->state <= ELAPSE__TASK_UNLINKING ||
            (collection->leaves_delayed && is_delayed(shard, task)))
            continue;
        if (collection->leaves_delayed && elapse__is_running(task))
            elapse__shard_cancel_next_run(shard, task);
        else
            collect(shard, task, &collected[count++]);
    }
    return count;
}

/* Collects the tasks of one shard, some at a time. */
static void collect_shard(const struct collection *collection, struct elapse__shard *shard)
{
    struct collected collected[COLLECTED_AT_ONCE];
    uint32_t index = 0;
    bool more = true;
    while (more) {
        elapse__shard_lock(shard);
        size_t count = collect_some(collection, shard, &index, collected);
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
}

/* Collects the tasks of all shards. Requires that the shards are closed. Unless delayed tasks stay,
 * requires that no thread runs or holds a task. */
static void collect_all(const struct collection *collection)
{
    struct elapse_scheduler *scheduler = collection->scheduler;
    struct elapse__callback callback;
    elapse__callback_enter(&callback, scheduler, (struct elapse_handle){0});
    for (unsigned i = 0; i < scheduler->options.shards; i++)
        collect_shard(collection, &scheduler->shards[i]);
    elapse__callback_leave(&callback);
}

/* Notes in each shard that no task will be due. Requires that all shards are empty. */
static void forget_wakes(struct elapse_scheduler *scheduler)
{
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        struct elapse__shard *shard = &scheduler->shards[i];
        ELAPSE__ASSERT_THAT(shard->pending, ==, 0);
        ELAPSE__ASSERT_THAT(shard->running, ==, 0);
        atomic_store(&shard->wake_tick, ELAPSE_NEVER);
        atomic_store(&shard->cascade_tick, ELAPSE_NEVER);
        atomic_store(&shard->wall_clock.wake_tick, ELAPSE_NEVER);
    }
}

/* Begins to close, or goes on after a close that timed out. Returns OK if this thread closes the
 * scheduler. Returns an error if another thread closes or has closed it, or if `how` asks for runs
 * that are not possible any more. */
static enum elapse_error begin_closing(struct elapse_scheduler *scheduler, enum elapse_close how)
{
    bool paused = true;
    bool delayed = how == ELAPSE_CLOSE_RUN_DELAYED;
    /* Delayed tasks need a thread that waits for their deadlines or, if time is manual, a thread
     * that steps. */
    bool may_be_new = !delayed || scheduler->options.clock == ELAPSE_CLOCK_MANUAL;
    enum elapse__life next = delayed ? ELAPSE__LIFE_RUNS_DELAYED : ELAPSE__LIFE_CLOSING;
    if (elapse__change_life(scheduler, ELAPSE__LIFE_STARTED, next) ||
        (may_be_new && elapse__change_life(scheduler, ELAPSE__LIFE_NEW, next))) {
        scheduler->closing_how = how;
        return ELAPSE_OK;
    }
    int life = atomic_load(&scheduler->life);
    if (life == (int)ELAPSE__LIFE_CLOSED)
        return ELAPSE_ERROR_CLOSED;
    if (life == (int)ELAPSE__LIFE_NEW)
        return ELAPSE_ERROR_ARGUMENT;
    if (!atomic_compare_exchange_strong(&scheduler->close_paused, &paused, false))
        return ELAPSE_ERROR_BUSY;
    ELAPSE__ASSERT_THAT(atomic_load(&scheduler->life), >=, ELAPSE__LIFE_RUNS_DELAYED);
    ELAPSE__ASSERT_THAT(atomic_load(&scheduler->life), <=, ELAPSE__LIFE_CLOSING);
    if ((runs_tasks(how) || delayed) && how != scheduler->closing_how) {
        atomic_store(&scheduler->close_paused, true);
        return ELAPSE_ERROR_ARGUMENT;
    }
    scheduler->closing_how = how;
    return ELAPSE_OK;
}

/* Waits until all delayed tasks have run, but no longer than until `until_ns`. Tasks that recur end
 * at once or, if they are running, when their action returns. Returns false when that time has
 * come; then the delayed tasks go on running at their deadlines. */
static bool run_delayed(struct elapse_scheduler *scheduler, uint64_t until_ns)
{
    const struct collection others = {.scheduler = scheduler, .leaves_delayed = true};
    close_shards(scheduler, false);
    collect_all(&others);
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        /* A closed shard that is empty stays empty. */
        if (!elapse__shard_wait_until_empty(&scheduler->shards[i], until_ns))
            return false;
    }
    return true;
}

/* Stops everything that begins actions. Runs the tasks that `how` asks for. Waits until no action
 * runs. Returns false when `until_ns` has come; then some of these steps are not done, and the
 * caller may repeat all of them. */
static bool stop(struct elapse_scheduler *scheduler, enum elapse_close how, uint64_t until_ns)
{
    static const struct elapse__ticks end_of_time = {ELAPSE_TIME_MAX, ELAPSE_TIME_MAX};
    if (how == ELAPSE_CLOSE_RUN_DELAYED && !run_delayed(scheduler, until_ns))
        return false;
    (void)elapse__change_life(scheduler, ELAPSE__LIFE_RUNS_DELAYED, ELAPSE__LIFE_CLOSING);
    if (!runs_tasks(how))
        elapse__work_queue_end(&scheduler->queue); /* from here on no worker takes a task */
    atomic_store(&scheduler->hurries, !runs_tasks(how));
    close_shards(scheduler, scheduler->runs_all); /* true if a close that runs all has timed out */
    if (!elapse__step_wait(scheduler, until_ns))
        return false;
    if (scheduler->options.pull && !elapse__pull_end(scheduler, until_ns))
        return false;
    elapse__clock_thread_end(scheduler);
    if (how == ELAPSE_CLOSE_RUN_ALL)
        scheduler->runs_all = true; /* no other thread reads `runs_all` any more */
    close_shards(scheduler, scheduler->runs_all);
    if (runs_tasks(how) &&
        !run_tasks(scheduler, how == ELAPSE_CLOSE_RUN_ALL ? end_of_time : elapse__now(scheduler),
                   until_ns))
        return false;
    return elapse__work_queue_wait_quiet(&scheduler->queue, until_ns);
}

/* Closes the scheduler. Requires that begin_closing has returned OK. */
static enum elapse_error close_as(struct elapse_scheduler *scheduler,
                                  const struct collection *collection, enum elapse_close how,
                                  uint64_t until_ns)
{
    if (!stop(scheduler, how, until_ns)) {
        atomic_store(&scheduler->close_paused, true);
        return ELAPSE_ERROR_TIMEOUT;
    }
    elapse__workers_end(scheduler);
    collect_all(collection);
    forget_wakes(scheduler);
    if (!scheduler->options.pull) /* in pull mode the descriptor stays readable */
        elapse__sleeper_close(&scheduler->sleeper);
    atomic_store(&scheduler->life, (int)ELAPSE__LIFE_CLOSED);
    return ELAPSE_OK;
}

enum elapse_error elapse_scheduler_close_within(struct elapse_scheduler *scheduler,
                                                enum elapse_close how,
                                                elapse_hand_back_function *hand_back,
                                                void *hand_back_context, uint64_t timeout_ns)
{
    bool hands_back = how == ELAPSE_CLOSE_HAND_BACK;
    const struct collection collection = {
        .scheduler = scheduler,
        .hand_back = hands_back ? hand_back : NULL,
        .hand_back_context = hand_back_context,
    };
    if ((unsigned)how > ELAPSE_CLOSE_RUN_DELAYED)
        return ELAPSE_ERROR_ARGUMENT;
    if (hands_back && hand_back == NULL)
        return ELAPSE_ERROR_ARGUMENT;
    if (runs_tasks(how) && scheduler->options.pull)
        return ELAPSE_ERROR_ARGUMENT;
    if (elapse__in_callback(scheduler))
        return ELAPSE_ERROR_IN_ACTION;
    uint64_t until_ns = ELAPSE_NEVER;
    if (timeout_ns != ELAPSE_NEVER)
        until_ns = elapse_deadline_after(elapse__os->clock_ns(ELAPSE__OS_MONOTONIC), timeout_ns);
    enum elapse_error error = begin_closing(scheduler, how);
    return error == ELAPSE_OK ? close_as(scheduler, &collection, how, until_ns) : error;
}

enum elapse_error elapse_scheduler_close(struct elapse_scheduler *scheduler, enum elapse_close how,
                                         elapse_hand_back_function *hand_back,
                                         void *hand_back_context)
{
    return elapse_scheduler_close_within(scheduler, how, hand_back, hand_back_context,
                                         ELAPSE_NEVER);
}

enum elapse_life elapse_scheduler_life(const struct elapse_scheduler *scheduler)
{
    switch ((enum elapse__life)atomic_load(&scheduler->life)) {
    case ELAPSE__LIFE_NEW:
    case ELAPSE__LIFE_STARTING:
        return ELAPSE_LIFE_NEW;
    case ELAPSE__LIFE_STARTED:
        return ELAPSE_LIFE_STARTED;
    case ELAPSE__LIFE_RUNS_DELAYED:
    case ELAPSE__LIFE_CLOSING:
        return ELAPSE_LIFE_CLOSING;
    case ELAPSE__LIFE_CLOSED:
        break;
    }
    return ELAPSE_LIFE_CLOSED;
}
