#include "jobs.h"

#include <string.h>

void elapse__queue_jobs_init(struct elapse__queue_jobs *jobs, uint64_t secret, uint32_t id_step)
{
    jobs->fresh = 1;
    jobs->free = 0;
    jobs->count = 0;
    elapse__queue_chunks_init(&jobs->blocks, 0, sizeof(struct elapse__queue_block));
    elapse__queue_ids_init(&jobs->ids, secret, id_step);
}

void elapse__queue_jobs_free(struct elapse__queue_jobs *jobs, const struct elapse_allocator *memory)
{
    elapse__queue_ids_free(&jobs->ids, memory);
    elapse__queue_chunks_free(&jobs->blocks, memory);
}

static bool make_fresh_entry(struct elapse__queue_jobs *jobs, const struct elapse_allocator *memory)
{
    uint32_t blocks = jobs->blocks.count;
    if (jobs->fresh > ELAPSE__QUEUE_ITEMS_MAX)
        return false;
    if (jobs->fresh >> ELAPSE__QUEUE_BLOCK_BITS == blocks) {
        if (!elapse__queue_chunks_grow(&jobs->blocks, memory))
            return false;
        struct elapse__queue_block *block = elapse__queue_chunks_at(&jobs->blocks, blocks);
        block->number = blocks;
        block->ready = 0;
        block->buried = 0;
        block->recurring = 0;
    }
    jobs->fresh++;
    return true;
}

struct elapse__queue_entry *elapse__queue_entry_take(struct elapse__queue_jobs *jobs,
                                                     const struct elapse_allocator *memory)
{
    uint32_t number = jobs->free;
    if (number == 0) {
        number = jobs->fresh;
        if (!make_fresh_entry(jobs, memory))
            return NULL;
    } else {
        jobs->free = elapse__queue_entry_at(jobs, number)->extra;
    }
    struct elapse__queue_entry *entry = elapse__queue_entry_at(jobs, number);
    memset(entry, 0, sizeof *entry);
    entry->id_place = (uint64_t)(number % ELAPSE__QUEUE_BLOCK_ENTRIES) << ELAPSE__QUEUE_ID_BITS;
    jobs->count++;
    ELAPSE__ASSERT_THAT(elapse__queue_number(entry), ==, number);
    return entry;
}

void elapse__queue_entry_give(struct elapse__queue_jobs *jobs, struct elapse__queue_entry *entry)
{
    ELAPSE__ASSERT_THAT(jobs->count, >, 0);
    ELAPSE__ASSERT(!elapse_timer_pending(&entry->timer));
    uint32_t number = elapse__queue_number(entry);
    elapse__queue_set_state(entry, ELAPSE__QUEUE_FREE);
    entry->extra = jobs->free;
    jobs->free = number;
    jobs->count--;
}

void elapse__queue_entry_enter(struct elapse__queue_jobs *jobs, struct elapse__queue_entry *entry,
                               uint64_t id, const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(id, >, 0);
    ELAPSE__ASSERT_THAT(id, <=, ELAPSE__QUEUE_ID_MAX);
    ELAPSE__ASSERT(elapse__queue_entry_find(jobs, id) == NULL);
    entry->id_place = entry->id_place >> ELAPSE__QUEUE_ID_BITS << ELAPSE__QUEUE_ID_BITS | id;
    elapse__queue_ids_insert(&jobs->ids, id, elapse__queue_number(entry), memory);
}

void elapse__queue_entry_end(struct elapse__queue_jobs *jobs, struct elapse__queue_entry *entry,
                             const struct elapse_allocator *memory)
{
    elapse__queue_ids_remove(&jobs->ids, elapse__queue_id(entry), memory);
    elapse__queue_entry_give(jobs, entry);
}

struct elapse__queue_entry *elapse__queue_entry_find(const struct elapse__queue_jobs *jobs,
                                                     uint64_t id)
{
    uint32_t number = elapse__queue_ids_find(&jobs->ids, id);
    if (number == 0)
        return NULL;
    struct elapse__queue_entry *entry = elapse__queue_entry_at(jobs, number);
    return elapse__queue_id(entry) == id ? entry : NULL;
}

void elapse__queue_entry_fetch(const struct elapse__queue_jobs *jobs, uint64_t id,
                               enum elapse__queue_fetch_step step)
{
    if (step == ELAPSE__QUEUE_FETCH_TABLE)
        elapse__queue_ids_fetch(&jobs->ids, id);
    if (step < ELAPSE__QUEUE_FETCH_ENTRY)
        return;
    uint32_t number = elapse__queue_ids_find(&jobs->ids, id);
    if (number != 0)
        elapse__queue_fetch_entry(elapse__queue_entry_at(jobs, number), step);
}
