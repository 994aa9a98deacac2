/*
 * Tests the statistics: counts that balance, and the lateness of tasks that have begun.
 */
#include "fixture.h"

#include "random.h"

static uint64_t histogram_total(const struct elapse_statistics *statistics)
{
    uint64_t total = 0;

    for (size_t i = 0; i < ELAPSE_LATENESS_BUCKETS; i++)
        total += statistics->lateness[i];
    return total;
}

/* Checks the counts: each accepted task, and each further run that a running task asked for, is
 * pending, has begun, or has ended without beginning. */
static void expect_balance(struct elapse_scheduler *scheduler, uint64_t reruns)
{
    struct elapse_statistics now = statistics_of(scheduler);

    assert_int_equal(now.scheduled + reruns, now.pending + now.begun + now.removed + now.replaced +
                                                 now.dropped + now.handed_back);
    assert_int_equal(histogram_total(&now), now.begun);
}

static struct elapse_handle add(struct elapse_scheduler *scheduler, size_t number,
                                uint64_t deadline_ns)
{
    return schedule_at(scheduler, task_with_end(number), deadline_ns);
}

/* ---- counts ---- */

SCHEDULER_TEST(a_new_scheduler_has_counted_nothing, manual_new(TICK_NS, 3))
{
    struct elapse_statistics now = statistics_of(scheduler);
    static const struct elapse_statistics zero;

    assert_memory_equal(&now, &zero, sizeof now);
    assert_int_equal(elapse_statistics_lateness_ns(&now, 0.5), 0);
}

SCHEDULER_TEST(each_event_is_counted_where_it_belongs, manual_new(TICK_NS, 2))
{
    struct elapse_task replacing = task_with_key('k', "key", ELAPSE_KEY_REPLACE);
    struct elapse_task refused = task_with_key('k', "key", ELAPSE_KEY_FAIL);
    struct elapse_handle handle = add(scheduler, 'a', 5 * TICK_NS);

    add(scheduler, 'b', 6 * TICK_NS);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_GONE);
    assert_int_equal(elapse_task_reschedule_at(scheduler, handle, 0), ELAPSE_ERROR_GONE);
    schedule_at(scheduler, replacing, 7 * TICK_NS);
    handle = schedule_at(scheduler, replacing, 8 * TICK_NS);
    assert_ok(elapse_task_reschedule_at(scheduler, handle, 9 * TICK_NS));
    assert_ok(elapse_task_reschedule_at(scheduler, handle, 4 * TICK_NS));
    schedule_at(scheduler, task_with_key('k', "key", ELAPSE_KEY_KEEP), 0);
    assert_int_equal(elapse_task_schedule_at(scheduler, &refused, 0, NULL),
                     ELAPSE_ERROR_KEY_PENDING);
    struct elapse_statistics now = statistics_of(scheduler);
    assert_int_equal(now.scheduled, 4);
    assert_int_equal(now.rescheduled, 2);
    assert_int_equal(now.removed, 1);
    assert_int_equal(now.replaced, 1);
    assert_int_equal(now.begun, 0);
    assert_int_equal(now.pending, 2);
    assert_int_equal(now.running, 0);
    expect_balance(scheduler, 0);
    expect_step(scheduler, 4 * TICK_NS, "k");
    now = statistics_of(scheduler);
    assert_int_equal(now.begun, 1);
    assert_int_equal(now.pending, 1);
    expect_balance(scheduler, 0);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    now = statistics_of(scheduler);
    assert_int_equal(now.dropped, 1);
    assert_int_equal(now.pending, 0);
    assert_int_equal(now.workers, 0);
    assert_int_equal(now.refused_threads, 0);
    assert_int_equal(now.held_back, 0);
    expect_balance(scheduler, 0);
}

/* What an action saw in the statistics while it ran. */
struct seen {
    size_t begun;
    uint64_t pending[3];
    uint64_t running[3];
    uint64_t rescheduled;
};

