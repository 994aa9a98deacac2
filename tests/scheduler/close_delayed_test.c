/*
 * Closing that lets delayed tasks run at their deadlines: ELAPSE_CLOSE_RUN_DELAYED.
 */
#include "pulling.h"
#include "recurring.h"
#include "wall_clock.h"

/* Only a close that waits in vain takes as long. */
static const uint64_t limit_ns = 30 * ELAPSE_SECOND_NS;

static enum elapse_error close_within(struct elapse_scheduler *scheduler, uint64_t timeout_ns)
{
    return elapse_scheduler_close_within(scheduler, ELAPSE_CLOSE_RUN_DELAYED, NULL, NULL,
                                         timeout_ns);
}

/* Begins to close, where tasks are left. */
static void begin_to_close(struct elapse_scheduler *scheduler)
{
    assert_int_equal(close_within(scheduler, 0), ELAPSE_ERROR_TIMEOUT);
    assert_int_equal(elapse_scheduler_life(scheduler), ELAPSE_LIFE_CLOSING);
}

/* Closing ends, because no task is left. */
static void expect_to_close(struct elapse_scheduler *scheduler)
{
    assert_ok(close_within(scheduler, 0));
    assert_int_equal(elapse_scheduler_life(scheduler), ELAPSE_LIFE_CLOSED);
    assert_int_equal(pending_tasks(scheduler), 0);
    assert_true(elapse_scheduler_next_ns(scheduler) == ELAPSE_NEVER);
}

static struct elapse_task by_cron(size_t number)
{
    static struct elapse_cron cron;
    struct elapse_task task = task_with_end(number);

    assert_ok(elapse_cron_parse(&cron, "* * * * *", NULL));
    task.recurrence = ELAPSE_RECUR_CRON;
    task.cron = &cron;
    return task;
}

/* ---- manual time ---- */

TEST(each_task_runs_at_its_deadline)
{
    for (unsigned shards = 1; shards < 5; shards += 3) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, shards);
        struct elapse_task refused = task_named('x');

        struct elapse_handle last = add(scheduler, 'b', T(4000000));
        add(scheduler, 'a', T(2));
        (void)schedule_at(scheduler, task_with_key('k', "another shard", ELAPSE_KEY_REPLACE),
                          T(50));
        begin_to_close(scheduler);
        expect_runs("");
        assert_int_equal(elapse_task_schedule_after(scheduler, &refused, 0, NULL),
                         ELAPSE_ERROR_CLOSED);
        assert_int_equal(elapse_task_reschedule_after(scheduler, last, 0), ELAPSE_ERROR_CLOSED);
        assert_int_equal(elapse_task_run_now(scheduler, last), ELAPSE_ERROR_CLOSED);
        assert_int_equal(elapse_scheduler_start(scheduler), ELAPSE_ERROR_CLOSED);
        assert_int_equal(elapse_scheduler_next_ns(scheduler), T(2));
        expect_step(scheduler, T(2) - 1, "");
        expect_step(scheduler, T(2), "a");
        begin_to_close(scheduler);
        expect_step(scheduler, T(50), "k");
        expect_step(scheduler, T(4000000) - 1, "");
        begin_to_close(scheduler);
        expect_step(scheduler, T(4000000), "b");
        expect_to_close(scheduler);
        assert_int_equal(ends(), 3);
        assert_int_equal(statistics_of(scheduler).dropped, 0);
        assert_int_equal(elapse_scheduler_step(scheduler, ELAPSE_NEVER, NULL), ELAPSE_ERROR_CLOSED);
        scheduler_end(scheduler);
    }
}

WALL_TEST(a_task_by_the_wall_clock_runs_when_that_clock_says_so)
{
    (void)schedule_by_wall_clock(scheduler, task_with_end('w'), WALL_NS + ELAPSE_HOUR_NS);
    begin_to_close(scheduler);
    expect_step(scheduler, T(1), "");
    assert_ok(elapse_scheduler_set_wall_clock(scheduler, WALL_NS + ELAPSE_HOUR_NS));
    expect_step(scheduler, T(1), "w");
    expect_to_close(scheduler);
    assert_int_equal(ends_of('w'), 1);
}

