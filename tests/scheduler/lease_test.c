/*
 * Tests leases in pull mode: a taken task is held for a time and no longer, and at any time by at
 * most one taker.
 */
#include "pulling.h"
#include "recurring.h"
#include "wall_clock.h"

#define LEASE T(10)

static struct elapse_scheduler *lease_new(void)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);

    options.pull = true;
    options.lease_ns = LEASE;
    return scheduler_new(&options);
}

#define LEASE_TEST(function) SCHEDULER_TEST(function, lease_new())

static void expect_done(struct elapse_scheduler *scheduler, const struct elapse_taken *taken,
                        enum elapse_error expected)
{
    assert_int_equal(elapse_task_done_taken(scheduler, taken), expected);
}

static struct elapse_taken take_attempt(struct elapse_scheduler *scheduler, char name,
                                        uint64_t attempt)
{
    struct elapse_taken taken = take(scheduler, name);

    assert_int_equal(taken.run.attempt, attempt);
    return taken;
}

/* ---- held ---- */

LEASE_TEST(within_its_lease_a_task_is_held)
{
    (void)add(scheduler, 'a', T(1));
    go_to(scheduler, T(1));
    struct elapse_taken taken = take_attempt(scheduler, 'a', 1);
    assert_int_equal(taken.lease_until_ns, T(11));
    go_to(scheduler, T(11) - 1);
    expect_nothing(scheduler);
    expect_done(scheduler, &taken, ELAPSE_OK);
    assert_int_equal(ends_of('a'), 1);
    expect_done(scheduler, &taken, ELAPSE_ERROR_GONE);
    go_to(scheduler, T(50));
    expect_nothing(scheduler);
}

LEASE_TEST(an_expired_lease_makes_the_task_due_again)
{
    struct elapse_handle handle = add(scheduler, 'a', T(1));

    go_to(scheduler, T(2));
    struct elapse_taken first = take_attempt(scheduler, 'a', 1);
    expect_nothing(scheduler);
    assert_int_equal(elapse_scheduler_next_ns(scheduler), T(12));
    go_to(scheduler, T(12));
    expect_done(scheduler, &first, ELAPSE_ERROR_GONE); /* though nobody else has it yet */
    struct elapse_taken second = take_attempt(scheduler, 'a', 2);
    assert_true(same_handle(second.run.handle, handle));
    assert_int_equal(second.run.number, 1);
    assert_int_equal(second.run.intended_ns, T(1));
    assert_int_equal(second.run.actual_ns, T(12));
    assert_int_equal(second.lease_until_ns, T(22));
    expect_nothing(scheduler);
    expect_done(scheduler, &first, ELAPSE_ERROR_GONE);
    assert_int_equal(elapse_task_extend_lease(scheduler, &first), ELAPSE_ERROR_GONE);
    assert_int_equal(ends(), 0);
    expect_done(scheduler, &second, ELAPSE_OK);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(statistics_of(scheduler).begun, 1);
}

LEASE_TEST(an_extended_lease_lasts_from_then_on)
{
    struct elapse_taken a;
    struct elapse_taken b;

    (void)add(scheduler, 'a', T(1));
    (void)add(scheduler, 'b', T(1));
    go_to(scheduler, T(1));
    a = take_attempt(scheduler, 'a', 1);
    b = take_attempt(scheduler, 'b', 1);
    go_to(scheduler, T(8));
    assert_ok(elapse_task_extend_lease(scheduler, &a));
    assert_int_equal(a.lease_until_ns, T(18));
    go_to(scheduler, T(11));
    expect_done(scheduler, &b, ELAPSE_ERROR_GONE);
    b = take_attempt(scheduler, 'b', 2);
    expect_nothing(scheduler);
    expect_done(scheduler, &a, ELAPSE_OK);
    expect_done(scheduler, &b, ELAPSE_OK);
    assert_int_equal(ends(), 2);
}

