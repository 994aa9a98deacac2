/*
 * Tests closing a scheduler, in its three forms; what the scheduler answers before, during and
 * after closing; and freeing it.
 */
#include "fixture.h"

#include <sched.h>

static const enum elapse_close forms[] = {ELAPSE_CLOSE_DROP, ELAPSE_CLOSE_RUN_DUE,
                                          ELAPSE_CLOSE_HAND_BACK};
enum { FORMS = sizeof forms / sizeof *forms, REFUSED = TASKS_MAX - 1 };

static struct elapse_handle add(struct elapse_scheduler *scheduler, char name, uint64_t deadline_ns)
{
    return schedule_at(scheduler, task_with_end((size_t)name), deadline_ns);
}

/* ---- tasks handed back ---- */

enum { BACK_MAX = 5000 };

struct handed_back {
    size_t count;
    pthread_t thread;
    struct {
        struct elapse_task task;
        unsigned char key[16];
        uint64_t deadline_ns;
    } tasks[BACK_MAX];
};

static struct handed_back back;

static void take_back(const struct elapse_handed_back *handed_back, void *context)
{
    const struct elapse_task *task = &handed_back->task;
    uint64_t deadline_ns = handed_back->deadline_ns;
    struct handed_back *taken = context;

    taken->thread = pthread_self();
    if (taken->count == BACK_MAX)
        abort();
    taken->tasks[taken->count].task = *task;
    taken->tasks[taken->count].deadline_ns = deadline_ns;
    if (task->key_bytes != 0 && task->key_bytes <= sizeof taken->tasks->key)
        memcpy(taken->tasks[taken->count].key, task->key, task->key_bytes);
    taken->count++;
}

static enum elapse_error close_as(struct elapse_scheduler *scheduler, enum elapse_close how)
{
    back.count = 0;
    return elapse_scheduler_close(scheduler, how, how == ELAPSE_CLOSE_HAND_BACK ? take_back : NULL,
                                  &back);
}

static void expect_closed(struct elapse_scheduler *scheduler, struct elapse_handle gone)
{
    struct elapse_task task = task_with_end(REFUSED);
    struct elapse_task with_key = task_with_key(REFUSED, "key", ELAPSE_KEY_REPLACE);
    struct elapse_batch_task batch[2] = {{.task = task}, {.task = with_key}};

    assert_int_equal(elapse_task_schedule_after(scheduler, &task, 0, NULL), ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_task_schedule_at(scheduler, &with_key, 0, NULL), ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_task_schedule_batch(scheduler, batch, 2), ELAPSE_ERROR_CLOSED);
    assert_int_equal(batch[0].error, ELAPSE_ERROR_CLOSED);
    assert_int_equal(batch[1].error, ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_task_reschedule_after(scheduler, gone, 0), ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_task_reschedule_at(scheduler, gone, 0), ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_task_cancel(scheduler, gone), ELAPSE_CANCEL_GONE);
    assert_int_equal(elapse_task_cancel_wait(scheduler, gone, ELAPSE_NEVER), ELAPSE_CANCEL_GONE);
    assert_int_equal(elapse_task_cancel_batch(scheduler, &gone, 1, NULL), 0);
    assert_int_equal(elapse_task_look_up(scheduler, gone, NULL), ELAPSE_TASK_GONE);
    assert_false(elapse_task_find(scheduler, "key", 3, &gone));
    assert_int_equal(elapse_scheduler_start(scheduler), ELAPSE_ERROR_CLOSED);
    for (size_t i = 0; i < FORMS; i++)
        assert_int_equal(elapse_scheduler_close(scheduler, forms[i], take_back, &back),
                         ELAPSE_ERROR_CLOSED);
    assert_int_equal(ends_of(REFUSED), 0);
    assert_int_equal(pending_tasks(scheduler), 0);
}

/* ---- manual and never started ---- */

