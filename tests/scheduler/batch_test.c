/*
 * Tests scheduling many tasks in one call.
 */
#include "fixture.h"

/* Returns one task of a batch. Its results have values that no call stores. */
static struct elapse_batch_task entry(struct elapse_task task, uint64_t deadline_ns)
{
    return (struct elapse_batch_task){.task = task,
                                      .deadline_ns = deadline_ns,
                                      .handle = {7, 8, 9},
                                      .error = ELAPSE_ERROR_STORAGE};
}

SCHEDULER_TEST(nothing_is_scheduled_by_an_empty_batch, manual_new(TICK_NS, 2))
{
    struct elapse_batch_task batch[1];

    assert_ok(elapse_task_schedule_batch(scheduler, batch, 0));
    assert_int_equal(pending_tasks(scheduler), 0);
}

TEST(each_gets_its_handle_and_its_deadline)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_batch_task batch[] = {
        entry(task_with_end('c'), 9 * TICK_NS),
        entry(task_with_end('a'), 5 * TICK_NS),
        entry(task_with_end('b'), 7 * TICK_NS - 3),
    };

    assert_ok(elapse_task_schedule_batch(scheduler, batch, 3));
    for (size_t i = 0; i < 3; i++) {
        uint64_t deadline = 0;

        assert_ok(batch[i].error);
        assert_int_equal(look_up_deadline(scheduler, batch[i].handle, &deadline),
                         ELAPSE_TASK_PENDING);
        assert_int_equal(deadline, (batch[i].deadline_ns + TICK_NS - 1) / TICK_NS * TICK_NS);
    }
    expect_step(scheduler, 5 * TICK_NS, "a");
    assert_int_equal(elapse_task_cancel(scheduler, batch[2].handle), ELAPSE_CANCEL_REMOVED);
    assert_ok(elapse_task_reschedule_at(scheduler, batch[0].handle, 20 * TICK_NS));
    expect_step(scheduler, 19 * TICK_NS, "");
    expect_step(scheduler, 20 * TICK_NS, "c");
    scheduler_end(scheduler);
    assert_int_equal(ends(), 3);
}

TEST(many_keep_their_order)
{
    static const size_t counts[] = {1, 63, 64, 65, 128, 129, 1000, 5000};
    static struct elapse_batch_task batch[5000];

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 4);

        for (size_t j = 0; j < counts[i]; j++)
            batch[j] = entry(task_with_end(j), 5 * TICK_NS);
        assert_ok(elapse_task_schedule_batch(scheduler, batch, counts[i]));
        assert_int_equal(pending_tasks(scheduler), counts[i]);
        assert_int_equal(step(scheduler, 5 * TICK_NS - 1), 0);
        assert_int_equal(step(scheduler, 5 * TICK_NS), counts[i]);
        for (size_t j = 0; j < counts[i]; j++) {
            assert_int_equal(run_at(j).number, j);
            assert_true(same_handle(run_at(j).run.handle, batch[j].handle));
        }
        scheduler_end(scheduler);
    }
}

TEST(a_failure_stops_none_after_it)
{
    static char long_key[ELAPSE_KEY_BYTES_MAX + 1];
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 2);
    struct elapse_task too_long = task_with_end('l');
    struct elapse_task no_action = task_with_end('n');
    struct elapse_batch_task batch[5];

    too_long.key = long_key;
    too_long.key_bytes = sizeof long_key;
    no_action.action = NULL;
    batch[0] = entry(task_with_end('a'), TICK_NS);
    batch[1] = entry(no_action, TICK_NS);
    batch[2] = entry(task_with_end('b'), TICK_NS);
    batch[3] = entry(too_long, TICK_NS);
    batch[4] = entry(task_with_end('c'), TICK_NS);
    assert_int_equal(elapse_task_schedule_batch(scheduler, batch, 5), ELAPSE_ERROR_ARGUMENT);
    assert_ok(batch[0].error);
    assert_int_equal(batch[1].error, ELAPSE_ERROR_ARGUMENT);
    assert_ok(batch[2].error);
    assert_int_equal(batch[3].error, ELAPSE_ERROR_ARGUMENT);
    assert_ok(batch[4].error);
    /* The handles of refused tasks were not changed. */
    assert_true(same_handle(batch[1].handle, (struct elapse_handle){7, 8, 9}));
    assert_true(same_handle(batch[3].handle, (struct elapse_handle){7, 8, 9}));
    expect_step(scheduler, TICK_NS, "abc");
    scheduler_end(scheduler);
    assert_int_equal(ends_of('l') + ends_of('n'), 0);
}

