/*
 * Compares the forecast of the queue (how many jobs come due in which second, minute, hour and day)
 * with a plain count of all jobs. A random script puts, cancels, reschedules, kicks and hands out
 * jobs of both clocks. It also restarts the queue and sets the clocks.
 */
#include "equal.h"
#include "fixture.h"
#include "forecast.h"

enum {
    STEPS = 3000,
    IDS = 400,
    MINUTE_MS = 60000,
    DAY_MS = 86400000,
    OVERDUE_MAX_MS = 12 * DAY_MS
};

static uint64_t random_state = 1;

static uint64_t below(uint64_t bound)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % bound;
}

static int64_t floor_divide(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

/* What the counters should say, computed from a list of all jobs. The queue counts a job by the
 * second only if it was put at most 36 hours before it is due. All jobs of these scripts are. */
struct model {
    struct elapse__queue_forecast forecast;
    uint64_t overdue_ms;
};

/* Adds a moment to the count of its second, minute, hour or day. counts[0] is the unit of the
 * present, and of all that is before it. */
static void add_to(uint64_t *counts, int64_t count, int64_t moment_ms, int64_t present_ms,
                   int64_t unit_ms)
{
    int64_t place = floor_divide(moment_ms, unit_ms) - floor_divide(present_ms, unit_ms);

    if (place < count)
        counts[place < 0 ? 0 : place]++;
}

static void count_delayed(struct model *model, const struct elapse__queue_view *view,
                          struct elapse__queue_now now)
{
    int64_t present = view->by_wall_clock ? now.wall_ms : (int64_t)now.boot_ms;
    int64_t due = present + (int64_t)view->left_ms;
    int64_t offset = now.wall_ms - present;
    /* The middle of the second in which the job is due, and of the minute, by the wall clock. */
    int64_t second_ms = floor_divide(due, 1000) * 1000 + 500 + offset;
    int64_t minute_ms = floor_divide(due, MINUTE_MS) * MINUTE_MS + MINUTE_MS / 2 + offset;

    add_to(model->forecast.seconds, ELAPSE__QUEUE_FORECAST_SECONDS, second_ms, now.wall_ms, 1000);
    add_to(model->forecast.minutes, ELAPSE__QUEUE_FORECAST_MINUTES, minute_ms, now.wall_ms,
           MINUTE_MS);
    add_to(model->forecast.hours, ELAPSE__QUEUE_FORECAST_HOURS, minute_ms, now.wall_ms,
           60 * MINUTE_MS);
    add_to(model->forecast.days, ELAPSE__QUEUE_FORECAST_DAYS, minute_ms, now.wall_ms, DAY_MS);
}

static void count_ready(struct model *model, const struct elapse__queue_view *view,
                        struct elapse__queue_now now)
{
    int64_t offset = now.wall_ms - (int64_t)now.boot_ms;
    int64_t present = view->by_wall_clock ? now.wall_ms : (int64_t)now.boot_ms;
    int64_t due = view->by_wall_clock ? view->due_ms : view->due_ms - offset;
    int64_t late = present - (floor_divide(due, 1000) * 1000 + 999);

    if (late > 0 && (uint64_t)late > model->overdue_ms)
        model->overdue_ms = (uint64_t)late;
}

static void compare(struct fixture *f)
{
    struct elapse__queue_filter all = {.state = ELAPSE__QUEUE_FREE};
    struct elapse__queue_view views[64];
    struct elapse__queue_forecast forecast;
    struct model model;
    uint32_t cursor = 0;

    memset(&model, 0, sizeof model);
    do {
        uint32_t count = elapse__queue_list(f->queue, f->now, &all, &cursor, 64, views, 64);
        for (uint32_t i = 0; i < count; i++) {
            if (views[i].state == ELAPSE__QUEUE_DELAYED)
                count_delayed(&model, &views[i], f->now);
            else if (views[i].state == ELAPSE__QUEUE_READY)
                count_ready(&model, &views[i], f->now);
        }
    } while (cursor != 0);
    elapse__queue_foresee(f->queue, f->now, true, &forecast);
    assert_memory_equal(&forecast, &model.forecast, sizeof forecast);
    uint64_t overdue_ms = elapse__queue_overdue_ms(f->queue, f->now);
    if (model.overdue_ms < OVERDUE_MAX_MS)
        assert_int_equal(overdue_ms, model.overdue_ms);
    else
        assert_in_range(overdue_ms, 0, OVERDUE_MAX_MS + DAY_MS);
    elapse__queue_foresee(f->queue, f->now, false, &forecast);
    memset(model.forecast.hours, 0, sizeof model.forecast.hours);
    memset(model.forecast.days, 0, sizeof model.forecast.days);
    assert_memory_equal(&forecast, &model.forecast, sizeof forecast);
}

/* Mostly near, sometimes up to 35 hours: all of them counted by the second. */
static uint64_t random_delay(void)
{
    static const uint64_t spans[] = {500, 5000, 70000, 4000000, (uint64_t)35 * 3600 * 1000};
    return below(spans[below(5)]);
}

/* Sets the clocks forward. Unlike `pass` it does not replay the log, which has thousands of
 * records. */
static void go_on(struct fixture *f, uint64_t ms)
{
    f->now.boot_ms += ms;
    f->now.wall_ms += (int64_t)ms;
    while (elapse__queue_turn(f->queue, f->now).more)
        ;
}

static void random_put(struct fixture *f)
{
    struct elapse__queue_put wanted = job("body");
    char key[8];

    wanted.delay_ms = random_delay();
    if (below(3) == 0) {
        wanted.when = ELAPSE__QUEUE_AT;
        wanted.at_ms = f->now.wall_ms + (int64_t)random_delay();
    } else if (below(8) == 0) {
        wanted.when = ELAPSE__QUEUE_EVERY;
        wanted.period_ms = 1000 + below(100000);
    }
    if (below(2) == 0) {
        (void)snprintf(key, sizeof key, "%d", (int)below(30));
        wanted.key = text(key);
    }
    (void)elapse__queue_put(f->queue, f->now, &wanted);
}

static void random_change(struct fixture *f)
{
    uint64_t id = 1 + below(IDS);
    struct elapse__queue_time time = {.when = ELAPSE__QUEUE_IN, .delay_ms = random_delay()};

    switch (below(4)) {
    case 0:
        (void)elapse__queue_cancel_id(f->queue, f->now, id);
        break;
    case 1:
        (void)elapse__queue_kick_id(f->queue, f->now, id);
        break;
    case 2:
        if (below(2) == 0)
            time = (struct elapse__queue_time){.when = ELAPSE__QUEUE_AT,
                                               .at_ms = f->now.wall_ms + (int64_t)random_delay()};
        (void)elapse__queue_reschedule_id(f->queue, f->now, id, time);
        break;
    default:
        break;
    }
}

static void random_work(struct fixture *f)
{
    struct elapse__queue_text tube = text("t");
    struct elapse__queue_reserve reserve = {
        .tubes = &tube, .tube_count = 1, .count = 1, .begin = true};
    struct elapse__queue_handed handed;
    uint32_t count = 0;

    (void)elapse__queue_reserve(f->queue, f->now, &reserve, &handed, &count);
    if (count == 0)
        return;
    switch (below(4)) {
    case 0:
        (void)elapse__queue_ack(f->queue, f->now, holder(&handed));
        break;
    case 1:
        (void)elapse__queue_nack_in(f->queue, f->now, holder(&handed), random_delay());
        break;
    case 2:
        (void)elapse__queue_bury(f->queue, f->now, holder(&handed), NULL);
        break;
    default:
        break;
    }
}

#define FORECAST_TEST(function) \
    TEST_GIVEN(function, struct fixture, f, set_up_with_forecast, tear_down)

static int set_up_with_forecast(void **context)
{
    int failed = set_up(context);
    struct fixture *f = *context;

    if (failed != 0)
        return failed;
    f->options.foresees = true;
    restart(f, 0);
    return 0;
}

FORECAST_TEST(a_random_script_beside_a_plain_count)
{
    /* After the wall clock was set, a replay brings jobs with a delay to another time. */
    equal_ignores_boot_due = true;
    for (unsigned step = 0; step < STEPS; step++) {
        uint64_t dice = below(100);
        if (dice < 40)
            random_put(f);
        else if (dice < 65)
            random_change(f);
        else if (dice < 75)
            random_work(f);
        else if (dice < 97)
            go_on(f, below(4) == 0 ? random_delay() : below(2000));
        else if (dice < 99)
            f->now.wall_ms += (int64_t)below(7200000) - 3600000;
        else
            restart(f, (int64_t)below(100000));
        go_on(f, 0);
        if (step % 5 == 0)
            compare(f);
    }
}

/* ---- edges ---- */

static uint64_t sum(const uint64_t *counts, uint32_t count)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all += counts[i];
    return all;
}