/* Those that are due are not run either. */
WALL_TEST(tasks_that_recur_end_at_once)
{
    struct elapse_task cron = by_cron('c');

    (void)schedule_at(scheduler, periodic('d', T(10)), 0);
    (void)schedule_at(scheduler, periodic('p', T(10)), T(10));
    (void)schedule_at(scheduler, recurring('e', ELAPSE_RECUR_AFTER_EACH, T(10), ELAPSE_MISSED_SKIP),
                      T(10));
    assert_ok(elapse_task_schedule_cron(scheduler, &cron, NULL));
    add(scheduler, 'a', T(20));
    begin_to_close(scheduler);
    assert_int_equal(ends(), 4);
    assert_int_equal(statistics_of(scheduler).dropped, 4);
    expect_step(scheduler, T(20), "a");
    expect_to_close(scheduler);
    assert_int_equal(ends(), 5);
}

MANUAL_TEST(tasks_whose_deadline_never_comes_end_at_once)
{
    add(scheduler, 'n', ELAPSE_NEVER);
    expect_to_close(scheduler);
    expect_runs("");
    assert_int_equal(ends_of('n'), 1);
    assert_int_equal(statistics_of(scheduler).dropped, 1);
}

/* More of them than closing takes out in one holding of the lock, in several blocks. */
MANUAL_TEST(many_that_stay_and_many_that_end)
{
    enum { MANY = 3000 };

    for (size_t i = 0; i < MANY; i++) {
        struct elapse_task task = i % 3 == 0 ? task_with_end(i) : periodic(i, T(7));

        (void)schedule_at(scheduler, task, T(10 + i % 5));
    }
    begin_to_close(scheduler);
    assert_int_equal(statistics_of(scheduler).dropped, MANY * 2 / 3);
    assert_int_equal(pending_tasks(scheduler), MANY / 3);
    assert_int_equal(step(scheduler, T(14)), MANY / 3);
    expect_to_close(scheduler);
    assert_int_equal(ends(), MANY);
}

MANUAL_TEST(a_cancel_ends_what_closing_waits_for)
{
    struct elapse_handle handle = add(scheduler, 'a', T(1000));

    begin_to_close(scheduler);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    expect_to_close(scheduler);
    expect_runs("");
}

/* ---- what a close that timed out may go on with ---- */

static void count_back(const struct elapse_handed_back *handed_back, void *context)
{
    assert_int_equal(handed_back->deadline_ns, T(1000));
    ++*(unsigned *)context;
}

MANUAL_TEST(it_may_go_on_with_less)
{
    unsigned back = 0;

    add(scheduler, 'a', T(1));
    add(scheduler, 'b', T(1000));
    begin_to_close(scheduler);
    assert_int_equal(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_DUE, NULL, NULL),
                     ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_ALL, NULL, NULL),
                     ELAPSE_ERROR_ARGUMENT);
    expect_step(scheduler, T(1), "a");
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_HAND_BACK, count_back, &back));
    assert_int_equal(back, 1);
    expect_runs("");
}

MANUAL_TEST(freeing_drops_what_is_left)
{
    add(scheduler, 'a', T(1));
    begin_to_close(scheduler);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    assert_int_equal(ends_of('a'), 1);
    expect_runs("");
}

SCHEDULER_TEST(a_close_that_runs_everything_at_once_cannot_wait_for_deadlines, started_new(1))
{
    static struct gate gate;

    (void)schedule_after(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, 1);
    assert_int_equal(elapse_scheduler_close_within(scheduler, ELAPSE_CLOSE_RUN_ALL, NULL, NULL, 0),
                     ELAPSE_ERROR_TIMEOUT);
    assert_int_equal(close_within(scheduler, 0), ELAPSE_ERROR_ARGUMENT);
    open_gate(&gate);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_ALL, NULL, NULL));
}

TEST(one_that_was_never_started_is_not_closed)
{
    for (int pull = 0; pull < 2; pull++) {
        struct elapse_scheduler_options options = real_options(0, 1);

        options.pull = pull == 1;
        struct elapse_scheduler *scheduler = scheduler_new(&options);
        assert_int_equal(close_within(scheduler, 0), ELAPSE_ERROR_ARGUMENT);
        assert_int_equal(elapse_scheduler_life(scheduler), ELAPSE_LIFE_NEW);
        (void)schedule_after(scheduler, task_named('a'), 0);
        scheduler_end(scheduler);
    }
}

