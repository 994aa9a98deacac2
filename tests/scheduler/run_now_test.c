/*
 * Tests running a task at once, without waiting for the next tick.
 */
#include "pulling.h"
#include "recurring.h"
#include "wall_clock.h"

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

/* ---- by the wall clock ---- */

static struct elapse_handle schedule_hourly(struct elapse_scheduler *scheduler, size_t name)
{
    struct elapse_task task = recurring(name, ELAPSE_RECUR_CRON, 0, ELAPSE_MISSED_SKIP);
    struct elapse_cron hourly;
    struct elapse_cron_fault fault;
    struct elapse_handle handle;

    assert_ok(elapse_cron_parse(&hourly, "@hourly", &fault));
    task.cron = &hourly;
    assert_ok(elapse_task_schedule_cron(scheduler, &task, &handle));
    return handle;
}

static void set_wall_clock(struct elapse_scheduler *scheduler, uint64_t minutes)
{
    assert_ok(
        elapse_scheduler_set_wall_clock(scheduler, WALL_NS + minutes * 60 * ELAPSE_SECOND_NS));
}

/* Minutes after the beginning of 2030. */
static void expect_minute(struct elapse_scheduler *scheduler, uint64_t minutes, const char *names)
{
    set_wall_clock(scheduler, minutes);
    expect_step(scheduler, elapse_scheduler_now_ns(scheduler), names);
}

WALL_TEST(a_task_by_the_wall_clock_runs_now)
{
    struct elapse_handle handle =
        schedule_by_wall_clock(scheduler, task_with_end('w'), WALL_NS + T(900));

    expect_step(scheduler, T(1), "");
    assert_ok(elapse_task_run_now(scheduler, handle));
    assert_ok(elapse_task_run_now(scheduler, handle)); /* it is due already */
    expect_step(scheduler, T(1), "w");
    assert_true(run_at(0).run.wall_clock);
    assert_int_equal(ends_of('w'), 1);
    assert_int_equal(elapse_task_run_now(scheduler, handle), ELAPSE_ERROR_GONE);
    expect_step(scheduler, T(2000), "");
}

WALL_TEST(a_task_by_the_wall_clock_that_is_due_keeps_its_turn)
{
    uint64_t minute_ns = 60 * ELAPSE_SECOND_NS;
    struct elapse_handle handle =
        schedule_by_wall_clock(scheduler, task_named('a'), WALL_NS + minute_ns);

    (void)schedule_by_wall_clock(scheduler, task_named('b'), WALL_NS + minute_ns);
    set_wall_clock(scheduler, 1);
    assert_ok(elapse_task_run_now(scheduler, handle));
    expect_minute(scheduler, 1, "ab");
}

WALL_TEST(a_cron_task_runs_now_and_goes_on_as_planned)
{
    struct elapse_handle handle = schedule_hourly(scheduler, 'c');

    expect_minute(scheduler, 30, "");
    assert_ok(elapse_task_run_now(scheduler, handle));
    expect_minute(scheduler, 30, "c");
    assert_int_equal(run_at(0).run.intended_ns, WALL_NS + UINT64_C(1800) * ELAPSE_SECOND_NS);
    assert_int_equal(elapse_task_reschedule_after(scheduler, handle, 0), ELAPSE_ERROR_WALL_CLOCK);
    expect_minute(scheduler, 59, "");
    expect_minute(scheduler, 60, "c");
    expect_minute(scheduler, 119, "");
    expect_minute(scheduler, 120, "c");
}

/* The wall clock is set back, and the task does not run twice for one occurrence. */
WALL_TEST(a_cron_task_that_runs_now_repeats_no_occurrence)
{
    struct elapse_handle handle = schedule_hourly(scheduler, 'c');

    expect_minute(scheduler, 60, "c");
    expect_minute(scheduler, 30, "");
    assert_ok(elapse_task_run_now(scheduler, handle));
    expect_minute(scheduler, 30, "c");
    expect_minute(scheduler, 119, "");
    expect_minute(scheduler, 120, "c");
}

static void run_itself_again(void *context, const struct elapse_run *run)
{
    write_run(context, run);
    if (run->number < 3)
        assert_ok(elapse_task_run_now(run->scheduler, run->handle));
}

WALL_TEST(a_running_cron_task_runs_once_more_and_goes_on_as_planned)
{
    struct elapse_task task = recurring('c', ELAPSE_RECUR_CRON, 0, ELAPSE_MISSED_SKIP);
    struct elapse_cron hourly;
    struct elapse_cron_fault fault;

    assert_ok(elapse_cron_parse(&hourly, "@hourly", &fault));
    task.cron = &hourly;
    task.action = run_itself_again;
    assert_ok(elapse_task_schedule_cron(scheduler, &task, NULL));
    expect_minute(scheduler, 70, "ccc");
    expect_minute(scheduler, 119, "");
    expect_minute(scheduler, 120, "c");
}

/* While the action runs, the wall clock is set back by an hour. */
static void set_back_and_run_again(void *context, const struct elapse_run *run)
{
    write_run(context, run);
    if (run->number > 1)
        return;
    set_wall_clock(run->scheduler, 10);
    assert_ok(elapse_task_run_now(run->scheduler, run->handle));
}

WALL_TEST(a_running_cron_task_that_runs_once_more_repeats_no_occurrence)
{
    struct elapse_task task = recurring('c', ELAPSE_RECUR_CRON, 0, ELAPSE_MISSED_SKIP);
    struct elapse_cron hourly;
    struct elapse_cron_fault fault;

    assert_ok(elapse_cron_parse(&hourly, "@hourly", &fault));
    task.cron = &hourly;
    task.action = set_back_and_run_again;
    assert_ok(elapse_task_schedule_cron(scheduler, &task, NULL));
    expect_minute(scheduler, 70, "cc");
    expect_minute(scheduler, 119, "");
    expect_minute(scheduler, 120, "c");
}

TEST_MAIN("run_now")
