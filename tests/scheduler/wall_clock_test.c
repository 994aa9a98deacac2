/*
 * Tasks at a wall-clock time, on a wall clock that is set forward and back.
 */
#define _POSIX_C_SOURCE 200809L

#include "wall_clock.h"

#include "seed.h"

static struct elapse_handle schedule_letter(struct elapse_scheduler *scheduler, char letter,
                                            uint64_t unix_ns)
{
    return schedule_by_wall_clock(scheduler, task_with_end((size_t)letter), unix_ns);
}

static void set(struct elapse_scheduler *scheduler, uint64_t unix_ns)
{
    assert_ok(elapse_scheduler_set_wall_clock(scheduler, unix_ns));
}

/* A step to the same time. */
static void expect_now(struct elapse_scheduler *scheduler, const char *letters)
{
    expect_step(scheduler, elapse_scheduler_now_ns(scheduler), letters);
}

static uint64_t rounded_up(uint64_t time_ns, uint64_t tick_ns)
{
    return (time_ns + tick_ns - 1) / tick_ns * tick_ns;
}

/* ---- the wall clock ---- */

MANUAL_TEST(the_wall_clock_goes_along_with_steps)
{
    assert_int_equal(elapse_scheduler_wall_clock_ns(scheduler), 0);
    expect_step(scheduler, 12345, "");
    assert_int_equal(elapse_scheduler_wall_clock_ns(scheduler), 12345);
    set(scheduler, WALL_NS);
    assert_int_equal(elapse_scheduler_wall_clock_ns(scheduler), WALL_NS);
    assert_int_equal(elapse_scheduler_now_ns(scheduler), 12345);
    expect_step(scheduler, 12345 + T(10), "");
    assert_int_equal(elapse_scheduler_wall_clock_ns(scheduler), WALL_NS + T(10));
    expect_step(scheduler, T(5), "");
    assert_int_equal(elapse_scheduler_wall_clock_ns(scheduler), WALL_NS + T(10));
    set(scheduler, 3);
    assert_int_equal(elapse_scheduler_wall_clock_ns(scheduler), 3);
    expect_step(scheduler, 12345 + T(11), "");
    assert_int_equal(elapse_scheduler_wall_clock_ns(scheduler), T(1) + 3);
}

