#include "memory.h"

#include <stdatomic.h>

#include "../../base/allocator.h"
#include "../../os/lock.h"
#include "../../os/regions.h"

/* There are few smaller blocks, such as tables of tubes. The C library has them. */
enum { ARENA_BLOCK_MIN = 2 << 10 };

static struct elapse__lock lock = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct elapse__arena arena;
static _Atomic bool is_low; /* changed only while the lock is held */

static void *allocate_in_arena(size_t bytes)
{
    elapse__lock_inner(&lock);
    void *block = elapse__arena_allocate(&arena, elapse__regions, bytes);
    atomic_store_explicit(&is_low, elapse__arena_is_low(&arena), memory_order_relaxed);
    elapse__unlock(&lock);
    return block;
}

static size_t whole_regions(size_t bytes)
{
    return (bytes + ELAPSE__REGION_BYTES - 1) / ELAPSE__REGION_BYTES * ELAPSE__REGION_BYTES;
}

static void *allocate(size_t alignment, size_t bytes, void *context)
{
    struct elapse_allocator small = elapse__default_allocator();

    (void)context;
    ELAPSE__ASSERT_THAT(alignment, <=, ELAPSE__LINE_BYTES);
    ELAPSE__ASSERT_THAT(bytes, >, 0);
    if (bytes < ARENA_BLOCK_MIN)
        return elapse__allocate_locked(&small, alignment, bytes);
    if (bytes <= ELAPSE__ARENA_BLOCK_MAX)
        return allocate_in_arena(bytes);
    return elapse__regions->map(whole_regions(bytes), false);
}

static void release(void *block, size_t bytes, void *context)
{
    struct elapse_allocator small = elapse__default_allocator();

    (void)context;
    ELAPSE__ASSERT_THAT(bytes, >, 0);
    if (bytes < ARENA_BLOCK_MIN) {
        elapse__release_locked(&small, block, bytes);
    } else if (bytes <= ELAPSE__ARENA_BLOCK_MAX) {
        elapse__lock_inner(&lock);
        elapse__arena_release(&arena, elapse__regions, block, bytes);
        elapse__unlock(&lock);
    } else {
        elapse__regions->unmap(block, whole_regions(bytes));
    }
}

const struct elapse_allocator elapse__store_memory = {.allocate = allocate, .release = release};

bool elapse__store_memory_is_low(void)
{
    return atomic_load_explicit(&is_low, memory_order_relaxed);
}

void elapse__store_refill_memory(void)
{
    void *region = elapse__regions->map(ELAPSE__REGION_BYTES, true);

    elapse__lock(&lock);
    /* The arena may have got memory meanwhile. If not, the next allocation says again that memory
     * is low. */
    bool is_taken = region != NULL && elapse__arena_is_low(&arena) && arena.count > 0 &&
                    elapse__arena_add(&arena, region);
    atomic_store_explicit(&is_low, false, memory_order_relaxed);
    elapse__unlock(&lock);
    if (region != NULL && !is_taken)
        elapse__regions->unmap(region, ELAPSE__REGION_BYTES);
}
