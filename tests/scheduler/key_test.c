/*
 * Tests tasks with keys: at most one task with a key is pending, and at most one runs.
 */
#include "fixture.h"

#include "random.h"

static struct elapse_handle find(struct elapse_scheduler *scheduler, const char *key)
{
    struct elapse_handle handle = {0, 0, 0};

    assert_true(elapse_task_find(scheduler, key, strlen(key), &handle));
    return handle;
}

static bool exists(struct elapse_scheduler *scheduler, const void *key, size_t key_bytes)
{
    struct elapse_handle handle = {1, 2, 3};

    return elapse_task_find(scheduler, key, key_bytes, &handle);
}

/* ---- policies ---- */

TEST(replace_removes_the_pending_one)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 3);
    struct elapse_task old_task = task_with_key('o', "key", ELAPSE_KEY_FAIL);
    struct elapse_task new_task = task_with_key('n', "key", ELAPSE_KEY_REPLACE);
    struct elapse_handle old_handle = schedule_at(scheduler, old_task, 5 * TICK_NS);
    struct elapse_handle new_handle = schedule_at(scheduler, new_task, 7 * TICK_NS);

    assert_false(same_handle(old_handle, new_handle));
    assert_int_equal(ends_of('o'), 1);
    assert_true(pthread_equal(end_thread_of('o'), pthread_self()) != 0);
    assert_int_equal(ends_of('n'), 0);
    assert_int_equal(pending_tasks(scheduler), 1);
    assert_int_equal(elapse_task_look_up(scheduler, old_handle, NULL), ELAPSE_TASK_GONE);
    assert_int_equal(elapse_task_cancel(scheduler, old_handle), ELAPSE_CANCEL_GONE);
    assert_true(same_handle(find(scheduler, "key"), new_handle));
    expect_step(scheduler, 6 * TICK_NS, "");
    expect_step(scheduler, 7 * TICK_NS, "n");
    assert_false(exists(scheduler, "key", 3));
    scheduler_end(scheduler);
    assert_int_equal(ends_of('o'), 1);
    assert_int_equal(ends_of('n'), 1);
}

MANUAL_TEST(replace_may_be_earlier_too)
{
    (void)schedule_at(scheduler, task_with_key('o', "key", ELAPSE_KEY_REPLACE), 50 * TICK_NS);
    (void)schedule_at(scheduler, task_with_key('n', "key", ELAPSE_KEY_REPLACE), 7 * TICK_NS);
    expect_step(scheduler, 7 * TICK_NS, "n");
    expect_step(scheduler, 500 * TICK_NS, "");
}

TEST(keep_ends_the_new_one_at_once)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 3);
    struct elapse_task old_task = task_with_key('o', "key", ELAPSE_KEY_REPLACE);
    struct elapse_task new_task = task_with_key('n', "key", ELAPSE_KEY_KEEP);
    struct elapse_handle old_handle = schedule_at(scheduler, old_task, 5 * TICK_NS);
    struct elapse_handle new_handle = schedule_at(scheduler, new_task, TICK_NS);

    assert_true(same_handle(old_handle, new_handle));
    assert_int_equal(ends_of('n'), 1);
    assert_true(pthread_equal(end_thread_of('n'), pthread_self()) != 0);
    assert_int_equal(ends_of('o'), 0);
    struct elapse_statistics statistics = statistics_of(scheduler);
    assert_int_equal(statistics.scheduled, 1);
    assert_int_equal(statistics.pending, 1);
    expect_step(scheduler, 4 * TICK_NS, "");
    expect_step(scheduler, 5 * TICK_NS, "o");
    scheduler_end(scheduler);
    assert_int_equal(ends_of('o'), 1);
    assert_int_equal(ends_of('n'), 1);
}

