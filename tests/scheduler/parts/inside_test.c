/*
 * Tests what the public interface does not show: how full the key index is, and that trimming finds
 * every task that has ended. The test reads the structs of the scheduler.
 */
#include "part.h"

#include "scheduler.h"

static void nothing(void *context, const struct elapse_run *run)
{
    (void)context;
    (void)run;
}

static struct elapse_scheduler *manual_new(void)
{
    struct elapse_scheduler_options options;
    struct elapse_scheduler *scheduler = NULL;

    elapse_scheduler_options_init(&options);
    options.clock = ELAPSE_CLOCK_MANUAL;
    options.shards = 1;
    assert_int_equal(elapse_scheduler_new(&options, &scheduler), ELAPSE_OK);
    return scheduler;
}

TEST(the_key_index_has_a_bucket_for_each_key)
{
    struct elapse_scheduler *scheduler = manual_new();
    const struct elapse__key_index *keys = &scheduler->shards[0].keys;
    size_t longest = 0;

    for (uint32_t number = 0; number < 40000; number++) {
        const struct elapse_task task = {
            .action = nothing, .key = &number, .key_bytes = sizeof number};

        assert_int_equal(elapse_task_schedule_at(scheduler, &task, ELAPSE_SECOND_NS, NULL),
                         ELAPSE_OK);
        assert_int_equal(keys->count, number + 1);
        assert_true(keys->level + keys->split >= keys->count);
    }
    /* The hash spreads the keys: with 40,000 keys in as many buckets, the chance that a bucket has
     * more than 16 is below one in a billion. */
    for (size_t segment = 0; segment < ELAPSE__KEY_SEGMENTS; segment++) {
        size_t buckets = (size_t)ELAPSE__FIRST_BUCKETS << (segment == 0 ? 0 : segment - 1);

        for (size_t i = 0; keys->segments[segment] != NULL && i < buckets; i++) {
            size_t length = 0;

            for (const struct elapse__key *key = keys->segments[segment][i].first; key != NULL;
                 key = key->next)
                length++;
            longest = length > longest ? length : longest;
        }
    }
    assert_in_range(longest, 1, 16);
    assert_int_equal(elapse_scheduler_free(scheduler), ELAPSE_OK);
}

/* Trimming does, wherever the tasks cancelled last are in the ring of UNLINKING tasks. */
TEST(trimming_finds_every_task_that_has_ended)
{
    for (unsigned cancels = 1; cancels <= 2 * ELAPSE__UNLINKING_MAX + 1; cancels++) {
        struct elapse_scheduler *scheduler = manual_new();
        const struct elapse_task task = {.action = nothing};

        for (unsigned i = 0; i < cancels; i++) {
            struct elapse_handle handle;

            assert_int_equal(elapse_task_schedule_at(scheduler, &task, ELAPSE_SECOND_NS, &handle),
                             ELAPSE_OK);
            assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
        }
        assert_int_equal(elapse_scheduler_trim(scheduler), ELAPSE__BLOCK_BYTES);
        assert_int_equal(elapse_scheduler_trim(scheduler), 0);
        assert_int_equal(elapse_scheduler_free(scheduler), ELAPSE_OK);
    }
}

/* There are several blocks, and the tasks that are left may be in any of them. */
TEST(trimming_gives_back_every_empty_block_and_no_other)
{
    enum { BLOCKS = 5, TASKS = BLOCKS * ELAPSE__BLOCK_TASKS };
    static struct elapse_handle handles[TASKS];
    const struct elapse_task task = {.action = nothing};

    for (unsigned kept = 0; kept < BLOCKS; kept++) {
        struct elapse_scheduler *scheduler = manual_new();

        for (unsigned i = 0; i < TASKS; i++)
            assert_int_equal(
                elapse_task_schedule_at(scheduler, &task, ELAPSE_SECOND_NS, &handles[i]),
                ELAPSE_OK);
        for (unsigned i = 0; i < TASKS; i++) {
            if (i != kept * ELAPSE__BLOCK_TASKS)
                assert_int_equal(elapse_task_cancel(scheduler, handles[i]), ELAPSE_CANCEL_REMOVED);
        }
        assert_int_equal(elapse_scheduler_trim(scheduler),
                         (size_t)(BLOCKS - 1) * ELAPSE__BLOCK_BYTES);
        assert_int_equal(elapse_task_cancel(scheduler, handles[kept * ELAPSE__BLOCK_TASKS]),
                         ELAPSE_CANCEL_REMOVED);
        assert_int_equal(elapse_scheduler_trim(scheduler), ELAPSE__BLOCK_BYTES);
        assert_int_equal(elapse_scheduler_free(scheduler), ELAPSE_OK);
    }
}

TEST_MAIN("inside")
