/*
 * Tests workers that leave when they have been idle for long enough, and are made again when they
 * are needed. The test moves the clock, so that workers are idle for exactly as long as it says.
 */
#include "../support/fake_os.h"
#include "fixture.h"

/* How long a worker waits before it leaves. */
#define IDLE_NS ELAPSE_MINUTE_NS

static struct elapse_scheduler *leaving_new(unsigned workers, unsigned workers_min)
{
    struct elapse_scheduler_options options;

    fake_os_begin();
    elapse_scheduler_options_init(&options);
    options.workers = workers;
    options.workers_min = workers_min;
    options.worker_idle_ns = IDLE_NS;
    options.shards = 1;
    return started_with(&options);
}

static void end(struct elapse_scheduler *scheduler)
{
    scheduler_end(scheduler);
    assert_int_equal(fake_os_running_threads(), 0);
    fake_os_end();
}

/* Waits until there are at most `workers` workers. The clock thread is a thread beside them. */
static void wait_for_workers(struct elapse_scheduler *scheduler, unsigned workers)
{
    fake_os_wait_for_threads(1 + workers);
    assert_int_equal(statistics_of(scheduler).workers, workers);
}

static void add_now(struct elapse_scheduler *scheduler, struct elapse_task task)
{
    (void)schedule_at(scheduler, task, fake_os_now_ns(ELAPSE__OS_MONOTONIC));
}

/* Makes `count` workers by giving each of them a task at the same time, and returns when all of
 * them are idle. `waiting`: how many of all workers then wait with a time limit. */
static void occupy(struct elapse_scheduler *scheduler, unsigned count, unsigned waiting)
{
    static struct gate gates[32];
    static unsigned used;
    struct gate *gate = &gates[used++];
    struct elapse_task held = task_at_gate(gate);

    for (unsigned i = 0; i < count; i++)
        add_now(scheduler, held);
    wait_entered(gate, count);
    assert_true(statistics_of(scheduler).workers >= count);
    open_gate(gate);
    fake_os_wait_for_timed_waits(waiting);
    /* While the clock thread has not noted that the last worker is made, no worker leaves. */
    fake_os_wait_idle();
}

TEST(workers_that_are_idle_for_too_long_leave)
{
    struct elapse_scheduler *scheduler = leaving_new(4, 1);

    occupy(scheduler, 4, 4);
    fake_os_advance(IDLE_NS - 1);
    assert_int_equal(statistics_of(scheduler).workers, 4);
    fake_os_advance(1);
    wait_for_workers(scheduler, 1);
    end(scheduler);
}

TEST(a_minimum_stays)
{
    struct elapse_scheduler *scheduler = leaving_new(4, 3);

    occupy(scheduler, 4, 4);
    fake_os_advance(IDLE_NS);
    fake_os_wait_for_ended_timed_waits(4);
    assert_int_equal(statistics_of(scheduler).workers, 3);
    end(scheduler);
}

TEST(a_minimum_above_the_number_of_workers_keeps_all)
{
    struct elapse_scheduler *scheduler = leaving_new(2, 4096);

    occupy(scheduler, 2, 2);
    fake_os_advance(IDLE_NS);
    fake_os_wait_for_ended_timed_waits(2);
    wait_for_workers(scheduler, 2);
    end(scheduler);
}

/* With a time limit the worker would wake up for nothing every minute. */
TEST(a_worker_that_stays_waits_without_a_time_limit)
{
    struct elapse_scheduler *scheduler = leaving_new(4, 1);

    fake_os_wait_idle();
    fake_os_wait_for_timed_waits(1);
    fake_os_advance(IDLE_NS);
    fake_os_wait_for_ended_timed_waits(1);
    /* To read the statistics takes the lock, which the worker holds until it waits again. */
    assert_int_equal(statistics_of(scheduler).workers, 1);
    assert_int_equal(fake_os_timed_waits(), 0);
    /* The worker still runs tasks, and then waits with a limit again. */
    occupy(scheduler, 1, 1);
    end(scheduler);
}

TEST(workers_are_made_again_when_they_are_needed)
{
    struct elapse_scheduler *scheduler = leaving_new(3, 1);

    for (unsigned round = 0; round < 3; round++) {
        occupy(scheduler, 3, 3);
        fake_os_advance(IDLE_NS);
        wait_for_workers(scheduler, 1);
    }
    assert_int_equal(fake_os_count(FAKE_OS_THREAD_START), 2 + 3 * 2);
    end(scheduler);
}

