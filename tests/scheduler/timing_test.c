/*
 * When actions run, and in which order.
 */
#include "fixture.h"

#include "random.h"

#define YEAR_NS (365 * 24 * 3600 * ELAPSE_SECOND_NS)

/* Deadline `deadline_ns` rounded up to a tick, as the header promises. */
static uint64_t rounded_up(uint64_t deadline_ns, uint64_t tick_ns)
{
    uint64_t above = deadline_ns % tick_ns;

    return above == 0 ? deadline_ns : deadline_ns + (tick_ns - above);
}

MANUAL_TEST(not_a_nanosecond_before_its_deadline)
{
    static const uint64_t deadlines[] = {1, 2, 5, 10, 50, 100, 500, 1000, 3600000};
    struct elapse_task task = task_named('a');

    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        uint64_t deadline = elapse_scheduler_now_ns(scheduler) + deadlines[i] * TICK_NS;

        (void)schedule_at(scheduler, task, deadline);
        expect_step(scheduler, deadline - 1, "");
        assert_int_equal(pending_tasks(scheduler), 1);
        expect_step(scheduler, deadline, "a");
        assert_int_equal(pending_tasks(scheduler), 0);
    }
}

TEST(deadlines_are_rounded_up_to_ticks)
{
    static const uint64_t ticks[] = {
        1, 7, 1000, TICK_NS, 3 * ELAPSE_SECOND_NS + 1, 3600 * ELAPSE_SECOND_NS};

    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        uint64_t tick = ticks[i];
        const uint64_t deadlines[] = {1,
                                      tick - 1,
                                      tick,
                                      tick + 1,
                                      2 * tick - 1,
                                      2 * tick,
                                      63 * tick + 1,
                                      64 * tick,
                                      1000 * tick + tick / 2};

        for (size_t j = 0; j < sizeof deadlines / sizeof *deadlines; j++) {
            struct elapse_scheduler *scheduler = manual_new(tick, 1);
            uint64_t intended = rounded_up(deadlines[j], tick);
            uint64_t told;
            struct elapse_handle handle = schedule_at(scheduler, task_named('a'), deadlines[j]);

            assert_int_equal(look_up_deadline(scheduler, handle, &told), ELAPSE_TASK_PENDING);
            if (deadlines[j] != 0) {
                assert_int_equal(told, intended);
                expect_step(scheduler, intended - 1, "");
            }
            expect_step(scheduler, intended, "a");
            assert_int_equal(run_at(0).run.intended_ns, intended);
            assert_int_equal(run_at(0).run.actual_ns, intended);
            scheduler_end(scheduler);
        }
    }
}

MANUAL_TEST(delay_counts_from_now_and_not_from_the_tick)
{
    expect_step(scheduler, 10 * TICK_NS + 700, "");
    (void)schedule_after(scheduler, task_named('a'), 3 * TICK_NS);
    expect_step(scheduler, 13 * TICK_NS + 700, "");
    expect_step(scheduler, 14 * TICK_NS - 1, "");
    expect_step(scheduler, 14 * TICK_NS, "a");
}

MANUAL_TEST(the_run_says_what_runs_and_when)
{
    struct elapse_handle handle = schedule_at(scheduler, task_named('a'), 5 * TICK_NS);

    expect_step(scheduler, 9 * TICK_NS + 3, "a");
    assert_ptr_equal(run_at(0).run.scheduler, scheduler);
    assert_true(same_handle(run_at(0).run.handle, handle));
    assert_int_equal(run_at(0).run.intended_ns, 5 * TICK_NS);
    assert_int_equal(run_at(0).run.actual_ns, 9 * TICK_NS + 3);
    assert_true(pthread_equal(run_at(0).thread, pthread_self()) != 0);
}

MANUAL_TEST(a_task_runs_once)
{
    (void)schedule_at(scheduler, task_with_end('a'), 5 * TICK_NS);
    expect_step(scheduler, 5 * TICK_NS, "a");
    expect_step(scheduler, 5 * TICK_NS, "");
    expect_step(scheduler, YEAR_NS, "");
    assert_int_equal(ends_of('a'), 1);
}

