/*
 * An arena gives out blocks of memory, which it cuts from regions of 2 MiB. A source gives the
 * regions and takes them back. The system can serve a region with one huge page. Then the region
 * costs one page fault in place of 512. The table of the arena, `regions`, lists the regions.
 *
 *      region   | header | block | block | free ... | block | free |
 *
 * A block takes whole units of 256 bytes. The header of a region has a bitmap of the units in use.
 * A block goes to the first region of the table that has room, and there to the first place that
 * has room. So the last regions of the table become empty first. A region that becomes empty goes
 * back to its source if the other regions together have as much free memory as a whole region. When
 * the arena has no block any more, all regions go back.
 *
 * Invariants:
 *
 *      A1  `longest` of a region is an upper limit: every run of free units in the region has at
 *          most `longest` units.
 *      A2  The search for a run of 2^n or more free units may begin at the index `first[n]` of the
 *          table: no region before this index has such a run.
 *
 * Every function requires that one thread at a time uses the arena.
 */
#ifndef ELAPSE__ARENA_H
#define ELAPSE__ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ELAPSE__REGION_BYTES = 2 << 20,
    ELAPSE__ARENA_UNIT_BYTES = 256,
    ELAPSE__ARENA_CLASSES = 13,          /* a region has 2^13 units */
    ELAPSE__ARENA_BLOCK_MAX = 1 << 20,   /* in bytes; a larger block would waste most of a region */
    ELAPSE__ARENA_LOW_BYTES = 512 << 10, /* with less free memory the arena wants a region */
};

/* Where regions come from. */
struct elapse__region_source {
    /* Returns `bytes` bytes of zeros, aligned to the size of a region; NULL if there is no memory.
     * `bytes` is a multiple of the size of a region. If `is_touched` is true, asks the system to
     * provide all pages now, so that later no write has to wait for a page. A system that cannot do
     * this provides each page at its first use. */
    void *(*map)(size_t bytes, bool is_touched);
    void (*unmap)(void *regions, size_t bytes);
};

struct elapse__region;

struct elapse__arena {
    struct elapse__region **regions;       /* the table */
    uint32_t count, capacity;              /* of the table */
    uint64_t free_units;                   /* free units of all regions together */
    uint32_t first[ELAPSE__ARENA_CLASSES]; /* invariant A2 */
};

/* An arena begins as zeros. */

/* Returns a block of `bytes` bytes, aligned to a unit; NULL if there is no memory. Requires that
 * `bytes` is from 1 to ELAPSE__ARENA_BLOCK_MAX. */
void *elapse__arena_allocate(struct elapse__arena *arena,
                             const struct elapse__region_source *source, size_t bytes);

/* Releases a block that was allocated with `bytes` bytes. */
void elapse__arena_release(struct elapse__arena *arena, const struct elapse__region_source *source,
                           void *block, size_t bytes);

/* Returns whether little memory is free. If the caller then adds a region by elapse__arena_add, a
 * thread that allocates need not wait until a region is mapped. */
bool elapse__arena_is_low(const struct elapse__arena *arena);

/* Adds a region that the caller got from the source. Returns false if there is no memory for a
 * larger table; then the region still belongs to the caller. */
bool elapse__arena_add(struct elapse__arena *arena, void *region);

/* Returns whether the invariants hold. This function is for tests, because it reads all regions. */
bool elapse__arena_check(const struct elapse__arena *arena);

#endif