static void look(struct seen *seen, size_t at, struct elapse_scheduler *scheduler)
{
    struct elapse_statistics now = statistics_of(scheduler);

    seen->pending[at] = now.pending;
    seen->running[at] = now.running;
    seen->rescheduled = now.rescheduled;
}

static void look_around(void *context, const struct elapse_run *run)
{
    struct seen *seen = context;

    if (seen->begun++ != 0)
        return;
    look(seen, 0, run->scheduler);
    if (elapse_task_reschedule_after(run->scheduler, run->handle, TICK_NS) == ELAPSE_OK)
        look(seen, 1, run->scheduler);
    if (elapse_task_reschedule_after(run->scheduler, run->handle, 9 * TICK_NS) == ELAPSE_OK)
        look(seen, 2, run->scheduler);
}

MANUAL_TEST(a_running_task_counts_as_running_until_its_action_ends)
{
    struct seen seen = {.begun = 0};

    schedule_at(scheduler, (struct elapse_task){.action = look_around, .context = &seen}, 0);
    add(scheduler, 'b', 20 * TICK_NS);
    assert_int_equal(step(scheduler, 0), 1);
    assert_int_equal(seen.running[0], 1);
    assert_int_equal(seen.pending[0], 1);
    assert_int_equal(seen.running[1], 1);
    assert_int_equal(seen.pending[1], 2);
    assert_int_equal(seen.pending[2], 2);
    assert_int_equal(seen.rescheduled, 2);
    assert_int_equal(statistics_of(scheduler).running, 0);
    assert_int_equal(statistics_of(scheduler).pending, 2);
    expect_balance(scheduler, 1);
    assert_int_equal(step(scheduler, 30 * TICK_NS), 2);
    assert_int_equal(statistics_of(scheduler).begun, 3);
    expect_balance(scheduler, 1);
}

static void take_back(const struct elapse_handed_back *handed_back, void *context)
{
    (void)handed_back;
    ++*(uint64_t *)context;
}

TEST(counts_balance_after_any_sequence)
{
    enum { TASKS = 256, KEYS = 16, OPERATIONS = 20000 };

    for (size_t form = 0; form < 3; form++) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1 + (unsigned)form);
        struct elapse_handle handles[TASKS] = {{0, 0, 0}};
        struct random_source random = {.state = 1 + form};
        uint64_t handed_back = 0;

        for (size_t i = 0; i < OPERATIONS; i++) {
            uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
            uint64_t deadline_ns = now_ns + random_below(&random, 100 * TICK_NS);
            size_t at = random_index(&random, TASKS);
            char key[2] = {(char)('a' + random_below(&random, KEYS)), 0};
            enum elapse_key_policy policy = (enum elapse_key_policy)random_below(&random, 3);
            struct elapse_task with_key = task_with_key(2, key, policy);

            switch (random_below(&random, 6)) {
            case 0:
                handles[at] = schedule_at(scheduler, task_with_end(1), deadline_ns);
                break;
            case 1:
            case 2:
                if (elapse_task_schedule_at(scheduler, &with_key, deadline_ns, &handles[at]) !=
                    ELAPSE_OK)
                    assert_int_equal(policy, ELAPSE_KEY_FAIL);
                break;
            case 3:
                (void)elapse_task_cancel(scheduler, handles[at]);
                break;
            case 4:
                if (elapse_task_reschedule_at(scheduler, handles[at], deadline_ns) != ELAPSE_OK)
                    handles[at] = (struct elapse_handle){0, 0, 0};
                break;
            default:
                (void)step(scheduler, now_ns + random_below(&random, 5 * TICK_NS));
            }
            if (i % 100 == 0)
                expect_balance(scheduler, 0);
        }
        assert_int_equal(statistics_of(scheduler).begun, runs());
        assert_ok(
            elapse_scheduler_close(scheduler, (enum elapse_close)form, take_back, &handed_back));
        expect_balance(scheduler, 0);
        assert_int_equal(statistics_of(scheduler).pending, 0);
        assert_int_equal(statistics_of(scheduler).handed_back, handed_back);
        scheduler_end(scheduler);
    }
}

