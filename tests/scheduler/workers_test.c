/*
 * Workers, on the real clock: which thread runs which action, how many threads there are, and
 * their attributes. Nothing here depends on how long something takes.
 */
#define _GNU_SOURCE /* the name and the attributes of a thread */

#include "fixture.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define HOUR_NS (3600 * ELAPSE_SECOND_NS)

static struct elapse_scheduler_options queue_options(unsigned workers, unsigned queue_tasks)
{
    struct elapse_scheduler_options options = real_options(workers, 1);

    options.queue_tasks = queue_tasks;
    return options;
}

static bool some_held_back(void *scheduler)
{
    return statistics_of(scheduler).held_back != 0;
}

struct expected_workers {
    struct elapse_scheduler *scheduler;
    uint64_t count;
};

static bool have_been_made(void *context)
{
    const struct expected_workers *expected = context;

    return statistics_of(expected->scheduler).workers == expected->count;
}

/* A worker may be at work a moment before it is counted. */
static void wait_for_workers(struct elapse_scheduler *scheduler, uint64_t count)
{
    struct expected_workers expected = {scheduler, count};

    wait_until(have_been_made, &expected);
}

static bool none_running(void *scheduler)
{
    return statistics_of(scheduler).running == 0;
}

static bool all_ended(void *count)
{
    return ends() >= *(size_t *)count;
}

/* ---- what the system says of the threads ---- */

/* The threads whose names begin with "elapse-", together. */
struct threads {
    size_t count;
    size_t asleep;
    uint64_t sleeps; /* how often they went to sleep */
};

static void add_thread(struct threads *threads, const char *task)
{
    char path[300];
    char line[256];
    bool ours = false;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
    file = fopen(path, "r");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "Name:\telapse-", 13) == 0)
            ours = true;
        else if (ours && strncmp(line, "State:\tS", 8) == 0)
            threads->asleep++;
        else if (ours && strncmp(line, "voluntary_ctxt_switches:", 24) == 0)
            threads->sleeps += strtoull(line + 24, NULL, 10);
    }
    (void)fclose(file);
    threads->count += ours;
}

static struct threads threads_now(void)
{
    DIR *directory = opendir("/proc/self/task");
    struct threads threads = {0, 0, 0};
    const struct dirent *entry;

    assert_non_null(directory);
    while ((entry = readdir(directory)) != NULL)
        add_thread(&threads, entry->d_name);
    (void)closedir(directory);
    return threads;
}

static bool all_asleep(void *scheduler)
{
    struct threads threads = threads_now();

    return none_running(scheduler) && threads.asleep == threads.count;
}

/* ---- which thread runs which action ---- */

TEST(a_slow_action_delays_no_other_while_a_worker_is_free)
{
    enum { SLOW = 3, TASKS = 100 };
    static struct gate gate;
    struct elapse_scheduler *scheduler = started_new(SLOW + 1);

    for (unsigned i = 0; i < SLOW; i++)
        schedule_at(scheduler, task_at_gate(&gate), 0);
    for (size_t i = 0; i < TASKS; i++)
        schedule_after(scheduler, task_named(i), i * TICK_NS / 10);
    wait_for_runs(TASKS);
    wait_entered(&gate, SLOW);
    assert_int_equal(atomic_load(&gate.left), 0);
    open_gate(&gate);
    scheduler_end(scheduler);
    assert_int_equal(runs(), TASKS);
    assert_int_equal(atomic_load(&gate.left), SLOW);
}

TEST(slow_actions_scheduled_at_once_each_find_a_worker)
{
    enum { WORKERS = 8 };
    static struct gate gate;
    struct elapse_scheduler_options options = queue_options(WORKERS, 1);
    struct elapse_scheduler *scheduler = started_with(&options);

    for (unsigned i = 0; i < 2 * WORKERS; i++)
        schedule_at(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, WORKERS);
    wait_until(some_held_back, scheduler);
    assert_int_equal(atomic_load(&gate.entered), WORKERS);
    wait_for_workers(scheduler, WORKERS);
    open_gate(&gate);
    wait_entered(&gate, 2 * WORKERS);
    scheduler_end(scheduler);
    assert_int_equal(atomic_load(&gate.left), 2 * WORKERS);
}

