/*
 * Tests the life of tasks that recur: what may happen to them between runs and in a run, with keys,
 * with limits, when the scheduler is closed, and on workers.
 */
#include "recurring.h"

#include "seed.h"

/* ---- an action that does something, and notes how it went ---- */

struct actor {
    size_t number;
    uint64_t when; /* in which run */
    void (*deed)(struct actor *actor, const struct elapse_run *run);
    uint64_t deadline_ns;
    struct elapse_task task;
    enum elapse_error error;
    enum elapse_cancel answer;
    enum elapse_task_state state;
    struct elapse_handle handle;
    bool found;
    struct elapse_statistics statistics;
};

static void act(void *context, const struct elapse_run *run)
{
    struct actor *actor = context;

    write_run(name_of(actor->number), run);
    if (run->number == actor->when && actor->deed != NULL)
        actor->deed(actor, run);
}

static void actor_ends(void *context)
{
    const struct actor *actor = context;

    write_end(name_of(actor->number));
}

/* A task of period `period_ns` with this actor. */
static struct elapse_task acting(struct actor *actor, uint64_t period_ns)
{
    struct elapse_task task = periodic(actor->number, period_ns);

    task.action = act;
    task.destroy = actor_ends;
    task.context = actor;
    return task;
}

static void cancels(struct actor *actor, const struct elapse_run *run)
{
    actor->answer = elapse_task_cancel(run->scheduler, run->handle);
}

static void waits_for_itself(struct actor *actor, const struct elapse_run *run)
{
    actor->answer = elapse_task_cancel_wait(run->scheduler, run->handle, ELAPSE_NEVER);
}

static void moves_itself(struct actor *actor, const struct elapse_run *run)
{
    actor->error = elapse_task_reschedule_at(run->scheduler, run->handle, actor->deadline_ns);
}

static void looks(struct actor *actor, const struct elapse_run *run)
{
    actor->state = look_up_deadline(run->scheduler, run->handle, &actor->deadline_ns);
    elapse_scheduler_statistics(run->scheduler, &actor->statistics);
}

static void schedules(struct actor *actor, const struct elapse_run *run)
{
    actor->error =
        elapse_task_schedule_at(run->scheduler, &actor->task, actor->deadline_ns, &actor->handle);
}

/* ---- cancelling and moving ---- */

MANUAL_TEST(a_cancel_in_its_action_is_the_last_word)
{
    static struct actor actors[2] = {
        {.number = 'a', .when = 3, .deed = cancels},
        {.number = 'b', .when = 3, .deed = waits_for_itself},
    };
    struct elapse_handle handle = schedule_at(scheduler, acting(&actors[0], T(10)), T(10));

    (void)schedule_at(scheduler, acting(&actors[1], T(10)), T(10));
    expect_step(scheduler, T(10), "ab");
    expect_step(scheduler, T(20), "ab");
    assert_int_equal(ends(), 0);
    expect_step(scheduler, T(30), "ab");
    assert_int_equal(actors[0].answer, ELAPSE_CANCEL_RUNNING);
    assert_int_equal(actors[1].answer, ELAPSE_CANCEL_SELF);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(ends_of('b'), 1);
    expect_step(scheduler, T(1000), "");
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_GONE);
    assert_int_equal(elapse_task_reschedule_after(scheduler, handle, 0), ELAPSE_ERROR_GONE);
    assert_int_equal(pending_tasks(scheduler), 0);
}

/* In a burst the next occurrence is due already when the cancel comes. */
MANUAL_TEST(a_cancel_stops_a_burst)
{
    static struct actor actor = {.number = 'a', .when = 3, .deed = cancels};
    struct elapse_task task = acting(&actor, T(1));

    task.if_missed = ELAPSE_MISSED_BURST;
    (void)schedule_at(scheduler, task, T(1));
    expect_step(scheduler, T(1000), "aaa");
    assert_int_equal(actor.answer, ELAPSE_CANCEL_RUNNING);
    assert_int_equal(ends_of('a'), 1);
}

