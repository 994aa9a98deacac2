/*
 * Opens, stops and closes a store, and commits its changes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/cron.h>

#include "../../base/assert.h"
#include "../../base/bits.h"
#include "../../os/memory_files.h"
#include "../../queue/tubes.h"
#include "../journal/log.h"
#include "memory.h"
#include "refusal.h"
#include "threads.h"

enum {
    SEGMENT_BYTES_MIN = 16 << 10,
    SEGMENT_BYTES_MAX = 64 << 20,
    BODY_BYTES_DEFAULT = 65535,
    INTERVAL_DEFAULT_MS = 50,
    INTERVAL_MAX_MS = 60000,
    /* With a log the directory need not be synced often. A loss of power costs at most the groups
     * of this time, and the store reads them again from the log. */
    LOG_INTERVAL_MS = 1000,
};

void elapse_queue_options_init_sized(struct elapse_queue_options *options, size_t options_bytes)
{
    struct elapse_queue_options defaults = {
        .struct_bytes = options_bytes,
        .durability = ELAPSE_DURABILITY_SYNC,
        .interval_ms = INTERVAL_DEFAULT_MS,
        .segment_bytes = SEGMENT_BYTES_MAX,
        .body_bytes_max = BODY_BYTES_DEFAULT,
        .jobs_max = ELAPSE__QUEUE_JOBS_MAX,
        .tubes_max = ELAPSE__QUEUE_TUBES_MAX,
        .groups_max = ELAPSE__QUEUE_TUBES_MAX,
        .tokens_max = ELAPSE__QUEUE_TOKENS_MAX,
    };

    if (options_bytes == sizeof defaults)
        *options = defaults;
    else
        options->struct_bytes = 0;
}

static bool options_are_sound(const struct elapse_queue_options *options)
{
    uint32_t segment = options->segment_bytes;

    return segment >= SEGMENT_BYTES_MIN && segment <= SEGMENT_BYTES_MAX &&
           (segment & (segment - 1)) == 0 &&
           (options->durability == ELAPSE_DURABILITY_SYNC ||
            options->durability == ELAPSE_DURABILITY_INTERVAL ||
            options->durability == ELAPSE_DURABILITY_MEMORY) &&
           (options->durability != ELAPSE_DURABILITY_INTERVAL ||
            (options->interval_ms > 0 && options->interval_ms <= INTERVAL_MAX_MS)) &&
           options->body_bytes_max > 0 && options->body_bytes_max <= ELAPSE_JOB_BODY_BYTES_MAX &&
           options->jobs_max > 0 && options->jobs_max <= ELAPSE__QUEUE_JOBS_MAX &&
           options->tubes_max > 0 && options->tubes_max <= ELAPSE__QUEUE_TUBES_MAX &&
           options->groups_max > 0 && options->groups_max <= ELAPSE__QUEUE_TUBES_MAX &&
           options->tokens_max > 0 && options->tokens_max <= ELAPSE__QUEUE_TOKENS_MAX;
}

/* ---- open ---- */

static bool find_zone(void *context, const char *name, const struct elapse_time_zone **zone)
{
    (void)context;
    return elapse_time_zone_find(name, zone) == ELAPSE_OK;
}

static enum elapse_error make_jobs(struct elapse_queue *store,
                                   const struct elapse_queue_options *options,
                                   const struct elapse__store_wishes *wishes)
{
    struct elapse__queue_options inner = {
        .jobs_max = options->jobs_max,
        .tubes_max = options->tubes_max,
        .groups_max = options->groups_max,
        .tokens_max = options->tokens_max,
        .body_bytes_max = options->body_bytes_max,
        .old_records = wishes->log != NULL && !wishes->new_records,
        .foresees = wishes->foresees,
        .partitions = wishes->partitions,
        .partition = wishes->partition,
        .hash_tags = wishes->hash_tags,
        .present_is_rounded = true,
        .find_zone = find_zone,
        .memory = &elapse__store_memory,
    };

    if (elapse__os->random_bytes(&inner.secret, sizeof inner.secret) != 0 ||
        elapse__os->random_bytes(&inner.seed, sizeof inner.seed) != 0)
        return ELAPSE_ERROR_SYSTEM;
    return elapse__engine_make_jobs(&store->engine, elapse__store_now, &inner)
               ? ELAPSE_OK
               : ELAPSE_ERROR_MEMORY;
}

