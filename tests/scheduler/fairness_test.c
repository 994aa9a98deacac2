/*
 * No due task waits behind others for ever: tasks by the wall clock run beside tasks by the
 * monotonic clock that never leave a moment in between, and the other way round. In pull mode the
 * same holds of due tasks beside tasks whose leases expire again and again, and the other way
 * round.
 *
 * The load is tasks that never come to an end: whenever one of them runs, others are due already.
 * The victims are tasks that must run beside the load. Time moves only by a tick with each run of
 * the load, so nothing depends on how long something takes. After TURNS_MAX turns the load is
 * ended, so that a scheduler that is not fair fails the test and does not hang it.
 */
#include "../support/fake_os.h"
#include "pulling.h"
#include "wall_clock.h"

enum { TURNS_MAX = 10000, LOAD_TASKS = 200, VICTIMS = 8 };

/* What the actions write down. They assert nothing. */
static struct {
    atomic_uint turns;         /* runs of the load */
    atomic_uint victims;       /* victims that have run */
    atomic_uint turns_at_last; /* turns when the last victim ran for the first time */
    atomic_uint refused;       /* what an action asked for and did not get */
    atomic_bool has_run[VICTIMS];
} noted;

static void note_nothing(void)
{
    memset(&noted, 0, sizeof noted);
}

static void note_victim(size_t number)
{
    if (atomic_exchange(&noted.has_run[number], true))
        return;
    atomic_store(&noted.turns_at_last, atomic_load(&noted.turns));
    atomic_fetch_add(&noted.victims, 1);
}

static void run_victim(void *context, const struct elapse_run *run)
{
    (void)run;
    note_victim(number_of(context));
}

/* Returns whether all victims have run. The load ends after TURNS_MAX turns, so that they run even
 * if the scheduler is not fair. */
static bool all_victims_ran(void *count)
{
    return atomic_load(&noted.victims) == *(unsigned *)count;
}

static void expect_fairness(unsigned victims)
{
    assert_int_equal(atomic_load(&noted.victims), victims);
    assert_int_equal(atomic_load(&noted.refused), 0);
    assert_in_range(atomic_load(&noted.turns_at_last), 0, TURNS_MAX - 1);
}

static struct elapse_task victim(size_t number)
{
    static const char keys[VICTIMS] = "01234567";

    /* Each victim has a key of its own, so that victims are spread over the shards. */
    return (struct elapse_task){
        .action = run_victim, .context = name_of(number), .key = &keys[number], .key_bytes = 1};
}

/* Schedules victims by the wall clock: one that is due at once, and one that recurs by a cron
 * expression. */
static void schedule_victims_by_wall_clock(struct elapse_scheduler *scheduler)
{
    struct elapse_task task = victim(0);
    struct elapse_cron every_second;
    struct elapse_cron_fault fault;

    assert_ok(elapse_task_schedule_at_wall_clock(scheduler, &task,
                                                 elapse_scheduler_wall_clock_ns(scheduler), NULL));
    assert_ok(elapse_cron_parse(&every_second, "* * * * * *", &fault));
    task = victim(1);
    task.recurrence = ELAPSE_RECUR_CRON;
    task.cron = &every_second;
    assert_ok(elapse_task_schedule_cron(scheduler, &task, NULL));
}

enum { VICTIMS_BY_WALL_CLOCK = 2 };

/* ---- one step on manual time ---- */

/* The action of the load: schedules another task of the load, due at once. */
static void go_on_by_monotonic_clock(void *context, const struct elapse_run *run)
{
    struct elapse_task task = {.action = go_on_by_monotonic_clock, .context = context};

    if (atomic_fetch_add(&noted.turns, 1) + 1 < TURNS_MAX &&
        elapse_task_schedule_at(run->scheduler, &task, run->actual_ns, NULL) != ELAPSE_OK)
        atomic_fetch_add(&noted.refused, 1);
}

