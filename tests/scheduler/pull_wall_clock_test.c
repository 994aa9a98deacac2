/*
 * Tests pull mode with several threads that take. One thread reads the clocks. Another thread reads
 * them later and is faster. Then the first thread goes on with times that are older than the times
 * that its shard has seen. The wall clock was not set back, so the wall-clock wheel must not be
 * built anew: with a million timers this would take most of a second, again and again.
 *
 *      this thread                           the other thread
 *
 *      take: read the clocks (old)
 *                                            take: read the clocks (new)
 *                                                  the shard's wheels go to the new time
 *            the shard, with the old times
 */
#include "../../src/scheduler/scheduler.h"
#include "../support/asleep.h"
#include "../support/fake_os.h"
#include "wall_clock.h"

enum { FAR_TASKS = 3000 }; /* more than are moved within one holding of the lock */

static struct elapse_scheduler *fake_pull_new(void)
{
    struct elapse_scheduler_options options;

    fake_os_begin();
    elapse_scheduler_options_init(&options);
    options.pull = true;
    options.shards = 1;
    return started_with(&options);
}

static void fake_pull_end(struct elapse_scheduler *scheduler)
{
    scheduler_end(scheduler);
    fake_os_end();
}

static void add_by_wall_clock(struct elapse_scheduler *scheduler, char name, uint64_t unix_ns)
{
    (void)schedule_by_wall_clock(scheduler, task_with_end((size_t)name), unix_ns);
}

static void expect_take(struct elapse_scheduler *scheduler, char name)
{
    struct elapse_taken taken;

    assert_ok(elapse_task_take(scheduler, 0, &taken));
    assert_int_equal(number_of(taken.context), name);
    assert_true(taken.run.intended_ns <= taken.run.actual_ns);
    assert_ok(elapse_task_done(scheduler, taken.run.handle));
}

static void expect_nothing(struct elapse_scheduler *scheduler)
{
    struct elapse_taken taken;

    assert_int_equal(elapse_task_take(scheduler, 0, &taken), ELAPSE_ERROR_NOTHING_DUE);
}

/* Returns the time of the wall-clock wheel of the only shard. It goes back only when the wheel is
 * built anew. */
static uint64_t wheel_tick(struct elapse_scheduler *scheduler)
{
    struct elapse__shard *shard = &scheduler->shards[0];

    elapse__shard_lock(shard);
    uint64_t tick = elapse_wheel_now(shard->wall_clock.wheel);
    elapse__shard_unlock(shard);
    return tick;
}

static uint64_t tick_now(void)
{
    return fake_os_now_ns(ELAPSE__OS_WALL_CLOCK) / TICK_NS;
}

/* ---- the other thread ---- */

struct other {
    struct elapse_scheduler *scheduler;
    pthread_t thread;
    atomic_long number;
    atomic_bool done;
    enum elapse_error error;
    size_t taken;
    bool was_made;
};

static void *take_one(void *context)
{
    struct other *other = context;
    struct elapse_taken taken;

    atomic_store(&other->number, thread_number());
    other->error = elapse_task_take(other->scheduler, 0, &taken);
    if (other->error == ELAPSE_OK) {
        other->taken = number_of(taken.context);
        (void)elapse_task_done(other->scheduler, taken.run.handle);
    }
    atomic_store(&other->done, true);
    return NULL;
}

static bool is_done_or_waits(void *context)
{
    struct other *other = context;
    long number = atomic_load(&other->number);

    /* If the clocks are read with the lock held, the other thread now waits for this one. */
    return atomic_load(&other->done) || (number != 0 && threads_are_asleep(&number, 1));
}

/* Runs between a reading of the wall clock and its use. */
static void overtake(void *context)
{
    struct other *other = context;

    fake_os_advance(T(5));
    other->was_made = pthread_create(&other->thread, NULL, take_one, other) == 0;
    if (other->was_made)
        wait_until(is_done_or_waits, other);
}

TEST(an_older_reading_of_the_time_is_no_clock_that_was_set_back)
{
    struct elapse_scheduler *scheduler = fake_pull_new();
    uint64_t begun_ns = fake_os_now_ns(ELAPSE__OS_WALL_CLOCK);

    for (unsigned i = 0; i < FAR_TASKS; i++)
        add_by_wall_clock(scheduler, 'f', begun_ns + ELAPSE_DAY_NS + T(i));
    for (unsigned round = 0; round < 10; round++) {
        struct other other = {.scheduler = scheduler};
        uint64_t now_ns = fake_os_now_ns(ELAPSE__OS_WALL_CLOCK);

        add_by_wall_clock(scheduler, 'a', now_ns + T(1));
        add_by_wall_clock(scheduler, 'b', now_ns + T(2));
        fake_os_advance(T(2));
        fake_os_at_next_reading(ELAPSE__OS_WALL_CLOCK, overtake, &other);

        struct elapse_taken taken;
        enum elapse_error error = elapse_task_take(scheduler, 0, &taken);

        assert_true(other.was_made);
        assert_int_equal(pthread_join(other.thread, NULL), 0);
        /* Each thread has taken one of the two tasks. */
        assert_ok(error);
        assert_ok(other.error);
        assert_int_equal(number_of(taken.context) + other.taken, 'a' + 'b');
        assert_ok(elapse_task_done(scheduler, taken.run.handle));
        /* The wheel has the time that the other thread has read, or the same time read by this one.
         */
        assert_int_equal(wheel_tick(scheduler), tick_now());
        expect_nothing(scheduler);
    }
    fake_pull_end(scheduler);
}

TEST(a_clock_that_was_set_back_is_still_followed)
{
    struct elapse_scheduler *scheduler = fake_pull_new();
    uint64_t begun_ns = fake_os_now_ns(ELAPSE__OS_WALL_CLOCK);

    add_by_wall_clock(scheduler, 'a', begun_ns + T(1));
    add_by_wall_clock(scheduler, 'c', begun_ns + T(100));
    fake_os_advance(T(50));
    expect_take(scheduler, 'a');
    expect_nothing(scheduler);

    fake_os_set_wall_clock(begun_ns - T(1000));
    add_by_wall_clock(scheduler, 'b', begun_ns - T(990));
    expect_nothing(scheduler);
    fake_os_advance(T(9));
    expect_nothing(scheduler);
    fake_os_advance(T(1));
    expect_take(scheduler, 'b');
    assert_int_equal(wheel_tick(scheduler), tick_now());
    expect_nothing(scheduler);
    fake_os_advance(T(1089));
    expect_nothing(scheduler);
    fake_os_advance(T(1));
    expect_take(scheduler, 'c');
    fake_pull_end(scheduler);
}

TEST_MAIN("pull_wall_clock")
