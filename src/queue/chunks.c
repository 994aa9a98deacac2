#include "chunks.h"

#include <stddef.h>
#include <string.h>

enum {
    FIRST_ROOM = 4,
    WIDER_BITS = 2, /* a small chunk becomes larger by 2^WIDER_BITS */
};

void elapse__queue_chunks_init(struct elapse__queue_chunks *chunks, uint32_t bits,
                               size_t item_bytes)
{
    elapse__queue_chunks_init_small(chunks, bits, bits, item_bytes);
}

void elapse__queue_chunks_init_small(struct elapse__queue_chunks *chunks, uint32_t bits,
                                     uint32_t begin_bits, size_t item_bytes)
{
    ELAPSE__ASSERT_THAT(bits, <, 32);
    ELAPSE__ASSERT_THAT(begin_bits, <=, bits);
    ELAPSE__ASSERT_THAT(item_bytes, >, 0);
    *chunks = (struct elapse__queue_chunks){
        .bits = (uint8_t)bits,
        .begin_bits = (uint8_t)begin_bits,
        .first_bits = (uint8_t)begin_bits,
        .item_bytes = (uint32_t)item_bytes,
    };
}

static size_t chunk_bytes(const struct elapse__queue_chunks *chunks)
{
    return (size_t)chunks->item_bytes << chunks->first_bits;
}

/* Allocates a chunk. A small chunk is not aligned to a cache line, because malloc is quicker than
 * aligned_alloc. */
static void *make_chunk(const struct elapse__queue_chunks *chunks,
                        const struct elapse_allocator *memory)
{
    size_t alignment =
        chunks->first_bits < chunks->bits ? _Alignof(max_align_t) : ELAPSE__LINE_BYTES;
    return elapse__allocate_locked(memory, alignment, chunk_bytes(chunks));
}

/* Makes the only chunk larger. Requires that the chunk is a small one. */
static bool widen_chunk(struct elapse__queue_chunks *chunks, const struct elapse_allocator *memory)
{
    struct elapse__queue_chunks wider = *chunks;
    uint32_t bits = chunks->first_bits + WIDER_BITS;
    wider.first_bits = bits < chunks->bits ? (uint8_t)bits : chunks->bits;
    ELAPSE__ASSERT_THAT(chunks->count, ==, 1);
    ELAPSE__ASSERT_THAT(wider.first_bits, >, chunks->first_bits);
    void *chunk = make_chunk(&wider, memory);
    if (chunk == NULL)
        return false;
    memcpy(chunk, chunks->directory[0], chunk_bytes(chunks));
    elapse__release_locked(memory, chunks->directory[0], chunk_bytes(chunks));
    *chunks = wider;
    chunks->directory[0] = chunk;
    return true;
}

static void release_last(struct elapse__queue_chunks *chunks, const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(chunks->count, >, 0);
    elapse__release_locked(memory, chunks->directory[--chunks->count], chunk_bytes(chunks));
    if (chunks->count == 0)
        chunks->first_bits = chunks->begin_bits;
}

void elapse__queue_chunks_free(struct elapse__queue_chunks *chunks,
                               const struct elapse_allocator *memory)
{
    while (chunks->count > 0)
        release_last(chunks, memory);
    if (chunks->room > 0)
        elapse__release_locked(memory, chunks->directory, chunks->room * sizeof *chunks->directory);
    chunks->directory = NULL;
    chunks->room = 0;
}

static bool resize_directory(struct elapse__queue_chunks *chunks, uint32_t room,
                             const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(room, >=, chunks->count);
    void **directory = elapse__allocate_locked(memory, _Alignof(void *), room * sizeof *directory);
    if (directory == NULL)
        return false;
    if (chunks->room > 0) {
        memcpy(directory, chunks->directory, chunks->count * sizeof *directory);
        elapse__release_locked(memory, chunks->directory, chunks->room * sizeof *directory);
    }
    chunks->directory = directory;
    chunks->room = room;
    return true;
}

bool elapse__queue_chunks_grow(struct elapse__queue_chunks *chunks,
                               const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(chunks->count, <=, chunks->room);
    ELAPSE__ASSERT(chunks->count <= 1 || chunks->first_bits == chunks->bits);
    if (chunks->count == 1 && chunks->first_bits < chunks->bits)
        return widen_chunk(chunks, memory);
    if (chunks->count == chunks->room &&
        !resize_directory(chunks, chunks->room == 0 ? FIRST_ROOM : 2 * chunks->room, memory))
        return false;
    void *chunk = make_chunk(chunks, memory);
    if (chunk == NULL)
        return false;
    chunks->directory[chunks->count++] = chunk;
    return true;
}

void elapse__queue_chunks_shrink(struct elapse__queue_chunks *chunks,
                                 const struct elapse_allocator *memory)
{
    release_last(chunks, memory);
    /* If there is no memory for a smaller directory, the directory stays as it is. */
    if (chunks->room > FIRST_ROOM && chunks->count <= chunks->room / 4)
        (void)resize_directory(chunks, chunks->room / 2, memory);
}
