/*
 * The allocator of growing structures under test.
 */
#include "growth.h"

#include <stdio.h>

#include "aligned_memory.h"

static size_t allowed = SIZE_MAX;
static uint64_t refused;
static size_t outstanding;

/* Stands before each piece of memory. It shows whether the piece is given back with the size with
 * which it was taken. */
struct piece {
    _Alignas(64) size_t bytes;
};

static void *allocate(size_t alignment, size_t bytes, void *context)
{
    struct piece *piece;

    (void)context;
    if (alignment > _Alignof(struct piece) || bytes == 0) {
        fprintf(stderr, "asked for %zu bytes aligned to %zu\n", bytes, alignment);
        abort();
    }
    if (allowed == 0) {
        refused++;
        return NULL;
    }
    allowed -= allowed != SIZE_MAX;
    piece = aligned_memory(_Alignof(struct piece), sizeof *piece + bytes);
    if (piece == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    piece->bytes = bytes;
    outstanding++;
    return piece + 1;
}

static void release(void *memory, size_t bytes, void *context)
{
    struct piece *piece = (struct piece *)memory - 1;

    (void)context;
    if (piece->bytes != bytes) {
        fprintf(stderr, "gave back %zu bytes of %zu\n", bytes, piece->bytes);
        abort();
    }
    outstanding--;
    free(piece);
}

const struct elapse_allocator growth_allocator = {.allocate = allocate, .release = release};

void growth_limit(size_t requests)
{
    allowed = requests;
}

uint64_t growth_refused(void)
{
    return refused;
}

size_t growth_outstanding(void)
{
    return outstanding;
}