SCHEDULER_TEST(fail_refuses_the_new_one, manual_new(TICK_NS, 3))
{
    struct elapse_task old_task = task_with_key('o', "key", ELAPSE_KEY_REPLACE);
    struct elapse_task new_task = task_with_key('n', "key", ELAPSE_KEY_FAIL);
    struct elapse_handle old_handle = schedule_at(scheduler, old_task, 5 * TICK_NS);
    struct elapse_handle given = {0, 0, 0};

    assert_int_equal(elapse_task_schedule_at(scheduler, &new_task, TICK_NS, &given),
                     ELAPSE_ERROR_KEY_PENDING);
    assert_true(same_handle(given, old_handle));
    assert_int_equal(elapse_task_schedule_at(scheduler, &new_task, TICK_NS, NULL),
                     ELAPSE_ERROR_KEY_PENDING);
    assert_int_equal(elapse_task_schedule_after(scheduler, &new_task, 0, NULL),
                     ELAPSE_ERROR_KEY_PENDING);
    expect_step(scheduler, 5 * TICK_NS, "o");
    /* The context of the refused task was not destroyed: its owner keeps it. */
    assert_int_equal(ends_of('n'), 0);
    assert_int_equal(ends_of('o'), 1);
    /* The key is free again. */
    (void)schedule_at(scheduler, new_task, 6 * TICK_NS);
    expect_step(scheduler, 6 * TICK_NS, "n");
}

TEST(the_new_tasks_policy_decides)
{
    static const enum elapse_key_policy policies[] = {ELAPSE_KEY_REPLACE, ELAPSE_KEY_KEEP,
                                                      ELAPSE_KEY_FAIL};

    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
            struct elapse_task new_task = task_with_key('n', "key", policies[j]);

            (void)schedule_at(scheduler, task_with_key('o', "key", policies[i]), 5 * TICK_NS);
            assert_int_equal(elapse_task_schedule_at(scheduler, &new_task, 5 * TICK_NS, NULL),
                             policies[j] == ELAPSE_KEY_FAIL ? ELAPSE_ERROR_KEY_PENDING : ELAPSE_OK);
            expect_step(scheduler, 5 * TICK_NS, policies[j] == ELAPSE_KEY_REPLACE ? "n" : "o");
            assert_int_equal(ends_of('n'), policies[j] == ELAPSE_KEY_FAIL ? 0 : 1);
            assert_int_equal(ends_of('o'), 1);
            scheduler_end(scheduler);
        }
    }
}

TEST(a_cancelled_key_is_free)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_task task = task_with_key('a', "key", ELAPSE_KEY_FAIL);
    struct elapse_handle first = schedule_at(scheduler, task, 5 * TICK_NS);

    assert_int_equal(elapse_task_cancel(scheduler, first), ELAPSE_CANCEL_REMOVED);
    assert_false(exists(scheduler, "key", 3));
    struct elapse_handle second = schedule_at(scheduler, task, 5 * TICK_NS);
    assert_false(same_handle(first, second));
    expect_step(scheduler, 5 * TICK_NS, "a");
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 2);
}

TEST(replacing_at_the_pending_limit_is_allowed)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);
    struct elapse_task kept = task_with_key('k', "key", ELAPSE_KEY_KEEP);
    struct elapse_task refused = task_with_key('r', "key", ELAPSE_KEY_FAIL);
    struct elapse_task new_task = task_with_key('n', "key", ELAPSE_KEY_REPLACE);
    struct elapse_task other = task_with_key('x', "other", ELAPSE_KEY_REPLACE);
    struct elapse_handle handle;

    options.pending_max = 1;
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    handle = schedule_at(scheduler, task_with_key('o', "key", ELAPSE_KEY_REPLACE), 5 * TICK_NS);
    assert_int_equal(elapse_task_schedule_at(scheduler, &other, TICK_NS, NULL), ELAPSE_ERROR_LIMIT);
    assert_true(same_handle(schedule_at(scheduler, kept, TICK_NS), handle));
    assert_int_equal(elapse_task_schedule_at(scheduler, &refused, TICK_NS, NULL),
                     ELAPSE_ERROR_KEY_PENDING);
    for (unsigned i = 0; i < 10; i++)
        (void)schedule_at(scheduler, new_task, 5 * TICK_NS);
    assert_int_equal(pending_tasks(scheduler), 1);
    assert_int_equal(ends_of('o'), 1);
    assert_int_equal(ends_of('n'), 9);
    assert_int_equal(ends_of('r') + ends_of('x'), 0);
    expect_step(scheduler, 5 * TICK_NS, "n");
    (void)schedule_at(scheduler, other, 6 * TICK_NS);
    expect_step(scheduler, 6 * TICK_NS, "x");
    scheduler_end(scheduler);
}

/* ---- which keys there are ---- */

