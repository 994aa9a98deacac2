#include "task_table.h"

#include <string.h>

/* How many records the first array has. */
enum { FIRST_CAPACITY = 16 };

void elapse__task_table_init(struct elapse__task_table *table)
{
    *table = (struct elapse__task_table){
        .with_room = ELAPSE__NO_BLOCK,
        .given_back = ELAPSE__NO_BLOCK,
    };
}

static struct elapse__task_blocks *blocks_of(const struct elapse__task_table *table)
{
    return atomic_load_explicit(&table->blocks, memory_order_relaxed);
}

static void release_blocks(struct elapse__task_blocks *blocks,
                           const struct elapse_allocator *memory)
{
    elapse__release(memory, blocks, sizeof *blocks + blocks->capacity * sizeof *blocks->at);
}

void elapse__task_table_free(struct elapse__task_table *table,
                             const struct elapse_allocator *memory)
{
    for (uint32_t number = 0; number < table->block_count; number++)
        elapse__release(memory, elapse__block_tasks(elapse__task_block(table, number)),
                        ELAPSE__BLOCK_BYTES);
    struct elapse__task_blocks *blocks = blocks_of(table);
    while (blocks != NULL) {
        struct elapse__task_blocks *outgrown = blocks->outgrown;
        release_blocks(blocks, memory);
        blocks = outgrown;
    }
}

/* ---- room ---- */

uint32_t elapse__task_table_capacity_needed(const struct elapse__task_table *table)
{
    const struct elapse__task_blocks *blocks = blocks_of(table);
    uint32_t capacity = blocks == NULL ? 0 : blocks->capacity;
    if (table->given_back != ELAPSE__NO_BLOCK || table->block_count < capacity)
        return 0;
    if (capacity == ELAPSE__BLOCKS_MAX)
        return UINT32_MAX;
    return capacity == 0 ? FIRST_CAPACITY : capacity * 2;
}

bool elapse__task_room_make(struct elapse__task_room *room, uint32_t capacity,
                            const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(capacity, <=, ELAPSE__BLOCKS_MAX);
    *room = (struct elapse__task_room){0};
    room->tasks = elapse__allocate(memory, ELAPSE__LINE_BYTES, ELAPSE__BLOCK_BYTES);
    if (room->tasks == NULL)
        return false;
    if (capacity == 0)
        return true;
    size_t bytes = sizeof *room->blocks + capacity * sizeof *room->blocks->at;
    room->blocks = elapse__allocate(memory, _Alignof(struct elapse__task_blocks), bytes);
    if (room->blocks == NULL) {
        elapse__task_room_release(room, memory);
        return false;
    }
    memset(room->blocks, 0, bytes);
    room->blocks->capacity = capacity;
    return true;
}

void elapse__task_room_release(struct elapse__task_room *room,
                               const struct elapse_allocator *memory)
{
    elapse__release(memory, room->tasks, ELAPSE__BLOCK_BYTES);
    if (room->blocks != NULL)
        release_blocks(room->blocks, memory);
    *room = (struct elapse__task_room){0};
}

/* Puts the new array of records in the place of the old array, if the new array is larger. */
static void exchange_blocks(struct elapse__task_table *table, struct elapse__task_room *room)
{
    struct elapse__task_blocks *few = blocks_of(table);
    struct elapse__task_blocks *more = room->blocks;
    if (few != NULL && more->capacity <= few->capacity)
        return;
    ELAPSE__ASSERT_THAT(table->block_count, <=, more->capacity);
    for (uint32_t number = 0; few != NULL && number < table->block_count; number++)
        more->at[number] = few->at[number];
    more->outgrown = few;
    atomic_store_explicit(&table->blocks, more, memory_order_release);
    room->blocks = NULL;
}

void elapse__task_table_grow(struct elapse__task_table *table, struct elapse__task_room *room)
{
    if (room->blocks != NULL)
        exchange_blocks(table, room);

    ELAPSE__ASSERT(room->tasks != NULL);
    /* Another thread may have made room meanwhile. This block is added all the same, unless there
     * is no record for it. */
    uint32_t number = table->given_back;
    if (number != ELAPSE__NO_BLOCK) {
        table->given_back = elapse__task_block(table, number)->next;
    } else if (table->block_count < blocks_of(table)->capacity) {
        number = table->block_count++;
        ELAPSE__ASSERT_THAT(number, <, ELAPSE__BLOCKS_MAX);
        elapse__task_block(table, number)->generation = 1;
    } else {
        return;
    }
    struct elapse__task_block *block = elapse__task_block(table, number);
    ELAPSE__ASSERT(elapse__block_tasks(block) == NULL);
    atomic_store_explicit(&block->tasks, room->tasks, memory_order_relaxed);
    block->free = NULL;
    block->used = 0;
    block->fresh = 0;
    room->tasks = NULL;
    elapse__list_block(table, number);
}

/* ---- shrinking ---- */

struct elapse__task *elapse__task_table_shrink(struct elapse__task_table *table, uint32_t number)
{
    if (number >= table->block_count)
        return NULL;
    struct elapse__task_block *block = elapse__task_block(table, number);
    struct elapse__task *tasks = elapse__block_tasks(block);
    if (tasks == NULL || block->used > 0)
        return NULL;
    ELAPSE__ASSERT(elapse__block_has_room(block));
    elapse__unlist_block(table, number);
    atomic_store_explicit(&block->tasks, NULL, memory_order_relaxed);
    block->fresh = 0;
    block->next = table->given_back;
    table->given_back = number;
    return tasks;
}
