#include "jobs.h"

#include <string.h>

/* The bits of the number of an id within its run. */
enum { RUN_BITS = 3 };

static uint32_t *id_link(void *owner, uint32_t number)
{
    const struct elapse__queue_jobs *jobs = owner;
    return &elapse__queue_block_of(jobs, number)->links[number % ELAPSE__QUEUE_BLOCK_ENTRIES];
}

/* The finalizer of MurmurHash3, by Austin Appleby: each bit of `number` changes half of the bits.
 */
static uint64_t mix(uint64_t number, uint64_t secret)
{
    uint64_t mixed = number ^ secret;
    mixed = (mixed ^ mixed >> 33) * UINT64_C(0xff51afd7ed558ccd);
    mixed = (mixed ^ mixed >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return mixed ^ mixed >> 33;
}

/* The jobs of a run of ids lie in neighbouring buckets, as they mostly lie in memory: then a line
 * of the cache serves several of them, when they enter and when their buckets are split. Where the
 * run lies is secret, so a client that keeps only chosen ids alive makes chains as many times
 * longer as a run has ids, and no more. */
static uint64_t hash_of(const struct elapse__queue_jobs *jobs, uint64_t id)
{
    uint64_t number = jobs->id_step == 1 ? id : id / jobs->id_step;
    return mix(number >> RUN_BITS, jobs->secret) << RUN_BITS | (number & ((1 << RUN_BITS) - 1));
}

static uint64_t id_hash(void *owner, uint32_t number)
{
    const struct elapse__queue_jobs *jobs = owner;
    return hash_of(jobs, elapse__queue_id(elapse__queue_entry_at(jobs, number)));
}

static void id_fetch(void *owner, uint32_t number)
{
    const struct elapse__queue_jobs *jobs = owner;
    __builtin_prefetch(elapse__queue_entry_at(jobs, number));
    __builtin_prefetch(id_link(owner, number), 1);
}

static const struct elapse__queue_index_owner id_calls = {id_link, id_hash};

void elapse__queue_jobs_init(struct elapse__queue_jobs *jobs, uint64_t secret, uint32_t id_step)
{
    ELAPSE__ASSERT_THAT(id_step, >, 0);
    *jobs = (struct elapse__queue_jobs){.secret = secret, .id_step = id_step, .fresh = 1};
    elapse__queue_chunks_init(&jobs->blocks, 0, sizeof(struct elapse__queue_block));
    elapse__queue_index_init(&jobs->ids, &id_calls, jobs);
    jobs->ids.fetch = id_fetch;
    jobs->ids.keeps_buckets = true;
}

void elapse__queue_jobs_free(struct elapse__queue_jobs *jobs, const struct elapse_allocator *memory)
{
    elapse__queue_index_free(&jobs->ids, memory);
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
    }
    jobs->fresh++;
    return true;
}

struct elapse__queue_entry *elapse__queue_entry_take(struct elapse__queue_jobs *jobs,
                                                     const struct elapse_allocator *memory)
{
    if (!elapse__queue_index_prepare(&jobs->ids, memory))
        return NULL;
    uint32_t number = jobs->free;
    if (number == 0) {
        number = jobs->fresh;
        if (!make_fresh_entry(jobs, memory))
            return NULL;
    } else {
        jobs->free = *id_link(jobs, number);
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
    *id_link(jobs, number) = jobs->free;
    jobs->free = number;
    jobs->count--;
}

void elapse__queue_jobs_widen(struct elapse__queue_jobs *jobs,
                              const struct elapse_allocator *memory)
{
    if (!elapse__queue_index_widen(&jobs->ids, memory))
        return;
    uint32_t number = 0;
    while (elapse__queue_next_entry(jobs, &number) != NULL)
        elapse__queue_index_insert(&jobs->ids, number, memory);
    ELAPSE__ASSERT_THAT(jobs->ids.count, ==, jobs->count);
}

void elapse__queue_entry_enter(struct elapse__queue_jobs *jobs, struct elapse__queue_entry *entry,
                               uint64_t id, const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(id, >, 0);
    ELAPSE__ASSERT_THAT(id, <=, ELAPSE__QUEUE_ID_MAX);
    ELAPSE__ASSERT(elapse__queue_entry_find(jobs, id) == NULL);
    entry->id_place = entry->id_place >> ELAPSE__QUEUE_ID_BITS << ELAPSE__QUEUE_ID_BITS | id;
    elapse__queue_index_insert(&jobs->ids, elapse__queue_number(entry), memory);
}

void elapse__queue_entry_end(struct elapse__queue_jobs *jobs, struct elapse__queue_entry *entry,
                             const struct elapse_allocator *memory)
{
    elapse__queue_index_remove(&jobs->ids, elapse__queue_number(entry), memory);
    elapse__queue_entry_give(jobs, entry);
}

void elapse__queue_entry_fetch(const struct elapse__queue_jobs *jobs, uint64_t id, bool is_near)
{
    elapse__queue_index_fetch(&jobs->ids, hash_of(jobs, id), is_near);
}

struct elapse__queue_entry *elapse__queue_entry_find(const struct elapse__queue_jobs *jobs,
                                                     uint64_t id)
{
    uint64_t hash = hash_of(jobs, id);
    uint32_t number = elapse__queue_index_first(&jobs->ids, hash);
    for (; number != 0; number = elapse__queue_index_next(&jobs->ids, number, hash)) {
        struct elapse__queue_entry *entry = elapse__queue_entry_at(jobs, number);
        if (elapse__queue_id(entry) == id)
            return entry;
    }
    return NULL;
}
