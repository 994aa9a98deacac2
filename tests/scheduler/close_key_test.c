/*
 * Tests a close that runs tasks, while a destructor runs on a thread of the user: the next task
 * with the key waits for that destructor, and runs before the scheduler is closed.
 */
#include "../support/asleep.h"
#include "fixture.h"

/* A thread that cancels a task. The destructor of the task stays until its gate is open. The
 * variables are static: after a failed test the thread may still use them. */
struct destroyer {
    struct elapse_scheduler *scheduler;
    struct elapse_handle handle;
    pthread_t thread;
    struct gate gate;
    struct elapse_handle waits_for; /* the destructor waits for this task instead, if it is set */
    enum elapse_error waited;
};

static void destroy_slowly(void *context)
{
    struct destroyer *destroyer = context;

    if (zero_handle(destroyer->waits_for)) {
        hold(&destroyer->gate, NULL);
        return;
    }
    atomic_fetch_add(&destroyer->gate.entered, 1);
    destroyer->waited = elapse_task_wait(destroyer->scheduler, destroyer->waits_for, ELAPSE_NEVER);
}

static void *cancel_on_thread(void *context)
{
    struct destroyer *destroyer = context;

    (void)elapse_task_cancel(destroyer->scheduler, destroyer->handle);
    return NULL;
}

/* Lets a destructor begin that uses the key. */
static void begin_to_destroy(struct destroyer *destroyer, struct elapse_scheduler *scheduler,
                             const char *key, struct elapse_handle waits_for)
{
    struct elapse_task task = task_with_key('a', key, ELAPSE_KEY_REPLACE);

    task.context = destroyer;
    task.destroy = destroy_slowly;
    destroyer->scheduler = scheduler;
    destroyer->waits_for = waits_for;
    destroyer->handle = schedule_after(scheduler, task, ELAPSE_HOUR_NS);
    assert_int_equal(pthread_create(&destroyer->thread, NULL, cancel_on_thread, destroyer), 0);
    wait_entered(&destroyer->gate, 1);
}

static void end_to_destroy(struct destroyer *destroyer)
{
    open_gate(&destroyer->gate);
    assert_int_equal(pthread_join(destroyer->thread, NULL), 0);
}

/* Schedules the next task with the key. With a deadline of 0 it is due. */
static struct elapse_handle add(struct elapse_scheduler *scheduler, size_t name, const char *key,
                                uint64_t deadline_ns)
{
    return schedule_at(scheduler, task_with_key(name, key, ELAPSE_KEY_REPLACE), deadline_ns);
}

static uint64_t in_an_hour(struct elapse_scheduler *scheduler)
{
    return elapse_scheduler_now_ns(scheduler) + ELAPSE_HOUR_NS;
}

static enum elapse_error close_at_once(struct elapse_scheduler *scheduler, enum elapse_close how)
{
    return elapse_scheduler_close_within(scheduler, how, NULL, NULL, 0);
}

static const struct elapse_handle none;

/* ---- a time-out of 0 ---- */

enum { MANUAL, NO_WORKERS, ONE_WORKER, KINDS };

static struct elapse_scheduler *scheduler_of_kind(unsigned kind)
{
    return kind == MANUAL ? manual_new(TICK_NS, 2) : started_new(kind == NO_WORKERS ? 0 : 1);
}

/* Closes while a destructor uses the key of a task, and again when the destructor has returned. */
static void close_twice(struct destroyer *destroyer, unsigned kind, enum elapse_close how)
{
    struct elapse_scheduler *scheduler = scheduler_of_kind(kind);
    uint64_t deadline_ns = how == ELAPSE_CLOSE_RUN_ALL ? in_an_hour(scheduler) : 0;

    begin_to_destroy(destroyer, scheduler, "key", none);
    struct elapse_handle handle = add(scheduler, 'b', "key", deadline_ns);
    (void)add(scheduler, 'c', "another key", deadline_ns);
    assert_int_equal(close_at_once(scheduler, how), ELAPSE_ERROR_TIMEOUT);
    assert_int_equal(close_at_once(scheduler, how), ELAPSE_ERROR_TIMEOUT);
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_PENDING);
    end_to_destroy(destroyer);
    assert_ok(elapse_scheduler_close(scheduler, how, NULL, NULL));
    assert_int_equal(runs(), 2);
    assert_int_equal(ends_of('b'), 1);
    assert_int_equal(statistics_of(scheduler).dropped, 0);
    scheduler_end(scheduler);
}

TEST(a_due_task_is_not_dropped_while_a_destructor_uses_its_key)
{
    static struct destroyer destroyers[KINDS];

    for (unsigned kind = 0; kind < KINDS; kind++)
        close_twice(&destroyers[kind], kind, ELAPSE_CLOSE_RUN_DUE);
}

