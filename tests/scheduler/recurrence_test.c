/*
 * Tests tasks that recur: every period, or a while after each run.
 *
 * On manual time an action takes no time at all. It is late if a step goes beyond its deadline.
 */
#include "recurring.h"

#include "seed.h"

static uint64_t rounded_up(uint64_t time_ns, uint64_t tick_ns)
{
    return (time_ns + tick_ns - 1) / tick_ns * tick_ns;
}

/* ---- on time ---- */

TEST(it_runs_every_period)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_handle handle = schedule_at(scheduler, periodic('a', T(10)), T(5));
    uint64_t deadline_ns;

    expect_step(scheduler, T(4), "");
    for (uint64_t n = 0; n < 1000; n++) {
        assert_int_equal(look_up_deadline(scheduler, handle, &deadline_ns), ELAPSE_TASK_PENDING);
        assert_int_equal(deadline_ns, T(5 + 10 * n));
        assert_int_equal(pending_tasks(scheduler), 1);
        expect_step(scheduler, T(4 + 10 * n), "");
        assert_int_equal(elapse_scheduler_next_ns(scheduler), T(5 + 10 * n));
        expect_step(scheduler, T(5 + 10 * n), "a");
        expect_run(n, n + 1, T(5 + 10 * n), T(5 + 10 * n), 0);
        assert_true(same_handle(run_at(n).run.handle, handle));
    }
    assert_int_equal(ends(), 0);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(ends_of('a'), 1);
    expect_step(scheduler, T(100000), "");
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_GONE);
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
}

/* Neither the length of a tick nor the times of the steps change the n-th occurrence. */
TEST(it_never_drifts)
{
    static const uint64_t periods_ns[] = {1000001, 1500000, 3333333, 999999999, 7777777777};
    const uint64_t first_ns = 123456;

    for (size_t i = 0; i < sizeof periods_ns / sizeof *periods_ns; i++) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);

        (void)schedule_after(scheduler, periodic('a', periods_ns[i]), first_ns);
        for (uint64_t n = 0; n < (i == 2 ? 100000 : 10000); n++) {
            uint64_t due_ns = rounded_up(first_ns + n * periods_ns[i], TICK_NS);

            assert_int_equal(step(scheduler, due_ns - 1), 0);
            assert_int_equal(step(scheduler, due_ns), 1);
            expect_run(n, n + 1, due_ns, due_ns, 0);
        }
        scheduler_end(scheduler);
    }
}

TEST(periods_of_one_tick_and_of_years)
{
    static const uint64_t periods_ns[] = {TICK_NS,
                                          T(2),
                                          T(63),
                                          T(64),
                                          T(4097),
                                          ELAPSE_DAY_NS,
                                          365 * ELAPSE_DAY_NS,
                                          36500 * ELAPSE_DAY_NS};

    for (size_t i = 0; i < sizeof periods_ns / sizeof *periods_ns; i++) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);

        (void)schedule_after(scheduler, periodic('a', periods_ns[i]), 0);
        expect_step(scheduler, 0, "a");
        for (uint64_t n = 1; n < 6; n++) {
            expect_step(scheduler, n * periods_ns[i] - 1, "");
            expect_step(scheduler, n * periods_ns[i], "a");
            expect_run(n, n + 1, n * periods_ns[i], n * periods_ns[i], 0);
        }
        scheduler_end(scheduler);
    }
}

/* Several occurrences fall due at one tick: none is early, and none is lost in a burst. */
MANUAL_TEST(a_period_below_a_tick)
{
    struct elapse_task task = recurring('a', ELAPSE_RECUR_PERIOD, TICK_NS / 4, ELAPSE_MISSED_BURST);

    (void)schedule_at(scheduler, task, TICK_NS / 4);
    for (uint64_t tick = 1; tick <= 1000; tick++) {
        assert_int_equal(step(scheduler, T(tick) - 1), 0);
        assert_int_equal(step(scheduler, T(tick)), 4);
        assert_int_equal(run_at(runs() - 1).run.number, 4 * tick);
        assert_int_equal(run_at(runs() - 1).run.missed, 0);
    }
}

/* ---- late ---- */

/* Makes a scheduler with a task due at 10 and then every 10, which is two periods and a fifth late.
 */
static struct elapse_scheduler *late_new(enum elapse_missed if_missed)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);

    (void)schedule_at(scheduler, recurring('a', ELAPSE_RECUR_PERIOD, T(10), if_missed), T(10));
    return scheduler;
}

