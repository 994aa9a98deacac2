/*
 * Tests the reason that a destructor is given: one reason for each way in which a task can end, on
 * manual time and in pull mode.
 */
#include "pulling.h"
#include "recurring.h"
#include "wall_clock.h"

/* The reasons in the order of the ends, as letters: "ra cb " means that a ran and b was cancelled.
 */
static char told[256];

static void tell(void *context, enum elapse_end reason)
{
    static const char letters[] = "rcpko";
    size_t length = strlen(told);

    told[length] = letters[reason];
    told[length + 1] = (char)number_of(context);
    told[length + 2] = ' ';
    told[length + 3] = '\0';
}

static void expect_told(const char *expected)
{
    assert_string_equal(told, expected);
    told[0] = '\0';
}

static struct elapse_task telling(char name)
{
    struct elapse_task task = task_named((size_t)name);

    task.ended = tell;
    return task;
}

static struct elapse_task telling_with_key(char name, enum elapse_key_policy policy)
{
    struct elapse_task task = telling(name);

    task.key = "key";
    task.key_bytes = 3;
    task.if_key_pending = policy;
    return task;
}

static struct elapse_task telling_periodic(char name, uint64_t period_ns)
{
    struct elapse_task task = telling(name);

    task.recurrence = ELAPSE_RECUR_PERIOD;
    task.period_ns = period_ns;
    return task;
}

static struct elapse_handle put(struct elapse_scheduler *scheduler, struct elapse_task task,
                                uint64_t deadline_ns)
{
    return schedule_at(scheduler, task, deadline_ns);
}

static int begin(void **state)
{
    (void)state;
    told[0] = '\0';
    return 0;
}

/* ---- tasks that run ---- */

TEST_WITH(it_ran, begin, NULL)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);

    put(scheduler, telling('a'), TICK_NS);
    put(scheduler, telling_with_key('b', ELAPSE_KEY_REPLACE), TICK_NS);
    assert_int_equal(step(scheduler, TICK_NS), 2);
    expect_told("ra rb ");
    scheduler_end(scheduler);
    expect_told("");
}

TEST_WITH(it_ran_by_the_wall_clock, begin, NULL)
{
    struct elapse_scheduler *scheduler = wall_new(WALL_NS, 1);

    schedule_by_wall_clock(scheduler, telling('a'), WALL_NS);
    assert_int_equal(step(scheduler, 0), 1);
    expect_told("ra ");
    scheduler_end(scheduler);
}

TEST_WITH(a_cron_task_ran_when_there_is_no_further_moment, begin, NULL)
{
    struct elapse_scheduler *scheduler = wall_new(WALL_NS, 1);
    struct elapse_task task = telling('a');
    struct elapse_cron cron;

    assert_ok(elapse_cron_parse(&cron, "0 0 1 1 *", NULL));
    task.cron = &cron;
    task.recurrence = ELAPSE_RECUR_CRON;
    assert_ok(elapse_task_schedule_cron(scheduler, &task, NULL));
    assert_ok(elapse_scheduler_set_wall_clock(scheduler, ELAPSE_NEVER));
    assert_int_equal(step(scheduler, 0), 1);
    expect_told("ra ");
    scheduler_end(scheduler);
}

/* ---- cancelled ---- */

TEST_WITH(it_was_cancelled_before_it_began, begin, NULL)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_handle handles[3];

    for (size_t i = 0; i < 3; i++)
        handles[i] = put(scheduler, telling((char)('a' + i)), TICK_NS);
    assert_int_equal(elapse_task_cancel(scheduler, handles[0]), ELAPSE_CANCEL_REMOVED);
    expect_told("ca ");
    assert_int_equal(elapse_task_cancel_wait(scheduler, handles[1], 0), ELAPSE_CANCEL_REMOVED);
    expect_told("cb ");
    assert_int_equal(elapse_task_cancel_batch(scheduler, &handles[2], 1, NULL), 1);
    expect_told("cc ");
    scheduler_end(scheduler);
    expect_told("");
}

static void cancel_myself(void *context, const struct elapse_run *run)
{
    (void)context;
    (void)elapse_task_cancel(run->scheduler, run->handle);
}

TEST_WITH(it_was_cancelled_while_it_ran, begin, NULL)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_task once = telling('a');
    struct elapse_task again = telling_periodic('b', TICK_NS);

    once.action = cancel_myself;
    again.action = cancel_myself;
    put(scheduler, once, TICK_NS);
    put(scheduler, again, 2 * TICK_NS);
    assert_int_equal(step(scheduler, 9 * TICK_NS), 2);
    expect_told("ca cb ");
    scheduler_end(scheduler);
}

/* ---- keys ---- */

TEST_WITH(it_was_replaced_while_pending, begin, NULL)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);

    put(scheduler, telling_with_key('a', ELAPSE_KEY_REPLACE), TICK_NS);
    put(scheduler, telling_with_key('b', ELAPSE_KEY_REPLACE), TICK_NS);
    expect_told("pa ");
    assert_int_equal(step(scheduler, TICK_NS), 1);
    expect_told("rb ");
    scheduler_end(scheduler);
}