/* Returns the functions for files that the options ask for. Files in memory get a path of their
 * own, which this function stores in `*directory`. */
static const struct elapse__files *choose_files(struct elapse_queue *store,
                                                const struct elapse_queue_options *options,
                                                const char **directory)
{
    if (options->durability != ELAPSE_DURABILITY_MEMORY)
        return &elapse__files_linux;
    elapse__memory_path(store->memory_path);
    *directory = store->memory_path;
    return &elapse__files_in_memory;
}

static enum elapse_error open_journal(struct elapse_queue *store, const char *directory,
                                      const struct elapse_queue_options *options,
                                      const struct elapse__store_wishes *wishes,
                                      struct elapse_queue_fault *fault)
{
    const struct elapse__files *files = wishes->files;
    struct elapse__journal_refusal refusal;

    if (files == NULL)
        files = choose_files(store, options, &directory);
    struct elapse__journal_options inner = {
        .files = files,
        .path = directory,
        .memory = &elapse__store_memory,
        .reads_ahead = files == &elapse__files_linux,
        .segment_bits = elapse__highest_bit(options->segment_bytes),
        .interval_ms = options->durability == ELAPSE_DURABILITY_INTERVAL ? options->interval_ms : 0,
    };

    if (wishes->log != NULL) {
        inner.log = wishes->log;
        if (inner.interval_ms == 0)
            inner.interval_ms = LOG_INTERVAL_MS;
    }
    if (elapse__os->random_bytes(&inner.identity, sizeof inner.identity) != 0)
        return ELAPSE_ERROR_SYSTEM;
    if (!elapse__engine_open_journal(&store->engine, &inner, &refusal))
        return elapse__store_refusal(&refusal, directory, fault);
    if (wishes->log == NULL && elapse__journal_is_placed(store->engine.journal)) {
        if (fault != NULL)
            (void)snprintf(fault->text, sizeof fault->text,
                           "%s: this is a node's copy of a replicated queue: only a node of its "
                           "cluster can serve it",
                           directory);
        return ELAPSE_ERROR_FORMAT;
    }
    if (wishes->may_begin != NULL &&
        !wishes->may_begin(wishes->context, store->engine.header_wall_ms))
        return ELAPSE_ERROR_CLOSED;
    return ELAPSE_OK;
}

static enum elapse_error open_alarms(struct elapse_queue *store)
{
    static const enum elapse__os_clock clocks[ELAPSE__STORE_ALARMS] = {
        [ELAPSE__STORE_ALARM_BOOT] = ELAPSE__OS_BOOTTIME,
        [ELAPSE__STORE_ALARM_WALL] = ELAPSE__OS_WALL_CLOCK,
        [ELAPSE__STORE_ALARM_END] = ELAPSE__OS_NO_CLOCK,
    };

    ELAPSE__ASSERT(store->news.descriptor == ELAPSE__OS_NO_DESCRIPTOR);
    for (unsigned i = 0; i < ELAPSE__STORE_ALARMS; i++)
        if (elapse__os->alarm_open(&store->alarms[i], clocks[i]) != 0)
            return ELAPSE_ERROR_SYSTEM;
    store->alarm_boot_ms = UINT64_MAX;
    store->alarm_wall_ms = INT64_MAX;
    return elapse__os->alarm_open(&store->news, ELAPSE__OS_NO_CLOCK) == 0 ? ELAPSE_OK
                                                                          : ELAPSE_ERROR_SYSTEM;
}

/* Ends the threads of the journal, of which `made` were made, and the clock thread, if there is
 * one. Waits for all of them. */
static void end_threads(struct elapse_queue *store, unsigned made)
{
    ELAPSE__ASSERT_THAT(made, <=, 2);
    elapse__lock(&store->lock);
    ELAPSE__ASSERT(!store->stopping);
    store->stopping = true;
    elapse__journal_stop(store->engine.journal);
    elapse__store_wake_lane(store, ELAPSE__LANE_COMMIT);
    elapse__store_wake_lane(store, ELAPSE__LANE_BACKGROUND);
    elapse__unlock(&store->lock);
    (void)elapse__os->alarm_set(&store->alarms[ELAPSE__STORE_ALARM_END], 0);
    if (store->has_clock_thread)
        elapse__os_thread_join(&store->clock_thread);
    if (made > 0)
        elapse__os_thread_join(&store->background_thread);
    if (made > 1)
        elapse__os_thread_join(&store->commit_thread);
}

