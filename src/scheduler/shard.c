#include "shard.h"

#include "../base/assert.h"

bool elapse__shard_init(struct elapse__shard *shard, uint32_t number, uint64_t now_tick,
                        uint64_t tick_ns)
{
    ELAPSE__ASSERT_THAT(tick_ns, >, 0);
    *shard = (struct elapse__shard){
        .number = number,
        .tick_ns = tick_ns,
        .due_by_monotonic = {ELAPSE__NO_TASK, ELAPSE__NO_TASK},
        .due_by_wall_clock = {ELAPSE__NO_TASK, ELAPSE__NO_TASK},
    };
    elapse__task_table_init(&shard->tasks);
    elapse__key_index_init(&shard->keys);
    atomic_init(&shard->wake_tick, ELAPSE_NEVER);
    atomic_init(&shard->cascade_tick, ELAPSE_NEVER);
    atomic_init(&shard->wall_clock.wake_tick, ELAPSE_NEVER);
    if (elapse_wheel_init(&shard->wheel, now_tick) != ELAPSE_OK)
        return false;

    if (elapse__os->condition_init(&shard->ended) != 0)
        return false;
    if (elapse__os->lock_init(&shard->lock) == 0)
        return true;
    elapse__condition_free(&shard->ended);
    return false;
}

void elapse__shard_free(struct elapse__shard *shard, const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(shard->running, ==, 0);
    ELAPSE__ASSERT_THAT(shard->pending, ==, 0);
    elapse__task_table_free(&shard->tasks, memory);
    elapse__key_index_free(&shard->keys, memory);
    elapse__release(memory, shard->wall_clock.wheel, sizeof *shard->wall_clock.wheel);
    elapse__condition_free(&shard->ended);
    elapse__lock_free(&shard->lock);
}

bool elapse__shard_wait_for_an_end(struct elapse__shard *shard, uint64_t until_ns)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    elapse__shard_check_at_release(shard);
    return elapse__condition_wait_at_most(&shard->ended, &shard->lock, until_ns);
}

bool elapse__shard_wait_until_empty(struct elapse__shard *shard, uint64_t until_ns)
{
    bool in_time = true;
    elapse__shard_lock(shard);
    ELAPSE__ASSERT(shard->closed);
    while (shard->pending + shard->running > 0 && in_time)
        in_time = elapse__shard_wait_for_an_end(shard, until_ns);
    bool empty = shard->pending + shard->running == 0;
    elapse__shard_unlock(shard);
    return empty;
}

struct elapse__task *elapse__shard_find(struct elapse__shard *shard, struct elapse_handle handle)
{
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    ELAPSE__ASSERT_THAT(handle.shard, ==, shard->number);
    return elapse__task_table_find(&shard->tasks, handle.index, handle.generation);
}
