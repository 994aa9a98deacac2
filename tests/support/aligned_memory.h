/*
 * Gives aligned memory to the allocators of tests. free releases it.
 */
#ifndef ELAPSE_TESTS_ALIGNED_MEMORY_H
#define ELAPSE_TESTS_ALIGNED_MEMORY_H

#include <stddef.h>
#include <stdlib.h>

/* Returns `bytes` bytes aligned to `alignment`, a power of two; NULL if there is no memory. C11
 * requires of aligned_alloc that the size is a multiple of the alignment. */
static inline void *aligned_memory(size_t alignment, size_t bytes)
{
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

#endif
