/*
 * The ready jobs of a tube, as a heap ordered by (priority, id). A node has four children, and the
 * items lie in chunks. Each entry knows its place in the heap, so that a job in the middle can be
 * taken out. The groups of a tube are in a heap, too: a turn stands in the place of the id, and the
 * number of a group in the place of the entry (turns.c).
 */
#ifndef ELAPSE__QUEUE_HEAP_H
#define ELAPSE__QUEUE_HEAP_H

#include "job.h"

struct elapse__queue_heap_item {
    uint64_t id;
    uint32_t priority;
    uint32_t entry;
};

struct elapse__queue_heap {
    struct elapse__queue_chunks items;
    uint32_t count;
    uint32_t kept; /* places that a transaction has made room for; while there are any, no room is
                      released */
};

struct elapse__queue_jobs; /* how the heap finds entries */

void elapse__queue_heap_init(struct elapse__queue_heap *heap);
void elapse__queue_heap_free(struct elapse__queue_heap *heap,
                             const struct elapse_allocator *memory);

/* Makes room for `more` items. Returns false if there is no memory. */
bool elapse__queue_heap_reserve(struct elapse__queue_heap *heap, uint32_t more,
                                const struct elapse_allocator *memory);

/* Keeps room for one item more, beside those that there is room kept for, until
 * elapse__queue_heap_unkeep ends this for all of them. Returns false if there is no memory. */
bool elapse__queue_heap_keep(struct elapse__queue_heap *heap,
                             const struct elapse_allocator *memory);
void elapse__queue_heap_unkeep(struct elapse__queue_heap *heap,
                               const struct elapse_allocator *memory);

/* Push an entry, which requires that there is room; and remove one. */
void elapse__queue_heap_push(struct elapse__queue_heap *heap, struct elapse__queue_jobs *jobs,
                             struct elapse__queue_entry *entry);
void elapse__queue_heap_remove(struct elapse__queue_heap *heap, struct elapse__queue_jobs *jobs,
                               struct elapse__queue_entry *entry,
                               const struct elapse_allocator *memory);

/* Called with the new place of an item that the heap has moved. */
typedef void elapse__queue_heap_moved(void *owner, uint32_t item, uint32_t place);

/* Push an item, which requires that there is room; and remove the one at a place. The room stays.
 */
void elapse__queue_heap_push_item(struct elapse__queue_heap *heap, void *owner,
                                  elapse__queue_heap_moved *moved,
                                  struct elapse__queue_heap_item item);
void elapse__queue_heap_remove_at(struct elapse__queue_heap *heap, void *owner,
                                  elapse__queue_heap_moved *moved, uint32_t place);

enum { ELAPSE__QUEUE_HEAP_CHUNK_BITS = 8 }; /* a chunk has 2^8 items, which take 4 KiB */

/* Returns the item at a place of the heap, or of the room behind it. */
static inline struct elapse__queue_heap_item *
elapse__queue_heap_slot(const struct elapse__queue_heap *heap, uint32_t place)
{
    return elapse__queue_chunks_at_shape(&heap->items, place, ELAPSE__QUEUE_HEAP_CHUNK_BITS,
                                         sizeof(struct elapse__queue_heap_item));
}

/* Returns the first item. Requires that the heap is not empty. */
static inline const struct elapse__queue_heap_item *
elapse__queue_heap_first(const struct elapse__queue_heap *heap)
{
    ELAPSE__ASSERT_THAT(heap->count, >, 0);
    return elapse__queue_heap_slot(heap, 0);
}

static inline const struct elapse__queue_heap_item *
elapse__queue_heap_at(const struct elapse__queue_heap *heap, uint32_t place)
{
    ELAPSE__ASSERT_THAT(place, <, heap->count);
    return elapse__queue_heap_slot(heap, place);
}

/* Returns whether `one` leaves the heap before `other`. */
static inline bool elapse__queue_heap_before(const struct elapse__queue_heap_item *one,
                                             const struct elapse__queue_heap_item *other)
{
    return one->priority != other->priority ? one->priority < other->priority : one->id < other->id;
}

#endif
