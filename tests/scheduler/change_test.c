/*
 * Tests changing the period or the cron expression of a task: while it is pending, while it is due,
 * and while it runs.
 */
#include "pulling.h"
#include "recurring.h"
#include "wall_clock.h"

static struct elapse_cron parsed(const char *expression)
{
    struct elapse_cron cron;

    assert_ok(elapse_cron_parse(&cron, expression, NULL));
    return cron;
}

static struct elapse_handle put(struct elapse_scheduler *scheduler, struct elapse_task task,
                                uint64_t deadline_ns)
{
    return schedule_at(scheduler, task, deadline_ns);
}

static struct elapse_handle put_cron(struct elapse_scheduler *scheduler, const char *expression)
{
    struct elapse_handle handle = {0, 0, 0};
    struct elapse_cron cron = parsed(expression);
    struct elapse_task task = task_with_end('a');

    task.recurrence = ELAPSE_RECUR_CRON;
    task.cron = &cron;
    assert_ok(elapse_task_schedule_cron(scheduler, &task, &handle));
    return handle;
}

static void set_period(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                       uint64_t period_ns)
{
    assert_ok(elapse_task_change_period(scheduler, handle, period_ns));
}

static void set_cron(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                     const char *expression)
{
    struct elapse_cron cron = parsed(expression);

    assert_ok(elapse_task_change_cron(scheduler, handle, &cron, ELAPSE_ZONE_UTC));
}

static uint64_t deadline_of(struct elapse_scheduler *scheduler, struct elapse_handle handle)
{
    struct elapse_found found = {0};

    (void)elapse_task_look_up(scheduler, handle, &found);
    return found.deadline_ns;
}

/* ---- the period of a pending task ---- */

MANUAL_TEST(a_new_period_counts_from_now)
{
    struct elapse_task task = periodic('a', T(100));
    struct elapse_handle found = {0, 0, 0};

    task.key = "key";
    task.key_bytes = 3;
    struct elapse_handle handle = schedule_at(scheduler, task, T(10));
    assert_int_equal(step(scheduler, T(10)), 1);
    assert_int_equal(step(scheduler, T(15)), 0);
    set_period(scheduler, handle, T(7)); /* shorter */
    assert_int_equal(deadline_of(scheduler, handle), T(22));
    assert_int_equal(step(scheduler, T(21)), 0);
    assert_int_equal(step(scheduler, T(22)), 1);
    assert_int_equal(step(scheduler, T(29)), 1);
    set_period(scheduler, handle, T(50)); /* longer */
    assert_int_equal(step(scheduler, T(78)), 0);
    assert_int_equal(step(scheduler, T(79)), 1);
    expect_run(3, 4, T(79), T(79), 0);
    assert_true(same_handle(run_at(3).run.handle, handle));
    assert_true(elapse_task_find(scheduler, "key", 3, &found));
    assert_true(same_handle(found, handle));
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(ends_of('a'), 1);
}

MANUAL_TEST(a_period_is_kept_to_the_nanosecond)
{
    struct elapse_handle handle = put(scheduler, periodic('a', T(1)), T(1000));

    set_period(scheduler, handle, T(5) / 2);
    assert_int_equal(step(scheduler, T(3)), 1);
    assert_int_equal(step(scheduler, T(5)), 1);
    assert_int_equal(step(scheduler, T(7)), 0);
    assert_int_equal(step(scheduler, T(8)), 1);
}

MANUAL_TEST(after_each_takes_a_period_too)
{
    struct elapse_handle handle =
        put(scheduler, recurring('a', ELAPSE_RECUR_AFTER_EACH, T(100), ELAPSE_MISSED_SKIP), T(1));

    assert_int_equal(step(scheduler, T(1)), 1);
    set_period(scheduler, handle, T(4));
    assert_int_equal(step(scheduler, T(6)), 1);
    assert_int_equal(step(scheduler, T(9)), 0);
    assert_int_equal(step(scheduler, T(10)), 1);
}

PULL_TEST(an_occurrence_that_is_due_moves)
{
    struct elapse_handle handle = put(scheduler, periodic('a', T(5)), T(5));

    go_to(scheduler, T(6));
    set_period(scheduler, handle, T(3));
    expect_nothing(scheduler);
    go_to(scheduler, T(9));
    struct elapse_taken taken = take(scheduler, 'a');
    assert_int_equal(taken.run.intended_ns, T(9));
    assert_int_equal(taken.run.missed, 0);
    done(scheduler, &taken);
}

/* An occurrence waits because another task with its key is taken. */
PULL_TEST(an_occurrence_that_waits_for_its_key_moves)
{
    struct elapse_task second = periodic('b', T(5));

    (void)schedule_at(scheduler, task_with_key('a', "key", ELAPSE_KEY_FAIL), T(1));
    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');
    second.key = "key";
    second.key_bytes = 3;
    struct elapse_handle handle = schedule_at(scheduler, second, T(2));
    go_to(scheduler, T(3));
    expect_nothing(scheduler);
    set_period(scheduler, handle, T(10));
    done(scheduler, &taken);
    expect_nothing(scheduler);
    go_to(scheduler, T(13));
    taken = take(scheduler, 'b');
    done(scheduler, &taken);
}

