/*
 * Tests pull mode on manual time: what cancelling, rescheduling, keys, recurrence and closing do to
 * a task that is taken.
 */
#include "pulling.h"

static const struct elapse_handle no_handle = {0, 0, 0};

/* ---- what else may befall a task that is taken ---- */

PULL_TEST(a_cancel_of_a_taken_task_says_running)
{
    struct elapse_handle handle = add(scheduler, 'a', TICK_NS);
    enum elapse_cancel answer = ELAPSE_CANCEL_GONE;

    go_to(scheduler, TICK_NS);
    struct elapse_taken taken = take(scheduler, 'a');
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    assert_int_equal(elapse_task_cancel_batch(scheduler, &handle, 1, &answer), 0);
    assert_int_equal(answer, ELAPSE_CANCEL_RUNNING);
    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, 0), ELAPSE_CANCEL_RUNNING);
    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, TICK_NS), ELAPSE_CANCEL_RUNNING);
    assert_int_equal(state_of(scheduler, handle), ELAPSE_TASK_RUNNING);
    assert_int_equal(elapse_task_reschedule_at(scheduler, handle, 9 * TICK_NS), ELAPSE_ERROR_GONE);
    assert_int_equal(ends(), 0);
    done(scheduler, &taken);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_GONE);
    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, ELAPSE_NEVER), ELAPSE_CANCEL_GONE);
    go_to(scheduler, 10 * TICK_NS);
    expect_nothing(scheduler);
}

struct waiting_cancel {
    struct elapse_scheduler *scheduler;
    struct elapse_handle handle;
    enum elapse_cancel answer;
    atomic_bool begun;
    atomic_bool returned;
};

static void *cancel_and_wait(void *context)
{
    struct waiting_cancel *cancel = context;

    atomic_store(&cancel->begun, true);
    cancel->answer = elapse_task_cancel_wait(cancel->scheduler, cancel->handle, ELAPSE_NEVER);
    atomic_store(&cancel->returned, true);
    return NULL;
}

static bool is_true(void *flag)
{
    return atomic_load((atomic_bool *)flag);
}

TEST(a_cancel_that_waits_returns_when_the_task_is_done)
{
    struct elapse_scheduler *scheduler = pull_new();
    struct waiting_cancel cancel = {.scheduler = scheduler, .answer = ELAPSE_CANCEL_SELF};
    pthread_t thread;

    cancel.handle = add(scheduler, 'a', TICK_NS);
    go_to(scheduler, TICK_NS);
    struct elapse_taken taken = take(scheduler, 'a');
    assert_int_equal(pthread_create(&thread, NULL, cancel_and_wait, &cancel), 0);
    wait_until(is_true, &cancel.begun);
    sleep_ns(20 * ELAPSE_MILLISECOND_NS);
    assert_false(atomic_load(&cancel.returned));
    assert_int_equal(ends(), 0);
    done(scheduler, &taken);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(cancel.answer, ELAPSE_CANCEL_GONE);
    assert_int_equal(ends_of('a'), 1);
    scheduler_end(scheduler);
}

PULL_TEST(a_reschedule_of_a_taken_task_counts_when_it_is_done)
{
    struct elapse_handle handle = add(scheduler, 'a', 10 * TICK_NS);
    uint64_t deadline_ns = 0;

    go_to(scheduler, 10 * TICK_NS);
    struct elapse_taken taken = take(scheduler, 'a');
    assert_ok(elapse_task_reschedule_at(scheduler, handle, 20 * TICK_NS));
    assert_ok(elapse_task_reschedule_at(scheduler, handle, 15 * TICK_NS));
    assert_int_equal(state_of(scheduler, handle), ELAPSE_TASK_RUNNING);
    go_to(scheduler, 12 * TICK_NS);
    done(scheduler, &taken);
    assert_int_equal(ends(), 0);
    assert_int_equal(look_up_deadline(scheduler, handle, &deadline_ns), ELAPSE_TASK_PENDING);
    assert_int_equal(deadline_ns, 15 * TICK_NS);
    assert_int_equal(elapse_task_done(scheduler, handle), ELAPSE_ERROR_GONE);
    expect_nothing(scheduler);

    go_to(scheduler, 15 * TICK_NS);
    taken = take(scheduler, 'a');
    assert_true(same_handle(taken.run.handle, handle));
    assert_int_equal(taken.run.intended_ns, 15 * TICK_NS);
    /* The new deadline comes while the task is taken. The task waits until it is done. */
    assert_ok(elapse_task_reschedule_at(scheduler, handle, 16 * TICK_NS));
    go_to(scheduler, 18 * TICK_NS);
    expect_nothing(scheduler);
    done(scheduler, &taken);
    taken = take(scheduler, 'a');
    /* A reschedule is withdrawn by a cancel. */
    assert_ok(elapse_task_reschedule_at(scheduler, handle, 19 * TICK_NS));
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    done(scheduler, &taken);
    assert_int_equal(ends_of('a'), 1);
    go_to(scheduler, 30 * TICK_NS);
    expect_nothing(scheduler);
}

