/*
 * Lists the tasks of a scheduler, some at a time.
 *
 * A task keeps its place in the table of its shard as long as it exists, whatever else is scheduled
 * or ends. Trim gives back only blocks without tasks. So a list goes through the places, and its
 * cursor is the number of the next place.
 */
#include <elapse/list.h>

#include <string.h>

#include "../base/assert.h"
#include "scheduler.h"
#include "shard_run.h"

/* How many places are examined, and how many tasks are described, before the lock is released. */
enum { PLACES_AT_ONCE = 256, LISTED_AT_ONCE = 64 };

/* Which tasks a list describes. */
struct filter {
    bool with_key; /* the list describes only tasks with a key that begins with the prefix */
    const void *prefix;
    size_t prefix_bytes;
};

static bool passes_filter(const struct filter *filter, const struct elapse__task *task)
{
    if (!filter->with_key)
        return true;
    const struct elapse__key *key = elapse__key_of(task);
    return key != NULL && key->bytes >= filter->prefix_bytes &&
           (filter->prefix_bytes == 0 ||
            memcmp(key->data, filter->prefix, filter->prefix_bytes) == 0);
}

static void describe(const struct elapse__shard *shard, const struct elapse__task *task,
                     struct elapse_listed *listed)
{
    const struct elapse__key *key = elapse__key_of(task);
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    bool running = elapse__is_running(task);
    ELAPSE__ASSERT_LOCK_HELD(&shard->lock);
    *listed = (struct elapse_listed){
        .handle = elapse__handle_of(shard, task),
        .state = running ? ELAPSE_TASK_RUNNING : ELAPSE_TASK_PENDING,
        .runs_again = task->runs_again != 0,
        .wall_clock = elapse__by_wall_clock(task),
        .deadline_ns = elapse__shard_deadline_ns(shard, task),
        .action = task->action,
        .context = task->context,
    };
    if (recurrence != NULL) {
        listed->recurrence = recurrence->kind;
        listed->period_ns = recurrence->period_ns;
    }
    if (key == NULL)
        return;
    listed->key_bytes = key->bytes;
    memcpy(listed->key, key->data,
           key->bytes < sizeof listed->key ? key->bytes : sizeof listed->key);
}

/* Moves `*index` to the next place that may hold a task. Returns false if there is none. */
static bool skip_empty_blocks(const struct elapse__task_table *table, uint32_t *index)
{
    uint32_t number = *index >> ELAPSE__BLOCK_BITS;
    while (number < table->block_count) {
        const struct elapse__task_block *block = elapse__task_block(table, number);
        if (elapse__block_tasks(block) != NULL && block->used > 0 &&
            *index % ELAPSE__BLOCK_TASKS < block->fresh)
            return true;
        number++;
        *index = number << ELAPSE__BLOCK_BITS;
    }
    return false;
}

/* Lists some tasks of a shard, from the place `*index` on. Returns how many tasks it has listed.
 * Stores in `*more` whether there are further places. */
static size_t list_some(struct elapse__shard *shard, const struct filter *filter, uint32_t *index,
                        struct elapse_listed *listed, size_t capacity, bool *more)
{
    size_t count = 0;
    if (capacity > LISTED_AT_ONCE)
        capacity = LISTED_AT_ONCE;
    elapse__shard_lock(shard);
    *more = skip_empty_blocks(&shard->tasks, index);
    for (int i = 0; *more && i < PLACES_AT_ONCE && count < capacity; i++) {
        const struct elapse__task *task = elapse__task_table_at(&shard->tasks, *index);
        ELAPSE__ASSERT(task != NULL);
        if (task->state > ELAPSE__TASK_UNLINKING && passes_filter(filter, task))
            describe(shard, task, &listed[count++]);
        ++*index;
        *more = skip_empty_blocks(&shard->tasks, index);
    }
    elapse__shard_unlock(shard);
    ELAPSE__ASSERT_THAT(count, <=, capacity);
    return count;
}

static size_t list(struct elapse_scheduler *scheduler, const struct filter *filter,
                   struct elapse_list_cursor *cursor, struct elapse_listed *listed, size_t capacity)
{
    size_t count = 0;
    while (cursor->shard < scheduler->options.shards && count < capacity) {
        bool more;
        count += list_some(&scheduler->shards[cursor->shard], filter, &cursor->index,
                           &listed[count], capacity - count, &more);
        if (!more)
            *cursor = (struct elapse_list_cursor){cursor->shard + 1, 0};
    }
    return count;
}

size_t elapse_task_list(struct elapse_scheduler *scheduler, struct elapse_list_cursor *cursor,
                        struct elapse_listed *listed, size_t capacity)
{
    const struct filter all = {0};
    return list(scheduler, &all, cursor, listed, capacity);
}

size_t elapse_task_list_keys(struct elapse_scheduler *scheduler, const void *prefix,
                             size_t prefix_bytes, struct elapse_list_cursor *cursor,
                             struct elapse_listed *listed, size_t capacity)
{
    const struct filter by_prefix = {true, prefix, prefix_bytes};
    return list(scheduler, &by_prefix, cursor, listed, capacity);
}

size_t elapse_task_key(struct elapse_scheduler *scheduler, struct elapse_handle handle, void *key,
                       size_t capacity)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    size_t bytes = 0;
    if (shard == NULL)
        return 0;
    elapse__shard_lock(shard);
    const struct elapse__task *task = elapse__shard_find(shard, handle);
    const struct elapse__key *found = task == NULL ? NULL : elapse__key_of(task);
    if (found != NULL) {
        bytes = found->bytes;
        if (capacity > 0)
            memcpy(key, found->data, bytes < capacity ? bytes : capacity);
    }
    elapse__shard_unlock(shard);
    return bytes;
}
