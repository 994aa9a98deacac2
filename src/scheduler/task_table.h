/*
 * The tasks of a shard. A handle names a task by index and generation.
 *
 *      index     |  block number  |  10 bits: place in the block  |
 *
 *      blocks    [0]  [1]  [2] ...           records, kept until the end
 *                 |         |
 *                 v         v
 *             1024 tasks  1024 tasks         64 KiB each, given back when empty
 *
 * A generation is never used twice with one index. When a block is given back, its record keeps the
 * first generation that its successor may use. An index that has used all 2^32 - 1 generations is
 * not used again.
 *
 * The lock of the shard guards the table. Functions on the table do not allocate: a block and
 * records are made without the lock (see elapse__task_room) and then taken in.
 */
#ifndef ELAPSE__TASK_TABLE_H
#define ELAPSE__TASK_TABLE_H

#include <stdatomic.h>

#include "../base/allocator.h"
#include "../base/assert.h"
#include "task.h"

enum {
    ELAPSE__BLOCK_BITS = 10,
    ELAPSE__BLOCK_TASKS = 1 << ELAPSE__BLOCK_BITS,
    ELAPSE__BLOCK_BYTES = ELAPSE__BLOCK_TASKS * (int)sizeof(struct elapse__task),
    ELAPSE__BLOCKS_MAX = 1 << (ELAPSE__TASK_INDEX_BITS - ELAPSE__BLOCK_BITS),
    ELAPSE__NO_BLOCK = ELAPSE__BLOCKS_MAX, /* ends a list of blocks */
};

struct elapse__task_block {
    _Atomic(struct elapse__task *) tasks; /* NULL: given back */
    struct elapse__task *free;            /* list of tasks that were used and are FREE */
    uint32_t used;       /* places whose task is in use, or has no generation left */
    uint32_t fresh;      /* places from this one on were never used */
    uint32_t generation; /* tasks at places that were never used begin with this generation */
    uint32_t next;     /* the next block in the list of blocks with room, or of blocks given back */
    uint32_t previous; /* the block before in the list of blocks with room */
};

/* The records of the blocks. When there are too few records, a larger array takes the place of this
 * one. The outgrown array stays until the end, because a thread that prefetches may still read
 * it. */
struct elapse__task_blocks {
    struct elapse__task_blocks *outgrown;
    uint32_t capacity;
    struct elapse__task_block at[];
};

struct elapse__task_table {
    _Atomic(struct elapse__task_blocks *) blocks; /* NULL: none yet */
    uint32_t block_count;                         /* records in use */
    uint32_t with_room;                           /* list: blocks that have a task to give */
    uint32_t given_back;                          /* list: records without tasks */
};

/* Memory for a table that is full. It is made and released while the lock is not held. */
struct elapse__task_room {
    struct elapse__task *tasks;
    struct elapse__task_blocks *blocks; /* NULL: the table has enough records */
};

void elapse__task_table_init(struct elapse__task_table *table);

/* Releases all memory. Requires no lock: no thread uses the table any more. */
void elapse__task_table_free(struct elapse__task_table *table,
                             const struct elapse_allocator *memory);

/* Returns whether a task can be taken. */
static inline bool elapse__task_table_has_room(const struct elapse__task_table *table)
{
    return table->with_room != ELAPSE__NO_BLOCK;
}

/* Returns how many records must be made together with the next block. Returns 0 if the table has
 * enough records, and UINT32_MAX if there can be no further block. */
uint32_t elapse__task_table_capacity_needed(const struct elapse__task_table *table);

/* Makes a block, and `block_capacity` records: the number that elapse__task_table_capacity_needed
 * has returned. Returns false if there is no memory; nothing is allocated then. */
bool elapse__task_room_make(struct elapse__task_room *room, uint32_t block_capacity,
                            const struct elapse_allocator *memory);

/* Adds the block and the records to the table, if the table still needs them. The caller must
 * release what is left in `room` with elapse__task_room_release. */
void elapse__task_table_grow(struct elapse__task_table *table, struct elapse__task_room *room);

void elapse__task_room_release(struct elapse__task_room *room,
                               const struct elapse_allocator *memory);

/* Takes the memory of this block out of the table if all its tasks are FREE. Returns that memory,
 * ELAPSE__BLOCK_BYTES; NULL if a task is in use, or there is no such block. */
struct elapse__task *elapse__task_table_shrink(struct elapse__task_table *table, uint32_t number);

/* Returns the record of the block `number`. */
static inline struct elapse__task_block *elapse__task_block(const struct elapse__task_table *table,
                                                            uint32_t number)
{
    return &atomic_load_explicit(&table->blocks, memory_order_relaxed)->at[number];
}

static inline struct elapse__task *elapse__block_tasks(const struct elapse__task_block *block)
{
    return atomic_load_explicit(&block->tasks, memory_order_relaxed);
}

/* Puts a block into the list of blocks with room. */
static inline void elapse__list_block(struct elapse__task_table *table, uint32_t number)
{
    struct elapse__task_block *block = elapse__task_block(table, number);
    ELAPSE__ASSERT_THAT(table->with_room, !=, number);
    block->next = table->with_room;
    block->previous = ELAPSE__NO_BLOCK;
    if (block->next != ELAPSE__NO_BLOCK)
        elapse__task_block(table, block->next)->previous = number;
    table->with_room = number;
}

