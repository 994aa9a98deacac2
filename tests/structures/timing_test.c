/*
 * Tests promises 1 (never early), 2 (exactly once), 3 (in time) and 9 (time goes back) of
 * docs/promises.md.
 */
#include "subject.h"

static const uint64_t origins[] = {
    0, 1, 200, 255, 256, UINT64_C(1) << 32, (UINT64_C(1) << 63) - 1, UINT64_C(1) << 63};
enum { ORIGINS = sizeof origins / sizeof *origins };

/* Runs `test` for distances on and beside every power of two, from every origin. */
static void for_distances(void (*test)(uint64_t origin, uint64_t distance))
{
    for (size_t i = 0; i < ORIGINS; i++) {
        for (unsigned bits = 0; bits < 63; bits++) {
            uint64_t power = UINT64_C(1) << bits;

            test(origins[i], power);
            test(origins[i], power + 1);
            if (power > 2)
                test(origins[i], power - 1);
        }
    }
}

static void pops_on_the_tick(uint64_t origin, uint64_t distance)
{
    struct subject *subject = subject_new(origin);
    struct elapse_timer timer = {0};

    start(subject, &timer, origin + distance);
    expect_no_pop(subject);
    advance(subject, origin + distance - 1);
    expect_no_pop(subject);
    assert_true(elapse_timer_pending(&timer));
    advance(subject, origin + distance);
    expect_pop(subject, &timer);
    assert_int_equal(elapse_timer_deadline(&timer), origin + distance);
    expect_no_pop(subject);
    subject_free(subject);
}

TEST(promise_1_not_a_tick_early_and_on_the_tick)
{
    for_distances(pops_on_the_tick);
}

static void steps_down_without_being_early(uint64_t origin, uint64_t distance)
{
    struct subject *subject = subject_new(origin);
    struct elapse_timer timer = {0};
    uint64_t left = distance;

    start(subject, &timer, origin + distance);
    while (left > 0) {
        advance(subject, origin + distance - left);
        while (!subject->structure->cascade(subject->instance, 1))
            continue;
        expect_no_pop(subject);
        left /= 2;
    }
    advance(subject, origin + distance);
    expect_pop(subject, &timer);
    subject_free(subject);
}

TEST(promise_1_never_early_when_approached_in_halves)
{
    for_distances(steps_down_without_being_early);
}

SUBJECT_TEST_AT(promise_1_never_early_tick_by_tick, 200)
{
    enum { TIMERS = 700 };
    struct elapse_timer timers[TIMERS] = {0};

    for (size_t i = 0; i < TIMERS; i++)
        start(subject, &timers[i], 200 + i);
    for (size_t i = 0; i < TIMERS; i++) {
        advance(subject, 200 + i);
        expect_pop(subject, &timers[i]);
        expect_no_pop(subject);
    }
}

SUBJECT_TEST(promise_2_popped_once)
{
    struct elapse_timer timer = {0};

    start(subject, &timer, 5);
    assert_int_equal(count(subject), 1);
    advance(subject, 5);
    expect_pop(subject, &timer);
    assert_int_equal(count(subject), 0);
    expect_no_pop(subject);
    advance(subject, 100000);
    expect_no_pop(subject);
    assert_false(stop(subject, &timer));
}

SUBJECT_TEST(promise_2_stopped_once_and_never_popped)
{
    struct elapse_timer timer = {0};

    start(subject, &timer, 5000);
    assert_true(stop(subject, &timer));
    assert_false(stop(subject, &timer));
    assert_int_equal(count(subject), 0);
    advance(subject, ELAPSE_TIME_MAX);
    expect_no_pop(subject);
}

TEST(promise_2_re_armed_ends_once_at_the_new_deadline)
{
    static const uint64_t deadlines[][2] = {{100, 50}, {100, 100000}, {100000, 100}, {5, 6}};

    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        struct subject *subject = subject_new(0);
        struct elapse_timer timer = {0};

        start(subject, &timer, deadlines[i][0]);
        start(subject, &timer, deadlines[i][1]);
        assert_int_equal(count(subject), 1);
        assert_int_equal(elapse_timer_deadline(&timer), deadlines[i][1]);
        advance(subject, deadlines[i][1] - 1);
        expect_no_pop(subject);
        advance(subject, deadlines[i][1]);
        expect_pop(subject, &timer);
        advance(subject, 200000);
        expect_no_pop(subject);
        subject_free(subject);
    }
}