MANUAL_TEST(delay_0_is_due_at_once)
{
    struct elapse_task task = task_named('a');

    (void)schedule_after(scheduler, task, 0);
    expect_runs("");
    expect_step(scheduler, 0, "a");
    expect_step(scheduler, 7 * TICK_NS, "");
    (void)schedule_after(scheduler, task, 0);
    expect_step(scheduler, 7 * TICK_NS, "a");
}

MANUAL_TEST(past_deadlines_are_due_at_once)
{
    struct elapse_task task = task_named('a');

    /* Also between two ticks: a past deadline does not wait for the next one. */
    expect_step(scheduler, 1000 * TICK_NS + 400, "");
    (void)schedule_at(scheduler, task, 0);
    (void)schedule_at(scheduler, task, 1);
    (void)schedule_at(scheduler, task, 999 * TICK_NS);
    expect_step(scheduler, 1000 * TICK_NS + 400, "aaa");
    for (size_t i = 0; i < 3; i++)
        assert_true(run_at(i).run.actual_ns >= run_at(i).run.intended_ns);
}

MANUAL_TEST(never_never_comes_but_is_pending)
{
    struct elapse_task task = task_named('a');
    struct elapse_handle at = schedule_at(scheduler, task, ELAPSE_NEVER);
    struct elapse_handle after = schedule_after(scheduler, task, ELAPSE_NEVER);
    uint64_t deadline = 0;

    assert_int_equal(elapse_scheduler_next_ns(scheduler), ELAPSE_NEVER);
    assert_int_equal(pending_tasks(scheduler), 2);
    expect_step(scheduler, YEAR_NS, "");
    expect_step(scheduler, ELAPSE_NEVER - 1, "");
    expect_step(scheduler, ELAPSE_NEVER, "");
    assert_int_equal(look_up_deadline(scheduler, at, &deadline), ELAPSE_TASK_PENDING);
    assert_int_equal(deadline, ELAPSE_NEVER);
    assert_int_equal(elapse_task_cancel(scheduler, at), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(elapse_task_cancel(scheduler, after), ELAPSE_CANCEL_REMOVED);
}

TEST(huge_delays_saturate)
{
    static const uint64_t delays[] = {ELAPSE_NEVER, INT64_MAX, INT64_MAX - 1, INT64_MAX - TICK_NS,
                                      ELAPSE_NEVER / 10};
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_task far = task_named('f');
    struct elapse_task near = task_named('n');

    expect_step(scheduler, 10 * YEAR_NS, "");
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        (void)schedule_after(scheduler, far, delays[i]);
        (void)schedule_at(scheduler, far, 10 * YEAR_NS + delays[i] / 2);
    }
    /* They neither run nor disturb a near one. */
    (void)schedule_after(scheduler, near, 25 * TICK_NS);
    expect_step(scheduler, 10 * YEAR_NS + 25 * TICK_NS - 1, "");
    expect_step(scheduler, 10 * YEAR_NS + 25 * TICK_NS, "n");
    expect_step(scheduler, 11 * YEAR_NS, "");
    scheduler_end(scheduler);
}

TEST(the_last_ticks_of_time_do_not_wrap)
{
    static const uint64_t ticks[] = {1, 3, TICK_NS, 3600 * ELAPSE_SECOND_NS};

    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        uint64_t tick = ticks[i];
        uint64_t last = (ELAPSE_NEVER - 1) / tick * tick;
        struct elapse_scheduler *scheduler = manual_new(tick, 1);

        /* A deadline may be at most INT64_MAX ahead. */
        expect_step(scheduler, INT64_MAX, "");
        (void)schedule_at(scheduler, task_named('a'), last - tick);
        /* Rounding this one up may pass the end of time; it must not come out small. */
        (void)schedule_at(scheduler, task_named('b'), ELAPSE_NEVER - 1);
        assert_true(elapse_scheduler_next_ns(scheduler) <= last - tick);
        expect_step(scheduler, last - tick - 1, "");
        expect_step(scheduler, last - tick, "a");
        (void)step(scheduler, ELAPSE_NEVER - 1);
        assert_true(runs() <= 2);
        scheduler_end(scheduler);
    }
}

