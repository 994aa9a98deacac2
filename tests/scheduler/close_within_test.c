/*
 * Tests closing with a time limit, closing after everything has run, and the life of a scheduler.
 */
#include <sched.h>

#include "pulling.h"
#include "recurring.h"

static enum elapse_error close_within(struct elapse_scheduler *scheduler, enum elapse_close how,
                                      uint64_t timeout_ns)
{
    return elapse_scheduler_close_within(scheduler, how, NULL, NULL, timeout_ns);
}

static void expect_life(const struct elapse_scheduler *scheduler, enum elapse_life life)
{
    assert_int_equal(elapse_scheduler_life(scheduler), life);
}

/* ---- life ---- */

MANUAL_TEST(a_scheduler_is_new_then_started_then_closed)
{
    expect_life(scheduler, ELAPSE_LIFE_NEW);
    assert_ok(elapse_scheduler_start(scheduler));
    expect_life(scheduler, ELAPSE_LIFE_STARTED);
    assert_ok(close_within(scheduler, ELAPSE_CLOSE_DROP, 0));
    expect_life(scheduler, ELAPSE_LIFE_CLOSED);
    assert_int_equal(close_within(scheduler, ELAPSE_CLOSE_DROP, 0), ELAPSE_ERROR_CLOSED);
}

/* ---- the time limit ---- */

/* Checks what must hold after a close has timed out: 'b' is pending. */
static void expect_closing(struct elapse_scheduler *scheduler, struct elapse_handle pending)
{
    struct elapse_task task = task_named('x');

    expect_life(scheduler, ELAPSE_LIFE_CLOSING);
    assert_int_equal(elapse_task_schedule_after(scheduler, &task, 0, NULL), ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_task_reschedule_after(scheduler, pending, 0), ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_task_look_up(scheduler, pending, NULL), ELAPSE_TASK_PENDING);
    assert_int_equal(elapse_scheduler_start(scheduler), ELAPSE_ERROR_CLOSED);
    assert_int_equal(ends_of('b'), 0);
}

/* The scheduler has workers, or none; without workers the clock thread runs the action. */
TEST(a_stuck_action_does_not_hold_up_close_for_ever)
{
    for (unsigned workers = 0; workers < 3; workers++) {
        struct elapse_scheduler *scheduler = started_new(workers);
        static struct gate gates[3];
        struct elapse_handle handles[2];

        (void)schedule_after(scheduler, task_at_gate(&gates[workers]), 0);
        wait_entered(&gates[workers], 1);
        handles[0] = schedule_after(scheduler, task_with_end('b'), ELAPSE_HOUR_NS);
        handles[1] = schedule_after(scheduler, task_with_end('c'), ELAPSE_HOUR_NS);
        assert_int_equal(close_within(scheduler, ELAPSE_CLOSE_DROP, 0), ELAPSE_ERROR_TIMEOUT);
        expect_closing(scheduler, handles[0]);
        assert_int_equal(close_within(scheduler, ELAPSE_CLOSE_DROP, ELAPSE_MILLISECOND_NS),
                         ELAPSE_ERROR_TIMEOUT);
        expect_closing(scheduler, handles[0]);
        assert_int_equal(elapse_task_cancel(scheduler, handles[1]), ELAPSE_CANCEL_REMOVED);
        /* A close that can no longer be asked for is refused, and changes nothing. */
        assert_int_equal(close_within(scheduler, ELAPSE_CLOSE_RUN_DUE, 0), ELAPSE_ERROR_ARGUMENT);
        assert_int_equal(close_within(scheduler, ELAPSE_CLOSE_RUN_ALL, 0), ELAPSE_ERROR_ARGUMENT);
        expect_closing(scheduler, handles[0]);

        atomic_store(&gates[workers].open, true);
        assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
        assert_int_equal(atomic_load(&gates[workers].left), 1);
        expect_life(scheduler, ELAPSE_LIFE_CLOSED);
        assert_int_equal(ends_of('b'), 1);
        assert_int_equal(elapse_task_look_up(scheduler, handles[0], NULL), ELAPSE_TASK_GONE);
        scheduler_end(scheduler);
    }
}

