/*
 * Tests a take that calls a destructor: the task was taken and cancelled, and its lease has
 * expired. While the destructor runs, other threads take tasks when they are due, and close does
 * not wait longer than it was told to.
 *
 * The test moves the clock. It waits until a thread is asleep, so it knows which thread sleeps for
 * all: the one that began first.
 */
#include "../support/asleep.h"
#include "../support/fake_os.h"
#include "fixture.h"

#define LEASE T(10)

/* A thread that takes one task. Its variables are static: after a failed test the thread may still
 * use them. */
struct taker {
    struct elapse_scheduler *scheduler;
    pthread_t thread;
    atomic_long number; /* 0: the thread has not begun */
    atomic_bool ended;
    enum elapse_error error;
    struct gate *stops_at; /* or NULL: see stop_in_turn */
    atomic_bool stops;
};

/* ---- fixture ---- */

static struct elapse_scheduler *lease_new(void)
{
    struct elapse_scheduler_options options;

    fake_os_begin();
    elapse_scheduler_options_init(&options);
    options.pull = true;
    options.shards = 1;
    options.lease_ns = LEASE;
    return started_with(&options);
}

static void lease_end(struct elapse_scheduler *scheduler)
{
    scheduler_end(scheduler);
    fake_os_end();
}

#define LEASE_TEST(function) \
    TEST_OF(function, struct elapse_scheduler *, scheduler, lease_new(), lease_end)

/* Is called at each reading of the clock. Stops at the gate once the test has asked for that. */
static void stop_in_turn(void *context)
{
    struct taker *taker = context;

    if (atomic_load(&taker->stops))
        hold(taker->stops_at, NULL);
    else
        fake_os_at_next_reading(ELAPSE__OS_WALL_CLOCK, stop_in_turn, taker);
}

static void *take_one(void *context)
{
    struct taker *taker = context;
    struct elapse_taken taken;

    atomic_store(&taker->number, thread_number());
    if (taker->stops_at != NULL)
        fake_os_at_next_reading(ELAPSE__OS_WALL_CLOCK, stop_in_turn, taker);
    taker->error = elapse_task_take(taker->scheduler, ELAPSE_NEVER, &taken);
    if (taker->error == ELAPSE_OK)
        taker->error = elapse_task_done_taken(taker->scheduler, &taken);
    atomic_store(&taker->ended, true);
    return NULL;
}

static bool is_asleep(void *context)
{
    struct taker *taker = context;
    long number = atomic_load(&taker->number);

    return number != 0 && fake_os_is_idle() && threads_are_asleep(&number, 1);
}

/* Lets a thread take, and waits until it sleeps in the take. */
static void begin_to_take(struct taker *taker, struct elapse_scheduler *scheduler)
{
    taker->scheduler = scheduler;
    assert_int_equal(pthread_create(&taker->thread, NULL, take_one, taker), 0);
    wait_until(is_asleep, taker);
}

static bool has_ended(void *taker)
{
    return atomic_load(&((struct taker *)taker)->ended);
}

static void expect_end(struct taker *taker, enum elapse_error error)
{
    wait_until(has_ended, taker);
    assert_int_equal(pthread_join(taker->thread, NULL), 0);
    assert_int_equal(taker->error, error);
}

/* Schedules a task, takes it and cancels it. A take ends it when its lease has expired. */
static void take_and_cancel(struct elapse_scheduler *scheduler, struct elapse_task task)
{
    struct elapse_handle handle = schedule_at(scheduler, task, 0);
    struct elapse_taken taken;

    assert_ok(elapse_task_take(scheduler, 0, &taken));
    assert_true(same_handle(taken.run.handle, handle));
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
}

/* A close on a thread of its own, with a time-out of 0. */
struct closer {
    struct elapse_scheduler *scheduler;
    pthread_t thread;
    atomic_bool ended;
    enum elapse_error error;
};

static void *close_now(void *context)
{
    struct closer *closer = context;

    closer->error =
        elapse_scheduler_close_within(closer->scheduler, ELAPSE_CLOSE_DROP, NULL, NULL, 0);
    atomic_store(&closer->ended, true);
    return NULL;
}

static bool has_closed(void *closer)
{
    return atomic_load(&((struct closer *)closer)->ended);
}