TEST(a_later_task_is_not_dropped_while_a_destructor_uses_its_key)
{
    static struct destroyer destroyers[KINDS];

    for (unsigned kind = 0; kind < KINDS; kind++)
        close_twice(&destroyers[kind], kind, ELAPSE_CLOSE_RUN_ALL);
}

/* No task waits for this destructor, so close does not wait for it either. */
SCHEDULER_TEST(a_destructor_that_no_due_task_waits_for_does_not_hold_up_close, started_new(1))
{
    static struct destroyer destroyer;

    begin_to_destroy(&destroyer, scheduler, "key", none);
    (void)add(scheduler, 'b', "key", in_an_hour(scheduler));
    (void)add(scheduler, 'c', "another key", 0);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_DUE, NULL, NULL));
    expect_runs("c");
    assert_int_equal(ends_of('b'), 1);
    end_to_destroy(&destroyer);
}

/* A close that goes on with DROP waits for no key. */
SCHEDULER_TEST(dropping_does_not_wait_for_a_destructor, started_new(1))
{
    static struct destroyer destroyer;

    begin_to_destroy(&destroyer, scheduler, "key", none);
    (void)add(scheduler, 'b', "key", 0);
    assert_int_equal(close_at_once(scheduler, ELAPSE_CLOSE_RUN_DUE), ELAPSE_ERROR_TIMEOUT);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    expect_runs("");
    assert_int_equal(ends_of('b'), 1);
    end_to_destroy(&destroyer);
}

/* ---- a close that waits ---- */

struct closer {
    struct elapse_scheduler *scheduler;
    pthread_t thread;
    atomic_long number; /* 0: the thread has not begun */
    atomic_bool ended;
    enum elapse_error error;
};

static void *close_on_thread(void *context)
{
    struct closer *closer = context;

    atomic_store(&closer->number, thread_number());
    closer->error = elapse_scheduler_close(closer->scheduler, ELAPSE_CLOSE_RUN_DUE, NULL, NULL);
    atomic_store(&closer->ended, true);
    return NULL;
}

static bool has_closed(void *closer)
{
    return atomic_load(&((struct closer *)closer)->ended);
}

/* Returns whether the thread is asleep or has ended. */
static bool is_still(void *context)
{
    struct closer *closer = context;
    long number = atomic_load(&closer->number);

    return has_closed(closer) || (number != 0 && threads_are_asleep(&number, 1));
}

/* Begins to close on another thread, and waits until that thread sleeps. Most often it sleeps until
 * the destructor has released its key. If it sleeps for another reason, the test still holds. */
static void begin_to_close(struct closer *closer, struct elapse_scheduler *scheduler)
{
    closer->scheduler = scheduler;
    assert_int_equal(pthread_create(&closer->thread, NULL, close_on_thread, closer), 0);
    wait_until(is_still, closer);
}

static void expect_closed(struct closer *closer)
{
    wait_until(has_closed, closer);
    assert_int_equal(pthread_join(closer->thread, NULL), 0);
    assert_ok(closer->error);
}

TEST(the_end_of_the_destructor_wakes_close)
{
    static struct destroyer destroyers[KINDS];
    static struct closer closers[KINDS];

    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct elapse_scheduler *scheduler = scheduler_of_kind(kind);

        begin_to_destroy(&destroyers[kind], scheduler, "key", none);
        (void)add(scheduler, 'b', "key", 0);
        begin_to_close(&closers[kind], scheduler);
        end_to_destroy(&destroyers[kind]);
        expect_closed(&closers[kind]);
        expect_runs("b");
        scheduler_end(scheduler);
    }
}

/* The task that waited was cancelled. Close goes on when the destructor has returned, if not
 * before. */
SCHEDULER_TEST(a_cancelled_task_does_not_hold_up_close_for_ever, started_new(1))
{
    static struct destroyer destroyer;
    static struct closer closer;

    begin_to_destroy(&destroyer, scheduler, "key", none);
    struct elapse_handle handle = add(scheduler, 'b', "key", 0);
    begin_to_close(&closer, scheduler);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    end_to_destroy(&destroyer);
    expect_closed(&closer);
    expect_runs("");
}

/* Two tasks wait for their keys. The destructor that uses the key of the second task waits for the
 * first task. So close must run the first one while the second one still waits. */
TEST(a_task_does_not_wait_for_the_key_of_another_one)
{
    static struct destroyer first, second;
    static struct closer closer;
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 2);

    begin_to_destroy(&first, scheduler, "first key", none);
    struct elapse_handle handle = add(scheduler, 'b', "first key", 0);
    begin_to_destroy(&second, scheduler, "second key", handle);
    (void)add(scheduler, 'c', "second key", 0);
    begin_to_close(&closer, scheduler);
    end_to_destroy(&first);
    expect_closed(&closer);
    assert_int_equal(pthread_join(second.thread, NULL), 0);
    assert_ok(second.waited);
    expect_runs("bc");
    scheduler_end(scheduler);
}

TEST_MAIN("close_key")
