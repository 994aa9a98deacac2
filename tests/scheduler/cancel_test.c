/*
 * Tests what cancelling answers, and that each answer is true.
 */
#include "fixture.h"

#include "random.h"

static const struct elapse_handle no_handle = {0, 0, 0};

TEST(a_cancelled_task_never_runs)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_handle handle = schedule_at(scheduler, task_with_end('a'), 5 * TICK_NS);

    expect_step(scheduler, 4 * TICK_NS, "");
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(pending_tasks(scheduler), 0);
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_GONE);
    expect_step(scheduler, 1000 * TICK_NS, "");
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
}

MANUAL_TEST(only_the_first_cancel_removes)
{
    struct elapse_handle handle = schedule_at(scheduler, task_with_end('a'), 5 * TICK_NS);

    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_GONE);
    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, ELAPSE_NEVER), ELAPSE_CANCEL_GONE);
    assert_int_equal(ends_of('a'), 1);
}

MANUAL_TEST(a_task_that_ran_is_gone)
{
    struct elapse_handle handle = schedule_at(scheduler, task_with_end('a'), 5 * TICK_NS);
    uint64_t deadline = 0;

    expect_step(scheduler, 5 * TICK_NS, "a");
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_GONE);
    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, ELAPSE_NEVER), ELAPSE_CANCEL_GONE);
    assert_int_equal(look_up_deadline(scheduler, handle, &deadline), ELAPSE_TASK_GONE);
    assert_int_equal(deadline, ELAPSE_NEVER);
    assert_int_equal(ends_of('a'), 1);
}

/* ---- handles ---- */

SCHEDULER_TEST(handles_that_name_no_task_are_gone, manual_new(TICK_NS, 2))
{
    struct elapse_handle handle = schedule_at(scheduler, task_named('a'), 5 * TICK_NS);
    const struct elapse_handle strange[] = {
        no_handle,
        {UINT32_MAX, UINT32_MAX, UINT32_MAX},
        {UINT32_MAX, handle.generation, handle.shard},
        {handle.index + 1, handle.generation, handle.shard},
        {handle.index, handle.generation + 1, handle.shard},
        {handle.index, handle.generation - 1, handle.shard},
        {handle.index, 0, handle.shard},
        {handle.index, handle.generation ^ (UINT32_C(1) << 31), handle.shard},
        {handle.index, handle.generation, handle.shard + 1},
        {handle.index, handle.generation, handle.shard ^ 1},
        {handle.index, handle.generation, handle.shard ^ 256},
        {handle.index, handle.generation, UINT32_MAX},
        {handle.index ^ (UINT32_C(1) << 31), handle.generation, handle.shard},
        {handle.index ^ (UINT32_C(1) << 26), handle.generation, handle.shard},
    };

    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        uint64_t deadline = 0;

        assert_int_equal(elapse_task_cancel(scheduler, strange[i]), ELAPSE_CANCEL_GONE);
        assert_int_equal(elapse_task_cancel_wait(scheduler, strange[i], ELAPSE_NEVER),
                         ELAPSE_CANCEL_GONE);
        assert_int_equal(elapse_task_reschedule_at(scheduler, strange[i], 0), ELAPSE_ERROR_GONE);
        assert_int_equal(elapse_task_reschedule_after(scheduler, strange[i], 0), ELAPSE_ERROR_GONE);
        assert_int_equal(look_up_deadline(scheduler, strange[i], &deadline), ELAPSE_TASK_GONE);
        assert_int_equal(deadline, ELAPSE_NEVER);
    }
    expect_step(scheduler, 5 * TICK_NS, "a");
}