static void go_on_by_wall_clock(void *context, const struct elapse_run *run)
{
    struct elapse_task task = {.action = go_on_by_wall_clock, .context = context};

    if (atomic_fetch_add(&noted.turns, 1) + 1 < TURNS_MAX &&
        elapse_task_schedule_at_wall_clock(run->scheduler, &task, run->actual_ns, NULL) !=
            ELAPSE_OK)
        atomic_fetch_add(&noted.refused, 1);
}

TEST(a_step_runs_wall_clock_tasks_beside_monotonic_ones_without_end)
{
    static const unsigned shards[] = {1, 4};

    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        struct elapse_scheduler *scheduler = wall_new(WALL_NS, shards[i]);
        struct elapse_task load = {.action = go_on_by_monotonic_clock};

        note_nothing();
        (void)schedule_at(scheduler, load, T(1));
        for (size_t number = 0; number < VICTIMS; number++)
            (void)schedule_by_wall_clock(scheduler, victim(number), WALL_NS + T(1));
        (void)step(scheduler, T(1));
        expect_fairness(VICTIMS);
        scheduler_end(scheduler);
    }
}

TEST(a_step_runs_monotonic_tasks_beside_wall_clock_ones_without_end)
{
    static const unsigned shards[] = {1, 4};

    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        struct elapse_scheduler *scheduler = wall_new(WALL_NS, shards[i]);
        struct elapse_task load = {.action = go_on_by_wall_clock};

        note_nothing();
        (void)schedule_by_wall_clock(scheduler, load, WALL_NS + T(1));
        for (size_t number = 0; number < VICTIMS; number++)
            (void)schedule_at(scheduler, victim(number), T(1));
        (void)step(scheduler, T(1));
        expect_fairness(VICTIMS);
        scheduler_end(scheduler);
    }
}

/* ---- threads ---- */

/* The action of a task that takes a tick of time. Many such tasks, each due every tick, are always
 * late. */
static void take_a_tick(void *context, const struct elapse_run *run)
{
    (void)context;
    (void)run;
    if (atomic_fetch_add(&noted.turns, 1) + 1 < TURNS_MAX)
        fake_os_advance(TICK_NS);
}

static void schedule_load(struct elapse_scheduler *scheduler)
{
    for (unsigned i = 0; i < LOAD_TASKS; i++) {
        struct elapse_task task = {
            .action = take_a_tick, .recurrence = ELAPSE_RECUR_PERIOD, .period_ns = TICK_NS};

        (void)schedule_at(scheduler, task, FAKE_MONOTONIC_NS);
    }
}

static struct elapse_scheduler *fake_new(unsigned workers)
{
    struct elapse_scheduler_options options = real_options(workers, 1);

    note_nothing();
    fake_os_begin();
    options.queue_tasks = 4;
    return scheduler_new(&options);
}

static void expect_wall_clock_tasks_to_run(unsigned workers)
{
    unsigned victims = VICTIMS_BY_WALL_CLOCK;
    struct elapse_scheduler *scheduler = fake_new(workers);

    schedule_load(scheduler);
    schedule_victims_by_wall_clock(scheduler);
    assert_ok(elapse_scheduler_start(scheduler));
    /* If the scheduler is not fair, the second of the cron task has passed when the load ends. */
    wait_until(all_victims_ran, &victims);
    scheduler_end(scheduler);
    fake_os_end();
    expect_fairness(victims);
}

TEST(wall_clock_tasks_run_beside_monotonic_ones_that_saturate_the_workers)
{
    expect_wall_clock_tasks_to_run(1);
    expect_wall_clock_tasks_to_run(3);
}

TEST(wall_clock_tasks_run_beside_monotonic_ones_that_saturate_the_clock_thread)
{
    expect_wall_clock_tasks_to_run(0);
}

/* ---- pull mode ---- */

