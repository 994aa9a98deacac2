/*
 * Tests lists of the tasks of a scheduler, in slices: what each entry tells, and that a task that
 * exists throughout comes exactly once, whatever happens to other tasks between two slices.
 */
#include "recurring.h"
#include "wall_clock.h"

enum { MANY = 3000 };

static size_t seen[MANY];

/* Notes what was listed. Returns false at the end of the list. */
static bool list_slice(struct elapse_scheduler *scheduler, struct elapse_list_cursor *cursor,
                       size_t capacity)
{
    struct elapse_listed listed[256];
    size_t count = elapse_task_list(scheduler, cursor, listed, capacity);

    assert_true(count <= capacity);
    for (size_t i = 0; i < count; i++) {
        size_t number = number_of(listed[i].context);

        assert_true(number < MANY);
        seen[number]++;
        assert_int_equal(elapse_task_look_up(scheduler, listed[i].handle, NULL), listed[i].state);
    }
    return count > 0;
}

static struct elapse_listed listed_alone(struct elapse_scheduler *scheduler)
{
    struct elapse_list_cursor cursor = {0, 0};
    struct elapse_listed listed[2];

    assert_int_equal(elapse_task_list(scheduler, &cursor, listed, 2), 1);
    assert_int_equal(elapse_task_list(scheduler, &cursor, &listed[1], 1), 0);
    assert_int_equal(elapse_task_list(scheduler, &cursor, &listed[1], 1), 0);
    return listed[0];
}

/* ---- what an entry tells ---- */

SCHEDULER_TEST(without_tasks_the_list_is_empty, manual_new(TICK_NS, 3))
{
    struct elapse_list_cursor cursor = {0, 0};
    struct elapse_listed listed;

    assert_int_equal(elapse_task_list(scheduler, &cursor, &listed, 1), 0);
}

MANUAL_TEST(an_entry_tells_of_a_plain_task)
{
    struct elapse_handle handle = schedule_at(scheduler, task_named('a'), 5 * TICK_NS - 1);
    struct elapse_listed listed = listed_alone(scheduler);

    assert_true(same_handle(listed.handle, handle));
    assert_int_equal(listed.state, ELAPSE_TASK_PENDING);
    assert_false(listed.runs_again);
    assert_false(listed.wall_clock);
    assert_int_equal(listed.deadline_ns, 5 * TICK_NS);
    assert_true(listed.action == write_run);
    assert_ptr_equal(listed.context, name_of('a'));
    assert_int_equal(listed.recurrence, ELAPSE_RECUR_NEVER);
    assert_int_equal(listed.period_ns, 0);
    assert_int_equal(listed.key_bytes, 0);
    assert_int_equal(elapse_task_key(scheduler, handle, NULL, 0), 0);
}

MANUAL_TEST(an_entry_tells_the_recurrence_and_the_key)
{
    struct elapse_task task = periodic('a', 7 * TICK_NS);

    task.key = "name";
    task.key_bytes = 4;
    (void)schedule_at(scheduler, task, 5 * TICK_NS);
    struct elapse_listed listed = listed_alone(scheduler);
    assert_int_equal(listed.recurrence, ELAPSE_RECUR_PERIOD);
    assert_int_equal(listed.period_ns, 7 * TICK_NS);
    assert_int_equal(listed.key_bytes, 4);
    assert_memory_equal(listed.key, "name", 4);
}

WALL_TEST(an_entry_tells_the_clock_of_its_deadline)
{
    (void)schedule_by_wall_clock(scheduler, task_named('a'), WALL_NS + 3 * TICK_NS);
    struct elapse_listed listed = listed_alone(scheduler);
    assert_true(listed.wall_clock);
    assert_int_equal(listed.deadline_ns, WALL_NS + 3 * TICK_NS);
}

