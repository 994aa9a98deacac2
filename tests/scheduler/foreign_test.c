/*
 * Tests behaviours that the test suites of other timers assert, and that no other test here shows
 * in the same form. docs/guide/foreign_tests.md lists those suites.
 */
#include "pulling.h"
#include "recurring.h"

/* ---- chains ---- */

enum { LINKS = 10 };

/* A chain of tasks with a delay of 0. Each schedules the next, and then is held. */
static struct {
    struct elapse_scheduler *scheduler;
    struct gate gate;
    atomic_uint begun;
} chain;

static void go_on_and_be_held(void *context, const struct elapse_run *run)
{
    const struct elapse_task next = {.action = go_on_and_be_held};

    (void)context;
    if (atomic_fetch_add(&chain.begun, 1) + 1 < LINKS &&
        elapse_task_schedule_after(run->scheduler, &next, 0, NULL) != ELAPSE_OK)
        return; /* then the test fails, because a link is missing */
    hold(&chain.gate, run);
}

TEST(a_chain_goes_on_while_its_links_are_held)
{
    const struct elapse_task first = {.action = go_on_and_be_held};

    memset(&chain, 0, sizeof chain);
    chain.scheduler = started_new(LINKS);
    (void)schedule_after(chain.scheduler, first, 0);
    wait_entered(&chain.gate, LINKS);
    assert_int_equal(atomic_load(&chain.gate.left), 0);
    open_gate(&chain.gate);
    scheduler_end(chain.scheduler);
    assert_int_equal(atomic_load(&chain.begun), LINKS);
}

/* ---- cancelling from inside ---- */

static struct elapse_handle held[100];

static void cancel_all_others(void *context, const struct elapse_run *run)
{
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        (void)elapse_task_cancel(run->scheduler, held[i]);
    write_run(context, run);
}

MANUAL_TEST(the_first_of_a_tick_cancels_all_others_of_it)
{
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        struct elapse_task task = task_with_end(i);

        task.action = cancel_all_others;
        held[i] = schedule_at(scheduler, task, T(10));
    }
    assert_int_equal(step(scheduler, T(11)), 1);
    assert_int_equal(runs(), 1);
    assert_int_equal(run_at(0).number, 0);
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        assert_int_equal(ends_of(i), 1);
    assert_int_equal(pending_tasks(scheduler), 0);
}

MANUAL_TEST(moved_to_a_later_tick_it_is_cancelled_while_the_old_one_is_run)
{
    struct elapse_task b = task_with_end('b');

    (void)schedule_at(scheduler, task_with_end('a'), T(5));
    struct elapse_handle moved = schedule_at(scheduler, b, T(5));
    (void)schedule_at(scheduler, task_with_end('c'), T(10));
    assert_ok(elapse_task_reschedule_at(scheduler, moved, T(10)));
    expect_step(scheduler, T(5), "a");
    assert_int_equal(elapse_task_cancel(scheduler, moved), ELAPSE_CANCEL_REMOVED);
    expect_step(scheduler, T(10), "c");
    assert_int_equal(ends_of('b'), 1);
}

MANUAL_TEST(a_cancelled_task_counts_no_more_and_there_is_nothing_to_purge)
{
    struct elapse_handle handles[5];

    for (size_t i = 0; i < 5; i++)
        handles[i] = schedule_after(scheduler, task_named(i), ELAPSE_HOUR_NS);
    assert_int_equal(elapse_task_cancel(scheduler, handles[4]), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(pending_tasks(scheduler), 4);
    assert_int_equal(elapse_task_cancel(scheduler, handles[3]), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(pending_tasks(scheduler), 3);
}

/* ---- time ---- */

MANUAL_TEST(steps_of_parts_of_a_tick_add_up)
{
    (void)schedule_after(scheduler, task_named('a'), TICK_NS);
    expect_step(scheduler, TICK_NS / 4, "");
    expect_step(scheduler, TICK_NS / 2, "");
    expect_step(scheduler, TICK_NS / 4 * 3, "");
    expect_step(scheduler, TICK_NS - 1, "");
    expect_step(scheduler, TICK_NS, "a");
}

MANUAL_TEST(a_period_that_is_doubled_half_way_takes_half_as_long_again)
{
    struct elapse_handle handle = schedule_at(scheduler, periodic('a', T(20)), T(20));

    for (unsigned tick = 1; tick <= 100; tick++)
        (void)step(scheduler, T(tick));
    assert_int_equal(runs(), 5);
    assert_ok(elapse_task_change_period(scheduler, handle, T(40)));
    for (unsigned tick = 101; tick <= 300; tick++)
        (void)step(scheduler, T(tick));
    assert_int_equal(runs(), 10);
    assert_int_equal(run_at(9).run.actual_ns, T(300));
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(step(scheduler, T(400)), 0);
}

/* ---- delay queues ---- */

PULL_TEST(an_overdue_task_moved_twice_is_taken_once_at_the_last_deadline)
{
    go_to(scheduler, T(100));
    struct elapse_handle handle = add(scheduler, 'a', T(1));
    assert_ok(elapse_task_reschedule_at(scheduler, handle, T(200)));
    assert_ok(elapse_task_reschedule_at(scheduler, handle, T(150)));
    expect_nothing(scheduler);
    assert_int_equal(pending_tasks(scheduler), 1);
    go_to(scheduler, T(149));
    expect_nothing(scheduler);
    go_to(scheduler, T(160));
    expect_taken(scheduler, "a");
    go_to(scheduler, T(200));
    expect_nothing(scheduler);
    assert_int_equal(pending_tasks(scheduler), 0);
}

PULL_TEST(handles_are_moved_and_cancelled_after_a_trim)
{
    (void)add(scheduler, 'a', T(10));
    (void)add(scheduler, 'b', T(10));
    (void)add(scheduler, 'c', T(20));
    struct elapse_handle d = add(scheduler, 'd', T(20));
    struct elapse_handle e = add(scheduler, 'e', T(20));
    go_to(scheduler, T(10));
    expect_taken(scheduler, "ab");
    (void)elapse_scheduler_trim(scheduler);
    (void)add(scheduler, 'f', T(20));
    struct elapse_handle g = add(scheduler, 'g', T(20));
    assert_ok(elapse_task_reschedule_at(scheduler, d, T(30)));
    assert_ok(elapse_task_reschedule_at(scheduler, g, T(30)));
    assert_int_equal(elapse_task_cancel(scheduler, e), ELAPSE_CANCEL_REMOVED);
    go_to(scheduler, T(20));
    expect_taken(scheduler, "cf");
    go_to(scheduler, T(30));
    expect_taken(scheduler, "dg");
    (void)elapse_scheduler_trim(scheduler);
    assert_int_equal(elapse_task_cancel(scheduler, e), ELAPSE_CANCEL_GONE);
    assert_int_equal(elapse_task_cancel(scheduler, d), ELAPSE_CANCEL_GONE);
}

PULL_TEST(a_task_added_while_due_ones_are_taken_waits_for_its_own_time)
{
    for (const char *name = "abc"; *name != '\0'; name++)
        (void)add(scheduler, *name, T(100));
    go_to(scheduler, T(100));
    for (const char *name = "abc"; *name != '\0'; name++) {
        struct elapse_taken taken = take(scheduler, *name);

        (void)add(scheduler, 'x', T(500));
        done(scheduler, &taken);
    }
    expect_nothing(scheduler);
    go_to(scheduler, T(500));
    expect_taken(scheduler, "xxx");
}

TEST_MAIN("foreign")
