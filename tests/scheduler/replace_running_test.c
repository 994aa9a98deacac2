/*
 * Tests a task that another task with its key replaces while its action runs. It ends with that
 * run: no later call revives it, whatever becomes of its successor. As many tasks end as were
 * scheduled.
 */
#include "pulling.h"
#include "recurring.h"

/* What the action of a task does to itself while it runs, and what it was answered. */
static struct {
    struct elapse_scheduler *scheduler;
    struct elapse_handle successor;
    bool cancels_successor;
    bool moves_before;
    enum elapse_error moved_before, replaced, moved_beside, moved_after;
    enum elapse_cancel cancelled, cancelled_itself;
} self;

static void be_replaced(struct elapse_handle handle)
{
    struct elapse_task successor = task_with_key('b', "key", ELAPSE_KEY_REPLACE);

    if (self.moves_before)
        self.moved_before = elapse_task_reschedule_after(self.scheduler, handle, T(1));
    self.replaced = elapse_task_schedule_after(self.scheduler, &successor, T(1), &self.successor);
    self.moved_beside = elapse_task_reschedule_after(self.scheduler, handle, T(1));
    if (self.cancels_successor)
        self.cancelled = elapse_task_cancel(self.scheduler, self.successor);
    self.moved_after = elapse_task_reschedule_after(self.scheduler, handle, T(1));
}

static void run_and_be_replaced(void *context, const struct elapse_run *run)
{
    write_run(context, run);
    if (run->number == 1 && runs() == 1)
        be_replaced(run->handle);
}

static struct elapse_task replaced_task(enum elapse_recurrence recurrence)
{
    struct elapse_task task = task_with_key('a', "key", ELAPSE_KEY_REPLACE);

    task.action = run_and_be_replaced;
    task.recurrence = recurrence;
    task.period_ns = recurrence == ELAPSE_RECUR_NEVER ? 0 : TICK_NS;
    return task;
}

static void begin(struct elapse_scheduler *scheduler, bool moves_before, bool cancels_successor)
{
    memset(&self, 0, sizeof self);
    self.scheduler = scheduler;
    self.moves_before = moves_before;
    self.cancels_successor = cancels_successor;
}

static void expect_answers(void)
{
    assert_ok(self.moved_before);
    assert_ok(self.replaced);
    assert_int_equal(self.moved_beside, ELAPSE_ERROR_GONE);
    assert_int_equal(self.moved_after, ELAPSE_ERROR_GONE);
    if (self.cancels_successor)
        assert_int_equal(self.cancelled, ELAPSE_CANCEL_REMOVED);
}

/* Two tasks: the one was replaced, the other ran or was cancelled. Nothing is left. */
static void expect_balance(struct elapse_scheduler *scheduler, uint64_t begun, uint64_t removed)
{
    struct elapse_statistics statistics = statistics_of(scheduler);

    assert_int_equal(statistics.scheduled, 2);
    assert_int_equal(statistics.replaced, 1);
    assert_int_equal(statistics.begun, begun);
    assert_int_equal(statistics.removed, removed);
    assert_int_equal(statistics.pending, 0);
    assert_int_equal(statistics.running, 0);
    assert_int_equal(statistics.dropped, 0);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(ends_of('b'), 1);
}

static void expect_no_key(struct elapse_scheduler *scheduler)
{
    struct elapse_handle handle;

    assert_false(elapse_task_find(scheduler, "key", 3, &handle));
}

/* The further periods of the task, or the deadline that it was moved to, were pending and were
 * replaced.
 */
static void expect_end(enum elapse_recurrence recurrence, bool moves_before, bool cancels)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_handle handle = schedule_at(scheduler, replaced_task(recurrence), T(1));

    begin(scheduler, moves_before, cancels);
    for (unsigned i = 1; i <= 9; i++)
        (void)step(scheduler, T(i));
    expect_answers();
    expect_runs(cancels ? "a" : "ab");
    assert_int_equal(state_of(scheduler, handle), ELAPSE_TASK_GONE);
    expect_no_key(scheduler);
    expect_balance(scheduler, cancels ? 1 : 2, cancels ? 1 : 0);
    scheduler_end(scheduler);
}

TEST(a_recurring_task_replaced_while_it_runs_is_not_revived)
{
    expect_end(ELAPSE_RECUR_PERIOD, false, true);
    expect_end(ELAPSE_RECUR_AFTER_EACH, false, true);
    expect_end(ELAPSE_RECUR_PERIOD, true, true);
}

TEST(a_task_moved_and_then_replaced_while_it_runs_is_not_revived)
{
    expect_end(ELAPSE_RECUR_NEVER, true, true);
}

TEST(a_replaced_task_is_not_revived_beside_its_successor)
{
    expect_end(ELAPSE_RECUR_PERIOD, false, false);
    expect_end(ELAPSE_RECUR_NEVER, true, false);
}

/* ---- from outside the action, in pull mode ---- */

PULL_TEST(a_taken_task_that_is_replaced_is_not_revived)
{
    struct elapse_handle handle = schedule_at(scheduler, replaced_task(ELAPSE_RECUR_PERIOD), T(1));

    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');

    begin(scheduler, false, true);
    be_replaced(handle);
    expect_answers();
    assert_int_equal(state_of(scheduler, handle), ELAPSE_TASK_RUNNING);
    done(scheduler, &taken);
    assert_int_equal(state_of(scheduler, handle), ELAPSE_TASK_GONE);
    go_to(scheduler, T(9));
    expect_nothing(scheduler);
    expect_no_key(scheduler);
    expect_balance(scheduler, 1, 1);
}

/* Its key has been given to another task and is free again. */
PULL_TEST(a_replaced_task_is_not_revived_after_a_second_successor)
{
    struct elapse_task task = replaced_task(ELAPSE_RECUR_PERIOD);
    struct elapse_handle handle = schedule_at(scheduler, task, T(1));

    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');

    begin(scheduler, false, true);
    be_replaced(handle);
    task = task_with_key('c', "key", ELAPSE_KEY_FAIL);
    struct elapse_handle second = schedule_at(scheduler, task, T(2));

    assert_int_equal(elapse_task_cancel(scheduler, second), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(elapse_task_reschedule_after(scheduler, handle, T(1)), ELAPSE_ERROR_GONE);
    /* A cancel finds that the task has begun and not ended. */
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    done(scheduler, &taken);
    go_to(scheduler, T(9));
    expect_nothing(scheduler);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(statistics_of(scheduler).pending, 0);
}

/* A one-shot task that runs and was not moved has nothing to be replaced: when its successor is
 * cancelled, it may be moved. */
PULL_TEST(a_task_that_was_not_replaced_may_be_moved_when_its_key_is_free)
{
    struct elapse_task task = replaced_task(ELAPSE_RECUR_NEVER);
    struct elapse_handle handle = schedule_at(scheduler, task, T(1));

    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');

    task = task_with_key('b', "key", ELAPSE_KEY_REPLACE);
    struct elapse_handle other = schedule_at(scheduler, task, T(2));

    assert_int_equal(statistics_of(scheduler).replaced, 0);
    assert_int_equal(elapse_task_reschedule_at(scheduler, handle, T(3)), ELAPSE_ERROR_GONE);
    assert_int_equal(elapse_task_cancel(scheduler, other), ELAPSE_CANCEL_REMOVED);
    assert_ok(elapse_task_reschedule_at(scheduler, handle, T(3)));
    done(scheduler, &taken);
    go_to(scheduler, T(3));
    expect_taken(scheduler, "a");
}

TEST_MAIN("replace_running")