TEST(a_manual_scheduler_closes_in_each_form)
{
    for (size_t i = 0; i < FORMS; i++) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 2);
        bool drop = forms[i] == ELAPSE_CLOSE_DROP;
        bool hand_back = forms[i] == ELAPSE_CLOSE_HAND_BACK;

        expect_step(scheduler, 3 * TICK_NS, "");
        add(scheduler, 'a', 0);
        struct elapse_handle far = add(scheduler, 'b', 9 * TICK_NS);
        schedule_at(scheduler, task_with_key('k', "key", ELAPSE_KEY_FAIL), 10 * TICK_NS);
        assert_ok(close_as(scheduler, forms[i]));
        expect_runs(forms[i] == ELAPSE_CLOSE_RUN_DUE ? "a" : "");
        assert_int_equal(ends(), hand_back ? 0 : 3);
        assert_int_equal(back.count, hand_back ? 3 : 0);
        assert_int_equal(statistics_of(scheduler).dropped, drop ? 3 : hand_back ? 0 : 2);
        assert_int_equal(statistics_of(scheduler).handed_back, hand_back ? 3 : 0);
        expect_closed(scheduler, far);
        assert_int_equal(elapse_scheduler_step(scheduler, ELAPSE_NEVER, NULL), ELAPSE_ERROR_CLOSED);
        scheduler_end(scheduler);
        expect_runs("");
        assert_int_equal(ends(), hand_back ? 0 : 3);
    }
}

TEST(a_scheduler_never_started_closes_in_each_form)
{
    for (size_t i = 0; i < FORMS; i++) {
        struct elapse_scheduler *scheduler = scheduler_new(NULL);
        bool hand_back = forms[i] == ELAPSE_CLOSE_HAND_BACK;

        add(scheduler, 'a', 0);
        struct elapse_handle far = add(scheduler, 'b', INT64_MAX);
        assert_ok(close_as(scheduler, forms[i]));
        expect_runs(forms[i] == ELAPSE_CLOSE_RUN_DUE ? "a" : "");
        if (forms[i] == ELAPSE_CLOSE_RUN_DUE)
            assert_true(pthread_equal(run_at(0).thread, pthread_self()));
        assert_int_equal(ends(), hand_back ? 0 : 2);
        assert_int_equal(back.count, hand_back ? 2 : 0);
        expect_closed(scheduler, far);
        scheduler_end(scheduler);
        assert_int_equal(ends(), hand_back ? 0 : 2);
    }
}

TEST(nothing_is_to_come_once_closed)
{
    for (size_t i = 0; i < FORMS; i++) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 2);

        add(scheduler, 'a', 0);
        add(scheduler, 'b', 9 * TICK_NS);
        assert_ok(close_as(scheduler, forms[i]));
        assert_true(elapse_scheduler_next_ns(scheduler) == ELAPSE_NEVER);
        scheduler_end(scheduler);
    }
}

MANUAL_TEST(a_close_with_wrong_arguments_changes_nothing)
{
    add(scheduler, 'a', 0);
    assert_int_equal(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_HAND_BACK, NULL, &back),
                     ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_scheduler_close(scheduler,
                                            (enum elapse_close)(ELAPSE_CLOSE_RUN_DELAYED + 1),
                                            take_back, &back),
                     ELAPSE_ERROR_ARGUMENT);
    add(scheduler, 'b', 0);
    expect_step(scheduler, 0, "ab");
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, take_back, NULL));
}

TEST(a_task_is_handed_back_as_it_was_scheduled)
{
    static const unsigned char key[] = {'a', 0, 0xff, 'b'};
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_task task = {.action = write_run,
                               .context = name_of('a'),
                               .destroy = write_end,
                               .key = key,
                               .key_bytes = sizeof key};
    struct elapse_task plain = {.action = hold, .context = name_of('b')};
    struct elapse_handle handle = schedule_at(scheduler, task, 7 * TICK_NS);

    assert_ok(elapse_task_reschedule_at(scheduler, handle, 9 * TICK_NS));
    schedule_at(scheduler, plain, ELAPSE_NEVER);
    assert_ok(close_as(scheduler, ELAPSE_CLOSE_HAND_BACK));
    assert_int_equal(back.count, 2);
    assert_true(pthread_equal(back.thread, pthread_self()));
    size_t at = back.tasks[0].task.context == name_of('a') ? 0 : 1;
    assert_ptr_equal(back.tasks[at].task.context, name_of('a'));
    assert_true(back.tasks[at].task.action == write_run);
    assert_true(back.tasks[at].task.destroy == write_end);
    assert_int_equal(back.tasks[at].task.key_bytes, sizeof key);
    assert_memory_equal(back.tasks[at].key, key, sizeof key);
    assert_int_equal(back.tasks[at].deadline_ns, 9 * TICK_NS);
    at = 1 - at;
    assert_ptr_equal(back.tasks[at].task.context, name_of('b'));
    assert_true(back.tasks[at].task.action == hold);
    assert_true(back.tasks[at].task.destroy == NULL);
    assert_null(back.tasks[at].task.key);
    assert_int_equal(back.tasks[at].task.key_bytes, 0);
    assert_true(back.tasks[at].deadline_ns == ELAPSE_NEVER);
    scheduler_end(scheduler);
    assert_int_equal(ends(), 0);
}