TEST(a_full_queue_loses_no_task_and_all_stay_cancellable)
{
    enum { WORKERS = 2, TASKS = 500 };
    static struct gate gate;
    struct elapse_scheduler_options options = queue_options(WORKERS, 1);
    struct elapse_scheduler *scheduler = started_with(&options);
    struct elapse_handle handles[TASKS];
    size_t kept = TASKS / 2;

    for (unsigned i = 0; i < WORKERS; i++)
        schedule_at(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, WORKERS);
    for (size_t i = 0; i < TASKS; i++)
        handles[i] = schedule_at(scheduler, task_with_end(i), 0);
    wait_until(some_held_back, scheduler);
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(elapse_task_look_up(scheduler, handles[i], NULL), ELAPSE_TASK_PENDING);
    assert_int_equal(pending_tasks(scheduler), TASKS);
    /* Every other one, and so of those that are queued as of those held back. */
    for (size_t i = 0; i < TASKS; i += 2)
        assert_int_equal(elapse_task_cancel(scheduler, handles[i]), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(pending_tasks(scheduler), kept);
    assert_int_equal(runs(), 0);
    open_gate(&gate);
    wait_for_runs(kept);
    scheduler_end(scheduler);
    assert_int_equal(runs(), kept);
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(ends_of(i), 1);
    for (size_t i = 0; i < kept; i++)
        assert_int_equal(run_at(i).number % 2, 1);
}

TEST(with_every_place_taken_all_can_be_cancelled)
{
    enum { TASKS = 300 };
    static struct gate gates[3];

    for (unsigned workers = 0; workers < 3; workers++) {
        struct elapse_scheduler_options options = queue_options(workers, 1);
        struct elapse_scheduler *scheduler = started_with(&options);
        struct elapse_handle handles[TASKS];

        for (unsigned i = 0; i < (workers == 0 ? 1 : workers); i++)
            schedule_at(scheduler, task_at_gate(&gates[workers]), 0);
        wait_entered(&gates[workers], workers == 0 ? 1 : workers);
        for (size_t i = 0; i < TASKS; i++)
            handles[i] = schedule_at(scheduler, task_with_end(i), 0);
        if (workers != 0)
            wait_until(some_held_back, scheduler);
        assert_int_equal(elapse_task_cancel_batch(scheduler, handles, TASKS, NULL), TASKS);
        assert_int_equal(ends(), TASKS);
        schedule_at(scheduler, task_with_end(TASKS), 0);
        open_gate(&gates[workers]);
        wait_for_runs(1);
        scheduler_end(scheduler);
        assert_int_equal(runs(), 1);
        assert_int_equal(run_at(0).number, TASKS);
    }
}

TEST(a_queued_task_that_is_rescheduled_comes_later)
{
    static struct gate gate;
    struct elapse_scheduler_options options = queue_options(1, 4);
    struct elapse_scheduler *scheduler = started_with(&options);
    struct elapse_handle handles[8];

    schedule_at(scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, 1);
    for (size_t i = 0; i < 8; i++)
        handles[i] = schedule_at(scheduler, task_with_end('a' + i), 0);
    wait_until(some_held_back, scheduler);
    for (size_t i = 0; i < 8; i += 2)
        assert_ok(elapse_task_reschedule_after(scheduler, handles[i], HOUR_NS));
    open_gate(&gate);
    wait_for_runs(4);
    expect_runs("bdfh");
    assert_int_equal(pending_tasks(scheduler), 4);
    for (size_t i = 0; i < 8; i += 2)
        assert_ok(elapse_task_reschedule_at(scheduler, handles[i], 0));
    wait_for_runs(8);
    scheduler_end(scheduler);
    assert_int_equal(ends(), 8);
}

TEST(one_worker_runs_in_order_whatever_the_queue)
{
    enum { TASKS = 2000 };
    static const unsigned queues[] = {1, 2, 1024};

    for (size_t queue = 0; queue < 3; queue++) {
        for (unsigned workers = 0; workers < 2; workers++) {
            struct elapse_scheduler_options options = queue_options(workers, queues[queue]);
            struct elapse_scheduler *scheduler = scheduler_new(&options);
            uint64_t now_ns = elapse_scheduler_now_ns(scheduler);

            for (size_t i = 0; i < TASKS; i++) {
                struct elapse_task task = task_named(TASKS - 1 - i);

                schedule_at(scheduler, task, now_ns + (TASKS - 1 - i) / 10 * TICK_NS / 20);
            }
            assert_ok(elapse_scheduler_start(scheduler));
            wait_for_runs(TASKS);
            scheduler_end(scheduler);
            for (size_t i = 1; i < TASKS; i++) {
                struct elapse_run before = run_at(i - 1).run;
                struct elapse_run after = run_at(i).run;

                assert_true(before.intended_ns <= after.intended_ns);
                assert_true(before.actual_ns >= before.intended_ns);
                if (before.intended_ns == after.intended_ns)
                    assert_true(run_at(i - 1).number > run_at(i).number);
            }
        }
    }
}

/* ---- how many there are ---- */

TEST(without_workers_all_run_on_one_thread)
{
    enum { TASKS = 200 };
    struct elapse_scheduler *scheduler = started_new(0);

    for (size_t i = 0; i < TASKS; i++)
        schedule_after(scheduler, task_with_end(i), i * TICK_NS / 20);
    wait_for_runs(TASKS);
    assert_int_equal(statistics_of(scheduler).workers, 0);
    scheduler_end(scheduler);
    for (size_t i = 0; i < TASKS; i++) {
        assert_true(pthread_equal(run_at(i).thread, run_at(0).thread));
        assert_true(pthread_equal(end_thread_of(i), run_at(0).thread));
        assert_false(pthread_equal(run_at(i).thread, pthread_self()));
    }
}

TEST(workers_are_made_when_they_are_needed)
{
    enum { WORKERS = 5 };
    static struct gate gates[WORKERS];
    static struct gate beyond;
    struct elapse_scheduler *scheduler = started_new(WORKERS);
    struct elapse_task task;

    assert_true(statistics_of(scheduler).workers <= 1);
    for (size_t i = 0; i < WORKERS; i++) {
        task = task_at_gate(&gates[i]);
        schedule_at(scheduler, task, 0);
        wait_entered(&gates[i], 1);
        wait_for_workers(scheduler, i + 1);
    }
    task = task_at_gate(&beyond);
    schedule_at(scheduler, task, 0);
    for (size_t i = 0; i < WORKERS; i++)
        open_gate(&gates[i]);
    wait_entered(&beyond, 1);
    assert_int_equal(statistics_of(scheduler).workers, WORKERS);
    open_gate(&beyond);
    scheduler_end(scheduler);
}

SCHEDULER_TEST(tasks_one_by_one_need_but_one_worker, started_new(10))
{
    for (size_t i = 0; i < 100; i++) {
        schedule_at(scheduler, task_named(i), 0);
        wait_for_runs(i + 1);
        wait_until(all_asleep, scheduler);
    }
    assert_int_equal(statistics_of(scheduler).workers, 1);
}

TEST(never_more_workers_than_asked_for)
{
    enum { TASKS = 20000 };

    for (unsigned workers = 1; workers <= 4; workers++) {
        struct elapse_scheduler_options options = queue_options(workers, 16);
        pthread_t threads[4];
        size_t distinct = 0;
        size_t count = TASKS;

        options.shards = 4;
        struct elapse_scheduler *scheduler = started_with(&options);
        for (size_t i = 0; i < TASKS; i++)
            schedule_at(scheduler, task_with_end(i), 0);
        wait_for_runs(TASKS);
        wait_until(all_ended, &count);
        assert_true(statistics_of(scheduler).workers <= workers);
        for (size_t i = 0; i < TASKS; i++) {
            size_t at = 0;

            while (at < distinct && !pthread_equal(threads[at], run_at(i).thread))
                at++;
            if (at == distinct) {
                assert_true(distinct < workers);
                threads[distinct++] = run_at(i).thread;
            }
        }
        scheduler_end(scheduler);
        assert_int_equal(runs(), TASKS);
        assert_int_equal(ends(), TASKS);
    }
}

/* ---- no overlap ---- */

struct lone {
    atomic_uint inside;
    atomic_uint overlaps;
    atomic_uint begun;
    atomic_uint destroyed;
};

static void run_alone(void *context, const struct elapse_run *run)
{
    struct lone *lone = context;

    (void)run;
    if (atomic_fetch_add(&lone->inside, 1) != 0)
        atomic_fetch_add(&lone->overlaps, 1);
    atomic_fetch_add(&lone->begun, 1);
    for (int i = 0; i < 3; i++)
        (void)sched_yield();
    atomic_fetch_sub(&lone->inside, 1);
}

static void end_lone(void *context)
{
    atomic_fetch_add(&((struct lone *)context)->destroyed, 1);
}

TEST(a_task_rescheduled_from_outside_never_overlaps_itself)
{
    static struct lone lone;
    struct elapse_scheduler *scheduler = started_new(4);
    struct elapse_task task = {.action = run_alone, .context = &lone, .destroy = end_lone};
    unsigned scheduled = 0;

    while (atomic_load(&lone.begun) < 2000) {
        struct elapse_handle handle = schedule_at(scheduler, task, 0);

        scheduled++;
        for (int i = 0; i < 20; i++) {
            if (elapse_task_reschedule_at(scheduler, handle, 0) != ELAPSE_OK)
                break;
            (void)sched_yield();
        }
        while (atomic_load(&lone.destroyed) < scheduled)
            (void)sched_yield();
    }
    scheduler_end(scheduler);
    assert_int_equal(atomic_load(&lone.overlaps), 0);
    assert_int_equal(atomic_load(&lone.destroyed), scheduled);
}

SCHEDULER_TEST(a_key_never_overlaps_itself, started_new(4))
{
    enum { TASKS = 3000 };
    static struct lone lone;
    struct elapse_task task = {
        .action = run_alone, .context = &lone, .destroy = end_lone, .key = "key", .key_bytes = 3};

    for (size_t i = 0; i < TASKS; i++) {
        schedule_at(scheduler, task, 0);
        if (i % 8 == 0)
            (void)sched_yield();
    }
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_DUE, NULL, NULL));
    assert_int_equal(atomic_load(&lone.overlaps), 0);
    assert_int_equal(atomic_load(&lone.destroyed), TASKS);
    assert_true(atomic_load(&lone.begun) >= 1);
}