MANUAL_TEST(keys_out_of_range_are_refused)
{
    static char bytes[ELAPSE_KEY_BYTES_MAX + 1];
    struct elapse_task task = task_with_end('a');
    struct elapse_handle handle = {7, 8, 9};

    task.key = bytes;
    task.key_bytes = ELAPSE_KEY_BYTES_MAX + 1;
    assert_int_equal(elapse_task_schedule_at(scheduler, &task, 0, &handle), ELAPSE_ERROR_ARGUMENT);
    task.key_bytes = SIZE_MAX;
    assert_int_equal(elapse_task_schedule_at(scheduler, &task, 0, &handle), ELAPSE_ERROR_ARGUMENT);
    task.key_bytes = 0;
    assert_int_equal(elapse_task_schedule_at(scheduler, &task, 0, &handle), ELAPSE_ERROR_ARGUMENT);
    task.key = NULL;
    task.key_bytes = 5;
    assert_int_equal(elapse_task_schedule_at(scheduler, &task, 0, &handle), ELAPSE_ERROR_ARGUMENT);
    assert_true(same_handle(handle, (struct elapse_handle){7, 8, 9}));
    assert_int_equal(ends_of('a'), 0);
    assert_int_equal(pending_tasks(scheduler), 0);
    assert_false(exists(scheduler, bytes, ELAPSE_KEY_BYTES_MAX + 1));
    assert_false(exists(scheduler, bytes, 0));
    assert_false(exists(scheduler, NULL, 0));

    task.key = bytes;
    task.key_bytes = ELAPSE_KEY_BYTES_MAX;
    handle = schedule_at(scheduler, task, 0);
    assert_true(exists(scheduler, bytes, ELAPSE_KEY_BYTES_MAX));
    assert_false(exists(scheduler, bytes, ELAPSE_KEY_BYTES_MAX - 1));
    expect_step(scheduler, 0, "a");
}

MANUAL_TEST(find_does_not_read_a_key_that_is_too_long)
{
    (void)schedule_at(scheduler, task_with_key('a', "key", ELAPSE_KEY_FAIL), TICK_NS);
    assert_false(exists(scheduler, "key", SIZE_MAX));
}

MANUAL_TEST(an_unknown_policy_is_refused)
{
    struct elapse_task task = task_with_key('a', "key", (enum elapse_key_policy)3);

    assert_int_equal(elapse_task_schedule_at(scheduler, &task, 0, NULL), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(ends_of('a'), 0);
    assert_int_equal(pending_tasks(scheduler), 0);
}

TEST(keys_of_one_prefix_are_different)
{
    enum { LENGTHS = 300 };
    static char bytes[LENGTHS]; /* zeros: not even the bytes differ */
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 4);
    struct elapse_handle handles[LENGTHS + 1];

    for (size_t i = 1; i <= LENGTHS; i++) {
        struct elapse_task task = task_with_end(i);

        task.key = bytes;
        task.key_bytes = i;
        task.if_key_pending = ELAPSE_KEY_FAIL;
        handles[i] = schedule_at(scheduler, task, 5 * TICK_NS);
    }
    for (size_t i = 1; i <= LENGTHS; i++) {
        struct elapse_handle handle;

        assert_true(elapse_task_find(scheduler, bytes, i, &handle));
        assert_true(same_handle(handle, handles[i]));
    }
    assert_int_equal(step(scheduler, 5 * TICK_NS), LENGTHS);
    scheduler_end(scheduler);
}

TEST(the_key_is_copied)
{
    char bytes[] = "first";
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_task task = task_with_key('a', bytes, ELAPSE_KEY_FAIL);
    struct elapse_handle handle = schedule_at(scheduler, task, 5 * TICK_NS);

    memcpy(bytes, "other", sizeof "other");
    assert_true(same_handle(find(scheduler, "first"), handle));
    assert_false(exists(scheduler, "other", 5));
    (void)schedule_at(scheduler, task, 5 * TICK_NS);
    assert_int_equal(pending_tasks(scheduler), 2);
    scheduler_end(scheduler);
}

SCHEDULER_TEST(find_finds_nothing_that_is_not_there, manual_new(TICK_NS, 4))
{
    struct elapse_handle handle = {7, 8, 9};

    assert_false(elapse_task_find(scheduler, "key", 3, &handle));
    /* Tasks without a key are not found either. */
    (void)schedule_at(scheduler, task_named('a'), TICK_NS);
    assert_false(elapse_task_find(scheduler, "", 0, &handle));
}

