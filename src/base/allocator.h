/*
 * Memory, from the caller's allocator or the C library's. Never called with a lock
 * held: an allocator is the user's code.
 */
#ifndef ELAPSE__ALLOCATOR_H
#define ELAPSE__ALLOCATOR_H

#include <elapse/allocator.h>

/* Of a cache line; blocks of tasks and shards begin with one. */
enum { ELAPSE__LINE_BYTES = 64 };

/* The C library's allocator. */
struct elapse_allocator elapse__default_allocator(void);

static inline void *elapse__allocate(const struct elapse_allocator *memory, size_t alignment,
                                     size_t bytes)
{
    return memory->allocate(alignment, bytes, memory->context);
}

static inline void elapse__release(const struct elapse_allocator *memory, void *block, size_t bytes)
{
    if (block != NULL)
        memory->release(block, bytes, memory->context);
}

#endif
