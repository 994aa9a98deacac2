/*
 * Waiting until a task has ended and its context is destroyed.
 */
#include "pulling.h"
#include "recurring.h"

MANUAL_TEST(a_task_that_is_gone_is_not_waited_for)
{
    const struct elapse_handle none = {0, 0, 0};
    const struct elapse_handle strange = {1, 1, 99};
    struct elapse_handle handle = add(scheduler, 'a', T(1));

    assert_ok(elapse_task_wait(scheduler, none, ELAPSE_NEVER));
    assert_ok(elapse_task_wait(scheduler, strange, ELAPSE_NEVER));
    expect_step(scheduler, T(1), "a");
    assert_ok(elapse_task_wait(scheduler, handle, ELAPSE_NEVER));
}

PULL_TEST(the_time_out_passes_while_the_task_is_pending_or_runs)
{
    struct elapse_handle handle = schedule_at(scheduler, periodic('a', T(1)), T(1));

    assert_int_equal(elapse_task_wait(scheduler, handle, 0), ELAPSE_ERROR_TIMEOUT);
    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');
    assert_int_equal(elapse_task_wait(scheduler, handle, 1), ELAPSE_ERROR_TIMEOUT);
    done(scheduler, &taken);
    assert_int_equal(elapse_task_wait(scheduler, handle, 0), ELAPSE_ERROR_TIMEOUT);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    assert_ok(elapse_task_wait(scheduler, handle, 0));
}

/* ---- from inside ---- */

static struct {
    struct elapse_scheduler *scheduler;
    struct elapse_handle handle;
    enum elapse_error in_action, in_destructor;
} own;

static void wait_in_action(void *context, const struct elapse_run *run)
{
    write_run(context, run);
    own.in_action = elapse_task_wait(run->scheduler, run->handle, ELAPSE_NEVER);
}

static void wait_in_destructor(void *context)
{
    write_end(context);
    own.in_destructor = elapse_task_wait(own.scheduler, own.handle, ELAPSE_NEVER);
}

TEST(a_task_does_not_wait_for_itself)
{
    struct elapse_task task = {
        .action = wait_in_action, .context = name_of('a'), .destroy = wait_in_destructor};

    memset(&own, 0, sizeof own);
    own.scheduler = manual_new(TICK_NS, 1);
    own.handle = schedule_at(own.scheduler, task, T(1));
    expect_step(own.scheduler, T(1), "a");
    assert_int_equal(own.in_action, ELAPSE_ERROR_IN_ACTION);
    assert_int_equal(own.in_destructor, ELAPSE_ERROR_IN_ACTION);
    scheduler_end(own.scheduler);
}

/* ---- on another thread ---- */

/* A task whose action and destructor stay until their gates are opened. */
struct slow {
    struct gate action;
    struct gate destructor;
};

static void run_slowly(void *context, const struct elapse_run *run)
{
    hold(&((struct slow *)context)->action, run);
}

static void destroy_slowly(void *context)
{
    hold(&((struct slow *)context)->destructor, NULL);
}

struct waiter {
    struct elapse_scheduler *scheduler;
    struct elapse_handle handle;
    pthread_t thread;
    atomic_bool returned;
    enum elapse_error error;
};

static void *wait_for_task(void *argument)
{
    struct waiter *waiter = argument;

    waiter->error = elapse_task_wait(waiter->scheduler, waiter->handle, ELAPSE_NEVER);
    atomic_store(&waiter->returned, true);
    return NULL;
}

static void begin_to_wait(struct waiter *waiter, struct elapse_scheduler *scheduler,
                          struct elapse_handle handle)
{
    waiter->scheduler = scheduler;
    waiter->handle = handle;
    atomic_store(&waiter->returned, false);
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_task, waiter), 0);
}

static void expect_over(struct waiter *waiter)
{
    assert_int_equal(pthread_join(waiter->thread, NULL), 0);
    assert_ok(waiter->error);
}

SCHEDULER_TEST(the_wait_includes_action_and_destructor, started_new(1))
{
    static struct slow slow;
    static struct waiter early, late;
    struct elapse_task task = {.action = run_slowly, .context = &slow, .destroy = destroy_slowly};
    struct elapse_handle handle = schedule_after(scheduler, task, 0);

    begin_to_wait(&early, scheduler, handle);
    wait_entered(&slow.action, 1);
    atomic_store(&slow.action.open, true);
    wait_entered(&slow.destructor, 1);
    /* The action neither runs nor will run, but the destructor does. */
    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, ELAPSE_NEVER), ELAPSE_CANCEL_GONE);
    assert_int_equal(elapse_task_wait(scheduler, handle, 1), ELAPSE_ERROR_TIMEOUT);
    begin_to_wait(&late, scheduler, handle);
    assert_false(atomic_load(&early.returned));
    assert_false(atomic_load(&late.returned));
    atomic_store(&slow.destructor.open, true);
    expect_over(&early);
    expect_over(&late);
}

/* How a task can end without an action of its own that returns. */
static void cancel_it(struct elapse_scheduler *scheduler, struct elapse_handle handle)
{
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
}

static void replace_it(struct elapse_scheduler *scheduler, struct elapse_handle handle)
{
    (void)handle;
    (void)schedule_at(scheduler, task_with_key('b', "k", ELAPSE_KEY_REPLACE), T(9));
}

static void close_it(struct elapse_scheduler *scheduler, struct elapse_handle handle)
{
    (void)handle;
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
}

static void run_it_twice(struct elapse_scheduler *scheduler, struct elapse_handle handle)
{
    (void)step(scheduler, T(5));
    assert_int_equal(elapse_task_wait(scheduler, handle, 0), ELAPSE_ERROR_TIMEOUT);
    (void)step(scheduler, T(6));
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
}

TEST(every_end_ends_the_wait)
{
    void (*const ends_of_it[])(struct elapse_scheduler *, struct elapse_handle) = {
        cancel_it, replace_it, close_it, run_it_twice};

    for (size_t i = 0; i < sizeof ends_of_it / sizeof *ends_of_it; i++) {
        static struct waiter waiter;
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
        struct elapse_task task = task_with_key('a', "k", ELAPSE_KEY_REPLACE);

        task.recurrence = ELAPSE_RECUR_PERIOD;
        task.period_ns = T(1);
        struct elapse_handle handle = schedule_at(scheduler, task, T(5));
        begin_to_wait(&waiter, scheduler, handle);
        ends_of_it[i](scheduler, handle);
        expect_over(&waiter);
        assert_int_equal(ends_of('a'), 1);
        scheduler_end(scheduler);
    }
}

TEST_MAIN("task_wait")
