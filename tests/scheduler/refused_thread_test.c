/*
 * Tests what happens when the system refuses to make a worker. Tasks then wait for the workers that
 * exist, but not after the refusals have ended: the clock thread tries again, even if no further
 * task comes due.
 */
#include "../support/fake_os.h"
#include "fixture.h"

enum { SECONDS_MAX = 60 };

static struct elapse_scheduler *fake_new(unsigned workers)
{
    struct elapse_scheduler_options options = real_options(workers, 1);

    fake_os_begin();
    return started_with(&options);
}

static void add_now(struct elapse_scheduler *scheduler, struct elapse_task task)
{
    (void)schedule_at(scheduler, task, fake_os_now_ns(ELAPSE__OS_MONOTONIC));
}

static uint64_t attempts(void)
{
    return fake_os_count(FAKE_OS_THREAD_START);
}

/* Puts a task into the queue, and has every worker for it made or refused. */
static void queue_now(struct elapse_scheduler *scheduler, struct elapse_task task)
{
    uint64_t before = attempts();

    add_now(scheduler, task);
    fake_os_wait_idle();
    assert_true(attempts() > before);
}

/* Lets only time pass until there were `number` attempts to make a thread. Returns whether there
 * were. */
static bool is_tried_again(uint64_t number)
{
    for (unsigned second = 0; second < SECONDS_MAX && attempts() < number; second++) {
        fake_os_advance(ELAPSE_SECOND_NS);
        fake_os_wait_idle();
    }
    return attempts() >= number;
}

TEST(a_task_does_not_wait_for_another_because_one_thread_was_refused)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = fake_new(10);
    struct elapse_task held = task_at_gate(&gate);
    struct elapse_task task = task_named('b');

    add_now(scheduler, held);
    wait_entered(&gate, 1); /* by the worker that start has made */
    uint64_t before = attempts();
    fake_os_refuse(FAKE_OS_THREAD_START, 1);
    queue_now(scheduler, task);
    assert_true(is_tried_again(before + 2));
    wait_for_runs(1);
    expect_runs("b");
    assert_int_equal(atomic_load(&gate.left), 0);
    open_gate(&gate);
    scheduler_end(scheduler);
    fake_os_end();
}

TEST(several_tasks_each_get_the_worker_that_was_refused)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = fake_new(4);
    struct elapse_task held = task_at_gate(&gate);

    add_now(scheduler, held);
    wait_entered(&gate, 1);
    fake_os_refuse(FAKE_OS_THREAD_START, FAKE_OS_ALL);
    add_now(scheduler, held);
    add_now(scheduler, held);
    add_now(scheduler, held);
    fake_os_wait_idle();
    assert_int_equal(fake_os_running_threads(), 1 + 1);
    fake_os_refuse(FAKE_OS_THREAD_START, 0);
    assert_true(is_tried_again(attempts() + 1));
    /* From here on each of the three is made, whether in one go or one after the other. */
    for (unsigned second = 0; second < SECONDS_MAX && fake_os_running_threads() < 1 + 4; second++) {
        fake_os_advance(ELAPSE_SECOND_NS);
        fake_os_wait_idle();
    }
    assert_int_equal(fake_os_running_threads(), 1 + 4); /* with the clock thread */
    wait_entered(&gate, 4);
    open_gate(&gate);
    scheduler_end(scheduler);
    fake_os_end();
}

/* While time stands still, no thread tries again. */
TEST(trying_again_is_no_polling)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = fake_new(10);
    struct elapse_task held = task_at_gate(&gate);
    struct elapse_task task = task_named('b');

    add_now(scheduler, held);
    wait_entered(&gate, 1);
    fake_os_refuse(FAKE_OS_THREAD_START, FAKE_OS_ALL);
    /* While time stands still, the clock thread comes to rest, and stays there. */
    uint64_t before = attempts();
    queue_now(scheduler, task);
    assert_true(attempts() < before + 10);
    before = attempts();
    assert_true(fake_os_is_idle());
    assert_int_equal(attempts(), before);
    /* When no task is left, no thread tries again. */
    open_gate(&gate);
    wait_for_runs(1);
    fake_os_advance(ELAPSE_HOUR_NS);
    fake_os_wait_idle();
    before = attempts();
    for (unsigned i = 0; i < 10; i++) {
        fake_os_advance(ELAPSE_HOUR_NS);
        fake_os_wait_idle();
    }
    assert_int_equal(attempts(), before);
    scheduler_end(scheduler);
    fake_os_end();
}

TEST_MAIN("refused_thread")