struct curious {
    struct elapse_scheduler *scheduler;
    struct elapse_handle handle;
    enum elapse_error scheduled;
    enum elapse_cancel cancelled;
    enum elapse_error closed;
};

static void ask_back(const struct elapse_handed_back *handed_back, void *context)
{
    const struct elapse_task *task = &handed_back->task;
    uint64_t deadline_ns = handed_back->deadline_ns;
    struct curious *curious = context;

    (void)deadline_ns;
    curious->scheduled = elapse_task_schedule_after(curious->scheduler, task, 0, NULL);
    curious->cancelled = elapse_task_cancel(curious->scheduler, curious->handle);
    curious->closed = elapse_scheduler_close(curious->scheduler, ELAPSE_CLOSE_DROP, NULL, NULL);
    (void)pending_tasks(curious->scheduler);
    (void)elapse_scheduler_trim(curious->scheduler);
}

TEST(functions_may_be_called_while_a_task_is_handed_back)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct curious curious = {.scheduler = scheduler, .handle = add(scheduler, 'a', 5)};

    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_HAND_BACK, ask_back, &curious));
    assert_int_equal(curious.scheduled, ELAPSE_ERROR_CLOSED);
    assert_int_equal(curious.cancelled, ELAPSE_CANCEL_GONE);
    assert_int_not_equal(curious.closed, ELAPSE_OK);
    assert_int_equal(ends(), 0);
    scheduler_end(scheduler);
}

/* ---- running due tasks ---- */

struct again {
    atomic_size_t begun;
    atomic_size_t ended;
    _Atomic enum elapse_error answer;
};

static void run_again(void *context, const struct elapse_run *run)
{
    struct again *again = context;

    atomic_fetch_add(&again->begun, 1);
    atomic_store(&again->answer, elapse_task_reschedule_after(run->scheduler, run->handle, 0));
}

static void end_again(void *context)
{
    atomic_fetch_add(&((struct again *)context)->ended, 1);
}

TEST(a_task_that_reschedules_itself_ends_by_closing)
{
    static struct again agains[2 * FORMS];

    for (size_t i = 0; i < FORMS; i++) {
        struct again *again = &agains[i];
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
        struct elapse_task task = {.action = run_again, .context = again, .destroy = end_again};

        schedule_at(scheduler, task, 0);
        assert_ok(close_as(scheduler, forms[i]));
        assert_int_equal(again->begun, forms[i] == ELAPSE_CLOSE_RUN_DUE ? 1 : 0);
        if (again->begun == 1)
            assert_int_equal(again->answer, ELAPSE_ERROR_CLOSED);
        assert_int_equal(back.count + again->ended, 1);
        scheduler_end(scheduler);
    }
    for (size_t i = 0; i < FORMS; i++) {
        static const unsigned workers[] = {0, 1, 4};
        struct again *again = &agains[FORMS + i];
        struct elapse_scheduler *scheduler = started_new(workers[i]);
        struct elapse_task task = {.action = run_again, .context = again, .destroy = end_again};

        schedule_at(scheduler, task, 0);
        while (atomic_load(&again->begun) < 100)
            sched_yield();
        assert_ok(close_as(scheduler, forms[i]));
        assert_int_equal(back.count + again->ended, 1);
        scheduler_end(scheduler);
    }
}

static bool held_some_back(void *scheduler)
{
    return statistics_of(scheduler).held_back != 0;
}

static bool is_closed(void *scheduler)
{
    struct elapse_handle none = {0, 0, 0};

    return elapse_task_reschedule_after(scheduler, none, 0) == ELAPSE_ERROR_CLOSED;
}

struct closer {
    struct elapse_scheduler *scheduler;
    enum elapse_close how;
    enum elapse_error answer;
    atomic_bool answered;
};

static void *close_elsewhere(void *context)
{
    struct closer *closer = context;

    closer->answer =
        elapse_scheduler_close(closer->scheduler, closer->how,
                               closer->how == ELAPSE_CLOSE_HAND_BACK ? take_back : NULL, &back);
    atomic_store(&closer->answered, true);
    return NULL;
}

static bool closes_or_was_refused(void *context)
{
    struct closer *closer = context;

    return atomic_load(&closer->answered) || is_closed(closer->scheduler);
}