/* ---- the period of a running task ---- */

PULL_TEST(a_running_task_changes_at_its_end)
{
    struct elapse_handle handle = put(scheduler, periodic('a', T(100)), T(10));

    go_to(scheduler, T(10));
    struct elapse_taken taken = take(scheduler, 'a');
    go_to(scheduler, T(12));
    set_period(scheduler, handle, T(5));
    assert_int_equal(state_of(scheduler, handle), ELAPSE_TASK_RUNNING);
    assert_int_equal(deadline_of(scheduler, handle), T(10));
    go_to(scheduler, T(13));
    done(scheduler, &taken);
    assert_int_equal(deadline_of(scheduler, handle), T(17));

    go_to(scheduler, T(17));
    taken = take(scheduler, 'a');
    set_period(scheduler, handle, T(3)); /* 20, 23, 26 pass */
    go_to(scheduler, T(27));
    done(scheduler, &taken);
    go_to(scheduler, T(29));
    taken = take(scheduler, 'a');
    assert_int_equal(taken.run.number, 3);
    assert_int_equal(taken.run.intended_ns, T(29));
    assert_int_equal(taken.run.missed, 3);
    done(scheduler, &taken);
}

PULL_TEST(after_each_the_new_period_begins_at_the_end)
{
    struct elapse_handle handle =
        put(scheduler, recurring('a', ELAPSE_RECUR_AFTER_EACH, T(100), ELAPSE_MISSED_SKIP), T(1));

    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');
    set_period(scheduler, handle, T(5));
    go_to(scheduler, T(20));
    done(scheduler, &taken);
    assert_int_equal(deadline_of(scheduler, handle), T(25));
}

PULL_TEST(the_last_of_change_and_reschedule_decides)
{
    struct elapse_handle handle = put(scheduler, periodic('a', T(100)), T(1));

    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');
    assert_ok(elapse_task_reschedule_at(scheduler, handle, T(50)));
    set_period(scheduler, handle, T(5));
    done(scheduler, &taken);
    assert_int_equal(deadline_of(scheduler, handle), T(6));

    go_to(scheduler, T(6));
    taken = take(scheduler, 'a');
    set_period(scheduler, handle, T(7));
    assert_ok(elapse_task_reschedule_at(scheduler, handle, T(50)));
    done(scheduler, &taken);
    assert_int_equal(deadline_of(scheduler, handle), T(50));
    go_to(scheduler, T(50));
    taken = take(scheduler, 'a');
    done(scheduler, &taken);
    assert_int_equal(deadline_of(scheduler, handle), T(57)); /* the period stays changed */
}

static void change_myself(void *context, const struct elapse_run *run)
{
    write_run(context, run);
    if (run->number < 4 &&
        elapse_task_change_period(run->scheduler, run->handle, T(run->number)) != ELAPSE_OK)
        write_run(context, run); /* one too many */
}

MANUAL_TEST(an_action_changes_its_own_period)
{
    struct elapse_task task = periodic('a', T(100));

    task.action = change_myself;
    (void)schedule_at(scheduler, task, 0);
    for (uint64_t at = 0; at <= 10; at++)
        (void)step(scheduler, T(at));
    assert_int_equal(runs(), 5);
    expect_run(1, 2, T(1), T(1), 0);
    expect_run(2, 3, T(3), T(3), 0);
    expect_run(3, 4, T(6), T(6), 0);
    expect_run(4, 5, T(9), T(9), 0);
}

/* ---- cron ---- */

TEST(a_new_expression_counts_from_now)
{
    struct elapse_scheduler *scheduler = wall_new(WALL_NS, 1);
    struct elapse_handle handle = put_cron(scheduler, "0 3 * * *");

    set_cron(scheduler, handle, "*/10 * * * *"); /* earlier */
    assert_int_equal(deadline_of(scheduler, handle), WALL_NS + 10 * ELAPSE_MINUTE_NS);
    assert_int_equal(step(scheduler, 10 * ELAPSE_MINUTE_NS), 1);
    set_cron(scheduler, handle, "0 * * * *"); /* later */
    assert_int_equal(step(scheduler, 59 * ELAPSE_MINUTE_NS), 0);
    assert_int_equal(step(scheduler, 60 * ELAPSE_MINUTE_NS), 1);
    assert_int_equal(run_at(1).run.number, 2);
    assert_int_equal(run_at(1).run.missed, 0);
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
}

