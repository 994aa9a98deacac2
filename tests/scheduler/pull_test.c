/*
 * Tests pull mode on manual time: due tasks are taken and done, one by one or many at once; the
 * statistics; and which calls are refused.
 */
#include "pulling.h"

static const struct elapse_handle no_handle = {0, 0, 0};

/* ---- more shards than one ---- */

/* In the first shard a task is always due, because time goes on by a tick with each take. A task of
 * the other shard has to be taken as soon as it has the earlier deadline. */
static void expect_the_other_shard_to_be_taken_from(bool by_wall_clock)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 2);
    struct elapse_task always = {
        .context = name_of('x'), .recurrence = ELAPSE_RECUR_PERIOD, .period_ns = TICK_NS};
    struct elapse_task other = task_with_end('o');
    struct elapse_handle handle;
    struct elapse_taken taken;
    uint64_t takes = 0;

    options.pull = true;
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    const char keys[] = {key_in_shard(scheduler, 0), key_in_shard(scheduler, 1)};
    always.key = &keys[0];
    other.key = &keys[1];
    always.key_bytes = other.key_bytes = 1;
    (void)schedule_at(scheduler, always, 0);
    if (by_wall_clock)
        assert_ok(elapse_task_schedule_at_wall_clock(
            scheduler, &other, elapse_scheduler_wall_clock_ns(scheduler) + 3 * TICK_NS, &handle));
    else
        (void)schedule_at(scheduler, other, 3 * TICK_NS);
    do {
        assert_ok(elapse_task_take(scheduler, 0, &taken));
        takes++;
        go_to(scheduler, takes * TICK_NS);
        done(scheduler, &taken);
    } while (number_of(taken.context) != 'o' && takes < 100);
    assert_in_range(takes, 4, 6);
    scheduler_end(scheduler);
}

TEST(a_shard_that_is_always_busy_does_not_keep_the_others_waiting)
{
    expect_the_other_shard_to_be_taken_from(false);
    expect_the_other_shard_to_be_taken_from(true);
}

/* ---- taking ---- */

TEST(a_taken_task_has_the_run_that_its_action_would_get)
{
    struct elapse_scheduler *scheduler = pull_new();
    struct elapse_handle handle = add(scheduler, 'a', 5 * TICK_NS - 1);
    uint64_t deadline_ns = 0;

    go_to(scheduler, 7 * TICK_NS);
    assert_int_equal(state_of(scheduler, handle), ELAPSE_TASK_PENDING);
    struct elapse_taken taken = take(scheduler, 'a');
    assert_true(taken.action == write_run);
    assert_true(same_handle(taken.run.handle, handle));
    assert_int_equal(taken.run.intended_ns, 5 * TICK_NS);
    assert_int_equal(taken.run.actual_ns, 7 * TICK_NS);
    assert_false(taken.run.wall_clock);
    assert_int_equal(taken.run.number, 1);
    assert_int_equal(taken.run.missed, 0);
    assert_int_equal(look_up_deadline(scheduler, handle, &deadline_ns), ELAPSE_TASK_RUNNING);
    assert_int_equal(deadline_ns, 5 * TICK_NS);
    assert_int_equal(ends(), 0);
    expect_nothing(scheduler);

    done(scheduler, &taken);
    assert_int_equal(state_of(scheduler, handle), ELAPSE_TASK_GONE);
    assert_int_equal(ends_of('a'), 1);
    assert_true(pthread_equal(end_thread_of('a'), pthread_self()));
    assert_int_equal(runs(), 0); /* nobody called the action */
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
}

PULL_TEST(nothing_is_handed_out_early)
{
    expect_nothing(scheduler);
    (void)add(scheduler, 'a', 10 * TICK_NS);
    expect_nothing(scheduler);
    go_to(scheduler, 10 * TICK_NS - 1);
    expect_nothing(scheduler);
    assert_int_equal(elapse_scheduler_next_ns(scheduler), 10 * TICK_NS);
    go_to(scheduler, 10 * TICK_NS);
    expect_taken(scheduler, "a");
    assert_int_equal(elapse_scheduler_next_ns(scheduler), ELAPSE_NEVER);
}

