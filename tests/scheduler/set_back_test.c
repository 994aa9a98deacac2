/*
 * Tests what happens when the wall clock is set back after a thread has read it and before the
 * thread looks for due tasks. A task that was due by the reading is not due any more. No thread
 * waits for it, and tasks by the other clock go on.
 */
#include "../support/fake_os.h"
#include "wall_clock.h"

static void set_back(void *context)
{
    (void)context;
    fake_os_set_wall_clock(FAKE_WALL_CLOCK_NS - ELAPSE_HOUR_NS);
}

static struct elapse_scheduler *fake_new(bool pull)
{
    struct elapse_scheduler_options options = real_options(1, 1);

    fake_os_begin();
    options.pull = pull;
    return scheduler_new(&options);
}

TEST(a_take_does_not_wait_for_a_task_that_is_not_due_any_more)
{
    struct elapse_scheduler *scheduler = fake_new(true);
    struct elapse_taken taken;

    assert_ok(elapse_scheduler_start(scheduler));
    (void)schedule_by_wall_clock(scheduler, task_named('a'), FAKE_WALL_CLOCK_NS + T(1));
    fake_os_advance(T(2));
    fake_os_at_next_reading(ELAPSE__OS_WALL_CLOCK, set_back, NULL);
    assert_int_equal(elapse_task_take(scheduler, 0, &taken), ELAPSE_ERROR_NOTHING_DUE);
    scheduler_end(scheduler);
    fake_os_end();
}

TEST(the_clock_thread_goes_on)
{
    struct elapse_scheduler *scheduler = fake_new(false);
    struct elapse_task task = task_named('a');

    assert_ok(elapse_scheduler_start(scheduler));
    (void)schedule_by_wall_clock(scheduler, task, FAKE_WALL_CLOCK_NS + T(1));
    fake_os_wait_idle();
    set_back(NULL);
    fake_os_wait_idle();
    task = task_named('b'); /* by the other clock */
    (void)schedule_at(scheduler, task, fake_os_now_ns(ELAPSE__OS_MONOTONIC) + T(1));
    fake_os_advance(T(1));
    wait_for_runs(1);
    expect_runs("b");
    scheduler_end(scheduler);
    fake_os_end();
}

TEST_MAIN("set_back")