SCHEDULER_TEST(many_keys_removed_in_random_order, manual_new(TICK_NS, 3))
{
    enum { KEYS = 20000 };
    static struct elapse_handle handles[KEYS];
    static size_t order[KEYS];
    struct random_source random = {47};

    for (size_t i = 0; i < KEYS; i++) {
        struct elapse_task task = task_with_end(i);

        task.key = &i;
        task.key_bytes = sizeof i;
        task.if_key_pending = ELAPSE_KEY_FAIL;
        handles[i] = schedule_at(scheduler, task, random_of_bits(&random, 40));
        order[i] = i;
    }
    for (size_t left = KEYS; left > 0; left--) {
        size_t place = (size_t)random_below(&random, left);
        size_t chosen = order[place];
        size_t other = order[(size_t)random_below(&random, left)];
        struct elapse_handle handle;

        assert_true(elapse_task_find(scheduler, &other, sizeof other, &handle));
        assert_true(same_handle(handle, handles[other]));
        assert_int_equal(elapse_task_cancel(scheduler, handles[chosen]), ELAPSE_CANCEL_REMOVED);
        assert_false(exists(scheduler, &chosen, sizeof chosen));
        order[place] = order[left - 1];
    }
    assert_int_equal(pending_tasks(scheduler), 0);
    assert_int_equal(ends(), KEYS);
}

TEST(keys_come_and_go_as_a_plain_table_says)
{
    enum { KEYS = 200, OPERATIONS = 50000 };
    static struct elapse_handle pending[KEYS]; /* zero: none */
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 2);
    struct random_source random = {53};
    uint64_t now = 0;
    size_t seen = 0;

    memset(pending, 0, sizeof pending);
    for (size_t n = 0; n < OPERATIONS; n++) {
        size_t i = (size_t)random_below(&random, KEYS);
        struct elapse_task task = task_with_end(i);
        struct elapse_handle handle = {0, 0, 0};
        enum elapse_key_policy policy = (enum elapse_key_policy)random_below(&random, 3);
        bool is_pending = !zero_handle(pending[i]);

        task.key = &i;
        task.key_bytes = sizeof i;
        task.if_key_pending = policy;
        if (random_one_in(&random, 4)) {
            assert_int_equal(elapse_task_cancel(scheduler, pending[i]),
                             is_pending ? ELAPSE_CANCEL_REMOVED : ELAPSE_CANCEL_GONE);
            pending[i] = handle;
            continue;
        }
        assert_int_equal(elapse_task_schedule_after(scheduler, &task,
                                                    random_of_bits(&random, 8) * TICK_NS, &handle),
                         is_pending && policy == ELAPSE_KEY_FAIL ? ELAPSE_ERROR_KEY_PENDING
                                                                 : ELAPSE_OK);
        assert_int_equal(same_handle(handle, pending[i]),
                         is_pending && policy != ELAPSE_KEY_REPLACE);
        pending[i] = handle;
        if (n % 8 == 0)
            (void)step(scheduler, now += random_of_bits(&random, 5) * TICK_NS);
        for (; seen < runs(); seen++) {
            assert_true(same_handle(run_at(seen).run.handle, pending[run_at(seen).number]));
            pending[run_at(seen).number] = (struct elapse_handle){0, 0, 0};
        }
        assert_int_equal(elapse_task_find(scheduler, &i, sizeof i, &handle),
                         !zero_handle(pending[i]));
    }
    scheduler_end(scheduler);
}

/* ---- while the key's action runs, on manual time ---- */

/* The context of an action that does something with its own key. */
struct keyed {
    size_t number;
    struct elapse_task next; /* what it schedules, once */
    uint64_t delay_ns;       /* when */
    bool moves_itself_first; /* reschedules itself before that */
    bool moves_itself_afterwards;
    enum elapse_error next_error;
    struct elapse_handle next_handle;
    struct elapse_handle found_before;
    struct elapse_handle found_after;
    enum elapse_error moved_first;
    enum elapse_error moved_afterwards;
    enum elapse_task_state state; /* its own, in the end */
    unsigned runs;
};

