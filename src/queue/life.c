#include "tables.h"

#include <stdlib.h>
#include <string.h>

static uint32_t limit_or(uint32_t limit, uint32_t most)
{
    return limit == 0 ? most : limit;
}

static bool options_in_range(const struct elapse__queue_options *options)
{
    return options->sink != NULL && options->jobs_max <= ELAPSE__QUEUE_JOBS_MAX &&
           options->tubes_max <= ELAPSE__QUEUE_TUBES_MAX &&
           options->groups_max <= ELAPSE__QUEUE_TUBES_MAX &&
           options->tokens_max <= ELAPSE__QUEUE_TOKENS_MAX &&
           options->body_bytes_max <= ELAPSE__QUEUE_BODY_BYTES_MAX &&
           options->partition < (options->partitions == 0 ? 1 : options->partitions);
}

struct elapse__queue *elapse__queue_new(const struct elapse__queue_options *options)
{
    struct elapse_allocator memory =
        options->memory != NULL ? *options->memory : elapse__default_allocator();
    if (!options_in_range(options))
        return NULL;
    struct elapse__queue *queue =
        elapse__allocate_locked(&memory, ELAPSE__LINE_BYTES, sizeof *queue);
    if (queue == NULL)
        return NULL;
    /* The functions below set `clocks` and what follows it. */
    memset(queue, 0, offsetof(struct elapse__queue, clocks));
    queue->memory = memory;
    queue->sink = options->sink;
    queue->options = *options;
    queue->options.memory = NULL; /* it was copied, and may be gone */
    queue->options.partitions = limit_or(options->partitions, 1);
    queue->options.jobs_max = limit_or(options->jobs_max, ELAPSE__QUEUE_JOBS_MAX);
    queue->options.tubes_max = limit_or(options->tubes_max, ELAPSE__QUEUE_TUBES_MAX);
    queue->options.groups_max = limit_or(options->groups_max, ELAPSE__QUEUE_TUBES_MAX);
    queue->options.tokens_max = limit_or(options->tokens_max, ELAPSE__QUEUE_TOKENS_MAX);
    queue->options.body_bytes_max = limit_or(options->body_bytes_max, ELAPSE__QUEUE_BODY_BYTES_MAX);
    queue->secret = options->secret;
    queue->random = options->seed;
    /* The hash of ids takes 64 secret bits. */
    elapse__queue_jobs_init(&queue->jobs, options->secret.low ^ options->secret.high,
                            queue->options.partitions);
    elapse__queue_keys_init(queue);
    elapse__queue_sides_init(queue);
    elapse__queue_names_init(queue);
    elapse__queue_tubes_init(queue);
    elapse__queue_groups_init(queue);
    elapse__queue_group_rates_init(queue);
    elapse__queue_pass_init(queue);
    elapse__ring_init(&queue->watch_news);
    elapse__queue_tokens_init(queue);
    elapse__queue_errors_init(queue);
    /* The counters take 18 MB of zeros. calloc gets so much memory from the system, without writing
     * to it: only pages that are used take memory. An elapse_allocator cannot do that. */
    if (options->foresees)
        queue->counters = calloc(2, sizeof *queue->counters);
    if (elapse__queue_clocks_init(&queue->clocks, 0, 0) &&
        (!options->foresees || queue->counters != NULL))
        return queue;
    elapse__queue_free(queue);
    return NULL;
}

/* Releases the recurrences of all jobs. They are not part of any table. */
static void free_recurrences(struct elapse__queue *queue)
{
    const struct elapse__queue_entry *entry = NULL;
    uint32_t number = 0;
    while ((entry = elapse__queue_next_entry(&queue->jobs, &number)) != NULL) {
        struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
        if (side != NULL)
            elapse__queue_recurrence_end(queue, side->recurrence);
    }
}

void elapse__queue_free(struct elapse__queue *queue)
{
    if (queue == NULL)
        return;
    struct elapse_allocator memory = queue->memory;
    free_recurrences(queue);
    elapse__queue_tubes_free(queue);
    elapse__queue_jobs_free(&queue->jobs, &memory);
    elapse__queue_index_free(&queue->key_index, &memory);
    elapse__queue_slab_free(&queue->keys, &memory);
    elapse__queue_slab_free(&queue->sides, &memory);
    elapse__queue_index_free(&queue->profile_index, &memory);
    elapse__queue_slab_free(&queue->profiles, &memory);
    elapse__queue_slab_free(&queue->names, &memory);
    elapse__queue_index_free(&queue->name_index, &memory);
    elapse__queue_index_free(&queue->token_index, &memory);
    elapse__queue_slab_free(&queue->tokens, &memory);
    elapse__queue_index_free(&queue->error_index, &memory);
    elapse__queue_slab_free(&queue->errors, &memory);
    free(queue->counters);
    elapse__release_locked(&memory, queue, sizeof *queue);
}

uint64_t elapse__queue_random(struct elapse__queue *queue)
{
    /* splitmix64, by Sebastiano Vigna. */
    uint64_t mixed = queue->random += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ mixed >> 31;
}

void elapse__queue_used_id(struct elapse__queue *queue, uint64_t id)
{
    if (id > queue->last_id && id <= ELAPSE__QUEUE_ID_MAX)
        queue->last_id = id;
}

uint64_t elapse__queue_last_id(const struct elapse__queue *queue)
{
    return queue->last_id;
}

uint64_t elapse__queue_jobs(const struct elapse__queue *queue)
{
    ELAPSE__ASSERT_THAT(queue->totals.shadows, <=, queue->jobs.count);
    return queue->jobs.count - queue->totals.shadows;
}

uint64_t elapse__queue_tube_count(const struct elapse__queue *queue)
{
    return queue->tube_index.count;
}

uint64_t elapse__queue_tokens(const struct elapse__queue *queue)
{
    return queue->tokens.count;
}
