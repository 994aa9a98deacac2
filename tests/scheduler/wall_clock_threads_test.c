/*
 * Wall-clock times while several threads use the scheduler: with steps and a wall clock that the
 * test sets, and on the real one.
 */
#define _POSIX_C_SOURCE 200809L

#include "wall_clock.h"

#include "seed.h"

static void set(struct elapse_scheduler *scheduler, uint64_t unix_ns)
{
    assert_ok(elapse_scheduler_set_wall_clock(scheduler, unix_ns));
}

/* ---- threads beside a clock that goes back and forth ---- */

enum { THREADS = 3, EACH = 4000 };

struct shared_entry {
    atomic_uint runs;
    bool removed;
};

struct beside {
    struct elapse_scheduler *scheduler;
    struct shared_entry entries[EACH];
    uint64_t seed;
    atomic_uint faults;
    atomic_bool done;
};

static void count_run(void *context, const struct elapse_run *run)
{
    struct shared_entry *entry = context;

    (void)run;
    atomic_fetch_add(&entry->runs, 1);
}

static void *schedule_and_cancel(void *context)
{
    struct beside *beside = context;
    struct random_source source = {beside->seed};
    static _Thread_local struct elapse_handle handles[EACH];

    for (size_t i = 0; i < EACH; i++) {
        struct elapse_task task = {.action = count_run, .context = &beside->entries[i]};
        uint64_t unix_ns = WALL_NS + T(random_below(&source, 4000));
        size_t other = random_index(&source, i + 1);
        uint64_t deadline_ns;

        if (elapse_task_schedule_at_wall_clock(beside->scheduler, &task, unix_ns, &handles[i]) !=
            ELAPSE_OK)
            atomic_fetch_add(&beside->faults, 1);
        (void)look_up_deadline(beside->scheduler, handles[other], &deadline_ns);
        if (random_one_in(&source, 2) &&
            elapse_task_cancel(beside->scheduler, handles[other]) == ELAPSE_CANCEL_REMOVED) {
            if (beside->entries[other].removed)
                atomic_fetch_add(&beside->faults, 1);
            beside->entries[other].removed = true;
        }
    }
    atomic_store(&beside->done, true);
    return NULL;
}

TEST(threads_beside_a_clock_that_is_set)
{
    static struct beside beside[THREADS];
    struct random_source source = random_by_seed();
    struct elapse_scheduler *scheduler = wall_new(WALL_NS, 2);
    pthread_t threads[THREADS];

    memset(beside, 0, sizeof beside);
    for (size_t i = 0; i < THREADS; i++) {
        beside[i].scheduler = scheduler;
        beside[i].seed = random_next(&source);
        assert_int_equal(pthread_create(&threads[i], NULL, schedule_and_cancel, &beside[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        while (!atomic_load(&beside[i].done)) {
            set(scheduler, WALL_NS + T(random_below(&source, 1000)));
            (void)step(scheduler, elapse_scheduler_now_ns(scheduler));
        }
    for (size_t i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    set(scheduler, WALL_NS);
    (void)step(scheduler, elapse_scheduler_now_ns(scheduler));
    set(scheduler, WALL_NS + T(4000));
    (void)step(scheduler, elapse_scheduler_now_ns(scheduler));
    assert_int_equal(pending_tasks(scheduler), 0);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(atomic_load(&beside[i].faults), 0);
        for (size_t j = 0; j < EACH; j++)
            assert_int_equal(atomic_load(&beside[i].entries[j].runs) + beside[i].entries[j].removed,
                             1);
    }
    scheduler_end(scheduler);
}

/* ---- ordinary tasks beside a step ---- */

static void *schedule_in_the_past(void *context)
{
    struct beside *beside = context;

    for (size_t i = 0; i < EACH; i++) {
        struct elapse_task task = {.action = count_run, .context = &beside->entries[i]};
        uint64_t now_ns = elapse_scheduler_now_ns(beside->scheduler);

        if (elapse_task_schedule_at(beside->scheduler, &task, now_ns - T(i % 100), NULL) !=
            ELAPSE_OK)
            atomic_fetch_add(&beside->faults, 1);
    }
    atomic_store(&beside->done, true);
    return NULL;
}

TEST(threads_that_schedule_beside_a_step)
{
    static struct beside beside;
    struct elapse_scheduler *scheduler = wall_new(WALL_NS, 2);
    pthread_t thread;

    (void)step(scheduler, T(100));
    memset(&beside, 0, sizeof beside);
    beside.scheduler = scheduler;
    assert_int_equal(pthread_create(&thread, NULL, schedule_in_the_past, &beside), 0);
    while (!atomic_load(&beside.done))
        (void)step(scheduler, elapse_scheduler_now_ns(scheduler) + T(1));
    (void)pthread_join(thread, NULL);
    (void)step(scheduler, elapse_scheduler_now_ns(scheduler) + T(1));
    assert_int_equal(atomic_load(&beside.faults), 0);
    for (size_t i = 0; i < EACH; i++)
        assert_int_equal(atomic_load(&beside.entries[i].runs), 1);
    scheduler_end(scheduler);
}

/* ---- on the real clock ---- */

SCHEDULER_TEST(on_the_real_wall_clock, started_new(2))
{
    uint64_t now_ns = elapse_scheduler_wall_clock_ns(scheduler);
    struct elapse_task task = task_named('a');

    struct elapse_handle far = schedule_by_wall_clock(scheduler, task, now_ns + ELAPSE_DAY_NS);
    for (uint64_t n = 0; n < 100; n++)
        (void)schedule_by_wall_clock(scheduler, task, now_ns + n * T(1) / 4);
    wait_for_runs(100);
    for (size_t i = 0; i < 100; i++) {
        assert_true(run_at(i).run.wall_clock);
        assert_true(run_at(i).run.actual_ns >= run_at(i).run.intended_ns);
        assert_true(run_at(i).run.intended_ns >= now_ns);
    }
    assert_int_equal(elapse_task_cancel_wait(scheduler, far, ELAPSE_NEVER), ELAPSE_CANCEL_REMOVED);
}

TEST_MAIN("wall_clock_threads")
