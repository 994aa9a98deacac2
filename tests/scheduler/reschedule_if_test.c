/*
 * Tests rescheduling only to an earlier deadline, or only to a later one.
 */
#include "pulling.h"
#include "recurring.h"

static void earlier(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                    uint64_t deadline_ns, bool expected)
{
    bool moved = !expected;

    assert_ok(elapse_task_reschedule_earlier_at(scheduler, handle, deadline_ns, &moved));
    assert_int_equal(moved, expected);
}

static void later(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                  uint64_t deadline_ns, bool expected)
{
    bool moved = !expected;

    assert_ok(elapse_task_reschedule_later_at(scheduler, handle, deadline_ns, &moved));
    assert_int_equal(moved, expected);
}

static void expect_deadline(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                            uint64_t deadline_ns)
{
    struct elapse_found found;

    (void)elapse_task_look_up(scheduler, handle, &found);
    assert_int_equal(found.deadline_ns, deadline_ns);
}

MANUAL_TEST(a_pending_task_moves_in_one_direction)
{
    struct elapse_handle handle = add(scheduler, 'a', T(50));

    earlier(scheduler, handle, T(51), false);
    earlier(scheduler, handle, T(50), false);
    earlier(scheduler, handle, T(50) - 1, false); /* the same tick */
    earlier(scheduler, handle, T(49), true);
    expect_deadline(scheduler, handle, T(49));
    later(scheduler, handle, T(48), false);
    later(scheduler, handle, T(49), false);
    later(scheduler, handle, T(49) + 1, true);
    expect_deadline(scheduler, handle, T(50));
    later(scheduler, handle, ELAPSE_NEVER, true);
    later(scheduler, handle, ELAPSE_NEVER, false);
    earlier(scheduler, handle, ELAPSE_NEVER, false);
    earlier(scheduler, handle, T(7), true);
    assert_int_equal(statistics_of(scheduler).rescheduled, 4);
    expect_step(scheduler, T(6), "");
    expect_step(scheduler, T(7), "a");
}

MANUAL_TEST(a_delay_counts_from_now)
{
    struct elapse_handle handle = add(scheduler, 'a', T(50));
    bool moved = true;

    expect_step(scheduler, T(10), "");
    assert_ok(elapse_task_reschedule_earlier_after(scheduler, handle, T(40), &moved));
    assert_false(moved);
    assert_ok(elapse_task_reschedule_later_after(scheduler, handle, T(41), &moved));
    assert_true(moved);
    assert_ok(elapse_task_reschedule_earlier_after(scheduler, handle, T(2), NULL));
    expect_deadline(scheduler, handle, T(12));
}

PULL_TEST(a_running_task_without_another_run_can_only_become_due_earlier)
{
    struct elapse_handle handle = add(scheduler, 'a', T(1));

    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');
    later(scheduler, handle, T(9), false);
    assert_int_equal(pending_tasks(scheduler), 0);
    earlier(scheduler, handle, T(9), true);
    assert_int_equal(pending_tasks(scheduler), 1);
    earlier(scheduler, handle, T(9), false);
    earlier(scheduler, handle, T(8), true);
    later(scheduler, handle, T(8), false);
    later(scheduler, handle, T(10), true);
    done(scheduler, &taken);
    go_to(scheduler, T(9));
    expect_nothing(scheduler);
    go_to(scheduler, T(10));
    expect_taken(scheduler, "a");
}

/* A task runs at 10 with a period of 10, and is rescheduled at 12. Its next occurrence is at 20;
 * with AFTER_EACH it would be at 22. */
PULL_TEST(a_running_task_is_compared_with_the_period_that_it_was_given)
{
    struct elapse_task task = recurring('a', ELAPSE_RECUR_AFTER_EACH, T(100), ELAPSE_MISSED_SKIP);
    struct elapse_handle handle = schedule_at(scheduler, task, T(10));

    go_to(scheduler, T(10));
    struct elapse_taken taken = take(scheduler, 'a');
    assert_ok(elapse_task_change_period(scheduler, handle, T(10)));
    earlier(scheduler, handle, T(50), false); /* it would be due at 20 */
    later(scheduler, handle, T(50), true);
    done(scheduler, &taken);
    go_to(scheduler, T(50));
    expect_taken(scheduler, "a");
}

TEST(a_running_task_that_recurs_is_compared_with_its_next_occurrence)
{
    for (int after_each = 0; after_each < 2; after_each++) {
        struct elapse_scheduler *scheduler = pull_new();
        struct elapse_task task =
            recurring('a', after_each ? ELAPSE_RECUR_AFTER_EACH : ELAPSE_RECUR_PERIOD, T(10),
                      ELAPSE_MISSED_SKIP);
        struct elapse_handle handle = schedule_at(scheduler, task, T(10));
        uint64_t next_ns = after_each ? T(22) : T(20);

        go_to(scheduler, T(10));
        struct elapse_taken taken = take(scheduler, 'a');
        go_to(scheduler, T(12));
        earlier(scheduler, handle, next_ns, false);
        later(scheduler, handle, next_ns, false);
        earlier(scheduler, handle, next_ns - T(1), true);
        later(scheduler, handle, next_ns + T(1), true);
        done(scheduler, &taken);
        expect_deadline(scheduler, handle, next_ns + T(1));
        scheduler_end(scheduler);
    }
}

/* With key "k", 'b' is due and waits while 'a' runs. */
PULL_TEST(a_task_that_is_due_keeps_its_turn)
{
    struct elapse_task a = task_with_key('a', "k", ELAPSE_KEY_REPLACE);
    struct elapse_handle handle;

    (void)schedule_at(scheduler, a, T(5));
    go_to(scheduler, T(5));
    struct elapse_taken taken = take(scheduler, 'a');
    handle = schedule_at(scheduler, task_with_key('b', "k", ELAPSE_KEY_REPLACE), T(6));
    go_to(scheduler, T(7));
    expect_nothing(scheduler);
    earlier(scheduler, handle, T(1), false);
    expect_deadline(scheduler, handle, T(6));
    later(scheduler, handle, T(6), false);
    later(scheduler, handle, T(8), true);
    done(scheduler, &taken);
    expect_nothing(scheduler);
    go_to(scheduler, T(8));
    expect_taken(scheduler, "b");
}

PULL_TEST(what_cannot_be_moved_is_refused)
{
    struct elapse_task task = task_with_end('w');
    struct elapse_handle handle = add(scheduler, 'a', T(1));
    const struct elapse_handle strange = {0, 0, 77};
    bool moved = true;

    assert_int_equal(elapse_task_reschedule_later_at(scheduler, strange, T(9), &moved),
                     ELAPSE_ERROR_GONE);
    assert_false(moved);
    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    moved = true;
    assert_int_equal(elapse_task_reschedule_earlier_at(scheduler, handle, T(9), &moved),
                     ELAPSE_ERROR_GONE);
    assert_false(moved);
    done(scheduler, &taken);
    assert_ok(elapse_task_schedule_at_wall_clock(scheduler, &task, T(90), &handle));
    assert_int_equal(elapse_task_reschedule_earlier_at(scheduler, handle, T(9), NULL),
                     ELAPSE_ERROR_WALL_CLOCK);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    assert_int_equal(elapse_task_reschedule_later_after(scheduler, handle, T(9), NULL),
                     ELAPSE_ERROR_CLOSED);
}

TEST_MAIN("reschedule_if")