/* ---- threads ---- */

struct closing {
    struct elapse_scheduler *scheduler;
    enum elapse_error error;
    pthread_t thread;
};

static void *call_close(void *context)
{
    struct closing *closing = context;

    closing->error = close_within(closing->scheduler, ELAPSE_NEVER);
    return NULL;
}

static bool is_closed(void *scheduler)
{
    return elapse_scheduler_life(scheduler) == ELAPSE_LIFE_CLOSED;
}

static bool is_closing(void *scheduler)
{
    return elapse_scheduler_life(scheduler) >= ELAPSE_LIFE_CLOSING;
}

static void close_on_thread(struct closing *closing, struct elapse_scheduler *scheduler)
{
    closing->scheduler = scheduler;
    assert_int_equal(pthread_create(&closing->thread, NULL, call_close, closing), 0);
    wait_until(is_closing, scheduler);
}

static void expect_closed(struct closing *closing)
{
    wait_until(is_closed, closing->scheduler);
    assert_int_equal(pthread_join(closing->thread, NULL), 0);
    assert_ok(closing->error);
}

/* Without a worker, with one and with several, and in several shards. */
TEST(closing_waits_for_the_last_delayed_task)
{
    enum { TASKS = 30 };

    for (unsigned workers = 0; workers < 4; workers++) {
        struct elapse_scheduler_options options = real_options(workers, 3);
        struct elapse_scheduler *scheduler = started_with(&options);

        (void)schedule_after(scheduler, periodic('p', ELAPSE_HOUR_NS), ELAPSE_HOUR_NS);
        for (size_t i = 0; i < TASKS; i++) {
            char key[2] = {(char)('a' + i % 26), '\0'};
            struct elapse_task task = task_with_key(i, key, ELAPSE_KEY_REPLACE);

            if (i % 2 == 0 || i >= 26)
                task = task_with_end(i);
            (void)schedule_after(scheduler, task, i * ELAPSE_MILLISECOND_NS);
        }
        assert_ok(close_within(scheduler, limit_ns));
        assert_int_equal(runs(), TASKS);
        for (size_t i = 0; i < TASKS; i++) {
            assert_true(run_at(i).run.actual_ns >= run_at(i).run.intended_ns);
            assert_int_equal(ends_of(i), 1);
        }
        assert_int_equal(ends_of('p'), 1);
        scheduler_end(scheduler);
    }
}

/* The action is running when closing begins; then it would run again. */
SCHEDULER_TEST(a_task_that_recurs_ends_with_the_run_that_it_is_in, started_new(2))
{
    static struct gate gates[2];
    struct elapse_task period = task_at_gate(&gates[0]);
    struct elapse_task once = task_at_gate(&gates[1]);

    period.recurrence = ELAPSE_RECUR_PERIOD;
    period.period_ns = ELAPSE_MILLISECOND_NS;
    (void)schedule_after(scheduler, period, 0);
    struct elapse_handle handle = schedule_after(scheduler, once, 0);
    wait_entered(&gates[0], 1);
    wait_entered(&gates[1], 1);
    assert_ok(elapse_task_reschedule_after(scheduler, handle, ELAPSE_MILLISECOND_NS));
    begin_to_close(scheduler);
    assert_int_equal(pending_tasks(scheduler), 1); /* it was rescheduled, and runs once more */
    open_gate(&gates[0]);
    open_gate(&gates[1]);
    assert_ok(close_within(scheduler, limit_ns));
    assert_int_equal(atomic_load(&gates[0].left), 1);
    assert_int_equal(atomic_load(&gates[1].left), 2);
}

SCHEDULER_TEST(a_cancel_of_the_last_task_ends_the_wait, started_new(1))
{
    static struct closing closing;

    struct elapse_handle handle = schedule_after(scheduler, task_with_end('a'), ELAPSE_HOUR_NS);
    close_on_thread(&closing, scheduler);
    sleep_ns(2 * ELAPSE_MILLISECOND_NS); /* that the thread may wait already */
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    expect_closed(&closing);
    assert_int_equal(ends_of('a'), 1);
}

MANUAL_TEST(another_thread_may_step_while_closing_waits)
{
    static struct closing closing;

    add(scheduler, 'a', T(1));
    add(scheduler, 'b', T(9));
    close_on_thread(&closing, scheduler);
    expect_step(scheduler, T(1), "a");
    expect_step(scheduler, T(9), "b");
    expect_closed(&closing);
}

