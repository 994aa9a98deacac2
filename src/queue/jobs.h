/*
 * The entries of all jobs, and the table of their ids. src/queue/job.h has the picture.
 */
#ifndef ELAPSE__QUEUE_JOBS_H
#define ELAPSE__QUEUE_JOBS_H

#include "ids.h"
#include "job.h"

struct elapse__queue_jobs {
    struct elapse__queue_chunks blocks; /* struct elapse__queue_block */
    struct elapse__queue_ids ids;
    uint32_t fresh; /* no entry from this number on was ever used */
    uint32_t free;  /* the first free entry below it; 0: none; they are chained by `extra` */
    uint32_t count;
};

void elapse__queue_jobs_init(struct elapse__queue_jobs *jobs, uint64_t secret, uint32_t id_step);
void elapse__queue_jobs_free(struct elapse__queue_jobs *jobs,
                             const struct elapse_allocator *memory);

/* Returns an entry whose bytes are zero except its place; it has no id yet, and is in no table.
 * NULL: there is no memory. */
struct elapse__queue_entry *elapse__queue_entry_take(struct elapse__queue_jobs *jobs,
                                                     const struct elapse_allocator *memory);

/* Gives an entry back that is in no index. */
void elapse__queue_entry_give(struct elapse__queue_jobs *jobs, struct elapse__queue_entry *entry);

/* Gives the entry its id, and inserts it into the table. Requires that elapse__queue_ids_reserve
 * was called for this id. */
void elapse__queue_entry_enter(struct elapse__queue_jobs *jobs, struct elapse__queue_entry *entry,
                               uint64_t id, const struct elapse_allocator *memory);

/* Takes the entry out of the table, and gives it back. */
void elapse__queue_entry_end(struct elapse__queue_jobs *jobs, struct elapse__queue_entry *entry,
                             const struct elapse_allocator *memory);

/* Asks for an entry, or for its neighbours. */
static inline void elapse__queue_fetch_entry(const struct elapse__queue_entry *entry,
                                             enum elapse__queue_fetch_step step)
{
    if (step == ELAPSE__QUEUE_FETCH_ENTRY) {
        __builtin_prefetch(entry, 1);
        return;
    }
    __builtin_prefetch(entry->timer.keep.ring_node.next, 1);
    __builtin_prefetch(entry->timer.keep.ring_node.previous, 1);
}

/* Asks for the memory that a command to the job with this id will read. */
void elapse__queue_entry_fetch(const struct elapse__queue_jobs *jobs, uint64_t id,
                               enum elapse__queue_fetch_step step);

/* Returns the entry of this id, or NULL. */
struct elapse__queue_entry *elapse__queue_entry_find(const struct elapse__queue_jobs *jobs,
                                                     uint64_t id);

static inline struct elapse__queue_block *
elapse__queue_block_of(const struct elapse__queue_jobs *jobs, uint32_t number)
{
    return elapse__queue_chunks_at_shape(&jobs->blocks, number >> ELAPSE__QUEUE_BLOCK_BITS, 0,
                                         sizeof(struct elapse__queue_block));
}

static inline struct elapse__queue_entry *
elapse__queue_entry_at(const struct elapse__queue_jobs *jobs, uint32_t number)
{
    ELAPSE__ASSERT_THAT(number, >, 0);
    ELAPSE__ASSERT_THAT(number, <, jobs->fresh);
    return &elapse__queue_block_of(jobs, number)->entries[number % ELAPSE__QUEUE_BLOCK_ENTRIES];
}

/* Returns the first entry in use whose number is greater than `*number`, and stores its number;
 * NULL: there is none. Begin with 0. */
static inline struct elapse__queue_entry *
elapse__queue_next_entry(const struct elapse__queue_jobs *jobs, uint32_t *number)
{
    while (*number + 1 < jobs->fresh) {
        struct elapse__queue_entry *entry = elapse__queue_entry_at(jobs, ++*number);
        if (elapse__queue_state_of(entry) != ELAPSE__QUEUE_FREE)
            return entry;
    }
    return NULL;
}

#endif
