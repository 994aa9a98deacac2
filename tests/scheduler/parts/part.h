/*
 * What the tests of single parts share: cmocka, the random source, and an allocator
 * that counts and can refuse.
 */
#ifndef ELAPSE_TESTS_PART_H
#define ELAPSE_TESTS_PART_H

#include <elapse/scheduler.h>

#include "../../support/test.h"
#include "aligned_memory.h"
#include "random.h"

struct counting_memory {
    size_t blocks;        /* that have not been released */
    size_t bytes;         /* of the blocks that have not been released */
    size_t until_refused; /* how many more requests succeed before one is refused */
};

static inline void *counting_allocate(size_t alignment, size_t bytes, void *context)
{
    struct counting_memory *counting = (struct counting_memory *)context;

    if (counting->until_refused-- == 0)
        return NULL;
    counting->blocks++;
    counting->bytes += bytes;
    return aligned_memory(alignment, bytes);
}

static inline void counting_release(void *memory, size_t bytes, void *context)
{
    struct counting_memory *counting = (struct counting_memory *)context;

    counting->blocks--;
    counting->bytes -= bytes;
    free(memory);
}

static inline struct elapse_allocator counting_allocator(struct counting_memory *counting)
{
    *counting = (struct counting_memory){.until_refused = SIZE_MAX};
    return (struct elapse_allocator){
        .allocate = counting_allocate, .release = counting_release, .context = counting};
}

#endif
