/*
 * Giving memory back: blocks of tasks that are empty after a burst.
 */
#include "../base/assert.h"
#include "scheduler.h"
#include "shard_steps.h"

size_t elapse_scheduler_trim(struct elapse_scheduler *scheduler)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        struct elapse__shard *shard = &scheduler->shards[i];
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
    }
    return bytes;
}