TEST(freeing_goes_on_with_a_close_that_timed_out)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = started_new(1);

    (void)schedule_after(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, 1);
    assert_int_equal(close_within(scheduler, ELAPSE_CLOSE_DROP, 0), ELAPSE_ERROR_TIMEOUT);
    atomic_store(&gate.open, true);
    scheduler_end(scheduler);
    assert_int_equal(atomic_load(&gate.left), 1);
}

PULL_TEST(a_taken_task_does_not_hold_up_close_for_ever)
{
    add(scheduler, 'a', T(1));
    struct elapse_handle pending = add(scheduler, 'b', T(1000));
    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');
    assert_int_equal(close_within(scheduler, ELAPSE_CLOSE_DROP, 0), ELAPSE_ERROR_TIMEOUT);
    expect_closing(scheduler, pending);
    done(scheduler, &taken);
    assert_ok(close_within(scheduler, ELAPSE_CLOSE_DROP, 0));
    assert_int_equal(ends_of('b'), 1);
}

static void count_back(const struct elapse_handed_back *handed_back, void *context)
{
    (void)handed_back;
    ++*(unsigned *)context;
}

/* The first close asks that all tasks run: the task that holds the only worker, and another one
 * that is due. It times out. The second close asks for less, and the pending task is handed back.
 */
SCHEDULER_TEST(a_close_that_timed_out_may_go_on_with_less, started_new(1))
{
    static struct gate gate;
    unsigned back = 0;

    (void)schedule_after(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, 1);
    (void)schedule_at(scheduler, task_named('b'), 0);
    assert_int_equal(close_within(scheduler, ELAPSE_CLOSE_RUN_ALL, 0), ELAPSE_ERROR_TIMEOUT);
    assert_int_equal(close_within(scheduler, ELAPSE_CLOSE_RUN_DUE, 0), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(
        elapse_scheduler_close_within(scheduler, ELAPSE_CLOSE_HAND_BACK, count_back, &back, 0),
        ELAPSE_ERROR_TIMEOUT);
    assert_int_equal(back, 0);
    atomic_store(&gate.open, true);
    assert_ok(elapse_scheduler_close_within(scheduler, ELAPSE_CLOSE_HAND_BACK, count_back, &back,
                                            ELAPSE_NEVER));
    assert_int_equal(back, 1);
    expect_runs("");
}

/* ---- everything runs ---- */

TEST(everything_runs_once_in_order_of_deadline)
{
    for (unsigned shards = 1; shards < 5; shards += 3) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, shards);
        struct elapse_task keyed = task_with_key('k', "another shard", ELAPSE_KEY_REPLACE);

        add(scheduler, 'c', T(4000000));
        add(scheduler, 'a', T(2));
        (void)schedule_at(scheduler, periodic('p', T(1)), T(3));
        (void)schedule_at(scheduler, keyed, T(50));
        (void)schedule_at(scheduler, task_with_end('n'), ELAPSE_NEVER);
        assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_ALL, NULL, NULL));
        expect_runs("apkc");
        assert_int_equal(run_at(3).run.intended_ns, T(4000000));
        assert_int_equal(run_at(3).run.actual_ns, 0);
        assert_int_equal(ends(), 5);
        assert_int_equal(ends_of('p'), 1);
        assert_int_equal(ends_of('n'), 1);
        assert_int_equal(statistics_of(scheduler).begun, 4);
        assert_int_equal(statistics_of(scheduler).completed, 4);
        assert_int_equal(statistics_of(scheduler).dropped, 1);
        assert_int_equal(statistics_of(scheduler).pending, 0);
        assert_int_equal(statistics_of(scheduler).lateness_max_ns, 0);
        scheduler_end(scheduler);
    }
}

MANUAL_TEST(tasks_by_the_wall_clock_run_too)
{
    struct elapse_task task = task_with_end('w');
    struct elapse_task daily = task_with_end('d');
    struct elapse_cron cron;

    assert_ok(elapse_cron_parse(&cron, "0 3 * * *", NULL));
    daily.cron = &cron;
    daily.recurrence = ELAPSE_RECUR_CRON;
    assert_ok(elapse_task_schedule_at_wall_clock(scheduler, &task, ELAPSE_HOUR_NS, NULL));
    assert_ok(elapse_task_schedule_cron(scheduler, &daily, NULL));
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_ALL, NULL, NULL));
    expect_runs("wd");
    assert_int_equal(ends(), 2);
}