SCHEDULER_TEST(skip_goes_on_with_the_next, late_new(ELAPSE_MISSED_SKIP))
{
    expect_step(scheduler, T(32), "a");
    expect_run(0, 1, T(10), T(32), 0);
    expect_step(scheduler, T(39), "");
    expect_step(scheduler, T(40), "a");
    expect_run(1, 2, T(40), T(40), 2);
    expect_step(scheduler, T(50), "a");
    expect_run(2, 3, T(50), T(50), 0);
    expect_step(scheduler, T(1000065), "a");
    expect_run(3, 4, T(60), T(1000065), 0);
    expect_step(scheduler, T(1000070), "a");
    expect_run(4, 5, T(1000070), T(1000070), 100000);
}

SCHEDULER_TEST(burst_makes_up_for_each, late_new(ELAPSE_MISSED_BURST))
{
    expect_step(scheduler, T(32), "aaa");
    expect_run(0, 1, T(10), T(32), 0);
    expect_run(1, 2, T(20), T(32), 0);
    expect_run(2, 3, T(30), T(32), 0);
    expect_step(scheduler, T(39), "");
    expect_step(scheduler, T(40), "a");
    expect_run(3, 4, T(40), T(40), 0);
    assert_int_equal(step(scheduler, T(10049)), 1000);
    for (uint64_t n = 4; n < 1004; n++)
        expect_run(n, n + 1, T(10 + 10 * n), T(10049), 0);
}

SCHEDULER_TEST(delay_counts_from_the_return, late_new(ELAPSE_MISSED_DELAY))
{
    expect_step(scheduler, T(32), "a");
    expect_step(scheduler, T(41), "");
    expect_step(scheduler, T(42), "a");
    expect_run(1, 2, T(42), T(42), 2);
    /* A run that is late by less than a period has missed nothing. */
    expect_step(scheduler, T(57), "a");
    expect_step(scheduler, T(62), "a");
    expect_run(3, 4, T(62), T(62), 0);
    expect_step(scheduler, T(1000069), "a");
    expect_step(scheduler, T(1000079), "a");
    expect_run(5, 6, T(1000079), T(1000079), 99999);
}

TEST(late_by_less_than_a_period_nothing_is_missed)
{
    static const enum elapse_missed policies[] = {ELAPSE_MISSED_SKIP, ELAPSE_MISSED_BURST,
                                                  ELAPSE_MISSED_DELAY};

    for (size_t i = 0; i < 3; i++) {
        struct elapse_scheduler *scheduler = late_new(policies[i]);

        for (uint64_t n = 0; n < 100; n++) {
            expect_step(scheduler, T(10 + 10 * n + n % 10), "a");
            expect_run(n, n + 1, T(10 + 10 * n), T(10 + 10 * n + n % 10), 0);
        }
        scheduler_end(scheduler);
    }
}

/* An occurrence that is due exactly now has not passed: it runs, in the same step. */
TEST(an_occurrence_due_exactly_now_is_not_missed)
{
    static const enum elapse_missed policies[] = {ELAPSE_MISSED_SKIP, ELAPSE_MISSED_BURST,
                                                  ELAPSE_MISSED_DELAY};

    for (size_t i = 0; i < 3; i++) {
        struct elapse_scheduler *scheduler = late_new(policies[i]);

        expect_step(scheduler, T(20), "aa");
        expect_run(1, 2, T(20), T(20), 0);
        expect_step(scheduler, T(29), "");
        expect_step(scheduler, T(30), "a");
        scheduler_end(scheduler);
    }
    struct elapse_scheduler *scheduler = late_new(ELAPSE_MISSED_SKIP);
    expect_step(scheduler, T(50), "aa");
    expect_run(1, 2, T(50), T(50), 3);
    scheduler_end(scheduler);
}

MANUAL_TEST(a_first_deadline_in_the_past_keeps_its_phase)
{
    expect_step(scheduler, T(103), "");
    (void)schedule_at(scheduler, periodic('a', T(10)), T(95));
    expect_step(scheduler, T(103), "a");
    expect_step(scheduler, T(104), "");
    expect_step(scheduler, T(105), "a");
    expect_step(scheduler, T(114), "");
    expect_step(scheduler, T(115), "a");
    assert_int_equal(run_at(2).run.number, 3);
    assert_int_equal(run_at(2).run.missed, 0);
}