MANUAL_TEST(ten_years_ahead_comes_on_its_tick)
{
    (void)schedule_after(scheduler, task_named('a'), 10 * YEAR_NS + 1);
    expect_step(scheduler, 10 * YEAR_NS, "");
    expect_step(scheduler, 10 * YEAR_NS + TICK_NS, "a");
    assert_int_equal(run_at(0).run.intended_ns, 10 * YEAR_NS + TICK_NS);
}

MANUAL_TEST(a_jump_of_a_year_runs_all_in_order)
{
    struct elapse_task task = task_named('a');
    uint64_t deadline = TICK_NS;
    size_t count = 0;

    for (; deadline < YEAR_NS; deadline = deadline / 8 * 9 + TICK_NS) {
        (void)schedule_at(scheduler, task, deadline);
        count++;
    }
    assert_int_equal(step(scheduler, YEAR_NS), count);
    for (size_t i = 1; i < count; i++)
        assert_true(run_at(i - 1).run.intended_ns < run_at(i).run.intended_ns);
}

MANUAL_TEST(time_that_goes_back_is_ignored)
{
    assert_int_equal(elapse_scheduler_now_ns(scheduler), 0);
    expect_step(scheduler, 100 * TICK_NS, "");
    expect_step(scheduler, 3 * TICK_NS, "");
    assert_int_equal(elapse_scheduler_now_ns(scheduler), 100 * TICK_NS);
    (void)schedule_after(scheduler, task_named('a'), 5 * TICK_NS);
    expect_step(scheduler, 99 * TICK_NS, "");
    expect_step(scheduler, 105 * TICK_NS, "a");
}

TEST(slack_keeps_within_the_window)
{
    struct random_source random = {17};

    for (size_t i = 0; i < 300; i++) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
        struct elapse_task task = task_named('a');
        uint64_t deadline = random_of_bits(&random, 50);
        uint64_t told;

        task.slack_ns = random_of_bits(&random, 48);
        assert_int_equal(look_up_deadline(scheduler, schedule_at(scheduler, task, deadline), &told),
                         ELAPSE_TASK_PENDING);
        assert_true(told >= deadline);
        assert_true(told <= rounded_up(deadline, TICK_NS) + task.slack_ns);
        assert_int_equal(told % TICK_NS, 0);
        /* The tick chosen is its deadline in all respects. */
        if (told > 0)
            expect_step(scheduler, told - 1, "");
        expect_step(scheduler, told, "a");
        assert_int_equal(run_at(0).run.intended_ns, told);
        scheduler_end(scheduler);
    }
}

MANUAL_TEST(slack_makes_tasks_coincide)
{
    struct elapse_task task = task_named('a');
    size_t wakes = 0;

    task.slack_ns = 200 * TICK_NS;
    for (uint64_t i = 1; i <= 100; i++)
        (void)schedule_at(scheduler, task, (1000 + i) * TICK_NS);
    while (elapse_scheduler_next_ns(scheduler) != ELAPSE_NEVER) {
        (void)step(scheduler, elapse_scheduler_next_ns(scheduler));
        wakes++;
    }
    assert_int_equal(runs(), 100);
    /* A hundred deadlines within half the slack: a few wake-ups, not a hundred. */
    assert_true(wakes <= 4);
}

MANUAL_TEST(huge_slack_saturates)
{
    struct elapse_task task = task_named('a');
    uint64_t told;

    task.slack_ns = ELAPSE_NEVER;
    struct elapse_handle handle = schedule_at(scheduler, task, 5 * TICK_NS);
    assert_int_equal(look_up_deadline(scheduler, handle, &told), ELAPSE_TASK_PENDING);
    assert_true(told >= 5 * TICK_NS);
    assert_true(told != ELAPSE_NEVER);
    expect_step(scheduler, told - 1, "");
    expect_step(scheduler, told, "a");
}

