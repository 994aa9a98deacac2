/*
 * Tests that with one worker and one shard tasks run in the order of their deadlines. This also
 * holds for a task that is moved while it waits for the worker: its old place in the queue is
 * ignored.
 *
 * An action holds the worker while the queue fills. The test moves the clock, and goes on only when
 * all that is due was handled.
 */
#include "../support/fake_os.h"
#include "fixture.h"

#define AT(ticks) (FAKE_MONOTONIC_NS + (uint64_t)(ticks)*TICK_NS)

static struct elapse_scheduler *held_new(struct gate *gate)
{
    struct elapse_scheduler_options options = real_options(1, 1);

    fake_os_begin();
    options.queue_tasks = 16;
    struct elapse_scheduler *scheduler = started_with(&options);
    (void)schedule_at(scheduler, task_at_gate(gate), AT(0));
    wait_entered(gate, 1);
    return scheduler;
}

static struct elapse_handle add(struct elapse_scheduler *scheduler, char name, uint64_t deadline_ns)
{
    return schedule_at(scheduler, task_named((size_t)name), deadline_ns);
}

/* Moves the clock to this time. When it returns, the tasks that are due then are in the queue. */
static void queue_until(uint64_t now_ns)
{
    fake_os_advance(now_ns - fake_os_now_ns(ELAPSE__OS_MONOTONIC));
    fake_os_wait_idle();
}

static void move(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                 uint64_t deadline_ns)
{
    assert_ok(elapse_task_reschedule_at(scheduler, handle, deadline_ns));
}

static void release_and_expect(struct elapse_scheduler *scheduler, struct gate *gate,
                               const char *letters)
{
    open_gate(gate);
    wait_for_runs(strlen(letters));
    assert_int_equal(pending_tasks(scheduler), 0);
    scheduler_end(scheduler);
    fake_os_end();
    expect_runs(letters);
}

TEST(a_queued_task_that_is_moved_runs_in_its_new_place)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = held_new(&gate);
    struct elapse_handle a = add(scheduler, 'a', AT(30));

    (void)add(scheduler, 'b', AT(40));
    (void)add(scheduler, 'c', AT(50));
    queue_until(AT(60));
    move(scheduler, a, AT(80));
    queue_until(AT(90));
    release_and_expect(scheduler, &gate, "bca");
}

TEST(a_queued_task_that_is_moved_again_and_again_runs_in_its_last_place)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = held_new(&gate);
    struct elapse_handle a = add(scheduler, 'a', AT(10));

    (void)add(scheduler, 'b', AT(20));
    queue_until(AT(25));
    move(scheduler, a, AT(30));
    (void)add(scheduler, 'c', AT(40));
    queue_until(AT(45));
    move(scheduler, a, AT(50));
    (void)add(scheduler, 'd', AT(60));
    queue_until(AT(65));
    move(scheduler, a, AT(70));
    queue_until(AT(75));
    release_and_expect(scheduler, &gate, "bcda");
}

TEST(queued_tasks_that_are_moved_past_each_other_exchange_places)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = held_new(&gate);
    struct elapse_handle a = add(scheduler, 'a', AT(10));
    struct elapse_handle b = add(scheduler, 'b', AT(11));
    struct elapse_handle c = add(scheduler, 'c', AT(12));

    queue_until(AT(20));
    move(scheduler, a, AT(32));
    move(scheduler, b, AT(31));
    move(scheduler, c, AT(30));
    queue_until(AT(40));
    release_and_expect(scheduler, &gate, "cba");
}

/* The task's old place in the queue is passed over while the task waits in the wheel. */
TEST(a_queued_task_that_is_moved_does_not_run_before_its_new_deadline)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = held_new(&gate);
    struct elapse_handle a = add(scheduler, 'a', AT(30));

    (void)add(scheduler, 'b', AT(40));
    queue_until(AT(50));
    move(scheduler, a, AT(80));
    open_gate(&gate);
    wait_for_runs(1);
    expect_runs("b");
    queue_until(AT(79));
    assert_int_equal(runs(), 1);
    queue_until(AT(80));
    wait_for_runs(2);
    expect_runs("a");
    assert_int_equal(run_at(1).run.intended_ns, AT(80));
    scheduler_end(scheduler);
    fake_os_end();
}

TEST_MAIN("order")
