/*
 * Tests pull mode with many threads that wait: one deadline wakes one thread, which passes the turn
 * to wait for the next deadline on to one other thread.
 *
 * The test moves the clock. Between two deadlines it waits until all threads are asleep again, so
 * that each deadline finds all of them waiting. A thread that wakes up reads the wall clock to find
 * due tasks, and so does a thread that takes again. So the number of readings tells how many
 * threads have woken.
 */
#include "../support/asleep.h"
#include "../support/fake_os.h"
#include "fixture.h"

/* Each task wakes two threads: the thread that takes it, and the thread that gets the turn. */
enum { TAKERS = 16, TASKS = 16, WAKES_MAX = 2 * TASKS + TASKS / 2 };

struct taker {
    struct elapse_scheduler *scheduler;
    uint64_t timeout_ns;
    pthread_t thread;
    atomic_long number;
    atomic_uint takes;       /* times that it has asked for a task */
    enum elapse_error error; /* of the last take */
    bool holds;              /* keeps what it has taken until all may go on */
    atomic_bool ended;
};

static atomic_uint taken_tasks;
static atomic_bool may_go_on;

static void *take_all(void *context)
{
    struct taker *taker = context;
    struct elapse_taken taken;

    atomic_store(&taker->number, thread_number());
    for (;;) {
        atomic_fetch_add(&taker->takes, 1);
        taker->error = elapse_task_take(taker->scheduler, taker->timeout_ns, &taken);
        if (taker->error != ELAPSE_OK)
            break;
        atomic_fetch_add(&taken_tasks, 1);
        while (taker->holds && !atomic_load(&may_go_on))
            sleep_ns(TICK_NS / 5);
        (void)elapse_task_done(taker->scheduler, taken.run.handle);
    }
    atomic_store(&taker->ended, true);
    return NULL;
}

static void taker_begin(struct taker *taker, struct elapse_scheduler *scheduler,
                        uint64_t timeout_ns, bool holds)
{
    atomic_store(&taker->number, 0);
    atomic_store(&taker->takes, 0);
    atomic_store(&taker->ended, false);
    taker->scheduler = scheduler;
    taker->timeout_ns = timeout_ns;
    taker->holds = holds;
    assert_int_equal(pthread_create(&taker->thread, NULL, take_all, taker), 0);
}

static void taker_end(struct taker *taker, enum elapse_error error)
{
    assert_int_equal(pthread_join(taker->thread, NULL), 0);
    assert_int_equal(taker->error, error);
}

struct takers {
    struct taker *takers;
    size_t count;
};

/* Returns whether all takers have asked for a task and wait for it. */
static bool all_wait(void *context)
{
    const struct takers *all = context;
    long numbers[TAKERS];

    for (size_t i = 0; i < all->count; i++) {
        numbers[i] = atomic_load(&all->takers[i].number);
        if (atomic_load(&all->takers[i].takes) == 0)
            return false;
    }
    return fake_os_is_idle() && threads_are_asleep(numbers, all->count);
}

static void wait_until_all_wait(struct taker *takers, size_t count)
{
    struct takers all = {takers, count};

    wait_until(all_wait, &all);
}

static bool all_hold_one(void *context)
{
    (void)context;
    return atomic_load(&taken_tasks) == TAKERS;
}

static bool has_ended(void *taker)
{
    return atomic_load(&((struct taker *)taker)->ended);
}

static struct elapse_scheduler *fake_pull_new(unsigned shards)
{
    struct elapse_scheduler_options options;

    atomic_store(&taken_tasks, 0);
    atomic_store(&may_go_on, false);
    fake_os_begin();
    elapse_scheduler_options_init(&options);
    options.pull = true;
    options.shards = shards;
    return started_with(&options);
}

static void close_and_end(struct elapse_scheduler *scheduler, struct taker *takers, size_t count)
{
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    for (size_t i = 0; i < count; i++)
        taker_end(&takers[i], ELAPSE_ERROR_CLOSED);
    scheduler_end(scheduler);
    fake_os_end();
}

static uint64_t takes_of_all(struct taker *takers)
{
    uint64_t takes = 0;

    for (size_t i = 0; i < TAKERS; i++)
        takes += atomic_load(&takers[i].takes);
    return takes;
}

