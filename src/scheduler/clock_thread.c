#include "clock_thread.h"

#include "../base/assert.h"
#include "due_search.h"
#include "now.h"
#include "run.h"
#include "shard_run.h"
#include "shard_steps.h"
#include "step.h"
#include "workers.h"

/* How many tasks are taken out of a shard before its lock is released, and how many workers are
 * made before the clock thread looks for due tasks again. */
enum { TAKEN_AT_ONCE = 64, WORKERS_MADE_AT_ONCE = 8 };

/* How long to wait before a worker that the system refused is tried again. */
static const uint64_t retry_least_ns = ELAPSE_MILLISECOND_NS;
static const uint64_t retry_most_ns = ELAPSE_SECOND_NS;

/* Moves up to TAKEN_AT_ONCE due tasks of a shard into the queue. Returns false if the queue is
 * full. */
static bool deliver_some(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                         struct elapse__ticks now)
{
    struct elapse__queued queued[TAKEN_AT_ONCE];
    unsigned count = 0;
    unsigned room = elapse__work_queue_room(&scheduler->queue);
    if (room == 0)
        return false;
    if (room > TAKEN_AT_ONCE)
        room = TAKEN_AT_ONCE;

    struct elapse__task *task;
    elapse__shard_lock(shard);
    now = elapse__now_in_shard(scheduler, shard, now);
    while (count < room && elapse__shard_take_due(shard, now, now, &task) == ELAPSE__DUE_TASK) {
        queued[count++] = (struct elapse__queued){
            .handle = elapse__handle_of(shard, task),
            .number = elapse__shard_queue(shard, task),
        };
    }
    ELAPSE__ASSERT_THAT(count, <=, room);
    elapse__shard_note_next(shard, now); /* perhaps the last due task was just taken */
    elapse__shard_unlock(shard);
    /* One worker for the first of these tasks is made at once; make_missing_workers makes the
     * others. */
    if (count > 0 && elapse__work_queue_put(&scheduler->queue, queued, count) > 0)
        (void)elapse__workers_make(scheduler, 1);
    return true;
}

bool elapse__deliver(struct elapse_scheduler *scheduler, struct elapse__ticks now)
{
    const unsigned shards = scheduler->options.shards;
    bool any;
    ELAPSE__ASSERT_THAT(scheduler->next_shard, <, shards);
    do {
        any = false;
        for (unsigned i = 0; i < shards; i++) {
            struct elapse__shard *shard = &scheduler->shards[scheduler->next_shard];
            if (elapse__may_be_due(shard, now)) {
                any = true;
                if (!deliver_some(scheduler, shard, now))
                    return false;
            }
            scheduler->next_shard = (scheduler->next_shard + 1) % shards;
        }
        if (any)
            now = elapse__now_if_set_back(scheduler, now);
    } while (any);
    return true;
}

/* ---- workers ---- */

/* Whether all queued tasks have workers, and what the clock thread does if some have none. */
enum staffing {
    ENOUGH_WORKERS, /* all queued tasks have workers, or there are as many workers as are allowed */
    MORE_TO_MAKE,   /* some workers were made, and some are missing: look for due tasks, then make
                       more workers */
    REFUSED,        /* the system refused a worker: try again after a while */
};

/* Makes a few of the workers that are missing. To make a thousand workers at once would hold up due
 * tasks for 15 ms. */
static enum staffing make_missing_workers(struct elapse_scheduler *scheduler)
{
    unsigned missing = elapse__work_queue_without_worker(&scheduler->queue);
    if (missing == 0 || elapse__work_queue_workers(&scheduler->queue) == scheduler->options.workers)
        return ENOUGH_WORKERS;
    unsigned some = missing < WORKERS_MADE_AT_ONCE ? missing : WORKERS_MADE_AT_ONCE;
    if (!elapse__workers_make(scheduler, some))
        return REFUSED;
    return some < missing ? MORE_TO_MAKE : ENOUGH_WORKERS;
}

/* ---- cascades ---- */

/* Lets the shards note when their timers can be cascaded ahead, now that there is a thread to do
 * it. */
static void begin_to_cascade(struct elapse_scheduler *scheduler)
{
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        struct elapse__shard *shard = &scheduler->shards[i];
        elapse__shard_lock(shard);
        shard->cascades_ahead = !shard->closed;
        elapse__shard_note_cascade(shard);
        elapse__shard_unlock(shard);
    }
}