SCHEDULER_TEST(random_handles_are_gone, manual_new(TICK_NS, 3))
{
    enum { TASKS = 500, TRIES = 200000 };
    struct elapse_handle handles[TASKS];
    struct random_source random = {31};

    for (size_t i = 0; i < TASKS; i++)
        handles[i] = schedule_at(scheduler, task_named(i), 5 * TICK_NS);
    for (size_t i = 0; i < TRIES; i++) {
        struct elapse_handle handle = {(uint32_t)random_of_bits(&random, 32),
                                       (uint32_t)random_of_bits(&random, 32),
                                       (uint32_t)random_of_bits(&random, 32)};
        bool real = false;

        for (size_t j = 0; j < TASKS && !real; j++)
            real = same_handle(handle, handles[j]);
        if (!real)
            assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_GONE);
    }
    assert_int_equal(step(scheduler, 5 * TICK_NS), TASKS);
}

MANUAL_TEST(no_handle_is_zero_and_no_two_are_the_same)
{
    enum { TASKS = 1000 };
    static struct elapse_handle handles[TASKS];
    struct elapse_task task = task_named('a');

    /* Half of the tasks end in between, so that their places are used again. */
    for (size_t i = 0; i < TASKS; i++) {
        handles[i] = schedule_at(scheduler, task, TICK_NS);
        assert_false(zero_handle(handles[i]));
        for (size_t j = 0; j < i; j++)
            assert_false(same_handle(handles[i], handles[j]));
        if (i % 2 == 1)
            assert_int_equal(elapse_task_cancel(scheduler, handles[i]), ELAPSE_CANCEL_REMOVED);
    }
}

MANUAL_TEST(a_stale_handle_never_names_the_slots_next_task)
{
    enum { ROUNDS = 3000 };
    static struct elapse_handle stale[ROUNDS];
    struct elapse_task task = task_with_end('a');
    uint64_t now = 0;

    for (size_t i = 0; i < ROUNDS; i++) {
        struct elapse_handle handle = schedule_at(scheduler, task, now + TICK_NS);

        for (size_t j = 0; j < i; j += 1 + j / 8) {
            assert_int_equal(elapse_task_cancel(scheduler, stale[i - 1 - j]), ELAPSE_CANCEL_GONE);
            assert_int_equal(elapse_task_reschedule_at(scheduler, stale[i - 1 - j], 0),
                             ELAPSE_ERROR_GONE);
            assert_int_equal(elapse_task_look_up(scheduler, stale[i - 1 - j], NULL),
                             ELAPSE_TASK_GONE);
        }
        assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_PENDING);
        stale[i] = handle;
        if (i % 2 == 0) {
            now += TICK_NS;
            expect_step(scheduler, now, "a");
        } else {
            assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
        }
    }
    assert_int_equal(ends_of('a'), ROUNDS);
}

MANUAL_TEST(a_stale_handle_stays_stale_after_trim)
{
    enum { TASKS = 20000 };
    static struct elapse_handle stale[TASKS];
    struct elapse_task task = task_named('a');

    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < TASKS; i++)
            stale[i] = schedule_after(scheduler, task, TICK_NS);
        for (size_t i = 0; i < TASKS; i++)
            assert_int_equal(elapse_task_cancel(scheduler, stale[i]), ELAPSE_CANCEL_REMOVED);
        assert_true(elapse_scheduler_trim(scheduler) > 0);
        for (size_t i = 0; i < TASKS; i++)
            assert_int_equal(elapse_task_cancel(scheduler, stale[i]), ELAPSE_CANCEL_GONE);
        for (size_t i = 0; i < TASKS; i++)
            (void)schedule_after(scheduler, task, TICK_NS);
        for (size_t i = 0; i < TASKS; i++) {
            assert_int_equal(elapse_task_cancel(scheduler, stale[i]), ELAPSE_CANCEL_GONE);
            assert_int_equal(elapse_task_reschedule_after(scheduler, stale[i], 0),
                             ELAPSE_ERROR_GONE);
        }
        assert_int_equal(step(scheduler, elapse_scheduler_now_ns(scheduler) + TICK_NS), TASKS);
    }
}