static bool has_rested(void *scheduler)
{
    struct elapse_statistics now = statistics_of(scheduler);

    return now.pending == 0 && now.running == 0;
}

TEST(counts_balance_with_workers_at_rest)
{
    enum { TASKS = 5000 };
    struct elapse_scheduler_options options = real_options(3, 4);
    size_t removed = 0;

    options.queue_tasks = 8;
    struct elapse_scheduler *scheduler = started_with(&options);
    for (size_t i = 0; i < TASKS; i++) {
        struct elapse_handle handle = add(scheduler, i, 0);

        if (i % 3 == 0)
            removed += elapse_task_cancel(scheduler, handle) == ELAPSE_CANCEL_REMOVED;
    }
    wait_until(has_rested, scheduler);
    expect_balance(scheduler, 0);
    struct elapse_statistics now = statistics_of(scheduler);
    assert_int_equal(now.scheduled, TASKS);
    assert_int_equal(now.removed, removed);
    assert_int_equal(now.begun, TASKS - removed);
    assert_int_equal(now.begun, runs());
    scheduler_end(scheduler);
}

/* A scheduler with a queue of four places whose only worker stands at the gate. */
static struct elapse_scheduler *blocked_new(struct gate *gate)
{
    struct elapse_scheduler_options options = real_options(1, 1);

    options.queue_tasks = 4;
    struct elapse_scheduler *scheduler = started_with(&options);
    schedule_at(scheduler, task_at_gate(gate), 0);
    wait_entered(gate, 1);
    return scheduler;
}

static void add_due(struct elapse_scheduler *scheduler, size_t count)
{
    struct elapse_batch_task batch[64];

    assert_true(count <= 64);
    for (size_t i = 0; i < count; i++)
        batch[i] = (struct elapse_batch_task){.task = task_with_end(i)};
    assert_ok(elapse_task_schedule_batch(scheduler, batch, count));
}

static bool some_held_back(void *scheduler)
{
    return statistics_of(scheduler).held_back != 0;
}

TEST(tasks_that_a_full_queue_holds_back_are_counted)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = blocked_new(&gate);

    add_due(scheduler, 20);
    wait_until(some_held_back, scheduler);
    assert_int_equal(statistics_of(scheduler).pending, 20);
    assert_int_equal(statistics_of(scheduler).running, 1);
    open_gate(&gate);
    wait_for_runs(20);
    wait_until(has_rested, scheduler);
    expect_balance(scheduler, 0);
    scheduler_end(scheduler);
}

TEST(a_queue_that_is_just_full_holds_nothing_back)
{
    static struct gate gate;
    struct elapse_scheduler *scheduler = blocked_new(&gate);

    add_due(scheduler, 4);
    sleep_ns(ELAPSE_SECOND_NS / 20); /* should it be counted, it will have been */
    assert_int_equal(statistics_of(scheduler).held_back, 0);
    open_gate(&gate);
    wait_for_runs(4);
    wait_until(has_rested, scheduler);
    assert_int_equal(statistics_of(scheduler).held_back, 0);
    scheduler_end(scheduler);
}

/* ---- lateness ---- */

/* One action each that begins so late, on ticks of 1 ns. */
static struct elapse_scheduler *late_new(const uint64_t *lateness_ns, size_t count)
{
    struct elapse_scheduler *scheduler = manual_new(1, 1);
    uint64_t end_ns = 0;

    for (size_t i = 0; i < count; i++)
        end_ns = lateness_ns[i] > end_ns ? lateness_ns[i] : end_ns;
    for (size_t i = 0; i < count; i++)
        add(scheduler, i, end_ns - lateness_ns[i]);
    assert_int_equal(step(scheduler, end_ns), count);
    return scheduler;
}

