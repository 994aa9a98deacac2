/*
 * The system refuses to set an alarm. A scheduler whose alarms cannot be set is not started, and
 * one that has been started still runs due tasks.
 */
#include "../support/fake_os.h"
#include "fixture.h"

enum mode { WITH_WORKERS, WITHOUT_WORKERS, PULL, MODES };

static struct elapse_scheduler *fake_new(enum mode mode)
{
    struct elapse_scheduler_options options = real_options(mode == WITH_WORKERS ? 2 : 0, 1);

    fake_os_begin();
    options.pull = mode == PULL;
    return scheduler_new(&options);
}

static void fake_end(struct elapse_scheduler *scheduler)
{
    scheduler_end(scheduler);
    assert_int_equal(fake_os_open_alarms(), 0);
    assert_int_equal(fake_os_running_threads(), 0);
    fake_os_end();
}

static void expect_start_to_fail(struct elapse_scheduler *scheduler)
{
    assert_int_equal(elapse_scheduler_start(scheduler), ELAPSE_ERROR_SYSTEM);
    assert_int_equal(fake_os_open_alarms(), 0);
    assert_int_equal(fake_os_running_threads(), 0);
}

TEST(start_fails_and_leaves_nothing_behind)
{
    for (int mode = 0; mode < MODES; mode++) {
        struct elapse_scheduler *scheduler = fake_new((enum mode)mode);

        fake_os_refuse(FAKE_OS_ALARM_SET, FAKE_OS_ALL);
        expect_start_to_fail(scheduler);
        (void)schedule_after(scheduler, task_with_end('a'), T(1));
        expect_start_to_fail(scheduler);
        fake_end(scheduler); /* closing does not hang */
        assert_int_equal(ends_of('a'), 1);
        assert_int_equal(runs(), 0);
    }
}

TEST(start_can_be_tried_again)
{
    for (int mode = 0; mode < PULL; mode++) {
        struct elapse_scheduler *scheduler = fake_new((enum mode)mode);

        fake_os_refuse(FAKE_OS_ALARM_SET, FAKE_OS_ALL);
        expect_start_to_fail(scheduler);
        (void)schedule_after(scheduler, task_named('a'), T(1));
        fake_os_refuse(FAKE_OS_ALARM_SET, 0);
        assert_ok(elapse_scheduler_start(scheduler));
        fake_os_wait_idle();
        fake_os_advance(T(1));
        wait_for_runs(1);
        expect_runs("a");
        fake_end(scheduler);
    }
}

/* ---- refused after start ---- */

/* Runs on the clock thread while that thread has no alarm set, and is about to set one. */
static void refuse_alarms(void *context, const struct elapse_run *run)
{
    write_run(context, run);
    fake_os_refuse(FAKE_OS_ALARM_SET, FAKE_OS_ALL);
}

TEST(due_tasks_run_although_the_clock_thread_could_not_set_its_alarm)
{
    struct elapse_scheduler *scheduler = fake_new(WITHOUT_WORKERS);
    struct elapse_task task = task_named('b');

    (void)schedule_after(scheduler, task, T(10));
    task = task_named('c');
    (void)schedule_after(scheduler, task, T(20));
    task = task_named('a');
    task.action = refuse_alarms;
    (void)schedule_after(scheduler, task, T(1));
    assert_ok(elapse_scheduler_start(scheduler));
    fake_os_wait_idle();
    fake_os_advance(T(1));
    wait_for_runs(1);
    fake_os_wait_idle();
    expect_runs("a");
    fake_os_advance(T(8));
    fake_os_wait_idle();
    expect_runs(""); /* no task runs early */
    fake_os_advance(T(1));
    fake_os_wait_idle();
    expect_runs("b");
    fake_os_advance(T(10));
    fake_os_wait_idle();
    expect_runs("c");
    fake_os_refuse(FAKE_OS_ALARM_SET, 0);
    fake_end(scheduler);
}

/* The system refuses one alarm, in a call that schedules a task while the clock thread sleeps. The
 * next call that sets an alarm sets it for both tasks. */
TEST(an_alarm_that_was_refused_is_set_by_the_next_call)
{
    struct elapse_scheduler *scheduler = fake_new(WITHOUT_WORKERS);
    struct elapse_task task = task_named('z');

    (void)schedule_after(scheduler, task, ELAPSE_HOUR_NS);
    assert_ok(elapse_scheduler_start(scheduler));
    fake_os_wait_idle();
    fake_os_refuse(FAKE_OS_ALARM_SET, 1);
    task = task_named('a');
    (void)schedule_after(scheduler, task, T(10));
    task = task_named('b');
    (void)schedule_after(scheduler, task, T(20));
    fake_os_wait_idle();
    fake_os_advance(T(20));
    fake_os_wait_idle();
    expect_runs("ab");
    fake_end(scheduler);
}

/* Linux answers ECANCELED when the wall clock was set since the last look at the alarm, and has
 * set the alarm all the same. */
TEST(a_wall_clock_that_was_set_is_no_refusal)
{
    struct elapse_scheduler *scheduler = fake_new(WITHOUT_WORKERS);
    struct elapse_task task = task_named('a');
    uint64_t unix_ns = fake_os_now_ns(ELAPSE__OS_WALL_CLOCK);

    assert_ok(elapse_task_schedule_at_wall_clock(scheduler, &task, unix_ns + ELAPSE_HOUR_NS, NULL));
    assert_ok(elapse_scheduler_start(scheduler));
    fake_os_wait_idle();
    for (unsigned i = 1; i <= 10; i++) {
        fake_os_set_wall_clock(unix_ns + i * ELAPSE_MINUTE_NS);
        /* The clock thread may not have looked at its alarm yet. */
        task = task_named((size_t)'b');
        assert_ok(elapse_task_schedule_at_wall_clock(scheduler, &task,
                                                     unix_ns + i * ELAPSE_MINUTE_NS + T(1), NULL));
        fake_os_wait_idle();
        fake_os_advance(T(1));
        fake_os_wait_idle();
        expect_runs("b");
    }
    fake_os_set_wall_clock(unix_ns + ELAPSE_HOUR_NS);
    fake_os_wait_idle();
    expect_runs("a");
    fake_end(scheduler);
}

TEST_MAIN("alarm_refused")