/* Makes a scheduler with a work queue of two places. Its one worker, or its clock thread if it has
 * no worker, waits at the gate. */
static struct elapse_scheduler *blocked_new(unsigned workers, struct gate *gate, const char *key)
{
    struct elapse_scheduler_options options = real_options(workers, 1);
    struct elapse_task task = task_at_gate(gate);

    options.queue_tasks = 2;
    struct elapse_scheduler *scheduler = started_with(&options);
    if (key != NULL) {
        task.key = key;
        task.key_bytes = strlen(key);
    }
    schedule_at(scheduler, task, 0);
    wait_entered(gate, 1);
    return scheduler;
}

TEST(closing_with_tasks_running_queued_and_held_back)
{
    enum { TASKS = 1000 };
    static struct gate gates[FORMS];

    for (size_t i = 0; i < FORMS; i++) {
        struct elapse_scheduler *scheduler = blocked_new(1, &gates[i], NULL);
        struct closer closer = {.scheduler = scheduler, .how = forms[i]};
        bool hand_back = forms[i] == ELAPSE_CLOSE_HAND_BACK;
        struct elapse_handle last = {0, 0, 0};
        size_t due = TASKS;
        pthread_t thread;

        back.count = 0;
        for (size_t n = 0; n < TASKS; n++)
            last = schedule_at(scheduler, task_with_end(n), 0);
        schedule_at(scheduler, task_with_end(TASKS), INT64_MAX);
        wait_until(held_some_back, scheduler);
        assert_int_equal(pthread_create(&thread, NULL, close_elsewhere, &closer), 0);
        wait_until(is_closed, scheduler);
        if (elapse_task_cancel(scheduler, last) == ELAPSE_CANCEL_REMOVED) {
            due--;
            assert_int_equal(ends_of(TASKS - 1), 1);
        }
        assert_int_equal(atomic_load(&gates[i].left), 0);
        sleep_ns(ELAPSE_SECOND_NS / 20); /* for the close to be well under way */
        open_gate(&gates[i]);
        pthread_join(thread, NULL);
        assert_ok(closer.answer);
        assert_int_equal(atomic_load(&gates[i].left), 1);
        assert_int_equal(runs(), forms[i] == ELAPSE_CLOSE_RUN_DUE ? due : 0);
        assert_int_equal(ends() + back.count, TASKS + 1);
        assert_int_equal(back.count, hand_back ? due + 1 : 0);
        expect_closed(scheduler, last);
        scheduler_end(scheduler);
        assert_int_equal(ends() + back.count, TASKS + 1);
    }
}

TEST(a_close_that_drops_waits_for_no_pending_task)
{
    enum { TASKS = 40 };
    static struct gate gates[2];

    for (unsigned workers = 0; workers < 2; workers++) {
        struct elapse_scheduler *scheduler = blocked_new(workers, &gates[workers], NULL);
        struct closer closer = {.scheduler = scheduler, .how = ELAPSE_CLOSE_DROP};
        pthread_t thread;

        for (size_t n = 0; n < TASKS; n++)
            schedule_at(scheduler, task_with_end(n), 0);
        assert_int_equal(pthread_create(&thread, NULL, close_elsewhere, &closer), 0);
        wait_until(is_closed, scheduler);
        sleep_ns(ELAPSE_SECOND_NS / 20); /* for the close to be well under way */
        open_gate(&gates[workers]);
        pthread_join(thread, NULL);
        assert_ok(closer.answer);
        assert_int_equal(runs(), 0);
        assert_int_equal(ends(), TASKS);
        scheduler_end(scheduler);
    }
}

TEST(a_due_task_whose_key_is_running_runs_at_closing)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = blocked_new(1, &gate, "key");
    struct closer closer = {.scheduler = scheduler, .how = ELAPSE_CLOSE_RUN_DUE};
    pthread_t thread;

    schedule_at(scheduler, task_with_key('s', "key", ELAPSE_KEY_FAIL), 0);
    assert_int_equal(pthread_create(&thread, NULL, close_elsewhere, &closer), 0);
    wait_until(is_closed, scheduler);
    assert_int_equal(runs(), 0);
    open_gate(&gate);
    pthread_join(thread, NULL);
    assert_ok(closer.answer);
    expect_runs("s");
    assert_int_equal(ends_of('s'), 1);
    scheduler_end(scheduler);
}

