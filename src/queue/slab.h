/*
 * Records of one size, numbered from 1, in chunks. The record that was given back last is used
 * again first. The first four bytes of a free record are the number of the next free record.
 */
#ifndef ELAPSE__QUEUE_SLAB_H
#define ELAPSE__QUEUE_SLAB_H

#include "chunks.h"

struct elapse__queue_slab {
    struct elapse__queue_chunks chunks;
    uint32_t fresh; /* no record from this number on was ever used */
    uint32_t free;  /* the first free record below `fresh`; 0: there is none */
    uint32_t count; /* records in use */
    uint32_t most;  /* the greatest number */
};

void elapse__queue_slab_init(struct elapse__queue_slab *slab, uint32_t bits, size_t record_bytes,
                             uint32_t most);
void elapse__queue_slab_free(struct elapse__queue_slab *slab,
                             const struct elapse_allocator *memory);

/* Makes sure that a record can be taken. Returns false if there is no memory, or all are in use. */
bool elapse__queue_slab_reserve(struct elapse__queue_slab *slab,
                                const struct elapse_allocator *memory);

/* Makes sure that so many records can be taken. Returns false as elapse__queue_slab_reserve does.
 */
bool elapse__queue_slab_reserve_many(struct elapse__queue_slab *slab, uint32_t records,
                                     const struct elapse_allocator *memory);

/* Returns the number of a record, whose bytes are zero; 0 if there is no memory, or all are in
 * use. */
uint32_t elapse__queue_slab_take(struct elapse__queue_slab *slab,
                                 const struct elapse_allocator *memory);
void elapse__queue_slab_give(struct elapse__queue_slab *slab, uint32_t record);

/* Releases all chunks but the first. Requires that no record is in use. */
void elapse__queue_slab_trim(struct elapse__queue_slab *slab,
                             const struct elapse_allocator *memory);

static inline void *elapse__queue_slab_at(const struct elapse__queue_slab *slab, uint32_t record)
{
    ELAPSE__ASSERT_THAT(record, >, 0);
    ELAPSE__ASSERT_THAT(record, <, slab->fresh);
    return elapse__queue_chunks_at(&slab->chunks, record);
}

#endif