static void run_keyed(void *context, const struct elapse_run *run)
{
    struct keyed *keyed = context;

    write_run(name_of(keyed->number), run);
    if (keyed->runs++ > 0)
        return;
    (void)elapse_task_find(run->scheduler, keyed->next.key, keyed->next.key_bytes,
                           &keyed->found_before);
    if (keyed->moves_itself_first)
        keyed->moved_first =
            elapse_task_reschedule_after(run->scheduler, run->handle, 20 * TICK_NS);
    keyed->next_error = elapse_task_schedule_after(run->scheduler, &keyed->next, keyed->delay_ns,
                                                   &keyed->next_handle);
    (void)elapse_task_find(run->scheduler, keyed->next.key, keyed->next.key_bytes,
                           &keyed->found_after);
    if (keyed->moves_itself_afterwards)
        keyed->moved_afterwards = elapse_task_reschedule_after(run->scheduler, run->handle, 0);
    keyed->state = elapse_task_look_up(run->scheduler, run->handle, NULL);
}

static void end_keyed(void *context)
{
    struct keyed *keyed = context;

    write_end(name_of(keyed->number));
}

static struct elapse_handle schedule_keyed(struct elapse_scheduler *scheduler, struct keyed *keyed)
{
    struct elapse_task task = task_with_key(keyed->number, "key", ELAPSE_KEY_REPLACE);

    task.action = run_keyed;
    task.context = keyed;
    task.destroy = end_keyed;
    return schedule_at(scheduler, task, 5 * TICK_NS);
}

TEST(from_inside_the_action_each_policy_schedules_the_next)
{
    static const enum elapse_key_policy policies[] = {ELAPSE_KEY_REPLACE, ELAPSE_KEY_KEEP,
                                                      ELAPSE_KEY_FAIL};

    for (size_t i = 0; i < 3; i++) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 2);
        struct keyed keyed = {
            .number = 'k', .next = task_with_key('n', "key", policies[i]), .delay_ns = 0};
        struct elapse_handle handle = schedule_keyed(scheduler, &keyed);

        expect_step(scheduler, 5 * TICK_NS, "kn");
        assert_ok(keyed.next_error);
        assert_true(same_handle(keyed.found_before, handle));
        assert_true(same_handle(keyed.found_after, keyed.next_handle));
        assert_false(same_handle(keyed.next_handle, handle));
        assert_int_equal(keyed.state, ELAPSE_TASK_RUNNING);
        assert_int_equal(ends_of('k'), 1);
        assert_int_equal(ends_of('n'), 1);
        assert_false(exists(scheduler, "key", 3));
        scheduler_end(scheduler);
    }
}

SCHEDULER_TEST(the_next_one_stays_when_the_action_ends, manual_new(TICK_NS, 2))
{
    struct keyed keyed = {.number = 'k',
                          .next = task_with_key('n', "key", ELAPSE_KEY_FAIL),
                          .delay_ns = 10 * TICK_NS};
    struct elapse_task later = task_with_key('l', "key", ELAPSE_KEY_FAIL);

    (void)schedule_keyed(scheduler, &keyed);
    expect_step(scheduler, 5 * TICK_NS, "k");
    assert_true(same_handle(find(scheduler, "key"), keyed.next_handle));
    assert_int_equal(elapse_task_schedule_at(scheduler, &later, 0, NULL), ELAPSE_ERROR_KEY_PENDING);
    expect_step(scheduler, 14 * TICK_NS, "");
    expect_step(scheduler, 15 * TICK_NS, "n");
    (void)schedule_at(scheduler, later, 16 * TICK_NS);
    expect_step(scheduler, 16 * TICK_NS, "l");
}

MANUAL_TEST(a_running_task_is_not_moved_once_its_key_is_pending)
{
    struct keyed keyed = {.number = 'k',
                          .next = task_with_key('n', "key", ELAPSE_KEY_REPLACE),
                          .delay_ns = 10 * TICK_NS,
                          .moves_itself_afterwards = true};

    (void)schedule_keyed(scheduler, &keyed);
    expect_step(scheduler, 5 * TICK_NS, "k");
    assert_ok(keyed.next_error);
    assert_int_equal(keyed.moved_afterwards, ELAPSE_ERROR_GONE);
    assert_int_equal(ends_of('k'), 1);
    expect_step(scheduler, 500 * TICK_NS, "n");
}