PULL_TEST(manual_time_never_waits)
{
    struct elapse_taken taken[2];
    size_t count = SIZE_MAX;

    (void)add(scheduler, 'a', TICK_NS);
    assert_int_equal(elapse_task_take(scheduler, ELAPSE_NEVER, taken), ELAPSE_ERROR_NOTHING_DUE);
    assert_int_equal(elapse_task_take_batch(scheduler, ELAPSE_NEVER, taken, 2, &count),
                     ELAPSE_ERROR_NOTHING_DUE);
    assert_int_equal(count, 0);
}

PULL_TEST(tasks_come_by_deadline_and_then_in_the_order_of_scheduling)
{
    (void)add(scheduler, 'g', 500 * TICK_NS);
    (void)add(scheduler, 'd', 9 * TICK_NS);
    (void)add(scheduler, 'a', 3 * TICK_NS);
    (void)add(scheduler, 'e', 8 * TICK_NS + 1); /* the tick of d, and after it */
    (void)add(scheduler, 'b', 3 * TICK_NS);
    (void)add(scheduler, 'f', 70 * TICK_NS);
    (void)add(scheduler, 'c', 2 * TICK_NS + 1);
    go_to(scheduler, 2 * TICK_NS);
    expect_nothing(scheduler);
    go_to(scheduler, 500 * TICK_NS);
    expect_taken(scheduler, "abcdefg");
}

PULL_TEST(the_order_holds_for_many)
{
    enum { TASKS = 5000, TICKS = 700 };
    uint64_t last_ns = 0;
    size_t last_number = 0;

    for (size_t i = 0; i < TASKS; i++)
        (void)schedule_at(scheduler, task_with_end(i), (i * 7919 % TICKS + 1) * TICK_NS);
    go_to(scheduler, TICKS * TICK_NS);
    for (size_t i = 0; i < TASKS; i++) {
        struct elapse_taken taken;

        assert_ok(elapse_task_take(scheduler, 0, &taken));
        size_t number = number_of(taken.context);
        assert_int_equal(taken.run.intended_ns, (number * 7919 % TICKS + 1) * TICK_NS);
        assert_true(taken.run.intended_ns >= last_ns);
        if (taken.run.intended_ns == last_ns)
            assert_true(number > last_number);
        last_ns = taken.run.intended_ns;
        last_number = number;
        if (i % 2 == 0)
            done(scheduler, &taken);
        else
            assert_ok(elapse_task_done(scheduler, taken.run.handle));
        assert_int_equal(ends_of(number), 1);
    }
    expect_nothing(scheduler);
    assert_int_equal(ends(), TASKS);
}

PULL_TEST(a_task_scheduled_between_two_takes_is_taken_in_its_order)
{
    (void)add(scheduler, 'a', TICK_NS);
    (void)add(scheduler, 'c', 5 * TICK_NS);
    go_to(scheduler, 10 * TICK_NS);
    struct elapse_taken first = take(scheduler, 'a');
    (void)add(scheduler, 'd', 10 * TICK_NS);
    (void)add(scheduler, 'z', 11 * TICK_NS);
    expect_taken(scheduler, "cd");
    done(scheduler, &first);
    expect_nothing(scheduler);
    go_to(scheduler, 11 * TICK_NS);
    expect_taken(scheduler, "z");
}

PULL_TEST(a_task_due_at_once_needs_no_step)
{
    go_to(scheduler, 100 * TICK_NS);
    (void)add(scheduler, 'a', 3 * TICK_NS);
    (void)schedule_after(scheduler, task_with_end('b'), 0);
    expect_taken(scheduler, "ab");
}

