/*
 * Running at once: no wait for the next tick.
 */
#include "pulling.h"
#include "recurring.h"

/* In the middle of a tick. */
#define NOW_NS (T(15) + TICK_NS / 2)

MANUAL_TEST(a_delay_of_0_waits_for_the_next_tick_and_now_does_not)
{
    struct elapse_task fast = task_named('f');

    expect_step(scheduler, NOW_NS, "");
    (void)schedule_after(scheduler, task_named('s'), 0);
    assert_ok(elapse_task_schedule_now(scheduler, &fast, NULL));
    expect_step(scheduler, NOW_NS, "f");
    assert_int_equal(run_at(0).run.intended_ns, T(15));
    assert_int_equal(run_at(0).run.actual_ns, NOW_NS);
    expect_step(scheduler, T(16), "s");
}

MANUAL_TEST(a_pending_task_runs_now)
{
    struct elapse_handle handle = add(scheduler, 'a', T(500));

    expect_step(scheduler, NOW_NS, "");
    assert_ok(elapse_task_run_now(scheduler, handle));
    expect_step(scheduler, NOW_NS, "a");
    assert_int_equal(elapse_task_run_now(scheduler, handle), ELAPSE_ERROR_GONE);
    expect_step(scheduler, T(600), "");
}

MANUAL_TEST(a_task_that_is_due_keeps_its_turn)
{
    expect_step(scheduler, NOW_NS, "");
    struct elapse_handle handle = add(scheduler, 'a', T(15));
    add(scheduler, 'b', T(15));
    assert_ok(elapse_task_run_now(scheduler, handle));
    expect_step(scheduler, NOW_NS, "ab");
}

MANUAL_TEST(periods_begin_anew_from_now)
{
    struct elapse_handle handle = schedule_at(scheduler, periodic('p', T(10)), T(100));

    expect_step(scheduler, NOW_NS, "");
    assert_ok(elapse_task_run_now(scheduler, handle));
    expect_step(scheduler, NOW_NS, "p");
    expect_step(scheduler, T(24), "");
    expect_step(scheduler, T(25), "p");
}

PULL_TEST(a_running_task_runs_once_more)
{
    struct elapse_handle handle = add(scheduler, 'a', T(1));

    go_to(scheduler, NOW_NS);
    struct elapse_taken taken = take(scheduler, 'a');
    assert_ok(elapse_task_run_now(scheduler, handle));
    expect_nothing(scheduler);
    done(scheduler, &taken);
    expect_taken(scheduler, "a");
}

MANUAL_TEST(a_task_by_the_wall_clock_cannot)
{
    struct elapse_task task = task_named('w');
    struct elapse_handle handle;

    assert_ok(elapse_task_schedule_at_wall_clock(scheduler, &task, T(9), &handle));
    assert_int_equal(elapse_task_run_now(scheduler, handle), ELAPSE_ERROR_ARGUMENT);
}

TEST_MAIN("run_now")