TEST(a_task_that_comes_in_time_keeps_its_worker)
{
    struct elapse_scheduler *scheduler = leaving_new(2, 1);
    struct elapse_task task = task_named('a');

    occupy(scheduler, 2, 2);
    fake_os_advance(IDLE_NS / 2);
    add_now(scheduler, task);
    wait_for_runs(1);
    fake_os_wait_for_timed_waits(2);
    /* The other worker leaves. This one was idle for half of the time. */
    fake_os_advance(IDLE_NS / 2);
    wait_for_workers(scheduler, 1);
    add_now(scheduler, task);
    wait_for_runs(2);
    end(scheduler);
}

/* A worker whose time is up finds a task, so it stays: the clock goes on before the task is put. */
TEST(no_task_is_left_behind_by_workers_that_leave)
{
    enum { ROUNDS = 200 };
    struct elapse_scheduler *scheduler = leaving_new(2, 1);
    struct elapse_task task = task_named('a');

    for (unsigned round = 0; round < ROUNDS; round++) {
        add_now(scheduler, task);
        add_now(scheduler, task);
        fake_os_advance(IDLE_NS);
        add_now(scheduler, task);
        add_now(scheduler, task);
        wait_for_runs(4 * ((size_t)round + 1));
    }
    assert_int_equal(pending_tasks(scheduler), 0);
    end(scheduler);
}

TEST(closing_joins_workers_that_leave)
{
    enum { ROUNDS = 100 };

    for (unsigned round = 0; round < ROUNDS; round++) {
        static struct gate gate;
        struct elapse_scheduler *scheduler = leaving_new(4, 1);

        gate = (struct gate){0};
        struct elapse_task held = task_at_gate(&gate);
        for (unsigned i = 0; i < 4; i++)
            add_now(scheduler, held);
        wait_entered(&gate, 4);
        open_gate(&gate);
        if (round % 2 == 0)
            fake_os_wait_for_timed_waits(4);
        fake_os_advance(IDLE_NS);
        end(scheduler); /* no thread is left */
    }
}

/* One worker always stays, so a task runs even if the system has no thread to give. */
TEST(a_refused_thread_after_the_others_have_left_delays_no_task_for_ever)
{
    struct elapse_scheduler *scheduler = leaving_new(4, 1);
    struct elapse_task task = task_named('a');

    occupy(scheduler, 4, 4);
    fake_os_advance(IDLE_NS);
    wait_for_workers(scheduler, 1);
    fake_os_refuse(FAKE_OS_THREAD_START, FAKE_OS_ALL);
    for (unsigned i = 0; i < 5; i++)
        add_now(scheduler, task);
    wait_for_runs(5);
    /* While the clock thread asks for a thread, it counts a worker more. */
    fake_os_wait_idle();
    assert_int_equal(statistics_of(scheduler).workers, 1);
    fake_os_refuse(FAKE_OS_THREAD_START, 0);
    fake_os_wait_for_timed_waits(1);
    fake_os_wait_idle();
    occupy(scheduler, 4, 4);
    struct elapse_statistics statistics = statistics_of(scheduler);
    assert_int_equal(statistics.workers, 4);
    end(scheduler);
}

TEST(by_default_no_worker_leaves)
{
    static struct gate gate;
    struct elapse_scheduler_options options;

    fake_os_begin();
    elapse_scheduler_options_init(&options);
    assert_int_equal(options.worker_idle_ns, 0);
    assert_int_equal(options.workers_min, 1);
    options.shards = 1;
    struct elapse_scheduler *scheduler = started_with(&options);
    struct elapse_task held = task_at_gate(&gate);
    for (unsigned i = 0; i < 3; i++)
        add_now(scheduler, held);
    wait_entered(&gate, 3);
    open_gate(&gate);
    fake_os_wait_for_timed_waits(0);
    fake_os_advance(365 * ELAPSE_DAY_NS);
    fake_os_wait_idle();
    assert_int_equal(statistics_of(scheduler).workers, 3);
    end(scheduler);
}

TEST(a_minimum_of_none_is_refused)
{
    struct elapse_scheduler_options options;
    struct elapse_scheduler *scheduler;

    elapse_scheduler_options_init(&options);
    options.workers_min = 0;
    assert_int_equal(elapse_scheduler_new(&options, &scheduler), ELAPSE_ERROR_ARGUMENT);
    options.workers_min = 4097;
    assert_int_equal(elapse_scheduler_new(&options, &scheduler), ELAPSE_ERROR_ARGUMENT);
    options.workers_min = 4096;
    assert_ok(elapse_scheduler_new(&options, &scheduler));
    assert_ok(elapse_scheduler_free(scheduler));
}

TEST_MAIN("idle_worker")