TEST(a_first_deadline_long_past)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_task delay = recurring('d', ELAPSE_RECUR_PERIOD, T(10), ELAPSE_MISSED_DELAY);
    struct elapse_task burst = recurring('b', ELAPSE_RECUR_PERIOD, T(10), ELAPSE_MISSED_BURST);

    expect_step(scheduler, T(54), "");
    (void)schedule_at(scheduler, periodic('s', T(10)), 0);
    expect_step(scheduler, T(54), "s");
    expect_step(scheduler, T(60), "s");
    expect_run(1, 2, T(60), T(60), 5);
    scheduler_end(scheduler);

    scheduler = manual_new(TICK_NS, 1);
    expect_step(scheduler, T(54), "");
    (void)schedule_at(scheduler, delay, 0);
    expect_step(scheduler, T(54), "d");
    expect_step(scheduler, T(63), "");
    expect_step(scheduler, T(64), "d");
    expect_run(1, 2, T(64), T(64), 5);
    scheduler_end(scheduler);

    scheduler = manual_new(TICK_NS, 1);
    expect_step(scheduler, T(54), "");
    (void)schedule_at(scheduler, burst, 0);
    expect_step(scheduler, T(54), "bbbbbb");
    expect_step(scheduler, T(60), "b");
    scheduler_end(scheduler);
}

MANUAL_TEST(after_each_counts_from_the_return)
{
    struct elapse_task task =
        recurring('a', ELAPSE_RECUR_AFTER_EACH, T(10) + 1, ELAPSE_MISSED_SKIP);

    (void)schedule_at(scheduler, task, T(10));
    expect_step(scheduler, T(32), "a");
    expect_run(0, 1, T(10), T(32), 0);
    expect_step(scheduler, T(42), "");
    expect_step(scheduler, T(43), "a");
    expect_run(1, 2, T(43), T(43), 0);
    expect_step(scheduler, T(53) - 1, "");
    expect_step(scheduler, T(100054), "a");
    expect_run(2, 3, T(54), T(100054), 0);
    expect_step(scheduler, T(100064), "");
    expect_step(scheduler, T(100065), "a");
    expect_run(3, 4, T(100065), T(100065), 0);
}

/* ---- refused periods, and the end of time ---- */

MANUAL_TEST(unusable_periods_are_refused)
{
    static const uint64_t periods_ns[] = {0, ELAPSE_PERIOD_NS_MAX + UINT64_C(1), ELAPSE_NEVER};
    struct elapse_task task;

    for (size_t i = 0; i < 3; i++) {
        task = periodic('a', periods_ns[i]);
        assert_int_equal(elapse_task_schedule_after(scheduler, &task, 0, NULL),
                         ELAPSE_ERROR_ARGUMENT);
        assert_int_equal(elapse_task_schedule_at(scheduler, &task, 0, NULL), ELAPSE_ERROR_ARGUMENT);
        task.recurrence = ELAPSE_RECUR_AFTER_EACH;
        assert_int_equal(elapse_task_schedule_after(scheduler, &task, 0, NULL),
                         ELAPSE_ERROR_ARGUMENT);
    }
    task = periodic('a', T(1));
    task.recurrence = (enum elapse_recurrence)4;
    assert_int_equal(elapse_task_schedule_at(scheduler, &task, 0, NULL), ELAPSE_ERROR_ARGUMENT);
    task.recurrence = ELAPSE_RECUR_CRON;
    assert_int_equal(elapse_task_schedule_at(scheduler, &task, 0, NULL), ELAPSE_ERROR_ARGUMENT);
    task = recurring('a', ELAPSE_RECUR_PERIOD, T(1), (enum elapse_missed)3);
    assert_int_equal(elapse_task_schedule_at(scheduler, &task, 0, NULL), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(pending_tasks(scheduler), 0);
    assert_int_equal(ends(), 0);
    expect_step(scheduler, T(100), "");
}

/* The sum of the present and the period is beyond the end of time, whatever the recurrence. */
MANUAL_TEST(a_huge_period_keeps_no_other_task_from_running)
{
    for (unsigned i = 0; i < 2; i++) {
        struct elapse_task huge = periodic('a', ELAPSE_PERIOD_NS_MAX);

        huge.recurrence = i == 0 ? ELAPSE_RECUR_PERIOD : ELAPSE_RECUR_AFTER_EACH;
        struct elapse_handle handle = schedule_at(scheduler, huge, T(10 + 100 * i));
        expect_step(scheduler, T(10 + 100 * i), "a");
        (void)schedule_at(scheduler, task_named('b'), T(20 + 100 * i));
        expect_step(scheduler, T(19 + 100 * i), "");
        expect_step(scheduler, T(20 + 100 * i), "b");
        assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    }
}

/* With threads, the alarm is set for the huge period first. */
SCHEDULER_TEST(a_huge_period_keeps_no_thread_from_the_next_task, started_new(1))
{
    struct elapse_task huge = periodic('a', ELAPSE_PERIOD_NS_MAX);

    huge.recurrence = ELAPSE_RECUR_AFTER_EACH;
    (void)schedule_after(scheduler, huge, 0);
    wait_for_runs(1);
    (void)schedule_after(scheduler, task_named('b'), TICK_NS);
    wait_for_runs(2);
    assert_int_equal(run_at(1).number, 'b');
}

SCHEDULER_TEST(sums_saturate_and_never_come, manual_new(1, 1))
{
    struct elapse_task burst =
        recurring('b', ELAPSE_RECUR_PERIOD, ELAPSE_PERIOD_NS_MAX, ELAPSE_MISSED_BURST);
    struct elapse_task each =
        recurring('c', ELAPSE_RECUR_AFTER_EACH, ELAPSE_PERIOD_NS_MAX, ELAPSE_MISSED_SKIP);
    struct elapse_handle handles[3];
    uint64_t deadline_ns;

    handles[0] = schedule_at(scheduler, periodic('a', ELAPSE_PERIOD_NS_MAX), 10);
    handles[1] = schedule_at(scheduler, burst, 10);
    handles[2] = schedule_at(scheduler, each, 10);
    expect_step(scheduler, 10, "abc");
    expect_step(scheduler, ELAPSE_PERIOD_NS_MAX + UINT64_C(9), "");
    expect_step(scheduler, ELAPSE_PERIOD_NS_MAX + UINT64_C(10), "abc");
    assert_int_equal(elapse_scheduler_next_ns(scheduler), ELAPSE_NEVER);
    expect_step(scheduler, ELAPSE_NEVER, "");
    expect_step(scheduler, ELAPSE_NEVER, "");
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(look_up_deadline(scheduler, handles[i], &deadline_ns),
                         ELAPSE_TASK_PENDING);
        assert_int_equal(deadline_ns, ELAPSE_NEVER);
        assert_int_equal(elapse_task_cancel(scheduler, handles[i]), ELAPSE_CANCEL_REMOVED);
    }
    assert_int_equal(ends(), 3);
}