SCHEDULER_TEST(a_real_wall_clock_is_the_systems, started_new(1))
{
    struct timespec now;

    assert_int_equal(elapse_scheduler_set_wall_clock(scheduler, WALL_NS), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    uint64_t seen_ns = elapse_scheduler_wall_clock_ns(scheduler);
    uint64_t told_ns = (uint64_t)now.tv_sec * ELAPSE_SECOND_NS + (uint64_t)now.tv_nsec;
    assert_in_range(seen_ns, told_ns - ELAPSE_MINUTE_NS, told_ns + ELAPSE_HOUR_NS);
}

/* ---- when ---- */

WALL_TEST(it_runs_at_its_wall_clock_time)
{
    struct elapse_handle handle = schedule_letter(scheduler, 'a', WALL_NS + T(10) - 7);
    uint64_t deadline_ns;

    assert_int_equal(look_up_deadline(scheduler, handle, &deadline_ns), ELAPSE_TASK_PENDING);
    assert_int_equal(deadline_ns, WALL_NS + T(10));
    assert_int_equal(pending_tasks(scheduler), 1);
    assert_int_equal(elapse_scheduler_next_ns(scheduler), T(10));
    expect_step(scheduler, T(10) - 1, "");
    expect_step(scheduler, T(10) + 5, "a");
    assert_true(run_at(0).run.wall_clock);
    assert_int_equal(run_at(0).run.intended_ns, WALL_NS + T(10));
    assert_int_equal(run_at(0).run.actual_ns, WALL_NS + T(10) + 5);
    assert_int_equal(run_at(0).run.number, 1);
    assert_int_equal(run_at(0).run.missed, 0);
    assert_true(same_handle(run_at(0).run.handle, handle));
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(elapse_task_look_up(scheduler, handle, NULL), ELAPSE_TASK_GONE);
    assert_int_equal(elapse_scheduler_next_ns(scheduler), ELAPSE_NEVER);
}

WALL_TEST(set_forward_what_it_passes_runs_at_the_next_step)
{
    (void)schedule_letter(scheduler, 'd', WALL_NS + 400 * ELAPSE_DAY_NS);
    (void)schedule_letter(scheduler, 'b', WALL_NS + ELAPSE_HOUR_NS);
    (void)schedule_letter(scheduler, 'a', WALL_NS + T(1));
    (void)schedule_letter(scheduler, 'c', WALL_NS + ELAPSE_HOUR_NS + T(1));
    set(scheduler, WALL_NS + ELAPSE_HOUR_NS + T(1) - 1);
    assert_int_equal(runs(), 0);
    assert_true(elapse_scheduler_next_ns(scheduler) <= 0);
    expect_now(scheduler, "ab");
    expect_now(scheduler, "");
    expect_step(scheduler, 1, "c");
    set(scheduler, WALL_NS + 4000 * ELAPSE_DAY_NS);
    expect_step(scheduler, T(1), "d");
    assert_int_equal(run_at(3).run.intended_ns, WALL_NS + 400 * ELAPSE_DAY_NS);
    assert_int_equal(run_at(3).run.actual_ns, WALL_NS + 4000 * ELAPSE_DAY_NS + T(1) - 1);
}

WALL_TEST(set_back_it_waits_longer)
{
    (void)schedule_letter(scheduler, 'a', WALL_NS + T(10));
    expect_step(scheduler, T(9), "");
    set(scheduler, WALL_NS - ELAPSE_HOUR_NS);
    expect_step(scheduler, T(500), "");
    assert_int_equal(elapse_scheduler_next_ns(scheduler), T(9) + ELAPSE_HOUR_NS + T(10));
    expect_step(scheduler, T(9) + ELAPSE_HOUR_NS + T(10) - 1, "");
    expect_step(scheduler, T(9) + ELAPSE_HOUR_NS + T(10), "a");
    assert_int_equal(run_at(0).run.actual_ns, WALL_NS + T(10));
}

/* Due for a moment only, when nobody looked: it is not due when somebody does. */
WALL_TEST(forward_and_back_before_a_step_is_nothing)
{
    (void)schedule_letter(scheduler, 'a', WALL_NS + T(10));
    struct elapse_handle cancelled = schedule_letter(scheduler, 'b', WALL_NS + T(10));
    set(scheduler, WALL_NS + ELAPSE_DAY_NS);
    set(scheduler, WALL_NS);
    expect_now(scheduler, "");
    for (int times = 0; times < 100; times++) {
        set(scheduler, WALL_NS + ELAPSE_DAY_NS);
        (void)elapse_scheduler_next_ns(scheduler);
        set(scheduler, WALL_NS - ELAPSE_DAY_NS);
        (void)elapse_scheduler_next_ns(scheduler);
        expect_now(scheduler, "");
    }
    set(scheduler, WALL_NS + ELAPSE_DAY_NS);
    assert_int_equal(elapse_task_cancel(scheduler, cancelled), ELAPSE_CANCEL_REMOVED);
    set(scheduler, WALL_NS);
    expect_step(scheduler, T(9), "");
    expect_step(scheduler, T(10), "a");
}

/* The clock was set back, and no step has seen it yet. */
WALL_TEST(scheduled_between_setting_back_and_the_step)
{
    (void)schedule_letter(scheduler, 'z', WALL_NS + T(10));
    expect_step(scheduler, T(5), "");
    set(scheduler, WALL_NS - T(1000));
    (void)schedule_letter(scheduler, 'a', WALL_NS - T(999));
    (void)schedule_letter(scheduler, 'b', WALL_NS - T(1));
    (void)schedule_letter(scheduler, 'c', WALL_NS - T(5000));
    struct elapse_handle cancelled = schedule_letter(scheduler, 'x', WALL_NS - T(999));
    assert_int_equal(elapse_task_cancel(scheduler, cancelled), ELAPSE_CANCEL_REMOVED);
    expect_now(scheduler, "c");
    expect_step(scheduler, T(5) + T(1) - 1, "");
    expect_step(scheduler, T(6), "a");
    expect_step(scheduler, T(5) + T(999) - 1, "");
    expect_step(scheduler, T(5) + T(999), "b");
    expect_step(scheduler, T(5) + T(1010) - 1, "");
    expect_step(scheduler, T(5) + T(1010), "z");
}

WALL_TEST(scheduled_between_setting_forward_and_the_step)
{
    set(scheduler, WALL_NS + T(1000));
    (void)schedule_letter(scheduler, 'a', WALL_NS + T(500));
    (void)schedule_letter(scheduler, 'b', WALL_NS + T(1001));
    expect_now(scheduler, "a");
    expect_step(scheduler, T(1), "b");
}

WALL_TEST(the_past_is_due_at_once_and_never_is_never)
{
    uint64_t deadline_ns;

    struct elapse_handle never = schedule_letter(scheduler, 'n', ELAPSE_NEVER);
    assert_int_equal(elapse_scheduler_next_ns(scheduler), ELAPSE_NEVER);
    (void)schedule_letter(scheduler, 'a', 0);
    (void)schedule_letter(scheduler, 'b', WALL_NS - 1);
    (void)schedule_letter(scheduler, 'c', WALL_NS);
    expect_now(scheduler, "abc");
    set(scheduler, 0);
    (void)schedule_letter(scheduler, 'd', 0);
    (void)schedule_letter(scheduler, 'e', 1);
    expect_now(scheduler, "d");
    expect_step(scheduler, T(1), "e");
    set(scheduler, ELAPSE_NEVER);
    expect_now(scheduler, "");
    expect_step(scheduler, T(100000), "");
    assert_int_equal(look_up_deadline(scheduler, never, &deadline_ns), ELAPSE_TASK_PENDING);
    assert_int_equal(deadline_ns, ELAPSE_NEVER);
    assert_int_equal(elapse_task_cancel(scheduler, never), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(ends(), 6);
}

/* The ticks of the two clocks do not fall together. */
SCHEDULER_TEST(next_is_never_later_than_the_wall_clock_time, wall_new(WALL_NS + 300001, 1))
{
    struct elapse_task task = task_named('o');

    for (uint64_t n = 1; n < 100; n++) {
        uint64_t unix_ns = WALL_NS + T(10 * n);
        uint64_t due_ns = unix_ns - (WALL_NS + 300001);

        (void)schedule_letter(scheduler, 'a', unix_ns);
        assert_true(elapse_scheduler_next_ns(scheduler) <= due_ns);
        expect_step(scheduler, due_ns - 1, "");
        expect_step(scheduler, due_ns, "a");
    }
    (void)schedule_letter(scheduler, 'a', WALL_NS + T(2000));
    (void)schedule_at(scheduler, task, T(1500));
    assert_int_equal(elapse_scheduler_next_ns(scheduler), T(1500));
    expect_step(scheduler, T(1500), "o");
    for (int times = 0; runs() < 101 && times < 100; times++)
        (void)step(scheduler, elapse_scheduler_next_ns(scheduler));
    assert_int_equal(runs(), 101);
    assert_int_equal(elapse_scheduler_now_ns(scheduler), T(2000) - 300001);
}

SCHEDULER_TEST(beside_ordinary_tasks_in_one_step, wall_new(WALL_NS, 3))
{
    size_t wall_clock = 0;

    for (size_t i = 0; i < 1000; i++) {
        struct elapse_task task = task_with_end(i);

        if (i % 2 == 0)
            (void)schedule_by_wall_clock(scheduler, task, WALL_NS + T(i % 50));
        else
            (void)schedule_at(scheduler, task, T(i % 50));
    }
    assert_int_equal(pending_tasks(scheduler), 1000);
    for (uint64_t tick = 0; tick < 50; tick++)
        assert_int_equal(step(scheduler, T(tick)), 20);
    for (size_t i = 0; i < 1000; i++) {
        struct run_record record = run_at(i);

        assert_int_equal(record.run.wall_clock, record.number % 2 == 0);
        wall_clock += record.run.wall_clock;
        assert_int_equal(record.run.intended_ns,
                         (record.run.wall_clock ? WALL_NS : 0) + T(record.number % 50));
    }
    assert_int_equal(wall_clock, 500);
    assert_int_equal(ends(), 1000);
}

/* ---- set in an action ---- */

static uint64_t set_inside_ns;

static void set_the_clock(void *context, const struct elapse_run *run)
{
    write_run(context, run);
    (void)elapse_scheduler_set_wall_clock(run->scheduler, set_inside_ns);
}

/* A task that was due before the clock was set back, and no longer is, does not run. */
WALL_TEST(set_back_in_an_action_nothing_is_early)
{
    struct elapse_task setter = task_named('s');

    setter.action = set_the_clock;
    set_inside_ns = WALL_NS;
    (void)schedule_by_wall_clock(scheduler, setter, WALL_NS + T(10));
    (void)schedule_letter(scheduler, 'b', WALL_NS + T(10));
    expect_step(scheduler, T(10), "s");
    expect_step(scheduler, T(20) - 1, "");
    expect_step(scheduler, T(20), "b");
    assert_int_equal(run_at(1).run.intended_ns, WALL_NS + T(10));
    assert_int_equal(run_at(1).run.actual_ns, WALL_NS + T(10));
}

WALL_TEST(set_forward_in_an_action_what_it_passes_runs)
{
    struct elapse_task setter = task_named('s');

    setter.action = set_the_clock;
    set_inside_ns = WALL_NS + ELAPSE_DAY_NS;
    (void)schedule_at(scheduler, setter, T(10));
    (void)schedule_letter(scheduler, 'b', WALL_NS + ELAPSE_HOUR_NS);
    /* At the next step, if not in this. */
    size_t ran = step(scheduler, T(10));
    ran += step(scheduler, T(10));
    assert_int_equal(ran, 2);
    expect_runs("sb");
}

/* ---- refused tasks ---- */

WALL_TEST(slack_periods_and_nonsense_are_refused)
{
    struct elapse_task task = task_with_end('a');

    task.slack_ns = 1;
    assert_int_equal(elapse_task_schedule_at_wall_clock(scheduler, &task, WALL_NS, NULL),
                     ELAPSE_ERROR_ARGUMENT);
    for (int recurrence = ELAPSE_RECUR_PERIOD; recurrence <= ELAPSE_RECUR_CRON + 1; recurrence++) {
        task = task_with_end('a');
        task.recurrence = (enum elapse_recurrence)recurrence;
        task.period_ns = T(10);
        assert_int_equal(elapse_task_schedule_at_wall_clock(scheduler, &task, WALL_NS, NULL),
                         ELAPSE_ERROR_ARGUMENT);
    }
    task = task_with_end('a');
    task.action = NULL;
    assert_int_equal(elapse_task_schedule_at_wall_clock(scheduler, &task, WALL_NS, NULL),
                     ELAPSE_ERROR_ARGUMENT);
    expect_step(scheduler, T(100), "");
    assert_int_equal(ends(), 0);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    task = task_with_end('a');
    assert_int_equal(elapse_task_schedule_at_wall_clock(scheduler, &task, WALL_NS, NULL),
                     ELAPSE_ERROR_CLOSED);
    assert_int_equal(ends(), 0);
}

static enum elapse_error error_inside;

static void move_itself(void *context, const struct elapse_run *run)
{
    write_run(context, run);
    error_inside = elapse_task_reschedule_after(run->scheduler, run->handle, 0);
}

WALL_TEST(it_cannot_be_rescheduled)
{
    struct elapse_task task = task_with_end('a');

    task.action = move_itself;
    struct elapse_handle handle = schedule_by_wall_clock(scheduler, task, WALL_NS + T(10));
    assert_int_equal(elapse_task_reschedule_at(scheduler, handle, T(1)), ELAPSE_ERROR_WALL_CLOCK);
    assert_int_equal(elapse_task_reschedule_after(scheduler, handle, 0), ELAPSE_ERROR_WALL_CLOCK);
    expect_step(scheduler, T(9), "");
    error_inside = ELAPSE_OK;
    expect_step(scheduler, T(10), "a");
    assert_int_equal(error_inside, ELAPSE_ERROR_WALL_CLOCK);
    assert_int_equal(elapse_task_reschedule_at(scheduler, handle, T(1)), ELAPSE_ERROR_GONE);
    expect_step(scheduler, T(100), "");
}

/* ---- limits, keys, closing ---- */

TEST(it_counts_among_pending_max)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);
    struct elapse_task task = task_with_end('x');

    options.pending_max = 2;
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    struct elapse_handle handle = schedule_letter(scheduler, 'a', T(10));
    (void)schedule_letter(scheduler, 'b', T(10));
    assert_int_equal(elapse_task_schedule_at_wall_clock(scheduler, &task, T(1), NULL),
                     ELAPSE_ERROR_LIMIT);
    assert_int_equal(elapse_task_schedule_at(scheduler, &task, T(1), NULL), ELAPSE_ERROR_LIMIT);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    (void)schedule_letter(scheduler, 'c', T(10));
    expect_step(scheduler, T(10), "bc");
    (void)schedule_at(scheduler, task, T(11));
    expect_step(scheduler, T(11), "x");
    scheduler_end(scheduler);
}