/* Takes up to `capacity` tasks at a time, and ends them. Time goes on by a tick with each task. */
static void expect_wall_clock_tasks_to_be_taken(size_t capacity)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);
    struct elapse_taken taken[LOAD_TASKS];

    note_nothing();
    options.pull = true;
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    assert_ok(elapse_scheduler_set_wall_clock(scheduler, WALL_NS));
    for (unsigned i = 0; i < LOAD_TASKS; i++) {
        struct elapse_task task = {.recurrence = ELAPSE_RECUR_PERIOD, .period_ns = TICK_NS};

        (void)schedule_at(scheduler, task, 0);
    }
    schedule_victims_by_wall_clock(scheduler);
    while (atomic_load(&noted.victims) < VICTIMS_BY_WALL_CLOCK &&
           atomic_load(&noted.turns) < TURNS_MAX) {
        size_t count;

        assert_ok(elapse_task_take_batch(scheduler, 0, taken, capacity, &count));
        for (size_t i = 0; i < count; i++) {
            uint64_t turns = atomic_fetch_add(&noted.turns, 1) + 1;

            assert_int_equal(step(scheduler, T(turns)), 0);
            if (taken[i].action != NULL)
                taken[i].action(taken[i].context, &taken[i].run);
            assert_ok(elapse_task_done(scheduler, taken[i].run.handle));
        }
    }
    expect_fairness(VICTIMS_BY_WALL_CLOCK);
    scheduler_end(scheduler);
}

TEST(wall_clock_tasks_are_taken_beside_monotonic_ones_that_are_always_due)
{
    expect_wall_clock_tasks_to_be_taken(1);
    expect_wall_clock_tasks_to_be_taken(16);
}

/* ---- pull mode with leases ---- */

enum { CAPACITY_MAX = 16 };

static const size_t capacities[] = {1, CAPACITY_MAX};

/* Makes a scheduler in pull mode whose leases last a tick. */
static struct elapse_scheduler *lease_new(unsigned shards)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, shards);

    note_nothing();
    options.pull = true;
    options.lease_ns = TICK_NS;
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    assert_ok(elapse_scheduler_set_wall_clock(scheduler, WALL_NS));
    return scheduler;
}

static size_t take_some(struct elapse_scheduler *scheduler, struct elapse_taken *taken,
                        size_t capacity)
{
    size_t count;

    assert_ok(elapse_task_take_batch(scheduler, 0, taken, capacity, &count));
    return count;
}

/* Ends a turn: time goes on by a tick. */
static void end_turn(struct elapse_scheduler *scheduler)
{
    uint64_t turns = atomic_fetch_add(&noted.turns, 1) + 1;

    assert_int_equal(step(scheduler, T(turns)), 0);
}

/* Takes some tasks, and runs and ends those that have an action. Ends the tasks of the load, too,
 * if `ends_load`. */
static void take_turn(struct elapse_scheduler *scheduler, size_t capacity, bool ends_load)
{
    struct elapse_taken taken[CAPACITY_MAX];
    size_t count = take_some(scheduler, taken, capacity);

    for (size_t i = 0; i < count; i++) {
        if (taken[i].action != NULL)
            taken[i].action(taken[i].context, &taken[i].run);
        if (taken[i].action != NULL || ends_load)
            assert_ok(elapse_task_done_taken(scheduler, &taken[i]));
    }
    end_turn(scheduler);
}

static bool victims_are_left(void)
{
    return atomic_load(&noted.victims) < VICTIMS && atomic_load(&noted.turns) < TURNS_MAX;
}

/* Takes one victim of each number, and holds them until their leases have expired. */
static void leave_victims(struct elapse_scheduler *scheduler)
{
    struct elapse_taken taken[VICTIMS];

    for (size_t number = 0; number < VICTIMS; number++)
        (void)schedule_at(scheduler, victim(number), 0);
    assert_int_equal(take_some(scheduler, taken, VICTIMS), VICTIMS);
    end_turn(scheduler);
}

/* No task of the load is ever reported as done, and there are so many that the lease of one of them
 * has always expired. */
TEST(due_tasks_are_taken_beside_leases_that_always_expire)
{
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        struct elapse_scheduler *scheduler = lease_new(1);
        struct elapse_taken taken[LOAD_TASKS];

        for (unsigned j = 0; j < LOAD_TASKS; j++) {
            struct elapse_task task = {.action = NULL};

            (void)schedule_at(scheduler, task, 0);
        }
        assert_int_equal(take_some(scheduler, taken, LOAD_TASKS), LOAD_TASKS);
        schedule_victims_by_wall_clock(scheduler);
        for (size_t number = VICTIMS_BY_WALL_CLOCK; number < VICTIMS; number++) {
            struct elapse_task task = victim(number);

            (void)schedule_at(scheduler, task, T(1));
        }
        end_turn(scheduler);
        while (victims_are_left())
            take_turn(scheduler, capacities[i], false);
        expect_fairness(VICTIMS);
        scheduler_end(scheduler);
    }
}