TEST(a_single_lateness_is_exact)
{
    static const double quantiles[] = {0, 0.001, 0.5, 0.999, 1};

    for (unsigned shift = 0; shift < 64; shift++) {
        for (uint64_t around = 0; around < 3; around++) {
            uint64_t late_ns = (UINT64_C(1) << shift) - 1 + around;

            struct elapse_scheduler *scheduler = late_new(&late_ns, 1);
            struct elapse_statistics now = statistics_of(scheduler);
            assert_true(now.lateness_max_ns == late_ns);
            assert_int_equal(histogram_total(&now), 1);
            for (size_t i = 0; i < 5; i++)
                assert_true(elapse_statistics_lateness_ns(&now, quantiles[i]) == late_ns);
            scheduler_end(scheduler);
        }
    }
}

/* Fails the test unless the answer is `exact` or up to an eighth above. */
static void expect_quantile(const struct elapse_statistics *statistics, double quantile,
                            uint64_t exact)
{
    uint64_t told = elapse_statistics_lateness_ns(statistics, quantile);

    assert_true(told >= exact);
    assert_true(told - exact <= exact / 8);
    assert_true(told <= statistics->lateness_max_ns);
}

TEST(quantiles_are_right_to_an_eighth)
{
    enum { COUNT = 1000 };
    static uint64_t lateness_ns[COUNT];

    for (unsigned shift = 0; shift < 40; shift += 3) {
        for (size_t i = 0; i < COUNT; i++)
            lateness_ns[i] = (uint64_t)(i + 1) << shift;
        struct elapse_scheduler *scheduler = late_new(lateness_ns, COUNT);
        struct elapse_statistics now = statistics_of(scheduler);
        assert_int_equal(now.lateness_max_ns, lateness_ns[COUNT - 1]);
        for (size_t i = 0; i < COUNT; i++) {
            /* Between two steps of the share, where rounding cannot matter. */
            double quantile = ((double)i + 0.5) / COUNT;

            expect_quantile(&now, quantile, lateness_ns[i]);
        }
        expect_quantile(&now, 0, lateness_ns[0]);
        expect_quantile(&now, 1, lateness_ns[COUNT - 1]);
        scheduler_end(scheduler);
    }
}

TEST(a_few_late_ones_do_not_move_the_median)
{
    static uint64_t lateness_ns[1000];

    for (size_t i = 990; i < 1000; i++)
        lateness_ns[i] = 3600 * ELAPSE_SECOND_NS;
    struct elapse_scheduler *scheduler = late_new(lateness_ns, 1000);
    struct elapse_statistics now = statistics_of(scheduler);
    assert_int_equal(elapse_statistics_lateness_ns(&now, 0.5), 0);
    assert_int_equal(elapse_statistics_lateness_ns(&now, 0.985), 0);
    expect_quantile(&now, 0.995, 3600 * ELAPSE_SECOND_NS);
    expect_quantile(&now, 1, 3600 * ELAPSE_SECOND_NS);
    scheduler_end(scheduler);
}

MANUAL_TEST(lateness_goes_by_the_tick)
{
    add(scheduler, 'a', 1);
    expect_step(scheduler, TICK_NS, "a");
    struct elapse_statistics now = statistics_of(scheduler);
    assert_int_equal(now.lateness_max_ns, 0);
    add(scheduler, 'b', 2 * TICK_NS);
    expect_step(scheduler, 5 * TICK_NS + 7, "b");
    now = statistics_of(scheduler);
    assert_int_equal(run_at(1).run.actual_ns - run_at(1).run.intended_ns, now.lateness_max_ns);
    assert_int_equal(now.lateness_max_ns, 3 * TICK_NS + 7);
}

MANUAL_TEST(a_deadline_that_has_passed_counts_from_then)
{
    expect_step(scheduler, 100 * TICK_NS, "");
    add(scheduler, 'a', 40 * TICK_NS);
    expect_step(scheduler, 100 * TICK_NS, "a");
    struct elapse_statistics now = statistics_of(scheduler);
    assert_int_equal(now.lateness_max_ns, run_at(0).run.actual_ns - run_at(0).run.intended_ns);
    assert_int_equal(run_at(0).run.intended_ns, 40 * TICK_NS);
}

TEST_MAIN("statistics")
