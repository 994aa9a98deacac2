/*
 * Tests tasks at the moments of a cron expression. The moments are compared with elapse_cron_next,
 * which has tests of its own.
 */
#define _POSIX_C_SOURCE 200809L

#include "fixture.h"

#include "seed.h"

/* Midnight, the beginning of 2030: a Tuesday. */
#define WALL_S     UINT64_C(1893456000)
#define S(seconds) ((uint64_t)(seconds)*ELAPSE_SECOND_NS)

static struct elapse_cron parsed(const char *expression)
{
    struct elapse_cron cron;

    assert_ok(elapse_cron_parse(&cron, expression, NULL));
    return cron;
}

static struct elapse_scheduler *wall_new(uint64_t unix_ns)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);

    assert_ok(elapse_scheduler_set_wall_clock(scheduler, unix_ns));
    return scheduler;
}

static struct elapse_task cron_task(size_t number, const struct elapse_cron *cron,
                                    enum elapse_missed if_missed)
{
    struct elapse_task task = task_with_end(number);

    task.recurrence = ELAPSE_RECUR_CRON;
    task.cron = cron;
    task.if_missed = if_missed;
    return task;
}

static struct elapse_handle schedule_cron(struct elapse_scheduler *scheduler,
                                          const struct elapse_task *task)
{
    struct elapse_handle handle = {0, 0, 0};

    assert_ok(elapse_task_schedule_cron(scheduler, task, &handle));
    assert_false(zero_handle(handle));
    return handle;
}

static struct elapse_handle schedule_expression(struct elapse_scheduler *scheduler,
                                                const char *expression,
                                                enum elapse_missed if_missed)
{
    struct elapse_cron cron = parsed(expression);
    struct elapse_task task = cron_task('a', &cron, if_missed);

    return schedule_cron(scheduler, &task);
}

static void set(struct elapse_scheduler *scheduler, uint64_t unix_ns)
{
    assert_ok(elapse_scheduler_set_wall_clock(scheduler, unix_ns));
}

/* Steps to the time at which the wall clock, if it is not set, shows `unix_ns`. */
static size_t step_wall(struct elapse_scheduler *scheduler, uint64_t unix_ns)
{
    uint64_t wall_ns = elapse_scheduler_wall_clock_ns(scheduler);

    assert_true(unix_ns >= wall_ns);
    return step(scheduler, elapse_scheduler_now_ns(scheduler) + (unix_ns - wall_ns));
}

/* Sets the wall clock, and steps without letting any time pass. */
static size_t set_and_step(struct elapse_scheduler *scheduler, uint64_t unix_ns)
{
    set(scheduler, unix_ns);
    return step(scheduler, elapse_scheduler_now_ns(scheduler));
}

static void expect_run(uint64_t index, uint64_t number, uint64_t intended_s, uint64_t actual_ns,
                       uint64_t missed)
{
    struct elapse_run run = run_at(index).run;

    assert_true(run.wall_clock);
    assert_int_equal(run.number, number);
    assert_int_equal(run.intended_ns, S(intended_s));
    assert_int_equal(run.actual_ns, actual_ns);
    assert_int_equal(run.missed, missed);
}

/* ---- at each moment ---- */

/* Checks `count` moments from `wall_ns` on. A task runs in the step to its moment, and not in the
 * step before. */
