/*
 * Rates: how many jobs of a tube are handed out in a time, exactly, and across restarts.
 */
#include "fixture.h"

#include "tubes.h"

static void rate(struct fixture *f, uint64_t count, uint64_t period_ms, uint64_t burst)
{
    struct elapse__queue_limits limits = {.rate = {count, period_ms, burst}};
    assert_ok(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result);
    ok(f);
}

/* Without the checks of put(), which replay the whole log. */
static void put_many(struct fixture *f, unsigned jobs)
{
    struct elapse__queue_put some = job("b");
    for (unsigned i = 0; i < jobs; i++)
        assert_int_equal(elapse__queue_put(f->queue, f->now, &some).result,
                         ELAPSE__QUEUE_SCHEDULED);
}

static struct elapse__queue_statistics count(struct fixture *f)
{
    struct elapse__queue_statistics statistics;
    assert_ok(elapse__queue_tube_statistics(f->queue, f->now, text("t"), &statistics));
    return statistics;
}

/* Takes all that may be handed out now, and returns how many. */
static unsigned take_all(struct fixture *f)
{
    struct elapse__queue_text name = text("t");
    struct elapse__queue_reserve reserve = {
        .tubes = &name, .tube_count = 1, .count = 1000, .begin = true};
    static struct elapse__queue_handed handed[1000];
    uint32_t taken = 0;
    assert_ok(elapse__queue_reserve(f->queue, f->now, &reserve, handed, &taken).result);
    for (uint32_t i = 0; i < taken; i++)
        assert_ok(elapse__queue_ack(f->queue, f->now, holder(&handed[i])).result);
    return taken;
}

/* Lets a millisecond pass, without the checks of pass(), which take longer than all else. */
static void tick(struct fixture *f)
{
    f->now.boot_ms++;
    f->now.wall_ms++;
    while (elapse__queue_turn(f->queue, f->now).more)
        ;
}

QUEUE_TEST(a_burst_is_handed_out_at_once_and_then_one_in_each_period)
{
    rate(f, 1, 1000, 3);
    put_many(f, 10);
    assert_int_equal(count(f).held, 7);
    assert_int_equal(take_all(f), 3);
    assert_int_equal(count(f).held, 7);
    assert_int_equal(elapse__queue_ready(f->queue), 0);
    pass(f, 999);
    assert_int_equal(take_all(f), 0);
    pass(f, 1);
    assert_int_equal(elapse__queue_ready(f->queue), 1);
    assert_int_equal(take_all(f), 1);
    pass(f, 5000); /* no more than the burst is saved */
    assert_int_equal(count(f).held, 3);
    assert_int_equal(take_all(f), 3);
}

QUEUE_TEST(a_rate_is_exact_where_the_period_is_no_multiple)
{
    rate(f, 7, 1000, 1);
    put_many(f, 800);
    unsigned taken = 0;
    for (unsigned ms = 0; ms < 100000; ms++) {
        taken += take_all(f);
        tick(f);
    }
    assert_int_equal(taken, 700);
}

QUEUE_TEST(a_rate_above_one_a_millisecond_has_a_burst_that_keeps_it)
{
    assert_int_equal(elapse__queue_rate_least_burst(2500, 1000), 3);
    rate(f, 2500, 1000, 3);
    put_many(f, 3000);
    unsigned taken = 0;
    for (unsigned ms = 0; ms < 1000; ms++) {
        taken += take_all(f);
        tick(f);
    }
    assert_in_range(taken, 2500, 2502); /* count + burst - 1, at most */
}

