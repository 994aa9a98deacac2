/*
 * Tests promise 11 (docs/promises.md): a timer armed with a window fires once, inside the window.
 */
#include "subject.h"

#include "oracle.h"
#include "random.h"

/* Finds, by trying every tick, the tick in [earliest, latest] whose binary digits end in the most
 * zeros. */
static uint64_t search(uint64_t earliest, uint64_t latest)
{
    uint64_t best = earliest;
    int most = -1;

    for (uint64_t tick = earliest; tick <= latest; tick++) {
        int zeros = 0;

        while (zeros < 64 && (tick >> zeros & 1) == 0)
            zeros++;
        if (zeros > most) {
            most = zeros;
            best = tick;
        }
    }
    return best;
}

TEST(promise_11_the_tick_with_the_most_trailing_zeros)
{
    enum { TICKS = 70 };
    static const uint64_t bases[] = {0, 200, (UINT64_C(1) << 32) - 35, (UINT64_C(1) << 63) - 35,
                                     ELAPSE_TIME_MAX - TICKS};

    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        for (uint64_t earliest = bases[i]; earliest < bases[i] + TICKS; earliest++) {
            for (uint64_t latest = earliest; latest < bases[i] + TICKS; latest++)
                assert_true(elapse_deadline_in_window(0, earliest, latest) ==
                            search(earliest, latest));
        }
    }
}

TEST(promise_11_wide_windows_as_rounding_says)
{
    struct random_source source = {.state = 11};

    for (int i = 0; i < 200000; i++) {
        uint64_t earliest = random_of_bits(&source, 64);
        uint64_t latest = elapse_deadline_after(earliest, random_of_bits(&source, 64));
        uint64_t now = random_of_bits(&source, 64);
        uint64_t tick = elapse_deadline_in_window(now, earliest, latest);

        assert_true(tick == oracle_in_window(now, earliest, latest));
        assert_true(tick >= earliest && tick >= now);
        assert_true(tick <= latest || now > latest);
    }
}

TEST(promise_11_odd_windows)
{
    assert_int_equal(elapse_deadline_in_window(0, 0, 0), 0);
    assert_int_equal(elapse_deadline_in_window(0, 0, 100), 0);
    assert_int_equal(elapse_deadline_in_window(0, 1, 100), 64);
    assert_int_equal(elapse_deadline_in_window(0, 77, 77), 77);
    /* latest before earliest is taken as earliest. */
    assert_int_equal(elapse_deadline_in_window(0, 77, 76), 77);
    assert_int_equal(elapse_deadline_in_window(0, 77, 0), 77);
    /* earliest is raised to now, and then latest to that. */
    assert_int_equal(elapse_deadline_in_window(65, 1, 100), 96);
    assert_int_equal(elapse_deadline_in_window(99, 1, 100), 100);
    assert_int_equal(elapse_deadline_in_window(101, 1, 100), 101);
    assert_true(elapse_deadline_in_window(ELAPSE_TIME_MAX, 1, 100) == ELAPSE_TIME_MAX);
    /* The end of time. */
    assert_true(elapse_deadline_in_window(0, 1, ELAPSE_NEVER) == UINT64_C(1) << 63);
    assert_true(elapse_deadline_in_window(0, ELAPSE_TIME_MAX, ELAPSE_NEVER) == ELAPSE_TIME_MAX);
    assert_true(elapse_deadline_in_window(0, ELAPSE_NEVER, ELAPSE_NEVER) == ELAPSE_NEVER);
    assert_true(elapse_deadline_in_window(0, ELAPSE_NEVER, 0) == ELAPSE_NEVER);
    assert_true(elapse_deadline_in_window(0, ELAPSE_TIME_MAX - 1, ELAPSE_TIME_MAX) ==
                ELAPSE_TIME_MAX);
}

TEST(promise_11_fires_once_inside_the_window)
{
    struct random_source source = {.state = 1111};

    for (int i = 0; i < 2000; i++) {
        struct elapse_timer timer = {0};
        uint64_t origin = random_of_bits(&source, 62);
        uint64_t earliest = origin + random_of_bits(&source, 60);
        uint64_t latest = earliest + random_of_bits(&source, 60);
        struct subject *subject = subject_new(origin);

        start_window(subject, &timer, earliest, latest);
        if (earliest > origin) {
            advance(subject, earliest - 1);
            expect_no_pop(subject);
        }
        advance(subject, latest);
        expect_pop(subject, &timer);
        assert_true(elapse_timer_deadline(&timer) >= earliest);
        assert_true(elapse_timer_deadline(&timer) <= latest);
        expect_no_pop(subject);
        subject_free(subject);
    }
}

SUBJECT_TEST(promise_11_overlapping_windows_share_a_wake_up)
{
    struct elapse_timer timers[30] = {0};

    for (uint64_t i = 0; i < 30; i++)
        start_window(subject, &timers[i], 30000 + i, 32000 + i);
    assert_int_equal(follow_next(subject), 30);
}

SUBJECT_TEST_AT(promise_11_re_arms_a_pending_timer, 10)
{
    struct elapse_timer timer = {0};

    start(subject, &timer, 1000);
    start_window(subject, &timer, 33, 63);
    assert_int_equal(count(subject), 1);
    assert_int_equal(elapse_timer_deadline(&timer), 48);
    start_window(subject, &timer, 2000, 2100);
    assert_int_equal(elapse_timer_deadline(&timer), 2048);
    start_window(subject, &timer, 0, 3);
    assert_int_equal(elapse_timer_deadline(&timer), 10);
    expect_pop(subject, &timer);
    start_window(subject, &timer, ELAPSE_NEVER, 0);
    assert_true(elapse_timer_deadline(&timer) == ELAPSE_NEVER);
    assert_true(stop(subject, &timer));
}

SUBJECT_TEST(promise_11_order_goes_by_the_tick_chosen)
{
    struct elapse_timer timers[3] = {0};

    start_window(subject, &timers[1], 100, 200);
    start(subject, &timers[2], 129);
    start(subject, &timers[0], 127);
    advance(subject, 200);
    for (size_t i = 0; i < 3; i++)
        expect_pop(subject, &timers[i]);
}

TEST_MAIN_OF_SUBJECTS