static void expect_moments(const char *expression, enum elapse_zone zone, uint64_t wall_ns,
                           uint64_t count)
{
    struct elapse_scheduler *scheduler = wall_new(wall_ns);
    struct elapse_cron cron = parsed(expression);
    struct elapse_task task = cron_task('a', &cron, ELAPSE_MISSED_SKIP);
    int64_t moment_s = (int64_t)(wall_ns / ELAPSE_SECOND_NS);

    task.zone = zone;
    struct elapse_handle handle = schedule_cron(scheduler, &task);
    for (uint64_t n = 0; n < count; n++) {
        uint64_t deadline_ns;

        assert_true(elapse_cron_next(&cron, zone, moment_s, &moment_s));
        assert_int_equal(look_up_deadline(scheduler, handle, &deadline_ns), ELAPSE_TASK_PENDING);
        assert_int_equal(deadline_ns, S(moment_s));
        assert_int_equal(step_wall(scheduler, S(moment_s) - 1), 0);
        assert_int_equal(step_wall(scheduler, S(moment_s)), 1);
        expect_run(n, n + 1, (uint64_t)moment_s, S(moment_s), 0);
        assert_true(same_handle(run_at(n).run.handle, handle));
    }
    assert_int_equal(pending_tasks(scheduler), 1);
    assert_int_equal(ends(), 0);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(ends(), 1);
    assert_int_equal(
        step_wall(scheduler, elapse_scheduler_wall_clock_ns(scheduler) + 2000 * ELAPSE_DAY_NS), 0);
    scheduler_end(scheduler);
}

TEST(it_runs_at_each_moment)
{
    static const char *const expressions[] = {
        "* * * * *",       "*/7 * * * * *", "0 2 * * mon-fri", "30 4 1,15 * 5", "@hourly",
        "59 59 23 L * *",  "0 0 29 2 *",    "0 12 15W * *",    "0 9 * * 5#2",   "@yearly",
        "13 3,17 * 2-9 *", "0 0 * * 5L",    "0 0 LW * *",      "@weekly",       "* * * * * *",
    };

    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
        expect_moments(expressions[i], ELAPSE_ZONE_UTC, S(WALL_S) + S(12345) + 678901, 60);
}

/* The clock changes in spring and in autumn. The zones are rules that need no files of the system.
 */
TEST(in_local_time_across_changes_of_the_clock)
{
    static const char *const expressions[] = {"30 2 * * *", "0 * * * *", "15,45 1-3 * * *"};

    assert_int_equal(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
    tzset();
    for (size_t i = 0; i < 3; i++) {
        expect_moments(expressions[i], ELAPSE_ZONE_LOCAL, S(WALL_S + 88 * 86400) + 1, 100);
        expect_moments(expressions[i], ELAPSE_ZONE_LOCAL, S(WALL_S + 298 * 86400) + 1, 100);
    }
    assert_int_equal(unsetenv("TZ"), 0);
    tzset();
}

/* Each step is a day long, and a burst of runs makes up for all occurrences of the day. */
SCHEDULER_TEST(days_of_bursts, wall_new(S(WALL_S) + 1))
{
    struct elapse_cron cron = parsed("*/20 9-17 * * mon-fri");
    struct elapse_task task = cron_task('a', &cron, ELAPSE_MISSED_BURST);
    int64_t moment_s = (int64_t)WALL_S;
    uint64_t n = 0;

    (void)schedule_cron(scheduler, &task);
    for (uint64_t day = 1; day <= 100; day++) {
        size_t ran = step_wall(scheduler, S(WALL_S + 86400 * day) + 5);

        for (; ran > 0; ran--) {
            assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_UTC, moment_s, &moment_s));
            expect_run(n, n + 1, (uint64_t)moment_s, S(WALL_S + 86400 * day) + 5, 0);
            n++;
        }
        assert_true(moment_s <= (int64_t)(WALL_S + 86400 * day));
    }
    assert_int_equal(n, (100 / 7 * 5 + 2 - (100 % 7 < 2)) * 27);
}

TEST(a_tick_that_is_no_part_of_a_second)
{
    const uint64_t tick_ns = 7 * ELAPSE_MILLISECOND_NS;
    struct elapse_scheduler *scheduler = manual_new(tick_ns, 1);
    uint64_t deadline_ns;

    struct elapse_handle handle = schedule_expression(scheduler, "* * * * * *", ELAPSE_MISSED_SKIP);
    for (uint64_t n = 1; n <= 1000; n++) {
        uint64_t due_ns = (S(n) + tick_ns - 1) / tick_ns * tick_ns;

        assert_int_equal(look_up_deadline(scheduler, handle, &deadline_ns), ELAPSE_TASK_PENDING);
        assert_int_equal(deadline_ns, due_ns);
        assert_int_equal(step(scheduler, due_ns - 1), 0);
        assert_int_equal(step(scheduler, due_ns), 1);
        assert_int_equal(run_at(n - 1).run.intended_ns, due_ns);
        assert_int_equal(run_at(n - 1).run.number, n);
        assert_int_equal(run_at(n - 1).run.missed, 0);
    }
    scheduler_end(scheduler);
}