static enum elapse_error start_threads(struct elapse_queue *store, bool needs_clock_thread)
{
    unsigned made = 0;

    store->has_clock_thread =
        needs_clock_thread &&
        elapse__os->thread_start(&store->clock_thread, 0, elapse__store_clock_main, store) == 0;
    if (store->has_clock_thread == needs_clock_thread &&
        elapse__os->thread_start(&store->background_thread, 0, elapse__store_background_main,
                                 store) == 0)
        made = 1;
    if (made == 1 &&
        elapse__os->thread_start(&store->commit_thread, 0, elapse__store_commit_main, store) == 0)
        return ELAPSE_OK;
    /* If some of its threads were not made, the journal never comes to rest. So the threads that
     * run must not wait until it does. */
    elapse__lock(&store->lock);
    store->abandoned = true;
    elapse__unlock(&store->lock);
    end_threads(store, made);
    return ELAPSE_ERROR_SYSTEM;
}

/* How many conditions a store has: `progress`, and one for each lane. */
enum { CONDITIONS = 1 + ELAPSE__JOURNAL_LANES };

static struct elapse__condition *condition_at(struct elapse_queue *store, unsigned i)
{
    ELAPSE__ASSERT_THAT(i, <, CONDITIONS);
    return i == 0 ? &store->progress : &store->lanes[i - 1].condition;
}

static void free_locks(struct elapse_queue *store)
{
    ELAPSE__ASSERT_THAT(store->condition_count, <=, CONDITIONS);
    ELAPSE__ASSERT_THAT(store->progress_waiters, ==, 0);
    while (store->condition_count > 0)
        elapse__condition_free(condition_at(store, --store->condition_count));
    if (store->has_lock)
        elapse__lock_free(&store->lock);
}

static enum elapse_error make_locks(struct elapse_queue *store)
{
    ELAPSE__ASSERT(!store->has_lock && store->condition_count == 0);
    elapse__ring_init(&store->sleepers);
    if (elapse__os->lock_init(&store->lock) != 0)
        return ELAPSE_ERROR_SYSTEM;
    store->has_lock = true;
    for (; store->condition_count < CONDITIONS; store->condition_count++)
        if (elapse__os->condition_init(condition_at(store, store->condition_count)) != 0)
            return ELAPSE_ERROR_SYSTEM;
    return ELAPSE_OK;
}

/* Frees everything that a store has. Requires that its threads have ended. */
static void release(struct elapse_queue *store)
{
    ELAPSE__ASSERT_THAT(atomic_load(&store->calls), ==, 0);
    ELAPSE__ASSERT(!store->has_lock || elapse__ring_empty(&store->sleepers));
    ELAPSE__ASSERT_THAT(store->woken, ==, 0);
    ELAPSE__ASSERT_THAT(store->room_waiters, ==, 0);
    for (unsigned i = 0; i < ELAPSE__STORE_ALARMS; i++)
        if (store->alarms[i].descriptor != ELAPSE__OS_NO_DESCRIPTOR)
            elapse__os->alarm_close(&store->alarms[i]);
    if (store->news.descriptor != ELAPSE__OS_NO_DESCRIPTOR)
        elapse__os->alarm_close(&store->news);
    elapse__engine_free(&store->engine);
    if (store->memory_path[0] != '\0')
        elapse__memory_forget(store->memory_path);
    free_locks(store);
    free(store);
}

static enum elapse_error open_store(struct elapse_queue *store, const char *directory,
                                    const struct elapse_queue_options *options,
                                    const struct elapse__store_wishes *wishes,
                                    struct elapse_queue_fault *fault)
{
    enum elapse_error error = make_locks(store);

    if (error == ELAPSE_OK)
        error = open_alarms(store);
    if (error == ELAPSE_OK)
        error = make_jobs(store, options, wishes);
    if (error == ELAPSE_OK)
        error = open_journal(store, directory, options, wishes, fault);
    store->follows = wishes->log != NULL;
    if (error == ELAPSE_OK && !store->follows)
        error = elapse__engine_begin_life(&store->engine);
    if (error == ELAPSE_OK)
        error = start_threads(store, !wishes->turns_itself);
    return error;
}

