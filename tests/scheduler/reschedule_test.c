/*
 * Tests moving a task to another deadline.
 */
#include "fixture.h"

#include "random.h"

MANUAL_TEST(later_forgets_the_old_deadline)
{
    struct elapse_handle handle = schedule_at(scheduler, task_with_end('a'), 5 * TICK_NS);
    uint64_t deadline = 0;

    assert_ok(elapse_task_reschedule_at(scheduler, handle, 500 * TICK_NS - 1));
    assert_int_equal(look_up_deadline(scheduler, handle, &deadline), ELAPSE_TASK_PENDING);
    assert_int_equal(deadline, 500 * TICK_NS);
    assert_int_equal(pending_tasks(scheduler), 1);
    expect_step(scheduler, 499 * TICK_NS, "");
    expect_step(scheduler, 500 * TICK_NS, "a");
    assert_int_equal(run_at(0).run.intended_ns, 500 * TICK_NS);
    assert_true(same_handle(run_at(0).run.handle, handle));
    expect_step(scheduler, 5000 * TICK_NS, "");
    assert_int_equal(ends_of('a'), 1);
}

MANUAL_TEST(earlier_runs_earlier)
{
    struct elapse_handle handle = schedule_at(scheduler, task_with_end('a'), 5000 * TICK_NS);

    assert_ok(elapse_task_reschedule_at(scheduler, handle, 70 * TICK_NS));
    assert_true(elapse_scheduler_next_ns(scheduler) <= 70 * TICK_NS);
    expect_step(scheduler, 69 * TICK_NS, "");
    expect_step(scheduler, 70 * TICK_NS, "a");
    expect_step(scheduler, 6000 * TICK_NS, "");
}

MANUAL_TEST(to_the_past_is_due_at_once)
{
    struct elapse_task task = task_with_end('a');
    struct elapse_handle handle = schedule_at(scheduler, task, 5000 * TICK_NS);

    expect_step(scheduler, 100 * TICK_NS, "");
    assert_ok(elapse_task_reschedule_at(scheduler, handle, 3));
    expect_step(scheduler, 100 * TICK_NS, "a");
    handle = schedule_at(scheduler, task, 5000 * TICK_NS);
    assert_ok(elapse_task_reschedule_after(scheduler, handle, 0));
    expect_step(scheduler, 100 * TICK_NS, "a");
}

MANUAL_TEST(after_counts_from_now_and_rounds_up)
{
    struct elapse_handle handle = schedule_at(scheduler, task_with_end('a'), 5 * TICK_NS);

    expect_step(scheduler, 3 * TICK_NS + 10, "");
    assert_ok(elapse_task_reschedule_after(scheduler, handle, 4 * TICK_NS));
    expect_step(scheduler, 8 * TICK_NS - 1, "");
    expect_step(scheduler, 8 * TICK_NS, "a");
}

MANUAL_TEST(to_never_and_back)
{
    struct elapse_handle handle = schedule_at(scheduler, task_with_end('a'), 5 * TICK_NS);

    assert_ok(elapse_task_reschedule_after(scheduler, handle, ELAPSE_NEVER));
    expect_step(scheduler, 5000 * TICK_NS, "");
    assert_int_equal(elapse_scheduler_next_ns(scheduler), ELAPSE_NEVER);
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_PENDING);
    assert_ok(elapse_task_reschedule_at(scheduler, handle, 5001 * TICK_NS));
    expect_step(scheduler, 5001 * TICK_NS, "a");
}

MANUAL_TEST(slack_is_not_applied_again)
{
    struct elapse_task task = task_with_end('a');
    uint64_t deadline = 0;

    task.slack_ns = 100000 * TICK_NS;
    struct elapse_handle handle = schedule_at(scheduler, task, 5 * TICK_NS);
    assert_ok(elapse_task_reschedule_at(scheduler, handle, 77 * TICK_NS));
    assert_int_equal(look_up_deadline(scheduler, handle, &deadline), ELAPSE_TASK_PENDING);
    assert_int_equal(deadline, 77 * TICK_NS);
    expect_step(scheduler, 77 * TICK_NS, "a");
}