TEST(moved_in_its_action_only_the_new_deadline_counts)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    static struct actor actor = {
        .number = 'a', .when = 2, .deed = moves_itself, .deadline_ns = T(57)};

    (void)schedule_at(scheduler, acting(&actor, T(10)), T(10));
    expect_step(scheduler, T(10), "a");
    expect_step(scheduler, T(20), "a");
    assert_ok(actor.error);
    expect_step(scheduler, T(56), "");
    expect_step(scheduler, T(57), "a");
    expect_step(scheduler, T(66), "");
    expect_step(scheduler, T(67), "a");
    expect_run(3, 4, T(67), T(67), 0);
    assert_int_equal(ends(), 0);
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
}

MANUAL_TEST(moved_in_its_action_to_the_past_it_runs_at_once)
{
    static struct actor actor = {.number = 'a', .when = 1, .deed = moves_itself};
    struct elapse_task task = acting(&actor, T(10));

    task.recurrence = ELAPSE_RECUR_AFTER_EACH;
    (void)schedule_at(scheduler, task, T(10));
    expect_step(scheduler, T(10), "aa");
    expect_step(scheduler, T(19), "");
    expect_step(scheduler, T(20), "a");
    assert_int_equal(run_at(2).run.number, 3);
}

/* ---- while it runs ---- */

MANUAL_TEST(while_it_runs_it_counts_as_pending)
{
    static struct actor actor = {.number = 'a', .when = 2, .deed = looks};
    struct elapse_handle handle = schedule_at(scheduler, acting(&actor, T(10)), T(10));
    struct elapse_statistics statistics;

    expect_step(scheduler, T(10), "a");
    expect_step(scheduler, T(20), "a");
    assert_int_equal(actor.state, ELAPSE_TASK_RUNNING);
    assert_int_equal(actor.deadline_ns, T(20));
    assert_int_equal(actor.statistics.pending, 1);
    assert_int_equal(actor.statistics.running, 1);
    elapse_scheduler_statistics(scheduler, &statistics);
    assert_int_equal(statistics.scheduled, 1);
    assert_int_equal(statistics.rescheduled, 0);
    assert_int_equal(statistics.begun, 2);
    assert_int_equal(statistics.pending, 1);
    assert_int_equal(statistics.running, 0);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    elapse_scheduler_statistics(scheduler, &statistics);
    assert_int_equal(statistics.removed, 1);
    assert_int_equal(statistics.pending, 0);
}

/* However full the scheduler is, a task that recurs has its place. */
TEST(it_keeps_its_place_among_pending_max)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);
    static struct actor actor = {.number = 'a', .when = 2, .deed = schedules};

    options.pending_max = 2;
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    struct elapse_handle handle = schedule_at(scheduler, acting(&actor, T(10)), T(10));
    (void)schedule_at(scheduler, task_with_end('f'), T(1000000));
    actor.task = task_with_end('x');
    assert_int_equal(elapse_task_schedule_at(scheduler, &actor.task, 0, NULL), ELAPSE_ERROR_LIMIT);
    for (uint64_t n = 1; n <= 100; n++)
        expect_step(scheduler, T(10 * n), "a");
    assert_int_equal(actor.error, ELAPSE_ERROR_LIMIT);
    assert_int_equal(pending_tasks(scheduler), 2);
    assert_ok(elapse_task_reschedule_after(scheduler, handle, T(3)));
    expect_step(scheduler, T(1003), "a");
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    (void)schedule_at(scheduler, actor.task, 0);
    scheduler_end(scheduler);
}

/* ---- keys ---- */

static struct elapse_task keyed(size_t number, enum elapse_key_policy policy)
{
    struct elapse_task task = task_with_key(number, "key", policy);

    task.recurrence = ELAPSE_RECUR_PERIOD;
    task.period_ns = T(10);
    return task;
}