/* A running task that was rescheduled is pending with its key as well. */
TEST(a_running_task_that_was_moved_is_pending_with_its_key)
{
    static const enum elapse_key_policy policies[] = {ELAPSE_KEY_REPLACE, ELAPSE_KEY_KEEP,
                                                      ELAPSE_KEY_FAIL};
    static const char *const afterwards[] = {"n", "k", "k"};

    for (size_t i = 0; i < 3; i++) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
        struct keyed keyed = {.number = 'k',
                              .next = task_with_key('n', "key", policies[i]),
                              .delay_ns = 10 * TICK_NS,
                              .moves_itself_first = true};
        struct elapse_handle handle = schedule_keyed(scheduler, &keyed);

        expect_step(scheduler, 5 * TICK_NS, "k");
        assert_ok(keyed.moved_first);
        assert_int_equal(keyed.next_error,
                         policies[i] == ELAPSE_KEY_FAIL ? ELAPSE_ERROR_KEY_PENDING : ELAPSE_OK);
        assert_int_equal(same_handle(keyed.next_handle, handle), policies[i] != ELAPSE_KEY_REPLACE);
        assert_int_equal(pending_tasks(scheduler), 1);
        expect_step(scheduler, 500 * TICK_NS, afterwards[i]);
        assert_int_equal(ends_of('k'), 1);
        assert_int_equal(ends_of('n'), policies[i] == ELAPSE_KEY_FAIL ? 0 : 1);
        assert_false(exists(scheduler, "key", 3));
        scheduler_end(scheduler);
    }
}

/* ---- while the key's action runs, on workers ---- */

TEST(the_new_one_waits_until_the_action_has_ended)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = started_new(4);
    struct elapse_task running = task_at_gate(&gate);
    struct elapse_handle handle;

    running.key = "key";
    running.key_bytes = 3;
    struct elapse_handle running_handle = schedule_after(scheduler, running, 0);
    wait_entered(&gate, 1);
    assert_true(same_handle(find(scheduler, "key"), running_handle));
    handle = schedule_after(scheduler, task_with_key('w', "key", ELAPSE_KEY_REPLACE), 0);
    assert_false(same_handle(handle, running_handle));
    assert_true(same_handle(find(scheduler, "key"), handle));
    /* Other keys do not wait. */
    (void)schedule_after(scheduler, task_with_key('o', "other", ELAPSE_KEY_REPLACE), TICK_NS);
    wait_for_runs(1);
    sleep_ns(10 * TICK_NS);
    expect_runs("o");
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_PENDING);
    assert_int_equal(elapse_task_look_up(scheduler, running_handle, NULL), ELAPSE_TASK_RUNNING);
    assert_int_equal(elapse_task_reschedule_after(scheduler, running_handle, 0), ELAPSE_ERROR_GONE);
    open_gate(&gate);
    wait_for_runs(2);
    expect_runs("w");
    scheduler_end(scheduler);
    assert_int_equal(atomic_load(&gate.entered), 1);
    assert_int_equal(ends_of('w'), 1);
}

SCHEDULER_TEST(what_waits_for_its_key_can_be_replaced_moved_and_removed, started_new(2))
{
    static struct gate gate;
    struct elapse_task running = task_at_gate(&gate);
    struct elapse_task kept = task_with_key('k', "key", ELAPSE_KEY_KEEP);
    struct elapse_handle handle;

    running.key = "key";
    running.key_bytes = 3;
    (void)schedule_after(scheduler, running, 0);
    wait_entered(&gate, 1);
    (void)schedule_after(scheduler, task_with_key('1', "key", ELAPSE_KEY_REPLACE), 0);
    sleep_ns(5 * TICK_NS);
    handle = schedule_after(scheduler, task_with_key('2', "key", ELAPSE_KEY_REPLACE), 0);
    assert_int_equal(ends_of('1'), 1);
    assert_true(same_handle(schedule_after(scheduler, kept, 0), handle));
    assert_int_equal(ends_of('k'), 1);
    sleep_ns(5 * TICK_NS);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(ends_of('2'), 1);
    handle = schedule_after(scheduler, task_with_key('3', "key", ELAPSE_KEY_FAIL), 0);
    sleep_ns(5 * TICK_NS);
    assert_ok(elapse_task_reschedule_after(scheduler, handle, 3600 * ELAPSE_SECOND_NS));
    assert_int_equal(pending_tasks(scheduler), 1);
    open_gate(&gate);
    sleep_ns(5 * TICK_NS);
    expect_runs("");
    assert_ok(elapse_task_reschedule_after(scheduler, handle, 0));
    wait_for_runs(1);
    expect_runs("3");
}