MANUAL_TEST(by_deadline_then_in_the_order_of_scheduling)
{
    static const struct {
        char letter;
        uint64_t deadline_ns;
    } tasks[] = {
        {'d', 900 * TICK_NS},    {'a', 3 * TICK_NS},  {'e', 900 * TICK_NS}, {'b', 3 * TICK_NS - 99},
        {'g', 100000 * TICK_NS}, {'c', 70 * TICK_NS}, {'f', 900 * TICK_NS}, {'h', 100000 * TICK_NS},
    };

    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        (void)schedule_at(scheduler, task_named((size_t)tasks[i].letter), tasks[i].deadline_ns);
    expect_step(scheduler, 200000 * TICK_NS, "abcdefgh");
}

MANUAL_TEST(many_random_deadlines_come_as_a_sorted_list_says)
{
    enum { TASKS = 5000 };
    static uint64_t deadlines[TASKS];
    struct random_source random = {23};
    size_t expected = 0;

    for (size_t i = 0; i < TASKS; i++) {
        deadlines[i] = 1 + random_below(&random, 2000 * TICK_NS);
        (void)schedule_at(scheduler, task_named(i), deadlines[i]);
    }
    for (uint64_t now = 0; now <= 2000 * TICK_NS; now += 137 * TICK_NS / 2) {
        (void)step(scheduler, now);
        expected = 0;
        for (size_t i = 0; i < TASKS; i++)
            expected += rounded_up(deadlines[i], TICK_NS) <= now;
        assert_int_equal(runs(), expected);
        assert_int_equal(pending_tasks(scheduler), TASKS - expected);
    }
    (void)step(scheduler, 2000 * TICK_NS);
    assert_int_equal(runs(), TASKS);
    for (size_t i = 1; i < TASKS; i++) {
        struct run_record before = run_at(i - 1);
        struct run_record after = run_at(i);

        assert_true(
            before.run.intended_ns < after.run.intended_ns ||
            (before.run.intended_ns == after.run.intended_ns && before.number < after.number));
    }
}

/* Schedules one task from a thread of its own, so that shards other than the first
 * get some. */
struct elsewhere {
    struct elapse_scheduler *scheduler;
    struct elapse_task task;
    uint64_t deadline_ns;
    enum elapse_error error;
};

static void *schedule_elsewhere(void *context)
{
    struct elsewhere *elsewhere = context;

    elsewhere->error = elapse_task_schedule_at(elsewhere->scheduler, &elsewhere->task,
                                               elsewhere->deadline_ns, NULL);
    return NULL;
}

SCHEDULER_TEST(several_shards_in_one_step_by_deadline, manual_new(TICK_NS, 4))
{
    enum { TASKS = 60 };
    unsigned shards = 0;

    for (size_t i = 0; i < TASKS; i++) {
        struct elsewhere elsewhere = {scheduler, task_named(i), (1 + (i * 37) % TASKS) * TICK_NS,
                                      ELAPSE_OK};
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, schedule_elsewhere, &elsewhere), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_ok(elsewhere.error);
    }
    assert_int_equal(elapse_scheduler_next_ns(scheduler), TICK_NS);
    assert_int_equal(step(scheduler, TASKS * TICK_NS), TASKS);
    for (size_t i = 0; i < TASKS; i++) {
        shards |= 1U << run_at(i).run.handle.shard;
        assert_int_equal(run_at(i).run.intended_ns, (i + 1) * TICK_NS);
    }
    /* Threads are spread over the shards: this was about more than one. */
    assert_true((shards & (shards - 1)) != 0);
}

/* ---- scheduling from inside an action ---- */

struct chain {
    struct elapse_task task;
    unsigned links_left;
    uint64_t delay_ns;
    enum elapse_error error;
};

static void link_action(void *context, const struct elapse_run *run)
{
    struct chain *chain = context;

    write_run(name_of('l'), run);
    if (chain->links_left-- > 1 && chain->error == ELAPSE_OK)
        chain->error =
            elapse_task_schedule_after(run->scheduler, &chain->task, chain->delay_ns, NULL);
}