TEST(a_running_task_rescheduled_before_the_close_ends_by_it)
{
    static struct gate gates[FORMS];

    for (size_t i = 0; i < FORMS; i++) {
        struct elapse_scheduler *scheduler = started_new(2);
        struct elapse_handle handle = schedule_at(scheduler, task_at_gate(&gates[i]), 0);
        struct closer closer = {.scheduler = scheduler, .how = forms[i]};
        pthread_t thread;

        back.count = 0;
        wait_entered(&gates[i], 1);
        assert_ok(elapse_task_reschedule_at(scheduler, handle, 0));
        assert_int_equal(pthread_create(&thread, NULL, close_elsewhere, &closer), 0);
        wait_until(is_closed, scheduler);
        open_gate(&gates[i]);
        pthread_join(thread, NULL);
        assert_ok(closer.answer);
        assert_int_equal(atomic_load(&gates[i].left), forms[i] == ELAPSE_CLOSE_RUN_DUE ? 2 : 1);
        assert_int_equal(back.count, forms[i] == ELAPSE_CLOSE_HAND_BACK ? 1 : 0);
        expect_closed(scheduler, handle);
        scheduler_end(scheduler);
    }
}

TEST(many_due_tasks_run_at_closing_whatever_the_workers)
{
    enum { TASKS = 5000 };
    static const unsigned workers[] = {0, 1, 8};

    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        struct elapse_scheduler_options options = real_options(workers[i], 4);

        options.queue_tasks = 3;
        struct elapse_scheduler *scheduler = scheduler_new(&options);
        for (size_t n = 0; n < TASKS; n++)
            schedule_at(scheduler, task_with_end(n), 0);
        assert_ok(elapse_scheduler_start(scheduler));
        assert_ok(close_as(scheduler, ELAPSE_CLOSE_RUN_DUE));
        assert_int_equal(runs(), TASKS);
        assert_int_equal(ends(), TASKS);
        assert_int_equal(statistics_of(scheduler).begun, TASKS);
        scheduler_end(scheduler);
    }
}

/* ---- several at once ---- */

TEST(one_of_several_closing_threads_closes)
{
    enum { THREADS = 4, ROUNDS = 50 };

    for (size_t round = 0; round < ROUNDS; round++) {
        struct elapse_scheduler *scheduler = started_new(2);
        struct closer closers[THREADS];
        pthread_t threads[THREADS];
        size_t closed = 0;

        add(scheduler, 'a', INT64_MAX);
        for (size_t i = 0; i < THREADS; i++) {
            closers[i] = (struct closer){.scheduler = scheduler, .how = ELAPSE_CLOSE_DROP};
            assert_int_equal(pthread_create(&threads[i], NULL, close_elsewhere, &closers[i]), 0);
        }
        for (size_t i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            closed += closers[i].answer == ELAPSE_OK;
            assert_true(closers[i].answer == ELAPSE_OK || closers[i].answer == ELAPSE_ERROR_BUSY ||
                        closers[i].answer == ELAPSE_ERROR_CLOSED);
        }
        assert_int_equal(closed, 1);
        assert_int_equal(ends(), 1);
        scheduler_end(scheduler);
    }
}

TEST(a_close_during_a_close_is_answered_busy)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = blocked_new(1, &gate, NULL);
    struct closer closer = {.scheduler = scheduler, .how = ELAPSE_CLOSE_RUN_DUE};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, close_elsewhere, &closer), 0);
    wait_until(is_closed, scheduler);
    assert_int_equal(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL),
                     ELAPSE_ERROR_BUSY);
    assert_int_equal(elapse_scheduler_start(scheduler), ELAPSE_ERROR_CLOSED);
    open_gate(&gate);
    pthread_join(thread, NULL);
    assert_ok(closer.answer);
    assert_int_equal(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL),
                     ELAPSE_ERROR_CLOSED);
    scheduler_end(scheduler);
}

struct waiter {
    struct elapse_scheduler *scheduler;
    struct elapse_handle handle;
    enum elapse_cancel answer;
};

static void *wait_elsewhere(void *context)
{
    struct waiter *waiter = context;

    waiter->answer = elapse_task_cancel_wait(waiter->scheduler, waiter->handle, ELAPSE_NEVER);
    return NULL;
}