PULL_TEST(a_running_cron_task_changes_at_its_end)
{
    assert_ok(elapse_scheduler_set_wall_clock(scheduler, WALL_NS));
    struct elapse_handle handle = put_cron(scheduler, "0 * * * *");
    go_to(scheduler, 60 * ELAPSE_MINUTE_NS);
    struct elapse_taken taken = take(scheduler, 'a');
    set_cron(scheduler, handle, "*/10 * * * *");
    assert_int_equal(deadline_of(scheduler, handle), WALL_NS + 60 * ELAPSE_MINUTE_NS);
    go_to(scheduler, 61 * ELAPSE_MINUTE_NS);
    done(scheduler, &taken);
    assert_int_equal(deadline_of(scheduler, handle), WALL_NS + 70 * ELAPSE_MINUTE_NS);
}

/* While the wheel of the wall clock is built anew, tasks are in a chain and in no wheel. With many
 * tasks this takes several searches for due tasks, and tasks by the other clock are taken in
 * between. */
PULL_TEST(a_change_holds_while_the_wheel_of_the_wall_clock_is_built_anew)
{
    enum { CRON_TASKS = 3000 };
    static struct elapse_handle handles[CRON_TASKS];
    const uint64_t earlier_ns = WALL_NS - 24 * ELAPSE_HOUR_NS;
    size_t count = 0;

    assert_ok(elapse_scheduler_set_wall_clock(scheduler, WALL_NS));
    for (size_t i = 0; i < CRON_TASKS; i++)
        handles[i] = put_cron(scheduler, "30 * * * *");
    (void)add(scheduler, 'x', T(1));
    (void)add(scheduler, 'y', T(1));
    assert_ok(elapse_scheduler_set_wall_clock(scheduler, earlier_ns));
    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'x');
    done(scheduler, &taken);
    taken = take(scheduler, 'y'); /* some cron tasks are in the chain now */
    done(scheduler, &taken);
    for (size_t i = 0; i < CRON_TASKS; i += 2)
        set_cron(scheduler, handles[i], "5 * * * *");
    for (size_t i = 0; i < CRON_TASKS; i += 2)
        assert_int_equal(deadline_of(scheduler, handles[i]), earlier_ns + 5 * ELAPSE_MINUTE_NS);
    go_to(scheduler, 4 * ELAPSE_MINUTE_NS);
    expect_nothing(scheduler);
    go_to(scheduler, 5 * ELAPSE_MINUTE_NS);
    for (; elapse_task_take(scheduler, 0, &taken) == ELAPSE_OK; count++)
        done(scheduler, &taken);
    assert_int_equal(count, CRON_TASKS / 2);
}

/* ---- refusals ---- */

WALL_TEST(what_does_not_recur_so_is_refused)
{
    struct elapse_handle once = put(scheduler, task_named('o'), T(100));
    struct elapse_handle period = put(scheduler, periodic('p', T(5)), T(100));
    struct elapse_handle by_cron = put_cron(scheduler, "0 * * * *");
    struct elapse_cron cron = parsed("0 * * * *");

    assert_int_equal(elapse_task_change_period(scheduler, once, 1), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_task_change_period(scheduler, by_cron, 1), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_task_change_cron(scheduler, once, &cron, ELAPSE_ZONE_UTC),
                     ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_task_change_cron(scheduler, period, &cron, ELAPSE_ZONE_UTC),
                     ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_task_change_cron(scheduler, by_cron, &cron, (enum elapse_zone)77),
                     ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_task_change_period(scheduler, period, 0), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(
        elapse_task_change_period(scheduler, period, (uint64_t)ELAPSE_PERIOD_NS_MAX + 1),
        ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(deadline_of(scheduler, period), T(100));
    assert_int_equal(deadline_of(scheduler, by_cron), WALL_NS + ELAPSE_HOUR_NS);
}

PULL_TEST(of_a_task_that_is_gone_it_says_gone)
{
    struct elapse_handle handle = put(scheduler, periodic('a', T(5)), T(5));
    const struct elapse_handle none = {0, 0, 0};
    const struct elapse_handle no_shard = {0, 1, 99};

    assert_int_equal(elapse_task_change_period(scheduler, none, 1), ELAPSE_ERROR_GONE);
    assert_int_equal(elapse_task_change_period(scheduler, no_shard, 1), ELAPSE_ERROR_GONE);
    go_to(scheduler, T(5));
    struct elapse_taken taken = take(scheduler, 'a');
    set_period(scheduler, handle, T(9));
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    assert_int_equal(elapse_task_change_period(scheduler, handle, T(2)), ELAPSE_ERROR_GONE);
    done(scheduler, &taken);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(elapse_task_change_period(scheduler, handle, T(2)), ELAPSE_ERROR_GONE);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    assert_int_equal(elapse_task_change_period(scheduler, handle, T(2)), ELAPSE_ERROR_CLOSED);
}

SCHEDULER_TEST(an_earlier_occurrence_wakes_the_clock_thread, started_new(1))
{
    struct elapse_task task = periodic('a', ELAPSE_HOUR_NS);
    struct elapse_handle handle = schedule_after(scheduler, task, ELAPSE_HOUR_NS);

    sleep_ns(5 * ELAPSE_MILLISECOND_NS); /* the clock thread sleeps by now, or soon */
    set_period(scheduler, handle, T(2));
    wait_for_runs(3);
}

TEST_MAIN("change")
