#include "heap.h"

#include "jobs.h"

enum {
    CHILDREN = 4,
    HEAP_BEGIN_BITS = 3, /* 128 bytes, because most tubes have few ready jobs at a time */
};

void elapse__queue_heap_init(struct elapse__queue_heap *heap)
{
    *heap = (struct elapse__queue_heap){0};
    elapse__queue_chunks_init_small(&heap->items, ELAPSE__QUEUE_HEAP_CHUNK_BITS, HEAP_BEGIN_BITS,
                                    sizeof(struct elapse__queue_heap_item));
}

void elapse__queue_heap_free(struct elapse__queue_heap *heap, const struct elapse_allocator *memory)
{
    elapse__queue_chunks_free(&heap->items, memory);
    heap->count = 0;
}

bool elapse__queue_heap_reserve(struct elapse__queue_heap *heap, uint32_t more,
                                const struct elapse_allocator *memory)
{
    return elapse__queue_chunks_reserve(&heap->items, (uint64_t)heap->count + more, memory);
}

/* Tells a job its place in the heap. `owner` has the jobs. The functions below get this function as
 * a constant, so the compiler puts its code into them, without a call. */
static inline void move_job(void *owner, uint32_t entry, uint32_t place)
{
    elapse__queue_entry_at(owner, entry)->timer.place = place;
}

static inline void place_item(struct elapse__queue_heap *heap, void *owner,
                              elapse__queue_heap_moved *moved, uint32_t place,
                              struct elapse__queue_heap_item item)
{
    *elapse__queue_heap_slot(heap, place) = item;
    moved(owner, item.entry, place);
}

static inline void sift_up(struct elapse__queue_heap *heap, void *owner,
                           elapse__queue_heap_moved *moved, uint32_t place,
                           struct elapse__queue_heap_item item)
{
    while (place > 0) {
        uint32_t parent = (place - 1) / CHILDREN;
        const struct elapse__queue_heap_item *above = elapse__queue_heap_at(heap, parent);
        if (!elapse__queue_heap_before(&item, above))
            break;
        place_item(heap, owner, moved, place, *above);
        place = parent;
    }
    place_item(heap, owner, moved, place, item);
}

/* Returns the item at `place`. Requires that `item` is the item before it. The item at `place` lies
 * beside `item`, or at the beginning of the next chunk. */
static struct elapse__queue_heap_item *
next_item(struct elapse__queue_heap *heap, struct elapse__queue_heap_item *item, uint32_t place)
{
    return place % (1U << ELAPSE__QUEUE_HEAP_CHUNK_BITS) != 0
               ? item + 1
               : elapse__queue_heap_slot(heap, place);
}

/* Returns the child of `place` that comes out of the heap first, and stores its place. Returns NULL
 * if `place` has no child. */
static struct elapse__queue_heap_item *first_child(struct elapse__queue_heap *heap, uint32_t place,
                                                   uint32_t *child)
{
    uint64_t from = (uint64_t)place * CHILDREN + 1;
    if (from >= heap->count)
        return NULL;
    uint32_t end = heap->count - from < CHILDREN ? heap->count : (uint32_t)from + CHILDREN;
    struct elapse__queue_heap_item *item = elapse__queue_heap_slot(heap, (uint32_t)from);
    struct elapse__queue_heap_item *first = item;
    *child = (uint32_t)from;
    for (uint32_t other = (uint32_t)from + 1; other < end; other++) {
        item = next_item(heap, item, other);
        if (elapse__queue_heap_before(item, first)) {
            first = item;
            *child = other;
        }
    }
    return first;
}