SCHEDULER_TEST(never_means_the_next_moment_alone, wall_new(S(WALL_S) + 1))
{
    struct elapse_cron cron = parsed("@hourly");
    struct elapse_task task = cron_task('a', &cron, ELAPSE_MISSED_SKIP);

    task.recurrence = ELAPSE_RECUR_NEVER;
    struct elapse_handle handle = schedule_cron(scheduler, &task);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 3600) - 1), 0);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 3600)), 1);
    expect_run(0, 1, WALL_S + 3600, S(WALL_S + 3600), 0);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_GONE);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 86400)), 0);
    assert_int_equal(pending_tasks(scheduler), 0);
}

/* ---- the wall clock is set ---- */

SCHEDULER_TEST(set_forward_skip_leaves_out_what_passed, wall_new(S(WALL_S) + 1))
{
    (void)schedule_expression(scheduler, "@hourly", ELAPSE_MISSED_SKIP);
    assert_int_equal(set_and_step(scheduler, S(WALL_S + 10 * 3600 + 1800)), 1);
    expect_run(0, 1, WALL_S + 3600, S(WALL_S + 10 * 3600 + 1800), 0);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 11 * 3600) - 1), 0);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 11 * 3600)), 1);
    expect_run(1, 2, WALL_S + 11 * 3600, S(WALL_S + 11 * 3600), 9);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 12 * 3600)), 1);
    expect_run(2, 3, WALL_S + 12 * 3600, S(WALL_S + 12 * 3600), 0);
    /* The clock is set to the very time of an occurrence, which has not passed then. */
    assert_int_equal(set_and_step(scheduler, S(WALL_S + 20 * 3600)), 2);
    expect_run(3, 4, WALL_S + 13 * 3600, S(WALL_S + 20 * 3600), 0);
    expect_run(4, 5, WALL_S + 20 * 3600, S(WALL_S + 20 * 3600), 6);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 21 * 3600)), 1);
}

/* An occurrence each second is left out for a week. */
SCHEDULER_TEST(left_out_ones_are_counted_up_to_ten_thousand, wall_new(S(WALL_S) + 1))
{
    (void)schedule_expression(scheduler, "* * * * * *", ELAPSE_MISSED_SKIP);
    assert_int_equal(set_and_step(scheduler, S(WALL_S + 9000) + 1), 1);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 9001)), 1);
    expect_run(1, 2, WALL_S + 9001, S(WALL_S + 9001), 8999);
    /* All occurrences of a week are left out, and not all of them are counted. */
    assert_int_equal(set_and_step(scheduler, S(WALL_S + 604800) + 1), 1);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 604801)), 1);
    expect_run(3, 4, WALL_S + 604801, S(WALL_S + 604801), 10000);
}

SCHEDULER_TEST(set_forward_burst_makes_up_for_each, wall_new(S(WALL_S) + 1))
{
    (void)schedule_expression(scheduler, "@hourly", ELAPSE_MISSED_BURST);
    assert_int_equal(set_and_step(scheduler, S(WALL_S + 10 * 3600 + 1800)), 10);
    for (uint64_t n = 0; n < 10; n++)
        expect_run(n, n + 1, WALL_S + 3600 * (n + 1), S(WALL_S + 10 * 3600 + 1800), 0);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 11 * 3600) - 1), 0);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 11 * 3600)), 1);
    expect_run(10, 11, WALL_S + 11 * 3600, S(WALL_S + 11 * 3600), 0);
}

