/*
 * Tests the limit on pending tasks, and which options are accepted and which refused.
 */
#include "aligned_memory.h"
#include "fixture.h"

static struct elapse_scheduler *limited_new(uint64_t pending_max, unsigned shards)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, shards);

    options.pending_max = pending_max;
    return scheduler_new(&options);
}

static struct elapse_handle add(struct elapse_scheduler *scheduler, char name, uint64_t ticks)
{
    return schedule_at(scheduler, task_with_end((size_t)name), ticks * TICK_NS);
}

static enum elapse_error try_to_add(struct elapse_scheduler *scheduler, char name)
{
    struct elapse_task task = task_with_end((size_t)name);

    return elapse_task_schedule_after(scheduler, &task, 0, NULL);
}

static void expect_full(struct elapse_scheduler *scheduler)
{
    struct elapse_task with_key = task_with_key('z', "another key", ELAPSE_KEY_REPLACE);

    assert_int_equal(try_to_add(scheduler, 'z'), ELAPSE_ERROR_LIMIT);
    assert_int_equal(elapse_task_schedule_at(scheduler, &with_key, 0, NULL), ELAPSE_ERROR_LIMIT);
    assert_false(elapse_task_find(scheduler, "another key", 11, &(struct elapse_handle){0, 0, 0}));
    assert_int_equal(ends_of('z'), 0);
}

/* ---- the limit ---- */

TEST(one_too_many_is_refused_until_one_is_cancelled)
{
    static const unsigned shards[] = {1, 7};

    for (size_t i = 0; i < 2; i++) {
        struct elapse_scheduler *scheduler = limited_new(2, shards[i]);
        struct elapse_handle handle = add(scheduler, 'a', 5);

        add(scheduler, 'b', 6);
        expect_full(scheduler);
        expect_full(scheduler);
        assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
        assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_GONE);
        add(scheduler, 'c', 7);
        expect_full(scheduler);
        assert_int_equal(pending_tasks(scheduler), 2);
        expect_step(scheduler, 10 * TICK_NS, "bc");
        scheduler_end(scheduler);
    }
}

SCHEDULER_TEST(one_too_many_is_refused_until_one_has_run, limited_new(2, 1))
{
    for (int round = 0; round < 1000; round++) {
        add(scheduler, 'a', 0);
        add(scheduler, 'b', 0);
        expect_full(scheduler);
        expect_step(scheduler, elapse_scheduler_now_ns(scheduler) + TICK_NS, "ab");
        assert_int_equal(pending_tasks(scheduler), 0);
    }
}

TEST(a_batch_is_accepted_up_to_the_limit)
{
    enum { TASKS = 200, MAX = 150 };
    static struct elapse_batch_task batch[TASKS];
    struct elapse_scheduler *scheduler = limited_new(MAX, 3);
    size_t accepted = 0;

    for (size_t i = 0; i < TASKS; i++)
        batch[i] = (struct elapse_batch_task){.task = task_with_end(i)};
    assert_int_equal(elapse_task_schedule_batch(scheduler, batch, TASKS), ELAPSE_ERROR_LIMIT);
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(batch[i].error, i < MAX ? ELAPSE_OK : ELAPSE_ERROR_LIMIT);
        accepted += batch[i].error == ELAPSE_OK;
    }
    assert_int_equal(accepted, MAX);
    assert_int_equal(pending_tasks(scheduler), MAX);
    assert_int_equal(step(scheduler, 0), MAX);
    assert_int_equal(ends(), MAX);
    scheduler_end(scheduler);
}

SCHEDULER_TEST(refusals_of_other_kinds_take_no_place, limited_new(2, 1))
{
    struct elapse_task pending = task_with_key('a', "key", ELAPSE_KEY_FAIL);
    struct elapse_task wrong = {.context = name_of('b')};
    struct elapse_task kept = task_with_key('k', "key", ELAPSE_KEY_KEEP);

    schedule_at(scheduler, pending, TICK_NS);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(elapse_task_schedule_at(scheduler, &pending, 0, NULL),
                         ELAPSE_ERROR_KEY_PENDING);
        assert_int_equal(elapse_task_schedule_at(scheduler, &wrong, 0, NULL),
                         ELAPSE_ERROR_ARGUMENT);
        schedule_at(scheduler, kept, 0);
    }
    assert_int_equal(pending_tasks(scheduler), 1);
    add(scheduler, 'c', 1);
    expect_full(scheduler);
    expect_step(scheduler, TICK_NS, "ac");
}