MANUAL_TEST(all_cancelled_in_random_order)
{
    enum { TASKS = 20000 };
    static struct elapse_handle handles[TASKS];
    struct random_source random = {37};

    for (size_t i = 0; i < TASKS; i++)
        handles[i] = schedule_at(scheduler, task_with_end(i), random_of_bits(&random, 50));
    for (size_t left = TASKS; left > 0; left--) {
        size_t chosen = (size_t)random_below(&random, left);

        assert_int_equal(elapse_task_cancel(scheduler, handles[chosen]), ELAPSE_CANCEL_REMOVED);
        handles[chosen] = handles[left - 1];
        if (left % 1000 == 0)
            assert_int_equal(pending_tasks(scheduler), left - 1);
    }
    assert_int_equal(step(scheduler, UINT64_C(1) << 51), 0);
    assert_int_equal(elapse_scheduler_next_ns(scheduler), ELAPSE_NEVER);
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(ends_of(i), 1);
}

/* ---- from inside actions ---- */

struct canceller {
    struct elapse_handle victim;
    enum elapse_cancel answer;
    enum elapse_cancel second_answer;
    enum elapse_error reschedule_error;
    bool waits;
};

static void cancel_victim(void *context, const struct elapse_run *run)
{
    struct canceller *canceller = context;

    write_run(name_of('c'), run);
    if (canceller->waits)
        canceller->answer =
            elapse_task_cancel_wait(run->scheduler, canceller->victim, ELAPSE_NEVER);
    else
        canceller->answer = elapse_task_cancel(run->scheduler, canceller->victim);
    canceller->reschedule_error =
        elapse_task_reschedule_after(run->scheduler, canceller->victim, 0);
    canceller->second_answer = elapse_task_cancel(run->scheduler, canceller->victim);
}

TEST(a_task_of_the_same_tick_is_removed_from_inside_an_earlier_one)
{
    for (unsigned waits = 0; waits < 2; waits++) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
        struct canceller canceller = {.waits = waits == 1};
        struct elapse_task task = {.action = cancel_victim, .context = &canceller};

        (void)schedule_at(scheduler, task_with_end('b'), 5 * TICK_NS);
        (void)schedule_at(scheduler, task, 5 * TICK_NS);
        canceller.victim = schedule_at(scheduler, task_with_end('v'), 5 * TICK_NS);
        (void)schedule_at(scheduler, task_with_end('z'), 5 * TICK_NS);
        expect_step(scheduler, 5 * TICK_NS, "bcz");
        assert_int_equal(canceller.answer, ELAPSE_CANCEL_REMOVED);
        assert_int_equal(canceller.reschedule_error, ELAPSE_ERROR_GONE);
        assert_int_equal(canceller.second_answer, ELAPSE_CANCEL_GONE);
        assert_int_equal(ends_of('v'), 1);
        assert_int_equal(pending_tasks(scheduler), 0);
        scheduler_end(scheduler);
    }
}

MANUAL_TEST(a_later_due_task_of_the_same_step_is_removed_from_inside_an_action)
{
    struct canceller canceller = {.waits = false};
    struct elapse_task task = {.action = cancel_victim, .context = &canceller};

    (void)schedule_at(scheduler, task, 5 * TICK_NS);
    canceller.victim = schedule_at(scheduler, task_with_end('v'), 500 * TICK_NS);
    expect_step(scheduler, 1000 * TICK_NS, "c");
    assert_int_equal(canceller.answer, ELAPSE_CANCEL_REMOVED);
}

/* A task that cancels itself: the first cancel finds it running, and from then on it cannot be
 * rescheduled. */
struct self_canceller {
    enum elapse_error before;     /* a reschedule before the cancel */
    enum elapse_cancel waiting;   /* cancel_wait */
    enum elapse_cancel answer;    /* cancel */
    enum elapse_error after;      /* a reschedule after it */
    enum elapse_task_state found; /* looked up in between */
};