PULL_TEST(a_task_of_the_same_key_waits_until_the_taken_one_is_done)
{
    struct elapse_task task = task_with_key('a', "key", ELAPSE_KEY_REPLACE);
    struct elapse_handle first = schedule_at(scheduler, task, TICK_NS);
    struct elapse_handle found = no_handle;

    go_to(scheduler, TICK_NS);
    struct elapse_taken taken = take(scheduler, 'a');
    assert_true(elapse_task_find(scheduler, "key", 3, &found));
    assert_true(same_handle(found, first));
    task = task_with_key('x', "key", ELAPSE_KEY_FAIL);
    (void)schedule_at(scheduler, task, 2 * TICK_NS);
    task = task_with_key('b', "key", ELAPSE_KEY_REPLACE);
    struct elapse_handle second = schedule_at(scheduler, task, 2 * TICK_NS);
    assert_int_equal(ends_of('x'), 1); /* replaced */
    assert_true(elapse_task_find(scheduler, "key", 3, &found));
    assert_true(same_handle(found, second));
    task = task_with_key('c', "other", ELAPSE_KEY_REPLACE);
    (void)schedule_at(scheduler, task, 3 * TICK_NS);
    assert_int_equal(elapse_task_reschedule_at(scheduler, first, 2 * TICK_NS), ELAPSE_ERROR_GONE);

    go_to(scheduler, 5 * TICK_NS);
    expect_taken(scheduler, "c"); /* b is due and waits */
    assert_int_equal(state_of(scheduler, second), ELAPSE_TASK_PENDING);
    done(scheduler, &taken);
    assert_int_equal(ends_of('a'), 1);
    taken = take(scheduler, 'b');
    done(scheduler, &taken);
    assert_false(elapse_task_find(scheduler, "key", 3, &found));
    expect_nothing(scheduler);

    /* The task that waits may be cancelled. */
    task = task_with_key('d', "key", ELAPSE_KEY_REPLACE);
    (void)schedule_at(scheduler, task, 6 * TICK_NS);
    go_to(scheduler, 6 * TICK_NS);
    taken = take(scheduler, 'd');
    task = task_with_key('e', "key", ELAPSE_KEY_REPLACE);
    second = schedule_at(scheduler, task, 6 * TICK_NS);
    expect_nothing(scheduler);
    assert_int_equal(elapse_task_cancel(scheduler, second), ELAPSE_CANCEL_REMOVED);
    done(scheduler, &taken);
    expect_nothing(scheduler);
}

/* ---- recurrence ---- */

static struct elapse_task recurring(char name, enum elapse_recurrence recurrence,
                                    uint64_t period_ns, enum elapse_missed if_missed)
{
    struct elapse_task task = task_with_end((size_t)name);

    task.recurrence = recurrence;
    task.period_ns = period_ns;
    task.if_missed = if_missed;
    return task;
}

/* Takes the one task there is. */
static struct elapse_taken take_run(struct elapse_scheduler *scheduler, uint64_t number,
                                    uint64_t intended_ns, uint64_t missed)
{
    struct elapse_taken taken = take(scheduler, 'a');

    assert_int_equal(taken.run.number, number);
    assert_int_equal(taken.run.intended_ns, intended_ns);
    assert_int_equal(taken.run.missed, missed);
    expect_nothing(scheduler);
    return taken;
}

PULL_TEST(a_periodic_task_goes_on_when_it_is_done)
{
    struct elapse_task task = recurring('a', ELAPSE_RECUR_PERIOD, 10 * TICK_NS, ELAPSE_MISSED_SKIP);
    struct elapse_handle handle = schedule_at(scheduler, task, 10 * TICK_NS);

    go_to(scheduler, 10 * TICK_NS);
    struct elapse_taken taken = take_run(scheduler, 1, 10 * TICK_NS, 0);
    done(scheduler, &taken);
    assert_int_equal(elapse_task_done(scheduler, handle), ELAPSE_ERROR_GONE);
    expect_nothing(scheduler);
    go_to(scheduler, 20 * TICK_NS);
    taken = take_run(scheduler, 2, 20 * TICK_NS, 0);
    go_to(scheduler, 55 * TICK_NS); /* taken for three periods and a half */
    expect_nothing(scheduler);
    done(scheduler, &taken);
    expect_nothing(scheduler);
    go_to(scheduler, 60 * TICK_NS);
    taken = take_run(scheduler, 3, 60 * TICK_NS, 3);
    assert_true(same_handle(taken.run.handle, handle));
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    assert_int_equal(ends(), 0);
    done(scheduler, &taken);
    assert_int_equal(ends_of('a'), 1);
    go_to(scheduler, 100 * TICK_NS);
    expect_nothing(scheduler);
}

