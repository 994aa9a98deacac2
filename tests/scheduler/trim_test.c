/*
 * Trim gives back what a burst of tasks with keys took, the index of the keys included, and the
 * index works as before afterwards.
 */
#include "fixture.h"

/* The list of the blocks of tasks may stay: a pointer for each 1024 tasks. */
enum { BURST = 100000, KEPT = 10, LEFT_BYTES_MAX = 16 << 10 };

/* How many bytes the scheduler holds. */
static size_t held_bytes;

static void *allocate(size_t alignment, size_t bytes, void *context)
{
    void *block = NULL;

    (void)context;
    if (posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) != 0)
        return NULL;
    held_bytes += bytes;
    return block;
}

static void release(void *block, size_t bytes, void *context)
{
    (void)context;
    held_bytes -= bytes;
    free(block);
}

static struct elapse_scheduler *counting_new(void)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 2);

    options.allocator.allocate = allocate;
    options.allocator.release = release;
    held_bytes = 0;
    return scheduler_new(&options);
}

static struct elapse_handle schedule_numbered(struct elapse_scheduler *scheduler, size_t number,
                                              enum elapse_key_policy policy)
{
    char key[32];

    (void)snprintf(key, sizeof key, "key %zu", number);

    return schedule_after(scheduler, task_with_key(number, key, policy), ELAPSE_HOUR_NS);
}

static bool find_numbered(struct elapse_scheduler *scheduler, size_t number,
                          struct elapse_handle *handle)
{
    char key[32];

    (void)snprintf(key, sizeof key, "key %zu", number);
    return elapse_task_find(scheduler, key, strlen(key), handle);
}

/* Schedules many, and cancels those from `kept` on. */
static void burst(struct elapse_scheduler *scheduler, struct elapse_handle *handles, size_t kept)
{
    for (size_t i = 0; i < BURST; i++)
        handles[i] = schedule_numbered(scheduler, i, ELAPSE_KEY_FAIL);
    for (size_t i = kept; i < BURST; i++)
        assert_int_equal(elapse_task_cancel(scheduler, handles[i]), ELAPSE_CANCEL_REMOVED);
}

TEST(trim_gives_the_key_index_back)
{
    static struct elapse_handle handles[BURST];
    struct elapse_scheduler *scheduler = counting_new();

    /* What a few tasks leave behind, a burst may leave behind too. */
    for (size_t i = 0; i < KEPT; i++) {
        handles[i] = schedule_numbered(scheduler, i, ELAPSE_KEY_FAIL);
        assert_int_equal(elapse_task_cancel(scheduler, handles[i]), ELAPSE_CANCEL_REMOVED);
    }
    (void)elapse_scheduler_trim(scheduler);
    size_t before = held_bytes;

    for (unsigned round = 0; round < 2; round++) {
        burst(scheduler, handles, 0);
        size_t full = held_bytes;
        size_t trimmed = elapse_scheduler_trim(scheduler);

        assert_int_equal(trimmed, full - held_bytes);
        assert_in_range(held_bytes, 0, before + LEFT_BYTES_MAX);
    }
    scheduler_end(scheduler);
    assert_int_equal(held_bytes, 0);
}

TEST(keys_are_found_after_a_trim)
{
    static struct elapse_handle handles[BURST];
    struct elapse_scheduler *scheduler = counting_new();
    struct elapse_handle handle;

    for (unsigned round = 0; round < 2; round++) {
        burst(scheduler, handles, KEPT);
        (void)elapse_scheduler_trim(scheduler);
        for (size_t i = 0; i < KEPT; i++) {
            assert_true(find_numbered(scheduler, i, &handle));
            assert_true(same_handle(handle, handles[i]));
            assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
        }
        for (size_t i = 0; i < BURST; i += 100)
            assert_false(find_numbered(scheduler, i, &handle));
    }
    scheduler_end(scheduler);
    assert_int_equal(held_bytes, 0);
}

TEST_MAIN("trim")