FORECAST_TEST(a_job_far_ahead_is_counted_by_its_minute_alone)
{
    struct elapse__queue_put far = job("far");
    struct elapse__queue_forecast forecast;

    far.delay_ms = (uint64_t)10 * DAY_MS;
    (void)put(f, far, ELAPSE__QUEUE_SCHEDULED);
    elapse__queue_foresee(f->queue, f->now, true, &forecast);
    assert_int_equal(sum(forecast.days, ELAPSE__QUEUE_FORECAST_DAYS), 1);
    assert_int_equal(forecast.days[9] + forecast.days[10], 1);
    pass(f, far.delay_ms - 30000);
    elapse__queue_foresee(f->queue, f->now, true, &forecast);
    assert_int_equal(sum(forecast.minutes, 3), 1);
    assert_int_equal(sum(forecast.seconds, ELAPSE__QUEUE_FORECAST_SECONDS), 1);
    pass(f, 30001);
    elapse__queue_foresee(f->queue, f->now, true, &forecast);
    assert_int_equal(sum(forecast.minutes, ELAPSE__QUEUE_FORECAST_MINUTES), 0);
    assert_int_equal(sum(forecast.seconds, ELAPSE__QUEUE_FORECAST_SECONDS), 0);
}

FORECAST_TEST(the_ring_of_minutes_ends_after_two_years)
{
    struct elapse__queue_put far = job("far");
    struct elapse__queue_forecast forecast;

    far.delay_ms = ((uint64_t)(1 << 20) + 1) * MINUTE_MS;
    uint64_t id = put(f, far, ELAPSE__QUEUE_SCHEDULED);
    elapse__queue_foresee(f->queue, f->now, true, &forecast);
    assert_int_equal(sum(forecast.days, ELAPSE__QUEUE_FORECAST_DAYS), 0);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result, ELAPSE__QUEUE_REMOVED);
    elapse__queue_foresee(f->queue, f->now, true, &forecast);
    assert_int_equal(sum(forecast.days, ELAPSE__QUEUE_FORECAST_DAYS), 0);
}

