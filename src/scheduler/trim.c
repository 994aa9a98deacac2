/*
 * Gives memory back after a burst of tasks: blocks without tasks, and segments of the key index.
 */
#include "../base/assert.h"
#include "scheduler.h"
#include "shard_steps.h"

/* How many buckets of the key index are joined before the lock is released. */
enum { JOINED_AT_ONCE = 256 };

static size_t trim_tasks(struct elapse_scheduler *scheduler, struct elapse__shard *shard)
{
    size_t bytes = 0;
    bool more = true;
    for (uint32_t block = 0; more; block++) {
        elapse__shard_lock(shard);
        elapse__shard_unlink_all(shard);
        struct elapse__task *tasks = elapse__task_table_shrink(&shard->tasks, block);
        ELAPSE__ASSERT(tasks == NULL || block < shard->tasks.block_count);
        more = block < shard->tasks.block_count;
        elapse__shard_unlock(shard);
        elapse__release(&scheduler->options.allocator, tasks, ELAPSE__BLOCK_BYTES);
        bytes += tasks == NULL ? 0 : (size_t)ELAPSE__BLOCK_BYTES;
    }
    return bytes;
}

static size_t trim_keys(struct elapse_scheduler *scheduler, struct elapse__shard *shard)
{
    size_t bytes = 0;
    struct elapse__key_bucket *segment;
    bool joined;
    do {
        size_t buckets = 0;
        elapse__shard_lock(shard);
        joined = elapse__key_index_join(&shard->keys, JOINED_AT_ONCE);
        segment = elapse__key_index_take_segment(&shard->keys, &buckets);
        elapse__shard_unlock(shard);
        elapse__release(&scheduler->options.allocator, segment, buckets * sizeof *segment);
        bytes += buckets * sizeof *segment;
    } while (!joined || segment != NULL);
    return bytes;
}

size_t elapse_scheduler_trim(struct elapse_scheduler *scheduler)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        bytes += trim_tasks(scheduler, &scheduler->shards[i]);
        bytes += trim_keys(scheduler, &scheduler->shards[i]);
    }
    return bytes;
}
