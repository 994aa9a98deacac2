/*
 * The tasks of a shard, by index and generation: what a handle names.
 *
 *      index     |  block number  |  10 bits: place in the block  |
 *
 *      blocks    [0]  [1]  [2] ...           records, kept for ever
 *                 |         |
 *                 v         v
 *             1024 tasks  1024 tasks         64 KiB each, given back when empty
 *
 * A generation is never used twice with one index: a block that is given back leaves
 * in its record the first generation that its successor may use, and an index that
 * has used up its 2^32 - 1 is not used again.
 *
 * Guarded by the shard's lock. Nothing here allocates: a block comes from outside,
 * made without the lock (see elapse__task_blocks).
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
    struct elapse__task *free;            /* those that were used and are FREE */
    uint32_t used;                        /* tasks that cannot be taken */
    uint32_t fresh;                       /* from this place on they were never used */
    uint32_t generation; /* none of its tasks will use one below this for the first time */
    uint32_t next;       /* in the list of those with room, or of those given back */
    uint32_t previous;   /* in the list of those with room */
};

/* The records. When they become too few, larger ones take their place; the outgrown
 * ones stay until the end, for those who prefetch. */
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

/* What the table asks for when it is full; made and released without the lock. */
struct elapse__task_room {
    struct elapse__task *tasks;
    struct elapse__task_blocks *blocks; /* NULL: the records there are suffice */
};

void elapse__task_table_init(struct elapse__task_table *table);

/* Releases all memory. For the end: no lock is needed any more. */
void elapse__task_table_free(struct elapse__task_table *table,
                             const struct elapse_allocator *memory);

static inline bool elapse__task_table_has_room(const struct elapse__task_table *table)
{
    return table->with_room != ELAPSE__NO_BLOCK;
}

/* The records to ask for with the next block; 0: those there are suffice.
 * UINT32_MAX: there can be no further block. */
uint32_t elapse__task_table_capacity_needed(const struct elapse__task_table *table);

/* Makes the room. The capacity is what was asked for. False if there is no memory;
 * nothing is allocated then. */
bool elapse__task_room_make(struct elapse__task_room *room, uint32_t block_capacity,
                            const struct elapse_allocator *memory);

/* Takes the room in, or what of it is still of use; what is left over is for
 * elapse__task_room_release. */
void elapse__task_table_grow(struct elapse__task_table *table, struct elapse__task_room *room);

void elapse__task_room_release(struct elapse__task_room *room,
                               const struct elapse_allocator *memory);

/* Takes the tasks of the block of this number out of the table, if it has some and all are FREE,
 * and returns them, ELAPSE__BLOCK_BYTES; NULL otherwise. */
struct elapse__task *elapse__task_table_shrink(struct elapse__task_table *table, uint32_t number);

/* With the lock held, as everything here but for prefetching. */
static inline struct elapse__task_block *elapse__task_block(const struct elapse__task_table *table,
                                                            uint32_t number)
{
    return &atomic_load_explicit(&table->blocks, memory_order_relaxed)->at[number];
}

static inline struct elapse__task *elapse__block_tasks(const struct elapse__task_block *block)
{
    return atomic_load_explicit(&block->tasks, memory_order_relaxed);
}

/* Puts a block on the list of those with room, and takes it off. Private. */
static inline void elapse__list_block(struct elapse__task_table *table, uint32_t number)
{
    struct elapse__task_block *block = elapse__task_block(table, number);
    block->next = table->with_room;
    block->previous = ELAPSE__NO_BLOCK;
    if (block->next != ELAPSE__NO_BLOCK)
        elapse__task_block(table, block->next)->previous = number;
    table->with_room = number;
}

static inline void elapse__unlist_block(struct elapse__task_table *table, uint32_t number)
{
    struct elapse__task_block *block = elapse__task_block(table, number);
    if (block->next != ELAPSE__NO_BLOCK)
        elapse__task_block(table, block->next)->previous = block->previous;
    if (block->previous != ELAPSE__NO_BLOCK)
        elapse__task_block(table, block->previous)->next = block->next;
    else
        table->with_room = block->next;
}

static inline bool elapse__block_has_room(const struct elapse__task_block *block)
{
    /* Places never used begin with the block's generation, and there is none after the last. */
    return block->free != NULL ||
           (block->fresh < ELAPSE__BLOCK_TASKS && block->generation < UINT32_MAX);
}

/* A task out of a table that has room, FREE still, index and generation set. Here, as
 * giving is, because every schedule and every cancel does it. */
static inline struct elapse__task *elapse__task_table_take(struct elapse__task_table *table)
{
    uint32_t number = table->with_room;
    ELAPSE__ASSERT(number != ELAPSE__NO_BLOCK);
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
    if (!elapse__block_has_room(block))
        elapse__unlist_block(table, number);
    return task;
}

/* Makes all handles to a task stale. */
static inline void elapse__task_revoke(struct elapse__task *task)
{
    task->generation++;
}

/* Makes a task FREE that was revoked. */
static inline void elapse__task_table_give(struct elapse__task_table *table,
                                           struct elapse__task *task)
{
    uint32_t number = (uint32_t)task->index >> ELAPSE__BLOCK_BITS;
    struct elapse__task_block *block = elapse__task_block(table, number);
    ELAPSE__ASSERT(task->state != ELAPSE__TASK_FREE && block->used > 0);
    task->state = ELAPSE__TASK_FREE;
    if (task->generation == UINT32_MAX) {
        /* The last: nobody has it, and nobody ever will, nor a place never used. */
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

/* The task at this index, in use or FREE; NULL if it was never in use. */
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
 * Asks for the task at this index before the lock is taken: the cache miss then passes
 * while the lock is waited for, which makes a cancel of a random task a third faster
 * (docs/decisions/0006-scheduler.md). Without the lock the answer may be out of date,
 * or the block just given back: only speed depends on it.
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

/* The task that these numbers name; NULL if it is gone. */
static inline struct elapse__task *elapse__task_table_find(const struct elapse__task_table *table,
                                                           uint32_t index, uint32_t generation)
{
    struct elapse__task *task = elapse__task_table_at(table, index);
    return task != NULL && task->generation == generation && task->state > ELAPSE__TASK_UNLINKING
               ? task
               : NULL;
}

#endif