static void cancel_itself(void *context, const struct elapse_run *run)
{
    struct self_canceller *self = context;

    write_run(name_of('s'), run);
    self->before = elapse_task_reschedule_after(run->scheduler, run->handle, TICK_NS);
    self->waiting = elapse_task_cancel_wait(run->scheduler, run->handle, ELAPSE_NEVER);
    self->answer = elapse_task_cancel(run->scheduler, run->handle);
    self->after = elapse_task_reschedule_after(run->scheduler, run->handle, TICK_NS);
    self->found = elapse_task_look_up(run->scheduler, run->handle, NULL);
}

MANUAL_TEST(an_action_that_cancels_itself_runs_no_more)
{
    struct self_canceller self;
    struct elapse_task task = {.action = cancel_itself, .context = &self};
    struct elapse_handle handle = schedule_at(scheduler, task, 5 * TICK_NS);

    expect_step(scheduler, 5 * TICK_NS, "s");
    assert_ok(self.before);
    assert_int_equal(self.waiting, ELAPSE_CANCEL_SELF);
    assert_int_equal(self.answer, ELAPSE_CANCEL_RUNNING);
    assert_int_equal(self.after, ELAPSE_ERROR_GONE);
    assert_int_equal(self.found, ELAPSE_TASK_RUNNING);
    expect_step(scheduler, 1000 * TICK_NS, "");
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_GONE);
}

/* A destructor that cancels: no lock is held while it runs. */
struct cancelling_end {
    struct elapse_scheduler *scheduler;
    struct elapse_handle victim;
    enum elapse_cancel answer;
};

static void cancel_at_the_end(void *context)
{
    struct cancelling_end *end = context;

    end->answer = elapse_task_cancel(end->scheduler, end->victim);
}

MANUAL_TEST(a_destructor_may_cancel)
{
    struct cancelling_end end = {scheduler, schedule_at(scheduler, task_with_end('v'), 5 * TICK_NS),
                                 ELAPSE_CANCEL_SELF};
    struct elapse_task task = {.action = write_run, .context = &end, .destroy = cancel_at_the_end};

    assert_int_equal(elapse_task_cancel(scheduler, schedule_at(scheduler, task, 0)),
                     ELAPSE_CANCEL_REMOVED);
    assert_int_equal(end.answer, ELAPSE_CANCEL_REMOVED);
    assert_int_equal(ends_of('v'), 1);
}

/* ---- with workers ---- */

TEST(a_due_task_that_waits_for_a_worker_is_removed)
{
    static struct gate gates[2];

    /* Once with a worker, and once without workers, when the clock thread runs the actions. */
    for (unsigned workers = 0; workers < 2; workers++) {
        struct gate *gate = &gates[workers];
        struct elapse_scheduler *scheduler = started_new(workers);

        (void)schedule_after(scheduler, task_at_gate(gate), 0);
        wait_entered(gate, 1);
        struct elapse_handle handle = schedule_after(scheduler, task_with_end('q'), 0);
        (void)schedule_after(scheduler, task_with_end('l'), TICK_NS);
        sleep_ns(10 * TICK_NS);
        assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_PENDING);
        assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
        assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_GONE);
        assert_int_equal(ends_of('q'), 1);
        open_gate(gate);
        wait_for_runs(1);
        expect_runs("l");
        scheduler_end(scheduler);
        assert_int_equal(ends_of('q'), 1);
    }
}