PULL_TEST(a_burst_is_handed_out_run_by_run)
{
    struct elapse_task task =
        recurring('a', ELAPSE_RECUR_PERIOD, 10 * TICK_NS, ELAPSE_MISSED_BURST);
    struct elapse_handle handle = schedule_at(scheduler, task, 10 * TICK_NS);

    go_to(scheduler, 45 * TICK_NS);
    for (uint64_t number = 1; number <= 4; number++) {
        /* One task never runs twice at once: take_run finds no second. */
        struct elapse_taken taken = take_run(scheduler, number, number * 10 * TICK_NS, 0);

        done(scheduler, &taken);
    }
    expect_nothing(scheduler);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(ends_of('a'), 1);
}

TEST(after_each_counts_from_done)
{
    struct elapse_scheduler *scheduler = pull_new();
    struct elapse_task task =
        recurring('a', ELAPSE_RECUR_AFTER_EACH, 10 * TICK_NS, ELAPSE_MISSED_SKIP);

    (void)schedule_at(scheduler, task, 5 * TICK_NS);
    go_to(scheduler, 7 * TICK_NS);
    struct elapse_taken taken = take_run(scheduler, 1, 5 * TICK_NS, 0);
    go_to(scheduler, 33 * TICK_NS);
    done(scheduler, &taken);
    go_to(scheduler, 43 * TICK_NS - 1);
    expect_nothing(scheduler);
    go_to(scheduler, 43 * TICK_NS);
    taken = take_run(scheduler, 2, 43 * TICK_NS, 0);
    done(scheduler, &taken);
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
}

/* ---- closing ---- */

enum { BACK_MAX = 8 };

static struct {
    size_t count;
    size_t numbers[BACK_MAX];
    uint64_t deadlines_ns[BACK_MAX];
} back;

static void take_back(const struct elapse_handed_back *handed_back, void *context)
{
    (void)context;
    if (back.count == BACK_MAX)
        abort();
    back.numbers[back.count] = number_of(handed_back->task.context);
    back.deadlines_ns[back.count++] = handed_back->deadline_ns;
}

static bool was_handed_back(char name, uint64_t deadline_ns)
{
    for (size_t i = 0; i < back.count; i++) {
        if (back.numbers[i] == (size_t)name && back.deadlines_ns[i] == deadline_ns)
            return true;
    }
    return false;
}

PULL_TEST(a_close_that_would_run_due_tasks_is_refused)
{
    (void)add(scheduler, 'a', TICK_NS);
    go_to(scheduler, TICK_NS);
    assert_int_equal(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_DUE, NULL, NULL),
                     ELAPSE_ERROR_ARGUMENT);
    (void)add(scheduler, 'b', TICK_NS); /* it is open still */
    expect_taken(scheduler, "ab");
}

static void expect_no_taking(struct elapse_scheduler *scheduler, enum elapse_error error)
{
    struct elapse_taken taken[2];
    size_t count = SIZE_MAX;

    assert_int_equal(elapse_task_take(scheduler, 0, taken), error);
    assert_int_equal(elapse_task_take(scheduler, ELAPSE_NEVER, taken), error);
    assert_int_equal(elapse_task_take_batch(scheduler, 0, taken, 2, &count), error);
    assert_int_equal(count, 0);
}