FORECAST_TEST(the_oldest_ready_job_tells_how_late_the_workers_are)
{
    struct elapse__queue_put low = job("low");

    assert_int_equal(elapse__queue_overdue_ms(f->queue, f->now), 0);
    low.priority = 900;
    (void)put(f, low, ELAPSE__QUEUE_SCHEDULED);
    pass(f, 100000);
    (void)put(f, job("new"), ELAPSE__QUEUE_SCHEDULED);
    uint64_t overdue_ms = elapse__queue_overdue_ms(f->queue, f->now);
    assert_in_range(overdue_ms, 99000, 100000);
    /* The new job has the better priority, so it is handed out first. */
    (void)take(f);
    assert_int_equal(elapse__queue_overdue_ms(f->queue, f->now), overdue_ms);
    (void)take(f);
    assert_int_equal(elapse__queue_overdue_ms(f->queue, f->now), 0);
}

QUEUE_TEST(a_queue_that_nobody_asks_counts_nothing)
{
    struct elapse__queue_put later = job("later");
    struct elapse__queue_forecast forecast;

    later.delay_ms = 5000;
    (void)put(f, later, ELAPSE__QUEUE_SCHEDULED);
    (void)put(f, job("ready"), ELAPSE__QUEUE_SCHEDULED);
    pass(f, 4000);
    elapse__queue_foresee(f->queue, f->now, true, &forecast);
    assert_int_equal(sum(forecast.days, ELAPSE__QUEUE_FORECAST_DAYS), 0);
    assert_int_equal(elapse__queue_overdue_ms(f->queue, f->now), 0);
}

TEST_MAIN("forecast")
