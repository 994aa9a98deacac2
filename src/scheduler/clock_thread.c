#include "clock_thread.h"

#include "../base/assert.h"
#include "due_search.h"
#include "run.h"
#include "shard_run.h"
#include "workers.h"

/* How many tasks are taken out of a shard before its lock is released. */
enum { TAKEN_AT_ONCE = 64 };

/* Moves up to TAKEN_AT_ONCE due tasks of a shard into the queue. Returns false if the queue is
 * full. */
static bool deliver_some(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                         struct elapse__ticks now)
{
    struct elapse_handle handles[TAKEN_AT_ONCE];
    unsigned count = 0;
    unsigned room = elapse__work_queue_room(&scheduler->queue);
    if (room == 0)
        return false;
    if (room > TAKEN_AT_ONCE)
        room = TAKEN_AT_ONCE;

    struct elapse__task *task;
    elapse__shard_lock(shard);
    while (count < room && elapse__shard_take_due(shard, now, now, &task) == ELAPSE__DUE_TASK)
        handles[count++] = elapse__handle_of(shard, task);
    ELAPSE__ASSERT_THAT(count, <=, room);
    elapse__shard_note_next(shard, now); /* perhaps the last due task was just taken */
    elapse__shard_unlock(shard);
    if (count > 0) {
        unsigned without_worker = elapse__work_queue_put(&scheduler->queue, handles, count);
        elapse__workers_make(scheduler, without_worker);
    }
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
    } while (any);
    return true;
}

/* Sleeps until a task may be due or, if the queue is full, until a worker kicks because there is
 * room again. */
static void sleep_until_needed(struct elapse_scheduler *scheduler, bool queue_full)
{
    elapse__sleeper_prepare(&scheduler->sleeper);
    const struct elapse__ticks never = {ELAPSE_NEVER, ELAPSE_NEVER};
    elapse__sleeper_sleep(&scheduler->sleeper,
                          queue_full ? never : elapse__earliest_wakes(scheduler), ELAPSE_NEVER);
}

static void *clock_main(void *argument)
{
    struct elapse_scheduler *scheduler = argument;
    elapse__os_wake_exactly();
    while (!atomic_load(&scheduler->clock_ending)) {
        struct elapse__ticks now = elapse__now(scheduler);
        bool queue_full = false;
        if (scheduler->options.workers == 0) {
            if (elapse__run_due(scheduler, now, &scheduler->clock_ending) > 0)
                continue;
        } else {
            queue_full = !elapse__deliver(scheduler, now);
        }
        if (queue_full)
            atomic_fetch_add(&scheduler->held_back, 1);
        sleep_until_needed(scheduler, queue_full);
    }
    return NULL;
}

bool elapse__clock_thread_start(struct elapse_scheduler *scheduler)
{
    return elapse__thread_make(scheduler, &scheduler->clock_thread, "elapse-clock", clock_main);
}

void elapse__clock_thread_end(struct elapse_scheduler *scheduler)
{
    atomic_store(&scheduler->clock_ending, true);
    elapse__sleeper_kick(&scheduler->sleeper);
    elapse__os_thread_join(&scheduler->clock_thread);
}