PULL_TEST(a_task_postponed_or_cancelled_when_due_is_not_handed_out)
{
    struct elapse_handle a = add(scheduler, 'a', TICK_NS);
    struct elapse_handle b = add(scheduler, 'b', TICK_NS);

    (void)add(scheduler, 'c', TICK_NS);
    (void)add(scheduler, 'd', TICK_NS);
    go_to(scheduler, TICK_NS);
    struct elapse_taken taken = take(scheduler, 'a');
    done(scheduler, &taken);
    /* Although b is due, it is pending until it is taken. */
    assert_int_equal(elapse_task_cancel(scheduler, a), ELAPSE_CANCEL_GONE);
    assert_int_equal(elapse_task_cancel(scheduler, b), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(ends_of('b'), 1);
    taken = take(scheduler, 'c');
    done(scheduler, &taken);
    expect_taken(scheduler, "d");

    a = add(scheduler, 'a', 2 * TICK_NS);
    (void)add(scheduler, 'b', 2 * TICK_NS);
    go_to(scheduler, 2 * TICK_NS);
    assert_ok(elapse_task_reschedule_at(scheduler, a, 4 * TICK_NS));
    expect_taken(scheduler, "b");
    go_to(scheduler, 4 * TICK_NS);
    expect_taken(scheduler, "a");
}

PULL_TEST(a_batch_takes_due_tasks_up_to_its_capacity)
{
    enum { TASKS = 2500, CAPACITY = 1000 };
    static struct elapse_taken taken[CAPACITY];
    size_t at = 0;
    size_t count = SIZE_MAX;

    for (size_t i = 0; i < TASKS; i++)
        (void)schedule_at(scheduler, task_with_end(i), (1 + i / 100) * TICK_NS);
    assert_int_equal(elapse_task_take_batch(scheduler, 0, taken, CAPACITY, &count),
                     ELAPSE_ERROR_NOTHING_DUE);
    assert_int_equal(count, 0);
    go_to(scheduler, TASKS * TICK_NS);
    assert_ok(elapse_task_take_batch(scheduler, 0, taken, 1, &count));
    assert_int_equal(count, 1);
    while (at < TASKS) {
        for (size_t i = 0; i < count; i++, at++) {
            assert_int_equal(number_of(taken[i].context), at);
            assert_int_equal(taken[i].run.intended_ns, (1 + at / 100) * TICK_NS);
            assert_true(taken[i].action == write_run);
            assert_int_equal(state_of(scheduler, taken[i].run.handle), ELAPSE_TASK_RUNNING);
            done(scheduler, &taken[i]);
        }
        if (at < TASKS) {
            size_t left = TASKS - at;

            assert_ok(elapse_task_take_batch(scheduler, 0, taken, CAPACITY, &count));
            assert_int_equal(count, left < CAPACITY ? left : CAPACITY);
        }
    }
    assert_int_equal(elapse_task_take_batch(scheduler, 0, taken, CAPACITY, &count),
                     ELAPSE_ERROR_NOTHING_DUE);
    assert_int_equal(count, 0);
    assert_int_equal(ends(), TASKS);
}

TEST(tasks_of_all_shards_are_taken)
{
    enum { SHARDS = 7, TASKS = 200 };
    struct elapse_scheduler_options options = manual_options(TICK_NS, SHARDS);
    static char keys[TASKS][8];

    options.pull = true;
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    for (size_t i = 0; i < TASKS; i++) {
        struct elapse_task task = task_with_end(i);

        (void)snprintf(keys[i], sizeof keys[i], "%zu", i); /* a key picks the shard */
        task.key = keys[i];
        task.key_bytes = strlen(keys[i]);
        (void)schedule_at(scheduler, task, (1 + i % 10) * TICK_NS);
    }
    for (uint64_t tick = 1; tick <= 10; tick++) {
        struct elapse_taken taken;
        size_t count = 0;

        go_to(scheduler, tick * TICK_NS);
        while (elapse_task_take(scheduler, 0, &taken) == ELAPSE_OK) {
            assert_int_equal(taken.run.intended_ns, tick * TICK_NS);
            done(scheduler, &taken);
            count++;
        }
        assert_int_equal(count, TASKS / 10);
    }
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(ends_of(i), 1);
    scheduler_end(scheduler);
}

TEST(an_action_may_be_null_in_pull_mode_alone)
{
    struct elapse_scheduler *scheduler = pull_new();
    struct elapse_task task = {.context = name_of('a'), .destroy = write_end};
    struct elapse_handle handle = no_handle;

    (void)schedule_at(scheduler, task, TICK_NS);
    go_to(scheduler, TICK_NS);
    struct elapse_taken taken = take(scheduler, 'a');
    assert_true(taken.action == NULL);
    done(scheduler, &taken);
    assert_int_equal(ends_of('a'), 1);
    scheduler_end(scheduler);

    scheduler = manual_new(TICK_NS, 1);
    assert_int_equal(elapse_task_schedule_at(scheduler, &task, TICK_NS, &handle),
                     ELAPSE_ERROR_ARGUMENT);
    assert_true(zero_handle(handle));
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 0);
}