SUBJECT_TEST(promise_2_popped_timer_can_be_started_again)
{
    struct elapse_timer timer = {0};

    for (uint64_t turn = 1; turn <= 100; turn++) {
        start(subject, &timer, turn * 256);
        advance(subject, turn * 256);
        expect_pop(subject, &timer);
    }
}

TEST(promise_3_one_loop_pops_all_levels_after_a_jump)
{
    enum { TIMERS = 3 * 63 };

    for (size_t i = 0; i < ORIGINS; i++) {
        struct elapse_timer timers[TIMERS] = {0};
        struct subject *subject = subject_new(origins[i]);

        for (unsigned bits = 0; bits < 63; bits++) {
            uint64_t deadline = origins[i] + (UINT64_C(1) << bits);

            start(subject, &timers[3 * bits], deadline - 1);
            start(subject, &timers[3 * bits + 1], deadline);
            start(subject, &timers[3 * bits + 2], deadline + 1);
        }
        advance(subject, ELAPSE_TIME_MAX);
        assert_int_equal(pop_all(subject), TIMERS);
        assert_int_equal(count(subject), 0);
        subject_free(subject);
    }
}

TEST(promise_3_advances_over_25_90_and_240_seconds)
{
    static const uint64_t seconds_ms[] = {25000, 90000, 240000};
    static const uint64_t advances_ms[] = {10000, 180000, 600000};
    static const size_t fired[] = {0, 2, 1};

    for (size_t i = 0; i < ORIGINS; i++) {
        struct elapse_timer timers[3] = {0};
        struct subject *subject = subject_new(origins[i]);

        for (size_t n = 0; n < 3; n++)
            start(subject, &timers[n], origins[i] + seconds_ms[n]);
        for (size_t n = 0; n < 3; n++) {
            advance(subject, origins[i] + advances_ms[n]);
            assert_int_equal(pop_all(subject), fired[n]);
        }
        subject_free(subject);
    }
}

SUBJECT_TEST_AT(promise_3_a_deadline_of_now_or_past_needs_no_advance, 1000)
{
    struct elapse_timer timers[3] = {0};

    start(subject, &timers[0], 1000);
    start(subject, &timers[1], 999);
    start(subject, &timers[2], 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(elapse_timer_deadline(&timers[i]), 1000);
        assert_int_equal(subject->structure->remaining(subject->instance, &timers[i]), 0);
    }
    for (size_t i = 0; i < 3; i++)
        expect_pop(subject, &timers[i]);
}

SUBJECT_TEST_AT(promise_3_a_turn_of_a_level_later_is_not_the_same_slot, 100)
{
    struct elapse_timer timers[4] = {0};

    start(subject, &timers[3], 100 + 3 * 16384);
    start(subject, &timers[2], 100 + 2 * 256);
    start(subject, &timers[1], 100 + 256);
    start(subject, &timers[0], 100);
    expect_pop(subject, &timers[0]);
    expect_no_pop(subject);
    for (size_t i = 1; i < 4; i++) {
        uint64_t deadline = elapse_timer_deadline(&timers[i]);

        expect_next(subject, deadline);
        advance(subject, deadline - 1);
        expect_no_pop(subject);
        advance(subject, deadline);
        expect_pop(subject, &timers[i]);
    }
}

SUBJECT_TEST_AT(promise_9_time_going_backwards_is_ignored, 1000000)
{
    struct elapse_timer timers[3] = {0};

    start(subject, &timers[0], 1000010);
    for (unsigned bits = 0; bits < 19; bits++) {
        advance(subject, 1000000 - 3 * (UINT64_C(1) << bits));
        assert_int_equal(subject->structure->now(subject->instance), 1000000);
        expect_no_pop(subject);
    }
    advance(subject, 0);
    start(subject, &timers[1], 5);
    assert_int_equal(elapse_timer_deadline(&timers[1]), 1000000);
    expect_pop(subject, &timers[1]);
    advance(subject, 1000010);
    advance(subject, 1000009);
    expect_pop(subject, &timers[0]);
}

TEST(promise_9_asking_the_same_time_again_changes_nothing)
{
    struct elapse_timer timer = {0};
    struct subject *subject = subject_new(7);

    start(subject, &timer, 9);
    advance(subject, 7);
    advance(subject, 8);
    advance(subject, 8);
    expect_no_pop(subject);
    assert_int_equal(subject->structure->now(subject->instance), 8);
    assert_int_equal(subject->structure->remaining(subject->instance, &timer), 1);
    subject_free(subject);
}

TEST_MAIN_OF_SUBJECTS