TEST(due_tasks_beyond_the_queue_are_removed_too)
{
    enum { TASKS = 50 };
    static struct gate gate;
    struct elapse_scheduler_options options = real_options(1, 1);
    struct elapse_handle handles[TASKS];

    options.queue_tasks = 4;
    struct elapse_scheduler *scheduler = started_with(&options);
    (void)schedule_after(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, 1);
    for (size_t i = 0; i < TASKS; i++)
        handles[i] = schedule_after(scheduler, task_with_end(i), 0);
    sleep_ns(10 * TICK_NS);
    for (size_t i = 0; i < TASKS; i += 2)
        assert_int_equal(elapse_task_cancel(scheduler, handles[i]), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(pending_tasks(scheduler), TASKS / 2);
    open_gate(&gate);
    wait_for_runs(TASKS / 2);
    scheduler_end(scheduler);
    assert_int_equal(runs(), TASKS / 2);
    for (size_t i = 0; i < TASKS / 2; i++)
        assert_int_equal(run_at(i).number % 2, 1);
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(ends_of(i), 1);
}

TEST(a_running_task_is_said_to_run_and_the_cancel_sticks)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = started_new(2);
    struct elapse_handle handle = schedule_after(scheduler, task_at_gate(&gate), 0);

    wait_entered(&gate, 1);
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_RUNNING);
    assert_ok(elapse_task_reschedule_after(scheduler, handle, 0));
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    assert_int_equal(elapse_task_reschedule_after(scheduler, handle, 0), ELAPSE_ERROR_GONE);
    assert_int_equal(elapse_task_reschedule_at(scheduler, handle, 0), ELAPSE_ERROR_GONE);
    assert_int_equal(pending_tasks(scheduler), 0);
    open_gate(&gate);
    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, ELAPSE_NEVER), ELAPSE_CANCEL_GONE);
    assert_int_equal(atomic_load(&gate.left), 1);
    sleep_ns(10 * TICK_NS);
    scheduler_end(scheduler);
    /* Neither the reschedule before the cancel nor those after it made the task run again. */
    assert_int_equal(atomic_load(&gate.entered), 1);
}

SCHEDULER_TEST(waiting_gives_up_at_its_time_out, started_new(1))
{
    static struct gate gate;
    struct elapse_handle handle = schedule_after(scheduler, task_at_gate(&gate), 0);

    wait_entered(&gate, 1);
    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, 0), ELAPSE_CANCEL_RUNNING);
    uint64_t before_ns = elapse_scheduler_now_ns(scheduler);
    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, 20 * TICK_NS),
                     ELAPSE_CANCEL_RUNNING);
    assert_true(elapse_scheduler_now_ns(scheduler) - before_ns >= 20 * TICK_NS);
    assert_int_equal(atomic_load(&gate.left), 0);
    open_gate(&gate);
    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, ELAPSE_NEVER - 1),
                     ELAPSE_CANCEL_GONE);
    assert_int_equal(atomic_load(&gate.left), 1);
}

SCHEDULER_TEST(waiting_for_a_pending_task_does_not_wait, started_new(1))
{
    struct elapse_task task = task_with_end('a');
    struct elapse_handle handle = schedule_after(scheduler, task, 3600 * ELAPSE_SECOND_NS);

    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, ELAPSE_NEVER),
                     ELAPSE_CANCEL_REMOVED);
    assert_int_equal(ends_of('a'), 1);
}

struct waiter {
    struct elapse_scheduler *scheduler;
    struct elapse_handle handle;
    struct gate *gate;
    enum elapse_cancel answer;
    unsigned left_when_answered;
    pthread_t thread;
};

static void *wait_elsewhere(void *context)
{
    struct waiter *waiter = context;

    waiter->answer = elapse_task_cancel_wait(waiter->scheduler, waiter->handle, ELAPSE_NEVER);
    waiter->left_when_answered = atomic_load(&waiter->gate->left);
    return NULL;
}

TEST(several_threads_wait_until_the_action_has_returned)
{
    enum { WAITERS = 4 };
    static struct gate gate;
    static struct waiter waiters[WAITERS];
    struct elapse_scheduler *scheduler = started_new(2);
    struct elapse_handle handle = schedule_after(scheduler, task_at_gate(&gate), 0);

    wait_entered(&gate, 1);
    for (size_t i = 0; i < WAITERS; i++) {
        waiters[i] = (struct waiter){
            .scheduler = scheduler, .handle = handle, .gate = &gate, .answer = ELAPSE_CANCEL_SELF};
        assert_int_equal(pthread_create(&waiters[i].thread, NULL, wait_elsewhere, &waiters[i]), 0);
    }
    sleep_ns(10 * TICK_NS);
    open_gate(&gate);
    for (size_t i = 0; i < WAITERS; i++) {
        assert_int_equal(pthread_join(waiters[i].thread, NULL), 0);
        assert_int_equal(waiters[i].answer, ELAPSE_CANCEL_GONE);
        assert_int_equal(waiters[i].left_when_answered, 1);
    }
    scheduler_end(scheduler);
}