/* ---- pull mode ---- */

PULL_TEST(threads_go_on_taking_until_all_is_done)
{
    struct elapse_taken again;

    (void)schedule_at(scheduler, periodic('p', T(1)), T(1));
    add(scheduler, 'a', T(1));
    add(scheduler, 'b', T(9));
    go_to(scheduler, T(1));
    struct elapse_taken period = take(scheduler, 'p');
    begin_to_close(scheduler);
    expect_taken(scheduler, "a");
    go_to(scheduler, T(9));
    done(scheduler, &period);
    struct elapse_taken last = take(scheduler, 'b');
    begin_to_close(scheduler);
    expect_nothing(scheduler);
    done(scheduler, &last);
    expect_to_close(scheduler);
    assert_int_equal(ends_of('p'), 1);
    assert_int_equal(elapse_task_take(scheduler, 0, &again), ELAPSE_ERROR_CLOSED);
}

TEST(closing_waits_for_each_shard)
{
    for (uint32_t shard = 0; shard < 2; shard++) {
        struct elapse_scheduler_options options = manual_options(TICK_NS, 2);

        options.pull = true;
        struct elapse_scheduler *scheduler = scheduler_new(&options);
        const char key[2] = {key_in_shard(scheduler, shard), '\0'};
        (void)schedule_at(scheduler, task_with_key('k', key, ELAPSE_KEY_REPLACE), T(1));
        begin_to_close(scheduler);
        go_to(scheduler, T(1));
        expect_taken(scheduler, "k");
        expect_to_close(scheduler);
        scheduler_end(scheduler);
    }
}

static struct elapse_scheduler *lease_new(void)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);

    options.pull = true;
    options.lease_ns = T(10);
    return scheduler_new(&options);
}

SCHEDULER_TEST(a_task_whose_lease_has_expired_is_taken_again, lease_new())
{
    add(scheduler, 'a', T(1));
    go_to(scheduler, T(1));
    (void)take(scheduler, 'a');
    begin_to_close(scheduler);
    go_to(scheduler, T(11));
    begin_to_close(scheduler); /* a thread that has it no more has not done it */
    struct elapse_taken again = take(scheduler, 'a');
    assert_int_equal(again.run.attempt, 2);
    assert_ok(elapse_task_done_taken(scheduler, &again));
    expect_to_close(scheduler);
    assert_int_equal(ends_of('a'), 1);
}

struct taker {
    struct elapse_scheduler *scheduler;
    size_t count;
    enum elapse_error error;
    pthread_t thread;
};

static void *take_on(void *context)
{
    struct taker *taker = context;
    struct elapse_taken taken;

    while ((taker->error = elapse_task_take(taker->scheduler, ELAPSE_NEVER, &taken)) == ELAPSE_OK)
        taker->count += elapse_task_done(taker->scheduler, taken.run.handle) == ELAPSE_OK;
    return NULL;
}

TEST(waiting_threads_take_what_comes_due_and_are_woken_in_the_end)
{
    enum { TAKERS = 3, TASKS = 20 };
    struct elapse_scheduler_options options = real_options(0, 2);
    static struct taker takers[TAKERS]; /* they outlive a test that fails */
    size_t count = 0;

    options.pull = true;
    struct elapse_scheduler *scheduler = started_with(&options);
    for (size_t i = 0; i < TASKS; i++)
        (void)schedule_after(scheduler, task_with_end(i), i * ELAPSE_MILLISECOND_NS);
    for (size_t i = 0; i < TAKERS; i++) {
        takers[i] = (struct taker){.scheduler = scheduler};
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take_on, &takers[i]), 0);
    }
    assert_ok(close_within(scheduler, limit_ns));
    for (size_t i = 0; i < TAKERS; i++) {
        assert_int_equal(pthread_join(takers[i].thread, NULL), 0);
        assert_int_equal(takers[i].error, ELAPSE_ERROR_CLOSED);
        count += takers[i].count;
    }
    assert_int_equal(count, TASKS);
    assert_int_equal(ends(), TASKS);
    scheduler_end(scheduler);
}

TEST_MAIN("close_delayed")