SCHEDULER_TEST(keys_are_shared_with_ordinary_tasks, wall_new(WALL_NS, 4))
{
    struct elapse_task ordinary = task_with_key('o', "key", ELAPSE_KEY_REPLACE);
    struct elapse_task wall_clock = task_with_key('c', "key", ELAPSE_KEY_REPLACE);
    struct elapse_handle found = {0, 0, 0};

    struct elapse_handle old = schedule_at(scheduler, ordinary, T(10));
    (void)schedule_by_wall_clock(scheduler, wall_clock, WALL_NS + T(20));
    assert_int_equal(elapse_task_cancel(scheduler, old), ELAPSE_CANCEL_GONE);
    assert_int_equal(ends_of('o'), 1);
    expect_step(scheduler, T(10), "");
    expect_step(scheduler, T(20), "c");
    old = schedule_by_wall_clock(scheduler, wall_clock, WALL_NS + T(30));
    ordinary.if_key_pending = ELAPSE_KEY_KEEP;
    assert_ok(elapse_task_schedule_at(scheduler, &ordinary, T(25), &found));
    assert_true(same_handle(found, old));
    assert_int_equal(ends_of('o'), 2);
    ordinary.if_key_pending = ELAPSE_KEY_FAIL;
    assert_int_equal(elapse_task_schedule_at(scheduler, &ordinary, T(25), &found),
                     ELAPSE_ERROR_KEY_PENDING);
    ordinary.if_key_pending = ELAPSE_KEY_REPLACE;
    (void)schedule_at(scheduler, ordinary, T(40));
    assert_int_equal(ends_of('c'), 2);
    set(scheduler, WALL_NS + ELAPSE_DAY_NS);
    expect_step(scheduler, T(39), "");
    expect_step(scheduler, T(40), "o");
    assert_false(elapse_task_find(scheduler, "key", 3, &found));
}