static void expect_close(struct closer *closer, struct elapse_scheduler *scheduler,
                         enum elapse_error error)
{
    closer->scheduler = scheduler;
    assert_int_equal(pthread_create(&closer->thread, NULL, close_now, closer), 0);
    wait_until(has_closed, closer);
    assert_int_equal(pthread_join(closer->thread, NULL), 0);
    assert_int_equal(closer->error, error);
}

/* ---- taking ---- */

static struct {
    struct elapse_scheduler *scheduler;
    enum elapse_error scheduled, waited;
} destroying;

/* Schedules a task that is due at once, and waits until it has ended. */
static void schedule_and_wait(void *context)
{
    struct elapse_task task = task_named('b');
    struct elapse_handle handle = {0};

    (void)context;
    destroying.scheduled = elapse_task_schedule_at(destroying.scheduler, &task, 0, &handle);
    destroying.waited = elapse_task_wait(destroying.scheduler, handle, ELAPSE_NEVER);
}

/* The first thread sleeps for both, and calls the destructor. The second one must take the task
 * that the destructor waits for. */
LEASE_TEST(a_task_is_taken_while_a_destructor_waits_for_it)
{
    static struct taker first, second;
    struct elapse_task task = {.context = name_of('a'), .destroy = schedule_and_wait};

    destroying.scheduler = scheduler;
    take_and_cancel(scheduler, task);
    begin_to_take(&first, scheduler);
    begin_to_take(&second, scheduler);
    fake_os_advance(LEASE);
    expect_end(&second, ELAPSE_OK);
    wait_until(is_asleep, &first); /* its destructor has returned, and it takes again */
    assert_ok(destroying.scheduled);
    assert_ok(destroying.waited);
    (void)schedule_at(scheduler, task_named('c'), 0);
    expect_end(&first, ELAPSE_OK);
}

static void destroy_at_gate(void *gate)
{
    hold(gate, NULL);
}

/* A task that becomes due later is taken on time, too: some thread sleeps until its deadline. */
LEASE_TEST(a_deadline_is_not_slept_through_while_a_destructor_runs)
{
    static struct gate gate;
    static struct taker first, second;
    struct elapse_task task = {.context = &gate, .destroy = destroy_at_gate};

    (void)schedule_at(scheduler, task_named('b'), FAKE_MONOTONIC_NS + LEASE + T(5));
    take_and_cancel(scheduler, task);
    begin_to_take(&first, scheduler);
    begin_to_take(&second, scheduler);
    fake_os_advance(LEASE);
    wait_entered(&gate, 1);
    assert_false(atomic_load(&second.ended));
    fake_os_advance(T(5));
    expect_end(&second, ELAPSE_OK);
    assert_false(atomic_load(&first.ended));
    (void)schedule_at(scheduler, task_named('c'), 0);
    open_gate(&gate);
    expect_end(&first, ELAPSE_OK);
}

/* ---- closing ---- */

LEASE_TEST(close_does_not_wait_for_a_destructor_that_a_take_calls)
{
    static struct gate gate;
    static struct taker taker;
    static struct closer closer;
    struct elapse_task task = {.context = &gate, .destroy = destroy_at_gate};

    take_and_cancel(scheduler, task);
    begin_to_take(&taker, scheduler);
    fake_os_advance(LEASE);
    wait_entered(&gate, 1);
    expect_close(&closer, scheduler, ELAPSE_OK);
    assert_false(atomic_load(&taker.ended));
    open_gate(&gate);
    expect_end(&taker, ELAPSE_ERROR_CLOSED);
}

/* The thread that sleeps for all wakes up, and is held before it can leave. */
LEASE_TEST(close_waits_for_a_thread_in_a_take_no_longer_than_its_time_out)
{
    static struct gate gate;
    static struct taker taker = {.stops_at = &gate};
    static struct closer closer;

    (void)schedule_at(scheduler, task_named('a'), FAKE_MONOTONIC_NS + T(1));
    begin_to_take(&taker, scheduler);
    atomic_store(&taker.stops, true);
    fake_os_advance(T(1));
    wait_entered(&gate, 1);
    expect_close(&closer, scheduler, ELAPSE_ERROR_TIMEOUT);
    assert_int_equal(elapse_scheduler_life(scheduler), ELAPSE_LIFE_CLOSING);
    open_gate(&gate);
    expect_end(&taker, ELAPSE_ERROR_CLOSED);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
}

TEST_MAIN("take_destructor")