TEST(closing_ends_what_waits_for_its_key)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = started_new(2);
    struct elapse_task running = task_at_gate(&gate);
    struct elapse_task waiting = task_with_key('w', "key", ELAPSE_KEY_REPLACE);

    running.key = "key";
    running.key_bytes = 3;
    (void)schedule_after(scheduler, running, 0);
    wait_entered(&gate, 1);
    (void)schedule_after(scheduler, waiting, 3600 * ELAPSE_SECOND_NS);
    open_gate(&gate);
    scheduler_end(scheduler);
    assert_int_equal(atomic_load(&gate.left), 1);
    assert_int_equal(runs(), 0);
    assert_int_equal(ends_of('w'), 1);
}

enum { RACE_KEYS = 3, RACE_THREADS = 4, RACE_TASKS = 3000 };

struct race_key {
    atomic_uint inside;
    atomic_uint overlaps;
    atomic_uint runs;
    atomic_uint ends;
    char key[2];
};

static struct race_key race_keys[RACE_KEYS];

static void run_race(void *context, const struct elapse_run *run)
{
    struct race_key *key = context;

    (void)run;
    if (atomic_fetch_add(&key->inside, 1) != 0)
        atomic_fetch_add(&key->overlaps, 1);
    if (atomic_fetch_add(&key->runs, 1) % 16 == 0)
        sleep_ns(ELAPSE_MILLISECOND_NS / 10);
    atomic_fetch_sub(&key->inside, 1);
}

static void end_race(void *context)
{
    struct race_key *key = context;

    atomic_fetch_add(&key->ends, 1);
}

struct race_thread {
    struct elapse_scheduler *scheduler;
    unsigned accepted;
    pthread_t thread;
};

static void *race(void *context)
{
    struct race_thread *thread = context;

    for (size_t i = 0; i < RACE_TASKS; i++) {
        struct race_key *key = &race_keys[i % RACE_KEYS];
        struct elapse_task task = {.action = run_race,
                                   .context = key,
                                   .destroy = end_race,
                                   .key = key->key,
                                   .key_bytes = sizeof key->key,
                                   .if_key_pending = (enum elapse_key_policy)(i / RACE_KEYS % 3)};
        enum elapse_error error = elapse_task_schedule_after(thread->scheduler, &task, 0, NULL);

        thread->accepted += error == ELAPSE_OK;
        if (error != ELAPSE_OK && error != ELAPSE_ERROR_KEY_PENDING)
            return thread;
    }
    return NULL;
}

TEST(actions_of_one_key_never_overlap_and_each_task_ends_once)
{
    static struct race_thread threads[RACE_THREADS];
    struct elapse_scheduler_options options;
    unsigned accepted = 0;
    unsigned ended = 0;
    unsigned ran = 0;

    elapse_scheduler_options_init(&options);
    options.tick_ns = 1000;
    options.shards = 2;
    struct elapse_scheduler *scheduler = started_with(&options);
    for (size_t i = 0; i < RACE_KEYS; i++)
        race_keys[i].key[0] = (char)('a' + i);
    for (size_t i = 0; i < RACE_THREADS; i++) {
        threads[i] = (struct race_thread){.scheduler = scheduler};
        assert_int_equal(pthread_create(&threads[i].thread, NULL, race, &threads[i]), 0);
    }
    for (size_t i = 0; i < RACE_THREADS; i++) {
        void *failed = NULL;

        assert_int_equal(pthread_join(threads[i].thread, &failed), 0);
        assert_null(failed);
        accepted += threads[i].accepted;
    }
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    for (size_t i = 0; i < RACE_KEYS; i++) {
        assert_int_equal(atomic_load(&race_keys[i].overlaps), 0);
        ended += atomic_load(&race_keys[i].ends);
        ran += atomic_load(&race_keys[i].runs);
    }
    /* Tasks that were not kept because of KEEP have ended, too. */
    assert_int_equal(ended, accepted);
    struct elapse_statistics statistics = statistics_of(scheduler);
    assert_int_equal(statistics.begun, ran);
    assert_int_equal(statistics.scheduled,
                     statistics.begun + statistics.replaced + statistics.dropped);
    assert_int_equal(statistics.pending + statistics.running, 0);
    scheduler_end(scheduler);
}

TEST_MAIN("key")