SCHEDULER_TEST(a_pending_key_is_replaced_and_kept_at_the_limit, limited_new(2, 1))
{
    struct elapse_task one = task_with_key('a', "key", ELAPSE_KEY_REPLACE);
    struct elapse_task other = task_with_key('b', "key", ELAPSE_KEY_REPLACE);
    struct elapse_task kept = task_with_key('c', "key", ELAPSE_KEY_KEEP);
    struct elapse_task refused = task_with_key('d', "key", ELAPSE_KEY_FAIL);

    schedule_at(scheduler, one, TICK_NS);
    add(scheduler, 'x', 1);
    for (int i = 0; i < 10; i++) {
        schedule_at(scheduler, other, TICK_NS);
        schedule_at(scheduler, one, TICK_NS);
        schedule_at(scheduler, kept, TICK_NS);
        assert_int_equal(elapse_task_schedule_at(scheduler, &refused, TICK_NS, NULL),
                         ELAPSE_ERROR_KEY_PENDING);
        expect_full(scheduler);
    }
    assert_int_equal(pending_tasks(scheduler), 2);
    expect_step(scheduler, TICK_NS, "xa");
    assert_int_equal(ends_of('a'), 11);
    assert_int_equal(ends_of('b'), 10);
    assert_int_equal(ends_of('c'), 10);
    assert_int_equal(ends_of('d'), 0);
}

SCHEDULER_TEST(pending_tasks_are_rescheduled_at_the_limit, limited_new(1, 1))
{
    struct elapse_handle handle = add(scheduler, 'a', 5);

    for (uint64_t ticks = 1; ticks < 100; ticks++)
        assert_ok(elapse_task_reschedule_at(scheduler, handle, (100 - ticks) * TICK_NS));
    expect_full(scheduler);
    expect_step(scheduler, TICK_NS, "a");
    add(scheduler, 'b', 0);
    expect_full(scheduler);
}

/* The context of an action that schedules at the limit, and the answers that it got. */
struct at_limit {
    bool reschedule_first;
    size_t begun;
    enum elapse_error first;
    enum elapse_error second;
    enum elapse_error third;
};

static void fill_up(void *context, const struct elapse_run *run)
{
    struct at_limit *at_limit = context;
    struct elapse_task task = task_with_end('n');

    if (at_limit->begun++ != 0)
        return;
    if (at_limit->reschedule_first) {
        at_limit->first = elapse_task_reschedule_after(run->scheduler, run->handle, TICK_NS);
        at_limit->second = elapse_task_schedule_after(run->scheduler, &task, 0, NULL);
    } else {
        at_limit->first = elapse_task_schedule_after(run->scheduler, &task, 0, NULL);
        at_limit->second = elapse_task_reschedule_after(run->scheduler, run->handle, TICK_NS);
    }
    at_limit->third = elapse_task_reschedule_after(run->scheduler, run->handle, 2 * TICK_NS);
}

SCHEDULER_TEST(the_place_of_a_running_task_is_free_for_another, limited_new(2, 1))
{
    struct at_limit at_limit = {.reschedule_first = false};

    schedule_at(scheduler, (struct elapse_task){.action = fill_up, .context = &at_limit}, 0);
    add(scheduler, 'b', 9);
    expect_full(scheduler);
    assert_int_equal(step(scheduler, TICK_NS), 2);
    expect_runs("n");
    assert_int_equal(at_limit.begun, 1);
    assert_ok(at_limit.first);
    assert_int_equal(at_limit.second, ELAPSE_ERROR_LIMIT);
    assert_int_equal(at_limit.third, ELAPSE_ERROR_LIMIT);
    expect_step(scheduler, 100 * TICK_NS, "b");
}