static void replace_myself(void *context, const struct elapse_run *run)
{
    (void)context;
    struct elapse_task next = telling_with_key('x', ELAPSE_KEY_REPLACE);

    next.action = write_run;
    if (elapse_task_schedule_at(run->scheduler, &next, 5 * TICK_NS, NULL) != ELAPSE_OK)
        told[0] = '!';
}

TEST_WITH(it_was_replaced_while_it_ran_and_was_to_run_again, begin, NULL)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_task task = telling_periodic('a', TICK_NS);

    task.key = "key";
    task.key_bytes = 3;
    task.action = replace_myself;
    put(scheduler, task, TICK_NS);
    assert_int_equal(step(scheduler, TICK_NS), 1);
    expect_told("pa ");
    assert_int_equal(step(scheduler, 5 * TICK_NS), 1);
    expect_told("rx ");
    scheduler_end(scheduler);
}

/* A task runs for the last time while its key has a new task. Its end counts as a run, not as a
 * replacement. */
TEST_WITH(it_ran_though_its_key_has_a_new_task, begin, NULL)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_task task = telling_with_key('a', ELAPSE_KEY_REPLACE);

    task.action = replace_myself;
    put(scheduler, task, TICK_NS);
    assert_int_equal(step(scheduler, TICK_NS), 1);
    expect_told("ra ");
    scheduler_end(scheduler);
    expect_told("ox ");
}

TEST_WITH(it_was_kept_out, begin, NULL)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_batch_task batch = {.task = telling_with_key('c', ELAPSE_KEY_KEEP)};

    put(scheduler, telling_with_key('a', ELAPSE_KEY_KEEP), TICK_NS);
    put(scheduler, telling_with_key('b', ELAPSE_KEY_KEEP), TICK_NS);
    expect_told("kb ");
    assert_ok(elapse_task_schedule_batch(scheduler, &batch, 1));
    expect_told("kc ");
    scheduler_end(scheduler);
    expect_told("oa ");
}

/* ---- closing ---- */

TEST_WITH(it_was_pending_when_closed, begin, NULL)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);

    put(scheduler, telling('a'), 0);
    put(scheduler, telling('b'), TICK_NS);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_DUE, NULL, NULL));
    expect_told("ra ob ");
    scheduler_end(scheduler);
    expect_told("");
}

static struct elapse_task given_back;

static void note_given_back(const struct elapse_handed_back *handed_back, void *context)
{
    (void)context;
    given_back = handed_back->task;
}

TEST_WITH(handed_back_it_has_not_ended, begin, NULL)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);

    put(scheduler, telling('a'), 0);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_HAND_BACK, note_given_back, NULL));
    assert_true(given_back.ended == tell);
    assert_true(given_back.destroy == NULL);
    scheduler_end(scheduler);
    expect_told("");
}

/* ---- pull mode ---- */

TEST_WITH(in_pull_mode_each_reason, begin, NULL)
{
    struct elapse_scheduler *scheduler = pull_new();

    put(scheduler, telling('a'), TICK_NS);
    go_to(scheduler, TICK_NS);
    struct elapse_taken taken = take(scheduler, 'a');
    done(scheduler, &taken);
    expect_told("ra ");

    struct elapse_handle handle = put(scheduler, telling('b'), 2 * TICK_NS);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    expect_told("cb ");

    handle = put(scheduler, telling_periodic('c', TICK_NS), 2 * TICK_NS);
    go_to(scheduler, 2 * TICK_NS);
    taken = take(scheduler, 'c');
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    expect_told("");
    done(scheduler, &taken);
    expect_told("cc ");

    handle = put(scheduler, telling_with_key('d', ELAPSE_KEY_REPLACE), 3 * TICK_NS);
    go_to(scheduler, 3 * TICK_NS);
    taken = take(scheduler, 'd');
    assert_ok(elapse_task_reschedule_at(scheduler, handle, 4 * TICK_NS));
    put(scheduler, telling_with_key('e', ELAPSE_KEY_REPLACE), 5 * TICK_NS);
    expect_told("");
    done(scheduler, &taken);
    expect_told("pd ");
    put(scheduler, telling_with_key('f', ELAPSE_KEY_REPLACE), 5 * TICK_NS);
    expect_told("pe ");
    put(scheduler, telling_with_key('g', ELAPSE_KEY_KEEP), 5 * TICK_NS);
    expect_told("kg ");
    scheduler_end(scheduler);
    expect_told("of ");
}

/* ---- refusals ---- */

TEST_WITH(two_destructors_are_refused, begin, NULL)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_task task = telling('a');

    task.destroy = write_end;
    assert_int_equal(elapse_task_schedule_at(scheduler, &task, 0, NULL), ELAPSE_ERROR_ARGUMENT);
    scheduler_end(scheduler);
    expect_told("");
    assert_int_equal(ends(), 0);
}

TEST_MAIN("end_reason")
