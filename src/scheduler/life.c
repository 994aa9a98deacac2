/*
 * Makes, starts and frees a scheduler. close.c closes it.
 */
#include <string.h>

#include "../base/assert.h"
#include "callback.h"
#include "clock_thread.h"
#include "now.h"
#include "pull.h"
#include "scheduler.h"
#include "ticks.h"
#include "workers.h"

enum {
    WORKERS_DEFAULT = 10,
    WORKERS_MIN_DEFAULT = 1,
    WORKERS_MAX = 4096,
    QUEUE_DEFAULT = 1024,
    QUEUE_MAX = 1 << 20,
    SHARDS_DEFAULT_MAX = 16,
    SHARDS_MAX = 256,
};
static const uint64_t tick_default_ns = ELAPSE_MILLISECOND_NS;
static const uint64_t tick_max_ns = 3600 * ELAPSE_SECOND_NS;

/* ---- options ---- */

void elapse_scheduler_options_init_sized(struct elapse_scheduler_options *options,
                                         size_t options_bytes)
{
    memset(options, 0, options_bytes);
    options->struct_bytes = options_bytes;
    if (options_bytes != sizeof *options)
        return; /* elapse_scheduler_new will return an error */
    options->tick_ns = tick_default_ns;
    options->workers = WORKERS_DEFAULT;
    options->workers_min = WORKERS_MIN_DEFAULT;
    options->queue_tasks = QUEUE_DEFAULT;
}

static unsigned default_shards(enum elapse_clock clock)
{
    if (clock == ELAPSE_CLOCK_MANUAL)
        return 1;
    unsigned processors = elapse__os->processor_count();
    return processors < SHARDS_DEFAULT_MAX ? processors : SHARDS_DEFAULT_MAX;
}

/* Checks the options, and replaces defaults by values. */
static enum elapse_error complete(struct elapse_scheduler_options *options)
{
    struct elapse_allocator *allocator = &options->allocator;
    if (options->clock != ELAPSE_CLOCK_MONOTONIC && options->clock != ELAPSE_CLOCK_BOOTTIME &&
        options->clock != ELAPSE_CLOCK_MANUAL)
        return ELAPSE_ERROR_ARGUMENT;
    if (options->tick_ns < 1 || options->tick_ns > tick_max_ns || options->workers > WORKERS_MAX ||
        options->workers_min < 1 || options->workers_min > WORKERS_MAX ||
        options->queue_tasks < 1 || options->queue_tasks > QUEUE_MAX ||
        options->shards > SHARDS_MAX)
        return ELAPSE_ERROR_ARGUMENT;
    if (options->lease_ns > 0 && !options->pull)
        return ELAPSE_ERROR_ARGUMENT;
    if (options->stack_bytes != 0 && !elapse__os_stack_is_usable(options->stack_bytes))
        return ELAPSE_ERROR_ARGUMENT;
    if ((allocator->allocate == NULL) != (allocator->release == NULL))
        return ELAPSE_ERROR_ARGUMENT;
    if (allocator->allocate == NULL)
        *allocator = elapse__default_allocator();
    if (options->shards == 0)
        options->shards = default_shards(options->clock);
    if (options->clock == ELAPSE_CLOCK_MANUAL || options->pull)
        options->workers = 0;
    return ELAPSE_OK;
}

/* ---- new and free ---- */

/* Releases the array of shards, in which the first `made` shards were made. */
static void release_shards(struct elapse_scheduler *scheduler, unsigned made)
{
    const struct elapse_allocator *memory = &scheduler->options.allocator;
    ELAPSE__ASSERT_THAT(made, <=, scheduler->options.shards);
    for (unsigned i = 0; i < made; i++)
        elapse__shard_free(&scheduler->shards[i], memory);
    elapse__release(memory, scheduler->shards,
                    scheduler->options.shards * sizeof *scheduler->shards);
}

static enum elapse_error make_shards(struct elapse_scheduler *scheduler)
{
    const struct elapse_scheduler_options *options = &scheduler->options;
    uint64_t tick = elapse__now(scheduler).monotonic;
    ELAPSE__ASSERT_THAT(options->shards, >=, 1);
    ELAPSE__ASSERT_THAT(options->shards, <=, SHARDS_MAX);
    scheduler->shards = elapse__allocate(&options->allocator, _Alignof(struct elapse__shard),
                                         options->shards * sizeof *scheduler->shards);
    if (scheduler->shards == NULL)
        return ELAPSE_ERROR_MEMORY;
    for (unsigned i = 0; i < options->shards; i++) {
        struct elapse__shard *shard = &scheduler->shards[i];
        if (!elapse__shard_init(shard, i, tick, options->tick_ns)) {
            release_shards(scheduler, i);
            return ELAPSE_ERROR_SYSTEM;
        }
        shard->pending_max = options->pending_max;
        shard->pending_of_all = &scheduler->pending;
    }
    return ELAPSE_OK;
}

static bool make_step_lock(struct elapse_scheduler *scheduler)
{
    if (elapse__os->lock_init(&scheduler->step_lock) != 0)
        return false;
    if (elapse__os->condition_init(&scheduler->step_over) == 0)
        return true;
    elapse__lock_free(&scheduler->step_lock);
    return false;
}

static void free_step_lock(struct elapse_scheduler *scheduler)
{
    elapse__condition_free(&scheduler->step_over);
    elapse__lock_free(&scheduler->step_lock);
}

/* Makes the queue, the locks and the sleeper. If a part cannot be made, releases the parts that
 * were made before. */