TEST(set_back_no_occurrence_runs_a_second_time)
{
    static const enum elapse_missed policies[] = {ELAPSE_MISSED_SKIP, ELAPSE_MISSED_BURST};

    for (size_t i = 0; i < 2; i++) {
        struct elapse_scheduler *scheduler = wall_new(S(WALL_S) + 1);

        (void)schedule_expression(scheduler, "@hourly", policies[i]);
        for (uint64_t hour = 1; hour <= 5; hour++)
            assert_int_equal(step_wall(scheduler, S(WALL_S + 3600 * hour)), 1);
        assert_int_equal(set_and_step(scheduler, S(WALL_S + 1800)), 0);
        for (uint64_t quarter = 3; quarter < 24; quarter++)
            assert_int_equal(step_wall(scheduler, S(WALL_S + 900 * quarter)), 0);
        assert_int_equal(set_and_step(scheduler, S(WALL_S - 365 * 86400)), 0);
        assert_int_equal(step_wall(scheduler, S(WALL_S + 6 * 3600) - 1), 0);
        assert_int_equal(step_wall(scheduler, S(WALL_S + 6 * 3600)), 1);
        expect_run(5, 6, WALL_S + 6 * 3600, S(WALL_S + 6 * 3600), 0);
        scheduler_end(scheduler);
    }
}

/* Occurrences that were left out do not come back when the clock is set back. */
SCHEDULER_TEST(set_back_after_a_skip, wall_new(S(WALL_S) + 1))
{
    (void)schedule_expression(scheduler, "@hourly", ELAPSE_MISSED_SKIP);
    assert_int_equal(set_and_step(scheduler, S(WALL_S + 10 * 3600 + 1)), 1);
    assert_int_equal(set_and_step(scheduler, S(WALL_S + 1)), 0);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 11 * 3600) - 1), 0);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 11 * 3600)), 1);
    expect_run(1, 2, WALL_S + 11 * 3600, S(WALL_S + 11 * 3600), 9);
}

/* The wall clock is set inside an action. The time at which the action returns counts. */
static uint64_t set_inside_ns;

static void set_the_clock(void *context, const struct elapse_run *run)
{
    write_run(context, run);
    if (run->number == 2)
        (void)elapse_scheduler_set_wall_clock(run->scheduler, set_inside_ns);
}

TEST(set_during_a_run)
{
    struct elapse_scheduler *scheduler = wall_new(S(WALL_S) + 1);
    struct elapse_cron cron = parsed("@hourly");
    struct elapse_task task = cron_task('a', &cron, ELAPSE_MISSED_SKIP);

    task.action = set_the_clock;
    (void)schedule_cron(scheduler, &task);
    set_inside_ns = S(WALL_S + 5 * 3600 + 1);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 3600)), 1);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 7200)), 1);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 6 * 3600)), 1);
    expect_run(2, 3, WALL_S + 6 * 3600, S(WALL_S + 6 * 3600), 3);
    scheduler_end(scheduler);

    scheduler = wall_new(S(WALL_S) + 1);
    (void)schedule_cron(scheduler, &task);
    set_inside_ns = S(WALL_S + 1);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 3600)), 1);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 7200)), 1);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 3 * 3600) - 1), 0);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 3 * 3600)), 1);
    scheduler_end(scheduler);
}

/* However the clock is set, each occurrence runs at most once, in order, and not before its time.
 * Missed occurrences are counted. */