MANUAL_TEST(a_chain_of_delay_0_runs_within_one_step)
{
    struct chain chain = {{.action = link_action}, 10, 0, ELAPSE_OK};

    chain.task.context = &chain;
    (void)schedule_after(scheduler, chain.task, 0);
    (void)schedule_at(scheduler, task_named('a'), TICK_NS);
    expect_step(scheduler, 0, "llllllllll");
    assert_ok(chain.error);
    /* Between two ticks each link is rounded up to the next one. */
    chain.links_left = 5;
    (void)schedule_at(scheduler, chain.task, 3 * TICK_NS);
    expect_step(scheduler, 3 * TICK_NS + 250, "al");
    expect_step(scheduler, 4 * TICK_NS, "llll");
}

MANUAL_TEST(a_chain_with_delays_counts_from_the_time_of_each_run)
{
    struct chain chain = {{.action = link_action}, 3, 10 * TICK_NS, ELAPSE_OK};

    chain.task.context = &chain;
    (void)schedule_at(scheduler, chain.task, 5 * TICK_NS);
    expect_step(scheduler, 7 * TICK_NS, "l");
    expect_step(scheduler, 17 * TICK_NS - 1, "");
    expect_step(scheduler, 17 * TICK_NS, "l");
    expect_step(scheduler, 100 * TICK_NS, "l");
    expect_step(scheduler, 200 * TICK_NS, "");
}

MANUAL_TEST(the_handle_is_there_before_the_action_begins)
{
    struct elapse_task task = task_named('a');
    struct elapse_handle handle = {11, 12, 13};

    /* What was there stays when the call fails. */
    task.action = NULL;
    assert_int_equal(elapse_task_schedule_after(scheduler, &task, 0, &handle),
                     ELAPSE_ERROR_ARGUMENT);
    assert_true(same_handle(handle, (struct elapse_handle){11, 12, 13}));
    task.action = write_run;
    assert_ok(elapse_task_schedule_after(scheduler, &task, 0, &handle));
    expect_step(scheduler, 0, "a");
    assert_true(same_handle(run_at(0).run.handle, handle));
}

/* ---- next ---- */

SCHEDULER_TEST(next_leads_from_task_to_task, manual_new(TICK_NS, 3))
{
    struct elapse_task task = task_named('a');
    static const uint64_t deadlines[] = {1, 2, 64, 65, 4096, 5000, 262144, 1 << 30};

    assert_int_equal(elapse_scheduler_next_ns(scheduler), ELAPSE_NEVER);
    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++)
        (void)schedule_at(scheduler, task, deadlines[i] * TICK_NS);
    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        assert_int_equal(elapse_scheduler_next_ns(scheduler), deadlines[i] * TICK_NS);
        expect_step(scheduler, elapse_scheduler_next_ns(scheduler), "a");
    }
    assert_int_equal(elapse_scheduler_next_ns(scheduler), ELAPSE_NEVER);
}

MANUAL_TEST(next_is_never_late_after_a_cancel_and_ends)
{
    struct elapse_task task = task_named('a');
    struct elapse_handle first = schedule_at(scheduler, task, 10 * TICK_NS);
    size_t empty_steps = 0;

    (void)schedule_at(scheduler, task, 1000 * TICK_NS);
    assert_int_equal(elapse_task_cancel(scheduler, first), ELAPSE_CANCEL_REMOVED);
    while (elapse_scheduler_next_ns(scheduler) != ELAPSE_NEVER) {
        assert_true(elapse_scheduler_next_ns(scheduler) <= 1000 * TICK_NS);
        empty_steps += step(scheduler, elapse_scheduler_next_ns(scheduler)) == 0;
        assert_true(empty_steps <= 2);
    }
    expect_runs("a");
}

/* ---- the real clock ---- */