MANUAL_TEST(a_first_deadline_that_never_comes)
{
    struct elapse_handle handle = schedule_after(scheduler, periodic('a', T(10)), ELAPSE_NEVER);
    assert_int_equal(elapse_scheduler_next_ns(scheduler), ELAPSE_NEVER);
    expect_step(scheduler, T(1000000), "");
    assert_ok(elapse_task_reschedule_after(scheduler, handle, T(5)));
    expect_step(scheduler, T(1000005), "a");
    expect_step(scheduler, T(1000015), "a");
    expect_run(1, 2, T(1000015), T(1000015), 0);
}

/* ---- moved, and with slack ---- */

MANUAL_TEST(moved_between_runs_its_periods_begin_anew)
{
    struct elapse_handle handle = schedule_at(scheduler, periodic('a', T(10)), T(10));

    expect_step(scheduler, T(10), "a");
    assert_ok(elapse_task_reschedule_at(scheduler, handle, T(13)));
    expect_step(scheduler, T(13), "a");
    expect_run(1, 2, T(13), T(13), 0);
    expect_step(scheduler, T(22), "");
    expect_step(scheduler, T(23), "a");
    assert_ok(elapse_task_reschedule_after(scheduler, handle, T(1002) - 5));
    expect_step(scheduler, T(1024), "");
    expect_step(scheduler, T(1025), "a");
    /* The period counts from the deadline that was asked for, not from its tick. */
    expect_step(scheduler, T(1034), "");
    expect_step(scheduler, T(1035), "a");
    expect_run(4, 5, T(1035), T(1035), 0);
    expect_step(scheduler, T(1061), "a");
    expect_step(scheduler, T(1065), "a");
    expect_run(6, 7, T(1065), T(1065), 1);
}

/* The task keeps the exact deadline, although its timer goes by ticks. */
MANUAL_TEST(moved_it_is_kept_to_the_nanosecond)
{
    struct elapse_handle handle = schedule_at(scheduler, periodic('a', T(5) / 4), T(3));

    assert_ok(elapse_task_reschedule_at(scheduler, handle, T(19) / 2));
    for (uint64_t n = 0; n < 1000; n++) {
        uint64_t due_ns = rounded_up(T(19) / 2 + n * T(5) / 4, TICK_NS);

        assert_int_equal(step(scheduler, due_ns - 1), 0);
        assert_int_equal(step(scheduler, due_ns), 1);
    }
}

