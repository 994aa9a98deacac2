/*
 * An array that grows by one chunk at a time:
 *
 *      directory   [0] [1] [2] ...
 *                   |   |   |
 *                   v   v   v
 *      chunks      ### ### ##.        each of 2^bits items
 *
 * No call initialises items. The directory doubles when it is full, and becomes half as large when
 * three quarters of it are empty. At 10^8 items of 1,024 a chunk that copies half a megabyte, which
 * takes less than 0.1 ms.
 *
 * An array that may be very small begins with a small first chunk
 * (elapse__queue_chunks_init_small). While the first chunk is the only one, it grows by a factor of
 * four until it is as large as the others will be. No other call moves items.
 */
#ifndef ELAPSE__QUEUE_CHUNKS_H
#define ELAPSE__QUEUE_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/allocator.h"

struct elapse__queue_chunks {
    void **directory;
    uint32_t count;      /* chunks */
    uint32_t room;       /* places in the directory */
    uint8_t bits;        /* 2^bits items a chunk */
    uint8_t begin_bits;  /* 2^begin_bits items in a first chunk when it is made */
    uint8_t first_bits;  /* 2^first_bits items in the first chunk; `bits` if there are more */
    uint32_t item_bytes; /* bytes an item */
};

void elapse__queue_chunks_init(struct elapse__queue_chunks *chunks, uint32_t bits,
                               size_t item_bytes);
void elapse__queue_chunks_init_small(struct elapse__queue_chunks *chunks, uint32_t bits,
                                     uint32_t begin_bits, size_t item_bytes);
void elapse__queue_chunks_free(struct elapse__queue_chunks *chunks,
                               const struct elapse_allocator *memory);

/* Appends a chunk, or makes a small first chunk larger. The bytes of new items are undefined.
 * Returns false if there is no memory; then nothing has changed. */
bool elapse__queue_chunks_grow(struct elapse__queue_chunks *chunks,
                               const struct elapse_allocator *memory);

/* Releases the last chunk. Requires that there is one, and that no item in it is in use. */
void elapse__queue_chunks_shrink(struct elapse__queue_chunks *chunks,
                                 const struct elapse_allocator *memory);

/* Returns how many items there is room for. */
static inline uint64_t elapse__queue_chunks_items(const struct elapse__queue_chunks *chunks)
{
    return (uint64_t)chunks->count << chunks->first_bits;
}

/* Makes room for at least `items` items. Returns false if there is no memory. */
static inline bool elapse__queue_chunks_reserve(struct elapse__queue_chunks *chunks, uint64_t items,
                                                const struct elapse_allocator *memory)
{
    while (elapse__queue_chunks_items(chunks) < items)
        if (!elapse__queue_chunks_grow(chunks, memory))
            return false;
    return true;
}

/* Returns an item of an array with this shape. A caller that knows the shape when it is compiled
 * gets the item in 5 instructions in place of 10. */
static inline void *elapse__queue_chunks_at_shape(const struct elapse__queue_chunks *chunks,
                                                  uint32_t item, uint32_t bits, size_t item_bytes)
{
    ELAPSE__ASSERT_THAT(bits, ==, chunks->bits);
    ELAPSE__ASSERT_THAT(item_bytes, ==, chunks->item_bytes);
    ELAPSE__ASSERT_THAT(item >> bits, <, chunks->count);
    unsigned char *chunk = chunks->directory[item >> bits];
    ELAPSE__ASSERT(chunk != NULL);
    uint32_t mask = ((uint32_t)1 << bits) - 1;
    return chunk + (size_t)(item & mask) * item_bytes;
}

static inline void *elapse__queue_chunks_at(const struct elapse__queue_chunks *chunks,
                                            uint32_t item)
{
    return elapse__queue_chunks_at_shape(chunks, item, chunks->bits, chunks->item_bytes);
}

#endif
