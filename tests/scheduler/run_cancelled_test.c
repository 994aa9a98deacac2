/*
 * Tests that a long action learns that it should end early.
 */
#include "pulling.h"
#include "recurring.h"

PULL_TEST(a_cancelled_task_learns_of_it)
{
    struct elapse_handle handle = add(scheduler, 'a', T(1));

    add(scheduler, 'b', T(1));
    go_to(scheduler, T(1));
    struct elapse_taken one = take(scheduler, 'a');
    struct elapse_taken other = take(scheduler, 'b');
    assert_false(elapse_run_cancelled(&one.run));
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    assert_true(elapse_run_cancelled(&one.run));
    assert_false(elapse_run_cancelled(&other.run));
    done(scheduler, &one);
    assert_true(elapse_run_cancelled(&one.run));
    done(scheduler, &other);
}

PULL_TEST(a_recurring_task_that_was_replaced_learns_of_it)
{
    struct elapse_task task = task_with_key('a', "k", ELAPSE_KEY_REPLACE);

    task.recurrence = ELAPSE_RECUR_PERIOD;
    task.period_ns = T(1);
    (void)schedule_at(scheduler, task, T(1));
    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');
    assert_false(elapse_run_cancelled(&taken.run));
    (void)schedule_at(scheduler, task_with_key('b', "k", ELAPSE_KEY_REPLACE), T(1));
    assert_true(elapse_run_cancelled(&taken.run));
    done(scheduler, &taken);
}

/* A task that runs once is not replaced by the next task with its key. */
PULL_TEST(a_task_whose_key_is_scheduled_again_goes_on)
{
    struct elapse_task task = task_with_key('a', "k", ELAPSE_KEY_REPLACE);

    (void)schedule_at(scheduler, task, T(1));
    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');
    (void)schedule_at(scheduler, task, T(1));
    assert_false(elapse_run_cancelled(&taken.run));
    done(scheduler, &taken);
}

/* It runs until it learns that it should end. */
static void run_until_cancelled(void *context, const struct elapse_run *run)
{
    atomic_bool *entered = context;

    atomic_store(entered, true);
    while (!elapse_run_cancelled(run))
        sleep_ns(ELAPSE_MILLISECOND_NS / 5);
}

static bool is_set(void *flag)
{
    return atomic_load((atomic_bool *)flag);
}

SCHEDULER_TEST(closing_ends_an_action_that_asks, started_new(1))
{
    static atomic_bool entered;
    struct elapse_task task = {.action = run_until_cancelled, .context = &entered};

    (void)schedule_after(scheduler, task, 0);
    wait_until(is_set, &entered);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
}

static bool told;

static void note_answer(void *context, const struct elapse_run *run)
{
    write_run(context, run);
    told = elapse_run_cancelled(run);
}

MANUAL_TEST(closing_that_runs_due_tasks_does_not_tell_them_to_end)
{
    struct elapse_task task = task_named('a');

    told = true;
    task.action = note_answer;
    (void)schedule_at(scheduler, task, 0);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_DUE, NULL, NULL));
    expect_runs("a");
    assert_false(told);
}

TEST_MAIN("run_cancelled")
