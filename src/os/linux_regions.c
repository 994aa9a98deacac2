/*
 * Gets regions of memory from Linux. A region is a large piece of memory, and regions.h declares
 * the functions.
 */
#include "regions.h"

#include <sys/mman.h>

#include "../base/assert.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* the number that Linux 5.14 has brought */
#endif

static void *map_bytes(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void unmap_bytes(void *memory, size_t bytes)
{
    int failed = bytes == 0 ? 0 : munmap(memory, bytes);
    ELAPSE__ASSERT(failed == 0);
    (void)failed; /* if the call fails, some memory is wasted, and nothing else happens */
}

/* Returns memory that begins at a multiple of ELAPSE__REGION_BYTES. Maps one region too many, and
 * gives back what lies before and after the aligned memory. */
static void *map_aligned(size_t bytes)
{
    unsigned char *memory = map_bytes(bytes + ELAPSE__REGION_BYTES);
    if (memory == NULL)
        return NULL;
    size_t before = (size_t)(-(uintptr_t)memory % ELAPSE__REGION_BYTES);
    unmap_bytes(memory, before);
    unmap_bytes(memory + before + bytes, ELAPSE__REGION_BYTES - before);
    ELAPSE__ASSERT_THAT((uintptr_t)(memory + before) % ELAPSE__REGION_BYTES, ==, 0);
    return memory + before;
}

static void *map(size_t bytes, bool is_touched)
{
    ELAPSE__ASSERT_THAT(bytes, >, 0);
    ELAPSE__ASSERT_THAT(bytes % ELAPSE__REGION_BYTES, ==, 0);
    /* The system usually returns an aligned address, just below the regions that were mapped last.
     */
    void *regions = map_bytes(bytes);
    if (regions != NULL && (uintptr_t)regions % ELAPSE__REGION_BYTES != 0) {
        unmap_bytes(regions, bytes);
        regions = map_aligned(bytes);
    }
    if (regions == NULL)
        return NULL;
    /* A system without huge pages refuses the first call. A Linux before 5.14 refuses the second
     * call. Then the system gives each page when it is used first. */
    (void)madvise(regions, bytes, MADV_HUGEPAGE);
    if (is_touched)
        (void)madvise(regions, bytes, MADV_POPULATE_WRITE);
    return regions;
}

const struct elapse__region_source elapse__regions_linux = {.map = map, .unmap = unmap_bytes};

const struct elapse__region_source *elapse__regions = &elapse__regions_linux;