MANUAL_TEST(the_first_error_is_returned)
{
    struct elapse_task no_action = {.action = NULL};
    struct elapse_batch_task batch[] = {
        entry(task_with_key('a', "key", ELAPSE_KEY_FAIL), TICK_NS),
        entry(task_with_key('b', "key", ELAPSE_KEY_FAIL), TICK_NS),
        entry(no_action, TICK_NS),
    };

    assert_int_equal(elapse_task_schedule_batch(scheduler, batch, 3), ELAPSE_ERROR_KEY_PENDING);
    assert_int_equal(batch[2].error, ELAPSE_ERROR_ARGUMENT);
}

SCHEDULER_TEST(keys_within_a_batch_meet_as_in_single_calls, manual_new(TICK_NS, 3))
{
    struct elapse_batch_task batch[] = {
        entry(task_with_key('a', "key", ELAPSE_KEY_REPLACE), 5 * TICK_NS),
        entry(task_with_end('p'), 5 * TICK_NS),
        entry(task_with_key('b', "key", ELAPSE_KEY_REPLACE), 5 * TICK_NS),
        entry(task_with_key('c', "key", ELAPSE_KEY_KEEP), 5 * TICK_NS),
        entry(task_with_key('d', "key", ELAPSE_KEY_FAIL), 5 * TICK_NS),
        entry(task_with_key('e', "other", ELAPSE_KEY_FAIL), 6 * TICK_NS),
    };

    assert_int_equal(elapse_task_schedule_batch(scheduler, batch, 6), ELAPSE_ERROR_KEY_PENDING);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(batch[i].error, i == 4 ? ELAPSE_ERROR_KEY_PENDING : ELAPSE_OK);
    assert_true(same_handle(batch[3].handle, batch[2].handle));
    assert_true(same_handle(batch[4].handle, batch[2].handle));
    assert_int_equal(elapse_task_cancel(scheduler, batch[0].handle), ELAPSE_CANCEL_GONE);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(ends_of('c'), 1);
    assert_int_equal(ends_of('b') + ends_of('d') + ends_of('e') + ends_of('p'), 0);
    assert_int_equal(pending_tasks(scheduler), 3);
    assert_int_equal(step(scheduler, 5 * TICK_NS), 2);
    expect_runs(run_at(0).number == 'p' ? "pb" : "bp"); /* they may be in two shards */
    expect_step(scheduler, 6 * TICK_NS, "e");
}

TEST(keys_of_all_shards_among_tasks_without)
{
    enum { TASKS = 1000 };
    static struct elapse_batch_task batch[TASKS];
    static uint32_t keys[TASKS];
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 7);

    for (size_t i = 0; i < TASKS; i++) {
        struct elapse_task task = task_with_end(i);

        keys[i] = (uint32_t)i;
        if (i % 3 != 0) {
            task.key = &keys[i];
            task.key_bytes = sizeof keys[i];
        }
        batch[i] = entry(task, (1 + i % 10) * TICK_NS);
    }
    assert_ok(elapse_task_schedule_batch(scheduler, batch, TASKS));
    for (size_t i = 0; i < TASKS; i++) {
        struct elapse_handle handle;

        assert_ok(batch[i].error);
        assert_int_equal(elapse_task_look_up(scheduler, batch[i].handle, NULL),
                         ELAPSE_TASK_PENDING);
        if (i % 3 == 0)
            continue;
        assert_true(elapse_task_find(scheduler, &keys[i], sizeof keys[i], &handle));
        assert_true(same_handle(handle, batch[i].handle));
    }
    for (uint64_t tick = 1; tick <= 10; tick++)
        assert_int_equal(step(scheduler, tick * TICK_NS), TASKS / 10);
    scheduler_end(scheduler);
    assert_int_equal(ends(), TASKS);
}

TEST(the_limit_refuses_each_on_its_own)
{
    enum { TASKS = 200, LIMIT = 100 };
    static struct elapse_batch_task batch[TASKS];
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);

    options.pending_max = LIMIT;
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    /* The last tasks replace a pending task, which no limit forbids. */
    for (size_t i = 0; i < TASKS; i++)
        batch[i] = entry(i == 0 || i > 190 ? task_with_key(i, "key", ELAPSE_KEY_REPLACE)
                                           : task_with_end(i),
                         TICK_NS);
    assert_int_equal(elapse_task_schedule_batch(scheduler, batch, TASKS), ELAPSE_ERROR_LIMIT);
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(batch[i].error, i < LIMIT || i > 190 ? ELAPSE_OK : ELAPSE_ERROR_LIMIT);
    assert_int_equal(pending_tasks(scheduler), LIMIT);
    assert_int_equal(step(scheduler, TICK_NS), LIMIT);
    scheduler_end(scheduler);
    assert_int_equal(ends(), LIMIT + 9);
}

