/*
 * Tests the short form of scheduling: a function, a context and a delay.
 */
#include "fixture.h"

MANUAL_TEST(it_runs_once_after_the_delay)
{
    struct elapse_handle handle = {0, 0, 0};

    assert_int_equal(step(scheduler, 3 * TICK_NS), 0);
    assert_ok(elapse_after(scheduler, 5 * TICK_NS, write_run, name_of('a'), &handle));
    assert_ok(elapse_after(scheduler, 6 * TICK_NS, write_run, name_of('b'), NULL));
    expect_step(scheduler, 8 * TICK_NS - 1, "");
    expect_step(scheduler, 8 * TICK_NS, "a");
    assert_true(same_handle(run_at(0).run.handle, handle));
    expect_step(scheduler, 100 * TICK_NS, "b");
}

MANUAL_TEST(its_handle_cancels_it)
{
    struct elapse_handle handle = {0, 0, 0};

    assert_ok(elapse_after(scheduler, TICK_NS, write_run, name_of('a'), &handle));
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    expect_step(scheduler, 9 * TICK_NS, "");
}

MANUAL_TEST(it_is_refused_as_the_long_form_is)
{
    assert_int_equal(elapse_after(scheduler, 0, NULL, NULL, NULL), ELAPSE_ERROR_ARGUMENT);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    assert_int_equal(elapse_after(scheduler, 0, write_run, NULL, NULL), ELAPSE_ERROR_CLOSED);
}

TEST_MAIN("after")