TEST(one_deadline_wakes_one_thread)
{
    static struct taker takers[TAKERS];
    static const unsigned shards[] = {1, 4};

    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        struct elapse_scheduler *scheduler = fake_pull_new(shards[i]);
        struct elapse_task task = task_named('a');

        for (unsigned k = 1; k <= TASKS; k++)
            (void)schedule_at(scheduler, task, FAKE_MONOTONIC_NS + T(3 * k));
        for (size_t k = 0; k < TAKERS; k++)
            taker_begin(&takers[k], scheduler, ELAPSE_NEVER, false);
        wait_until_all_wait(takers, TAKERS);

        uint64_t looks = fake_os_readings(ELAPSE__OS_WALL_CLOCK);
        uint64_t takes = takes_of_all(takers);

        for (unsigned k = 1; k <= TASKS; k++) {
            fake_os_advance(T(3));
            wait_until_all_wait(takers, TAKERS);
            assert_int_equal(atomic_load(&taken_tasks), k);
        }
        /* Each call of take looks once; each further look is that of a thread that has woken. */
        looks = fake_os_readings(ELAPSE__OS_WALL_CLOCK) - looks;
        takes = takes_of_all(takers) - takes;
        assert_int_equal(takes, TASKS);
        assert_in_range(looks - takes, TASKS, WAKES_MAX);
        close_and_end(scheduler, takers, TAKERS);
    }
}

/* Each of these deadlines is earlier than the one that the threads wait for. */
TEST(a_new_earliest_deadline_wakes_one_thread)
{
    static struct taker takers[TAKERS];
    struct elapse_scheduler *scheduler = fake_pull_new(1);
    struct elapse_task task = task_named('a');

    (void)schedule_at(scheduler, task, FAKE_MONOTONIC_NS + ELAPSE_HOUR_NS);
    for (size_t i = 0; i < TAKERS; i++)
        taker_begin(&takers[i], scheduler, ELAPSE_NEVER, false);
    wait_until_all_wait(takers, TAKERS);

    uint64_t looks = fake_os_readings(ELAPSE__OS_WALL_CLOCK);

    for (unsigned k = 1; k <= TASKS; k++) {
        (void)schedule_at(scheduler, task, fake_os_now_ns(ELAPSE__OS_MONOTONIC));
        wait_until_all_wait(takers, TAKERS);
        assert_int_equal(atomic_load(&taken_tasks), k);
    }
    looks = fake_os_readings(ELAPSE__OS_WALL_CLOCK) - looks;
    assert_in_range(looks - TASKS, TASKS, WAKES_MAX);
    close_and_end(scheduler, takers, TAKERS);
}

/* A thread that holds what it has taken does not hold up the others. */
TEST(tasks_due_at_one_time_go_to_as_many_threads)
{
    static struct taker takers[TAKERS];
    struct elapse_scheduler *scheduler = fake_pull_new(1);
    struct elapse_task task = task_named('a');

    for (unsigned k = 0; k < TAKERS; k++)
        (void)schedule_at(scheduler, task, FAKE_MONOTONIC_NS + T(1));
    for (size_t i = 0; i < TAKERS; i++)
        taker_begin(&takers[i], scheduler, ELAPSE_NEVER, true);
    wait_until_all_wait(takers, TAKERS);
    fake_os_advance(T(1));
    wait_until(all_hold_one, takers);
    atomic_store(&may_go_on, true);
    wait_until_all_wait(takers, TAKERS);
    assert_int_equal(atomic_load(&taken_tasks), TAKERS);
    close_and_end(scheduler, takers, TAKERS);
}

/* The thread that waits for the deadline gives up: another one goes on in its place. */
TEST(a_thread_whose_time_is_over_hands_its_turn_on)
{
    static struct taker impatient;
    static struct taker takers[TAKERS];
    struct elapse_scheduler *scheduler = fake_pull_new(1);

    (void)schedule_at(scheduler, task_named('a'), FAKE_MONOTONIC_NS + T(10));
    taker_begin(&impatient, scheduler, T(5), false);
    wait_until_all_wait(&impatient, 1); /* so that it has the turn */
    for (size_t i = 0; i < TAKERS; i++)
        taker_begin(&takers[i], scheduler, ELAPSE_NEVER, false);
    wait_until_all_wait(takers, TAKERS);
    fake_os_advance(T(5));
    wait_until(has_ended, &impatient);
    taker_end(&impatient, ELAPSE_ERROR_NOTHING_DUE);
    wait_until_all_wait(takers, TAKERS);
    assert_int_equal(atomic_load(&taken_tasks), 0);
    fake_os_advance(T(5));
    wait_until_all_wait(takers, TAKERS);
    assert_int_equal(atomic_load(&taken_tasks), 1);
    close_and_end(scheduler, takers, TAKERS);
}

TEST_MAIN("pull_wake")