TEST(between_runs_it_is_replaced)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 3);
    struct elapse_task other = keyed('b', ELAPSE_KEY_REPLACE);
    struct elapse_handle old = schedule_at(scheduler, keyed('a', ELAPSE_KEY_REPLACE), T(10));
    struct elapse_handle kept = {0, 0, 0};

    expect_step(scheduler, T(10), "a");
    other.if_key_pending = ELAPSE_KEY_FAIL;
    assert_int_equal(elapse_task_schedule_at(scheduler, &other, T(13), &kept),
                     ELAPSE_ERROR_KEY_PENDING);
    assert_true(same_handle(kept, old));
    other.if_key_pending = ELAPSE_KEY_KEEP;
    assert_ok(elapse_task_schedule_at(scheduler, &other, T(13), &kept));
    assert_true(same_handle(kept, old));
    assert_int_equal(ends_of('b'), 1);
    other.if_key_pending = ELAPSE_KEY_REPLACE;
    (void)schedule_at(scheduler, other, T(13));
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(pending_tasks(scheduler), 1);
    assert_int_equal(elapse_task_cancel(scheduler, old), ELAPSE_CANCEL_GONE);
    expect_step(scheduler, T(13), "b");
    expect_step(scheduler, T(22), "");
    expect_step(scheduler, T(23), "b");
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(ends_of('b'), 2);
}

static atomic_uint gate_ends;

static void end_at_gate(void *context)
{
    (void)context;
    atomic_fetch_add(&gate_ends, 1);
}

/* A recurring task at a gate, with a key, that runs on a worker of two. */
static struct elapse_scheduler *held_new(struct gate *gate, struct elapse_handle *handle)
{
    struct elapse_scheduler *scheduler = started_new(2);
    struct elapse_task task = task_at_gate(gate);

    *gate = (struct gate){0};
    atomic_store(&gate_ends, 0);
    task.destroy = end_at_gate;
    task.key = "key";
    task.key_bytes = 3;
    task.recurrence = ELAPSE_RECUR_PERIOD;
    task.period_ns = T(1);
    *handle = schedule_after(scheduler, task, 0);
    wait_entered(gate, 1);
    return scheduler;
}

TEST(keep_and_fail_see_it_while_it_runs)
{
    static struct gate gate;
    struct elapse_handle handle;
    struct elapse_handle found = {0, 0, 0};
    struct elapse_scheduler *scheduler = held_new(&gate, &handle);
    struct elapse_task other = keyed('b', ELAPSE_KEY_FAIL);

    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_RUNNING);
    assert_int_equal(pending_tasks(scheduler), 1);
    assert_int_equal(elapse_task_schedule_after(scheduler, &other, 0, &found),
                     ELAPSE_ERROR_KEY_PENDING);
    assert_true(same_handle(found, handle));
    assert_int_equal(ends_of('b'), 0);
    found = (struct elapse_handle){0, 0, 0};
    other.if_key_pending = ELAPSE_KEY_KEEP;
    assert_ok(elapse_task_schedule_after(scheduler, &other, 0, &found));
    assert_true(same_handle(found, handle));
    assert_int_equal(ends_of('b'), 1);
    assert_true(elapse_task_find(scheduler, "key", 3, &found));
    assert_true(same_handle(found, handle));
    open_gate(&gate);
    wait_entered(&gate, 5);
    assert_int_equal(
        elapse_task_cancel_wait(scheduler, handle, ELAPSE_NEVER) == ELAPSE_CANCEL_RUNNING, false);
    assert_false(elapse_task_find(scheduler, "key", 3, &found));
    scheduler_end(scheduler);
    assert_int_equal(runs(), 0);
}

/* The action of the replaced task goes on, and does not run again. The new task begins when it has
 * ended. */
TEST(replaced_while_it_runs_it_ends_with_that_run)
{
    static struct gate gate;
    struct elapse_handle handle;
    struct elapse_handle found;
    struct elapse_scheduler *scheduler = held_new(&gate, &handle);
    struct elapse_task other = keyed('b', ELAPSE_KEY_REPLACE);

    other.period_ns = T(2);
    struct elapse_handle other_handle = schedule_after(scheduler, other, 0);
    assert_false(same_handle(other_handle, handle));
    assert_int_equal(pending_tasks(scheduler), 1);
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_RUNNING);
    assert_int_equal(elapse_task_reschedule_after(scheduler, handle, 0), ELAPSE_ERROR_GONE);
    assert_true(elapse_task_find(scheduler, "key", 3, &found));
    assert_true(same_handle(found, other_handle));
    sleep_ns(5 * TICK_NS);
    assert_int_equal(runs(), 0);
    assert_int_equal(atomic_load(&gate_ends), 0);
    open_gate(&gate);
    wait_for_runs(10);
    assert_int_equal(atomic_load(&gate_ends), 1);
    assert_int_equal(atomic_load(&gate.entered), 1);
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_GONE);
    assert_int_equal(ends_of('b'), 0);
    scheduler_end(scheduler);
    assert_int_equal(ends_of('b'), 1);
}