static struct elapse_handed_back handed_back;
static size_t handed_back_count;

static void note_handed_back(const struct elapse_handed_back *task, void *context)
{
    (void)context;
    handed_back = *task;
    handed_back_count++;
}

WALL_TEST(closing_hands_it_back_with_a_wall_clock_time)
{
    (void)schedule_letter(scheduler, 'a', WALL_NS + T(10));
    expect_step(scheduler, T(5), "");
    set(scheduler, WALL_NS - ELAPSE_DAY_NS);
    handed_back_count = 0;
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_HAND_BACK, note_handed_back, NULL));
    assert_int_equal(handed_back_count, 1);
    assert_true(handed_back.wall_clock);
    assert_int_equal(handed_back.deadline_ns, WALL_NS + T(10));
    assert_int_equal(handed_back.task.recurrence, ELAPSE_RECUR_NEVER);
    assert_null(handed_back.task.cron);
    assert_ptr_equal(handed_back.task.context, name_of('a'));
    assert_int_equal(ends(), 0);
}

SCHEDULER_TEST(closing_runs_tasks_that_are_due_by_the_wall_clock, wall_new(WALL_NS, 2))
{
    (void)schedule_letter(scheduler, 'a', WALL_NS + T(10));
    (void)schedule_letter(scheduler, 'b', WALL_NS + T(11));
    set(scheduler, WALL_NS + T(10));
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_DUE, NULL, NULL));
    expect_runs("a");
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(ends_of('b'), 1);
}

