#include "heap.h"

#include "jobs.h"

enum {
    CHILDREN = 4,
    HEAP_CHUNK_BITS = 8, /* 4 KiB */
};

void elapse__queue_heap_init(struct elapse__queue_heap *heap)
{
    *heap = (struct elapse__queue_heap){0};
    elapse__queue_chunks_init(&heap->items, HEAP_CHUNK_BITS,
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

static void place_item(struct elapse__queue_heap *heap, struct elapse__queue_jobs *jobs,
                       uint32_t place, struct elapse__queue_heap_item item)
{
    *(struct elapse__queue_heap_item *)elapse__queue_chunks_at(&heap->items, place) = item;
    elapse__queue_entry_at(jobs, item.entry)->timer.keep.sequence = place;
}

static void sift_up(struct elapse__queue_heap *heap, struct elapse__queue_jobs *jobs,
                    uint32_t place, struct elapse__queue_heap_item item)
{
    while (place > 0) {
        uint32_t parent = (place - 1) / CHILDREN;
        const struct elapse__queue_heap_item *above = elapse__queue_heap_at(heap, parent);
        if (!elapse__queue_heap_before(&item, above))
            break;
        place_item(heap, jobs, place, *above);
        place = parent;
    }
    place_item(heap, jobs, place, item);
}

/* Returns the child of `place` that comes out first; `count` if there is none. */
static uint32_t first_child(const struct elapse__queue_heap *heap, uint32_t place)
{
    uint64_t child = (uint64_t)place * CHILDREN + 1;
    if (child >= heap->count)
        return heap->count;
    uint32_t first = (uint32_t)child;
    for (uint32_t other = first + 1; other < heap->count && other < child + CHILDREN; other++)
        if (elapse__queue_heap_before(elapse__queue_heap_at(heap, other),
                                      elapse__queue_heap_at(heap, first)))
            first = other;
    return first;
}

static void sift_down(struct elapse__queue_heap *heap, struct elapse__queue_jobs *jobs,
                      uint32_t place, struct elapse__queue_heap_item item)
{
    for (;;) {
        uint32_t child = first_child(heap, place);
        if (child == heap->count ||
            elapse__queue_heap_before(&item, elapse__queue_heap_at(heap, child)))
            break;
        place_item(heap, jobs, place, *elapse__queue_heap_at(heap, child));
        place = child;
    }
    place_item(heap, jobs, place, item);
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
    sift_up(heap, jobs, heap->count++, item);
}

void elapse__queue_heap_remove(struct elapse__queue_heap *heap, struct elapse__queue_jobs *jobs,
                               struct elapse__queue_entry *entry,
                               const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(heap->count, >, 0);
    uint32_t place = (uint32_t)entry->timer.keep.sequence;
    ELAPSE__ASSERT_THAT(elapse__queue_heap_at(heap, place)->id, ==, elapse__queue_id(entry));
    struct elapse__queue_heap_item last = *elapse__queue_heap_at(heap, heap->count - 1);
    heap->count--;
    if (place < heap->count) {
        if (place > 0 &&
            elapse__queue_heap_before(&last, elapse__queue_heap_at(heap, (place - 1) / CHILDREN)))
            sift_up(heap, jobs, place, last);
        else
            sift_down(heap, jobs, place, last);
    }
    /* One chunk stays in reserve, so that a count that goes up and down does not allocate. */
    if (elapse__queue_chunks_items(&heap->items) >= (uint64_t)heap->count + (2u << HEAP_CHUNK_BITS))
        elapse__queue_chunks_shrink(&heap->items, memory);
}