PULL_TEST(a_wall_clock_time_is_taken_too)
{
    struct elapse_task task = task_with_end('a');

    assert_ok(elapse_task_schedule_at_wall_clock(scheduler, &task, 1000 * ELAPSE_SECOND_NS, NULL));
    expect_nothing(scheduler);
    assert_ok(elapse_scheduler_set_wall_clock(scheduler, 2000 * ELAPSE_SECOND_NS));
    go_to(scheduler, 0);
    struct elapse_taken taken = take(scheduler, 'a');
    assert_true(taken.run.wall_clock);
    assert_int_equal(taken.run.intended_ns, 1000 * ELAPSE_SECOND_NS);
    assert_int_equal(taken.run.actual_ns, 2000 * ELAPSE_SECOND_NS);
    done(scheduler, &taken);
    assert_int_equal(ends_of('a'), 1);
    expect_nothing(scheduler);
}

/* ---- done ---- */

TEST(done_answers_gone_for_a_task_that_is_not_taken)
{
    struct elapse_scheduler *scheduler = pull_new();
    struct elapse_handle a = add(scheduler, 'a', TICK_NS);
    struct elapse_handle b = add(scheduler, 'b', 2 * TICK_NS);
    struct elapse_taken taken;

    assert_int_equal(elapse_task_done(scheduler, no_handle), ELAPSE_ERROR_GONE);
    assert_int_equal(elapse_task_done(scheduler, a), ELAPSE_ERROR_GONE);
    go_to(scheduler, TICK_NS);
    assert_int_equal(elapse_task_done(scheduler, a), ELAPSE_ERROR_GONE); /* due, not taken */
    assert_int_equal(state_of(scheduler, a), ELAPSE_TASK_PENDING);
    taken = take(scheduler, 'a');
    assert_int_equal(elapse_task_done(scheduler, b), ELAPSE_ERROR_GONE);
    done(scheduler, &taken);
    assert_int_equal(elapse_task_done(scheduler, a), ELAPSE_ERROR_GONE); /* done twice */
    assert_int_equal(elapse_task_cancel(scheduler, b), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(elapse_task_done(scheduler, b), ELAPSE_ERROR_GONE);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(ends_of('b'), 1);

    /* Another task may have the place of the task by now. */
    for (int i = 0; i < 100; i++)
        (void)add(scheduler, 'c', TICK_NS);
    assert_int_equal(elapse_task_done(scheduler, a), ELAPSE_ERROR_GONE);
    taken = take(scheduler, 'c');
    assert_int_equal(elapse_task_done(scheduler, a), ELAPSE_ERROR_GONE);
    done(scheduler, &taken);
    assert_int_equal(ends_of('c'), 1);
    scheduler_end(scheduler);
    assert_int_equal(ends_of('c'), 100);
}

PULL_TEST(tasks_may_be_done_in_any_order)
{
    enum { TASKS = 300 };
    static struct elapse_taken taken[TASKS];
    size_t count;

    for (size_t i = 0; i < TASKS; i++)
        (void)schedule_at(scheduler, task_with_end(i), TICK_NS);
    go_to(scheduler, TICK_NS);
    assert_ok(elapse_task_take_batch(scheduler, 0, taken, TASKS, &count));
    assert_int_equal(count, TASKS);
    assert_int_equal(statistics_of(scheduler).running, TASKS);
    for (size_t i = 0; i < TASKS; i++) {
        size_t number = i * 7 % TASKS; /* 7 and 300 have no common factor */

        assert_int_equal(ends_of(number), 0);
        done(scheduler, &taken[number]);
        assert_int_equal(ends_of(number), 1);
        assert_int_equal(statistics_of(scheduler).running, TASKS - 1 - i);
    }
}

struct done_elsewhere {
    struct elapse_scheduler *scheduler;
    struct elapse_handle handle;
    enum elapse_error error;
};

static void *call_done(void *context)
{
    struct done_elsewhere *call = context;

    call->error = elapse_task_done(call->scheduler, call->handle);
    return NULL;
}

PULL_TEST(another_thread_may_end_what_was_taken)
{
    struct done_elsewhere call = {scheduler, add(scheduler, 'a', TICK_NS), ELAPSE_ERROR_BUSY};
    pthread_t thread;

    go_to(scheduler, TICK_NS);
    (void)take(scheduler, 'a');
    assert_int_equal(pthread_create(&thread, NULL, call_done, &call), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(call.error);
    assert_int_equal(ends_of('a'), 1);
    assert_true(pthread_equal(end_thread_of('a'), thread));
    assert_int_equal(elapse_task_done(scheduler, call.handle), ELAPSE_ERROR_GONE);
}

/* What a destructor finds, which is called by done. */
struct seen_by_destructor {
    struct elapse_scheduler *scheduler;
    struct elapse_handle handle;
    unsigned calls;
    enum elapse_error close;
    enum elapse_error free;
    enum elapse_error schedule;
    enum elapse_error done;
};

static void call_from_destructor(void *context)
{
    struct seen_by_destructor *seen = context;
    struct elapse_task task = task_named('n');

    seen->calls++;
    seen->close = elapse_scheduler_close(seen->scheduler, ELAPSE_CLOSE_DROP, NULL, NULL);
    seen->free = elapse_scheduler_free(seen->scheduler);
    seen->schedule = elapse_task_schedule_after(seen->scheduler, &task, 0, NULL);
    seen->done = elapse_task_done(seen->scheduler, seen->handle);
}

TEST(a_destructor_may_use_the_scheduler_but_not_close_it)
{
    struct elapse_scheduler *scheduler = pull_new();
    struct seen_by_destructor seen = {.scheduler = scheduler};
    struct elapse_task task = {.context = &seen, .destroy = call_from_destructor};
    struct elapse_taken taken;

    seen.handle = schedule_at(scheduler, task, TICK_NS);
    go_to(scheduler, TICK_NS);
    assert_ok(elapse_task_take(scheduler, 0, &taken));
    assert_int_equal(seen.calls, 0);
    done(scheduler, &taken);
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.close, ELAPSE_ERROR_IN_ACTION);
    assert_int_equal(seen.free, ELAPSE_ERROR_IN_ACTION);
    assert_ok(seen.schedule);
    assert_int_equal(seen.done, ELAPSE_ERROR_GONE);
    expect_taken(scheduler, "n");
    scheduler_end(scheduler);
}

/* ---- statistics ---- */

PULL_TEST(takes_are_counted_as_runs)
{
    struct elapse_taken a;
    struct elapse_taken b;

    (void)add(scheduler, 'a', TICK_NS);
    (void)add(scheduler, 'b', 2 * TICK_NS);
    (void)add(scheduler, 'c', 100 * TICK_NS);
    go_to(scheduler, 6 * TICK_NS);
    a = take(scheduler, 'a');
    struct elapse_statistics statistics = statistics_of(scheduler);
    assert_int_equal(statistics.scheduled, 3);
    assert_int_equal(statistics.begun, 1);
    assert_int_equal(statistics.running, 1);
    assert_int_equal(statistics.pending, 2);
    assert_int_equal(statistics.workers, 0);
    assert_int_equal(statistics.lateness_max_ns, 5 * TICK_NS);
    b = take(scheduler, 'b');
    assert_int_equal(statistics_of(scheduler).running, 2);
    assert_int_equal(elapse_task_cancel(scheduler, b.run.handle), ELAPSE_CANCEL_RUNNING);
    done(scheduler, &a);
    done(scheduler, &b);
    assert_int_equal(elapse_task_done(scheduler, b.run.handle), ELAPSE_ERROR_GONE);
    statistics = statistics_of(scheduler);
    assert_int_equal(statistics.begun, 2);
    assert_int_equal(statistics.running, 0);
    assert_int_equal(statistics.pending, 1);
    assert_int_equal(statistics.removed, 0);
    assert_int_equal(statistics.lateness_max_ns, 5 * TICK_NS);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    statistics = statistics_of(scheduler);
    assert_int_equal(statistics.dropped, 1);
    assert_int_equal(statistics.pending, 0);
}

/* ---- wrong calls ---- */

static void expect_no_taking(struct elapse_scheduler *scheduler, enum elapse_error error)
{
    struct elapse_taken taken[2];
    size_t count = SIZE_MAX;

    assert_int_equal(elapse_task_take(scheduler, 0, taken), error);
    assert_int_equal(elapse_task_take(scheduler, ELAPSE_NEVER, taken), error);
    assert_int_equal(elapse_task_take_batch(scheduler, 0, taken, 2, &count), error);
    assert_int_equal(count, 0);
}

TEST(only_pull_mode_lets_take)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_handle handle = add(scheduler, 'a', TICK_NS);

    expect_no_taking(scheduler, ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_task_done(scheduler, handle), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_scheduler_descriptor(scheduler), -1);
    expect_step(scheduler, TICK_NS, "a");
    scheduler_end(scheduler);

    scheduler = started_new(1);
    expect_no_taking(scheduler, ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_task_done(scheduler, no_handle), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_scheduler_descriptor(scheduler), -1);
    scheduler_end(scheduler);
}

