/*
 * Tests leases of a batch: they begin together, when the batch is complete. The test moves the
 * clock while a thread is inside a take.
 */
#include "../support/fake_os.h"
#include "pulling.h"
#include "recurring.h"

#define LEASE T(10)

enum { CAPACITY = 8 };

static struct elapse_scheduler *lease_new(unsigned shards)
{
    struct elapse_scheduler_options options;

    elapse_scheduler_options_init(&options);
    options.tick_ns = TICK_NS;
    options.shards = shards;
    options.pull = true;
    options.lease_ns = LEASE;
    return started_with(&options);
}

static size_t take_batch(struct elapse_scheduler *scheduler, struct elapse_taken *taken)
{
    size_t count;

    assert_ok(elapse_task_take_batch(scheduler, 0, taken, CAPACITY, &count));
    return count;
}

/* ---- time passes in a take ---- */

static bool time_passes;

/* Lets more than half a lease pass with each reading of the clock. */
static void pass_time(void *context)
{
    fake_os_advance(T(6));
    if (time_passes)
        fake_os_at_next_reading(ELAPSE__OS_MONOTONIC, pass_time, context);
}

static void begin_to_pass_time(void)
{
    time_passes = true;
    fake_os_at_next_reading(ELAPSE__OS_MONOTONIC, pass_time, NULL);
}

static void end_to_pass_time(void)
{
    time_passes = false;
    fake_os_at_next_reading(ELAPSE__OS_MONOTONIC, NULL, NULL);
}

static int end(void **state)
{
    (void)state;
    fake_os_end();
    return 0;
}

static int begin(void **state)
{
    (void)state;
    fake_os_begin();
    return 0;
}

/* If the leases began one after another, they would have expired before the take returned. */
TEST_WITH(the_leases_of_a_batch_begin_when_it_is_complete, begin, end)
{
    struct elapse_scheduler *scheduler = lease_new(1);
    struct elapse_taken taken[CAPACITY];

    for (size_t name = 'a'; name < 'a' + CAPACITY; name++)
        (void)schedule_after(scheduler, task_with_end(name), 0);
    fake_os_advance(T(1));
    begin_to_pass_time();
    size_t count = take_batch(scheduler, taken);
    end_to_pass_time();
    assert_int_equal(count, CAPACITY);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(number_of(taken[i].context), 'a' + i);
        assert_int_equal(taken[i].lease_until_ns, taken[0].lease_until_ns);
        assert_ok(elapse_task_done_taken(scheduler, &taken[i]));
    }
    scheduler_end(scheduler);
}

TEST_WITH(a_lease_is_never_shorter_than_asked_for, begin, end)
{
    struct elapse_scheduler *scheduler = lease_new(1);
    struct elapse_taken taken;

    (void)schedule_after(scheduler, task_with_end('a'), 0);
    fake_os_advance(T(1));
    assert_ok(elapse_task_take(scheduler, 0, &taken));
    assert_int_equal(taken.lease_until_ns, FAKE_MONOTONIC_NS + T(11));
    fake_os_advance(LEASE - 1);
    assert_ok(elapse_task_done_taken(scheduler, &taken));
    scheduler_end(scheduler);
}

/* ---- a destructor that a take calls ---- */

static struct elapse_scheduler *destroying;
static size_t taken_inside;

/* The destructor of a cancelled task, which a take calls. It lasts longer than a lease, and then
 * takes all due tasks and ends them. */
static void take_inside(void *context)
{
    struct elapse_taken taken;

    (void)context;
    fake_os_advance(LEASE + T(1));
    while (taken_inside < CAPACITY && elapse_task_take(destroying, 0, &taken) == ELAPSE_OK) {
        taken_inside++;
        (void)elapse_task_done_taken(destroying, &taken);
        if (taken_inside == 1)
            break;
    }
}

/* The task 'x' is due again whenever it is done, and the destructor of a cancelled task lasts
 * longer than the lease of 'x'. So 'x' could be taken, taken by another take, done, and taken again
 * for the same batch. */
TEST_WITH(no_task_is_in_a_batch_twice, begin, end)
{
    struct elapse_scheduler *scheduler = lease_new(2);
    const uint64_t begin_ns = FAKE_MONOTONIC_NS;
    struct elapse_task recurs = recurring('x', ELAPSE_RECUR_PERIOD, TICK_NS, ELAPSE_MISSED_BURST);
    struct elapse_task slow = {.context = name_of('c'), .destroy = take_inside};
    const char keys[] = {key_in_shard(scheduler, 0), key_in_shard(scheduler, 1)};
    struct elapse_taken taken[CAPACITY];

    destroying = scheduler;
    taken_inside = 0;
    recurs.key = &keys[0];
    slow.key = &keys[1];
    recurs.key_bytes = slow.key_bytes = 1;
    struct elapse_handle cancelled = schedule_at(scheduler, slow, begin_ns);
    assert_int_equal(take_batch(scheduler, taken), 1);
    assert_int_equal(elapse_task_cancel(scheduler, cancelled), ELAPSE_CANCEL_RUNNING);
    struct elapse_handle handle = schedule_at(scheduler, recurs, taken[0].lease_until_ns);
    fake_os_advance(T(20));
    assert_int_equal(take_batch(scheduler, taken), 1);
    assert_true(same_handle(taken[0].run.handle, handle));
    assert_int_equal(taken[0].run.number, 1);
    assert_int_equal(taken[0].run.attempt, 1);
    assert_int_equal(taken_inside, 0);
    assert_int_equal(elapse_task_look_up(scheduler, cancelled, NULL), ELAPSE_TASK_RUNNING);
    assert_ok(elapse_task_done_taken(scheduler, &taken[0]));

    /* The next take begins with the task that is to be ended. */
    fake_os_advance(T(20));
    assert_int_equal(take_batch(scheduler, taken), 1);
    assert_int_equal(elapse_task_look_up(scheduler, cancelled, NULL), ELAPSE_TASK_GONE);
    assert_int_equal(taken_inside, 1);
    assert_ok(elapse_task_done_taken(scheduler, &taken[0]));
    scheduler_end(scheduler);
}

TEST_MAIN("lease_batch")