TEST(set_at_random_the_oracle_agrees)
{
    static const char *const expressions[] = {"*/5 * * * * *", "*/3 * * * *", "7 1-23/2 * * *",
                                              "0 2 * * mon-fri"};
    struct random_source source = random_by_seed();

    for (int round = 0; round < 40; round++) {
        struct elapse_cron cron = parsed(expressions[round % 4]);
        enum elapse_missed policy = (enum elapse_missed)(round / 4 % 2);
        struct elapse_task task = cron_task('a', &cron, policy);
        uint64_t wall_ns = S(WALL_S) + random_below(&source, S(86400));
        struct elapse_scheduler *scheduler = wall_new(wall_ns);
        int64_t due_s = (int64_t)(wall_ns / ELAPSE_SECOND_NS);
        uint64_t spread_ns = S(round % 4 == 0 ? 60 : round % 4 == 1 ? 3600 : 200000);
        uint64_t missed = 0;
        uint64_t n = 0;

        (void)schedule_cron(scheduler, &task);
        assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_UTC, due_s, &due_s));
        for (int times = 0; times < 300; times++) {
            size_t ran = 0;
            uint64_t move_ns = random_below(&source, spread_ns);

            wall_ns = elapse_scheduler_wall_clock_ns(scheduler);
            if (random_one_in(&source, 3))
                ran = set_and_step(scheduler, wall_ns - move_ns);
            else if (random_one_in(&source, 2))
                ran = set_and_step(scheduler, wall_ns + move_ns);
            else
                ran = step_wall(scheduler, wall_ns + move_ns);
            wall_ns = elapse_scheduler_wall_clock_ns(scheduler);
            for (; S(due_s) <= wall_ns; ran--, n++) {
                assert_int_not_equal(ran, 0);
                expect_run(n, n + 1, (uint64_t)due_s, wall_ns, missed);
                missed = 0;
                assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_UTC, due_s, &due_s));
                while (policy == ELAPSE_MISSED_SKIP && S(due_s) < wall_ns) {
                    missed++;
                    assert_true(elapse_cron_next(&cron, ELAPSE_ZONE_UTC, due_s, &due_s));
                }
            }
            assert_int_equal(ran, 0);
        }
        assert_int_equal(runs(), n);
        scheduler_end(scheduler);
    }
}

/* ---- refused tasks ---- */

static void expect_refused(struct elapse_scheduler *scheduler, const struct elapse_task *task)
{
    assert_int_equal(elapse_task_schedule_cron(scheduler, task, NULL), ELAPSE_ERROR_ARGUMENT);
}

SCHEDULER_TEST(what_cron_does_not_take_is_refused, wall_new(S(WALL_S)))
{
    struct elapse_cron cron = parsed("@hourly");
    struct elapse_task task = cron_task('a', &cron, ELAPSE_MISSED_DELAY);

    expect_refused(scheduler, &task);
    task.if_missed = (enum elapse_missed)3;
    expect_refused(scheduler, &task);
    task = cron_task('a', &cron, ELAPSE_MISSED_SKIP);
    task.slack_ns = 1;
    expect_refused(scheduler, &task);
    task = cron_task('a', NULL, ELAPSE_MISSED_SKIP);
    expect_refused(scheduler, &task);
    task = cron_task('a', &cron, ELAPSE_MISSED_SKIP);
    task.recurrence = ELAPSE_RECUR_PERIOD;
    task.period_ns = S(1);
    expect_refused(scheduler, &task);
    task.recurrence = ELAPSE_RECUR_AFTER_EACH;
    expect_refused(scheduler, &task);
    task = cron_task('a', &cron, ELAPSE_MISSED_SKIP);
    task.zone = (enum elapse_zone)2;
    expect_refused(scheduler, &task);
    task = cron_task('a', &cron, ELAPSE_MISSED_SKIP);
    task.action = NULL;
    expect_refused(scheduler, &task);
    /* Calls that take no cron expression refuse the task, too. */
    task = cron_task('a', &cron, ELAPSE_MISSED_SKIP);
    struct elapse_batch_task batch = {.task = task};
    assert_int_equal(elapse_task_schedule_at(scheduler, &task, 0, NULL), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_task_schedule_after(scheduler, &task, 0, NULL), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_task_schedule_at_wall_clock(scheduler, &task, 0, NULL),
                     ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_task_schedule_batch(scheduler, &batch, 1), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(pending_tasks(scheduler), 0);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 86400)), 0);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    assert_int_equal(elapse_task_schedule_cron(scheduler, &task, NULL), ELAPSE_ERROR_CLOSED);
    assert_int_equal(ends(), 0);
}