TEST(a_held_task_that_is_rescheduled_runs_after_it_has_ended)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = started_new(4);
    struct elapse_task task = task_at_gate(&gate);
    struct elapse_handle handle = schedule_at(scheduler, task, 0);

    wait_entered(&gate, 1);
    assert_ok(elapse_task_reschedule_at(scheduler, handle, 0));
    /* A task due later has run, so the rescheduled one would have begun by now. */
    schedule_after(scheduler, task_named('o'), 3 * TICK_NS);
    wait_for_runs(1);
    assert_int_equal(atomic_load(&gate.entered), 1);
    open_gate(&gate);
    wait_entered(&gate, 2);
    scheduler_end(scheduler);
    assert_int_equal(atomic_load(&gate.left), 2);
}

/* ---- the threads ---- */

struct portrait {
    atomic_uint taken;
    char name[16];
    sigset_t blocked;
    size_t stack_bytes;
};

static void take_portrait(void *context, const struct elapse_run *run)
{
    struct portrait *portrait = context;
    pthread_attr_t attributes;

    (void)run;
    (void)pthread_getname_np(pthread_self(), portrait->name, sizeof portrait->name);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &portrait->blocked);
    (void)pthread_getattr_np(pthread_self(), &attributes);
    (void)pthread_attr_getstacksize(&attributes, &portrait->stack_bytes);
    (void)pthread_attr_destroy(&attributes);
    atomic_fetch_add(&portrait->taken, 1);
}