/* ---- against a plain list ---- */

enum { LIST = 3000 };

struct entry {
    uint64_t due_ns; /* rounded up; by the wall clock if `wall_clock` */
    struct elapse_handle handle;
    unsigned told_runs;
    unsigned seen_runs;
    bool wall_clock;
    bool pending;
    bool strange; /* its action got a wrong elapse_run */
};

static struct entry list[LIST];
static size_t list_count;

static void enter(void *context, const struct elapse_run *run)
{
    struct entry *entry = context;
    uint64_t now_ns = run->wall_clock ? elapse_scheduler_wall_clock_ns(run->scheduler)
                                      : elapse_scheduler_now_ns(run->scheduler);

    entry->seen_runs++;
    entry->strange = run->wall_clock != entry->wall_clock || run->actual_ns != now_ns ||
                     run->intended_ns > run->actual_ns || run->intended_ns < entry->due_ns;
}

static void list_schedule(struct elapse_scheduler *scheduler, struct random_source *source)
{
    struct entry *entry = &list[list_count];
    struct elapse_task task = {.action = enter, .context = entry};
    uint64_t spread_ns = UINT64_C(1) << random_below(source, 48);
    uint64_t due_ns = random_below(source, spread_ns);
    char key[8];

    if (list_count == LIST)
        return;
    list_count++;
    *entry = (struct entry){.pending = true};
    if (random_one_in(source, 2)) {
        task.key = key;
        task.key_bytes = (size_t)snprintf(key, sizeof key, "%zu", list_count);
    }
    entry->wall_clock = !random_one_in(source, 4);
    if (entry->wall_clock) {
        due_ns += elapse_scheduler_wall_clock_ns(scheduler);
        if (random_one_in(source, 4))
            due_ns -= random_below(source, spread_ns);
        entry->handle = schedule_by_wall_clock(scheduler, task, due_ns);
    } else {
        due_ns += elapse_scheduler_now_ns(scheduler);
        entry->handle = schedule_at(scheduler, task, due_ns);
    }
    entry->due_ns = rounded_up(due_ns, TICK_NS);
}

