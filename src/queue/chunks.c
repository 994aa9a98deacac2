#include "chunks.h"

#include <string.h>

enum { FIRST_ROOM = 4 };

void elapse__queue_chunks_init(struct elapse__queue_chunks *chunks, uint32_t bits,
                               size_t item_bytes)
{
    ELAPSE__ASSERT_THAT(bits, <, 32);
    ELAPSE__ASSERT_THAT(item_bytes, >, 0);
    *chunks = (struct elapse__queue_chunks){.bits = bits, .item_bytes = (uint32_t)item_bytes};
}

static size_t chunk_bytes(const struct elapse__queue_chunks *chunks)
{
    return (size_t)chunks->item_bytes << chunks->bits;
}

void elapse__queue_chunks_free(struct elapse__queue_chunks *chunks,
                               const struct elapse_allocator *memory)
{
    while (chunks->count > 0)
        elapse__queue_chunks_shrink(chunks, memory);
    if (chunks->room > 0)
        elapse__release_locked(memory, chunks->directory, chunks->room * sizeof *chunks->directory);
    chunks->directory = NULL;
    chunks->room = 0;
}

static bool double_directory(struct elapse__queue_chunks *chunks,
                             const struct elapse_allocator *memory)
{
    uint32_t room = chunks->room == 0 ? FIRST_ROOM : 2 * chunks->room;
    void **directory = elapse__allocate_locked(memory, _Alignof(void *), room * sizeof *directory);
    if (directory == NULL)
        return false;
    if (chunks->room > 0) {
        memcpy(directory, chunks->directory, chunks->room * sizeof *directory);
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
    if (chunks->count == chunks->room && !double_directory(chunks, memory))
        return false;
    void *chunk = elapse__allocate_locked(memory, ELAPSE__LINE_BYTES, chunk_bytes(chunks));
    if (chunk == NULL)
        return false;
    chunks->directory[chunks->count++] = chunk;
    return true;
}

void elapse__queue_chunks_shrink(struct elapse__queue_chunks *chunks,
                                 const struct elapse_allocator *memory)
{
    ELAPSE__ASSERT_THAT(chunks->count, >, 0);
    elapse__release_locked(memory, chunks->directory[--chunks->count], chunk_bytes(chunks));
}