SCHEDULER_TEST(the_key_stays, manual_new(TICK_NS, 3))
{
    struct elapse_task task = task_with_key('a', "key", ELAPSE_KEY_FAIL);
    struct elapse_handle handle = schedule_at(scheduler, task, 5 * TICK_NS);
    struct elapse_handle found;

    assert_ok(elapse_task_reschedule_at(scheduler, handle, 77 * TICK_NS));
    assert_true(elapse_task_find(scheduler, "key", 3, &found));
    assert_true(same_handle(found, handle));
    assert_int_equal(elapse_task_schedule_at(scheduler, &task, 0, NULL), ELAPSE_ERROR_KEY_PENDING);
    expect_step(scheduler, 77 * TICK_NS, "a");
    assert_false(elapse_task_find(scheduler, "key", 3, &found));
}

MANUAL_TEST(a_task_that_ended_is_gone)
{
    struct elapse_task task = task_with_end('a');
    struct elapse_handle ran = schedule_at(scheduler, task, 0);

    expect_step(scheduler, 0, "a");
    struct elapse_handle cancelled = schedule_at(scheduler, task, 5 * TICK_NS);
    assert_int_equal(elapse_task_cancel(scheduler, cancelled), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(elapse_task_reschedule_at(scheduler, ran, 0), ELAPSE_ERROR_GONE);
    assert_int_equal(elapse_task_reschedule_after(scheduler, ran, 0), ELAPSE_ERROR_GONE);
    assert_int_equal(elapse_task_reschedule_at(scheduler, cancelled, 0), ELAPSE_ERROR_GONE);
    assert_int_equal(elapse_task_reschedule_after(scheduler, cancelled, 0), ELAPSE_ERROR_GONE);
    expect_step(scheduler, 100 * TICK_NS, "");
}

MANUAL_TEST(a_closed_scheduler_refuses)
{
    struct elapse_handle handle = schedule_at(scheduler, task_with_end('a'), 5 * TICK_NS);

    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    assert_int_equal(elapse_task_reschedule_at(scheduler, handle, 0), ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_task_reschedule_after(scheduler, handle, 0), ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_GONE);
}

MANUAL_TEST(rapid_moves_never_lose_a_task)
{
    enum { TASKS = 1000, MOVES = 10 };
    static struct elapse_handle handles[TASKS];

    for (size_t i = 0; i < TASKS; i++)
        handles[i] = schedule_at(scheduler, task_with_end(i), (20000 + i) * TICK_NS);
    for (uint64_t move = 1; move <= MOVES; move++) {
        for (size_t i = 0; i < TASKS; i++)
            assert_ok(elapse_task_reschedule_at(scheduler, handles[i],
                                                (20000 + i - move * 1000) * TICK_NS));
        (void)step(scheduler, move * TICK_NS);
    }
    assert_int_equal(runs(), 0);
    assert_int_equal(step(scheduler, 10000 * TICK_NS - 1), 0);
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(step(scheduler, (10000 + i) * TICK_NS), 1);
        assert_int_equal(run_at(i).number, i);
    }
    assert_int_equal(step(scheduler, 50000 * TICK_NS), 0);
}

