/*
 * Tests that times that nobody can mean, such as a negative number as unsigned, are refused and
 * change nothing.
 */
#include "pulling.h"
#include "recurring.h"

#define NEGATIVE_NS ((uint64_t)-5)

static void expect_refused(struct elapse_scheduler *scheduler, const struct elapse_task *task)
{
    struct elapse_batch_task batch = {.task = *task, .deadline_ns = T(1)};

    assert_int_equal(elapse_task_schedule_at(scheduler, task, T(1), NULL), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_task_schedule_after(scheduler, task, T(1), NULL),
                     ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_task_schedule_now(scheduler, task, NULL), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_task_schedule_at_wall_clock(scheduler, task, T(1), NULL),
                     ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_task_schedule_batch(scheduler, &batch, 1), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(pending_tasks(scheduler), 0);
    assert_int_equal(ends(), 0);
}

MANUAL_TEST(a_period_without_a_recurrence)
{
    struct elapse_task task = task_named('a');
    struct elapse_cron cron;

    task.period_ns = 1;
    expect_refused(scheduler, &task);
    assert_ok(elapse_cron_parse(&cron, "* * * * *", NULL));
    task.cron = &cron;
    assert_int_equal(elapse_task_schedule_cron(scheduler, &task, NULL), ELAPSE_ERROR_ARGUMENT);
    task.recurrence = ELAPSE_RECUR_CRON;
    assert_int_equal(elapse_task_schedule_cron(scheduler, &task, NULL), ELAPSE_ERROR_ARGUMENT);
    task.period_ns = 0;
    assert_ok(elapse_task_schedule_cron(scheduler, &task, NULL));
}

MANUAL_TEST(an_answer_to_missed_occurrences_without_a_recurrence)
{
    struct elapse_task task = task_named('a');
    struct elapse_cron cron;

    task.if_missed = ELAPSE_MISSED_BURST;
    expect_refused(scheduler, &task);
    task.if_missed = ELAPSE_MISSED_DELAY;
    expect_refused(scheduler, &task);
    task.if_missed = ELAPSE_MISSED_BURST;
    assert_ok(elapse_cron_parse(&cron, "* * * * *", NULL));
    task.cron = &cron;
    assert_int_equal(elapse_task_schedule_cron(scheduler, &task, NULL), ELAPSE_ERROR_ARGUMENT);
}

MANUAL_TEST(a_negative_delay_or_deadline)
{
    static const uint64_t times_ns[] = {NEGATIVE_NS, ELAPSE_NEVER - 1, (uint64_t)INT64_MAX + 1};
    struct elapse_task task = task_with_key('a', "k", ELAPSE_KEY_REPLACE);
    struct elapse_handle handle = schedule_at(scheduler, task, T(3));

    for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++) {
        uint64_t time_ns = times_ns[i];
        struct elapse_batch_task batch[] = {{.task = task, .deadline_ns = time_ns}};
        const enum elapse_error refused[] = {
            elapse_task_schedule_at(scheduler, &task, time_ns, NULL),
            elapse_task_schedule_after(scheduler, &task, time_ns, NULL),
            elapse_task_schedule_at_wall_clock(scheduler, &task, time_ns, NULL),
            elapse_task_schedule_batch(scheduler, batch, 1),
            elapse_task_reschedule_at(scheduler, handle, time_ns),
            elapse_task_reschedule_after(scheduler, handle, time_ns),
            elapse_task_reschedule_key_at(scheduler, "k", 1, time_ns),
            elapse_task_reschedule_key_after(scheduler, "k", 1, time_ns),
            elapse_task_reschedule_earlier_at(scheduler, handle, time_ns, NULL),
            elapse_task_reschedule_earlier_after(scheduler, handle, time_ns, NULL),
            elapse_task_reschedule_later_at(scheduler, handle, time_ns, NULL),
            elapse_task_reschedule_later_after(scheduler, handle, time_ns, NULL),
        };

        for (size_t j = 0; j < sizeof refused / sizeof *refused; j++)
            assert_int_equal(refused[j], ELAPSE_ERROR_ARGUMENT);
    }
    expect_step(scheduler, T(3), "a");
    assert_int_equal(statistics_of(scheduler).scheduled, 1);
}

MANUAL_TEST(the_longest_delay_and_never_are_accepted)
{
    struct elapse_task task = task_named('a');

    (void)schedule_at(scheduler, task, INT64_MAX);
    (void)schedule_at(scheduler, task, ELAPSE_NEVER);
    (void)schedule_after(scheduler, task, ELAPSE_NEVER);
    /* When the clock shows a very late time, very late deadlines are near. */
    expect_step(scheduler, INT64_MAX - T(9), "");
    (void)schedule_after(scheduler, task, INT64_MAX);
    (void)schedule_at(scheduler, task, (uint64_t)INT64_MAX + T(9));
    assert_int_equal(pending_tasks(scheduler), 5);
}

TEST(a_task_before_start_if_the_option_says_so)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);
    struct elapse_task plain = task_named('a');
    struct elapse_task keyed = task_with_key('k', "k", ELAPSE_KEY_REPLACE);

    assert_false(options.refuse_before_start);
    options.refuse_before_start = true;
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    expect_refused(scheduler, &plain);
    expect_refused(scheduler, &keyed);
    assert_ok(elapse_scheduler_start(scheduler));
    (void)schedule_at(scheduler, plain, T(1));
    (void)schedule_at(scheduler, keyed, T(1));
    expect_step(scheduler, T(1), "ak");
    scheduler_end(scheduler);
}

TEST_MAIN("refuse")