/* An old claim does not end a later run of the task. */
LEASE_TEST(a_late_claim_does_not_fit_a_later_run)
{
    (void)schedule_at(scheduler, periodic('a', T(20)), T(1));
    go_to(scheduler, T(1));
    struct elapse_taken first = take_attempt(scheduler, 'a', 1);
    go_to(scheduler, T(11));
    struct elapse_taken taken = take_attempt(scheduler, 'a', 2);
    expect_done(scheduler, &taken, ELAPSE_OK);
    go_to(scheduler, T(21));
    taken = take_attempt(scheduler, 'a', 1);
    assert_int_equal(taken.run.number, 2);
    expect_done(scheduler, &first, ELAPSE_ERROR_GONE);
    expect_done(scheduler, &taken, ELAPSE_OK);
}

/* ---- order ---- */

LEASE_TEST(an_expired_lease_takes_its_place_by_the_tick_at_which_it_ended)
{
    (void)add(scheduler, 'a', T(1));
    go_to(scheduler, T(1));
    (void)take_attempt(scheduler, 'a', 1); /* until T(11) */
    (void)add(scheduler, 'd', T(12));
    (void)add(scheduler, 'c', T(11));
    (void)add(scheduler, 'b', T(10));
    go_to(scheduler, T(20));
    struct elapse_taken taken = take_attempt(scheduler, 'b', 1);
    expect_done(scheduler, &taken, ELAPSE_OK);
    taken = take_attempt(scheduler, 'a', 2); /* the expired lease comes before tasks of that tick */
    expect_done(scheduler, &taken, ELAPSE_OK);
    taken = take_attempt(scheduler, 'c', 1);
    expect_done(scheduler, &taken, ELAPSE_OK);
    taken = take_attempt(scheduler, 'd', 1);
    expect_done(scheduler, &taken, ELAPSE_OK);
    expect_nothing(scheduler);
}

/* A shard may still know the deadline of a task that was cancelled. */
LEASE_TEST(a_cancelled_task_lets_no_later_one_overtake_an_expired_lease)
{
    (void)add(scheduler, 'a', T(1));
    go_to(scheduler, T(1));
    (void)take_attempt(scheduler, 'a', 1); /* until T(11) */
    struct elapse_handle cancelled = add(scheduler, 'b', T(10));
    (void)add(scheduler, 'c', T(12));
    assert_int_equal(elapse_task_cancel(scheduler, cancelled), ELAPSE_CANCEL_REMOVED);
    go_to(scheduler, T(20));
    struct elapse_taken taken = take_attempt(scheduler, 'a', 2);
    expect_done(scheduler, &taken, ELAPSE_OK);
    taken = take_attempt(scheduler, 'c', 1);
    expect_done(scheduler, &taken, ELAPSE_OK);
    expect_nothing(scheduler);
}

/* The work of a taker always outlives its lease: SLOW tasks are taken and never done. Many other
 * tasks are due. One task is taken at each tick, and the test knows at which tick each has to be
 * taken. */
LEASE_TEST(work_that_outlives_every_lease_keeps_no_due_task_waiting)
{
    enum { SLOW = 20, DUE = 10000 };

    for (size_t i = 0; i < SLOW + DUE; i++)
        (void)schedule_at(scheduler, (struct elapse_task){.context = name_of(i)}, T(1));
    for (size_t i = 0; i < SLOW + DUE + SLOW; i++) {
        struct elapse_taken taken;

        go_to(scheduler, T(1 + i));
        assert_ok(elapse_task_take(scheduler, 0, &taken));
        assert_int_equal(number_of(taken.context), i % (SLOW + DUE));
        assert_int_equal(taken.run.intended_ns, T(1));
        assert_int_equal(taken.run.actual_ns, T(1 + i));
        assert_int_equal(taken.run.attempt, i < SLOW + DUE ? 1 : 2);
        if (number_of(taken.context) >= SLOW)
            expect_done(scheduler, &taken, ELAPSE_OK);
    }
    go_to(scheduler, T(2 * DUE)); /* closing does not wait for leases that have expired */
}

/* ---- keys, cancelling, rescheduling ---- */

