#include "slab.h"

#include <string.h>

void elapse__queue_slab_init(struct elapse__queue_slab *slab, uint32_t bits, size_t record_bytes,
                             uint32_t most)
{
    ELAPSE__ASSERT_THAT(record_bytes, >=, sizeof(uint32_t));
    *slab = (struct elapse__queue_slab){.fresh = 1, .most = most};
    elapse__queue_chunks_init(&slab->chunks, bits, record_bytes);
}

void elapse__queue_slab_free(struct elapse__queue_slab *slab, const struct elapse_allocator *memory)
{
    elapse__queue_chunks_free(&slab->chunks, memory);
}

bool elapse__queue_slab_reserve(struct elapse__queue_slab *slab,
                                const struct elapse_allocator *memory)
{
    return slab->free != 0 ||
           (slab->fresh <= slab->most &&
            elapse__queue_chunks_reserve(&slab->chunks, (uint64_t)slab->fresh + 1, memory));
}

bool elapse__queue_slab_reserve_many(struct elapse__queue_slab *slab, uint32_t records,
                                     const struct elapse_allocator *memory)
{
    uint64_t end = (uint64_t)slab->fresh + records;
    return end <= (uint64_t)slab->most + 1 &&
           elapse__queue_chunks_reserve(&slab->chunks, end, memory);
}

uint32_t elapse__queue_slab_take(struct elapse__queue_slab *slab,
                                 const struct elapse_allocator *memory)
{
    uint32_t record = slab->free;
    if (record == 0) {
        if (!elapse__queue_slab_reserve(slab, memory))
            return 0;
        record = slab->fresh++;
    }
    ELAPSE__ASSERT_THAT(slab->count, <, slab->fresh - 1);
    unsigned char *bytes = elapse__queue_slab_at(slab, record);
    if (record == slab->free)
        memcpy(&slab->free, bytes, sizeof slab->free);
    memset(bytes, 0, slab->chunks.item_bytes);
    slab->count++;
    return record;
}

void elapse__queue_slab_give(struct elapse__queue_slab *slab, uint32_t record)
{
    ELAPSE__ASSERT_THAT(slab->count, >, 0);
    unsigned char *bytes = elapse__queue_slab_at(slab, record);
    memset(bytes, 0, slab->chunks.item_bytes);
    memcpy(bytes, &slab->free, sizeof slab->free);
    slab->free = record;
    slab->count--;
}

void elapse__queue_slab_trim(struct elapse__queue_slab *slab, const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(slab->count, ==, 0);
    if (slab->chunks.count < 2)
        return;
    while (slab->chunks.count > 1)
        elapse__queue_chunks_shrink(&slab->chunks, memory);
    slab->fresh = 1;
    slab->free = 0;
}