static void list_cancel(struct elapse_scheduler *scheduler, struct random_source *source)
{
    uint64_t deadline_ns;

    if (list_count == 0)
        return;
    struct entry *entry = &list[random_below(source, list_count)];
    assert_int_equal(look_up_deadline(scheduler, entry->handle, &deadline_ns),
                     entry->pending ? ELAPSE_TASK_PENDING : ELAPSE_TASK_GONE);
    assert_int_equal(elapse_task_cancel(scheduler, entry->handle),
                     entry->pending ? ELAPSE_CANCEL_REMOVED : ELAPSE_CANCEL_GONE);
    entry->pending = false;
}

static void list_step(struct elapse_scheduler *scheduler, uint64_t now_ns)
{
    uint64_t pending = 0;
    size_t expected = 0;
    size_t ran = step(scheduler, now_ns);

    uint64_t wall_ns = elapse_scheduler_wall_clock_ns(scheduler);
    for (size_t i = 0; i < list_count; i++) {
        struct entry *entry = &list[i];

        if (entry->pending && entry->due_ns <= (entry->wall_clock ? wall_ns : now_ns)) {
            entry->pending = false;
            entry->told_runs++;
            expected++;
        }
        pending += entry->pending;
        assert_int_equal(entry->seen_runs, entry->told_runs);
        assert_false(entry->strange);
    }
    assert_int_equal(ran, expected);
    assert_int_equal(pending_tasks(scheduler), pending);
}