TEST(a_dead_taker_does_not_keep_its_key)
{
    struct elapse_scheduler *scheduler = lease_new();
    struct elapse_task task = task_with_key('a', "key", ELAPSE_KEY_REPLACE);
    struct elapse_taken taken;

    (void)schedule_at(scheduler, task, T(1));
    go_to(scheduler, T(1));
    (void)take_attempt(scheduler, 'a', 1);
    task = task_with_key('b', "key", ELAPSE_KEY_REPLACE);
    (void)schedule_at(scheduler, task, T(2));
    go_to(scheduler, T(5));
    expect_nothing(scheduler);
    go_to(scheduler, T(11));
    taken = take_attempt(scheduler, 'a', 2); /* no task is lost, and they are taken one at a time */
    expect_nothing(scheduler);
    expect_done(scheduler, &taken, ELAPSE_OK);
    taken = take_attempt(scheduler, 'b', 1);
    expect_done(scheduler, &taken, ELAPSE_OK);
    scheduler_end(scheduler);
    assert_int_equal(ends(), 2);
}

LEASE_TEST(a_cancelled_task_ends_when_its_lease_has_expired)
{
    struct elapse_task task = task_with_key('a', "key", ELAPSE_KEY_REPLACE);
    struct elapse_handle handle = schedule_at(scheduler, task, T(1));

    go_to(scheduler, T(1));
    struct elapse_taken late = take_attempt(scheduler, 'a', 1);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    task = task_with_key('b', "key", ELAPSE_KEY_REPLACE);
    (void)schedule_at(scheduler, task, T(2));
    go_to(scheduler, T(11));
    struct elapse_taken taken = take_attempt(scheduler, 'b', 1);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(state_of(scheduler, handle), ELAPSE_TASK_GONE);
    expect_done(scheduler, &late, ELAPSE_ERROR_GONE);
    expect_done(scheduler, &taken, ELAPSE_OK);
}

LEASE_TEST(a_reschedule_holds_after_another_attempt)
{
    struct elapse_handle handle = add(scheduler, 'a', T(1));

    go_to(scheduler, T(1));
    (void)take_attempt(scheduler, 'a', 1);
    assert_ok(elapse_task_reschedule_at(scheduler, handle, T(40)));
    go_to(scheduler, T(11));
    struct elapse_taken taken = take_attempt(scheduler, 'a', 2);
    assert_int_equal(taken.run.intended_ns, T(1));
    expect_done(scheduler, &taken, ELAPSE_OK);
    expect_nothing(scheduler);
    go_to(scheduler, T(40));
    taken = take_attempt(scheduler, 'a', 1);
    expect_done(scheduler, &taken, ELAPSE_OK);
    assert_int_equal(ends_of('a'), 1);
}

LEASE_TEST(a_task_by_the_wall_clock_has_a_lease_too)
{
    assert_ok(elapse_scheduler_set_wall_clock(scheduler, WALL_NS));
    (void)schedule_by_wall_clock(scheduler, task_with_end('a'), WALL_NS);
    (void)take_attempt(scheduler, 'a', 1);
    go_to(scheduler, T(10));
    struct elapse_taken taken = take_attempt(scheduler, 'a', 2);
    assert_true(taken.run.wall_clock);
    assert_int_equal(taken.run.intended_ns, WALL_NS);
    expect_done(scheduler, &taken, ELAPSE_OK);
}

/* ---- closing ---- */

static size_t handed_back;
static uint64_t handed_back_deadline_ns;

static void count_handed_back(const struct elapse_handed_back *task, void *context)
{
    (void)context;
    handed_back++;
    handed_back_deadline_ns = task->deadline_ns;
}