SCHEDULER_TEST(it_cannot_be_rescheduled, wall_new(S(WALL_S) + 1))
{
    struct elapse_handle handle = schedule_expression(scheduler, "@hourly", ELAPSE_MISSED_SKIP);

    assert_int_equal(elapse_task_reschedule_after(scheduler, handle, 0), ELAPSE_ERROR_WALL_CLOCK);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 3600)), 1);
    assert_int_equal(elapse_task_reschedule_at(scheduler, handle, 0), ELAPSE_ERROR_WALL_CLOCK);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 7200) - 1), 0);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 7200)), 1);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(elapse_task_reschedule_at(scheduler, handle, 0), ELAPSE_ERROR_GONE);
}

/* ---- its life ---- */

TEST(the_expression_is_copied)
{
    struct elapse_scheduler *scheduler = wall_new(S(WALL_S) + 1);
    struct elapse_cron *cron = malloc(sizeof *cron);

    assert_non_null(cron);
    *cron = parsed("@hourly");
    struct elapse_task task = cron_task('a', cron, ELAPSE_MISSED_SKIP);
    (void)schedule_cron(scheduler, &task);
    memset(cron, 0, sizeof *cron);
    free(cron);
    for (uint64_t hour = 1; hour <= 50; hour++)
        assert_int_equal(step_wall(scheduler, S(WALL_S + 3600 * hour)), 1);
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
}

static enum elapse_cancel answers[2];

static void cancel_itself(void *context, const struct elapse_run *run)
{
    write_run(context, run);
    if (run->number < 3)
        return;
    answers[0] = elapse_task_cancel(run->scheduler, run->handle);
    answers[1] = elapse_task_cancel_wait(run->scheduler, run->handle, ELAPSE_NEVER);
}

TEST(a_cancel_in_its_action_is_the_last_word)
{
    static const enum elapse_missed policies[] = {ELAPSE_MISSED_SKIP, ELAPSE_MISSED_BURST};

    for (size_t i = 0; i < 2; i++) {
        struct elapse_scheduler *scheduler = wall_new(S(WALL_S) + 1);
        struct elapse_cron cron = parsed("@hourly");
        struct elapse_task task = cron_task('a', &cron, policies[i]);

        task.action = cancel_itself;
        (void)schedule_cron(scheduler, &task);
        (void)set_and_step(scheduler, S(WALL_S + 86400) + 1);
        (void)step_wall(scheduler, S(WALL_S + 2 * 86400) + 1);
        (void)step_wall(scheduler, S(WALL_S + 3 * 86400) + 1);
        (void)step_wall(scheduler, S(WALL_S + 9 * 86400) + 1);
        assert_int_equal(runs(), 3);
        assert_int_equal(answers[0], ELAPSE_CANCEL_RUNNING);
        assert_int_equal(answers[1], ELAPSE_CANCEL_SELF);
        assert_int_equal(ends_of('a'), 1);
        assert_int_equal(pending_tasks(scheduler), 0);
        scheduler_end(scheduler);
    }
}

SCHEDULER_TEST(with_a_key_it_can_be_replaced, wall_new(S(WALL_S) + 1))
{
    struct elapse_cron cron = parsed("@hourly");
    struct elapse_task task = cron_task('a', &cron, ELAPSE_MISSED_SKIP);
    struct elapse_task other = task_with_key('b', "key", ELAPSE_KEY_FAIL);
    struct elapse_handle found = {0, 0, 0};

    task.key = "key";
    task.key_bytes = 3;
    struct elapse_handle handle = schedule_cron(scheduler, &task);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 3600)), 1);
    assert_int_equal(elapse_task_schedule_after(scheduler, &other, 0, &found),
                     ELAPSE_ERROR_KEY_PENDING);
    assert_true(same_handle(found, handle));
    task.if_key_pending = ELAPSE_KEY_KEEP;
    assert_ok(elapse_task_schedule_cron(scheduler, &task, &found));
    assert_true(same_handle(found, handle));
    assert_int_equal(ends_of('a'), 1);
    other.if_key_pending = ELAPSE_KEY_REPLACE;
    (void)schedule_after(scheduler, other, S(1));
    assert_int_equal(ends_of('a'), 2);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 86400)), 1);
    assert_int_equal(runs(), 2);
    assert_int_equal(run_at(1).number, 'b');
}