QUEUE_TEST(a_rate_out_of_its_range_is_refused)
{
    static const struct elapse__queue_rate wrong[] = {
        {0, 1, 0},         {0, 0, 1},
        {1, 0, 1},         {1, 1, 0},
        {2, 1, 1},         {1, (uint64_t)ELAPSE__QUEUE_RATE_PERIOD_MS_MAX + 1, 1},
        {1, 1, 100000001}, {100000001, 1, 100000000},
    };
    static const struct elapse__queue_rate right[] = {
        {1, 1, 1},
        {2, 1, 2},
        {100000000, 1, 100000000},
        {1, ELAPSE__QUEUE_RATE_PERIOD_MS_MAX, 100000000},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct elapse__queue_limits limits = {.rate = wrong[i]};
        assert_int_equal(elapse__queue_limit(f->queue, f->now, text("t"), &limits).result,
                         ELAPSE__QUEUE_ARGUMENT);
    }
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        rate(f, right[i].count, right[i].period_ms, right[i].burst);
        put_many(f, 1);
        assert_int_equal(take_all(f), 1);
        pass(f, (uint64_t)ELAPSE__QUEUE_RATE_PERIOD_MS_MAX);
    }
}

QUEUE_TEST(a_token_that_comes_is_news)
{
    struct elapse__queue_watch watch;
    assert_ok(elapse__queue_watch_begin(f->queue, text("t"), &watch));
    rate(f, 1, 100, 1);
    put_many(f, 2);
    assert_int_equal(take_all(f), 1);
    elapse__queue_watch_ask(f->queue, &watch);
    assert_false(elapse__queue_watch_has_news(f->queue));
    uint64_t readied = elapse__queue_readied(f->queue);
    assert_int_equal(elapse__queue_next_due(f->queue).boot_ms, f->now.boot_ms + 100);
    pass(f, 100);
    assert_true(elapse__queue_watch_has_news(f->queue));
    assert_int_equal(elapse__queue_readied(f->queue), readied + 1);
    assert_ptr_equal(elapse__queue_watch_next(f->queue), &watch);
    /* The token is not news again while nobody takes it, so nothing turns for it. */
    assert_int_equal(elapse__queue_next_due(f->queue).boot_ms, UINT64_MAX);
    elapse__queue_watch_end(f->queue, &watch);
}

QUEUE_TEST(a_reserve_by_id_takes_a_token)
{
    struct elapse__queue_handed handed;
    rate(f, 1, 100, 1);
    put_many(f, 2);
    assert_ok(elapse__queue_reserve_id(f->queue, f->now, 2, NULL, true, &handed).result);
    assert_int_equal(elapse__queue_reserve_id(f->queue, f->now, 1, NULL, true, &handed).result,
                     ELAPSE__QUEUE_GONE);
    assert_int_equal(take_all(f), 0);
    pass(f, 100);
    assert_int_equal(take_all(f), 1);
}

QUEUE_TEST(an_undo_gives_no_token_back)
{
    rate(f, 1, 100, 1);
    put_many(f, 1);
    struct elapse__queue_handed handed = take(f);
    assert_ok(elapse__queue_lease_withdraw(f->queue, f->now, holder(&handed)).result);
    assert_int_equal(take_all(f), 0);
    pass(f, 100);
    assert_int_equal(take_all(f), 1);
}

QUEUE_TEST(after_a_crash_the_bucket_of_a_fast_rate_is_empty)
{
    rate(f, 1, 10000, 3);
    put_many(f, 10);
    restart(f, 0);
    assert_int_equal(take_all(f), 0);
    pass(f, 9999);
    assert_int_equal(take_all(f), 0);
    pass(f, 1);
    assert_int_equal(take_all(f), 1);
}

QUEUE_TEST(a_clean_stop_keeps_the_bucket)
{
    rate(f, 1, 10000, 3);
    put_many(f, 10);
    take(f);
    elapse__queue_stop(f->queue, f->now);
    restart(f, 4000);
    assert_int_equal(take_all(f), 2);
    pass(f, 5999);
    assert_int_equal(take_all(f), 0);
    elapse__queue_stop(f->queue, f->now);
    restart(f, 0);
    assert_int_equal(take_all(f), 0);
    pass(f, 1);
    assert_int_equal(take_all(f), 1);
}