/* The tasks of the load recur more often than they are taken, so they are always late. */
TEST(expired_leases_are_taken_beside_tasks_that_are_always_due)
{
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        struct elapse_scheduler *scheduler = lease_new(1);

        leave_victims(scheduler);
        for (unsigned j = 0; j < LOAD_TASKS; j++) {
            struct elapse_task task = {.recurrence = ELAPSE_RECUR_PERIOD,
                                       .period_ns = TICK_NS,
                                       .if_missed = ELAPSE_MISSED_BURST};

            (void)schedule_at(scheduler, task, 0);
        }
        while (victims_are_left())
            take_turn(scheduler, capacities[i], true);
        expect_fairness(VICTIMS);
        scheduler_end(scheduler);
    }
}

/* Makes a task of the load due by the wall clock in this shard. */
static void schedule_load_by_wall_clock(struct elapse_scheduler *scheduler, char key)
{
    struct elapse_task task = {.key = &key, .key_bytes = 1};

    (void)schedule_by_wall_clock(scheduler, task, elapse_scheduler_wall_clock_ns(scheduler));
}

TEST(expired_leases_are_taken_beside_wall_clock_tasks_that_are_always_due)
{
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        struct elapse_scheduler *scheduler = lease_new(1);

        leave_victims(scheduler);
        while (victims_are_left()) {
            schedule_load_by_wall_clock(scheduler, 'a');
            take_turn(scheduler, capacities[i], true);
        }
        expect_fairness(VICTIMS);
        scheduler_end(scheduler);
    }
}

static void note_end(void *context)
{
    note_victim(number_of(context));
}

/* Takes a task by each clock, one at a time, so that from here on it is the other clock's turn to
 * be first. */
static void change_turns(struct elapse_scheduler *scheduler, char key)
{
    struct elapse_task task = {.action = NULL};
    struct elapse_taken taken;

    (void)schedule_at(scheduler, task, 0);
    schedule_load_by_wall_clock(scheduler, key);
    for (int i = 0; i < 2; i++) {
        assert_ok(elapse_task_take(scheduler, 0, &taken));
        assert_ok(elapse_task_done_taken(scheduler, &taken));
    }
}

/* A take ends a cancelled task only while it has taken nothing. If it has taken a task, the next
 * take must begin with the cancelled task, and not with tasks by the wall clock. */
static void expect_cancelled_task_to_end(bool load_in_its_shard, bool wall_clock_first)
{
    struct elapse_scheduler *scheduler = lease_new(2);
    struct elapse_task task = {.context = name_of(0), .destroy = note_end};
    struct elapse_handle handle = schedule_at(scheduler, task, 0);
    char key = key_in_shard(scheduler, load_in_its_shard ? handle.shard : 1 - handle.shard);
    struct elapse_taken taken[CAPACITY_MAX];

    assert_int_equal(take_some(scheduler, taken, CAPACITY_MAX), 1);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    if (wall_clock_first)
        change_turns(scheduler, key);
    end_turn(scheduler);
    while (atomic_load(&noted.victims) == 0 && atomic_load(&noted.turns) < TURNS_MAX) {
        schedule_load_by_wall_clock(scheduler, key);
        take_turn(scheduler, CAPACITY_MAX, true);
    }
    expect_fairness(1);
    scheduler_end(scheduler);
}

TEST(a_cancelled_task_ends_beside_wall_clock_tasks_that_are_always_due)
{
    expect_cancelled_task_to_end(true, false);
    expect_cancelled_task_to_end(true, true);
    expect_cancelled_task_to_end(false, false);
    expect_cancelled_task_to_end(false, true);
}

TEST_MAIN("fairness")