TEST(a_closed_one_hands_out_nothing)
{
    for (int i = 0; i < 2; i++) {
        enum elapse_close how = i == 0 ? ELAPSE_CLOSE_DROP : ELAPSE_CLOSE_HAND_BACK;
        struct elapse_scheduler *scheduler = pull_new();
        struct elapse_handle due = add(scheduler, 'a', TICK_NS);
        struct elapse_handle later = add(scheduler, 'b', 50 * TICK_NS);

        (void)state;
        back.count = 0;
        go_to(scheduler, 10 * TICK_NS);
        assert_ok(elapse_scheduler_close(scheduler, how, take_back, NULL));
        expect_no_taking(scheduler, ELAPSE_ERROR_CLOSED);
        assert_int_equal(elapse_scheduler_descriptor(scheduler), -1);
        assert_int_equal(elapse_task_done(scheduler, due), ELAPSE_ERROR_GONE);
        assert_int_equal(elapse_task_cancel(scheduler, later), ELAPSE_CANCEL_GONE);
        struct elapse_statistics statistics = statistics_of(scheduler);
        assert_int_equal(statistics.pending, 0);
        assert_int_equal(statistics.begun, 0);
        assert_int_equal(runs(), 0);
        if (how == ELAPSE_CLOSE_DROP) {
            assert_int_equal(statistics.dropped, 2);
            assert_int_equal(ends_of('a') + ends_of('b'), 2);
            assert_int_equal(back.count, 0);
        } else {
            assert_int_equal(statistics.handed_back, 2);
            assert_int_equal(ends(), 0);
            assert_int_equal(back.count, 2);
            assert_true(was_handed_back('a', TICK_NS));
            assert_true(was_handed_back('b', 50 * TICK_NS));
        }
        scheduler_end(scheduler);
    }
}

struct closing {
    struct elapse_scheduler *scheduler;
    enum elapse_close how;
    enum elapse_error error;
    atomic_bool returned;
};

static void *call_close(void *context)
{
    struct closing *closing = context;

    closing->error = elapse_scheduler_close(closing->scheduler, closing->how, take_back, NULL);
    atomic_store(&closing->returned, true);
    return NULL;
}

/* Returns whether closing has begun: then a take answers so. Requires that no task is due. */
static bool has_begun_to_close(void *scheduler)
{
    struct elapse_taken taken;

    return elapse_task_take(scheduler, 0, &taken) == ELAPSE_ERROR_CLOSED;
}

/* When closing begins, a, b, c and d are taken, and e is pending. a is to end, b has another
 * deadline, c recurs, and d was cancelled and would recur otherwise. */
TEST(closing_waits_for_taken_tasks)
{
    static const uint64_t deadline_ns = 10 * TICK_NS;

    for (int i = 0; i < 2; i++) {
        enum elapse_close how = i == 0 ? ELAPSE_CLOSE_DROP : ELAPSE_CLOSE_HAND_BACK;
        struct elapse_scheduler *scheduler = pull_new();
        struct closing closing = {.scheduler = scheduler, .how = how};
        struct elapse_task c =
            recurring('c', ELAPSE_RECUR_PERIOD, 10 * TICK_NS, ELAPSE_MISSED_SKIP);
        struct elapse_task d =
            recurring('d', ELAPSE_RECUR_PERIOD, 10 * TICK_NS, ELAPSE_MISSED_SKIP);
        struct elapse_taken taken[4];
        size_t count;
        pthread_t thread;

        back.count = 0;
        (void)add(scheduler, 'a', deadline_ns);
        (void)add(scheduler, 'b', deadline_ns);
        (void)schedule_at(scheduler, c, deadline_ns);
        (void)schedule_at(scheduler, d, deadline_ns);
        (void)add(scheduler, 'e', 5 * deadline_ns);
        go_to(scheduler, deadline_ns);
        assert_ok(elapse_task_take_batch(scheduler, 0, taken, 4, &count));
        assert_int_equal(count, 4);
        assert_ok(elapse_task_reschedule_at(scheduler, taken[1].run.handle, 3 * deadline_ns));
        assert_int_equal(pthread_create(&thread, NULL, call_close, &closing), 0);
        wait_until(has_begun_to_close, scheduler);
        assert_int_equal(elapse_task_cancel(scheduler, taken[3].run.handle), ELAPSE_CANCEL_RUNNING);
        for (size_t j = 0; j < 4; j++) {
            sleep_ns(5 * ELAPSE_MILLISECOND_NS);
            assert_false(atomic_load(&closing.returned));
            done(scheduler, &taken[j]);
        }
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_ok(closing.error);
        for (size_t j = 0; j < 4; j++)
            assert_int_equal(elapse_task_done(scheduler, taken[j].run.handle), ELAPSE_ERROR_GONE);
        assert_int_equal(ends_of('a'), 1);
        assert_int_equal(ends_of('d'), 1);
        if (how == ELAPSE_CLOSE_DROP) {
            assert_int_equal(ends_of('b') + ends_of('c') + ends_of('e'), 3);
            assert_int_equal(ends(), 5);
        } else {
            assert_int_equal(ends(), 2);
            assert_int_equal(back.count, 3);
            assert_true(was_handed_back('b', 3 * deadline_ns));
            assert_true(was_handed_back('c', 2 * deadline_ns));
            assert_true(was_handed_back('e', 5 * deadline_ns));
        }
        scheduler_end(scheduler);
    }
}

TEST_MAIN("pull_life")