/* Cascades some timers ahead in each shard that can do so now. Returns false if no shard can. */
static bool cascade_ahead(struct elapse_scheduler *scheduler, struct elapse__ticks now)
{
    bool any = false;
    if (elapse__earliest_cascade(scheduler) > now.monotonic)
        return false;
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        struct elapse__shard *shard = &scheduler->shards[i];
        if (atomic_load(&shard->cascade_tick) > now.monotonic)
            continue;
        elapse__shard_lock(shard);
        elapse__shard_cascade_ahead(shard, elapse__now_in_shard(scheduler, shard, now));
        elapse__shard_unlock(shard);
        any = true;
    }
    return any;
}

/* ---- the thread ---- */

/* Sleeps until a task may be due, or until timers can be cascaded ahead. If the queue is full,
 * sleeps until a worker kicks the clock thread because there is room again. Sleeps no longer than
 * `timeout_ns`. */
static void sleep_until_needed(struct elapse_scheduler *scheduler, bool queue_full,
                               uint64_t timeout_ns)
{
    elapse__sleeper_prepare(&scheduler->sleeper);
    struct elapse__ticks until = {ELAPSE_NEVER, ELAPSE_NEVER};
    if (!queue_full)
        until = elapse__earliest_wakes(scheduler);
    uint64_t cascade_tick = elapse__earliest_cascade(scheduler);
    until.monotonic = cascade_tick < until.monotonic ? cascade_tick : until.monotonic;
    elapse__sleeper_sleep(&scheduler->sleeper, until, timeout_ns);
}

/* Delivers due tasks to the workers, then cascades ahead for a while, or sleeps. If the system
 * refused a worker, `*retry_ns` is how long to wait before the next attempt; it doubles with each
 * refusal. */
static void deliver_and_sleep(struct elapse_scheduler *scheduler, struct elapse__ticks now,
                              uint64_t *retry_ns)
{
    bool queue_full = !elapse__deliver(scheduler, now);
    enum staffing staffing = make_missing_workers(scheduler);
    if (staffing == MORE_TO_MAKE || cascade_ahead(scheduler, now))
        return;
    if (queue_full)
        atomic_fetch_add(&scheduler->held_back, 1);
    sleep_until_needed(scheduler, queue_full, staffing == REFUSED ? *retry_ns : ELAPSE_NEVER);
    if (staffing != REFUSED)
        *retry_ns = retry_least_ns;
    else if (*retry_ns < retry_most_ns)
        *retry_ns *= 2;
}

/* Runs due tasks on this thread, because there are no workers. Returns how many tasks ran. Close
 * waits for these tasks before it joins the thread, because a join has no time limit. */
static size_t run_due_tasks(struct elapse_scheduler *scheduler, struct elapse__ticks now)
{
    if (!elapse__step_enter(scheduler))
        return 0;
    size_t ran = elapse__run_due(scheduler, now, &scheduler->clock_ending);
    elapse__step_leave(scheduler);
    return ran;
}

static void *clock_main(void *argument)
{
    struct elapse_scheduler *scheduler = argument;
    uint64_t retry_ns = retry_least_ns;
    elapse__os_wake_exactly();
    begin_to_cascade(scheduler);
    while (!atomic_load(&scheduler->clock_ending)) {
        struct elapse__ticks now = elapse__now(scheduler);
        if (scheduler->options.workers > 0)
            deliver_and_sleep(scheduler, now, &retry_ns);
        else if (run_due_tasks(scheduler, now) == 0 && !cascade_ahead(scheduler, now))
            sleep_until_needed(scheduler, false, ELAPSE_NEVER);
    }
    return NULL;
}

bool elapse__clock_thread_start(struct elapse_scheduler *scheduler)
{
    ELAPSE__ASSERT(!scheduler->has_clock_thread);
    scheduler->has_clock_thread = elapse__thread_make(scheduler, &scheduler->clock_thread,
                                                      "elapse-clock", clock_main, scheduler);
    return scheduler->has_clock_thread;
}

void elapse__clock_thread_end(struct elapse_scheduler *scheduler)
{
    if (!scheduler->has_clock_thread)
        return;
    atomic_store(&scheduler->clock_ending, true);
    elapse__sleeper_kick(&scheduler->sleeper);
    elapse__os_thread_join(&scheduler->clock_thread);
    scheduler->has_clock_thread = false;
}