static bool is_taken(void *portrait)
{
    return atomic_load(&((struct portrait *)portrait)->taken) != 0;
}

/* All that a thread can block: not what the system and the C library keep for themselves,
 * and in an emulator neither what it needs for itself. */
static sigset_t signals_to_block(void)
{
    sigset_t all;
    sigset_t before;
    sigset_t blocked;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    (void)pthread_sigmask(SIG_SETMASK, &before, &blocked);
    return blocked;
}

TEST(a_thread_is_named_blocks_signals_and_has_the_stack_asked_for)
{
    static const size_t stacks[] = {0, 256 * 1024, 64 * 1024 * 1024};
    static struct portrait portraits[6];
    sigset_t to_block = signals_to_block();

    for (int number = 1; number < 32; number++)
        assert_int_equal(sigismember(&to_block, number), number != SIGKILL && number != SIGSTOP);
    for (size_t i = 0; i < 6; i++) {
        struct elapse_scheduler_options options = queue_options(i < 3 ? 0 : 2, 8);
        struct elapse_task task = {.action = take_portrait, .context = &portraits[i]};
        sigset_t before;
        sigset_t after;

        options.stack_bytes = stacks[i % 3];
        (void)pthread_sigmask(SIG_BLOCK, NULL, &before);
        struct elapse_scheduler *scheduler = started_with(&options);
        (void)pthread_sigmask(SIG_BLOCK, NULL, &after);
        for (int number = 1; number < 32; number++)
            assert_int_equal(sigismember(&before, number), sigismember(&after, number));
        schedule_at(scheduler, task, 0);
        wait_until(is_taken, &portraits[i]);
        scheduler_end(scheduler);
        if (i < 3)
            assert_string_equal(portraits[i].name, "elapse-clock");
        else
            assert_memory_equal(portraits[i].name, "elapse-work-", 12);
        for (int number = 1; number <= SIGRTMAX; number++)
            assert_int_equal(sigismember(&portraits[i].blocked, number),
                             sigismember(&to_block, number));
        /* The C library may use the stack of a thread that has ended, if that is up to
         * four times as large. */
        if (options.stack_bytes != 0)
            assert_in_range(portraits[i].stack_bytes, options.stack_bytes, 4 * options.stack_bytes);
    }
}