enum elapse_error elapse__store_open(const char *directory,
                                     const struct elapse_queue_options *options,
                                     const struct elapse__store_wishes *wishes,
                                     struct elapse_queue **queue, struct elapse_queue_fault *fault)
{
    struct elapse_queue_options defaults;

    *queue = NULL;
    if (fault != NULL)
        fault->text[0] = '\0';
    elapse_queue_options_init(&defaults);
    options = options == NULL ? &defaults : options;
    if (options->struct_bytes != sizeof *options)
        return ELAPSE_ERROR_ABI;
    if (!options_are_sound(options))
        return ELAPSE_ERROR_ARGUMENT;
    if (directory == NULL && options->durability != ELAPSE_DURABILITY_MEMORY) {
        if (fault != NULL)
            snprintf(fault->text, sizeof fault->text, "%s",
                     "without a directory a queue needs ELAPSE_DURABILITY_MEMORY");
        return ELAPSE_ERROR_ARGUMENT;
    }
    struct elapse_queue *store = calloc(1, sizeof *store);
    if (store == NULL)
        return ELAPSE_ERROR_MEMORY;
    for (unsigned i = 0; i < ELAPSE__STORE_ALARMS; i++)
        store->alarms[i].descriptor = ELAPSE__OS_NO_DESCRIPTOR;
    store->news.descriptor = ELAPSE__OS_NO_DESCRIPTOR;
    enum elapse_error error = open_store(store, directory, options, wishes, fault);
    if (error != ELAPSE_OK) {
        if (fault != NULL && fault->text[0] == '\0')
            snprintf(fault->text, sizeof fault->text, "%s: %s",
                     directory == NULL ? "a queue in memory" : directory, elapse_error_text(error));
        release(store);
        return error;
    }
    *queue = store;
    return ELAPSE_OK;
}

enum elapse_error elapse_queue_open(const char *directory,
                                    const struct elapse_queue_options *options,
                                    struct elapse_queue **queue, struct elapse_queue_fault *fault)
{
    const struct elapse__store_wishes none = {.files = NULL};

    return elapse__store_open(directory, options, &none, queue, fault);
}

/* ---- stop, close and commit ---- */

void elapse_queue_stop(struct elapse_queue *queue)
{
    elapse__store_arrive(queue);
    queue->stopped = true;
    elapse__store_wake_all(queue);
    elapse__store_depart(queue);
}

enum elapse_error elapse_queue_close(struct elapse_queue *queue)
{
    if (queue == NULL)
        return ELAPSE_OK;
    elapse__lock(&queue->lock);
    ELAPSE__ASSERT(!queue->closing);
    queue->closing = true;
    elapse__store_wake_all(queue);
    while (atomic_load(&queue->calls) > 0)
        (void)elapse__store_wait_progress(queue, ELAPSE__OS_NEVER);
    if (!queue->follows && !queue->fenced && !elapse__store_is_broken(queue))
        elapse__queue_stop(queue->engine.jobs, elapse__store_now());
    elapse__unlock(&queue->lock);
    end_threads(queue, 2);
    enum elapse_error error = elapse__store_is_broken(queue) ? ELAPSE_ERROR_BROKEN : ELAPSE_OK;
    release(queue);
    return error;
}

enum elapse_error elapse_queue_commit(struct elapse_queue *queue, uint64_t position,
                                      uint64_t timeout_ms)
{
    uint64_t until_ns = elapse__store_until_ns(timeout_ms);

    elapse__store_arrive(queue);
    enum elapse_error error = elapse__store_wait_durable(queue, position, until_ns);
    elapse__store_depart(queue);
    return error;
}

uint64_t elapse_queue_durable(struct elapse_queue *queue)
{
    elapse__store_arrive(queue);
    uint64_t durable = elapse__journal_durable(queue->engine.journal);
    elapse__store_depart(queue);
    return durable;
}

int elapse_queue_descriptor(struct elapse_queue *queue)
{
    elapse__store_arrive(queue);
    queue->watched = true;
    int descriptor = queue->news.descriptor;
    ELAPSE__ASSERT(descriptor != ELAPSE__OS_NO_DESCRIPTOR);
    elapse__store_depart(queue);
    return descriptor;
}

void elapse_queue_quiet(struct elapse_queue *queue)
{
    elapse__os->alarm_reset(&queue->news);
}
