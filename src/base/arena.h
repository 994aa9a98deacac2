/*
 * An arena: blocks of memory out of regions of 2 MiB, which a source gives and takes back. The
 * system can serve such a region with one huge page. Then the region costs one page fault, and not
 * 512.
 *
 *      region   | header | block | block | free ... | block | free |
 *
 * A block takes whole units of 256 bytes. The header has a bitmap of the units in use. A block goes
 * to the first region that has room, and there to the first place that has room. So the last
 * regions are those that become empty. A region that becomes empty goes back to its source, if the
 * others have a region of free memory, or no block at all.
 *
 * Invariants:
 *
 *      A1  No run of free units of a region is longer than its `longest`.
 *      A2  No region before `first[bits]` has a run of 2^bits units.
 *
 * Requires, for every function: one thread at a time.
 */
#ifndef ELAPSE__ARENA_H
#define ELAPSE__ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ELAPSE__REGION_BYTES = 2 << 20,
    ELAPSE__ARENA_UNIT_BYTES = 256,
    ELAPSE__ARENA_CLASSES = 13,          /* 2^13 units are a region */
    ELAPSE__ARENA_BLOCK_MAX = 1 << 20,   /* bytes; a larger block would waste most of a region */
    ELAPSE__ARENA_LOW_BYTES = 512 << 10, /* with less free memory the arena wants a region */
};

/* Where regions come from. */
struct elapse__region_source {
    /* Returns `bytes` bytes of zeros, a multiple of a region, aligned to a region; NULL: there is
     * no memory. With `is_touched` the memory is there already: no write causes a page fault. */
    void *(*map)(size_t bytes, bool is_touched);
    void (*unmap)(void *regions, size_t bytes);
};

struct elapse__region;

struct elapse__arena {
    struct elapse__region **regions;
    uint32_t count, capacity;
    uint64_t free_units; /* of all regions */
    uint32_t first[ELAPSE__ARENA_CLASSES];
};

/* An arena begins as zeros. */

/* Returns a block of 1 to ELAPSE__ARENA_BLOCK_MAX bytes, aligned to a unit; NULL: there is no
 * memory. */
void *elapse__arena_allocate(struct elapse__arena *arena,
                             const struct elapse__region_source *source, size_t bytes);

/* Releases a block of `bytes` bytes. */
void elapse__arena_release(struct elapse__arena *arena, const struct elapse__region_source *source,
                           void *block, size_t bytes);

/* Returns whether little memory is free. If elapse__arena_add is called then, the thread that
 * allocates need not wait until a region is mapped. */
bool elapse__arena_is_low(const struct elapse__arena *arena);

/* Adds a region of the source. Returns false if there is no memory for that: the region stays the
 * caller's. */
bool elapse__arena_add(struct elapse__arena *arena, void *region);

/* Returns whether the invariants hold. Reads all regions: for tests. */
bool elapse__arena_check(const struct elapse__arena *arena);

#endif