QUEUE_TEST(what_a_clean_stop_wrote_counts_in_one_life_only)
{
    rate(f, 1, 10000, 3);
    put_many(f, 10);
    elapse__queue_stop(f->queue, f->now);
    restart(f, 0);
    assert_int_equal(take_all(f), 3);
    restart(f, 0); /* a crash: the record of the stop says that the bucket is full */
    assert_int_equal(take_all(f), 0);
    assert_true(log_clean(&f->log, f->queue, f->now, f->log.count));
    restart(f, 0);
    assert_int_equal(take_all(f), 0);
}

QUEUE_TEST(a_slow_rate_is_kept_across_a_crash)
{
    rate(f, 1, 3600000, 1);
    put_many(f, 3);
    struct elapse__queue_handed handed = take(f);
    assert_true(handed.is_limited); /* the reply waits for its own record */
    unsigned taken = 0;
    for (unsigned minute = 0; minute < 119; minute++) {
        restart(f, 60000);
        if (minute % 2 == 0)
            assert_true(log_clean(&f->log, f->queue, f->now, 6));
        taken += take_all(f);
        assert_int_equal(taken, minute < 59 ? 0 : 1);
    }
}

QUEUE_TEST(a_slow_rate_under_a_clean_restart_each_minute_runs_each_hour)
{
    rate(f, 1, 3600000, 1);
    put_many(f, 30);
    unsigned taken = 0;
    for (unsigned minute = 0; minute < 24 * 60; minute++) {
        taken += take_all(f);
        pass(f, 59000);
        elapse__queue_stop(f->queue, f->now);
        restart(f, 1000);
    }
    assert_int_equal(taken, 24);
}

QUEUE_TEST(a_wall_clock_that_was_set_back_makes_no_wait_longer)
{
    rate(f, 1, 3600000, 1);
    put_many(f, 3);
    assert_int_equal(take_all(f), 1);
    restart(f, -1000 * INT64_C(3600000));
    put_many(f, 1); /* the others are due by the wall clock */
    pass(f, 3600000);
    assert_int_equal(take_all(f), 1);
}

QUEUE_TEST(the_same_rate_again_fills_no_bucket)
{
    rate(f, 1, 1000, 2);
    put_many(f, 10);
    assert_int_equal(take_all(f), 2);
    rate(f, 1, 1000, 2);
    assert_int_equal(take_all(f), 0);
    rate(f, 1, 5000, 2); /* the token that was to come comes */
    pass(f, 999);
    assert_int_equal(take_all(f), 0);
    pass(f, 1);
    assert_int_equal(take_all(f), 1);
    rate(f, 1, 100, 2); /* and no later than by the new rate */
    pass(f, 100);
    assert_int_equal(take_all(f), 1);
    rate(f, 0, 0, 0);
    assert_int_equal(take_all(f), 6);
}

/* The most in any window of a second, over a minute in which the process is killed at random. */
QUEUE_TEST(no_window_has_more_than_the_rate_says)
{
    enum { MS = 60000, WINDOW = 1000, COUNT = 100, BURST = 1 };
    static unsigned taken[MS];
    unsigned window = 0, most = 0, all = 0, random = 1;
    rate(f, COUNT, WINDOW, BURST);
    for (unsigned ms = 0; ms < MS; ms++) {
        random = random * 1664525 + 1013904223;
        if (ms % 4000 == 0)
            put_many(f, 450);
        if (random >> 21 == 0) /* each two seconds */
            restart(f, 0);
        taken[ms] = elapse__queue_ready(f->queue) > 0 ? take_all(f) : 0;
        all += taken[ms];
        window += taken[ms] - (ms >= WINDOW ? taken[ms - WINDOW] : 0);
        most = window > most ? window : most;
        tick(f);
        if (ms % 5000 == 0)
            assert_true(log_clean(&f->log, f->queue, f->now, 2000));
    }
    print_message("the most in a window of a second: %u; %u in a minute\n", most, all);
    assert_int_equal(most, COUNT + BURST - 1);
    assert_in_range(all, 5700, 6000);
}

TEST_MAIN("queue_limit")