SCHEDULER_TEST(random_moves_end_at_the_last_deadline_given, manual_new(TICK_NS, 2))
{
    enum { TASKS = 300, OPERATIONS = 60000 };
    static struct elapse_handle handles[TASKS];
    static uint64_t deadlines[TASKS];
    struct random_source random = {43};
    uint64_t now = 0;
    size_t seen = 0;

    for (size_t i = 0; i < TASKS; i++)
        handles[i] = (struct elapse_handle){0, 0, 0};
    for (size_t n = 0; n < OPERATIONS; n++) {
        size_t i = (size_t)random_below(&random, TASKS);
        uint64_t deadline = (now / TICK_NS + 1 + random_of_bits(&random, 14)) * TICK_NS;
        enum elapse_task_state before = elapse_task_look_up(scheduler, handles[i], NULL);

        if (before == ELAPSE_TASK_GONE) {
            handles[i] = schedule_at(scheduler, task_named(i), deadline);
        } else if (random_one_in(&random, 10)) {
            assert_int_equal(elapse_task_cancel(scheduler, handles[i]), ELAPSE_CANCEL_REMOVED);
            continue;
        } else {
            assert_ok(elapse_task_reschedule_at(scheduler, handles[i], deadline));
        }
        deadlines[i] = deadline;
        if (n % 16 != 0)
            continue;
        now += random_of_bits(&random, 9) * TICK_NS;
        (void)step(scheduler, now);
        for (; seen < runs(); seen++) {
            struct run_record record = run_at(seen);

            assert_int_equal(record.run.intended_ns, deadlines[record.number]);
            assert_true(same_handle(record.run.handle, handles[record.number]));
        }
        for (size_t j = 0; j < TASKS; j++)
            assert_true(elapse_task_look_up(scheduler, handles[j], NULL) == ELAPSE_TASK_GONE ||
                        deadlines[j] > now);
    }
    assert_true(seen > OPERATIONS / 100);
}

/* ---- from inside actions ---- */

struct mover {
    struct elapse_handle moved; /* zero: the mover itself */
    uint64_t delay_ns;
    unsigned moves_left;
    enum elapse_error error;
    enum elapse_task_state state;
    uint64_t deadline_ns; /* as looked up after moving */
};

static void move(void *context, const struct elapse_run *run)
{
    struct mover *mover = context;
    struct elapse_handle moved = zero_handle(mover->moved) ? run->handle : mover->moved;

    write_run(name_of('m'), run);
    if (mover->moves_left == 0)
        return;
    mover->moves_left--;
    mover->error = elapse_task_reschedule_after(run->scheduler, moved, mover->delay_ns);
    mover->state = look_up_deadline(run->scheduler, moved, &mover->deadline_ns);
}

MANUAL_TEST(from_inside_its_own_action_it_runs_again)
{
    struct mover mover = {.delay_ns = 10 * TICK_NS, .moves_left = 2};
    struct elapse_task task = {.action = move, .context = &mover};
    struct elapse_handle handle = schedule_at(scheduler, task, 5 * TICK_NS);

    expect_step(scheduler, 5 * TICK_NS, "m");
    assert_ok(mover.error);
    assert_int_equal(mover.state, ELAPSE_TASK_RUNNING);
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_PENDING);
    assert_int_equal(pending_tasks(scheduler), 1);
    expect_step(scheduler, 14 * TICK_NS, "");
    expect_step(scheduler, 15 * TICK_NS, "m");
    expect_step(scheduler, 25 * TICK_NS, "m");
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_GONE);
    expect_step(scheduler, 500 * TICK_NS, "");
    for (size_t i = 0; i < 3; i++)
        assert_true(same_handle(run_at(i).run.handle, handle));
}

static void end_mover(void *mover)
{
    (void)mover;
    write_end(name_of('m'));
}

MANUAL_TEST(the_end_comes_only_after_the_last_run)
{
    struct mover mover = {.delay_ns = TICK_NS, .moves_left = 3};
    struct elapse_task task = {.action = move, .context = &mover, .destroy = end_mover};

    (void)schedule_at(scheduler, task, TICK_NS);
    for (uint64_t i = 1; i <= 4; i++) {
        expect_step(scheduler, i * TICK_NS, "m");
        assert_int_equal(pending_tasks(scheduler), i < 4 ? 1 : 0);
        assert_int_equal(ends_of('m'), i < 4 ? 0 : 1);
    }
}

MANUAL_TEST(with_delay_0_it_runs_again_in_the_same_step)
{
    struct mover mover = {.delay_ns = 0, .moves_left = 9};
    struct elapse_task task = {.action = move, .context = &mover};

    (void)schedule_at(scheduler, task, 5 * TICK_NS);
    expect_step(scheduler, 5 * TICK_NS, "mmmmmmmmmm");
    expect_step(scheduler, 500 * TICK_NS, "");
}