static enum elapse_error make_parts(struct elapse_scheduler *scheduler)
{
    const struct elapse_scheduler_options *options = &scheduler->options;
    const struct elapse_allocator *memory = &options->allocator;
    enum elapse_error error =
        elapse__work_queue_init(&scheduler->queue, options->queue_tasks, memory);
    if (error != ELAPSE_OK)
        return error;
    if (options->worker_idle_ns > 0)
        elapse__work_queue_let_leave(&scheduler->queue, options->worker_idle_ns,
                                     options->workers_min);
    if (make_step_lock(scheduler)) {
        if (elapse__pull_init(scheduler)) {
            if (elapse__sleeper_init(&scheduler->sleeper, options->tick_ns))
                return ELAPSE_OK;
            elapse__pull_free(scheduler);
        }
        free_step_lock(scheduler);
    }
    elapse__work_queue_free(&scheduler->queue, memory);
    return ELAPSE_ERROR_SYSTEM;
}

/* Makes all parts of the scheduler. If a part cannot be made, releases the parts that were made
 * before. */
static enum elapse_error make_everything(struct elapse_scheduler *scheduler)
{
    const struct elapse_scheduler_options *options = &scheduler->options;
    const struct elapse_allocator *memory = &options->allocator;
    size_t workers_bytes = options->workers * sizeof *scheduler->workers;
    if (workers_bytes > 0) {
        scheduler->workers =
            elapse__allocate(memory, _Alignof(struct elapse__worker_thread), workers_bytes);
        if (scheduler->workers == NULL)
            return ELAPSE_ERROR_MEMORY;
        for (unsigned i = 0; i < options->workers; i++) {
            atomic_init(&scheduler->workers[i].is_used, false);
            scheduler->workers[i].scheduler = scheduler;
        }
    }
    enum elapse_error error = make_shards(scheduler);
    if (error == ELAPSE_OK) {
        error = make_parts(scheduler);
        if (error == ELAPSE_OK)
            return ELAPSE_OK;
        release_shards(scheduler, options->shards);
    }
    elapse__release(memory, scheduler->workers, workers_bytes);
    return error;
}

enum elapse_error elapse_scheduler_new(const struct elapse_scheduler_options *given,
                                       struct elapse_scheduler **made)
{
    struct elapse_scheduler_options options;
    *made = NULL;
    if (given != NULL && given->struct_bytes != sizeof options)
        return ELAPSE_ERROR_ABI;
    if (given != NULL)
        options = *given;
    else
        elapse_scheduler_options_init(&options);
    enum elapse_error error = complete(&options);
    if (error != ELAPSE_OK)
        return error;

    struct elapse_scheduler *scheduler =
        elapse__allocate(&options.allocator, ELAPSE__LINE_BYTES, sizeof *scheduler);
    if (scheduler == NULL)
        return ELAPSE_ERROR_MEMORY;
    *scheduler = (struct elapse_scheduler){.options = options};
    scheduler->hash_secret = elapse__key_secret_make();
    error = make_everything(scheduler);
    if (error != ELAPSE_OK) {
        elapse__release(&options.allocator, scheduler, sizeof *scheduler);
        return error;
    }
    *made = scheduler;
    return ELAPSE_OK;
}

enum elapse_error elapse_scheduler_free(struct elapse_scheduler *scheduler)
{
    if (scheduler == NULL)
        return ELAPSE_OK;
    if (elapse__in_callback(scheduler))
        return ELAPSE_ERROR_IN_ACTION;
    enum elapse_error error = elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL);
    if (error != ELAPSE_OK && error != ELAPSE_ERROR_CLOSED)
        return error;
    /* The allocator is copied, because it lies in the scheduler, which it releases. */
    const struct elapse_allocator memory = scheduler->options.allocator;
    elapse__pull_free(scheduler);
    elapse__sleeper_free(&scheduler->sleeper);
    free_step_lock(scheduler);
    elapse__work_queue_free(&scheduler->queue, &memory);
    release_shards(scheduler, scheduler->options.shards);
    elapse__release(&memory, scheduler->workers,
                    scheduler->options.workers * sizeof *scheduler->workers);
    elapse__release(&memory, scheduler, sizeof *scheduler);
    return ELAPSE_OK;
}

/* ---- start ---- */

/* Opens the sleeper and starts the threads. After a failure, no thread runs, and the sleeper is
 * closed. */
static bool make_threads(struct elapse_scheduler *scheduler)
{
    ELAPSE__ASSERT_THAT(atomic_load(&scheduler->life), ==, ELAPSE__LIFE_STARTING);
    if (!elapse__sleeper_open(&scheduler->sleeper, elapse__system_clock(scheduler)))
        return false;
    if (scheduler->options.pull && elapse__pull_start(scheduler))
        return true;
    if (!scheduler->options.pull &&
        elapse__workers_make(scheduler, scheduler->options.workers > 0) &&
        elapse__clock_thread_start(scheduler))
        return true;
    elapse__workers_end(scheduler);
    elapse__sleeper_close(&scheduler->sleeper);
    return false;
}

enum elapse_error elapse_scheduler_start(struct elapse_scheduler *scheduler)
{
    if (!elapse__change_life(scheduler, ELAPSE__LIFE_NEW, ELAPSE__LIFE_STARTING)) {
        int life = atomic_load(&scheduler->life);
        if (life == (int)ELAPSE__LIFE_STARTED)
            return ELAPSE_OK;
        return life == (int)ELAPSE__LIFE_STARTING ? ELAPSE_ERROR_BUSY : ELAPSE_ERROR_CLOSED;
    }
    bool manual = scheduler->options.clock == ELAPSE_CLOCK_MANUAL;
    bool started = manual || make_threads(scheduler);
    atomic_store(&scheduler->life, (int)(started ? ELAPSE__LIFE_STARTED : ELAPSE__LIFE_NEW));
    return started ? ELAPSE_OK : ELAPSE_ERROR_SYSTEM;
}