/* Takes a block out of the list of blocks with room. */
static inline void elapse__unlist_block(struct elapse__task_table *table, uint32_t number)
{
    struct elapse__task_block *block = elapse__task_block(table, number);
    ELAPSE__ASSERT((block->previous == ELAPSE__NO_BLOCK) == (table->with_room == number));
    if (block->next != ELAPSE__NO_BLOCK)
        elapse__task_block(table, block->next)->previous = block->previous;
    if (block->previous != ELAPSE__NO_BLOCK)
        elapse__task_block(table, block->previous)->next = block->next;
    else
        table->with_room = block->next;
}

/* Returns whether a task of the block can be taken. */
static inline bool elapse__block_has_room(const struct elapse__task_block *block)
{
    /* Tasks at places that were never used begin with the generation of the block, which must not
     * be the last one. */
    return block->free != NULL ||
           (block->fresh < ELAPSE__BLOCK_TASKS && block->generation < UINT32_MAX);
}

/* Takes a task out of a table that has room, and returns it. The task is still FREE; its index and
 * generation are set. This function and elapse__task_table_give are inline, because every schedule
 * and every cancel calls one of them. */
static inline struct elapse__task *elapse__task_table_take(struct elapse__task_table *table)
{
    uint32_t number = table->with_room;
    ELAPSE__ASSERT_THAT(number, <, table->block_count);
    struct elapse__task_block *block = elapse__task_block(table, number);
    struct elapse__task *task = block->free;
    ELAPSE__ASSERT(task == NULL || task->state == ELAPSE__TASK_FREE);
    if (task != NULL) {
        block->free = task->when.next;
        __builtin_prefetch(block->free, 1); /* the next to be taken */
    } else {
        task = &elapse__block_tasks(block)[block->fresh];
        task->generation = block->generation;
        task->index = (number << ELAPSE__BLOCK_BITS | block->fresh) & ELAPSE__TASK_INDEX_MASK;
        task->state = ELAPSE__TASK_FREE;
        block->fresh++;
    }
    block->used++;
    ELAPSE__ASSERT_THAT(block->used, <=, block->fresh);
    ELAPSE__ASSERT_THAT(task->generation, >, 0);
    ELAPSE__ASSERT_THAT(task->generation, <, UINT32_MAX);
    if (!elapse__block_has_room(block))
        elapse__unlist_block(table, number);
    return task;
}

/* Makes all handles of a task stale. */
static inline void elapse__task_revoke(struct elapse__task *task)
{
    ELAPSE__ASSERT_THAT(task->generation, <, UINT32_MAX);
    task->generation++;
}

/* Makes a task FREE. Requires that it was revoked. */
static inline void elapse__task_table_give(struct elapse__task_table *table,
                                           struct elapse__task *task)
{
    uint32_t number = (uint32_t)task->index >> ELAPSE__BLOCK_BITS;
    struct elapse__task_block *block = elapse__task_block(table, number);
    ELAPSE__ASSERT_THAT(number, <, table->block_count);
    ELAPSE__ASSERT_THAT(task->state, !=, ELAPSE__TASK_FREE);
    ELAPSE__ASSERT_THAT(block->used, >, 0);
    task->state = ELAPSE__TASK_FREE;
    if (task->generation == UINT32_MAX) {
        /* The last generation is never used, so this place is not used again. The places of the
         * block that were never used stay unused, too, because they would begin with the last
         * generation. */
        bool listed = elapse__block_has_room(block);
        block->generation = UINT32_MAX;
        if (listed && !elapse__block_has_room(block))
            elapse__unlist_block(table, number);
        return;
    }
    if (task->generation > block->generation)
        block->generation = task->generation;
    if (!elapse__block_has_room(block))
        elapse__list_block(table, number);
    task->when.next = block->free;
    block->free = task;
    block->used--;
}

/* Returns the task at this index, in use or FREE; NULL if the place was never used. */
static inline struct elapse__task *elapse__task_table_at(const struct elapse__task_table *table,
                                                         uint32_t index)
{
    uint32_t number = index >> ELAPSE__BLOCK_BITS;
    uint32_t place = index % ELAPSE__BLOCK_TASKS;
    if (number >= table->block_count)
        return NULL;
    const struct elapse__task_block *block = elapse__task_block(table, number);
    return place < block->fresh ? &elapse__block_tasks(block)[place] : NULL;
}

/*
 * Prefetches the task at this index. Call this function before the lock is taken: the cache miss
 * then passes during the wait for the lock. A cancel of a random task becomes a third faster
 * (docs/decisions/0006-scheduler.md). Without the lock, the address may be out of date, because the
 * block may have been given back. To prefetch a wrong address does no harm.
 */
static inline void elapse__task_table_prefetch(const struct elapse__task_table *table,
                                               uint32_t index)
{
    const struct elapse__task_blocks *blocks =
        atomic_load_explicit(&table->blocks, memory_order_acquire);
    uint32_t number = index >> ELAPSE__BLOCK_BITS;
    if (blocks == NULL || number >= blocks->capacity)
        return;
    uintptr_t tasks = (uintptr_t)elapse__block_tasks(&blocks->at[number]);
    uintptr_t place = (uintptr_t)(index % ELAPSE__BLOCK_TASKS) * sizeof(struct elapse__task);
    __builtin_prefetch((const void *)(tasks + place), 1);
}

/* Returns the task of this index and generation; NULL if it has ended. */
static inline struct elapse__task *elapse__task_table_find(const struct elapse__task_table *table,
                                                           uint32_t index, uint32_t generation)
{
    struct elapse__task *task = elapse__task_table_at(table, index);
    return task != NULL && task->generation == generation && task->state > ELAPSE__TASK_UNLINKING
               ? task
               : NULL;
}

#endif