TEST(a_cancel_that_waits_is_answered_while_closing)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = started_new(1);
    struct elapse_task task = task_at_gate(&gate);
    struct waiter waiter = {scheduler, schedule_at(scheduler, task, 0), ELAPSE_CANCEL_REMOVED};
    struct closer closer = {.scheduler = scheduler, .how = ELAPSE_CLOSE_DROP};
    pthread_t waiting;
    pthread_t closing;

    wait_entered(&gate, 1);
    assert_int_equal(pthread_create(&waiting, NULL, wait_elsewhere, &waiter), 0);
    assert_int_equal(pthread_create(&closing, NULL, close_elsewhere, &closer), 0);
    wait_until(is_closed, scheduler);
    assert_int_equal(elapse_task_cancel_wait(scheduler, waiter.handle, TICK_NS),
                     ELAPSE_CANCEL_RUNNING);
    open_gate(&gate);
    pthread_join(waiting, NULL);
    pthread_join(closing, NULL);
    assert_int_equal(waiter.answer, ELAPSE_CANCEL_GONE);
    assert_ok(closer.answer);
    scheduler_end(scheduler);
}

static void *step_elsewhere(void *scheduler)
{
    (void)elapse_scheduler_step(scheduler, TICK_NS, NULL);
    return NULL;
}

TEST(a_close_waits_for_the_action_that_another_thread_steps)
{
    static struct gate gates[FORMS];

    for (size_t i = 0; i < FORMS; i++) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
        struct closer closer = {.scheduler = scheduler, .how = forms[i]};
        pthread_t stepping;
        pthread_t closing;

        back.count = 0;
        schedule_at(scheduler, task_at_gate(&gates[i]), 0);
        add(scheduler, 'b', 0);
        add(scheduler, 'c', 0);
        assert_int_equal(pthread_create(&stepping, NULL, step_elsewhere, scheduler), 0);
        wait_entered(&gates[i], 1);
        assert_int_equal(elapse_scheduler_step(scheduler, 0, NULL), ELAPSE_ERROR_BUSY);
        assert_int_equal(pthread_create(&closing, NULL, close_elsewhere, &closer), 0);
        wait_until(closes_or_was_refused, &closer);
        assert_int_equal(ends() + back.count, 0);
        open_gate(&gates[i]);
        pthread_join(closing, NULL);
        assert_ok(closer.answer);
        assert_int_equal(atomic_load(&gates[i].left), 1);
        assert_int_equal(statistics_of(scheduler).running, 0);
        assert_int_equal(ends() + back.count, 2);
        if (forms[i] == ELAPSE_CLOSE_RUN_DUE)
            assert_int_equal(runs(), 2);
        pthread_join(stepping, NULL);
        assert_int_equal(ends() + back.count, 2);
        scheduler_end(scheduler);
    }
}

/* ---- start and free ---- */

TEST(starting_twice_does_nothing_more)
{
    struct elapse_scheduler *scheduler = started_new(3);
    uint64_t workers = statistics_of(scheduler).workers;

    for (int i = 0; i < 5; i++)
        assert_ok(elapse_scheduler_start(scheduler));
    assert_int_equal(statistics_of(scheduler).workers, workers);
    add(scheduler, 'a', 0);
    wait_for_runs(1);
    scheduler_end(scheduler);
    scheduler = manual_new(TICK_NS, 1);
    assert_ok(elapse_scheduler_start(scheduler));
    assert_ok(elapse_scheduler_start(scheduler));
    add(scheduler, 'a', 0);
    expect_step(scheduler, 0, "a");
    assert_int_equal(statistics_of(scheduler).workers, 0);
    scheduler_end(scheduler);
}

TEST(free_takes_any_scheduler_and_null)
{
    assert_ok(elapse_scheduler_free(NULL));
    scheduler_end(scheduler_new(NULL));
    scheduler_end(started_new(2));
    for (unsigned workers = 0; workers < 3; workers++) {
        struct elapse_scheduler *scheduler = started_new(workers);

        add(scheduler, 'a', INT64_MAX);
        add(scheduler, 'b', ELAPSE_NEVER);
        scheduler_end(scheduler);
        assert_int_equal(ends(), 2);
    }
}

TEST(an_idle_scheduler_is_woken_by_close)
{
    for (size_t i = 0; i < FORMS; i++) {
        struct elapse_scheduler *scheduler = started_new(2);

        add(scheduler, 'a', 0);
        wait_for_runs(1);
        struct elapse_handle handle = add(scheduler, 'b', INT64_MAX);
        assert_ok(close_as(scheduler, forms[i]));
        assert_int_equal(ends() + back.count, 2);
        expect_closed(scheduler, handle);
        scheduler_end(scheduler);
    }
}

TEST_MAIN("close")