MANUAL_TEST(moved_again_it_can_be_cancelled)
{
    struct mover mover = {.delay_ns = 10 * TICK_NS, .moves_left = 1};
    struct elapse_task task = {.action = move, .context = &mover};
    struct elapse_handle handle = schedule_at(scheduler, task, 5 * TICK_NS);

    expect_step(scheduler, 5 * TICK_NS, "m");
    assert_ok(elapse_task_reschedule_at(scheduler, handle, 100 * TICK_NS));
    expect_step(scheduler, 99 * TICK_NS, "");
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    expect_step(scheduler, 500 * TICK_NS, "");
}

MANUAL_TEST(a_due_task_of_the_same_tick_is_postponed_by_an_earlier_one)
{
    struct mover mover = {.delay_ns = 10 * TICK_NS, .moves_left = 1};
    struct elapse_task task = {.action = move, .context = &mover};

    (void)schedule_at(scheduler, task, 5 * TICK_NS);
    mover.moved = schedule_at(scheduler, task_with_end('p'), 5 * TICK_NS);
    (void)schedule_at(scheduler, task_with_end('z'), 5 * TICK_NS);
    expect_step(scheduler, 5 * TICK_NS, "mz");
    assert_ok(mover.error);
    assert_int_equal(mover.state, ELAPSE_TASK_PENDING);
    assert_int_equal(mover.deadline_ns, 15 * TICK_NS);
    expect_step(scheduler, 14 * TICK_NS, "");
    expect_step(scheduler, 15 * TICK_NS, "p");
}

/* ---- with workers ---- */

TEST(a_due_task_that_waits_for_a_worker_is_moved)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = started_new(1);

    (void)schedule_after(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, 1);
    struct elapse_handle handle = schedule_after(scheduler, task_with_end('m'), 0);
    (void)schedule_after(scheduler, task_with_end('l'), 0);
    sleep_ns(10 * TICK_NS);
    assert_ok(elapse_task_reschedule_after(scheduler, handle, 3600 * ELAPSE_SECOND_NS));
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_PENDING);
    open_gate(&gate);
    wait_for_runs(1);
    expect_runs("l");
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_PENDING);
    /* And back to now. */
    assert_ok(elapse_task_reschedule_after(scheduler, handle, 0));
    wait_for_runs(2);
    expect_runs("m");
    scheduler_end(scheduler);
    assert_int_equal(ends_of('m'), 1);
}

TEST(a_queued_task_moved_by_little_is_not_early)
{
    enum { TASKS = 100 };
    static struct gate gate;
    static uint64_t earliest_ns[TASKS];
    struct elapse_scheduler *scheduler = started_new(1);
    struct elapse_handle handles[TASKS];

    (void)schedule_after(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, 1);
    for (size_t i = 0; i < TASKS; i++)
        handles[i] = schedule_after(scheduler, task_named(i), 0);
    sleep_ns(5 * TICK_NS);
    for (size_t i = 0; i < TASKS; i++) {
        earliest_ns[i] = elapse_scheduler_now_ns(scheduler) + i % 20 * TICK_NS;
        assert_ok(elapse_task_reschedule_at(scheduler, handles[i], earliest_ns[i]));
    }
    open_gate(&gate);
    wait_for_runs(TASKS);
    scheduler_end(scheduler);
    assert_int_equal(runs(), TASKS);
    for (size_t i = 0; i < TASKS; i++) {
        struct run_record record = run_at(i);

        assert_true(record.run.actual_ns >= earliest_ns[record.number]);
        assert_true(record.run.actual_ns >= record.run.intended_ns);
    }
}