TEST(on_the_real_clock_never_early)
{
    static const uint64_t delays_ms[] = {0, 1, 5, 10, 50, 100, 200, 0, 1, 33};
    enum { DELAYS = sizeof delays_ms / sizeof *delays_ms };

    for (unsigned workers = 0; workers <= 4; workers += 2) {
        struct elapse_scheduler *scheduler = started_new(workers);
        uint64_t earliest_ns[DELAYS];

        for (size_t i = 0; i < DELAYS; i++) {
            earliest_ns[i] = elapse_scheduler_now_ns(scheduler) + delays_ms[i] * TICK_NS;
            (void)schedule_after(scheduler, task_named(i), delays_ms[i] * TICK_NS);
        }
        wait_for_runs(DELAYS);
        for (size_t i = 0; i < DELAYS; i++) {
            struct run_record record = run_at(i);

            assert_true(record.run.intended_ns >= earliest_ns[record.number] ||
                        delays_ms[record.number] == 0);
            assert_true(record.run.actual_ns >= record.run.intended_ns);
            assert_true(record.run.actual_ns >= earliest_ns[record.number]);
            assert_int_equal(pthread_equal(record.thread, pthread_self()), 0);
        }
        scheduler_end(scheduler);
    }
}

SCHEDULER_TEST(a_task_scheduled_before_start_runs_once_started, scheduler_new(NULL))
{
    (void)schedule_after(scheduler, task_named('a'), 0);
    sleep_ns(5 * TICK_NS);
    expect_runs("");
    assert_ok(elapse_scheduler_start(scheduler));
    assert_ok(elapse_scheduler_start(scheduler));
    wait_for_runs(1);
    expect_runs("a");
}

SCHEDULER_TEST(an_earlier_task_wakes_the_sleeping_clock, started_new(1))
{
    struct elapse_task near = task_named('n');

    (void)schedule_after(scheduler, task_named('f'), YEAR_NS);
    sleep_ns(10 * TICK_NS);
    for (size_t i = 1; i <= 20; i++) {
        (void)schedule_after(scheduler, near, i % 3 * TICK_NS);
        wait_for_runs(i);
    }
}

TEST(a_slow_action_delays_no_other_while_a_worker_is_free)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = started_new(2);

    (void)schedule_after(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, 1);
    (void)schedule_after(scheduler, task_named('q'), 2 * TICK_NS);
    wait_for_runs(1);
    assert_int_equal(atomic_load(&gate.left), 0);
    open_gate(&gate);
    scheduler_end(scheduler);
    assert_int_equal(atomic_load(&gate.left), 1);
}

TEST(a_hundred_thousand_of_delay_0_all_run)
{
    enum { TASKS = 100000 };
    static unsigned char seen[TASKS];
    struct elapse_scheduler *scheduler = started_new(4);

    for (size_t i = 0; i < TASKS; i++)
        (void)schedule_after(scheduler, task_named(i), 0);
    wait_for_runs(TASKS);
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(seen[run_at(i).number]++, 0);
    scheduler_end(scheduler);
    assert_int_equal(runs(), TASKS);
}

SCHEDULER_TEST(with_one_worker_by_deadline_and_in_order, started_new(1))
{
    enum { TASKS = 3000 };
    static struct gate gate;
    static struct elapse_handle handles[TASKS];
    uint64_t base_ns;

    (void)schedule_after(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, 1);
    /* All have to be scheduled before one is due. If the machine stood still, it is done again. */
    do {
        base_ns = elapse_scheduler_now_ns(scheduler) + 1000 * TICK_NS;
        for (size_t i = 0; i < TASKS; i++)
            handles[i] = schedule_at(scheduler, task_named(i), base_ns + i * 7 % 5 * TICK_NS);
    } while (elapse_scheduler_now_ns(scheduler) >= base_ns &&
             elapse_task_cancel_batch(scheduler, handles, TASKS, NULL) == TASKS);
    open_gate(&gate);
    wait_for_runs(TASKS);
    for (size_t i = 1; i < TASKS; i++) {
        struct run_record before = run_at(i - 1);
        struct run_record after = run_at(i);

        assert_true(
            before.run.intended_ns < after.run.intended_ns ||
            (before.run.intended_ns == after.run.intended_ns && before.number < after.number));
    }
}

TEST_MAIN("timing")