static inline void sift_down(struct elapse__queue_heap *heap, void *owner,
                             elapse__queue_heap_moved *moved, uint32_t place,
                             struct elapse__queue_heap_item item)
{
    struct elapse__queue_heap_item *hole = elapse__queue_heap_slot(heap, place);
    uint32_t child = 0;
    for (;;) {
        struct elapse__queue_heap_item *first = first_child(heap, place, &child);
        if (first == NULL || elapse__queue_heap_before(&item, first))
            break;
        *hole = *first;
        moved(owner, first->entry, place);
        hole = first;
        place = child;
    }
    ELAPSE__ASSERT(place == 0 || elapse__queue_heap_before(
                                     elapse__queue_heap_at(heap, (place - 1) / CHILDREN), &item));
    *hole = item;
    moved(owner, item.entry, place);
}

static inline void remove_at(struct elapse__queue_heap *heap, void *owner,
                             elapse__queue_heap_moved *moved, uint32_t place)
{
    ELAPSE__ASSERT_THAT(place, <, heap->count);
    struct elapse__queue_heap_item last = *elapse__queue_heap_at(heap, heap->count - 1);
    heap->count--;
    if (place >= heap->count)
        return;
    if (place > 0 &&
        elapse__queue_heap_before(&last, elapse__queue_heap_at(heap, (place - 1) / CHILDREN)))
        sift_up(heap, owner, moved, place, last);
    else
        sift_down(heap, owner, moved, place, last);
}

void elapse__queue_heap_push_item(struct elapse__queue_heap *heap, void *owner,
                                  elapse__queue_heap_moved *moved,
                                  struct elapse__queue_heap_item item)
{
    ELAPSE__ASSERT_THAT(heap->count, <, elapse__queue_chunks_items(&heap->items));
    sift_up(heap, owner, moved, heap->count++, item);
}

void elapse__queue_heap_remove_at(struct elapse__queue_heap *heap, void *owner,
                                  elapse__queue_heap_moved *moved, uint32_t place)
{
    remove_at(heap, owner, moved, place);
}

void elapse__queue_heap_push(struct elapse__queue_heap *heap, struct elapse__queue_jobs *jobs,
                             struct elapse__queue_entry *entry)
{
    ELAPSE__ASSERT_THAT(heap->count, <, elapse__queue_chunks_items(&heap->items));
    struct elapse__queue_heap_item item = {
        .id = elapse__queue_id(entry),
        .priority = entry->priority,
        .entry = elapse__queue_number(entry),
    };
    sift_up(heap, jobs, move_job, heap->count++, item);
}

/* Releases chunks that are not needed. One chunk stays in reserve, so a count that goes up and down
 * does not allocate. The heap of a tube without ready jobs keeps no chunk, because there may be
 * very many such tubes. */
static void release_chunk(struct elapse__queue_heap *heap, const struct elapse_allocator *memory)
{
    if (heap->kept > 0)
        return;
    if (heap->count == 0)
        elapse__queue_chunks_free(&heap->items, memory);
    else if (elapse__queue_chunks_items(&heap->items) >=
             (uint64_t)heap->count + (2u << ELAPSE__QUEUE_HEAP_CHUNK_BITS))
        elapse__queue_chunks_shrink(&heap->items, memory);
}

bool elapse__queue_heap_keep(struct elapse__queue_heap *heap, const struct elapse_allocator *memory)
{
    if (!elapse__queue_heap_reserve(heap, heap->kept + 1, memory))
        return false;
    heap->kept++;
    return true;
}

void elapse__queue_heap_unkeep(struct elapse__queue_heap *heap,
                               const struct elapse_allocator *memory)
{
    if (heap->kept == 0)
        return;
    heap->kept = 0;
    release_chunk(heap, memory);
}

void elapse__queue_heap_remove(struct elapse__queue_heap *heap, struct elapse__queue_jobs *jobs,
                               struct elapse__queue_entry *entry,
                               const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(heap->count, >, 0);
    ELAPSE__ASSERT_THAT(entry->timer.place, <, heap->count); /* invariant 3 */
    uint32_t place = (uint32_t)entry->timer.place;
    ELAPSE__ASSERT_THAT(elapse__queue_heap_at(heap, place)->id, ==, elapse__queue_id(entry));
    remove_at(heap, jobs, move_job, place);
    release_chunk(heap, memory);
}
