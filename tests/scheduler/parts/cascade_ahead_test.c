/*
 * Tests that the clock thread cascades ahead in the wheels of the shards while it waits, so that a
 * due task does not wait for tasks that are due later. The test reads the structs of the scheduler.
 */
#include "part.h"

#include "fake_os.h"
#include "scheduler.h"

enum { MANY = 3000, FEW = 100, LEVEL_2_TICKS = 8192, LEVEL_1_TICKS = 128 };

static _Atomic size_t runs;

static void count_run(void *context, const struct elapse_run *run)
{
    (void)context;
    (void)run;
    atomic_fetch_add(&runs, 1);
}

/* The fake clock begins at a whole tick. */
static uint64_t present_tick(const struct elapse_scheduler *scheduler)
{
    return elapse_scheduler_now_ns(scheduler) / scheduler->options.tick_ns;
}

static void advance_to(const struct elapse_scheduler *scheduler, uint64_t tick)
{
    fake_os_advance((tick - present_tick(scheduler)) * scheduler->options.tick_ns);
    fake_os_wait_idle();
}

static struct elapse_scheduler *started_with_shards(unsigned workers, unsigned shards)
{
    struct elapse_scheduler_options options;
    struct elapse_scheduler *scheduler = NULL;

    fake_os_begin();
    elapse_scheduler_options_init(&options);
    options.shards = shards;
    options.workers = workers;
    assert_int_equal(elapse_scheduler_new(&options, &scheduler), ELAPSE_OK);
    assert_int_equal(elapse_scheduler_start(scheduler), ELAPSE_OK);
    fake_os_wait_idle();
    atomic_store(&runs, 0);
    return scheduler;
}

static struct elapse_scheduler *started(unsigned workers)
{
    return started_with_shards(workers, 1);
}

static void end(struct elapse_scheduler *scheduler)
{
    assert_int_equal(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL), ELAPSE_OK);
    assert_int_equal(elapse_scheduler_free(scheduler), ELAPSE_OK);
    fake_os_end();
}

static uint64_t first_tick_of_a_slot(const struct elapse_scheduler *scheduler)
{
    return (present_tick(scheduler) / LEVEL_2_TICKS + 3) * LEVEL_2_TICKS;
}

/* Returns the first tick of a slot of level 2, after the clock thread has gone to sleep; `count`
 * tasks are due then. */
static uint64_t schedule_many(struct elapse_scheduler *scheduler, size_t count)
{
    uint64_t tick = first_tick_of_a_slot(scheduler);
    const struct elapse_task task = {.action = count_run};

    for (size_t i = 0; i < count; i++)
        assert_int_equal(
            elapse_task_schedule_at(scheduler, &task, tick * scheduler->options.tick_ns, NULL),
            ELAPSE_OK);
    fake_os_wait_idle();
    return tick;
}

/* Does what schedule_many does, with tasks of one shard. Their keys are chosen so that they belong
 * to the shard. */
static uint64_t schedule_many_in(struct elapse_scheduler *scheduler, unsigned shard, size_t count)
{
    uint64_t tick = first_tick_of_a_slot(scheduler);
    uint32_t number = 0;
    const struct elapse_task task = {
        .action = count_run, .key = &number, .key_bytes = sizeof number};

    while (count > 0) {
        number++;
        uint64_t hash = elapse__key_hash(&scheduler->hash_secret, &number, sizeof number);
        if (elapse__shard_of_key(scheduler, hash) != &scheduler->shards[shard])
            continue;
        assert_int_equal(
            elapse_task_schedule_at(scheduler, &task, tick * scheduler->options.tick_ns, NULL),
            ELAPSE_OK);
        count--;
    }
    fake_os_wait_idle();
    return tick;
}

static void tasks_are_cascaded_before_they_are_due(unsigned workers)
{
    struct elapse_scheduler *scheduler = started(workers);
    const struct elapse_wheel *wheel = &scheduler->shards[0].wheel;
    uint64_t tick = schedule_many(scheduler, MANY);

    assert_int_equal(elapse_wheel_moves(wheel), 0);
    advance_to(scheduler, tick - LEVEL_2_TICKS - 1);
    assert_int_equal(elapse_wheel_moves(wheel), 0);
    advance_to(scheduler, tick - LEVEL_2_TICKS);
    assert_int_equal(elapse_wheel_moves(wheel), MANY);
    advance_to(scheduler, tick - LEVEL_1_TICKS - 1);
    assert_int_equal(elapse_wheel_moves(wheel), MANY);
    advance_to(scheduler, tick - LEVEL_1_TICKS);
    assert_int_equal(elapse_wheel_moves(wheel), 2 * MANY);
    assert_int_equal(atomic_load(&runs), 0);
    fake_os_advance(scheduler->options.tick_ns * LEVEL_1_TICKS);
    while (atomic_load(&runs) < MANY)
        fake_os_wait_idle();
    assert_int_equal(elapse_wheel_moves(wheel), 2 * MANY);
    end(scheduler);
}

TEST(the_clock_thread_cascades_while_it_waits)
{
    tasks_are_cascaded_before_they_are_due(1);
}

TEST(a_clock_thread_without_workers_cascades_too)
{
    tasks_are_cascaded_before_they_are_due(0);
}

/* The other shards have no tasks, so that the clock thread has to look at this very shard. */
TEST(the_tasks_of_each_shard_are_cascaded)
{
    enum { SHARDS = 3 };

    for (unsigned shard = 0; shard < SHARDS; shard++) {
        struct elapse_scheduler *scheduler = started_with_shards(1, SHARDS);
        uint64_t tick = schedule_many_in(scheduler, shard, MANY);

        advance_to(scheduler, tick - LEVEL_2_TICKS);
        for (unsigned other = 0; other < SHARDS; other++)
            assert_int_equal(elapse_wheel_moves(&scheduler->shards[other].wheel),
                             other == shard ? MANY : 0);
        end(scheduler);
    }
}

TEST(few_tasks_cause_no_wake_up)
{
    struct elapse_scheduler *scheduler = started(1);
    uint64_t tick = schedule_many(scheduler, FEW);
    uint64_t alarms = fake_os_count(FAKE_OS_ALARM_SET);

    advance_to(scheduler, tick - 1);
    assert_int_equal(fake_os_count(FAKE_OS_ALARM_SET), alarms);
    assert_int_equal(elapse_wheel_moves(&scheduler->shards[0].wheel), 0);
    end(scheduler);
}

/* A slot causes one wake-up, and one more for each level below. */
TEST(many_tasks_cause_one_wake_up_for_each_level)
{
    struct elapse_scheduler *scheduler = started(1);
    uint64_t tick = schedule_many(scheduler, MANY);
    uint64_t now = present_tick(scheduler) + 1;
    uint64_t readings = fake_os_readings(ELAPSE__OS_MONOTONIC);
    uint64_t woken = 0;

    for (; now < tick; now++) {
        fake_os_advance(scheduler->options.tick_ns);
        fake_os_wait_idle();
        /* A clock thread that sleeps does not read the clock. */
        woken += fake_os_readings(ELAPSE__OS_MONOTONIC) > readings;
        readings = fake_os_readings(ELAPSE__OS_MONOTONIC);
    }
    assert_int_equal(woken, 2);
    end(scheduler);
}

TEST_MAIN("scheduler_cascade_ahead")