SCHEDULER_TEST(a_running_task_that_is_rescheduled_takes_a_place, limited_new(2, 1))
{
    struct at_limit at_limit = {.reschedule_first = true};
    struct elapse_task task = {.action = fill_up, .context = &at_limit};
    struct elapse_handle handle = schedule_at(scheduler, task, 0);

    add(scheduler, 'b', 9);
    assert_int_equal(step(scheduler, 0), 1);
    assert_ok(at_limit.first);
    assert_int_equal(at_limit.second, ELAPSE_ERROR_LIMIT);
    assert_ok(at_limit.third);
    expect_full(scheduler);
    assert_int_equal(pending_tasks(scheduler), 2);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    add(scheduler, 'c', 0);
    expect_full(scheduler);
    expect_step(scheduler, 9 * TICK_NS, "cb");
    assert_int_equal(at_limit.begun, 1);
}

static void withdraw(void *context, const struct elapse_run *run)
{
    struct at_limit *at_limit = context;
    struct elapse_task task = task_with_end('n');

    at_limit->begun++;
    at_limit->first = elapse_task_reschedule_after(run->scheduler, run->handle, 0);
    (void)elapse_task_cancel(run->scheduler, run->handle);
    at_limit->second = elapse_task_schedule_after(run->scheduler, &task, TICK_NS, NULL);
    at_limit->third = elapse_task_schedule_after(run->scheduler, &task, TICK_NS, NULL);
}

SCHEDULER_TEST(a_withdrawn_reschedule_gives_its_place_back, limited_new(1, 1))
{
    struct at_limit at_limit = {.begun = 0};

    schedule_at(scheduler, (struct elapse_task){.action = withdraw, .context = &at_limit}, 0);
    assert_int_equal(step(scheduler, 0), 1);
    assert_ok(at_limit.first);
    assert_ok(at_limit.second);
    assert_int_equal(at_limit.third, ELAPSE_ERROR_LIMIT);
    assert_int_equal(pending_tasks(scheduler), 1);
    expect_step(scheduler, TICK_NS, "n");
    assert_int_equal(at_limit.begun, 1);
}

static void replace_own_key(void *context, const struct elapse_run *run)
{
    struct at_limit *at_limit = context;
    struct elapse_task task = task_with_key('n', "key", ELAPSE_KEY_REPLACE);

    at_limit->begun++;
    at_limit->first = elapse_task_reschedule_after(run->scheduler, run->handle, TICK_NS);
    at_limit->second = elapse_task_schedule_after(run->scheduler, &task, TICK_NS, NULL);
    at_limit->third = elapse_task_reschedule_after(run->scheduler, run->handle, TICK_NS);
}

SCHEDULER_TEST(a_rescheduled_running_task_is_replaced_at_the_limit, limited_new(1, 1))
{
    struct at_limit at_limit = {.begun = 0};

    schedule_at(scheduler,
                (struct elapse_task){
                    .action = replace_own_key, .context = &at_limit, .key = "key", .key_bytes = 3},
                0);
    assert_int_equal(step(scheduler, 0), 1);
    assert_ok(at_limit.first);
    assert_ok(at_limit.second);
    assert_int_equal(at_limit.third, ELAPSE_ERROR_GONE);
    assert_int_equal(pending_tasks(scheduler), 1);
    expect_full(scheduler);
    expect_step(scheduler, 9 * TICK_NS, "n");
    assert_int_equal(at_limit.begun, 1);
    assert_int_equal(pending_tasks(scheduler), 0);
    add(scheduler, 'a', 0);
    expect_full(scheduler);
}

struct adder {
    struct elapse_scheduler *scheduler;
    size_t accepted;
    size_t refused;
    size_t others;
};

static void *add_elsewhere(void *context)
{
    struct adder *adder = context;

    for (size_t i = 0; i < 1000; i++) {
        switch (try_to_add(adder->scheduler, 'a')) {
        case ELAPSE_OK:
            adder->accepted++;
            break;
        case ELAPSE_ERROR_LIMIT:
            adder->refused++;
            break;
        default:
            adder->others++;
        }
    }
    return NULL;
}