MANUAL_TEST(a_long_key_is_cut_and_can_be_copied_whole)
{
    enum { LONG = 300 };
    struct elapse_task task = task_named('a');
    unsigned char key[LONG];
    unsigned char copy[LONG + 1];

    for (size_t i = 0; i < LONG; i++)
        key[i] = (unsigned char)(i * 7);
    task.key = key;
    task.key_bytes = LONG;
    (void)schedule_at(scheduler, task, TICK_NS);
    struct elapse_listed listed = listed_alone(scheduler);
    assert_int_equal(listed.key_bytes, LONG);
    assert_memory_equal(listed.key, key, ELAPSE_LISTED_KEY_BYTES);
    memset(copy, 0xee, sizeof copy);
    assert_int_equal(elapse_task_key(scheduler, listed.handle, copy, 10), LONG);
    assert_memory_equal(copy, key, 10);
    assert_int_equal(copy[10], 0xee);
    assert_int_equal(elapse_task_key(scheduler, listed.handle, copy, sizeof copy), LONG);
    assert_memory_equal(copy, key, LONG);
    assert_int_equal(copy[LONG], 0xee);
    assert_int_equal(elapse_task_cancel(scheduler, listed.handle), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(elapse_task_key(scheduler, listed.handle, copy, sizeof copy), 0);
}

static void list_myself(void *context, const struct elapse_run *run)
{
    struct elapse_listed *own = context;
    struct elapse_list_cursor cursor = {0, 0};

    if (elapse_task_reschedule_at(run->scheduler, run->handle, 9 * TICK_NS) != ELAPSE_OK ||
        elapse_task_list(run->scheduler, &cursor, own, 1) != 1)
        own->state = ELAPSE_TASK_GONE;
}

MANUAL_TEST(a_running_task_is_listed_too)
{
    static struct elapse_listed own;
    struct elapse_task task = {.action = list_myself, .context = &own};
    struct elapse_handle handle = schedule_at(scheduler, task, TICK_NS);

    assert_int_equal(step(scheduler, TICK_NS), 1);
    assert_true(same_handle(own.handle, handle));
    assert_int_equal(own.state, ELAPSE_TASK_RUNNING);
    assert_true(own.runs_again);
}

/* ---- each task once ---- */

TEST(every_task_comes_once_whatever_the_slices)
{
    static const size_t capacities[] = {1, 2, 63, 64, 65, 256};

    for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 4);
        struct elapse_list_cursor cursor = {0, 0};

        for (size_t i = 0; i < MANY; i++) {
            char key[16];
            (void)snprintf(key, sizeof key, "key %zu", i);
            (void)schedule_at(scheduler, task_with_key(i, key, ELAPSE_KEY_FAIL), i * TICK_NS);
        }
        memset(seen, 0, sizeof seen);
        while (list_slice(scheduler, &cursor, capacities[c]))
            continue;
        for (size_t i = 0; i < MANY; i++)
            assert_int_equal(seen[i], 1);
        scheduler_end(scheduler);
    }
}

/* Between two slices, tasks with even numbers are cancelled, run or scheduled anew, and memory is
 * given back. Tasks with odd numbers stay, although they are rescheduled. */
MANUAL_TEST(a_task_that_stays_comes_once_though_others_change)
{
    static struct elapse_handle handles[MANY];
    struct elapse_list_cursor cursor = {0, 0};
    size_t turn = 0;

    for (size_t i = 0; i < MANY; i++) {
        struct elapse_task task = task_named(i);
        handles[i] = schedule_at(scheduler, task, (MANY + i) * TICK_NS);
    }
    memset(seen, 0, sizeof seen);
    while (list_slice(scheduler, &cursor, 40)) {
        for (size_t i = 2 * (turn % 50); i < MANY; i += 100) {
            struct elapse_task task = task_named(i);

            (void)elapse_task_cancel(scheduler, handles[i]);
            if (turn % 3 != 0)
                handles[i] = schedule_at(scheduler, task, (2 * MANY - i) * TICK_NS);
            assert_ok(elapse_task_reschedule_at(scheduler, handles[i + 1],
                                                (MANY + (i * turn) % MANY) * TICK_NS));
        }
        (void)elapse_scheduler_trim(scheduler);
        turn++;
    }
    assert_true(turn > MANY / 80);
    for (size_t i = 1; i < MANY; i += 2)
        assert_int_equal(seen[i], 1);
}

