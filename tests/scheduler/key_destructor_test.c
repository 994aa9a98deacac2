/*
 * Tests that a key has one user at a time, destructors included: while the context of one task with
 * a key is being destroyed, no action of another task with that key has begun. So a program can
 * keep one resource for each key.
 *
 * In these tests the destructor itself asks whether the next task may be taken already, in pull
 * mode on manual time. So nothing runs at the same time, and nothing is left to chance.
 */
#include "pulling.h"

/* What the destructor of task 'a' does and finds. */
static struct {
    struct elapse_scheduler *scheduler;
    bool schedules; /* the next task with the key, due at once */
    unsigned calls;
    enum elapse_error scheduled, taken;
} destroying;

static void destroy_and_take(void *context)
{
    struct elapse_taken taken;

    write_end(context);
    destroying.calls++;
    if (destroying.schedules) {
        struct elapse_task next = task_with_key('b', "key", ELAPSE_KEY_REPLACE);

        destroying.scheduled = elapse_task_schedule_at(destroying.scheduler, &next, 0, NULL);
    }
    destroying.taken = elapse_task_take(destroying.scheduler, 0, &taken);
    if (destroying.taken == ELAPSE_OK)
        (void)elapse_task_done(destroying.scheduler, taken.run.handle);
}

static struct elapse_task first_task(void)
{
    struct elapse_task task = task_with_key('a', "key", ELAPSE_KEY_REPLACE);

    task.destroy = destroy_and_take;
    return task;
}

static struct elapse_scheduler *begin(bool schedules)
{
    struct elapse_scheduler *scheduler = pull_new();

    memset(&destroying, 0, sizeof destroying);
    destroying.scheduler = scheduler;
    destroying.schedules = schedules;
    return scheduler;
}

/* The next task has not begun before the destructor has returned, and is due then. */
static void expect_next_to_have_waited(struct elapse_scheduler *scheduler)
{
    assert_int_equal(destroying.calls, 1);
    assert_ok(destroying.scheduled);
    assert_int_equal(destroying.taken, ELAPSE_ERROR_NOTHING_DUE);
    assert_int_equal(ends_of('a'), 1);
    assert_true(elapse_scheduler_next_ns(scheduler) <= elapse_scheduler_now_ns(scheduler));
    expect_taken(scheduler, "b");
    assert_int_equal(ends_of('b'), 1);
    assert_int_equal(pending_tasks(scheduler), 0);
    scheduler_end(scheduler);
}

TEST(the_successor_of_a_replaced_task_waits_for_the_destructor)
{
    struct elapse_scheduler *scheduler = begin(false);
    struct elapse_task task = first_task();

    (void)schedule_at(scheduler, task, T(100));
    go_to(scheduler, T(1));
    task = task_with_key('b', "key", ELAPSE_KEY_REPLACE);
    (void)schedule_at(scheduler, task, T(1)); /* destroys the context of the first */
    expect_next_to_have_waited(scheduler);
}

TEST(the_successor_of_a_task_that_ran_waits_for_the_destructor)
{
    struct elapse_scheduler *scheduler = begin(false);
    struct elapse_task task = first_task();

    (void)schedule_at(scheduler, task, T(1));
    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');

    task = task_with_key('b', "key", ELAPSE_KEY_REPLACE);
    (void)schedule_at(scheduler, task, T(1));
    expect_nothing(scheduler);
    done(scheduler, &taken);
    expect_next_to_have_waited(scheduler);
}

TEST(a_task_scheduled_by_the_destructor_waits_for_it)
{
    struct elapse_scheduler *scheduler = begin(true);

    (void)schedule_at(scheduler, first_task(), T(1));
    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');

    done(scheduler, &taken);
    expect_next_to_have_waited(scheduler);
}

TEST(the_successor_of_a_cancelled_task_waits_for_the_destructor)
{
    struct elapse_scheduler *scheduler = begin(true);
    struct elapse_handle handle = schedule_at(scheduler, first_task(), T(100));

    go_to(scheduler, T(1));
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    expect_next_to_have_waited(scheduler);
}

/* A destructor delays no task with another key. */
SCHEDULER_TEST(a_task_with_another_key_does_not_wait_for_the_destructor, begin(false))
{
    struct elapse_task task = first_task();
    struct elapse_handle handle = schedule_at(scheduler, task, T(100));

    task = task_with_key('b', "other", ELAPSE_KEY_REPLACE);
    (void)schedule_at(scheduler, task, T(1));
    go_to(scheduler, T(1));
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    assert_ok(destroying.taken);
    assert_int_equal(ends_of('b'), 1);
}

/* ---- a step beside the destructor ---- */

static void *step_once(void *scheduler)
{
    return elapse_scheduler_step(scheduler, T(2), NULL) == ELAPSE_OK ? scheduler : NULL;
}

static size_t runs_beside;
static bool has_stepped;

/* Lets another thread run everything that is due, and waits until it has. */
static void destroy_beside_a_step(void *context)
{
    pthread_t thread;
    void *result = NULL;

    write_end(context);
    if (pthread_create(&thread, NULL, step_once, destroying.scheduler) == 0)
        has_stepped = pthread_join(thread, &result) == 0 && result != NULL;
    runs_beside = runs();
}

TEST(an_action_does_not_begin_on_another_thread_beside_the_destructor)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_task task = first_task();

    memset(&destroying, 0, sizeof destroying);
    destroying.scheduler = scheduler;
    has_stepped = false;
    task.destroy = destroy_beside_a_step;
    (void)schedule_at(scheduler, task, T(100));
    task = task_with_key('b', "key", ELAPSE_KEY_REPLACE);
    (void)schedule_at(scheduler, task, T(1));
    assert_true(has_stepped);
    assert_int_equal(runs_beside, 0);
    expect_step(scheduler, T(2), "b");
    scheduler_end(scheduler);
}

TEST_MAIN("key_destructor")
