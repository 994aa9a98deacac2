/*
 * Tests that `new`, and not only `start`, refuses a size of stacks with which no thread can be
 * made.
 */
#include "fixture.h"

static enum elapse_error new_with_stack(size_t stack_bytes)
{
    struct elapse_scheduler_options options;
    struct elapse_scheduler *scheduler;

    elapse_scheduler_options_init(&options);
    options.stack_bytes = stack_bytes;
    enum elapse_error error = elapse_scheduler_new(&options, &scheduler);

    assert_int_equal(scheduler != NULL, error == ELAPSE_OK);
    if (error == ELAPSE_OK) {
        assert_ok(elapse_scheduler_start(scheduler));
        scheduler_end(scheduler);
    }
    return error;
}

TEST(new_takes_stacks_that_threads_can_have)
{
    assert_ok(new_with_stack(0));
    assert_ok(new_with_stack(1 << 20));
}

TEST(new_refuses_a_stack_that_is_too_small)
{
    struct elapse_scheduler_options options;
    struct elapse_scheduler *scheduler;

    elapse_scheduler_options_init(&options);
    options.stack_bytes = 1;
    assert_int_equal(elapse_scheduler_new(&options, &scheduler), ELAPSE_ERROR_ARGUMENT);
    assert_null(scheduler);
    options.stack_bytes = 1024;
    assert_int_equal(elapse_scheduler_new(&options, &scheduler), ELAPSE_ERROR_ARGUMENT);
    assert_null(scheduler);
}

TEST_MAIN("stack_size")