TEST(one_that_is_not_started_hands_out_nothing)
{
    struct elapse_scheduler_options options;
    struct elapse_taken taken;

    elapse_scheduler_options_init(&options);
    assert_false(options.pull);
    options.pull = true;
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    (void)add(scheduler, 'a', 0);
    expect_no_taking(scheduler, ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_scheduler_descriptor(scheduler), -1);
    assert_ok(elapse_scheduler_start(scheduler));
    assert_ok(elapse_task_take(scheduler, ELAPSE_NEVER, &taken));
    assert_int_equal(number_of(taken.context), 'a');
    done(scheduler, &taken);
    scheduler_end(scheduler);

    scheduler = scheduler_new(&options); /* closed without ever having been started */
    (void)add(scheduler, 'a', 0);
    assert_int_equal(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_DUE, NULL, NULL),
                     ELAPSE_ERROR_ARGUMENT);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    assert_int_equal(ends_of('a'), 1);
    scheduler_end(scheduler);
}

PULL_TEST(manual_time_has_no_descriptor_and_needs_no_start)
{
    assert_int_equal(elapse_scheduler_descriptor(scheduler), -1);
    (void)add(scheduler, 'a', TICK_NS);
    go_to(scheduler, TICK_NS);
    expect_taken(scheduler, "a");
    assert_ok(elapse_scheduler_start(scheduler));
    assert_int_equal(elapse_scheduler_descriptor(scheduler), -1);
    (void)add(scheduler, 'b', 2 * TICK_NS);
    go_to(scheduler, 2 * TICK_NS);
    expect_taken(scheduler, "b");
}

TEST_MAIN("pull")