SCHEDULER_TEST(waiting_from_another_action_is_answered_too, started_new(2))
{
    static struct gate gate;
    static struct canceller canceller;
    struct elapse_task waiting = {.action = cancel_victim, .context = &canceller};

    canceller.waits = true;
    canceller.victim = schedule_after(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, 1);
    (void)schedule_after(scheduler, waiting, 0);
    wait_for_runs(1);
    open_gate(&gate);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    assert_int_equal(canceller.answer, ELAPSE_CANCEL_GONE);
    assert_int_equal(canceller.second_answer, ELAPSE_CANCEL_GONE);
}

/* ---- batches ---- */

SCHEDULER_TEST(a_batch_answers_for_each, manual_new(TICK_NS, 2))
{
    struct elapse_task pending = task_with_end('p');
    struct elapse_handle gone = schedule_at(scheduler, task_with_end('r'), 0);
    struct elapse_handle first = schedule_at(scheduler, pending, 5 * TICK_NS);
    struct elapse_handle second = schedule_at(scheduler, pending, ELAPSE_NEVER);
    const struct elapse_handle handles[] = {
        first,
        gone,
        no_handle,
        first, /* named twice: the second time it is gone */
        {first.index, first.generation, 77},
        {first.index, first.generation, UINT32_MAX},
        second,
        {second.index, second.generation ^ 1, second.shard},
    };
    enum { HANDLES = sizeof handles / sizeof *handles };
    enum elapse_cancel answers[HANDLES];

    expect_step(scheduler, 0, "r");
    assert_int_equal(elapse_task_cancel_batch(scheduler, handles, HANDLES, answers), 2);
    for (size_t i = 0; i < HANDLES; i++)
        assert_int_equal(answers[i], i == 0 || i == 6 ? ELAPSE_CANCEL_REMOVED : ELAPSE_CANCEL_GONE);
    assert_int_equal(ends_of('p'), 2);
    assert_int_equal(elapse_task_cancel_batch(scheduler, handles, HANDLES, NULL), 0);
    assert_int_equal(elapse_task_cancel_batch(scheduler, handles, 0, answers), 0);
    expect_step(scheduler, 100 * TICK_NS, "");
}

TEST(a_batch_of_running_ones_says_so)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = started_new(1);
    struct elapse_handle handles[2];
    enum elapse_cancel answers[2];

    handles[0] = schedule_after(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, 1);
    handles[1] = schedule_after(scheduler, task_with_end('q'), 0);
    assert_int_equal(elapse_task_cancel_batch(scheduler, handles, 2, answers), 1);
    assert_int_equal(answers[0], ELAPSE_CANCEL_RUNNING);
    assert_int_equal(answers[1], ELAPSE_CANCEL_REMOVED);
    assert_int_equal(elapse_task_reschedule_after(scheduler, handles[0], 0), ELAPSE_ERROR_GONE);
    open_gate(&gate);
    scheduler_end(scheduler);
    assert_int_equal(atomic_load(&gate.entered), 1);
    assert_int_equal(runs(), 0);
}