LEASE_TEST(closing_does_not_wait_for_expired_leases)
{
    struct elapse_task task = task_with_key('a', "key", ELAPSE_KEY_REPLACE);

    (void)schedule_at(scheduler, task, T(1));
    struct elapse_handle handle = add(scheduler, 'c', T(1));
    task = periodic('p', T(1));
    (void)schedule_at(scheduler, task, T(1));
    go_to(scheduler, T(1));
    struct elapse_taken late = take_attempt(scheduler, 'a', 1);
    (void)take_attempt(scheduler, 'c', 1);
    (void)take_attempt(scheduler, 'p', 1);
    task = task_with_key('b', "key", ELAPSE_KEY_REPLACE);
    (void)schedule_at(scheduler, task, T(2));
    go_to(scheduler, T(3)); /* b waits for a */
    expect_nothing(scheduler);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    go_to(scheduler, T(11));
    handed_back = 0;
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_HAND_BACK, count_handed_back, NULL));
    assert_int_equal(handed_back, 3); /* a, b and p */
    assert_int_equal(ends_of('c'), 1);
    assert_int_equal(ends(), 1);
    expect_done(scheduler, &late, ELAPSE_ERROR_GONE);
}

static struct elapse_task handed_back_task;
static struct elapse_cron handed_back_cron;

static void keep_handed_back(const struct elapse_handed_back *task, void *context)
{
    count_handed_back(task, context);
    handed_back_task = task->task;
    if (task->task.cron != NULL)
        handed_back_cron = *task->task.cron;
}

static void close_handing_back_one(struct elapse_scheduler *scheduler)
{
    handed_back = 0;
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_HAND_BACK, keep_handed_back, NULL));
    assert_int_equal(handed_back, 1);
    assert_int_equal(ends(), 0);
}

/* The change was accepted while the task was taken, and the task was not reported as done. */
LEASE_TEST(a_changed_period_is_handed_back)
{
    struct elapse_handle handle = schedule_at(scheduler, periodic('a', T(20)), T(1));

    go_to(scheduler, T(1));
    (void)take_attempt(scheduler, 'a', 1);
    go_to(scheduler, T(3));
    assert_ok(elapse_task_change_period(scheduler, handle, T(7)));
    go_to(scheduler, T(11));
    close_handing_back_one(scheduler);
    assert_int_equal(handed_back_task.recurrence, ELAPSE_RECUR_PERIOD);
    assert_int_equal(handed_back_task.period_ns, T(7));
    assert_int_equal(handed_back_deadline_ns, T(1)); /* the deadline of the run that is not done */
}

LEASE_TEST(a_changed_expression_is_handed_back)
{
    struct elapse_task task = task_with_end('a');
    struct elapse_handle handle;
    struct elapse_cron cron;
    int64_t next_s;

    assert_ok(elapse_scheduler_set_wall_clock(scheduler, WALL_NS - T(1)));
    assert_ok(elapse_cron_parse(&cron, "0 0 * * *", NULL));
    task.recurrence = ELAPSE_RECUR_CRON;
    task.cron = &cron;
    task.zone = ELAPSE_ZONE_LOCAL;
    assert_ok(elapse_task_schedule_cron(scheduler, &task, &handle));
    assert_ok(elapse_scheduler_set_wall_clock(scheduler, WALL_NS + ELAPSE_DAY_NS));
    (void)take_attempt(scheduler, 'a', 1);
    assert_ok(elapse_cron_parse(&cron, "30 12 * * *", NULL));
    assert_ok(elapse_task_change_cron(scheduler, handle, &cron, ELAPSE_ZONE_UTC));
    go_to(scheduler, T(10));
    close_handing_back_one(scheduler);
    assert_int_equal(handed_back_task.zone, ELAPSE_ZONE_UTC);
    assert_true(elapse_cron_next(&handed_back_cron, ELAPSE_ZONE_UTC, 0, &next_s));
    assert_int_equal(next_s, 12 * 3600 + 30 * 60);
    assert_true(handed_back_deadline_ns < WALL_NS + ELAPSE_DAY_NS);
}

TEST(dropping_ends_tasks_with_expired_leases)
{
    struct elapse_scheduler *scheduler = lease_new();

    (void)add(scheduler, 'a', T(1));
    go_to(scheduler, T(1));
    (void)take_attempt(scheduler, 'a', 1);
    go_to(scheduler, T(11));
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
}

/* ---- real time ---- */