TEST(a_closed_scheduler_refuses_all)
{
    enum { TASKS = 100 };
    struct elapse_batch_task batch[TASKS];
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 2);

    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    for (size_t i = 0; i < TASKS; i++)
        batch[i] = entry(i % 2 == 0 ? task_with_end(i) : task_with_key(i, "k", ELAPSE_KEY_KEEP), 0);
    assert_int_equal(elapse_task_schedule_batch(scheduler, batch, TASKS), ELAPSE_ERROR_CLOSED);
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(batch[i].error, ELAPSE_ERROR_CLOSED);
        assert_true(same_handle(batch[i].handle, (struct elapse_handle){7, 8, 9}));
    }
    scheduler_end(scheduler);
    assert_int_equal(ends(), 0);
}

MANUAL_TEST(past_and_far_deadlines_mix)
{
    struct elapse_batch_task batch[] = {
        entry(task_with_end('n'), ELAPSE_NEVER),    entry(task_with_end('p'), 0),
        entry(task_with_end('f'), 1000 * TICK_NS),  entry(task_with_end('q'), 100 * TICK_NS),
        entry(task_with_end('g'), UINT64_MAX >> 1),
    };

    expect_step(scheduler, 100 * TICK_NS, "");
    assert_ok(elapse_task_schedule_batch(scheduler, batch, 5));
    expect_step(scheduler, 100 * TICK_NS, "pq");
    expect_step(scheduler, 1000 * TICK_NS, "f");
    assert_int_equal(pending_tasks(scheduler), 2);
}

/* ---- from inside an action ---- */

struct spawner {
    struct elapse_batch_task batch[100];
    enum elapse_error error;
};

static void spawn(void *context, const struct elapse_run *run)
{
    struct spawner *spawner = context;

    write_run(name_of('s'), run);
    spawner->error = elapse_task_schedule_batch(run->scheduler, spawner->batch, 100);
}

MANUAL_TEST(due_tasks_of_a_batch_from_inside_an_action_run_in_the_same_step)
{
    static struct spawner spawner;
    struct elapse_task task = {.action = spawn, .context = &spawner};

    for (size_t i = 0; i < 100; i++)
        spawner.batch[i] = entry(task_with_end(i), 5 * TICK_NS);
    (void)schedule_at(scheduler, task, 5 * TICK_NS);
    assert_int_equal(step(scheduler, 5 * TICK_NS), 101);
    assert_ok(spawner.error);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(run_at(i + 1).number, i);
}

/* ---- on the real clock ---- */

struct feeder {
    struct elapse_scheduler *scheduler;
    size_t first;
    enum elapse_error error;
    pthread_t thread;
    struct elapse_batch_task batch[150];
};

enum { FEEDERS = 4, BATCHES = 40, BATCH = 150 };

static void *feed(void *context)
{
    struct feeder *feeder = context;

    for (size_t i = 0; i < BATCHES && feeder->error == ELAPSE_OK; i++) {
        uint64_t now_ns = elapse_scheduler_now_ns(feeder->scheduler);

        for (size_t j = 0; j < BATCH; j++)
            feeder->batch[j] =
                entry(task_with_end(feeder->first + i * BATCH + j), now_ns + j % 4 * TICK_NS);
        feeder->error = elapse_task_schedule_batch(feeder->scheduler, feeder->batch, BATCH);
    }
    return NULL;
}

TEST(batches_of_many_threads_all_run_once_and_never_early)
{
    enum { TASKS = FEEDERS * BATCHES * BATCH };
    static struct feeder feeders[FEEDERS];
    struct elapse_scheduler_options options = real_options(3, 2);
    struct elapse_scheduler *scheduler = started_with(&options);

    for (size_t i = 0; i < FEEDERS; i++) {
        feeders[i].scheduler = scheduler;
        feeders[i].first = i * BATCHES * BATCH;
        assert_int_equal(pthread_create(&feeders[i].thread, NULL, feed, &feeders[i]), 0);
    }
    for (size_t i = 0; i < FEEDERS; i++) {
        assert_int_equal(pthread_join(feeders[i].thread, NULL), 0);
        assert_ok(feeders[i].error);
    }
    wait_for_runs(TASKS);
    scheduler_end(scheduler);
    assert_int_equal(runs(), TASKS);
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(ends_of(i), 1);
        assert_true(run_at(i).run.actual_ns >= run_at(i).run.intended_ns);
    }
}

TEST_MAIN("batch")