TEST(cancelled_while_it_runs_it_ends_with_that_run)
{
    static struct gate gate;
    struct elapse_handle handle;
    struct elapse_scheduler *scheduler = held_new(&gate, &handle);

    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, TICK_NS), ELAPSE_CANCEL_RUNNING);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    assert_int_equal(elapse_task_reschedule_after(scheduler, handle, 0), ELAPSE_ERROR_GONE);
    assert_int_equal(pending_tasks(scheduler), 0);
    open_gate(&gate);
    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, ELAPSE_NEVER), ELAPSE_CANCEL_GONE);
    sleep_ns(5 * TICK_NS);
    assert_int_equal(atomic_load(&gate.entered), 1);
    scheduler_end(scheduler);
    assert_int_equal(atomic_load(&gate_ends), 1);
}

/* ---- closing, batches, memory ---- */

static struct elapse_handed_back handed_back[4];
static size_t handed_back_count;

static void note_handed_back(const struct elapse_handed_back *task, void *context)
{
    (void)context;
    if (handed_back_count < 4)
        handed_back[handed_back_count] = *task;
    handed_back_count++;
}

TEST(closing_ends_it)
{
    static const enum elapse_close ways[] = {ELAPSE_CLOSE_DROP, ELAPSE_CLOSE_RUN_DUE};

    for (size_t i = 0; i < 2; i++) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 2);

        (void)schedule_at(scheduler, periodic('a', T(10)), T(10));
        expect_step(scheduler, T(15), "a");
        (void)schedule_at(scheduler, periodic('d', T(10)), T(15));
        assert_ok(elapse_scheduler_close(scheduler, ways[i], NULL, NULL));
        expect_runs(i == 0 ? "" : "d");
        assert_int_equal(ends_of('a'), 1);
        assert_int_equal(ends_of('d'), 1);
        assert_int_equal(pending_tasks(scheduler), 0);
        scheduler_end(scheduler);
        assert_int_equal(ends(), 2);
    }
}

TEST(moved_while_it_runs_it_is_the_pending_one_of_its_key)
{
    static struct gate gate;
    struct elapse_handle handle;
    struct elapse_handle found = {0, 0, 0};
    struct elapse_scheduler *scheduler = held_new(&gate, &handle);
    struct elapse_task other = keyed('b', ELAPSE_KEY_FAIL);

    assert_ok(elapse_task_reschedule_after(scheduler, handle, ELAPSE_HOUR_NS));
    assert_int_equal(pending_tasks(scheduler), 1);
    assert_int_equal(elapse_task_schedule_after(scheduler, &other, 0, &found),
                     ELAPSE_ERROR_KEY_PENDING);
    assert_true(same_handle(found, handle));
    open_gate(&gate);
    sleep_ns(5 * TICK_NS);
    assert_int_equal(atomic_load(&gate.entered), 1);
    assert_ok(elapse_task_reschedule_after(scheduler, handle, 0));
    wait_entered(&gate, 3);
    assert_int_equal(atomic_load(&gate_ends), 0);
    scheduler_end(scheduler);
    assert_int_equal(atomic_load(&gate_ends), 1);
}

/* Closing waits for the run, and there is none after it. */
TEST(closed_while_it_runs)
{
    static const enum elapse_close ways[] = {ELAPSE_CLOSE_DROP, ELAPSE_CLOSE_RUN_DUE,
                                             ELAPSE_CLOSE_HAND_BACK};

    for (size_t i = 0; i < 3; i++) {
        static struct gate gate;
        struct elapse_handle handle;
        struct elapse_scheduler *scheduler = held_new(&gate, &handle);

        open_gate(&gate);
        handed_back_count = 0;
        assert_ok(elapse_scheduler_close(scheduler, ways[i], note_handed_back, NULL));
        unsigned entered = atomic_load(&gate.entered);
        assert_int_equal(atomic_load(&gate.left), entered);
        assert_int_equal(handed_back_count, i == 2);
        assert_int_equal(atomic_load(&gate_ends), i != 2);
        assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_GONE);
        sleep_ns(3 * TICK_NS);
        assert_int_equal(atomic_load(&gate.entered), entered);
        scheduler_end(scheduler);
        assert_int_equal(atomic_load(&gate_ends), i != 2);
    }
}