/* One worker, so that the order is exact. */
SCHEDULER_TEST(workers_run_everything, started_new(1))
{
    static struct gate gate;
    struct elapse_task first = task_with_key('a', "k", ELAPSE_KEY_REPLACE);

    (void)schedule_after(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, 1);
    for (unsigned i = 0; i < 3; i++) {
        struct elapse_task task = periodic('d' - i, ELAPSE_SECOND_NS);

        (void)schedule_after(scheduler, task, (5 - i) * ELAPSE_HOUR_NS);
    }
    (void)schedule_after(scheduler, first, ELAPSE_HOUR_NS);
    assert_int_equal(close_within(scheduler, ELAPSE_CLOSE_RUN_ALL, 0), ELAPSE_ERROR_TIMEOUT);
    expect_life(scheduler, ELAPSE_LIFE_CLOSING);
    atomic_store(&gate.open, true);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_ALL, NULL, NULL));
    expect_runs("abcd");
    assert_int_equal(ends(), 4);
}

/* A task that stays in its first run until its gate is open, and notes its intended times. */
struct timed {
    struct gate gate;
    _Atomic uint64_t intended_ns[2];
};

static void note_intended(void *context, const struct elapse_run *run)
{
    struct timed *timed = context;
    unsigned number = atomic_fetch_add(&timed->gate.entered, 1);

    if (number < 2)
        atomic_store(&timed->intended_ns[number], run->intended_ns);
    while (!atomic_load(&timed->gate.open))
        (void)sched_yield();
}

/* A task with a far deadline has begun, so time in its shard has gone that far. Another task runs
 * again because it was rescheduled. Its intended time is a tick, and not later than the far
 * deadline. */
SCHEDULER_TEST(a_run_that_closing_repeats_is_intended_for_a_time_that_was_asked_for, started_new(2))
{
    static struct timed timed;
    static struct gate far_gate = {.open = true};
    struct elapse_task held = {.action = note_intended, .context = &timed};
    uint64_t far_ns = elapse_scheduler_now_ns(scheduler) + ELAPSE_HOUR_NS;

    struct elapse_handle handle = schedule_after(scheduler, held, 0);
    wait_entered(&timed.gate, 1);
    assert_ok(elapse_task_reschedule_after(scheduler, handle, ELAPSE_MINUTE_NS));
    (void)schedule_at(scheduler, task_at_gate(&far_gate), far_ns);
    assert_int_equal(close_within(scheduler, ELAPSE_CLOSE_RUN_ALL, 0), ELAPSE_ERROR_TIMEOUT);
    wait_entered(&far_gate, 1);
    open_gate(&timed.gate);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_ALL, NULL, NULL));
    assert_int_equal(atomic_load(&timed.gate.entered), 2);
    assert_int_equal(atomic_load(&timed.intended_ns[1]) % TICK_NS, 0);
    assert_true(atomic_load(&timed.intended_ns[1]) > atomic_load(&timed.intended_ns[0]));
    assert_true(atomic_load(&timed.intended_ns[1]) <= far_ns + TICK_NS);
}

/* Also tasks run that workers are about to begin when the second call begins. */
SCHEDULER_TEST(a_close_that_runs_everything_goes_on_to_do_so, started_new(1))
{
    static struct gate gate;
    struct elapse_task far = task_with_end('f');

    (void)schedule_after(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, 1);
    far.recurrence = ELAPSE_RECUR_PERIOD;
    far.period_ns = ELAPSE_HOUR_NS;
    (void)schedule_after(scheduler, far, ELAPSE_HOUR_NS);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(close_within(scheduler, ELAPSE_CLOSE_RUN_ALL, 0), ELAPSE_ERROR_TIMEOUT);
    open_gate(&gate);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_ALL, NULL, NULL));
    expect_runs("f");
    assert_int_equal(ends_of('f'), 1);
}

PULL_TEST(it_is_refused_in_pull_mode)
{
    assert_int_equal(close_within(scheduler, ELAPSE_CLOSE_RUN_ALL, 0), ELAPSE_ERROR_ARGUMENT);
    expect_life(scheduler, ELAPSE_LIFE_NEW);
}

TEST_MAIN("close_within")