/* Checks that next is not later than the first deadline. */
static void list_next(struct elapse_scheduler *scheduler)
{
    uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    uint64_t wall_ns = elapse_scheduler_wall_clock_ns(scheduler);
    uint64_t first_ns = ELAPSE_NEVER;

    for (size_t i = 0; i < list_count; i++) {
        const struct entry *entry = &list[i];
        uint64_t clock_ns = entry->wall_clock ? wall_ns : now_ns;
        uint64_t due_ns = entry->due_ns <= clock_ns ? now_ns : now_ns + (entry->due_ns - clock_ns);

        if (entry->pending && due_ns < first_ns)
            first_ns = due_ns;
    }
    assert_true(elapse_scheduler_next_ns(scheduler) <= first_ns);
}

static void list_operate(struct elapse_scheduler *scheduler, struct random_source *source)
{
    uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    uint64_t wall_ns = elapse_scheduler_wall_clock_ns(scheduler);
    uint64_t spread_ns = UINT64_C(1) << random_below(source, 48);

    switch (random_below(source, 10)) {
    case 0:
    case 1:
    case 2:
        list_schedule(scheduler, source);
        break;
    case 3:
        list_cancel(scheduler, source);
        break;
    case 4:
        set(scheduler, wall_ns + random_below(source, spread_ns));
        break;
    case 5:
        set(scheduler, wall_ns - random_below(source, spread_ns));
        break;
    case 6:
        list_step(scheduler, now_ns);
        break;
    case 7:
        list_next(scheduler);
        break;
    case 8:
        (void)elapse_scheduler_trim(scheduler);
        break;
    default:
        list_step(scheduler, now_ns + random_below(source, spread_ns));
        break;
    }
}

TEST(back_and_forth_it_is_as_a_plain_list_says)
{
    enum { ROUNDS = 60, OPERATIONS = 3000 };
    struct random_source source = random_by_seed();

    for (int round = 0; round < ROUNDS; round++) {
        struct elapse_scheduler *scheduler;

        scheduler = wall_new(WALL_NS + random_below(&source, T(10)),
                             1 + (unsigned)random_below(&source, 4));
        list_count = 0;
        for (int times = 0; times < OPERATIONS; times++)
            list_operate(scheduler, &source);
        set(scheduler, 2 * WALL_NS);
        list_step(scheduler, elapse_scheduler_now_ns(scheduler) + (UINT64_C(1) << 50));
        assert_int_equal(pending_tasks(scheduler), 0);
        scheduler_end(scheduler);
    }
}

TEST_MAIN("wall_clock")