SCHEDULER_TEST(large_batches_over_several_shards, manual_new(TICK_NS, 7))
{
    enum { TASKS = 1000 };
    static struct elapse_handle handles[TASKS];
    static enum elapse_cancel answers[TASKS];
    static char keys[TASKS][8];
    struct random_source random = {41};

    /* Keys spread the tasks over the shards. */
    for (size_t i = 0; i < TASKS; i++) {
        for (size_t j = 0; j < 4; j++)
            keys[i][j] = (char)('a' + (i >> (4 * j)) % 16);
        struct elapse_task task = task_with_key(i, keys[i], ELAPSE_KEY_FAIL);
        handles[i] = schedule_at(scheduler, task, random_of_bits(&random, 40));
    }
    for (size_t i = 0; i < TASKS; i += 3)
        assert_int_equal(elapse_task_cancel(scheduler, handles[i]), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(elapse_task_cancel_batch(scheduler, handles, TASKS, answers),
                     TASKS - (TASKS + 2) / 3);
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(answers[i], i % 3 == 0 ? ELAPSE_CANCEL_GONE : ELAPSE_CANCEL_REMOVED);
        assert_int_equal(ends_of(i), 1);
    }
    assert_int_equal(pending_tasks(scheduler), 0);
}

/* ---- many threads ---- */

static void *arm_and_cancel(void *context)
{
    struct waiter *armer = context;
    struct elapse_task task = task_with_end('a');

    for (size_t i = 0; i < 200; i++) {
        struct elapse_handle handle;

        if (elapse_task_schedule_after(armer->scheduler, &task, 3600 * ELAPSE_SECOND_NS, &handle) !=
            ELAPSE_OK)
            return NULL;
        if (elapse_task_cancel(armer->scheduler, handle) == ELAPSE_CANCEL_REMOVED)
            armer->left_when_answered++;
    }
    return NULL;
}

TEST(many_threads_arm_and_cancel_and_none_runs)
{
    enum { THREADS = 32 };
    static struct waiter armers[THREADS];
    struct elapse_scheduler *scheduler = scheduler_new(NULL);

    assert_ok(elapse_scheduler_start(scheduler));
    for (size_t i = 0; i < THREADS; i++) {
        armers[i] = (struct waiter){.scheduler = scheduler};
        assert_int_equal(pthread_create(&armers[i].thread, NULL, arm_and_cancel, &armers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(armers[i].thread, NULL), 0);
        assert_int_equal(armers[i].left_when_answered, 200);
    }
    assert_int_equal(pending_tasks(scheduler), 0);
    scheduler_end(scheduler);
    assert_int_equal(runs(), 0);
    assert_int_equal(ends_of('a'), THREADS * 200);
}

struct racer {
    struct elapse_scheduler *scheduler;
    const struct elapse_handle *handles;
    size_t count;
    size_t removed;
    pthread_t thread;
};

static void *cancel_all(void *context)
{
    struct racer *racer = context;

    for (size_t i = 0; i < racer->count; i++)
        racer->removed +=
            elapse_task_cancel(racer->scheduler, racer->handles[i]) == ELAPSE_CANCEL_REMOVED;
    return NULL;
}

TEST(racing_with_the_deadline_each_task_runs_or_is_removed)
{
    enum { TASKS = 20000, RACERS = 3 };
    static struct elapse_handle handles[TASKS];
    struct racer racers[RACERS];
    struct elapse_scheduler *scheduler = started_new(4);
    uint64_t base_ns = elapse_scheduler_now_ns(scheduler) + 2 * TICK_NS;
    size_t removed = 0;

    for (size_t i = 0; i < TASKS; i++)
        handles[i] = schedule_at(scheduler, task_with_end(i), base_ns + i % 16 * TICK_NS);
    for (size_t i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){.scheduler = scheduler, .handles = handles, .count = TASKS};
        assert_int_equal(pthread_create(&racers[i].thread, NULL, cancel_all, &racers[i]), 0);
    }
    for (size_t i = 0; i < RACERS; i++) {
        assert_int_equal(pthread_join(racers[i].thread, NULL), 0);
        removed += racers[i].removed;
    }
    scheduler_end(scheduler);
    assert_int_equal(runs() + removed, TASKS);
    assert_int_equal(ends(), TASKS);
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(ends_of(i), 1);
}

TEST_MAIN("cancel")