MANUAL_TEST(blocks_that_were_given_back_are_passed)
{
    static struct elapse_handle handles[MANY];
    struct elapse_list_cursor cursor = {0, 0};

    for (size_t i = 0; i < MANY; i++)
        handles[i] = schedule_at(scheduler, task_named(i), TICK_NS);
    for (size_t i = 0; i < 2500; i++)
        assert_int_equal(elapse_task_cancel(scheduler, handles[i]), ELAPSE_CANCEL_REMOVED);
    assert_true(elapse_scheduler_trim(scheduler) > 0);
    memset(seen, 0, sizeof seen);
    while (list_slice(scheduler, &cursor, 256))
        continue;
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(seen[i], i >= 2500);
}

static atomic_bool churn_ends;

static void *churn(void *context)
{
    struct elapse_scheduler *scheduler = context;
    struct elapse_task task = task_named(MANY - 1);
    struct elapse_handle handles[8];

    while (!atomic_load(&churn_ends)) {
        for (size_t i = 0; i < 8; i++)
            if (elapse_task_schedule_at(scheduler, &task, TICK_NS, &handles[i]) != ELAPSE_OK)
                return NULL;
        for (size_t i = 0; i < 8; i++)
            (void)elapse_task_cancel(scheduler, handles[i]);
    }
    return NULL;
}

SCHEDULER_TEST(a_task_that_stays_comes_once_while_a_thread_changes_others, manual_new(TICK_NS, 2))
{
    enum { STAYING = 2000 };
    struct elapse_listed listed[64];
    pthread_t thread;

    for (size_t i = 0; i < STAYING; i++)
        (void)schedule_at(scheduler, task_named(i), TICK_NS);
    atomic_store(&churn_ends, false);
    assert_int_equal(pthread_create(&thread, NULL, churn, scheduler), 0);
    for (int round = 0; round < 20; round++) {
        struct elapse_list_cursor cursor = {0, 0};
        size_t count;

        memset(seen, 0, sizeof seen);
        while ((count = elapse_task_list(scheduler, &cursor, listed, 64)) > 0)
            for (size_t i = 0; i < count; i++)
                seen[number_of(listed[i].context)]++;
        for (size_t i = 0; i < STAYING; i++)
            assert_int_equal(seen[i], 1);
    }
    atomic_store(&churn_ends, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- by key ---- */

static size_t count_with_prefix(struct elapse_scheduler *scheduler, const char *prefix)
{
    struct elapse_list_cursor cursor = {0, 0};
    struct elapse_listed listed[7];
    size_t total = 0;
    size_t count;

    while ((count = elapse_task_list_keys(scheduler, prefix, prefix == NULL ? 0 : strlen(prefix),
                                          &cursor, listed, 7)) > 0) {
        for (size_t i = 0; i < count; i++) {
            assert_true(listed[i].key_bytes > 0);
            if (prefix != NULL)
                assert_memory_equal(listed[i].key, prefix, strlen(prefix));
        }
        total += count;
    }
    return total;
}

SCHEDULER_TEST(tasks_are_listed_by_the_prefix_of_their_key, manual_new(TICK_NS, 3))
{
    for (size_t i = 0; i < 1000; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%s:%zu", i % 10 == 0 ? "order" : "user", i);
        struct elapse_task task = task_with_key(i, key, ELAPSE_KEY_FAIL);
        (void)schedule_at(scheduler, task, TICK_NS);
    }
    for (size_t i = 1000; i < 1050; i++) {
        struct elapse_task task = task_named(i);
        (void)schedule_at(scheduler, task, TICK_NS);
    }
    assert_int_equal(count_with_prefix(scheduler, "order:"), 100);
    assert_int_equal(count_with_prefix(scheduler, "user:"), 900);
    assert_int_equal(count_with_prefix(scheduler, "order:10"), 2); /* 10 and 100 */
    assert_int_equal(count_with_prefix(scheduler, "order:10 and more"), 0);
    assert_int_equal(count_with_prefix(scheduler, NULL), 1000);
}

TEST_MAIN("list")