TEST(the_limit_is_exact_for_several_threads)
{
    enum { THREADS = 4, MAX = 1500 };
    struct elapse_scheduler *scheduler = limited_new(MAX, 4);
    struct adder adders[THREADS];
    pthread_t threads[THREADS];
    size_t accepted = 0;

    for (size_t i = 0; i < THREADS; i++) {
        adders[i] = (struct adder){.scheduler = scheduler};
        assert_int_equal(pthread_create(&threads[i], NULL, add_elsewhere, &adders[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(adders[i].accepted + adders[i].refused, 1000);
        accepted += adders[i].accepted;
    }
    assert_int_equal(accepted, MAX);
    assert_int_equal(pending_tasks(scheduler), MAX);
    assert_int_equal(step(scheduler, TICK_NS), MAX);
    scheduler_end(scheduler);
}

/* ---- the options ---- */

static void expect_new(const struct elapse_scheduler_options *options, enum elapse_error error)
{
    struct elapse_scheduler *scheduler = (struct elapse_scheduler *)&scheduler;

    assert_int_equal(elapse_scheduler_new(options, &scheduler), error);
    if (error != ELAPSE_OK) {
        assert_null(scheduler);
        return;
    }
    /* A scheduler whose options were accepted works. */
    if (options->clock == ELAPSE_CLOCK_MANUAL) {
        empty_log();
        add(scheduler, 'a', 0);
        expect_step(scheduler, 0, "a");
    }
    scheduler_end(scheduler);
}

TEST(the_defaults_are_as_the_header_says)
{
    struct elapse_scheduler_options options;

    memset(&options, 0xa5, sizeof options);
    elapse_scheduler_options_init(&options);
    assert_int_equal(options.struct_bytes, sizeof options);
    assert_int_equal(options.clock, ELAPSE_CLOCK_MONOTONIC);
    assert_int_equal(options.tick_ns, 1000000);
    assert_int_equal(options.workers, 10);
    assert_int_equal(options.queue_tasks, 1024);
    assert_int_equal(options.shards, 0);
    assert_int_equal(options.pending_max, 0);
    assert_int_equal(options.stack_bytes, 0);
    assert_true(options.thread_started == NULL);
    assert_null(options.thread_started_context);
    assert_true(options.allocator.allocate == NULL);
    assert_true(options.allocator.release == NULL);
    expect_new(&options, ELAPSE_OK);
}

TEST(each_option_has_its_range)
{
    static const struct {
        uint64_t value;
        enum elapse_error error;
    } ticks[] = {{0, ELAPSE_ERROR_ARGUMENT},
                 {1, ELAPSE_OK},
                 {3600 * ELAPSE_SECOND_NS, ELAPSE_OK},
                 {3600 * ELAPSE_SECOND_NS + 1, ELAPSE_ERROR_ARGUMENT},
                 {UINT64_MAX, ELAPSE_ERROR_ARGUMENT}},
      queues[] = {{0, ELAPSE_ERROR_ARGUMENT},
                  {1, ELAPSE_OK},
                  {1048576, ELAPSE_OK},
                  {1048577, ELAPSE_ERROR_ARGUMENT},
                  {UINT32_MAX, ELAPSE_ERROR_ARGUMENT}},
      shards[] = {{0, ELAPSE_OK},
                  {1, ELAPSE_OK},
                  {256, ELAPSE_OK},
                  {257, ELAPSE_ERROR_ARGUMENT},
                  {UINT32_MAX, ELAPSE_ERROR_ARGUMENT}},
      workers[] = {{0, ELAPSE_OK},
                   {1, ELAPSE_OK},
                   {4096, ELAPSE_OK},
                   {4097, ELAPSE_ERROR_ARGUMENT},
                   {UINT32_MAX, ELAPSE_ERROR_ARGUMENT}};

    for (size_t clock = ELAPSE_CLOCK_MONOTONIC; clock <= ELAPSE_CLOCK_MANUAL; clock++) {
        for (size_t i = 0; i < 5; i++) {
            struct elapse_scheduler_options options = manual_options(TICK_NS, 1);

            options.clock = (enum elapse_clock)clock;
            options.tick_ns = ticks[i].value;
            expect_new(&options, ticks[i].error);
            options.tick_ns = TICK_NS;
            options.queue_tasks = (unsigned)queues[i].value;
            expect_new(&options, queues[i].error);
            options.queue_tasks = 1024;
            options.shards = (unsigned)shards[i].value;
            expect_new(&options, shards[i].error);
            options.shards = 1;
            options.workers = (unsigned)workers[i].value;
            expect_new(&options, workers[i].error);
        }
    }
}

TEST(time_may_be_stepped_to_its_end_whatever_the_tick)
{
    static const uint64_t tick_ns[] = {3600 * ELAPSE_SECOND_NS, TICK_NS, 2, 1};

    for (size_t i = 0; i < sizeof tick_ns / sizeof *tick_ns; i++) {
        struct elapse_scheduler *scheduler = manual_new(tick_ns[i], 2);

        add(scheduler, 'a', 0);
        expect_step(scheduler, ELAPSE_NEVER, "a");
        expect_step(scheduler, ELAPSE_NEVER, "");
        scheduler_end(scheduler);
    }
}

static void no_memory(void *memory, size_t bytes, void *context)
{
    (void)memory;
    (void)bytes;
    (void)context;
}

static void *never_any(size_t alignment, size_t bytes, void *context)
{
    (void)alignment;
    (void)bytes;
    (void)context;
    return NULL;
}

TEST(what_makes_no_sense_is_refused)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);

    options.clock = (enum elapse_clock)3;
    expect_new(&options, ELAPSE_ERROR_ARGUMENT);
    options = manual_options(TICK_NS, 1);
    options.allocator.release = no_memory;
    expect_new(&options, ELAPSE_ERROR_ARGUMENT);
    options.allocator.allocate = never_any;
    expect_new(&options, ELAPSE_ERROR_MEMORY);
    options.allocator.release = NULL;
    expect_new(&options, ELAPSE_ERROR_ARGUMENT);
}

TEST(options_of_another_version_are_refused)
{
    static const size_t sizes[] = {0, 1, sizeof(struct elapse_scheduler_options) - 1,
                                   sizeof(struct elapse_scheduler_options) + 8};
    struct elapse_scheduler_options options;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        options = manual_options(TICK_NS, 1);
        options.struct_bytes = sizes[i];
        expect_new(&options, ELAPSE_ERROR_ABI);
    }
    /* For a caller that was compiled with a smaller struct, no byte is written after that struct.
     */
    memset(&options, 0xa5, sizeof options);
    elapse_scheduler_options_init_sized(&options, sizeof options.struct_bytes);
    assert_int_equal(((unsigned char *)&options)[sizeof options.struct_bytes], 0xa5);
    expect_new(&options, ELAPSE_ERROR_ABI);
}

