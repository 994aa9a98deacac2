/*
 * Tests the memory of the stores of a process. It comes in regions, and is freed with the last
 * store. If the system has no memory, a command fails, and the store still works.
 */
#include "fixture.h"

#include "../../../src/os/regions.h"

static _Atomic(unsigned) mapped; /* regions */
static _Atomic(bool) is_exhausted;

static void *count_map(size_t bytes, bool is_touched)
{
    void *regions = is_exhausted ? NULL : elapse__regions_linux.map(bytes, is_touched);
    if (regions != NULL)
        mapped += (unsigned)(bytes / ELAPSE__REGION_BYTES);
    return regions;
}

static void count_unmap(void *regions, size_t bytes)
{
    mapped -= (unsigned)(bytes / ELAPSE__REGION_BYTES);
    elapse__regions_linux.unmap(regions, bytes);
}

static const struct elapse__region_source counting = {count_map, count_unmap};

static enum elapse_error open_in_memory(struct elapse_queue **opened)
{
    struct elapse_queue_options options;

    elapse_queue_options_init(&options);
    options.durability = ELAPSE_DURABILITY_MEMORY;
    options.segment_bytes = 1 << 20;
    return elapse_queue_open(NULL, &options, opened, NULL);
}

/* Puts jobs until the answer is an error, at most `count`. Returns the last answer. */
static enum elapse_error put_many(struct elapse_queue *opened, unsigned count)
{
    struct elapse_put put = {.tube = "tube", .delay_ms = 3600000};
    enum elapse_error error = ELAPSE_OK;

    for (unsigned i = 0; i < count && error == ELAPSE_OK; i++)
        error = elapse_queue_put(opened, &put, NULL);
    return error;
}

TEST(regions_are_shared_and_gone_with_the_last_store)
{
    struct elapse_queue *one, *other;

    elapse__regions = &counting;
    assert_int_equal(open_in_memory(&one), ELAPSE_OK);
    assert_int_equal(open_in_memory(&other), ELAPSE_OK);
    assert_int_equal(mapped, 1);
    assert_int_equal(put_many(one, 20000), ELAPSE_OK);
    assert_int_equal(put_many(other, 20000), ELAPSE_OK);
    assert_in_range(mapped, 2, 6);
    assert_int_equal(elapse_queue_close(one), ELAPSE_OK);
    assert_int_equal(elapse_queue_close(other), ELAPSE_OK);
    assert_int_equal(mapped, 0);
    elapse__regions = &elapse__regions_linux;
}

TEST(without_memory_commands_fail_and_the_store_goes_on)
{
    struct elapse_queue *opened;

    elapse__regions = &counting;
    is_exhausted = true;
    assert_int_equal(open_in_memory(&opened), ELAPSE_ERROR_MEMORY);
    is_exhausted = false;
    assert_int_equal(open_in_memory(&opened), ELAPSE_OK);
    is_exhausted = true;
    assert_int_equal(put_many(opened, 200000), ELAPSE_ERROR_MEMORY);
    is_exhausted = false;
    assert_int_equal(put_many(opened, 20000), ELAPSE_OK);
    assert_int_equal(elapse_queue_close(opened), ELAPSE_OK);
    assert_int_equal(mapped, 0);
    elapse__regions = &elapse__regions_linux;
}

/* The journal takes memory of its own for the body. If it gets none, the answer names memory, and
 * not a full disk. */
TEST(a_body_without_memory_is_refused_for_want_of_memory)
{
    static const char body[(1 << 20) + 1];
    struct elapse_queue_options options;
    struct elapse_queue *opened;
    struct elapse_put put = {.tube = "tube", .body = body, .body_bytes = sizeof body};

    elapse__regions = &counting;
    elapse_queue_options_init(&options);
    options.durability = ELAPSE_DURABILITY_MEMORY;
    options.body_bytes_max = sizeof body;
    assert_int_equal(elapse_queue_open(NULL, &options, &opened, NULL), ELAPSE_OK);
    is_exhausted = true;
    assert_int_equal(elapse_queue_put(opened, &put, NULL), ELAPSE_ERROR_MEMORY);
    is_exhausted = false;
    assert_int_equal(elapse_queue_put(opened, &put, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_close(opened), ELAPSE_OK);
    assert_int_equal(mapped, 0);
    elapse__regions = &elapse__regions_linux;
}

TEST_MAIN("regions")
