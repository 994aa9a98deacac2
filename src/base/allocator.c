#include "allocator.h"

#include <stdlib.h>

#include "assert.h"

static void *allocate(size_t alignment, size_t bytes, void *context)
{
    (void)context;
    if (alignment <= _Alignof(max_align_t))
        return malloc(bytes);
    ELAPSE__ASSERT((alignment & (alignment - 1)) == 0);
    /* C11 requires that the size is a multiple of the alignment. */
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release(void *block, size_t bytes, void *context)
{
    (void)bytes;
    (void)context;
    free(block);
}

struct elapse_allocator elapse__default_allocator(void)
{
    return (struct elapse_allocator){.allocate = allocate, .release = release};
}