static struct elapse_scheduler *real_lease_new(void)
{
    struct elapse_scheduler_options options;

    elapse_scheduler_options_init(&options);
    options.pull = true;
    options.lease_ns = 20 * ELAPSE_MILLISECOND_NS;
    return started_with(&options);
}

TEST(a_thread_that_waits_takes_over)
{
    struct elapse_scheduler *scheduler = real_lease_new();
    struct elapse_task task = task_with_end('a');
    struct elapse_taken first;
    struct elapse_taken second;

    (void)schedule_after(scheduler, task, 0);
    assert_ok(elapse_task_take(scheduler, ELAPSE_NEVER, &first));
    assert_ok(elapse_task_take(scheduler, ELAPSE_NEVER, &second));
    assert_int_equal(second.run.attempt, 2);
    assert_true(second.run.actual_ns >= first.lease_until_ns);
    expect_done(scheduler, &first, ELAPSE_ERROR_GONE);
    scheduler_end(scheduler); /* waits for the second lease, and ends the task */
    assert_int_equal(ends_of('a'), 1);
}

/* Threads that sometimes die with a task: no task is lost, and no task is done twice. */
enum { TASKS = 400, TAKERS = 4 };
static atomic_uint done_counts[TASKS];
static atomic_uint done_total;

static void *take_and_sometimes_die(void *context)
{
    struct elapse_scheduler *scheduler = context;
    struct elapse_taken taken;
    unsigned turn = 0;

    while (elapse_task_take(scheduler, ELAPSE_NEVER, &taken) == ELAPSE_OK) {
        if (++turn % 5 == 0 && taken.run.attempt < 3)
            continue;
        if (elapse_task_done_taken(scheduler, &taken) == ELAPSE_OK) {
            atomic_fetch_add(&done_counts[number_of(taken.context)], 1);
            atomic_fetch_add(&done_total, 1);
        }
    }
    return NULL;
}

static bool all_done(void *context)
{
    (void)context;
    return atomic_load(&done_total) >= TASKS;
}

SCHEDULER_TEST(no_task_is_lost_or_done_twice, real_lease_new())
{
    pthread_t threads[TAKERS];

    atomic_store(&done_total, 0);
    for (size_t i = 0; i < TASKS; i++)
        atomic_store(&done_counts[i], 0);
    for (size_t i = 0; i < TAKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_sometimes_die, scheduler), 0);
    for (size_t i = 0; i < TASKS; i++)
        (void)schedule_after(scheduler, task_with_end(i), i % 7 * TICK_NS);
    wait_until(all_done, NULL);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    for (size_t i = 0; i < TAKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(atomic_load(&done_counts[i]), 1);
        assert_int_equal(ends_of(i), 1);
    }
}

/* ---- refusals ---- */

TEST(leases_need_pull_mode_and_claims)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);
    struct elapse_scheduler *scheduler = NULL;

    options.lease_ns = LEASE;
    assert_int_equal(elapse_scheduler_new(&options, &scheduler), ELAPSE_ERROR_ARGUMENT);
    scheduler = lease_new();
    (void)add(scheduler, 'a', 0);
    struct elapse_taken taken = take_attempt(scheduler, 'a', 1);
    assert_int_equal(elapse_task_done(scheduler, taken.run.handle), ELAPSE_ERROR_ARGUMENT);
    expect_done(scheduler, &taken, ELAPSE_OK);
    scheduler_end(scheduler);
}

PULL_TEST(without_leases_a_claim_works_too)
{
    (void)add(scheduler, 'a', 0);
    struct elapse_taken taken = take_attempt(scheduler, 'a', 1);
    assert_int_equal(taken.lease_until_ns, ELAPSE_NEVER);
    assert_int_equal(elapse_task_extend_lease(scheduler, &taken), ELAPSE_ERROR_ARGUMENT);
    go_to(scheduler, T(1000));
    expect_nothing(scheduler);
    expect_done(scheduler, &taken, ELAPSE_OK);
    expect_done(scheduler, &taken, ELAPSE_ERROR_GONE);
}

TEST_MAIN("lease")