enum { NAMES_MAX = 64 };

/* What the hook was called with, and on which threads. */
struct arrivals {
    atomic_uint count;
    struct elapse_scheduler *scheduler; /* set before start */
    char names[NAMES_MAX][32];
    pthread_t threads[NAMES_MAX];
    enum elapse_error scheduled;
};

static void arrive(const char *name, void *context)
{
    struct arrivals *arrivals = context;
    struct elapse_task task = task_named(TASKS_MAX - 1);
    struct elapse_handle handle;

    /* A hook is called with no lock held. */
    if (elapse_task_schedule_after(arrivals->scheduler, &task, HOUR_NS, &handle) == ELAPSE_OK)
        (void)elapse_task_cancel(arrivals->scheduler, handle);
    unsigned at = atomic_fetch_add(&arrivals->count, 1);
    if (at < NAMES_MAX) {
        (void)snprintf(arrivals->names[at], sizeof arrivals->names[at], "%s", name);
        arrivals->threads[at] = pthread_self();
    }
}

TEST(the_hook_is_called_once_on_each_thread)
{
    enum { WORKERS = 4 };
    static struct arrivals arrivals;
    static struct gate gate;
    struct elapse_scheduler_options options = queue_options(WORKERS, 8);
    size_t clocks = 0;

    options.thread_started = arrive;
    options.thread_started_context = &arrivals;
    arrivals.scheduler = scheduler_new(&options);
    assert_int_equal(atomic_load(&arrivals.count), 0);
    assert_ok(elapse_scheduler_start(arrivals.scheduler));
    for (unsigned i = 0; i < 3 * WORKERS; i++)
        schedule_at(arrivals.scheduler, task_at_gate(&gate), 0);
    wait_entered(&gate, WORKERS);
    open_gate(&gate);
    wait_entered(&gate, 3 * WORKERS);
    scheduler_end(arrivals.scheduler);
    assert_int_equal(atomic_load(&arrivals.count), WORKERS + 1);
    for (size_t i = 0; i <= WORKERS; i++) {
        if (strcmp(arrivals.names[i], "elapse-clock") == 0)
            clocks++;
        else
            assert_memory_equal(arrivals.names[i], "elapse-work-", 12);
        for (size_t other = 0; other < i; other++) {
            assert_string_not_equal(arrivals.names[i], arrivals.names[other]);
            assert_false(pthread_equal(arrivals.threads[i], arrivals.threads[other]));
        }
    }
    assert_int_equal(clocks, 1);
}

