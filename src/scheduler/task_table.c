#include "task_table.h"

#include <string.h>

enum { FIRST_CAPACITY = 16 };

void elapse__task_table_init(struct elapse__task_table *table)
{
    *table = (struct elapse__task_table){
        .with_room = ELAPSE__NO_BLOCK,
        .given_back = ELAPSE__NO_BLOCK,
    };
}

void elapse__task_table_free(struct elapse__task_table *table,
                             const struct elapse_allocator *memory)
{
    for (uint32_t number = 0; number < table->block_count; number++)
        elapse__release(memory, table->blocks[number].tasks, ELAPSE__BLOCK_BYTES);
    elapse__release(memory, table->blocks, table->block_capacity * sizeof *table->blocks);
}

/* ---- room ---- */

uint32_t elapse__task_table_capacity_needed(const struct elapse__task_table *table)
{
    if (table->given_back != ELAPSE__NO_BLOCK || table->block_count < table->block_capacity)
        return 0;
    if (table->block_capacity == ELAPSE__BLOCKS_MAX)
        return UINT32_MAX;
    return table->block_capacity == 0 ? FIRST_CAPACITY : table->block_capacity * 2;
}

bool elapse__task_room_make(struct elapse__task_room *room, uint32_t block_capacity,
                            const struct elapse_allocator *memory)
{
    *room = (struct elapse__task_room){.block_capacity = block_capacity};
    room->tasks = elapse__allocate(memory, ELAPSE__LINE_BYTES, ELAPSE__BLOCK_BYTES);
    if (room->tasks == NULL)
        return false;
    if (block_capacity == 0)
        return true;
    room->blocks = elapse__allocate(memory, _Alignof(struct elapse__task_block),
                                    block_capacity * sizeof *room->blocks);
    if (room->blocks != NULL)
        return true;
    elapse__task_room_release(room, memory);
    return false;
}

void elapse__task_room_release(struct elapse__task_room *room,
                               const struct elapse_allocator *memory)
{
    elapse__release(memory, room->tasks, ELAPSE__BLOCK_BYTES);
    elapse__release(memory, room->blocks, room->block_capacity * sizeof *room->blocks);
    *room = (struct elapse__task_room){0};
}

/* Exchanges the records for a larger array, and leaves the old one in `room`. */
static void exchange_records(struct elapse__task_table *table, struct elapse__task_room *room)
{
    struct elapse__task_room old = {
        .tasks = room->tasks,
        .blocks = table->blocks,
        .block_capacity = table->block_capacity,
    };
    if (table->block_count > 0)
        memcpy(room->blocks, table->blocks, table->block_count * sizeof *table->blocks);
    table->blocks = room->blocks;
    table->block_capacity = room->block_capacity;
    *room = old;
}

static void enlist(struct elapse__task_table *table, uint32_t number)
{
    struct elapse__task_block *block = &table->blocks[number];
    block->next = table->with_room;
    block->previous = ELAPSE__NO_BLOCK;
    if (block->next != ELAPSE__NO_BLOCK)
        table->blocks[block->next].previous = number;
    table->with_room = number;
}

static void strike_off(struct elapse__task_table *table, uint32_t number)
{
    struct elapse__task_block *block = &table->blocks[number];
    if (block->next != ELAPSE__NO_BLOCK)
        table->blocks[block->next].previous = block->previous;
    if (block->previous != ELAPSE__NO_BLOCK)
        table->blocks[block->previous].next = block->next;
    else
        table->with_room = block->next;
}

void elapse__task_table_grow(struct elapse__task_table *table, struct elapse__task_room *room)
{
    if (room->blocks != NULL && room->block_capacity > table->block_capacity)
        exchange_records(table, room);

    /* Another thread may have been here in between: then a block more than needed is
     * made, unless there is no record for it. */
    uint32_t number = table->given_back;
    if (number != ELAPSE__NO_BLOCK) {
        table->given_back = table->blocks[number].next;
    } else if (table->block_count < table->block_capacity) {
        number = table->block_count++;
        table->blocks[number].generation = 1;
    } else {
        return;
    }
    struct elapse__task_block *block = &table->blocks[number];
    block->tasks = room->tasks;
    block->free = NULL;
    block->used = 0;
    block->fresh = 0;
    room->tasks = NULL;
    enlist(table, number);
}

/* ---- tasks ---- */

static bool has_room(const struct elapse__task_block *block)
{
    return block->free != NULL || block->fresh < ELAPSE__BLOCK_TASKS;
}

struct elapse__task *elapse__task_table_take(struct elapse__task_table *table)
{
    uint32_t number = table->with_room;
    struct elapse__task_block *block = &table->blocks[number];
    struct elapse__task *task = block->free;
    if (task != NULL) {
        block->free = task->when.next;
    } else {
        task = &block->tasks[block->fresh];
        task->generation = block->generation;
        task->index = (number << ELAPSE__BLOCK_BITS | block->fresh) & ELAPSE__TASK_INDEX_MASK;
        task->state = ELAPSE__TASK_FREE;
        block->fresh++;
    }
    block->used++;
    if (!has_room(block))
        strike_off(table, number);
    return task;
}

void elapse__task_table_give(struct elapse__task_table *table, struct elapse__task *task)
{
    uint32_t number = task->index >> ELAPSE__BLOCK_BITS;
    struct elapse__task_block *block = &table->blocks[number];
    task->state = ELAPSE__TASK_FREE;
    task->generation++;
    if (task->generation > block->generation)
        block->generation = task->generation;
    if (task->generation == UINT32_MAX)
        return; /* the last: nobody has it, and nobody ever will */
    if (!has_room(block))
        enlist(table, number);
    task->when.next = block->free;
    block->free = task;
    block->used--;
}

struct elapse__task *elapse__task_table_shrink(struct elapse__task_table *table, uint32_t number)
{
    if (number >= table->block_count)
        return NULL;
    struct elapse__task_block *block = &table->blocks[number];
    struct elapse__task *tasks = block->tasks;
    if (tasks == NULL || block->used > 0)
        return NULL;
    strike_off(table, number);
    block->tasks = NULL;
    block->fresh = 0;
    block->next = table->given_back;
    table->given_back = number;
    return tasks;
}
