/*
 * Gives memory back after a burst of tasks. There are two kinds of such memory: blocks of the task
 * table in which no task is left, and segments of the key index in which no bucket is in use.
 *
 * The key index of a shard is a hash table. A segment is an array of its buckets, allocated as one
 * piece. While the keys were many, buckets were split. Now that the keys are few, the buckets are
 * joined again: the keys of the last bucket move to the bucket from which it was split. So the last
 * segments go out of use. key_index.h explains the index.
 */
#include "../base/assert.h"
#include "scheduler.h"
#include "shard_steps.h"

/* At most so many buckets of a key index are joined while the lock of the shard is held once. So
 * other threads do not wait long for the lock. */
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