TEST(handed_back_it_can_be_scheduled_again)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_task task = recurring('a', ELAPSE_RECUR_PERIOD, T(10), ELAPSE_MISSED_BURST);
    struct elapse_task each = recurring('b', ELAPSE_RECUR_AFTER_EACH, T(7) + 3, ELAPSE_MISSED_SKIP);

    (void)schedule_at(scheduler, task, T(10));
    (void)schedule_at(scheduler, each, T(9000));
    assert_int_equal(step(scheduler, T(1005)), 100);
    handed_back_count = 0;
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_HAND_BACK, note_handed_back, NULL));
    assert_int_equal(handed_back_count, 2);
    if (number_of(handed_back[0].task.context) == 'b') {
        handed_back[2] = handed_back[0];
        handed_back[0] = handed_back[1];
        handed_back[1] = handed_back[2];
    }
    assert_int_equal(handed_back[0].deadline_ns, T(1010));
    assert_false(handed_back[0].wall_clock);
    assert_int_equal(handed_back[0].task.recurrence, ELAPSE_RECUR_PERIOD);
    assert_int_equal(handed_back[0].task.period_ns, T(10));
    assert_int_equal(handed_back[0].task.if_missed, ELAPSE_MISSED_BURST);
    assert_ptr_equal(handed_back[0].task.destroy, write_end);
    assert_int_equal(handed_back[1].deadline_ns, T(9000));
    assert_int_equal(handed_back[1].task.recurrence, ELAPSE_RECUR_AFTER_EACH);
    assert_int_equal(handed_back[1].task.period_ns, T(7) + 3);
    assert_int_equal(ends(), 0);
    scheduler_end(scheduler);
    assert_int_equal(ends(), 0);
    scheduler = manual_new(TICK_NS, 1);
    (void)schedule_at(scheduler, handed_back[0].task, handed_back[0].deadline_ns);
    expect_step(scheduler, T(1010), "a");
    expect_step(scheduler, T(1020), "a");
    scheduler_end(scheduler);
}

SCHEDULER_TEST(a_batch_may_have_recurring_tasks, manual_new(TICK_NS, 3))
{
    enum { COUNT = 200 };
    static struct elapse_batch_task batch[COUNT];
    struct elapse_handle handles[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        batch[i] = (struct elapse_batch_task){.task = periodic(i, T(i % 5)), .deadline_ns = T(5)};
        if (i % 10 == 9)
            batch[i].task = task_with_end(i);
    }
    assert_int_equal(elapse_task_schedule_batch(scheduler, batch, COUNT), ELAPSE_ERROR_ARGUMENT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(batch[i].error,
                         i % 10 != 9 && i % 5 == 0 ? ELAPSE_ERROR_ARGUMENT : ELAPSE_OK);
        handles[i] = batch[i].handle;
    }
    assert_int_equal(step(scheduler, T(5)), COUNT - COUNT / 5);
    assert_int_equal(step(scheduler, T(6)), COUNT / 5);
    assert_int_equal(step(scheduler, T(7)), 2 * COUNT / 5);
    (void)elapse_scheduler_trim(scheduler);
    assert_int_equal(step(scheduler, T(8)), 2 * COUNT / 5);
    assert_int_equal(pending_tasks(scheduler), 7 * COUNT / 10);
    assert_int_equal(elapse_task_cancel_batch(scheduler, handles, COUNT, NULL), 7 * COUNT / 10);
    assert_int_equal(ends(), 8 * COUNT / 10);
    assert_int_equal(step(scheduler, T(1000)), 0);
}

/* ---- on the real clock ---- */

struct busy {
    atomic_uint inside;
    atomic_uint runs;
    atomic_bool overlapped;
    atomic_bool early;
    atomic_bool miscounted;
    uint64_t first_ns;
    uint64_t period_ns;
};