static struct elapse_handed_back handed_back;
static struct elapse_cron handed_back_cron;
static size_t handed_back_count;

static void note_handed_back(const struct elapse_handed_back *task, void *context)
{
    (void)context;
    handed_back = *task;
    if (task->task.cron != NULL)
        handed_back_cron = *task->task.cron;
    handed_back_count++;
}

TEST(closing_hands_back_expression_and_zone)
{
    struct elapse_scheduler *scheduler = wall_new(S(WALL_S) + 1);
    struct elapse_cron cron = parsed("30 * * * *");
    struct elapse_task task = cron_task('a', &cron, ELAPSE_MISSED_BURST);

    task.zone = ELAPSE_ZONE_LOCAL;
    (void)schedule_cron(scheduler, &task);
    assert_int_equal(step_wall(scheduler, S(WALL_S + 1800)), 1);
    handed_back_count = 0;
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_HAND_BACK, note_handed_back, NULL));
    assert_int_equal(handed_back_count, 1);
    assert_true(handed_back.wall_clock);
    assert_int_equal(handed_back.deadline_ns, S(WALL_S + 5400));
    assert_int_equal(handed_back.task.recurrence, ELAPSE_RECUR_CRON);
    assert_int_equal(handed_back.task.if_missed, ELAPSE_MISSED_BURST);
    assert_int_equal(handed_back.task.zone, ELAPSE_ZONE_LOCAL);
    assert_non_null(handed_back.task.cron);
    assert_memory_equal(&handed_back_cron, &cron, sizeof cron);
    assert_ptr_equal(handed_back.task.context, name_of('a'));
    assert_int_equal(ends(), 0);
    scheduler_end(scheduler);
    assert_int_equal(ends(), 0);
}

/* The nanoseconds of the wall clock end in the year 2554. Later moments cannot be expressed. */
TEST(at_the_end_of_time_it_does_not_run)
{
    uint64_t last_s = UINT64_MAX / ELAPSE_SECOND_NS; /* 2554-07-21 */
    struct elapse_scheduler *scheduler = wall_new(S(last_s - 86400 * 30));

    (void)schedule_expression(scheduler, "0 0 1 * *", ELAPSE_MISSED_SKIP);
    assert_int_equal(step_wall(scheduler, S(last_s)), 1);
    set(scheduler, ELAPSE_NEVER);
    assert_int_equal(step(scheduler, ELAPSE_NEVER), 0);
    assert_int_equal(runs(), 1);
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
}

TEST(on_the_real_clock_every_second)
{
    struct elapse_scheduler *scheduler = started_new(1);
    struct elapse_handle handle = schedule_expression(scheduler, "* * * * * *", ELAPSE_MISSED_SKIP);

    wait_for_runs(2);
    for (size_t i = 0; i < 2; i++) {
        struct elapse_run run = run_at(i).run;

        assert_true(run.wall_clock);
        assert_int_equal(run.number, i + 1);
        assert_int_equal(run.intended_ns % ELAPSE_SECOND_NS, 0);
        assert_true(run.actual_ns >= run.intended_ns);
    }
    assert_true(run_at(1).run.intended_ns ==
                run_at(0).run.intended_ns + S(1 + run_at(1).run.missed));
    assert_int_not_equal(elapse_task_cancel_wait(scheduler, handle, ELAPSE_NEVER),
                         ELAPSE_CANCEL_RUNNING);
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
}

TEST_MAIN("cron_schedule")