MANUAL_TEST(slack_applies_to_the_first_deadline_alone)
{
    struct elapse_task task = periodic('a', T(100));

    task.slack_ns = T(30);
    (void)schedule_at(scheduler, task, T(5));
    uint64_t first_ns = elapse_scheduler_next_ns(scheduler);
    assert_in_range(first_ns, T(5), T(35));
    for (uint64_t n = 0; n < 100; n++) {
        assert_int_equal(step(scheduler, first_ns + T(100 * n) - 1), 0);
        assert_int_equal(step(scheduler, first_ns + T(100 * n)), 1);
    }
}

/* ---- against a plain model ---- */

struct tally {
    uint64_t runs;
    uint64_t missed;
    uint64_t number;
    uint64_t intended_ns;
    uint64_t actual_ns;
};

struct modelled {
    struct tally seen; /* by the action */
    struct tally told; /* by the model */
    struct elapse_task task;
    struct elapse_handle handle;
    uint64_t due_ns; /* unrounded */
    uint64_t passed; /* left out before the next */
};

static void tally_run(void *context, const struct elapse_run *run)
{
    struct tally *tally = context;

    tally->runs++;
    tally->missed += run->missed;
    tally->number = run->number;
    tally->intended_ns = run->intended_ns;
    tally->actual_ns = run->actual_ns;
}

/* Does what the header says, one occurrence after the other. */
static void model_step(struct modelled *modelled, uint64_t now_ns, uint64_t tick_ns)
{
    const struct elapse_task *task = &modelled->task;

    while (rounded_up(modelled->due_ns, tick_ns) <= now_ns) {
        struct tally *told = &modelled->told;

        told->runs++;
        told->number++;
        told->missed += modelled->passed;
        told->intended_ns = rounded_up(modelled->due_ns, tick_ns);
        told->actual_ns = now_ns;
        modelled->passed = 0;
        if (task->recurrence == ELAPSE_RECUR_AFTER_EACH) {
            modelled->due_ns = now_ns + task->period_ns;
            continue;
        }
        modelled->due_ns += task->period_ns;
        if (task->if_missed == ELAPSE_MISSED_BURST)
            continue;
        for (; modelled->due_ns < now_ns; modelled->passed++)
            modelled->due_ns += task->period_ns;
        if (task->if_missed == ELAPSE_MISSED_DELAY && modelled->passed > 0)
            modelled->due_ns = now_ns + task->period_ns;
    }
}

static void draw_modelled(struct modelled *modelled, struct random_source *source, uint64_t tick_ns)
{
    uint64_t period_ns = random_one_in(source, 2) ? random_below(source, 30 * tick_ns)
                                                  : tick_ns * random_below(source, 100);

    *modelled = (struct modelled){0};
    modelled->task = recurring(0, ELAPSE_RECUR_PERIOD, tick_ns + period_ns,
                               (enum elapse_missed)random_below(source, 3));
    if (random_one_in(source, 4))
        modelled->task.recurrence = ELAPSE_RECUR_AFTER_EACH;
    modelled->task.action = tally_run;
    modelled->task.context = &modelled->seen;
    modelled->task.destroy = NULL;
}

TEST(many_tasks_run_as_often_as_a_model_says)
{
    enum { COUNT = 10000, STEPS = 400 };
    struct random_source source = random_by_seed();
    static struct modelled modelled[COUNT];
    const uint64_t tick_ns = 1000;
    struct elapse_scheduler *scheduler = manual_new(tick_ns, 4);
    uint64_t now_ns = 0;

    for (size_t i = 0; i < COUNT; i++) {
        draw_modelled(&modelled[i], &source, tick_ns);
        modelled[i].due_ns = random_below(&source, 200 * tick_ns);
        modelled[i].handle = schedule_at(scheduler, modelled[i].task, modelled[i].due_ns);
    }
    for (int times = 0; times < STEPS; times++) {
        struct modelled *moved = &modelled[random_below(&source, COUNT)];

        now_ns += random_below(&source, random_one_in(&source, 20) ? 500000 : 3000);
        (void)step(scheduler, now_ns);
        for (size_t i = 0; i < COUNT; i++) {
            model_step(&modelled[i], now_ns, tick_ns);
            assert_memory_equal(&modelled[i].seen, &modelled[i].told, sizeof modelled[i].seen);
        }
        moved->due_ns = now_ns + 1 + random_below(&source, 50000);
        moved->passed = 0;
        assert_ok(elapse_task_reschedule_at(scheduler, moved->handle, moved->due_ns));
    }
    assert_int_equal(pending_tasks(scheduler), COUNT);
    scheduler_end(scheduler);
}

TEST_MAIN("recurrence")