static void be_busy(void *context, const struct elapse_run *run)
{
    struct busy *busy = context;

    if (atomic_fetch_add(&busy->inside, 1) != 0)
        atomic_store(&busy->overlapped, true);
    if (run->actual_ns < run->intended_ns ||
        run->intended_ns < busy->first_ns + (run->number - 1) * busy->period_ns)
        atomic_store(&busy->early, true);
    if (run->number != atomic_fetch_add(&busy->runs, 1) + 1)
        atomic_store(&busy->miscounted, true);
    if (run->number % 3 == 0)
        sleep_ns(3 * busy->period_ns);
    atomic_fetch_sub(&busy->inside, 1);
}

static bool hundred_runs(void *context)
{
    struct busy *busy = context;

    return atomic_load(&busy->runs) >= 100;
}

SCHEDULER_TEST(on_workers_it_never_overlaps_itself_nor_is_early, started_new(4))
{
    static struct busy busy[4];
    struct elapse_handle handles[4];

    memset(busy, 0, sizeof busy);
    for (size_t i = 0; i < 4; i++) {
        struct elapse_task task = {.action = be_busy,
                                   .context = &busy[i],
                                   .recurrence = ELAPSE_RECUR_PERIOD,
                                   .period_ns = T(1),
                                   .if_missed = (enum elapse_missed)(i % 3)};

        if (i == 3)
            task.recurrence = ELAPSE_RECUR_AFTER_EACH;
        busy[i].first_ns = elapse_scheduler_now_ns(scheduler);
        busy[i].period_ns = T(1);
        handles[i] = schedule_at(scheduler, task, busy[i].first_ns);
    }
    for (size_t i = 0; i < 4; i++)
        wait_until(hundred_runs, &busy[i]);
    for (size_t i = 0; i < 4; i++) {
        enum elapse_cancel answer = elapse_task_cancel_wait(scheduler, handles[i], ELAPSE_NEVER);
        unsigned before = atomic_load(&busy[i].runs);

        assert_true(answer == ELAPSE_CANCEL_REMOVED || answer == ELAPSE_CANCEL_GONE);
        assert_int_equal(atomic_load(&busy[i].inside), 0);
        sleep_ns(3 * TICK_NS);
        assert_int_equal(atomic_load(&busy[i].runs), before);
        assert_false(atomic_load(&busy[i].overlapped));
        assert_false(atomic_load(&busy[i].early));
        assert_false(atomic_load(&busy[i].miscounted));
    }
}

/* A cancel at any moment, between two runs or in a run, ends the task. */
TEST(one_cancel_is_enough)
{
    struct elapse_scheduler *scheduler = started_new(2);
    struct random_source source = random_by_seed();

    for (int times = 0; times < 100; times++) {
        struct elapse_handle handle = schedule_after(scheduler, periodic('a', TICK_NS / 100), 0);
        size_t ended = ends();

        wait_for_runs(runs() + 1);
        sleep_ns(random_below(&source, TICK_NS));
        assert_int_not_equal(elapse_task_cancel_wait(scheduler, handle, ELAPSE_NEVER),
                             ELAPSE_CANCEL_RUNNING);
        size_t ran = runs();
        assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_GONE);
        sleep_ns(TICK_NS / 2);
        assert_int_equal(runs(), ran);
        assert_in_range(ends() - ended, 0, 1);
    }
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 100);
}

static void *spin(void *stop)
{
    while (!atomic_load((atomic_bool *)stop))
        continue;
    return NULL;
}

TEST(busy_threads_do_not_starve_it)
{
    static atomic_bool stop;
    struct elapse_task task = periodic('a', T(2));
    pthread_t threads[2];

    atomic_store(&stop, false);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, spin, &stop), 0);
    struct elapse_scheduler *scheduler = started_new(1);
    (void)schedule_after(scheduler, task, 0);
    wait_for_runs(50);
    atomic_store(&stop, true);
    for (size_t i = 0; i < 2; i++)
        (void)pthread_join(threads[i], NULL);
    scheduler_end(scheduler);
}

TEST_MAIN("recurrence_life")
