/*
 * Tests that two threads may make the same thing for a shard at the same time: a block of tasks, a
 * segment of the key index, or a wheel for wall-clock times. One thread loses the race, and
 * releases what it has made.
 *
 * The allocator decides the race: in the middle of the allocation that is wanted it lets a second
 * thread schedule a task to the end, which makes the same thing first. Allocators hold no lock of
 * the scheduler, so the second thread is not held up.
 */
#include "part.h"

#include <pthread.h>

struct race {
    struct elapse_scheduler *scheduler;
    struct counting_memory counting;
    struct elapse_allocator inner;
    size_t wanted_bytes; /* the least size of the allocation in which the race is lost; 0: none */
    bool lost;
    enum elapse_error (*schedule)(struct race *race, unsigned number);
    enum elapse_error winner_error;
};

static void nothing(void *context, const struct elapse_run *run)
{
    (void)context;
    (void)run;
}

static void *win(void *argument)
{
    struct race *race = argument;

    race->winner_error = race->schedule(race, 1000000);
    return NULL;
}

static void *racing_allocate(size_t alignment, size_t bytes, void *context)
{
    struct race *race = context;

    if (race->wanted_bytes != 0 && bytes >= race->wanted_bytes) {
        pthread_t winner;

        race->wanted_bytes = 0;
        race->lost = pthread_create(&winner, NULL, win, race) == 0;
        if (race->lost)
            (void)pthread_join(winner, NULL);
    }
    return race->inner.allocate(alignment, bytes, race->inner.context);
}

static void racing_release(void *memory, size_t bytes, void *context)
{
    struct race *race = context;

    race->inner.release(memory, bytes, race->inner.context);
}

static void begin(struct race *race,
                  enum elapse_error (*schedule)(struct race *race, unsigned number))
{
    struct elapse_scheduler_options options;

    *race = (struct race){.schedule = schedule};
    race->inner = counting_allocator(&race->counting);
    elapse_scheduler_options_init(&options);
    options.clock = ELAPSE_CLOCK_MANUAL;
    options.shards = 1;
    options.allocator = (struct elapse_allocator){
        .allocate = racing_allocate, .release = racing_release, .context = race};
    assert_int_equal(elapse_scheduler_new(&options, &race->scheduler), ELAPSE_OK);
}

static uint64_t pending(const struct race *race)
{
    static struct elapse_statistics statistics;

    elapse_scheduler_statistics(race->scheduler, &statistics);
    return statistics.pending;
}

/* Schedules a task that loses the race in an allocation of this size or more. */
static void lose(struct race *race, size_t wanted_bytes)
{
    uint64_t before = pending(race);

    race->wanted_bytes = wanted_bytes;
    assert_int_equal(race->schedule(race, 2000000), ELAPSE_OK);
    assert_true(race->lost);
    assert_int_equal(race->winner_error, ELAPSE_OK);
    assert_int_equal(pending(race), before + 2);
}

/* Checks that all tasks run, and that all memory is released. */
static void end(struct race *race)
{
    uint64_t tasks = pending(race);
    size_t ran;

    assert_int_equal(elapse_scheduler_step(race->scheduler, ELAPSE_SECOND_NS, &ran), ELAPSE_OK);
    assert_int_equal(ran, tasks);
    assert_int_equal(elapse_scheduler_free(race->scheduler), ELAPSE_OK);
    assert_int_equal(race->counting.blocks, 0);
    assert_int_equal(race->counting.bytes, 0);
}

static enum elapse_error schedule_plain(struct race *race, unsigned number)
{
    const struct elapse_task task = {.action = nothing};

    (void)number;
    return elapse_task_schedule_at(race->scheduler, &task, ELAPSE_MILLISECOND_NS, NULL);
}

static enum elapse_error schedule_with_key(struct race *race, unsigned number)
{
    const struct elapse_task task = {.action = nothing, .key = &number, .key_bytes = sizeof number};

    return elapse_task_schedule_at(race->scheduler, &task, ELAPSE_MILLISECOND_NS, NULL);
}

static enum elapse_error schedule_by_wall_clock(struct race *race, unsigned number)
{
    const struct elapse_task task = {.action = nothing};

    (void)number;
    return elapse_task_schedule_at_wall_clock(race->scheduler, &task, ELAPSE_MILLISECOND_NS, NULL);
}

TEST(the_loser_of_a_block_keeps_it_as_room_to_come)
{
    struct race race;

    begin(&race, schedule_plain);
    lose(&race, 1024 * sizeof(void *)); /* the block; tasks are smaller on machines of 32 bits */
    end(&race);
}

TEST(the_loser_of_a_segment_releases_it)
{
    struct race race;

    begin(&race, schedule_with_key);
    /* The next insertion wants the first segment of 64 buckets; the block is there. */
    for (unsigned number = 0; number < 64; number++)
        assert_int_equal(schedule_with_key(&race, number), ELAPSE_OK);
    lose(&race, 64 * sizeof(void *));
    end(&race);
}

TEST(the_loser_of_a_wheel_releases_it)
{
    struct race race;

    begin(&race, schedule_by_wall_clock);
    /* The block first, so that the next large allocation is the wheel. */
    assert_int_equal(schedule_plain(&race, 0), ELAPSE_OK);
    lose(&race, 4096);
    end(&race);
}

TEST_MAIN("lost races")