/* An allocator that gives memory `left` times and then fails. */
struct scarce {
    size_t left;
    size_t held;
    size_t bytes;
};

static void *allocate_scarce(size_t alignment, size_t bytes, void *context)
{
    struct scarce *scarce = context;

    if (scarce->left == 0)
        return NULL;
    scarce->left--;
    scarce->held++;
    scarce->bytes += bytes;
    return aligned_memory(alignment, bytes);
}

static void release_scarce(void *memory, size_t bytes, void *context)
{
    struct scarce *scarce = context;

    scarce->held--;
    scarce->bytes -= bytes;
    free(memory);
}

TEST(new_that_finds_no_memory_leaves_nothing_behind)
{
    struct elapse_scheduler *scheduler = NULL;
    enum elapse_error error = ELAPSE_ERROR_MEMORY;

    for (size_t left = 0; error != ELAPSE_OK; left++) {
        struct elapse_scheduler_options options = manual_options(TICK_NS, 3);
        struct scarce scarce = {.left = left};

        options.allocator = (struct elapse_allocator){allocate_scarce, release_scarce, &scarce};
        error = elapse_scheduler_new(&options, &scheduler);
        assert_true(error == ELAPSE_OK || error == ELAPSE_ERROR_MEMORY);
        assert_true(left < 1000);
        if (error == ELAPSE_OK)
            scheduler_end(scheduler);
        else
            assert_null(scheduler);
        assert_int_equal(scarce.held, 0);
        assert_int_equal(scarce.bytes, 0);
    }
}

TEST_MAIN("limit")
