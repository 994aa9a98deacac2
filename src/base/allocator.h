/*
 * Memory, from the caller's allocator or from the C library's. elapse__allocate and elapse__release
 * require that the calling thread holds no lock, because an allocator may be the user's code.
 */
#ifndef ELAPSE__ALLOCATOR_H
#define ELAPSE__ALLOCATOR_H

#include <elapse/allocator.h>

#include "assert.h"

/* The size of a cache line. Each block of tasks, and each shard, begins at the beginning of a cache
 * line. */
enum { ELAPSE__LINE_BYTES = 64 };

/* Returns an allocator that uses malloc, aligned_alloc and free. */
struct elapse_allocator elapse__default_allocator(void);

/* Does the same as elapse__allocate. The calling thread may hold a lock. Requires that the
 * allocator is not the user's. */
static inline void *elapse__allocate_locked(const struct elapse_allocator *memory, size_t alignment,
                                            size_t bytes)
{
    ELAPSE__ASSERT(alignment != 0 && (alignment & (alignment - 1)) == 0);
    ELAPSE__ASSERT_THAT(bytes, >, 0);
    return memory->allocate(alignment, bytes, memory->context);
}

/* Returns `bytes` bytes at this alignment, or NULL if there is no memory. */
static inline void *elapse__allocate(const struct elapse_allocator *memory, size_t alignment,
                                     size_t bytes)
{
    ELAPSE__ASSERT_NO_LOCK_HELD();
    return elapse__allocate_locked(memory, alignment, bytes);
}

/* Does the same as elapse__release. The calling thread may hold a lock. Requires that the allocator
 * is not the user's. */
static inline void elapse__release_locked(const struct elapse_allocator *memory, void *block,
                                          size_t bytes)
{
    if (block == NULL)
        return;
    ELAPSE__ASSERT_THAT(bytes, >, 0);
    memory->release(block, bytes, memory->context);
}

/* Releases a block of `bytes` bytes; does nothing if `block` is NULL. */
static inline void elapse__release(const struct elapse_allocator *memory, void *block, size_t bytes)
{
    ELAPSE__ASSERT(block == NULL || elapse__locks_held == 0);
    elapse__release_locked(memory, block, bytes);
}

#endif