TEST(a_running_task_waits_for_its_action_to_end)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = started_new(4);
    struct elapse_handle handle = schedule_after(scheduler, task_at_gate(&gate), 0);

    wait_entered(&gate, 1);
    /* Several moves while it runs make one more run. */
    assert_ok(elapse_task_reschedule_after(scheduler, handle, 3600 * ELAPSE_SECOND_NS));
    assert_ok(elapse_task_reschedule_after(scheduler, handle, 5 * TICK_NS));
    assert_ok(elapse_task_reschedule_after(scheduler, handle, 0));
    assert_int_equal(pending_tasks(scheduler), 1);
    sleep_ns(20 * TICK_NS);
    assert_int_equal(atomic_load(&gate.entered), 1);
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_RUNNING);
    open_gate(&gate);
    wait_entered(&gate, 2);
    sleep_ns(5 * TICK_NS);
    scheduler_end(scheduler);
    assert_int_equal(atomic_load(&gate.entered), 2);
}

TEST(rapid_moves_on_the_real_clock_never_lose_a_task)
{
    enum { TASKS = 1000, MOVES = 10 };
    static struct elapse_handle handles[TASKS];
    struct elapse_scheduler *scheduler = started_new(2);

    for (size_t i = 0; i < TASKS; i++)
        handles[i] = schedule_after(scheduler, task_with_end(i), 3600 * ELAPSE_SECOND_NS);
    /* Only the last move lets them come due, however slow this thread is. */
    for (uint64_t turn = 1; turn <= MOVES; turn++) {
        for (size_t i = 0; i < TASKS; i++) {
            uint64_t delay_ns = (MOVES - turn) * 100 * ELAPSE_SECOND_NS + i % 3 * TICK_NS;

            assert_ok(elapse_task_reschedule_after(scheduler, handles[i], delay_ns));
        }
    }
    wait_for_runs(TASKS);
    scheduler_end(scheduler);
    assert_int_equal(runs(), TASKS);
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(ends_of(i), 1);
}

struct pusher {
    struct elapse_scheduler *scheduler;
    struct elapse_handle handle;
    pthread_t thread;
    size_t accepted;
};

/* Moves the task to now again and again, until it is refused. */
static void *push(void *context)
{
    struct pusher *pusher = context;

    for (size_t i = 0; i < 2000; i++)
        pusher->accepted +=
            elapse_task_reschedule_after(pusher->scheduler, pusher->handle, 0) == ELAPSE_OK;
    return NULL;
}

static atomic_uint inside;
static atomic_uint overlaps;

static void run_alone(void *context, const struct elapse_run *run)
{
    (void)context;
    if (atomic_fetch_add(&inside, 1) != 0)
        atomic_fetch_add(&overlaps, 1);
    write_run(name_of('a'), run);
    sleep_ns(ELAPSE_MILLISECOND_NS / 10);
    atomic_fetch_sub(&inside, 1);
}

TEST(a_task_never_overlaps_itself)
{
    enum { PUSHERS = 4 };
    static struct pusher pushers[PUSHERS];
    struct elapse_scheduler_options options;
    struct elapse_task task = {.action = run_alone, .context = name_of('a'), .destroy = write_end};
    size_t accepted = 0;

    elapse_scheduler_options_init(&options);
    options.tick_ns = 1000;
    struct elapse_scheduler *scheduler = started_with(&options);
    struct elapse_handle handle = schedule_after(scheduler, task, 0);
    for (size_t i = 0; i < PUSHERS; i++) {
        pushers[i] = (struct pusher){.scheduler = scheduler, .handle = handle};
        assert_int_equal(pthread_create(&pushers[i].thread, NULL, push, &pushers[i]), 0);
    }
    for (size_t i = 0; i < PUSHERS; i++) {
        assert_int_equal(pthread_join(pushers[i].thread, NULL), 0);
        accepted += pushers[i].accepted;
    }
    (void)elapse_task_cancel_wait(scheduler, handle, ELAPSE_NEVER);
    scheduler_end(scheduler);
    assert_int_equal(atomic_load(&overlaps), 0);
    assert_true(runs() <= accepted + 1);
    assert_int_equal(ends_of('a'), 1);
    for (size_t i = 0; i < runs(); i++)
        assert_true(same_handle(run_at(i).run.handle, handle));
}

TEST_MAIN("reschedule")