TEST(a_manual_scheduler_makes_no_thread)
{
    static struct arrivals arrivals;
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);

    options.thread_started = arrive;
    options.thread_started_context = &arrivals;
    arrivals.scheduler = scheduler_new(&options);
    assert_ok(elapse_scheduler_start(arrivals.scheduler));
    schedule_at(arrivals.scheduler, task_named('a'), 0);
    expect_step(arrivals.scheduler, 0, "a");
    assert_true(pthread_equal(run_at(0).thread, pthread_self()));
    scheduler_end(arrivals.scheduler);
    assert_int_equal(atomic_load(&arrivals.count), 0);
}

/* ---- no polling ---- */

TEST(an_idle_scheduler_sleeps)
{
    for (unsigned workers = 0; workers < 3; workers++) {
        struct elapse_scheduler *scheduler = started_new(workers);
        struct elapse_task task = task_named('a');

        for (uint64_t i = 1; i <= 1000; i++)
            schedule_after(scheduler, task, HOUR_NS + i * ELAPSE_SECOND_NS);
        schedule_at(scheduler, task, 0);
        wait_for_runs(1);
        wait_until(all_asleep, scheduler);
        struct threads before = threads_now();
        assert_int_equal(before.count, workers == 0 ? 1 : 2);
        sleep_ns(ELAPSE_SECOND_NS / 2);
        /* Ticks of 1 ms would make it 500. */
        assert_in_range(threads_now().sleeps - before.sleeps, 0, 3);
        scheduler_end(scheduler);
    }
}

SCHEDULER_TEST(far_tasks_that_come_and_go_wake_nobody, started_new(1))
{
    struct elapse_task task = task_named('a');

    schedule_after(scheduler, task, HOUR_NS);
    wait_until(all_asleep, scheduler);
    sleep_ns(ELAPSE_SECOND_NS / 10); /* so that it has heard of that task too */
    struct threads before = threads_now();
    for (size_t i = 0; i < 1000; i++) {
        struct elapse_handle handle = schedule_after(scheduler, task, 2 * HOUR_NS);

        assert_ok(elapse_task_reschedule_after(scheduler, handle, 3 * HOUR_NS));
        assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    }
    sleep_ns(ELAPSE_SECOND_NS / 10);
    assert_in_range(threads_now().sleeps - before.sleeps, 0, 9);
}

TEST_MAIN("workers")
