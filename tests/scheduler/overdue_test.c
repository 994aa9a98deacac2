/*
 * Tests that the statistics say how many actions have returned, and how late the oldest task is
 * that is due and has not begun, wherever it waits: in a wheel, for its key, for a worker.
 */
#include "../support/fake_os.h"
#include "pulling.h"
#include "recurring.h"

static void expect_overdue(struct elapse_scheduler *scheduler, uint64_t overdue_ns)
{
    assert_int_equal(statistics_of(scheduler).oldest_overdue_ns, overdue_ns);
}

PULL_TEST(a_task_that_nobody_takes_grows_overdue)
{
    expect_overdue(scheduler, 0);
    add(scheduler, 'b', T(6));
    add(scheduler, 'a', T(5));
    go_to(scheduler, T(5));
    expect_overdue(scheduler, 0);
    go_to(scheduler, T(9) + 7);
    expect_overdue(scheduler, T(4) + 7);
    struct elapse_taken taken = take(scheduler, 'a');
    expect_overdue(scheduler, T(3) + 7);
    done(scheduler, &taken);
    expect_taken(scheduler, "b");
    expect_overdue(scheduler, 0);
}

PULL_TEST(a_task_by_the_wall_clock_is_overdue_by_that_clock)
{
    struct elapse_task task = task_named('w');

    assert_ok(elapse_task_schedule_at_wall_clock(scheduler, &task, T(1000), NULL));
    go_to(scheduler, T(5));
    expect_overdue(scheduler, 0);
    assert_ok(elapse_scheduler_set_wall_clock(scheduler, T(1003)));
    expect_overdue(scheduler, T(3));
    expect_taken(scheduler, "w");
    expect_overdue(scheduler, 0);
}

PULL_TEST(a_task_that_waits_for_its_key_is_overdue)
{
    struct elapse_task a = task_with_key('a', "k", ELAPSE_KEY_REPLACE);
    struct elapse_task b = task_with_key('b', "k", ELAPSE_KEY_REPLACE);

    (void)schedule_at(scheduler, a, T(1));
    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');
    (void)schedule_at(scheduler, b, T(2));
    add(scheduler, 'c', T(4));
    go_to(scheduler, T(5));
    expect_taken(scheduler, "c");
    expect_overdue(scheduler, T(3));
    done(scheduler, &taken); /* b goes back into the wheel, with a deadline that has passed */
    expect_overdue(scheduler, 0);
    expect_taken(scheduler, "b");

    /* A task that is removed while it waits is not counted any more. */
    (void)schedule_at(scheduler, a, T(6));
    go_to(scheduler, T(6));
    taken = take(scheduler, 'a');
    struct elapse_handle handle = schedule_at(scheduler, b, T(7));

    go_to(scheduler, T(9));
    expect_nothing(scheduler);
    expect_overdue(scheduler, T(2));
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    expect_overdue(scheduler, 0);
    done(scheduler, &taken);
}

/* Tick 0 is a deadline like any other. */
TEST(a_task_that_has_waited_for_its_key_keeps_its_deadline)
{
    for (uint64_t tick = 0; tick < 3; tick++) {
        struct elapse_scheduler *scheduler = pull_new();

        (void)schedule_at(scheduler, task_with_key('a', "key", ELAPSE_KEY_REPLACE), 0);
        struct elapse_taken taken = take(scheduler, 'a');
        (void)schedule_at(scheduler, task_with_key('b', "key", ELAPSE_KEY_REPLACE), T(tick));
        go_to(scheduler, T(5));
        expect_nothing(scheduler);
        done(scheduler, &taken);
        taken = take(scheduler, 'b');
        assert_int_equal(taken.run.intended_ns, T(tick));
        done(scheduler, &taken);
        scheduler_end(scheduler);
    }
}

PULL_TEST(completed_counts_the_actions_that_have_returned)
{
    add(scheduler, 'a', T(1));
    (void)schedule_at(scheduler, periodic('p', T(1)), T(2));
    go_to(scheduler, T(2));
    struct elapse_taken one = take(scheduler, 'a');
    struct elapse_taken other = take(scheduler, 'p');
    assert_int_equal(statistics_of(scheduler).begun, 2);
    assert_int_equal(statistics_of(scheduler).completed, 0);
    done(scheduler, &other);
    assert_int_equal(statistics_of(scheduler).completed, 1);
    done(scheduler, &one);
    assert_int_equal(statistics_of(scheduler).completed, 2);
    assert_int_equal(statistics_of(scheduler).running, 0);
}

/* After closing, no thread looks at the wheel, in which the timer of a dropped task may still be.
 * Nothing is overdue all the same. */
TEST(nothing_is_overdue_once_all_tasks_are_gone)
{
    struct elapse_scheduler_options options;

    fake_os_begin();
    elapse_scheduler_options_init(&options);
    options.shards = 1;
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    (void)schedule_at(scheduler, task_named('a'), FAKE_MONOTONIC_NS + T(1));
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    fake_os_advance(ELAPSE_HOUR_NS);
    expect_overdue(scheduler, 0);
    scheduler_end(scheduler);
    fake_os_end();
}

/* The only worker is held. The queue takes two tasks, and the third stays in its wheel. */
TEST(tasks_behind_a_slow_action_are_overdue)
{
    static struct gate gate;
    struct elapse_scheduler_options options = real_options(1, 1);

    fake_os_begin();
    options.queue_tasks = 2;
    struct elapse_scheduler *scheduler = started_with(&options);
    fake_os_wait_idle();
    (void)schedule_at(scheduler, task_at_gate(&gate), FAKE_MONOTONIC_NS + T(1));
    fake_os_advance(T(1));
    wait_entered(&gate, 1);
    for (size_t i = 0; i < 3; i++)
        add(scheduler, (char)('a' + i), FAKE_MONOTONIC_NS + T(2 + i));
    fake_os_advance(T(1));
    fake_os_wait_idle();
    fake_os_advance(T(8));
    fake_os_wait_idle();
    expect_overdue(scheduler, T(8));
    atomic_store(&gate.open, true);
    wait_for_runs(3);
    expect_runs("abc");
    expect_overdue(scheduler, 0);
    scheduler_end(scheduler);
    fake_os_end();
}

TEST_MAIN("overdue")
