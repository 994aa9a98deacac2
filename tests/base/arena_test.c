/*
 * The arena: blocks have their own bytes, regions come when they are needed and go when they are
 * empty, and a system without memory breaks nothing.
 */
#include "../support/test.h"

#include "../support/random.h"
#include "arena.h"

/* ---- a source that counts ---- */

static uint32_t mapped; /* regions */
static bool is_exhausted;

static void *count_map(size_t bytes, bool is_touched)
{
    assert_int_equal(bytes, ELAPSE__REGION_BYTES);
    assert_true(is_touched);
    if (is_exhausted)
        return NULL;
    void *region = aligned_alloc(ELAPSE__REGION_BYTES, ELAPSE__REGION_BYTES);
    assert_non_null(region);
    mapped++;
    return memset(region, 0, ELAPSE__REGION_BYTES);
}

static void count_unmap(void *region, size_t bytes)
{
    assert_int_equal(bytes, ELAPSE__REGION_BYTES);
    mapped--;
    free(region);
}

static const struct elapse__region_source source = {count_map, count_unmap};

struct block {
    unsigned char *bytes;
    size_t size;
    unsigned char mark;
};

static struct block take(struct elapse__arena *arena, size_t size, unsigned char mark)
{
    struct block block = {elapse__arena_allocate(arena, &source, size), size, mark};
    if (block.bytes != NULL)
        memset(block.bytes, mark, size);
    return block;
}

/* Releases the block, if all of its bytes are still its own. */
static void give(struct elapse__arena *arena, struct block *block)
{
    for (size_t i = 0; i < block->size; i++)
        if (block->bytes[i] != block->mark)
            fail_msg("byte %zu of %zu belongs to another block", i, block->size);
    elapse__arena_release(arena, &source, block->bytes, block->size);
    block->bytes = NULL;
}

/* ---- the tests ---- */

TEST(blocks_of_all_sizes_keep_their_bytes)
{
    enum { BLOCKS = 400, STEPS = 6000 };
    static const size_t sizes[] = {1,     256,   257,    4096,
                                   14336, 69696, 300000, ELAPSE__ARENA_BLOCK_MAX};
    static struct block blocks[BLOCKS];
    struct elapse__arena arena = {.regions = NULL};
    struct random_source random = {7};

    for (unsigned step = 0; step < STEPS; step++) {
        struct block *block = &blocks[random_index(&random, BLOCKS)];
        if (block->bytes != NULL) {
            give(&arena, block);
        } else {
            size_t kind = random_index(&random, random_one_in(&random, 20) ? 8 : 6);
            *block = take(&arena, sizes[kind], (unsigned char)step);
            assert_non_null(block->bytes);
            assert_int_equal((uintptr_t)block->bytes % ELAPSE__ARENA_UNIT_BYTES, 0);
        }
        if (step % 16 == 0)
            assert_true(elapse__arena_check(&arena));
        assert_int_equal(arena.count, mapped);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        if (blocks[i].bytes != NULL)
            give(&arena, &blocks[i]);
    assert_int_equal(mapped, 0);
    assert_null(arena.regions);
}

TEST(a_block_that_was_released_is_the_first_to_be_used_again)
{
    enum { REGIONS = 3, A_REGION = 29 };
    struct block blocks[REGIONS * A_REGION];
    struct elapse__arena arena = {.regions = NULL};

    for (unsigned i = 0; i < REGIONS * A_REGION; i++)
        blocks[i] = take(&arena, 69696, (unsigned char)i);
    assert_int_equal(mapped, REGIONS);
    for (unsigned i = 0; i < REGIONS * A_REGION; i += A_REGION) {
        unsigned char *bytes = blocks[i].bytes;
        give(&arena, &blocks[i]);
        blocks[i] = take(&arena, 69696, 1);
        assert_ptr_equal(blocks[i].bytes, bytes);
    }
    for (unsigned i = 0; i < REGIONS * A_REGION; i++)
        give(&arena, &blocks[i]);
    assert_int_equal(mapped, 0);
}

TEST(regions_that_are_empty_go_back_except_for_one)
{
    enum { BLOCKS = 8 }; /* one in each region */
    struct block blocks[BLOCKS];
    struct elapse__arena arena = {.regions = NULL};

    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = take(&arena, ELAPSE__ARENA_BLOCK_MAX, (unsigned char)i);
    assert_int_equal(mapped, BLOCKS);
    struct block small = take(&arena, 100, 1);
    for (unsigned i = BLOCKS - 1; i > 0; i--) {
        give(&arena, &blocks[i]);
        assert_in_range(mapped, i, i + 1);
        assert_true(elapse__arena_check(&arena));
    }
    give(&arena, &blocks[0]);
    assert_in_range(mapped, 1, 2);
    give(&arena, &small);
    assert_int_equal(mapped, 0);
}

TEST(without_memory_a_block_is_refused_and_nothing_changes)
{
    struct elapse__arena arena = {.regions = NULL};

    is_exhausted = true;
    assert_null(take(&arena, 4096, 1).bytes);
    assert_int_equal(arena.count, 0);
    is_exhausted = false;
    struct block first = take(&arena, ELAPSE__ARENA_BLOCK_MAX, 1);
    is_exhausted = true;
    assert_null(take(&arena, ELAPSE__ARENA_BLOCK_MAX, 1).bytes);
    assert_true(elapse__arena_check(&arena));
    struct block second = take(&arena, ELAPSE__ARENA_BLOCK_MAX / 2, 2); /* there is room for this */
    assert_non_null(second.bytes);
    is_exhausted = false;
    give(&arena, &first);
    give(&arena, &second);
    assert_int_equal(mapped, 0);
}

TEST(a_region_that_was_added_saves_an_allocation_the_map)
{
    struct elapse__arena arena = {.regions = NULL};
    struct block blocks[2];

    assert_true(elapse__arena_is_low(&arena));
    blocks[0] = take(&arena, ELAPSE__ARENA_BLOCK_MAX, 1);
    assert_false(elapse__arena_is_low(&arena));
    struct block more = take(&arena, ELAPSE__ARENA_BLOCK_MAX / 4 * 3, 1);
    assert_true(elapse__arena_is_low(&arena));
    assert_true(elapse__arena_add(&arena, count_map(ELAPSE__REGION_BYTES, true)));
    assert_false(elapse__arena_is_low(&arena));
    assert_true(elapse__arena_check(&arena));
    blocks[1] = take(&arena, ELAPSE__ARENA_BLOCK_MAX, 1);
    assert_int_equal(mapped, 2);
    give(&arena, &blocks[0]);
    give(&arena, &more);
    give(&arena, &blocks[1]);
    assert_int_equal(mapped, 0);
}

TEST_MAIN("arena")
